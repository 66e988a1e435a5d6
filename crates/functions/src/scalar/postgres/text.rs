//! `quote_ident`, `quote_literal`, `json_build_object`, `pg_size_pretty`, `pg_encoding_to_char`, `pg_typeof`: texts by Postgres' rules.
//!
//! Syntax: `quote_ident('a b')` is `"a b"`. NULL for NULL.

use std::sync::Arc;

use arrow::array::BinaryViewBuilder;
use basalt_base::{Result, SqlType};
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};

use super::column::texts;
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

/// The number of the encoding of every text.
const UTF8: i64 = 6;

/// A size is shown in a unit as long as it has less than this many of it.
const UNIT_MAX: i64 = 10_240;

pub(super) static QUOTE_IDENT: Definition = Definition::any_case("quote_ident", Arity::Exactly(1), |_| {
    Ok(texts(|args, row| args[0].text(row).map(|name| quoted_name(&name))))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

pub(super) static QUOTE_LITERAL: Definition =
    Definition::any_case("quote_literal", Arity::Exactly(1), |_| {
        Ok(texts(|args, row| {
            let text = args[0].text(row).or_else(|| args[0].integer(row).map(|number| number.to_string()))?;
            Some(format!("'{}'", text.replace('\'', "''")))
        }))
    })
    .aliases(&["quote_nullable"])
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static PG_ENCODING_TO_CHAR: Definition =
    Definition::any_case("pg_encoding_to_char", Arity::Exactly(1), |_| {
        Ok(texts(|args, row| {
            args[0].integer(row).map(|number| if number == UTF8 { "UTF8".to_owned() } else { String::new() })
        }))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static PG_SIZE_PRETTY: Definition =
    Definition::any_case("pg_size_pretty", Arity::Exactly(1), |_| {
        Ok(texts(|args, row| args[0].integer(row).map(pretty)))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

/// The name of the type in ClickHouse's spelling.
pub(super) static PG_TYPEOF: Definition = Definition::any_case("pg_typeof", Arity::Exactly(1), |call| {
    let name = call.args[0].ty.stripped().to_string();
    Ok(texts(move |_, _| Some(name.clone())))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped);

/// `{"key" : value, ..}` as text; the arguments are keys and values in turn.
pub(super) static JSON_BUILD_OBJECT: Definition =
    Definition::any_case("json_build_object", Arity::AtLeast(0), |call| {
        let types: Vec<SqlType> = call.args.iter().map(|arg| arg.ty.clone()).collect();
        Ok(Bound::of(SqlType::String, move |operands: &[Operand], rows| {
            let settings = TextSettings::default();
            let writers = operands
                .iter()
                .zip(&types)
                .map(|(operand, ty)| ValueWriter::new(ty, &operand.array, &settings));
            let writers = writers.collect::<Result<Vec<_>>>()?;
            let mut builder = BinaryViewBuilder::with_capacity(rows);
            let mut text = Vec::new();
            for row in 0..rows {
                text.clear();
                text.push(b'{');
                for (index, (writer, operand)) in writers.iter().zip(operands).enumerate() {
                    text.extend_from_slice(match index {
                        0 => b"",
                        odd if odd % 2 == 1 => b" : ",
                        _ => b", ",
                    });
                    writer.write(if operand.constant { 0 } else { row }, Style::Json, &mut text);
                }
                text.push(b'}');
                builder.append_value(&text);
            }
            Ok(Arc::new(builder.finish()))
        }))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

fn quoted_name(name: &str) -> String {
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if starts && is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn pretty(bytes: i64) -> String {
    let mut value = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if value.abs() < UNIT_MAX {
            return format!("{value} {unit}");
        }
        value = (value + 512) / 1024;
    }
    format!("{value} PB")
}
