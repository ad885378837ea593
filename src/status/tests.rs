//! Compares our constants with the codes of the librdkafka that is linked.

use super::{name, table, text, KABI_STATUS_OK};
use rdkafka::bindings;
use std::collections::BTreeMap;
use std::ffi::CStr;

type Codes = BTreeMap<i32, (String, String)>;

/// librdkafka's list, without the holes and markers (their text is NULL), under our names.
fn librdkafka_codes() -> Codes {
    let mut descs = std::ptr::null();
    let mut count = 0;
    // Safety: librdkafka stores the address and length of a static array. The code field is a
    // Rust enum, so it is read as the i32 that it is in C: a number unknown to it can't harm.
    unsafe {
        bindings::rd_kafka_get_err_descs(&mut descs, &mut count);
        (0..count)
            .map(|index| descs.add(index))
            .filter(|&desc| !(*desc).desc.is_null())
            .map(|desc| {
                let code = std::ptr::addr_of!((*desc).code).cast::<i32>().read();
                let name = CStr::from_ptr((*desc).name).to_str().unwrap();
                let text = CStr::from_ptr((*desc).desc).to_str().unwrap();
                (code, (our_name(code, name), text.to_owned()))
            })
            .collect()
    }
}

fn our_name(code: i32, name: &str) -> String {
    if code == KABI_STATUS_OK {
        return "OK".to_owned();
    }
    name.trim_start_matches('_').to_owned()
}

fn our_codes() -> Codes {
    table::STATUSES
        .iter()
        .filter(|status| status.code > -1000)
        .map(|status| {
            let name = status.name.to_str().unwrap().to_owned();
            (
                status.code,
                (name, status.text.to_str().unwrap().to_owned()),
            )
        })
        .collect()
}

#[test]
fn nothing_is_missing_or_stale() {
    let theirs = librdkafka_codes();
    assert!(
        theirs.len() > 150,
        "librdkafka listed only {} codes",
        theirs.len()
    );
    assert_eq!(our_codes(), theirs);
}

#[test]
fn the_table_is_sorted_and_names_are_unique() {
    assert!(table::STATUSES
        .windows(2)
        .all(|pair| pair[0].code < pair[1].code));
    let names: std::collections::BTreeSet<_> = table::STATUSES.iter().map(|s| s.name).collect();
    assert_eq!(names.len(), table::STATUSES.len());
}

#[test]
fn every_code_has_a_name_and_a_text() {
    assert_eq!(name(-184), c"QUEUE_FULL");
    assert_eq!(text(-184), c"Local: Queue full");
    assert_eq!(name(super::KABI_STATUS_HANDLE), c"HANDLE");
    assert_eq!(name(0), c"OK");
    for unknown in [-1000, -200, -2, 4242, i32::MIN, i32::MAX] {
        assert_eq!(name(unknown), c"UNKNOWN_CODE");
        assert_eq!(text(unknown), c"Unknown code");
    }
}
