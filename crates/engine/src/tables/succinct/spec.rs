//! The clauses of CREATE as columns, groups and indexes of the storage.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Result, SqlType, bail};
use basalt_codec::{CodecChain, CodecSpec};
use basalt_segment::value::StringEncoding;
use basalt_sql::ast::{Expr, IndexDef, TableElement};
use basalt_succinct::{ColumnGroup, IndexSpec, TableSpec};

use super::super::rows_by_key::{key_of, rows_spec};
use super::super::{ColumnDefinition, TableDefinition, index_in};
use super::table::ENGINE;

/// The type of an index that lists the trigrams of a column.
const TRIGRAM: &str = "trigram";

/// What the table stores, from its definition.
pub(super) fn spec_of(definition: &TableDefinition) -> Result<TableSpec> {
    let rows = rows_spec(definition, key_of(definition, ENGINE)?)?;
    let mut spec = TableSpec::new(rows);
    let columns = definition.stored();
    spec.strings = definition.stored_definitions().map(strings_of).collect::<Result<_>>()?;
    let mut index_names = Vec::new();
    for element in &definition.create.elements {
        if let TableElement::ColumnGroup { name, columns: members } = element {
            if spec.groups.iter().any(|group| group.name == *name) {
                bail!(BadArguments, "there are two column groups `{name}`");
            }
            let members = members.iter().map(|member| position(&columns, member, name));
            spec.groups.push(ColumnGroup { name: name.clone(), columns: members.collect::<Result<_>>()? });
        }
        if let Some(index) = index_in(element) {
            if index_names.contains(&&index.name) {
                bail!(BadArguments, "there are two indexes `{}`", index.name);
            }
            index_names.push(&index.name);
            add_index(&mut spec, &columns, index)?;
        }
    }
    spec.check()?;
    Ok(spec)
}

fn add_index(spec: &mut TableSpec, columns: &Columns, index: &IndexDef) -> Result<()> {
    let name = &index.name;
    if let Some(granularity) = index.granularity {
        bail!(BadArguments, "index `{name}` of engine {ENGINE} has no GRANULARITY, got {granularity}");
    }
    let members = members(&index.expr);
    let members = members.iter().map(|member| match member {
        Expr::Identifier(parts) => position(columns, &parts.join("."), name),
        other => bail!(NotImplemented, "index `{name}` over `{other}` is not implemented, only over columns"),
    });
    let members = members.collect::<Result<Vec<_>>>()?;
    match &index.kind {
        None => spec.indexes.push(IndexSpec { name: name.clone(), columns: members }),
        Some(kind) if kind.name == TRIGRAM && kind.args.is_empty() => match members[..] {
            [column] if *columns[column].ty.stripped() == SqlType::String => spec.trigrams.push(column),
            _ => bail!(BadArguments, "index `{name}` of type {TRIGRAM} takes one column of strings"),
        },
        Some(kind) => bail!(
            BadArguments,
            "index `{name}`: engine {ENGINE} has indexes without TYPE and of type {TRIGRAM}, not `{}`",
            kind.name
        ),
    }
    Ok(())
}

fn members(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Tuple(members) => members.clone(),
        other => vec![other.clone()],
    }
}

fn position(columns: &Columns, column: &str, owner: &str) -> Result<usize> {
    match columns.position(column) {
        Some(at) => Ok(at),
        None => {
            let near = did_you_mean(column, columns.iter().map(|column| column.name.as_str()));
            bail!(UnknownIdentifier, "column `{column}` of `{owner}` is not stored in the table{near}")
        }
    }
}

/// How the strings of a column are stored: as a sample says, or as its CODEC says.
fn strings_of(column: &ColumnDefinition) -> Result<StringEncoding> {
    let links = column.codec.as_ref().map(CodecChain::links).unwrap_or_default();
    Ok(match links {
        [] | [CodecSpec::Default | CodecSpec::Auto] => StringEncoding::Auto,
        _ if *column.ty.stripped() != SqlType::String => bail!(
            BadArguments,
            "column `{}`: engine {ENGINE} chooses the encoding of type {}; CODEC is for strings",
            column.name,
            column.ty
        ),
        [CodecSpec::None] => StringEncoding::Plain,
        [CodecSpec::Zstd { .. }] => StringEncoding::Archive,
        _ => bail!(
            NotImplemented,
            "column `{}`: engine {ENGINE} has CODEC(ZSTD), where each string is compressed alone with a dictionary, and \
             CODEC(NONE)",
            column.name
        ),
    })
}
