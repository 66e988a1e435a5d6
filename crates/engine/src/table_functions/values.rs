//! `values(['a UInt8, b String',] (1, 'x'), (2, 'y'))`: rows that are written out.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::types::common_type;
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_planner::{PlannerContext, plan_constant};
use basalt_sql::ast;

use super::arguments::Arguments;
use crate::structure::columns_of;
use crate::tables::{Table, VirtualTable};

pub(super) fn values(args: &Arguments<'_>) -> Result<Arc<dyn Table>> {
    let declared = declared(args)?;
    let skip = usize::from(declared.is_some());
    let rows: Vec<&[ast::Expr]> = args.call.args[skip..].iter().map(elements).collect();
    if rows.is_empty() {
        bail!(NumberOfArgumentsDoesntMatch, "table function `values` takes at least one row");
    }
    let width = declared.as_ref().map_or(rows[0].len(), |columns| columns.len());
    if let Some(row) = rows.iter().find(|row| row.len() != width) {
        bail!(BadArguments, "a row of `values` has {} values, not {width}", row.len());
    }
    let columns = match declared {
        Some(columns) => columns,
        None => found(&rows, args.ctx)?,
    };
    let arrays = columns.iter().enumerate().map(|(at, column)| array(&rows, at, &column.ty, args.ctx));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let block = RecordBatch::try_new_with_options(columns.to_arrow(), arrays, &options);
    let block = block.map_err(Error::of_arrow)?;
    let table =
        VirtualTable::of_block("Values", "_table_function", "values", &columns, move || Ok(block.clone()))?;
    Ok(Arc::new(table))
}

/// The columns that the first argument declares; a single string may also be a row.
fn declared(args: &Arguments<'_>) -> Result<Option<Columns>> {
    match args.call.args.first() {
        Some(ast::Expr::Literal(ast::Literal::String(text))) if args.len() > 1 => {
            let text = String::from_utf8_lossy(text);
            Ok(columns_of(&text, "c")
                .ok()
                .filter(|columns| columns.iter().all(|column| !is_unnamed(column, &text))))
        }
        _ => Ok(None),
    }
}

/// Whether the name was not written: such a text is a value.
fn is_unnamed(column: &Column, text: &str) -> bool {
    !text.contains(&column.name)
}

/// The values of a row; one that is no tuple is a row of one value.
fn elements(row: &ast::Expr) -> &[ast::Expr] {
    match row {
        ast::Expr::Tuple(elements) => elements,
        ast::Expr::Function(call) if call.name == "tuple" => &call.args,
        other => std::slice::from_ref(other),
    }
}

/// Columns `c1`, `c2` of the types that all rows have in common.
fn found(rows: &[&[ast::Expr]], ctx: &PlannerContext<'_>) -> Result<Columns> {
    let columns = (0..rows[0].len()).map(|at| {
        let types = rows.iter().map(|row| plan_constant(&row[at], ctx).map(|(_, ty)| ty));
        let types = types.collect::<Result<Vec<_>>>()?;
        match common_type(&types) {
            Some(ty) => Ok(Column::new(format!("c{}", at + 1), ty)),
            None => {
                bail!(NoCommonType, "there is no common type of the values of column {} of `values`", at + 1)
            }
        }
    });
    columns.collect()
}

/// The values at `at` of all rows, as values of `ty`.
fn array(rows: &[&[ast::Expr]], at: usize, ty: &SqlType, ctx: &PlannerContext<'_>) -> Result<ArrayRef> {
    let name = ty.to_string();
    let values = rows.iter().map(|row| {
        let cast = ast::FunctionCall {
            name: "CAST".to_owned(),
            parameters: Vec::new(),
            distinct: false,
            args: vec![row[at].clone(), ast::Expr::Literal(ast::Literal::String(name.clone().into_bytes()))],
            filter: None,
            over: None,
        };
        plan_constant(&ast::Expr::Function(cast), ctx).map(|(array, _)| array)
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    let values: Vec<_> = values.iter().map(|array| array.as_ref()).collect();
    arrow::compute::concat(&values).map_err(Error::of_arrow)
}
