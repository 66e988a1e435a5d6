//! Whether the order that a query wants is that of the sorting key, or its reverse.

use arrow::compute::SortOptions;
use basalt_parts::{KeyElement, PartSpec};

use super::mode::Mode;

/// The mode in which the rows of a part come in `order`: columns of the parts, and how each is sorted. `None` if
/// there is none. `is_fixed` is true for columns that have one value in all rows that the query wants.
pub(super) fn mode(
    spec: &PartSpec,
    order: &[(usize, SortOptions)],
    is_fixed: impl Fn(usize) -> bool,
) -> Option<Mode> {
    let mut key = spec.sort_key.iter().peekable();
    let mut mode = None;
    for (column, options) in order {
        while key.next_if(|next| is_fixed_other(next, *column, &is_fixed)).is_some() {}
        if is_fixed(*column) {
            key.next_if(|next| next.as_column() == Some(*column));
            continue;
        }
        let next = key.next().filter(|next| next.as_column() == Some(*column))?;
        let needed = if options.descending == next.descending { Mode::InOrder } else { Mode::InReverse };
        // NULL is the last value of an ascending element, and the first one of a descending one.
        let nulls_fit = options.nulls_first == options.descending || !spec.columns[*column].ty.accepts_null();
        if !nulls_fit || mode.is_some_and(|mode| mode != needed) {
            return None;
        }
        mode = Some(needed);
    }
    Some(mode.unwrap_or(Mode::InOrder))
}

/// Whether the element has one value, and is not the column that is looked for.
fn is_fixed_other(element: &KeyElement, column: usize, is_fixed: &impl Fn(usize) -> bool) -> bool {
    element.as_column().is_some_and(|own| own != column && is_fixed(own))
}

#[cfg(test)]
mod tests {
    use basalt_base::{Column, Columns, SqlType};

    use super::*;

    /// A table ordered by (a, b DESC, c), where c may be NULL; `fixed` has one value.
    fn check(order: &[(usize, bool, bool)], fixed: Option<usize>, expected: Option<Mode>) {
        let nullable = SqlType::Int32.into_nullable();
        let columns = [("a", SqlType::Int32), ("b", SqlType::Int32), ("c", nullable)];
        let columns = columns.map(|(name, ty)| Column::new(name, ty));
        let descending = |column| KeyElement { descending: true, ..KeyElement::column(column) };
        let sort_key = vec![KeyElement::column(0), descending(1), KeyElement::column(2)];
        let spec = PartSpec { sort_key, ..PartSpec::new(Columns::new(columns.into())) };
        let order: Vec<_> = order
            .iter()
            .map(|&(column, descending, nulls_first)| (column, SortOptions { descending, nulls_first }))
            .collect();
        assert_eq!(mode(&spec, &order, |column| Some(column) == fixed), expected, "{order:?}");
    }

    #[test]
    fn a_prefix_of_the_key_is_an_order_or_its_reverse() {
        check(&[(0, false, false)], None, Some(Mode::InOrder));
        check(&[(0, true, false)], None, Some(Mode::InReverse));
        check(&[(0, false, false), (1, true, false)], None, Some(Mode::InOrder));
        check(&[(0, true, false), (1, false, false)], None, Some(Mode::InReverse));
        check(&[(0, true, false), (1, true, false)], None, None);
        check(&[(1, true, false)], None, None);
    }

    #[test]
    fn null_comes_last_in_a_key_and_first_in_its_reverse() {
        let check = |descending: bool, nulls_first, expected| {
            let order = [(0, descending, false), (1, !descending, false), (2, descending, nulls_first)];
            check(&order, None, expected);
        };
        check(false, false, Some(Mode::InOrder));
        check(false, true, None);
        check(true, true, Some(Mode::InReverse));
        check(true, false, None);
    }

    #[test]
    fn what_has_one_value_needs_no_order() {
        check(&[(1, true, false)], Some(0), Some(Mode::InOrder));
        check(&[(1, false, false)], Some(0), Some(Mode::InReverse));
        check(&[(0, true, false), (1, true, false)], Some(0), Some(Mode::InOrder));
        check(&[(2, true, true)], Some(0), None);
        check(&[(0, false, false), (2, false, false)], Some(1), Some(Mode::InOrder));
    }
}
