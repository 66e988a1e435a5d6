//! Virtual columns of the rows of parts, and the conditions that they decide for whole parts.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, StructArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, SqlType};
use basalt_parts::Part;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};

use super::filter_step::is_dynamic;
use super::slots::Slot;
use crate::scan::VirtualColumn;
use crate::scan::conjunct::Conjunct;
use crate::scan::source::ScanRequest;
use crate::scan::virtual_columns::repeated;

/// The column, which is the same in all rows of a part: a row for each of `parts`, which are all of a
/// snapshot.
pub(super) fn of_parts(column: VirtualColumn, parts: &[Arc<Part>]) -> Result<ArrayRef> {
    let numbers = |number: &dyn Fn(&Part) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(parts.iter().map(|part| number(part))))
    };
    let texts = |text: &dyn Fn(&Part) -> String| -> ArrayRef {
        Arc::new(BinaryViewArray::from_iter_values(parts.iter().map(|part| text(part).into_bytes())))
    };
    match column {
        VirtualColumn::Part => Ok(texts(&|part| part.name().to_string())),
        VirtualColumn::PartitionId => Ok(texts(&|part| part.name().partition.clone())),
        VirtualColumn::BlockNumber => Ok(numbers(&|part| part.name().min_block)),
        VirtualColumn::PartDataVersion => Ok(numbers(&|part| part.name().data_version())),
        VirtualColumn::PartIndex => Ok(Arc::new(UInt64Array::from_iter_values(0..parts.len() as u64))),
        VirtualColumn::PartStartingOffset => {
            let starts = parts.iter().scan(0, |next, part| {
                *next += part.row_count();
                Some(*next - part.row_count())
            });
            Ok(Arc::new(UInt64Array::from_iter_values(starts)))
        }
        VirtualColumn::PartitionValue => partition_values(parts),
        other => Err(Error::logical(format!("`{}` is not a column of parts", other.name()))),
    }
}

fn partition_values(parts: &[Arc<Part>]) -> Result<ArrayRef> {
    let value = |part: &Arc<Part>| -> Result<ArrayRef> {
        let (types, arrays): (Vec<_>, Vec<_>) = part.partition()?.elements.into_iter().unzip();
        let DataType::Struct(fields) = SqlType::tuple_of(types).carrier() else {
            return Err(Error::logical("a tuple that is no struct"));
        };
        Ok(Arc::new(StructArray::try_new(fields, arrays, None).map_err(Error::of_arrow)?))
    };
    let values = parts.iter().map(value).collect::<Result<Vec<_>>>()?;
    concat(&values.iter().map(AsRef::as_ref).collect::<Vec<_>>()).map_err(Error::of_arrow)
}

/// The column in the rows of `marks` of `part`, which is the part at `index`; `of_parts` has a row for each
/// part, if all rows of one agree.
pub(super) fn values(
    column: VirtualColumn,
    of_parts: Option<&ArrayRef>,
    (part, index): (&Part, usize),
    marks: &Range<usize>,
) -> Result<ArrayRef> {
    let rows = part.mark_rows(marks);
    match of_parts {
        Some(values) => repeated(&values.slice(index, 1), (rows.end - rows.start) as usize),
        None => {
            let granule_rows = granule_rows(part);
            let value = |row| column.in_row(row, granule_rows);
            Ok(Arc::new(UInt64Array::from_iter_values(rows.map(value))))
        }
    }
}

/// Rows of each granule of the part but the last.
pub(super) fn granule_rows(part: &Part) -> u64 {
    part.mark_rows(&(0..1)).end.max(1)
}

/// Which of `parts` meet the request's conditions on virtual columns of whole parts, and the conditions that are left.
/// `None` if the request has no such conditions.
pub(super) fn decided(
    request: &ScanRequest,
    parts: &[Arc<Part>],
    decides: impl Fn(VirtualColumn) -> bool,
) -> Result<Option<Decided>> {
    let is_on_parts = |filter: &Arc<dyn PhysicalExpr>| is_on_parts(filter, request, &decides);

    let all: Vec<_> = request.filters.iter().flat_map(|filter| split_conjunction(filter)).collect();
    if parts.is_empty() || !all.iter().any(|filter| is_on_parts(filter)) {
        return Ok(None);
    }
    let mut kept = BooleanBuffer::new_set(parts.len());
    let mut others = Vec::new();
    for filter in all {
        let conjunct = Conjunct::new(filter, &request.stored.to_arrow())?;
        if !is_on_parts(filter) || conjunct.is_fallible() {
            others.push(Arc::clone(filter));
            continue;
        }
        let array = |&at: &usize| match VirtualColumn::find(&request.stored[at].name) {
            Some(column) => of_parts(column, parts),
            None => Err(Error::logical("a column that is not virtual")),
        };
        let arrays = conjunct.columns.iter().map(array).collect::<Result<Vec<_>>>()?;
        kept = &kept & &conjunct.evaluate(arrays, parts.len())?;
    }
    Ok(Some(Decided { kept, others }))
}

/// Parts of a snapshot that conditions on virtual columns keep.
pub(super) struct Decided {
    /// A bit for each part.
    pub(super) kept: BooleanBuffer,
    /// Conditions that still must be evaluated.
    pub(super) others: Vec<Arc<dyn PhysicalExpr>>,
}

fn is_on_parts(
    filter: &Arc<dyn PhysicalExpr>,
    request: &ScanRequest,
    decides: &impl Fn(VirtualColumn) -> bool,
) -> bool {
    let columns = datafusion::physical_expr::utils::collect_columns(filter);
    let is_of_part = |at: usize| {
        at >= request.virtual_from
            && VirtualColumn::find(&request.stored[at].name)
                .is_some_and(|column| column.is_of_part() && decides(column))
    };
    !is_dynamic(filter) && columns.iter().all(|column| is_of_part(column.index()))
}

/// The virtual columns among `slots`, by slot, with a row for each part of the snapshot.
pub(super) fn of_slots(slots: &[Slot], parts: &[Arc<Part>]) -> Result<Vec<Option<ArrayRef>>> {
    let array = |slot: &Slot| match slot {
        Slot::Virtual(column) if column.is_of_part() => of_parts(*column, parts).map(Some),
        _ => Ok(None),
    };
    slots.iter().map(array).collect()
}
