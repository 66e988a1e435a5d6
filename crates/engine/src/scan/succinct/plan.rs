//! What a query reads of each row, and the filter as the rows see it.

use std::fmt::Write;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use basalt_base::{Result, SqlType};
use basalt_segment::key::EncodedString;
use basalt_segment::search::Pattern;
use basalt_succinct::{Snapshot, TableSpec};

use crate::context::QueryContext;
use crate::scan::conjunct::{Conjunct, conjuncts};
use crate::scan::source::ScanRequest;
use crate::scan::text::TextCondition;

/// The bytes of a value of a column that no segment has yet.
const VALUE_BYTES_DEFAULT: f64 = 16.0;

/// What is read.
pub(super) struct RowsPlan {
    pub(super) spec: Arc<TableSpec>,
    pub(super) schema: SchemaRef,
    /// Positions of the columns that leave the scan.
    pub(super) output: Vec<usize>,
    /// The whole filter.
    pub(super) filter: Vec<Conjunct>,
    /// The search of strings in segments, if there is one.
    pub(super) search: Option<TextSearch>,
    pub(super) query: Arc<QueryContext>,
}

/// A search of the strings of a column.
pub(super) struct TextSearch {
    /// Position of the column.
    pub(super) column: usize,
    pub(super) place: SearchPlace,
    pub(super) pattern: Pattern,
    /// What is left of the filter for the rows that are found.
    pub(super) rest: Vec<Conjunct>,
}

/// Where the strings of a search are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchPlace {
    /// In a column of its own, by its position in the segment's spec; whether it has trigrams.
    Column { at: usize, has_trigrams: bool },
    /// The whole key is the string.
    Key,
    /// The key begins with the string.
    EncodedKey(EncodedString),
}

impl TextSearch {
    /// Whether lists of trigrams leave rows out.
    pub(super) fn is_indexed(&self) -> bool {
        matches!(self.place, SearchPlace::Column { has_trigrams: true, .. }) && self.pattern.has_trigrams()
    }
}

impl RowsPlan {
    pub(super) fn new(snapshot: &Snapshot, request: &ScanRequest) -> Result<RowsPlan> {
        let spec = Arc::clone(snapshot.spec());
        let columns = &spec.rows.columns;
        let stored = columns.to_arrow();
        let bytes = |column: usize| value_bytes(snapshot, column);
        let filter = conjuncts(&request.filters, &stored, bytes, true)?;
        let search = search(snapshot, request, &stored)?;
        let schema = columns.project(&request.columns).to_arrow();
        let (output, query) = (request.columns.clone(), Arc::clone(&request.query));
        Ok(RowsPlan { spec, schema, output, filter, search, query })
    }

    /// Positions of all columns that are read of a row outside of segments.
    pub(super) fn needed(&self) -> Vec<usize> {
        let filters = self.filter.iter().flat_map(|conjunct| &conjunct.columns);
        let mut needed: Vec<usize> = self.output.iter().chain(filters).copied().collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// What is left of the filter for rows that the search has found, or the whole filter.
    pub(super) fn filter_of(&self, is_searched: bool) -> &[Conjunct] {
        match &self.search {
            Some(search) if is_searched => &search.rest,
            _ => &self.filter,
        }
    }

    /// The way of the search, if it is made, and the filter that is left, for EXPLAIN.
    pub(super) fn describe(&self, is_searched: bool) -> String {
        let mut text = String::new();
        if let Some(search) = self.search.as_ref().filter(|_| is_searched) {
            let name = &self.spec.rows.columns[search.column].name;
            let way = match search.place {
                SearchPlace::Column { has_trigrams: true, .. } => "trigrams of",
                SearchPlace::Column { .. } => "compressed strings of",
                SearchPlace::Key | SearchPlace::EncodedKey(_) => "the key index for",
            };
            let _ = write!(text, ", searched {way} {name} for {}", search.pattern);
        }
        if !self.filter.is_empty() {
            let rest: Vec<String> = self.filter_of(is_searched).iter().map(ToString::to_string).collect();
            let rest = if rest.is_empty() { "nothing more".to_owned() } else { rest.join(" AND ") };
            let _ = write!(text, ", filtered by {rest}");
        }
        text
    }
}

/// The stored bytes of a value of the column.
fn value_bytes(snapshot: &Snapshot, column: usize) -> f64 {
    let segment = snapshot.segments().iter().map(|stored| stored.segment()).max_by_key(|found| found.rows());
    let (Some(segment), Some(at)) = (segment, snapshot.spec().column_of_segment(column)) else {
        return VALUE_BYTES_DEFAULT;
    };
    let stored = segment.column(at).map(|stored| stored.description().raw_bytes);
    stored.map_or(VALUE_BYTES_DEFAULT, |bytes| bytes as f64 / f64::from(segment.rows().max(1)))
}

/// The best of the searches that the filters allow: with trigrams, over the key, over a column of its own.
fn search(snapshot: &Snapshot, request: &ScanRequest, stored: &Schema) -> Result<Option<TextSearch>> {
    let spec = snapshot.spec();
    let places = request.texts.iter().filter_map(|text| Some((text, place(spec, text.column)?)));
    let rank = |place: &SearchPlace| match place {
        SearchPlace::Column { has_trigrams: true, .. } => 0,
        SearchPlace::Key | SearchPlace::EncodedKey(_) => 1,
        SearchPlace::Column { .. } => 2,
    };
    let Some((text, place)) = places.min_by_key(|(_, place)| rank(place)) else { return Ok(None) };
    // A pattern that takes too much memory is evaluated as a filter.
    let Ok(pattern) = text.test.pattern() else { return Ok(None) };
    let rest = request.filters.iter().enumerate();
    let rest = rest.filter(|(at, _)| !(*at == text.filter && decides(spec, text)));
    let rest: Vec<_> = rest.map(|(_, filter)| Arc::clone(filter)).collect();
    let rest = conjuncts(&rest, stored, |column| value_bytes(snapshot, column), true)?;
    Ok(Some(TextSearch { column: text.column, place, pattern, rest }))
}

/// Whether the rows that a search finds meet the filter that it follows from. A column that may be NULL has some string
/// for it.
fn decides(spec: &TableSpec, text: &TextCondition) -> bool {
    text.is_exact && !spec.rows.columns[text.column].ty.accepts_null()
}

fn place(spec: &TableSpec, column: usize) -> Option<SearchPlace> {
    let key = &spec.rows.key;
    if key.contains(&column) {
        let ty = &spec.rows.columns[column].ty;
        let form = EncodedString { is_nullable: ty.accepts_null(), is_followed: key.len() > 1 };
        return match ty.stripped() {
            _ if key[0] != column => None,
            SqlType::String if form.is_nullable || form.is_followed => Some(SearchPlace::EncodedKey(form)),
            SqlType::String => Some(SearchPlace::Key),
            _ => None,
        };
    }
    let is_single = !spec.groups.iter().any(|group| group.columns.contains(&column));
    let has_trigrams = spec.trigrams.contains(&column);
    let at = spec.column_of_segment(column).filter(|_| is_single)?;
    Some(SearchPlace::Column { at, has_trigrams })
}
