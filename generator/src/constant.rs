//! Constants: evaluated for the description, and spelled as C literals for the header.

use crate::model::Scalar;
use cbindgen::bindgen::ir::Literal;
use std::collections::HashMap;

/// A constant's value, and how it is written in C.
pub struct Value {
    pub number: i128,
    pub c_source: String,
}

/// Evaluates a literal that may refer to constants seen before.
pub fn evaluate(
    literal: &Literal,
    ty: Scalar,
    known: &HashMap<String, i128>,
) -> Result<Value, String> {
    let number = number(literal, known)?;
    let (lowest, highest) = range(ty);
    if !(lowest..=highest).contains(&number) {
        return Err(format!("{number} does not fit its type"));
    }
    let c_source = match literal {
        Literal::BinOp { .. } => format!("({})", expression(literal)?),
        _ => literal_in_c(number, ty),
    };
    Ok(Value { number, c_source })
}

fn range(ty: Scalar) -> (i128, i128) {
    let bits = 8 * ty.size();
    if ty.is_unsigned() {
        (0, (1 << bits) - 1)
    } else {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }
}

fn number(literal: &Literal, known: &HashMap<String, i128>) -> Result<i128, String> {
    match literal {
        Literal::Expr(text) => parse(text),
        Literal::PostfixUnaryOp { op: "-", value } => Ok(-number(value, known)?),
        Literal::Path {
            associated_to: None,
            name,
        } => known
            .get(name)
            .copied()
            .ok_or_else(|| format!("{name} is not known here")),
        Literal::BinOp { left, op, right } => {
            let (left, right) = (number(left, known)?, number(right, known)?);
            match *op {
                "|" => Ok(left | right),
                "&" => Ok(left & right),
                "+" => Ok(left + right),
                "-" => Ok(left - right),
                "*" => Ok(left * right),
                _ => Err(format!("the operator {op} is not supported")),
            }
        }
        other => Err(format!("{other:?} is not a number")),
    }
}

/// Reads cbindgen's spelling of an integer, which may have a C suffix.
fn parse(text: &str) -> Result<i128, String> {
    text.trim_end_matches(['u', 'l'])
        .parse()
        .map_err(|_| format!("{text} is not an integer"))
}

/// Spells an expression with the names of its constants, so that the header shows the parts.
fn expression(literal: &Literal) -> Result<String, String> {
    match literal {
        Literal::Path {
            associated_to: None,
            name,
        } => Ok(name.clone()),
        Literal::BinOp { left, op, right } => {
            let part = |side: &Literal| match side {
                // Only equal operators need no parentheses of their own.
                Literal::BinOp { op: inner, .. } if inner != op => {
                    Ok::<_, String>(format!("({})", expression(side)?))
                }
                _ => expression(side),
            };
            Ok(format!("{} {op} {}", part(left)?, part(right)?))
        }
        other => Err(format!("{other:?} is not a name or an operation on names")),
    }
}

/// Negative numbers in parentheses; unsigned types with a suffix; lengths plain.
fn literal_in_c(number: i128, ty: Scalar) -> String {
    match ty {
        Scalar::U32 if number > 0xffff => format!("0x{number:08x}u"),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => format!("{number}u"),
        Scalar::U64 => format!("UINT64_C({number})"),
        _ if number > i32::MAX.into() => format!("INT64_C({number})"),
        // The lowest number of a signed type can't be written as a negated literal.
        _ if number <= i32::MIN.into() => format!("(INT64_C({}) - 1)", number + 1),
        _ if number < 0 => format!("({number})"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_safe_in_any_expression() {
        assert_eq!(literal_in_c(-1, Scalar::I32), "(-1)");
        assert_eq!(literal_in_c(4, Scalar::U32), "4u");
        assert_eq!(literal_in_c(0x1_0002, Scalar::U32), "0x00010002u");
        assert_eq!(literal_in_c(496, Scalar::Size), "496");
        assert_eq!(literal_in_c(1 << 40, Scalar::I64), "INT64_C(1099511627776)");
        assert_eq!(
            literal_in_c(i64::MIN.into(), Scalar::I64),
            "(INT64_C(-9223372036854775807) - 1)"
        );
    }

    #[test]
    fn a_number_must_fit_its_type() {
        let literal = Literal::Expr("256".to_owned());
        assert!(evaluate(&literal, Scalar::U8, &HashMap::new()).is_err());
        assert!(evaluate(&literal, Scalar::U16, &HashMap::new()).is_ok());
    }
}
