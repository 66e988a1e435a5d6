//! Casts a column from its type in a part to its type in the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::zone::Zone;
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_parts::{Conversion, ConvertValues, FindConversion, KeyExpression};
use basalt_planner::plan_expr;
use basalt_sql::ast::{Expr, FunctionCall};
use basalt_sql::parse_type;

use super::TableDefinition;
use super::key::PlannedKey;
use super::planning::plan_alone;

/// The conversions of one table.
#[derive(Debug)]
pub(super) struct TableConversions {
    /// The DEFAULT of a column that is not Nullable any more, which replaces NULL.
    defaults: HashMap<String, Expr>,
}

impl TableConversions {
    pub(super) fn of(definition: &TableDefinition) -> TableConversions {
        let default = |column: &super::ColumnDefinition| {
            let expr = column.default.as_ref()?.expr.clone()?;
            Some((column.name.clone(), expr))
        };
        TableConversions { defaults: definition.stored_definitions().filter_map(default).collect() }
    }

    fn planned(&self, from: &SqlType, to: &Column) -> Result<PlannedKey> {
        let column = Expr::Identifier(vec![to.name.clone()]);
        let loses_null = from.accepts_null() && !to.ty.accepts_null();
        let operand = match self.defaults.get(&to.name).filter(|_| loses_null) {
            Some(default) => Expr::Function(FunctionCall::plain("ifNull", vec![column, default.clone()])),
            None => column,
        };
        let ty = parse_type(to.ty.to_string().as_bytes()).map_err(Error::logical)?;
        let cast = Expr::Cast { operand: Box::new(operand), ty };
        let columns = Columns::new(vec![Column::new(&to.name, from.clone())]);
        let (planned, ty) = plan_alone(Zone::system(), |ctx| plan_expr(&cast, &columns, ctx))?;
        PlannedKey::of(&columns, cast.to_string(), ty, &planned)
    }
}

impl FindConversion for TableConversions {
    fn find(&self, from: &str, to: &Column) -> Result<Conversion> {
        let written = parse_type(from.as_bytes()).map_err(Error::from)?;
        let from = basalt_sql::resolve_type(&written)?;
        if is_same_stored(&from, &to.ty) {
            return Ok(Conversion { from, values: None });
        }
        let within = |error: Error| error.within(format!("column `{}`, from {from} to {}", to.name, to.ty));
        let cast = CastValues { planned: self.planned(&from, to).map_err(within)?, to: to.clone() };
        Ok(Conversion { from, values: Some(Arc::new(cast)) })
    }
}

/// Whether every value of `from` is the same in `to`: ClickHouse's changes of metadata alone, and
/// LowCardinality, which says how values are stored and not what they are.
pub(crate) fn is_same_stored(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{
        Array, Date, DateTime, DateTime64, Enum8, Enum16, Int8, Int16, LowCardinality, Nullable, UInt16,
        UInt32,
    };
    match (from, to) {
        _ if from == to => true,
        (Enum8(old), Enum8(new)) => old.iter().all(|value| new.contains(value)),
        (Enum16(old), Enum16(new)) => old.iter().all(|value| new.contains(value)),
        (Enum8(_), Int8)
        | (Enum16(_), Int16)
        | (DateTime(_), DateTime(_) | UInt32)
        | (UInt32, DateTime(_))
        | (Date, UInt16)
        | (UInt16, Date) => true,
        (DateTime64 { precision: old, .. }, DateTime64 { precision: new, .. }) => old == new,
        (LowCardinality(old), new) | (new, LowCardinality(old)) => is_same_stored(old, new),
        (Array(old), Array(new)) | (Nullable(old), Nullable(new)) => is_same_stored(old, new),
        _ => false,
    }
}

/// A planned cast of the one column.
#[derive(Debug)]
struct CastValues {
    planned: PlannedKey,
    to: Column,
}

impl ConvertValues for CastValues {
    fn convert(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let rows = values.len();
        let values = self.planned.evaluate(&[Arc::clone(values)], rows)?;
        if values.null_count() > 0 && !self.to.ty.accepts_null() {
            basalt_base::bail!(
                CannotInsertNullInOrdinaryColumn,
                "cannot convert NULL value of column `{}` to non-Nullable type {}",
                self.to.name,
                self.to.ty
            );
        }
        Ok(values)
    }
}
