//! Words for Kafka's numbers. Arguments are enumerations, whose words serde checks; answers may hold numbers
//! that a newer broker sends, so there they are looked up, and an unknown one is told as "unknown (N)".

/// An enumeration of the arguments whose variants have Kafka's numbers.
pub trait Number: Copy {
    /// Kafka's number of the variant.
    fn number(self) -> i32;
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $variant:ident = $number:literal $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$attribute])* #[serde(rename = $word)] $variant,)*
        }

        impl $crate::document::Number for $name {
            fn number(self) -> i32 {
                match self {
                    $($name::$variant => $number,)*
                }
            }
        }

        impl $name {
            /// The word of a number that a broker sent.
            #[allow(dead_code)] // not every enumeration is in answers
            pub fn word(number: i32) -> String {
                match number {
                    $($number => $word.to_owned(),)*
                    other => format!("unknown ({other})"),
                }
            }
        }
    };
}
pub(super) use numbered;
