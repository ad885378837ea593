//! The C layout of records, computed the way that every 64-bit C compiler of ours does, and
//! compared with the assertions that the Rust compiler has checked (`layout!` in src/record.rs).

use crate::model::{Field, Record, Type};

/// Size and alignment of a type that may be a field. Names of scalars are resolved by `alias`.
pub fn size_and_alignment(
    ty: &Type,
    alias: &dyn Fn(&str) -> Option<usize>,
) -> Option<(usize, usize)> {
    match ty {
        Type::Scalar(scalar) => Some((scalar.size(), scalar.size())),
        Type::Alias(name) => alias(name).map(|size| (size, size)),
        Type::Array { of, length, .. } => Some((of.size() * length, of.size())),
        Type::Pointer { .. } | Type::Callback(_) => Some((8, 8)),
        Type::Void | Type::Handle(_) | Type::Record(_) => None,
    }
}

/// Sets the offsets of the fields and returns the record's size and alignment.
pub fn place(fields: &mut [Field], alignments: &[usize]) -> (usize, usize) {
    let mut end = 0usize;
    for (field, alignment) in fields.iter_mut().zip(alignments) {
        field.offset = end.next_multiple_of(*alignment);
        end = field.offset + field.size;
    }
    let alignment = alignments.iter().copied().max().unwrap_or(1);
    (end.next_multiple_of(alignment), alignment)
}

/// Holes would hold indeterminate bytes, so a record spells its padding out as a field.
pub fn has_holes(record: &Record) -> bool {
    record.fields.iter().map(|field| field.size).sum::<usize>() != record.size
}

/// Compares a record with its `layout!` assertion in the source text that declares it.
pub fn compare(record: &Record, source: &str) -> Result<(), String> {
    let start = format!("layout!({}:", record.name);
    let asserted = source
        .split_once(start.as_str())
        .and_then(|(_, rest)| rest.split_once(");"))
        .map(|(body, _)| normalise(body))
        .ok_or_else(|| format!("has no layout!({}: size {{ field: offset }})", record.name))?;
    let computed = computed(record);
    if asserted == computed {
        Ok(())
    } else {
        Err(format!(
            "the Rust layout is {asserted}, the C layout {computed}"
        ))
    }
}

fn normalise(body: &str) -> String {
    let words: Vec<&str> = body.split_whitespace().collect();
    words.join(" ").replace(", }", " }")
}

fn computed(record: &Record) -> String {
    let fields: Vec<String> = record
        .fields
        .iter()
        .map(|field| format!("{}: {}", field.name, field.offset))
        .collect();
    format!("{} {{ {} }}", record.size, fields.join(", "))
}
