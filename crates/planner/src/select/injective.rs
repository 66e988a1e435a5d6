//! GROUP BY the value of an INJECTIVE attribute, as GROUP BY the key with one lookup per group.
//!
//! INJECTIVE promises that different keys have different values. If that is not true, and for missing keys, groups
//! with equal values stay separate, as in ClickHouse.

use basalt_base::SqlType;
use basalt_functions::scalar::BoundScalar;
use datafusion::logical_expr::Expr;

use crate::bound_expr::BoundExpr;
use crate::session::Session;

/// The keys, with attribute values replaced by dictionary keys.
pub(super) fn hoisted(session: &Session<'_>, keys: Vec<BoundExpr>) -> Vec<BoundExpr> {
    if !session.settings().optimize_injective_functions_in_group_by {
        return keys;
    }
    let mut hoisted: Vec<BoundExpr> = Vec::with_capacity(keys.len());
    for key in keys {
        for part in key_of(&key).unwrap_or_else(|| vec![key]) {
            if !hoisted.iter().any(|known| known.expr == part.expr) {
                hoisted.push(part);
            }
        }
    }
    hoisted
}

/// The key of the lookup, as one expression per key column.
fn key_of(bound: &BoundExpr) -> Option<Vec<BoundExpr>> {
    let Expr::ScalarFunction(call) = &bound.expr else { return None };
    let function = BoundScalar::of(&call.func)?;
    let attribute = function.attribute()?;
    let (key, ty) = (call.args.get(2)?, function.arg_types().get(2)?);
    if !attribute.attribute().injective || attribute.dictionary().range_type().is_some() {
        return None;
    }
    match (key, ty.stripped()) {
        (Expr::ScalarFunction(tuple), SqlType::Tuple(elements)) if tuple.name() == "tuple" => {
            let parts = tuple.args.iter().zip(elements.iter());
            Some(parts.map(|(part, element)| BoundExpr::new(part.clone(), element.ty.clone())).collect())
        }
        _ => Some(vec![BoundExpr::new(key.clone(), ty.clone())]),
    }
}
