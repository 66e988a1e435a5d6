//! `pg_table_is_visible`; `has_function_privilege` and others: true for every object; `pg_is_in_recovery` and others:
//! never.
//!
//! Syntax: `has_function_privilege([user,] function, privilege)`. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::BooleanArray;
use basalt_base::SqlType;

use super::column::Column;
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, LowCardinality, Operand, Volatility};

pub(super) static PG_TABLE_IS_VISIBLE: Definition =
    Definition::any_case("pg_table_is_visible", Arity::Exactly(1), |call| {
        let relations = Arc::clone(&call.context.relations);
        Ok(Bound::of(SqlType::Bool, move |operands: &[Operand], rows| {
            let oids = Column::of(&operands[0])?;
            let visible = |row| oids.oid(row).is_some_and(|oid| relations.is_visible(oid));
            Ok(Arc::new((0..rows).map(visible).map(Some).collect::<BooleanArray>()))
        }))
    })
    .low_cardinality(LowCardinality::Dropped)
    .volatility(Volatility::Stable);

pub(super) static ALWAYS: Definition =
    Definition::any_case("pg_type_is_visible", Arity::Between(1, 4), |_| Ok(truth(true)))
        .aliases(&[
            "pg_function_is_visible",
            "pg_operator_is_visible",
            "pg_opclass_is_visible",
            "pg_opfamily_is_visible",
            "pg_collation_is_visible",
            "pg_conversion_is_visible",
            "pg_statistics_obj_is_visible",
            "pg_ts_config_is_visible",
            "pg_ts_dict_is_visible",
            "pg_ts_parser_is_visible",
            "pg_ts_template_is_visible",
            "has_function_privilege",
            "has_sequence_privilege",
            "has_tablespace_privilege",
            "has_type_privilege",
        ])
        .low_cardinality(LowCardinality::Dropped);

pub(super) static NEVER: Definition =
    Definition::any_case("pg_is_in_recovery", Arity::Between(0, 2), |_| Ok(truth(false)))
        .aliases(&[
            "pg_is_other_temp_schema",
            "row_security_active",
            "pg_relation_is_publishable",
            "pg_advisory_unlock_all",
        ])
        .low_cardinality(LowCardinality::Dropped);

fn truth(value: bool) -> Bound {
    Bound::of(SqlType::Bool, move |_: &[Operand], rows| Ok(Arc::new(BooleanArray::from(vec![value; rows]))))
}
