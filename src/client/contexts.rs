//! What a log line belongs to: librdkafka says it by words of the property debug, kafkabi by bits.

use crate::record::*;

const WORDS: [(&str, u32); 17] = [
    ("generic", KABI_DEBUG_GENERIC),
    ("broker", KABI_DEBUG_BROKER),
    ("topic", KABI_DEBUG_TOPIC),
    ("metadata", KABI_DEBUG_METADATA),
    ("feature", KABI_DEBUG_FEATURE),
    ("queue", KABI_DEBUG_QUEUE),
    ("msg", KABI_DEBUG_MSG),
    ("protocol", KABI_DEBUG_PROTOCOL),
    ("cgrp", KABI_DEBUG_CGRP),
    ("security", KABI_DEBUG_SECURITY),
    ("fetch", KABI_DEBUG_FETCH),
    ("interceptor", KABI_DEBUG_INTERCEPTOR),
    ("plugin", KABI_DEBUG_PLUGIN),
    ("consumer", KABI_DEBUG_CONSUMER),
    ("admin", KABI_DEBUG_ADMIN),
    ("eos", KABI_DEBUG_EOS),
    ("mock", KABI_DEBUG_MOCK),
];

/// KABI_DEBUG_* bits of words with commas between them.
pub fn bits_of(words: &str) -> u32 {
    let bit_of = |word| {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map_or(0, |(_, bit)| *bit)
    };
    words.split(',').fold(0, |bits, word| bits | bit_of(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_a_bit_of_its_own() {
        let all: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        assert_eq!(bits_of(&all.join(",")), (1 << WORDS.len()) - 1);
        assert_eq!(bits_of("eos,msg"), KABI_DEBUG_EOS | KABI_DEBUG_MSG);
        assert_eq!(bits_of("") | bits_of("something newer"), 0);
    }
}
