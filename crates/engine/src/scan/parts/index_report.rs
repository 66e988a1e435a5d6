//! The parts and granules that each index leaves, for EXPLAIN indexes = 1: in ClickHouse's format, a block of lines
//! for each index.
//!
//! In addition to ClickHouse's indexes there are `ZoneMap`, the bounds of granules of any column, and
//! `QueryConditionCache`. `Min-Max` are the bounds of every column, not only of those of the partition key.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, SqlType};
use basalt_formats::text::{Style, TextSettings, write_value};
use basalt_parts::{
    ColumnConstraint, Indexed, KeyElement, KeyRanges, MarkRanges, Operand, Part, Predicate, SkipIndex,
    Substring, ValueTest,
};

use super::selection::Selection;

/// Ranges of a condition that are shown, at most.
const RANGES_MAX: usize = 4;

/// How the primary index is searched: always by halves of what may match.
const SEARCH: &str = "Search Algorithm: generic exclusion search";

/// A few lines for each index: its keys, their conditions, parts and granules.
pub(super) fn lines(selection: &Selection) -> Result<Vec<String>> {
    let all = |(at, part): (usize, &Arc<Part>)| match &selection.kept {
        Some(kept) if !kept.value(at) => MarkRanges::none(part.mark_count()),
        _ => MarkRanges::all(part.mark_count()),
    };
    let left = selection.snapshot.iter().enumerate().map(all).collect();
    let mut report = Report { selection, left, lines: vec!["Indexes:".to_owned()] };
    for index in ["Min-Max", "Partition", "PrimaryKey", "ZoneMap"] {
        report.key(index)?;
    }
    for index in selection.indexes.iter() {
        report.skip_index(index)?;
    }
    report.read();
    Ok(report.lines)
}

/// A report that is being made.
struct Report<'a> {
    selection: &'a Selection,
    /// The granules that each part has left.
    left: Vec<MarkRanges>,
    lines: Vec<String>,
}

impl Report<'_> {
    /// The indexes that every column has.
    fn key(&mut self, index: &str) -> Result<()> {
        let selection = self.selection;
        let before = counts(&self.left);
        let mut is_used = false;
        let wanted = selection.parts.iter().zip(&mut self.left).filter(|(_, left)| left.selected() > 0);
        for ((part, _), left) in wanted {
            let steps = part.prune_steps(&selection.conditions, &selection.predicate)?;
            if let Some(step) = steps.into_iter().find(|step| step.index == index) {
                is_used = true;
                *left = step.left;
            }
        }
        let constraints = self.constraints(index);
        let is_there = match index {
            "PrimaryKey" => selection.spec.primary_key_len > 0,
            "Partition" => !selection.spec.partition_key.is_empty(),
            _ => false,
        };
        if !is_there && (!is_used || constraints.is_empty()) {
            return Ok(());
        }
        self.lines.push(format!("  {index}"));
        if !constraints.is_empty() {
            self.lines.push("    Keys:".to_owned());
            self.lines.extend(constraints.iter().map(|constraint| format!("      {}", constraint.name)));
        }
        let all: Result<Vec<String>> = constraints
            .iter()
            .map(|constraint| in_ranges(&constraint.name, &constraint.ty, &constraint.ranges))
            .collect();

        self.lines.push(format!("    Condition: {}", joined("and", all?)));
        self.counts(before);
        if index == "PrimaryKey" && is_used {
            self.lines.push(format!("    {SEARCH}"));
        }
        Ok(())
    }

    /// The conditions that an index checks.
    fn constraints(&self, index: &str) -> Vec<ColumnConstraint> {
        let Selection { spec, conditions, predicate, .. } = self.selection;
        match index {
            "PrimaryKey" => spec.primary_key_constraints(conditions, predicate),
            "Partition" => spec.partition_key_constraints(conditions, predicate),
            _ => {
                // The zone map of the first key column is not used.
                let first = spec.sort_key.first().filter(|_| index == "ZoneMap" && spec.primary_key_len > 0);
                let sorted = first.and_then(KeyElement::as_column);
                let mut constraints: Vec<ColumnConstraint> = Vec::new();
                for condition in conditions.iter().filter(|condition| Some(condition.column) != sorted) {
                    let column = &spec.columns[condition.column];
                    match constraints.iter_mut().find(|constraint| constraint.name == column.name) {
                        Some(known) => known.ranges = known.ranges.intersect(&condition.ranges),
                        None => constraints.push(ColumnConstraint {
                            name: column.name.clone(),
                            ty: column.ty.clone(),
                            ranges: condition.ranges.clone(),
                        }),
                    }
                }
                constraints
            }
        }
    }

    fn skip_index(&mut self, index: &SkipIndex) -> Result<()> {
        let before = counts(&self.left);
        let mut is_used = false;
        for ((part, _), left) in self.selection.parts.iter().zip(&mut self.left) {
            if let Some(kept) = part.prune_by_index(index, left, &self.selection.predicate)? {
                is_used = true;
                *left = kept;
            }
        }
        if is_used {
            self.lines.push("  Skip".to_owned());
            self.lines.push(format!("    Name: {}", index.name));
            let kind = index.kind.name();
            self.lines.push(format!("    Description: {kind} GRANULARITY {}", index.granularity));
            let condition = self.condition(&self.selection.predicate, index)?;
            self.lines.push(format!("    Condition: {}", condition.unwrap_or_else(|| "true".to_owned())));
            self.counts(before);
        }
        Ok(())
    }

    /// The granules that are read.
    fn read(&mut self) {
        let before = counts(&self.left);
        self.left = self.selection.parts.iter().map(|(_, marks)| marks.clone()).collect();
        if counts(&self.left) != before {
            self.lines.push("  QueryConditionCache".to_owned());
            self.counts(before);
        }
        let ranges: usize = self.left.iter().map(|left| left.ranges.len()).sum();
        self.lines.push(format!("  Ranges: {ranges}"));
    }

    fn counts(&mut self, before: (usize, usize)) {
        let left = counts(&self.left);
        self.lines.push(format!("    Parts: {}/{}", left.0, before.0));
        self.lines.push(format!("    Granules: {}/{}", left.1, before.1));
    }

    /// The condition on the elements of a skip index; `None` if there is none.
    fn condition(&self, predicate: &Predicate, index: &SkipIndex) -> Result<Option<String>> {
        let all = |parts: &[Predicate]| -> Result<Vec<Option<String>>> {
            parts.iter().map(|part| self.condition(part, index)).collect()
        };
        Ok(match predicate {
            Predicate::Any => None,
            Predicate::And(parts) => {
                let known: Vec<String> = all(parts)?.into_iter().flatten().collect();
                (!known.is_empty()).then(|| joined("and", known))
            }
            Predicate::Or(parts) => {
                let known: Option<Vec<String>> = all(parts)?.into_iter().collect();
                known.map(|known| joined("or", known))
            }
            Predicate::Value { operand, test } => {
                let element = index.elements.iter().find(|element| element.operand() == *operand);
                let ty = element.and_then(|element| self.type_of(element));
                ty.map(|ty| test_text(operand, ty, test)).transpose()?
            }
        })
    }

    fn type_of<'a>(&'a self, element: &'a Indexed) -> Option<&'a SqlType> {
        let columns = &self.selection.spec.columns;
        match element {
            Indexed::Column(name) => columns.position(name).map(|at| &columns[at].ty),
            Indexed::Expression(expression) => Some(expression.ty()),
        }
    }
}

fn test_text(operand: &Operand, ty: &SqlType, test: &ValueTest) -> Result<String> {
    let (Operand::Column(name) | Operand::Expression(name)) = operand;
    let bytes = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match test {
        ValueTest::Ranges(ranges) => in_ranges(name, ty, ranges)?,
        ValueTest::Points(points) => in_ranges(name, ty, &KeyRanges::points(points)?)?,
        ValueTest::Elements(elements) => {
            let ty = if let SqlType::Array(element) = ty { element } else { ty };
            match elements.len() {
                1 => format!("has({name}, {})", literal(ty, elements)),
                count => format!("hasAny({name}, {count}-element set)"),
            }
        }
        ValueTest::Substrings(substrings) => {
            let text = |substring: &Substring| {
                let (start, end) =
                    (if substring.is_start { "" } else { "%" }, if substring.is_end { "" } else { "%" });
                format!("{start}{}{end}", bytes(&substring.bytes))
            };
            format!("({name} like '{}')", substrings.iter().map(text).collect::<String>().replace("%%", "%"))
        }
        ValueTest::Token(token) => format!("hasToken({name}, '{}')", bytes(token)),
    })
}

/// `(k in [1, 5))`, `(k in 3-element set)`.
fn in_ranges(name: &str, ty: &SqlType, ranges: &KeyRanges) -> Result<String> {
    let count = ranges.count();
    if count == 0 {
        return Ok("false".to_owned());
    }
    if count > 1 && ranges.are_points() {
        return Ok(format!("({name} in {count}-element set)"));
    }
    let mut all = Vec::new();
    for (low, high) in ranges.bounds(&ty.carrier(), RANGES_MAX)? {
        let low = match low {
            Bound::Unbounded => "(-Inf".to_owned(),
            Bound::Included(value) => format!("[{}", literal(ty, &value)),
            Bound::Excluded(value) => format!("({}", literal(ty, &value)),
        };
        let high = match high {
            Bound::Unbounded => "+Inf)".to_owned(),
            Bound::Included(value) => format!("{}]", literal(ty, &value)),
            Bound::Excluded(value) => format!("{})", literal(ty, &value)),
        };
        all.push(format!("({name} in {low}, {high})"));
    }
    if count > RANGES_MAX {
        all.push(format!("{} more", count - RANGES_MAX));
    }
    Ok(joined("or", all))
}

/// `and(a, b)`, or the one.
fn joined(word: &str, mut all: Vec<String>) -> String {
    match all.len() {
        0 => "true".to_owned(),
        1 => all.remove(0),
        _ => format!("{word}({})", all.join(", ")),
    }
}

/// The first value of `values`, as SQL has it.
fn literal(ty: &SqlType, values: &ArrayRef) -> String {
    let mut text = Vec::new();
    let written = write_value(ty, values, 0, &mut text, Style::Quoted, &TextSettings::default());
    // A value without a text is shown by its kind.
    written.map_or_else(|_| ty.to_string(), |()| String::from_utf8_lossy(&text).into_owned())
}

/// Parts with a granule left, and granules.
fn counts<'a>(parts: impl IntoIterator<Item = &'a MarkRanges>) -> (usize, usize) {
    let counts = parts.into_iter().map(MarkRanges::selected).filter(|marks| *marks > 0);
    counts.fold((0, 0), |(parts, granules), marks| (parts + 1, granules + marks))
}
