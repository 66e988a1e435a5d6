//! Maps the fields of a file to the columns of a table: by position, or by the names in a header.

use basalt_base::suggest::did_you_mean;
use basalt_base::types::TupleElement;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};

use crate::chunks::ChunkSource;
use crate::settings::FormatSettings;

/// The destination of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Column(usize),
    /// This field and the following ones are the elements of a tuple.
    TupleElements(usize),
    /// A field that the table does not have.
    Skip,
}

/// The names and types before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    None,
    Names,
    NamesAndTypes,
}

impl Header {
    pub(crate) fn rows(self) -> usize {
        match self {
            Header::None => 0,
            Header::Names => 1,
            Header::NamesAndTypes => 2,
        }
    }

    /// The rows before the values: the names of `columns`, then their types.
    pub(crate) fn of_columns(self, columns: &Columns) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        if self != Header::None {
            rows.push(columns.iter().map(|column| column.name.clone()).collect());
        }
        if self == Header::NamesAndTypes {
            rows.push(columns.iter().map(|column| column.ty.to_string()).collect());
        }
        rows
    }
}

/// The rows of a format, as far as its header needs them.
pub(crate) trait HeaderRows {
    /// The length of the row at the start of `bytes`, including its end; `None` if it may go on.
    fn row_length(&self, bytes: &[u8]) -> Option<usize>;

    /// The fields of a row as text.
    fn names(&self, row: &[u8]) -> Result<Vec<String>>;
}

/// Takes the lines to skip and the header from `source`; returns the destinations of fields, and the number of rows
/// that were taken. Without a header, fields go to `by_position`.
pub(crate) fn take_header(
    format: &dyn HeaderRows,
    source: &mut ChunkSource,
    header: Header,
    by_position: Vec<Target>,
    columns: &Columns,
    settings: &FormatSettings,
) -> Result<(Vec<Target>, u64)> {
    for _ in 0..settings.skip_first_lines {
        take_row(format, source)?;
    }
    let rows_before = settings.skip_first_lines as u64;
    let is_detected = header == Header::None && settings.detect_header && {
        let row = source.peek_row(|bytes| format.row_length(bytes))?;
        format.names(row).is_ok_and(|names| is_header(&names, columns))
    };
    if header == Header::None && !is_detected {
        return Ok((by_position, rows_before));
    }
    let names = format.names(&take_row(format, source)?)?;
    let has_types = match header {
        Header::NamesAndTypes => true,
        Header::Names => false,
        Header::None => {
            let row = source.peek_row(|bytes| format.row_length(bytes))?;
            format.names(row).is_ok_and(|types| are_types(&names, &types, columns))
        }
    };
    let types = if has_types { Some(format.names(&take_row(format, source)?)?) } else { None };
    let targets = if settings.use_header_names || is_detected {
        targets_of_header(&names, types.as_ref(), columns, settings)?
    } else {
        by_position
    };
    Ok((targets, rows_before + 1 + u64::from(has_types)))
}

fn take_row(format: &dyn HeaderRows, source: &mut ChunkSource) -> Result<Vec<u8>> {
    let length = source.peek_row(|bytes| format.row_length(bytes))?.len();
    Ok(source.take(length).into_bytes())
}

/// Whether `types` are the types of the columns called `names`.
fn are_types(names: &[String], types: &[String], columns: &Columns) -> bool {
    let is_type = |(name, ty): (&String, &String)| {
        columns.position(name).is_some_and(|at| columns[at].ty.to_string() == *ty)
    };
    names.len() == types.len() && names.iter().zip(types).all(is_type)
}

/// The destinations of fields with these names; their types, if given, must be those of the columns.
pub(crate) fn targets_of_header(
    names: &[String],
    types: Option<&Vec<String>>,
    columns: &Columns,
    settings: &FormatSettings,
) -> Result<Vec<Target>> {
    let Some(types) = types.filter(|_| settings.check_header_types) else {
        return by_name(names, columns, settings.skip_unknown_fields);
    };
    if names.len() != types.len() {
        let what = format!("the header has {} names and {} types", names.len(), types.len());
        return Err(Error::new(ErrorCode::IncorrectData, what));
    }
    for (name, ty) in names.iter().zip(types) {
        let Some(column) = columns.position(name).map(|at| &columns[at]) else { continue };
        if column.ty.to_string() != *ty {
            let what = format!("the type of `{name}` in the header is {ty}, expected {}", column.ty);
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
    }
    by_name(names, columns, settings.skip_unknown_fields)
}

/// Fields in the order of the table's columns.
pub(crate) fn by_position(columns: &Columns, split_tuples: bool) -> Vec<Target> {
    let target = |(at, column): (usize, &basalt_base::Column)| match &column.ty {
        SqlType::Tuple(elements) if split_tuples && !elements.is_empty() => Target::TupleElements(at),
        _ => Target::Column(at),
    };
    columns.iter().enumerate().map(target).collect()
}

/// Fields named by `names`. An unknown name is skipped, or an error.
pub(crate) fn by_name(names: &[String], columns: &Columns, skip_unknown: bool) -> Result<Vec<Target>> {
    let mut targets = Vec::with_capacity(names.len());
    let mut at = 0;
    while at < names.len() {
        let name = &names[at];
        let (target, fields) = match columns.position(name) {
            Some(column) => (Target::Column(column), 1),
            None => split_tuple(&names[at..], columns).unwrap_or((Target::Skip, 1)),
        };
        if target == Target::Skip && !skip_unknown {
            let hint = did_you_mean(name, columns.iter().map(|column| &*column.name));
            let what = format!("field `{name}` of the header is not a column of the table{hint}");
            return Err(Error::new(ErrorCode::NoSuchColumnInTable, what));
        }
        if target != Target::Skip && targets.contains(&target) {
            let what = format!("field `{name}` is in the header twice");
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        targets.push(target);
        at += fields;
    }
    Ok(targets)
}

/// The error for a row that does not have `expected` fields: it ends after `found`, or continues there.
#[cold]
pub(crate) fn wrong_field_count(code: ErrorCode, found: usize, ends_row: bool, expected: usize) -> Error {
    let what = if ends_row {
        format!("the row has {found} fields, expected {expected}")
    } else {
        format!("the row has more than {expected} fields")
    };
    Error::new(code, what)
}

/// The column whose tuple elements the next names are, and the number of elements.
fn split_tuple(names: &[String], columns: &Columns) -> Option<(Target, usize)> {
    columns.iter().enumerate().find_map(|(at, column)| {
        let leaves = leaf_names(&column.name, &column.ty);
        let found = leaves.len() > 1 || matches!(column.ty, SqlType::Tuple(_));
        (found && !leaves.is_empty() && names.starts_with(&leaves))
            .then_some((Target::TupleElements(at), leaves.len()))
    })
}

/// The names of the fields of a column when tuples are split: `t.1`, `t.2`.
pub(crate) fn leaf_names(name: &str, ty: &SqlType) -> Vec<String> {
    leaves(name, ty).into_iter().map(|(name, _)| name).collect()
}

/// Like [`leaf_names`], with the type of each field.
pub(crate) fn leaves(name: &str, ty: &SqlType) -> Vec<(String, SqlType)> {
    match ty {
        SqlType::Tuple(elements) => {
            let leaf = |(at, element): (usize, &TupleElement)| {
                let label = element.name.clone().unwrap_or_else(|| (at + 1).to_string());
                leaves(&format!("{name}.{label}"), &element.ty)
            };
            elements.iter().enumerate().flat_map(leaf).collect()
        }
        plain => vec![(name.to_owned(), plain.clone())],
    }
}

/// Whether a first row is the table's column names in any order, and not data.
fn is_header(fields: &[String], columns: &Columns) -> bool {
    !fields.is_empty()
        && fields.len() == columns.len()
        && columns.iter().all(|column| fields.contains(&column.name))
}
