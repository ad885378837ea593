//! What is wrong with a name or a value, said so that the program's author can repair it at once: which
//! property, what was given (never of a secret), what is allowed, and which name was likely meant.

use super::describe::{Description, Kind, Property};
use crate::error::{Error, Result};
use crate::rd::conf::{Conf, Refused};
use std::fmt::Write;

/// Longer than any name there is, with room for those of plug-ins.
const NAME_MAX: usize = 255;
/// Room for certificates and key rings in PEM, and a bound on what is copied by mistake.
const VALUE_MAX: usize = 1024 * 1024;
/// As much of a value as an error repeats.
const SHOWN_MAX: usize = 64;

pub(super) fn name_and_size(name: &str, value: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::argument("the property name is empty"));
    }
    if name.len() > NAME_MAX {
        return Err(Error::argument(format!(
            "the property name is {} bytes long, no more than {NAME_MAX} are allowed",
            name.len()
        )));
    }
    if name.contains('\0') {
        return Err(Error::argument(format!(
            "the property name has a NUL inside: {name:?}"
        )));
    }
    if value.len() > VALUE_MAX {
        return Err(Error::argument(format!(
            "the value of property \"{name}\" is {} bytes long, no more than {VALUE_MAX} are allowed",
            value.len()
        )));
    }
    if value.contains('\0') {
        return Err(Error::argument(format!(
            "the value of property \"{name}\" has a NUL inside"
        )));
    }
    Ok(())
}

/// Refuses what kafkabi manages and what this build can't do.
pub(super) fn settable(property: &Property) -> Result<()> {
    let name = &property.name;
    if let Some(why) = property.managed {
        return Err(Error::argument(format!(
            "property \"{name}\" can't be set: {why}"
        )));
    }
    if let Some(why) = &property.unsupported {
        return Err(Error::argument(format!(
            "property \"{name}\" is not supported by this build of librdkafka: {why}"
        )));
    }
    Ok(())
}

pub(super) fn value(property: &Property, value: &str) -> Result<()> {
    let good = match property.kind {
        // librdkafka takes a number's leading part for the whole and lets large ones wrap around.
        Kind::Integer => integer(property, value),
        Kind::Float => float(property, value),
        _ => true,
    };
    if !good {
        return Err(refused(property, value, ""));
    }
    if property.is_own() {
        let known = property.values.is_empty() || property.values.iter().any(|v| v == value);
        return if known {
            Ok(())
        } else {
            Err(refused(property, value, ""))
        };
    }
    // Setting the path would load the plug-in, here and again in the client.
    if property.name == "plugin.library.paths" {
        return Ok(());
    }
    match Conf::new()?.set(&property.name, value) {
        Ok(()) => Ok(()),
        Err(Refused::InvalidValue(text)) => Err(refused(property, value, &text)),
        Err(Refused::UnknownName(text)) => Err(Error::argument(text)),
    }
}

/// The number that librdkafka reads from `value` if all of it is one: decimal, or hexadecimal with 0x.
/// Not with a leading zero, which its C library takes for octal.
pub(super) fn parse_integer(value: &str) -> Option<i64> {
    let (negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let number = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => i64::from_str_radix(hex, 16),
        Some(_) => return None,
        None if digits.len() > 1 && digits.starts_with('0') => return None,
        None if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse(),
        None => return None,
    };
    number.ok().map(|n| if negative { -n } else { n })
}

fn integer(property: &Property, value: &str) -> bool {
    match (parse_integer(value), &property.range) {
        (Some(number), Some(range)) => {
            range.min.as_i64().is_none_or(|min| number >= min)
                && range.max.as_i64().is_none_or(|max| number <= max)
        }
        (Some(_), None) => true,
        // A word that stands for a number ("all"): librdkafka knows it or not.
        (None, _) => !property.is_own() && value.starts_with(|c: char| c.is_ascii_alphabetic()),
    }
}

fn float(property: &Property, value: &str) -> bool {
    let Ok(number) = value.parse::<f64>() else {
        return false;
    };
    number.is_finite()
        && property.range.as_ref().is_none_or(|range| {
            range.min.as_f64().is_none_or(|min| number >= min)
                && range.max.as_f64().is_none_or(|max| number <= max)
        })
}

/// The error for a value that is not allowed. `reason` is librdkafka's own text.
pub(super) fn refused(property: &Property, value: &str, reason: &str) -> Error {
    let name = &property.name;
    let mut text = if property.secret {
        format!("property \"{name}\" can't have the value given (a secret, not shown here)")
    } else {
        format!("property \"{name}\" can't be {}", shown(value))
    };
    // librdkafka's text repeats the value; what it adds is why a build can't do something.
    if let Some((_, why)) = reason.split_once("not supported in this build: ") {
        let _ = write!(text, ": not supported by this build of librdkafka: {why}");
    } else if reason.starts_with("Unsupported value") {
        text.push_str(": not supported by this build of librdkafka");
    } else if let Some(allowed) = allowed(property) {
        let _ = write!(text, ": allowed {allowed}");
    } else if !reason.is_empty() && !property.secret {
        let _ = write!(text, ": {}", reason.trim_end());
    }
    Error::argument(text)
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}...", value.get(..end).unwrap_or("")),
        None => format!("{value:?}"),
    }
}

fn allowed(property: &Property) -> Option<String> {
    let values = || property.values.join(", ");
    match property.kind {
        Kind::Integer | Kind::Float => {
            let range = property.range.as_ref()?;
            let what = if property.kind == Kind::Integer {
                "is a whole"
            } else {
                "is a"
            };
            let all = if property.canonical() == "request.required.acks" {
                ", or all"
            } else {
                ""
            };
            Some(format!(
                "{what} number from {} to {}{all}",
                range.min, range.max
            ))
        }
        Kind::Boolean => Some("are true and false".to_owned()),
        Kind::Flags => Some(format!("are these, separated by commas: {}", values())),
        _ if property.values.is_empty() => partitioners(property),
        _ => Some(format!("are {}", values())),
    }
}

/// The one property whose values librdkafka lists in its text only.
fn partitioners(property: &Property) -> Option<String> {
    (property.name == "partitioner").then(|| {
        let names: Vec<&str> = property.text.split('`').skip(1).step_by(2).collect();
        format!("are {}", names.join(", "))
    })
}

/// The error for a name that is no property, with the nearest names if any is near.
pub(super) fn unknown(name: &str, description: &Description) -> Error {
    let mut text = format!("there is no property \"{name}\"");
    match nearest(name, description).as_slice() {
        [] => text.push_str("; kabi_config_describe() lists all"),
        [one] => {
            let _ = write!(text, "; did you mean \"{one}\"?");
        }
        several => {
            let _ = write!(
                text,
                "; did you mean one of \"{}\"?",
                several.join("\", \"")
            );
        }
    }
    Error::argument(text)
}

/// Up to three names that a slip of the hand turns into `name`, the nearest first.
fn nearest<'a>(name: &str, description: &'a Description) -> Vec<&'a str> {
    // Other clients write the same names with underscores, hyphens or capitals.
    let plain = |s: &str| s.to_ascii_lowercase().replace(['_', '-'], ".");
    let given = plain(name);
    let limit = (given.chars().count() / 5).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = description
        .properties
        .iter()
        .filter(|p| p.managed.is_none())
        .map(|p| {
            (
                strsim::damerau_levenshtein(&given, &plain(&p.name)),
                p.name.as_str(),
            )
        })
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    near.into_iter()
        .filter(|(d, _)| *d <= best + 1)
        .map(|(_, n)| n)
        .take(3)
        .collect()
}
