//! The directory of a data part, described and verified.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::{Column, Error, Result};
use basalt_parts::{InspectedColumn, InspectedPart, PartDescription};

use super::report::{Heading, Inspection, Report, ratio};

const ADVICE: &str = "what to do: move the directory of the part out of the table's, and bring the part back from a \
                      backup (RESTORE TABLE), or insert its rows again; the other parts of the table are not concerned";
const INTACT: &str = "ok";

pub(super) fn inspect(storage: Arc<dyn Storage>, path: &Path) -> Result<Inspection> {
    let mut report = Report::default();
    report.line(&format!("{}: a data part", path.display()));
    let part = match InspectedPart::open(storage, path) {
        Ok(part) => part,
        Err(error) => return report.refused(error.into(), ADVICE),
    };
    let about = part.description();
    let keys = part.check_keys();
    facts(&mut report, &about, &keys);
    let columns: Vec<_> = about.columns.iter().map(|column| check_column(&part, column)).collect();
    let indexes: Vec<_> = (0..about.indexes.len()).map(|position| part.check_index(position)).collect();
    report.table("columns", &COLUMN_HEADINGS, &column_rows(&about, &columns));
    let headings = [Heading::Text("name"), Heading::Figure("stored bytes"), Heading::Text("checksum")];
    let rows = about.indexes.iter().zip(&indexes);
    let rows: Vec<_> =
        rows.map(|(index, check)| vec![index.name.clone(), index.bytes.to_string(), state(check)]).collect();
    report.table("skip indexes", &headings, &rows);
    let indexes = indexes.into_iter().chain([keys]).map(|check| check.map_err(Error::from));
    match columns.into_iter().chain(indexes).find_map(Result::err) {
        Some(error) => report.refused(error, ADVICE),
        None => Ok(report.intact("all blocks of all columns and all indexes verified")),
    }
}

fn facts(report: &mut Report, about: &PartDescription, keys: &Result<(), basalt_parts::Error>) {
    let made_by = if about.made_by.is_empty() { "an early version" } else { &about.made_by };
    report.facts(&[
        ("made by", made_by.to_owned()),
        ("form", about.part_type.name().to_owned()),
        ("rows", about.rows.to_string()),
        ("deleted rows", about.deleted_rows.to_string()),
        ("granule rows", about.granule_rows.to_string()),
        ("primary key", about.primary_key.join(", ")),
        ("primary index", format!("{} bytes, {}", about.primary_bytes, state(keys))),
    ]);
}

/// Decodes all values of a column.
fn check_column(part: &InspectedPart, column: &InspectedColumn) -> Result<()> {
    let written = basalt_sql::parse_type(column.type_text.as_bytes())?;
    let ty = basalt_sql::resolve_type(&written)
        .map_err(|error| error.within(format!("column `{}`", column.name)))?;
    Ok(part.check_column(Column::new(&column.name, ty))?)
}

const COLUMN_HEADINGS: [Heading; 9] = [
    Heading::Text("name"),
    Heading::Text("type"),
    Heading::Text("codecs"),
    Heading::Figure("NULLs"),
    Heading::Figure("offset"),
    Heading::Figure("raw bytes"),
    Heading::Figure("stored bytes"),
    Heading::Figure("ratio"),
    Heading::Text("checksums"),
];

fn column_rows(about: &PartDescription, checks: &[Result<()>]) -> Vec<Vec<String>> {
    let row = |(column, check): (&InspectedColumn, &Result<()>)| {
        vec![
            column.name.clone(),
            column.type_text.clone(),
            column.codecs.clone(),
            column.null_count.to_string(),
            column.offset.to_string(),
            column.raw_bytes.to_string(),
            column.stored_bytes.to_string(),
            ratio(column.raw_bytes, column.stored_bytes),
            state(check),
        ]
    };
    about.columns.iter().zip(checks).map(row).collect()
}

fn state<E>(check: &Result<(), E>) -> String {
    if check.is_ok() { INTACT } else { "DAMAGED" }.to_owned()
}
