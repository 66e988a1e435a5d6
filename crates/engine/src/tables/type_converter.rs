//! Converts the columns of a file that says its types, by the rules of CAST.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::zone::Zone;
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_formats::TypeConverter;
use basalt_parts::KeyExpression;
use basalt_planner::{cast, cast_for, plan_expr};
use basalt_sql::ast::Expr;

use super::key::PlannedKey;
use super::planning::plan_alone;

/// The name of the only column of a plan.
const VALUE: &str = "value";

/// Converts in a time zone, which is that of a `DateTime` without one.
pub(crate) struct CastConverter {
    zone: Zone,
    /// Whether a number that the type does not have is an error.
    is_exact: bool,
}

impl CastConverter {
    pub(crate) fn shared(zone: Zone) -> Arc<dyn TypeConverter> {
        Arc::new(CastConverter { zone, is_exact: false })
    }

    /// As [`CastConverter::shared`], but a number that the type does not have is an error.
    pub(crate) fn exact(zone: Zone) -> Arc<dyn TypeConverter> {
        Arc::new(CastConverter { zone, is_exact: true })
    }
}

impl TypeConverter for CastConverter {
    fn convert(&self, array: &ArrayRef, from: &SqlType, to: &SqlType) -> Result<ArrayRef> {
        let columns = Columns::new(vec![Column::new(VALUE, from.clone())]);
        let name = Expr::Identifier(vec![VALUE.to_owned()]);
        let planned = plan_alone(self.zone, |ctx| {
            let (value, ty) = plan_expr(&name, &columns, ctx)?;
            match self.is_exact {
                true => cast_for(&Column::new(VALUE, to.clone()), true, value, &ty, ctx),
                false => cast(value, &ty, to, ctx),
            }
        })?;
        let planned = PlannedKey::of(&columns, format!("CAST to {to}"), to.clone(), &planned)?;
        planned.evaluate(&[Arc::clone(array)], array.len())
    }
}
