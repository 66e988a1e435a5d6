//! A segment of a Succinct table, described and verified.

use std::path::Path;

use basalt_base::fs::Storage;
use basalt_base::{Error, Result};
use basalt_segment::file::{Access, Component, SegmentFile};
use basalt_segment::{Segment, SegmentSpec};

use super::report::{Heading, Inspection, Report, ratio};

const ADVICE: &str = "what to do: restore the table, or this file, from a backup (RESTORE TABLE); rows whose columns \
                      are on other pages can still be read, for example with INSERT INTO ... SELECT by ranges of the key";

/// The prefix of the names of components that belong to a column or an index.
const COLUMN: &str = "column/";
const INDEX: &str = "index/";

pub(super) fn inspect(storage: &dyn Storage, path: &Path) -> Result<Inspection> {
    let mut report = Report::default();
    report.line(&format!("{}: a segment", path.display()));
    let file = match SegmentFile::open(storage, path, Access::Read) {
        Ok(file) => file,
        Err(error) => return report.refused(error, ADVICE),
    };
    let checks: Vec<_> = (0..file.page_count()).map(|page| file.check_page(page)).collect();
    facts(&mut report, &file);
    report.table("columns", &COLUMN_HEADINGS, &column_rows(&file));
    report.table("components", &COMPONENT_HEADINGS, &component_rows(&file, &checks));
    let damaged = checks.iter().filter(|check| check.is_err()).count();
    let verified = format!("all {} pages verified", checks.len());
    if let Some((page, Err(error))) = checks.into_iter().enumerate().find(|(_, check)| check.is_err()) {
        let range = file.page_range(page);
        let pages = file.page_count();
        let what = format!(
            "page {page} at offset {} is damaged ({damaged} of {pages} pages are): {}",
            range.start,
            error.message()
        );
        return report.refused(Error::new(error.code(), what), ADVICE);
    }
    match open_indexes(storage, path, &file) {
        Ok(()) => Ok(report.intact(&verified)),
        Err(error) => report.refused(error, ADVICE),
    }
}

/// Opens what is in a segment without the types of its columns: keys, filter, tombstones and secondary indexes.
fn open_indexes(storage: &dyn Storage, path: &Path, file: &SegmentFile) -> Result<()> {
    let indexes = owned(file, INDEX).map(|component| unescaped(&component.name[INDEX.len()..]));
    let spec = SegmentSpec { columns: Vec::new(), indexes: indexes.collect() };
    Segment::open(storage, path, Access::Read, &spec).map(drop)
}

fn facts(report: &mut Report, file: &SegmentFile) {
    let about = file.describe();
    let key = about.components.iter().find(|component| component.name == "key");
    let key = key.map_or_else(String::new, |key| format!("{} ({})", key.encoding, key.reason));
    report.facts(&[
        ("version", about.version.to_string()),
        ("required features", format!("{:#x}", about.features.required)),
        ("optional features", format!("{:#x}", about.features.optional)),
        ("segment", about.segment.to_string()),
        ("rows", about.rows.to_string()),
        ("tombstones", about.tombstones.to_string()),
        ("bytes", about.bytes.to_string()),
        ("key index", key),
    ]);
}

/// The components whose names have this prefix, without nested ones.
fn owned<'a>(file: &'a SegmentFile, prefix: &'static str) -> impl Iterator<Item = &'a Component> {
    let is_owned = move |component: &&Component| {
        component.name.strip_prefix(prefix).is_some_and(|name| !name.contains('/'))
    };
    file.components().iter().filter(is_owned)
}

/// The name that a table gave: the file has no slashes in it.
fn unescaped(name: &str) -> String {
    name.replace("%2F", "/").replace("%25", "%")
}

const COLUMN_HEADINGS: [Heading; 8] = [
    Heading::Text("name"),
    Heading::Text("encoding"),
    Heading::Figure("raw bytes"),
    Heading::Figure("stored bytes"),
    Heading::Figure("ratio"),
    Heading::Figure("zone map bytes"),
    Heading::Figure("trigram bytes"),
    Heading::Text("reason"),
];

fn column_rows(file: &SegmentFile) -> Vec<Vec<String>> {
    let bytes_of = |name: &str| -> u64 {
        let components = file.components().iter();
        let is_of = |component: &&Component| {
            component.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        components.filter(is_of).map(Component::stored_bytes).sum()
    };
    let row = |component: &Component| {
        let name = &component.name[COLUMN.len()..];
        let stored = bytes_of(&component.name);
        vec![
            unescaped(name),
            component.encoding.clone(),
            component.raw_bytes.to_string(),
            stored.to_string(),
            ratio(component.raw_bytes, stored),
            bytes_of(&format!("zones/{name}")).to_string(),
            bytes_of(&format!("trigram/{name}")).to_string(),
            component.reason.clone(),
        ]
    };
    owned(file, COLUMN).map(row).collect()
}

const COMPONENT_HEADINGS: [Heading; 6] = [
    Heading::Text("name"),
    Heading::Text("encoding"),
    Heading::Figure("offset"),
    Heading::Figure("raw bytes"),
    Heading::Figure("stored bytes"),
    Heading::Text("checksums"),
];

fn component_rows(file: &SegmentFile, checks: &[Result<()>]) -> Vec<Vec<String>> {
    let row = |component: &Component| {
        let offset = component.sections.first().map_or("-".to_owned(), |section| section.start.to_string());
        let mut pages = component.sections.iter().flat_map(SegmentFile::pages_of);
        let state = match pages.find(|&page| checks.get(page).is_some_and(Result::is_err)) {
            None => "ok".to_owned(),
            Some(page) => format!("DAMAGED in page {page}"),
        };
        vec![
            component.name.clone(),
            component.encoding.clone(),
            offset,
            component.raw_bytes.to_string(),
            component.stored_bytes().to_string(),
            state,
        ]
    };
    file.components().iter().map(row).collect()
}
