//! How many rows of a selection pass all conditions, as far as zone maps say.

use basalt_base::Result;
use basalt_parts::Part;

use super::filter_step::FilterStep;
use super::selection::Selection;

/// The rows of `selection` that pass all `steps`; `None` if that takes reading.
pub(super) fn row_count(selection: &Selection, steps: &[FilterStep]) -> Result<Option<u64>> {
    if selection.has_deleted_rows() || !steps.iter().all(FilterStep::may_be_counted) {
        return Ok(None);
    }
    let mut total = 0;
    for (part, marks) in &selection.parts {
        for mark in marks.ranges.iter().flat_map(Clone::clone) {
            match rows_of_mark(part, mark, steps)? {
                Some(rows) => total += rows,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(total))
}

fn rows_of_mark(part: &Part, mark: usize, steps: &[FilterStep]) -> Result<Option<u64>> {
    let marks = mark..mark + 1;
    let mut open = None;
    for step in steps {
        if !step.holds_for_all(part, &marks)? && open.replace(step).is_some() {
            return Ok(None);
        }
    }
    let span = part.mark_rows(&marks);
    let rows = span.end - span.start;
    let Some(step) = open else { return Ok(Some(rows)) };
    let Some((column, counted)) = step.counted else { return Ok(None) };
    Ok(part.zones(column)?.and_then(|zones| counted.count(&zones, mark, rows)))
}
