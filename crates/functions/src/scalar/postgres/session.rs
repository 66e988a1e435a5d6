//! `current_schemas`, `current_setting`, `set_config`, `pg_backend_pid`, `txid_current`: the session of a client.
//!
//! Syntax: `current_setting(name [, missing_ok])`; `set_config(name, value, is_local)` returns the value and changes
//! nothing: SET does.

use std::sync::Arc;

use arrow::array::{BinaryViewArray, Int32Array, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use basalt_base::SqlType;

use super::column::{Column, texts};
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, LowCardinality, Operand, Volatility};

/// Transactions have no numbers: all are this one.
const TRANSACTION: i64 = 1;

pub(super) static CURRENT_SCHEMAS: Definition =
    Definition::any_case("current_schemas", Arity::Exactly(1), |call| {
        let relations = Arc::clone(&call.context.relations);
        Ok(Bound::of(SqlType::array_of(SqlType::String), move |operands: &[Operand], rows| {
            let implied = Column::of(&operands[0])?;
            let with_implied = implied_schemas(&operands[0], &implied);
            let path: Vec<String> = relations
                .search_path()
                .into_iter()
                .filter(|schema| with_implied || schema != "pg_catalog")
                .collect();
            let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(path.len(), rows));
            let names = BinaryViewArray::from_iter_values((0..rows).flat_map(|_| &path));
            Ok(Arc::new(ListArray::new(SqlType::String.element_field(), offsets, Arc::new(names), None)))
        }))
    })
    .low_cardinality(LowCardinality::Dropped)
    .volatility(Volatility::Stable);

fn implied_schemas(operand: &Operand, column: &Column) -> bool {
    use arrow::array::AsArray;
    match operand.array.as_boolean_opt() {
        Some(flags) => !flags.is_empty() && flags.value(0),
        None => column.integer(0).is_some_and(|number| number != 0),
    }
}

pub(super) static CURRENT_SETTING: Definition =
    Definition::any_case("current_setting", Arity::Between(1, 2), |call| {
        let relations = Arc::clone(&call.context.relations);
        Ok(texts(move |args, row| args[0].text(row).and_then(|name| relations.variable(&name))))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped)
    .volatility(Volatility::Stable);

pub(super) static SET_CONFIG: Definition =
    Definition::any_case("set_config", Arity::Exactly(3), |_| Ok(texts(|args, row| args[1].text(row))))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static PG_CLIENT_ENCODING: Definition =
    Definition::any_case("pg_client_encoding", Arity::Exactly(0), |_| {
        Ok(texts(|_, _| Some("UTF8".to_owned())))
    })
    .sees_null();

pub(super) static PG_BACKEND_PID: Definition =
    Definition::any_case("pg_backend_pid", Arity::Exactly(0), |_| {
        let process = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
        Ok(Bound::of(SqlType::Int32, move |_: &[Operand], rows| {
            Ok(Arc::new(Int32Array::from_value(process, rows)))
        }))
    })
    .volatility(Volatility::Stable);

pub(super) static TXID_CURRENT: Definition = Definition::any_case("txid_current", Arity::Exactly(0), |_| {
    Ok(Bound::of(SqlType::Int64, move |_: &[Operand], rows| {
        Ok(Arc::new(Int64Array::from_value(TRANSACTION, rows)))
    }))
})
.aliases(&["pg_current_xact_id"])
.volatility(Volatility::Stable);
