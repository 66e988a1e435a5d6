//! The columns of a table's key, which have no NULL.

use crate::ast::{CreateTable, Expr, TableElement, TypeArgument};

/// Takes NULL from the columns of the key, unless the statement says NULL.
pub(in crate::parser) fn require_keys(table: &mut CreateTable) {
    let primary = table.primary_key.iter().flatten();
    let sorting = table.order_by.iter().flatten().map(|part| &part.expr);
    let names: Vec<String> = primary
        .chain(sorting)
        .filter_map(|part| match part {
            Expr::Identifier(parts) => parts.last().cloned(),
            _ => None,
        })
        .collect();
    for element in &mut table.elements {
        let TableElement::Column(column) = element else { continue };
        if column.nullable == Some(true) || !names.contains(&column.name) {
            continue;
        }
        if let Some(ty) = &mut column.ty
            && ty.name == "Nullable"
            && let Some(TypeArgument::Type(inner)) = ty.args.first().cloned()
        {
            *ty = inner;
        }
    }
}
