//! `format('%s of %I', a, b)`: texts with the values of arguments between them.

use crate::ast::{Expr, FunctionCall, Literal};

use super::type_name::call;

/// What a call of `format` means. A pattern without `%` is one of ClickHouse's, with `{}`.
pub(super) fn formatted(mut written: FunctionCall) -> Expr {
    let parts = match written.args.first() {
        Some(Expr::Literal(Literal::String(pattern))) if pattern.contains(&b'%') => parts_of(pattern),
        _ => None,
    };
    let Some(parts) = parts else {
        "format".clone_into(&mut written.name);
        return Expr::Function(written);
    };
    let mut values = written.args.into_iter().skip(1);
    let mut texts = vec![text(Vec::new())];
    for part in parts {
        texts.push(match part {
            Part::Text(bytes) => text(bytes),
            Part::Value(kind) => kind.meaning(values.next().unwrap_or(Expr::Literal(Literal::Null))),
        });
    }
    call("concat", texts)
}

/// A piece of a pattern.
enum Part {
    Text(Vec<u8>),
    Value(Kind),
}

/// How a value is written.
enum Kind {
    Plain,
    Name,
    Constant,
}

impl Kind {
    fn meaning(self, value: Expr) -> Expr {
        let plain = call("toString", vec![value]);
        match self {
            Kind::Plain => call("ifNull", vec![plain, text(Vec::new())]),
            Kind::Name => call("quote_ident", vec![plain]),
            Kind::Constant => {
                call("ifNull", vec![call("quote_literal", vec![plain]), text(b"NULL".to_vec())])
            }
        }
    }
}

/// `None` for a pattern with positions or widths.
fn parts_of(pattern: &[u8]) -> Option<Vec<Part>> {
    let (mut parts, mut before) = (Vec::new(), Vec::new());
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            before.push(*byte);
            continue;
        }
        let kind = match bytes.next()? {
            b'%' => {
                before.push(b'%');
                continue;
            }
            b's' => Kind::Plain,
            b'I' => Kind::Name,
            b'L' => Kind::Constant,
            _ => return None,
        };
        parts.extend([Part::Text(std::mem::take(&mut before)), Part::Value(kind)]);
    }
    parts.push(Part::Text(before));
    Some(parts)
}

fn text(bytes: Vec<u8>) -> Expr {
    Expr::Literal(Literal::String(bytes))
}
