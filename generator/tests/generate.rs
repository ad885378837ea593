//! The generator on a fixture: the real records and status codes, with exports of every shape.
//! The last test holds the committed files against what would be generated now.

use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the repository's records and status codes in a folder of its own, with these exports.
fn repository(name: &str, exports: &str) -> PathBuf {
    let root =
        std::env::temp_dir().join(format!("kafkabi-generator-{}-{name}", std::process::id()));
    let source = kafkabi_generator::repository();
    fs::create_dir_all(root.join("src/abi")).unwrap();
    fs::copy(source.join("cbindgen.toml"), root.join("cbindgen.toml")).unwrap();
    for folder in ["src/record", "src/status"] {
        copy_files(&source.join(folder), &root.join(folder));
    }
    fs::write(root.join("src/abi/fixture.rs"), exports).unwrap();
    root
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn header_and_json(name: &str, exports: &str) -> (String, serde_json::Value) {
    let root = repository(name, exports);
    let outputs = kafkabi_generator::generate(&root);
    fs::remove_dir_all(&root).unwrap();
    let outputs = outputs.unwrap();
    let text = |path: &str| {
        outputs
            .iter()
            .find(|output| output.path == path)
            .unwrap()
            .text
            .clone()
    };
    (
        text("include/kafkabi.h"),
        serde_json::from_str(&text("api/kafkabi.json")).unwrap(),
    )
}

/// What the generator says about one more export.
fn refusal(name: &str, export: &str) -> String {
    let root = repository(name, export);
    let result = kafkabi_generator::generate(&root);
    fs::remove_dir_all(&root).unwrap();
    match result {
        Ok(_) => panic!("{export} was accepted"),
        Err(problems) => problems.join("\n"),
    }
}

fn named<'a>(list: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == name)
        .unwrap()
}

const FIXTURE: &str = include_str!("fixture/exports.rs");

#[test]
fn the_header_declares_and_explains() {
    let (header, _) = header_and_json("header", FIXTURE);
    for expected in [
        "typedef struct kabi_producer_t kabi_producer_t;",
        "typedef int32_t kabi_status_t;",
        "#define KABI_ABI_VERSION 0x00010000u",
        "#define KABI_STATUS_QUEUE_FULL (-184)",
        "#define KABI_EVENT_DEFAULT (KABI_EVENT_REPORT | ",
        "#define KABI_ERROR_INIT {sizeof(kabi_error_t), 0, 0, 0, {0}}",
        "KABI_ASSERT_(offsetof(kabi_message_t, token) == 64);",
        "char message[KABI_ERROR_MESSAGE_SIZE];",
        "void kabi_fixture_free(kabi_producer_t *producer);",
        "const char *const *topics",
        "const char *kabi_fixture_version(void);",
        " * May be NULL: handler, finalizer.",
    ] {
        assert!(
            header.contains(expected),
            "{expected:?} is missing in:\n{header}"
        );
    }
    for unexpected in [
        "kabi_test_",
        "@nullable",
        "@inout",
        "# Safety",
        "_private",
        "bool",
    ] {
        assert!(
            !header.contains(unexpected),
            "{unexpected:?} is in the header"
        );
    }
}

#[test]
fn the_description_knows_direction_and_nullability() {
    let (_, json) = header_and_json("json", FIXTURE);
    let argument = |function: &str, name: &str| {
        named(&named(&json["functions"], function)["arguments"], name).clone()
    };
    for (function, name, c_type, direction, nullable) in [
        ("kabi_fixture_new", "config", "kabi_config_t *", "in", false),
        (
            "kabi_fixture_new",
            "producer",
            "kabi_producer_t **",
            "out",
            false,
        ),
        ("kabi_fixture_new", "error", "kabi_error_t *", "out", true),
        (
            "kabi_fixture_free",
            "producer",
            "kabi_producer_t *",
            "in",
            true,
        ),
        (
            "kabi_fixture_subscribe",
            "topics",
            "const char *const *",
            "in",
            false,
        ),
        ("kabi_fixture_get", "buffer", "char *", "out", true),
        (
            "kabi_fixture_commit",
            "partitions",
            "kabi_partition_t *",
            "inout",
            true,
        ),
        (
            "kabi_fixture_handler",
            "handler",
            "kabi_event_handler_t",
            "in",
            true,
        ),
        ("kabi_fixture_handler", "user", "void *", "in", true),
    ] {
        let argument = argument(function, name);
        assert_eq!(argument["type"], c_type, "{function}: {name}");
        assert_eq!(argument["direction"], direction, "{function}: {name}");
        assert_eq!(argument["nullable"], nullable, "{function}: {name}");
    }
    let doc = &named(&json["functions"], "kabi_fixture_get")["doc"];
    assert_eq!(
        doc,
        "Reads a text.\n\nThe second paragraph goes on over two lines:\n- one item\n- another"
    );
    let message = named(&json["records"], "kabi_message_t");
    assert_eq!(message["size"], 88);
    assert_eq!(named(&message["fields"], "key")["nullable"], true);
    assert_eq!(named(&message["fields"], "header_count")["offset"], 48);
}

#[test]
fn records_come_in_the_order_of_abi_check() {
    let (_, json) = header_and_json("order", FIXTURE);
    let names: Vec<_> = json["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["name"])
        .collect();
    let expected = [
        "batch_info",
        "error",
        "event",
        "header",
        "message",
        "packed",
        "partition",
    ];
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!(**name, format!("kabi_{expected}_t"));
    }
}

#[test]
fn what_may_not_cross_is_refused() {
    for (name, export, why) in [
        (
            "bool",
            "pub extern \"C\" fn kabi_x(flag: bool) {}",
            "bool may not cross",
        ),
        (
            "long",
            "pub extern \"C\" fn kabi_x(n: std::ffi::c_long) {}",
            "no fixed width",
        ),
        (
            "int",
            "pub extern \"C\" fn kabi_x(n: std::ffi::c_int) {}",
            "no fixed width",
        ),
        (
            "double",
            "pub extern \"C\" fn kabi_x(n: f64) {}",
            "f64 may not cross",
        ),
        (
            "record",
            "pub extern \"C\" fn kabi_x(event: kabi_event_t) {}",
            "cross by value",
        ),
        (
            "returned",
            "pub extern \"C\" fn kabi_x() -> kabi_event_t {}",
            "cross by value",
        ),
        (
            "handle",
            "pub extern \"C\" fn kabi_x(batch: kabi_batch_t) {}",
            "cross by value",
        ),
        (
            "reference",
            "pub extern \"C\" fn kabi_x(event: &kabi_event_t) {}",
            "a reference",
        ),
        (
            "option",
            "pub extern \"C\" fn kabi_x(n: Option<&u8>) {}",
            "an Option",
        ),
        (
            "inline",
            "pub extern \"C\" fn kabi_x(f: extern \"C\" fn()) {}",
            "needs a type name",
        ),
        (
            "unknown",
            "pub extern \"C\" fn kabi_x(x: *mut Secret) {}",
            "not a type of the interface",
        ),
        (
            "varargs",
            "pub unsafe extern \"C\" fn kabi_x(n: i32, ...) {}",
            "variable arguments",
        ),
        (
            "prefix",
            "pub extern \"C\" fn other_x() {}",
            "must be named kabi_*",
        ),
        (
            "never",
            "pub extern \"C\" fn kabi_x() -> ! { loop {} }",
            "return",
        ),
    ] {
        let said = refusal(name, &format!("/// A doc.\n#[no_mangle]\n{export}\n"));
        assert!(said.contains(why), "{export}: {said}");
    }
}

#[test]
fn what_is_not_explained_is_refused() {
    for (name, export, why) in [
        ("undocumented", "#[no_mangle]\npub extern \"C\" fn kabi_x() {}", "no doc comment"),
        (
            "stale-tag",
            "/// A doc.\n/// @nullable gone\n#[no_mangle]\npub extern \"C\" fn kabi_x(n: *mut u8) {}",
            "no pointer argument",
        ),
        (
            "scalar-tag",
            "/// A doc.\n/// @nullable n\n#[no_mangle]\npub extern \"C\" fn kabi_x(n: i32) {}",
            "no pointer argument",
        ),
        (
            "unknown-tag",
            "/// A doc.\n/// @nulable n\n#[no_mangle]\npub extern \"C\" fn kabi_x(n: *mut u8) {}",
            "unknown tag @nulable",
        ),
        (
            "newer",
            "/// A doc.\n/// @since 1.9\n#[no_mangle]\npub extern \"C\" fn kabi_x() {}",
            "is not a version up to",
        ),
        (
            "free",
            "/// A doc.\n#[no_mangle]\npub extern \"C\" fn kabi_x_free(n: *mut u8) {}",
            "accepts NULL",
        ),
        (
            "link",
            "/// See [`kabi_y`].\n#[no_mangle]\npub extern \"C\" fn kabi_x() {}",
            "only rustdoc understands",
        ),
    ] {
        let said = refusal(name, export);
        assert!(said.contains(why), "{export}: {said}");
    }
}

#[test]
fn what_cbindgen_leaves_out_is_noticed() {
    for (name, export) in [
        ("macro", "export! { pub extern \"C\" fn kabi_x() {} }"),
        ("rust", "/// A doc.\npub fn kabi_x() {}"),
        ("mangled", "/// A doc.\npub extern \"C\" fn kabi_x() {}"),
        (
            "tuple",
            "/// A doc.\n#[no_mangle]\npub extern \"C\" fn kabi_x(n: (i32, i32)) {}",
        ),
        ("call", "/// A doc.\npub const KABI_X: i32 = compute(1)?;"),
    ] {
        let said = refusal(name, export);
        assert!(said.contains("can't be understood"), "{export}: {said}");
    }
}

#[test]
fn records_are_held_to_their_rules() {
    let record = |body: &str| format!("/// A doc.\n#[repr(C)]\npub struct kabi_x_t {{ {body} }}\n");
    for (name, text, why) in [
        ("field-doc", record("pub a: u64"), "a: has no doc comment"),
        (
            "hole",
            record("/** A. */ pub a: u8, /** B. */ pub b: u32"),
            "padding",
        ),
        (
            "no-layout",
            record("/** A. */ pub a: u64"),
            "has no layout!",
        ),
        (
            "layout",
            record("/** A. */ pub a: u64") + "layout!(kabi_x_t: 8 { a: 4 });",
            "the Rust layout is 8 { a: 4 }, the C layout 8 { a: 0 }",
        ),
        (
            "nested",
            record("/** A. */ pub a: kabi_event_t"),
            "by value",
        ),
        (
            "enum",
            "/// A doc.\n#[repr(C)]\npub enum kabi_x_t { A, B }\n".to_owned(),
            "no enum",
        ),
        (
            "opaque",
            "/// A doc.\npub struct kabi_x_t { a: u8 }\n".to_owned(),
            "#[repr(C)]",
        ),
    ] {
        let said = refusal(name, &text);
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn no_generated_file_is_stale() {
    let stale = kafkabi_generator::stale(&kafkabi_generator::repository()).unwrap();
    assert!(
        stale.is_empty(),
        "stale: {stale:?}; run {}",
        kafkabi_generator::COMMAND
    );
}
