//! Postgres' types by number and by name.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One type of `pg_type`.
pub(crate) struct TypeRow {
    pub(crate) oid: u32,
    pub(crate) name: &'static str,
    pub(crate) length: i16,
    pub(crate) by_value: bool,
    pub(crate) kind: &'static str,
    pub(crate) category: &'static str,
    pub(crate) preferred: bool,
    pub(crate) delimiter: &'static str,
    pub(crate) element: u32,
    pub(crate) array: u32,
    pub(crate) input: &'static str,
    pub(crate) output: &'static str,
    pub(crate) receive: &'static str,
    pub(crate) send: &'static str,
    pub(crate) alignment: &'static str,
    pub(crate) storage: &'static str,
    pub(crate) collation: u32,
    /// As `format_type` prints it.
    pub(crate) shown: String,
}

/// Other spellings of names.
const SYNONYMS: &[(&str, &str)] = &[("int", "int4"), ("decimal", "numeric"), ("float", "float8")];

static TYPES: LazyLock<Vec<TypeRow>> =
    LazyLock::new(|| include_str!("types.txt").lines().filter_map(parse).collect());

static BY_OID: LazyLock<HashMap<u32, &TypeRow>> =
    LazyLock::new(|| TYPES.iter().map(|row| (row.oid, row)).collect());

/// Every type.
pub(crate) fn all() -> &'static [TypeRow] {
    &TYPES
}

pub(crate) fn by_oid(oid: u32) -> Option<&'static TypeRow> {
    BY_OID.get(&oid).copied()
}

/// The type called `name`: `int4`, `integer`, `pg_catalog.int4`, `integer[]`.
pub(crate) fn by_name(name: &str) -> Option<&'static TypeRow> {
    let name = name.trim().trim_start_matches("pg_catalog.").trim_matches('"');
    let name = SYNONYMS.iter().find(|(synonym, _)| *synonym == name).map_or(name, |(_, name)| name);
    let by_name = TYPES.iter().find(|row| row.name == name);
    by_name.or_else(|| TYPES.iter().find(|row| row.shown.eq_ignore_ascii_case(name)))
}

fn parse(line: &'static str) -> Option<TypeRow> {
    let fields: Vec<&'static str> = line.split(' ').collect();
    let [
        oid,
        name,
        length,
        by_value,
        kind,
        category,
        preferred,
        delimiter,
        element,
        array,
        input,
        output,
        receive,
        send,
        alignment,
        storage,
        collation,
        shown,
    ] = fields.try_into().ok()?;
    Some(TypeRow {
        oid: oid.parse().ok()?,
        name,
        length: length.parse().ok()?,
        by_value: by_value == "t",
        kind,
        category,
        preferred: preferred == "t",
        delimiter,
        element: element.parse().ok()?,
        array: array.parse().ok()?,
        input,
        output,
        receive,
        send,
        alignment,
        storage,
        collation: collation.parse().ok()?,
        shown: shown.replace('~', " "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_type_and_names_find_it() {
        assert_eq!(all().len(), include_str!("types.txt").lines().count());
        for (name, oid) in
            [("int4", 23), ("integer", 23), ("pg_catalog.text", 25), ("timestamp with time zone", 1184)]
        {
            assert_eq!(by_name(name).map(|row| row.oid), Some(oid), "{name}");
        }
    }
}
