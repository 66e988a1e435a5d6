//! Which strings of a scan can leave it as numbers.

use std::sync::Arc;

use basalt_base::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

use super::mode::Mode;
use super::plan::ScanPlan;
use super::selection::Selection;
use crate::scan::coded_string::CodedString;
use crate::scan::numbering::Numbering;
use crate::scan::source::ScanRequest;

/// Dictionaries of all parts together: what the query may have to remember.
const DICTIONARY_BYTES_MAX: u64 = 1 << 30;

/// The numbered strings: column of the blocks, and what the numbers stand for.
pub(super) type Numbered = Vec<(usize, Arc<Numbering>)>;

/// The request with numbers of `strings`; `None` if the parts do not keep all of them as codes.
pub(super) fn coded(
    request: &ScanRequest,
    selection: &Selection,
    plan: &ScanPlan,
    strings: &[CodedString],
) -> Result<Option<(ScanRequest, Numbered)>> {
    if plan.mode != Mode::Anyhow || plan.limit.is_some() || !request.numbers.is_empty() {
        return Ok(None);
    }
    let mut request = request.clone();
    let mut numbered: Numbered = Vec::with_capacity(strings.len());
    for string in strings {
        let place = plan.slots[plan.output[string.column]].stored();
        if !place.map_or(Ok(false), |at| are_codes(at, selection))? {
            return Ok(None);
        }
        let is_free = numbered.iter().all(|(column, _)| *column != string.column);
        let column = if is_free && !string.keeps_column {
            string.column
        } else {
            request.columns.push(request.columns[string.column]);
            request.columns.len() - 1
        };
        numbered.push((column, numbering(string, selection, plan)?));
    }
    request.numbers.clone_from(&numbered);
    Ok(Some((request, numbered)))
}

/// Whether all rows of the column at `at` of the parts are codes of dictionaries that are not too large.
fn are_codes(at: usize, selection: &Selection) -> Result<bool> {
    let mut bytes = 0;
    for part in selection.selected_parts() {
        match part.dictionary_bytes_max(at)? {
            Some(more) => bytes += more,
            None => return Ok(false),
        }
    }
    Ok(bytes <= DICTIONARY_BYTES_MAX)
}

fn numbering(string: &CodedString, selection: &Selection, plan: &ScanPlan) -> Result<Arc<Numbering>> {
    let field = plan.schema.field(string.column);
    let place = plan.slots[plan.output[string.column]].stored();
    let is_alone = match (place, &selection.selected_parts().collect::<Vec<_>>()[..]) {
        (Some(at), [part]) => part.dictionary_bytes_max(at)?.is_some_and(|bytes| bytes > 0),
        _ => false,
    };
    if is_alone && string.value.is_none() {
        return Ok(Arc::new(Numbering::of_part(field)));
    }
    let function = string.value.as_ref().map(over_only_column).transpose()?;
    let pool = Arc::clone(&plan.query.memory) as Arc<dyn MemoryPool>;
    Ok(Arc::new(Numbering::of_query(field, function, &pool)))
}

/// A function of one column, which is the first one now.
fn over_only_column(function: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let place = |expr: Arc<dyn PhysicalExpr>| match expr.downcast_ref::<Column>() {
        Some(column) => {
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), 0)) as Arc<dyn PhysicalExpr>))
        }
        None => Ok(Transformed::no(expr)),
    };
    Arc::clone(function).transform_up(place).data().map_err(basalt_exec::error::from_datafusion)
}
