//! `has_table_privilege` and others: whether a user may do something with an object.
//!
//! Syntax: `has_table_privilege([user,] table, privileges)`, `has_column_privilege([user,] table, column, privileges)`.
//! The privileges are a list with commas, of which one is enough. An object is a name or its number. NULL if an argument
//! is NULL, or no object has the number.

use std::sync::Arc;

use arrow::array::BooleanArray;
use basalt_base::{Result, SqlType};

use super::column::Column;
use crate::context::{ObjectRef, PrivilegeTarget};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, LowCardinality, Operand, Volatility};

/// Declares functions of a user, an object and a privilege.
macro_rules! privilege_functions {
    ($($static:ident $name:literal $arguments:literal $target:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::any_case($name, Arity::Between($arguments, $arguments + 1), |call| {
                bind(call, $arguments, $target)
            })
            .low_cardinality(LowCardinality::Dropped)
            .volatility(Volatility::Stable);
    )+ };
}

privilege_functions! {
    HAS_TABLE_PRIVILEGE "has_table_privilege" 2 |args| PrivilegeTarget::Table(args[0].clone());
    HAS_ANY_COLUMN_PRIVILEGE "has_any_column_privilege" 2 |args| PrivilegeTarget::AnyColumn(args[0].clone());
    HAS_COLUMN_PRIVILEGE "has_column_privilege" 3 |args| {
        PrivilegeTarget::Column(args[0].clone(), args[1].clone())
    };
    HAS_DATABASE_PRIVILEGE "has_database_privilege" 2 |args| PrivilegeTarget::Database(args[0].clone());
    HAS_SCHEMA_PRIVILEGE "has_schema_privilege" 2 |args| PrivilegeTarget::Schema(args[0].clone());
    PG_HAS_ROLE "pg_has_role" 2 |args| PrivilegeTarget::Role(args[0].clone());
}

fn bind(call: &Call, arguments: usize, target: fn(&[ObjectRef]) -> PrivilegeTarget) -> Result<Bound> {
    let relations = Arc::clone(&call.context.relations);
    Ok(Bound::of(SqlType::Bool.into_nullable(), move |operands: &[Operand], rows| {
        let columns = operands.iter().map(Column::of).collect::<Result<Vec<_>>>()?;
        let answer = |row: usize| {
            let Some(objects) = columns.iter().map(|column| object(column, row)).collect::<Option<Vec<_>>>()
            else {
                return Ok(None);
            };
            let (user, rest) = objects.split_at(objects.len() - arguments);
            let Some((ObjectRef::Named(privileges), target_of)) = rest.split_last() else { return Ok(None) };
            relations.has_privilege(user.first(), &target(target_of), privileges)
        };
        Ok(Arc::new((0..rows).map(answer).collect::<Result<BooleanArray>>()?))
    }))
}

fn object(column: &Column, row: usize) -> Option<ObjectRef> {
    match column.text(row) {
        Some(name) => Some(ObjectRef::Named(name)),
        None => column.integer(row).map(ObjectRef::Numbered),
    }
}
