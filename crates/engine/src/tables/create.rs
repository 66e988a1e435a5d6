//! From a CREATE TABLE statement to a definition: types, defaults and codecs, checked.

use std::collections::HashSet;

use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_codec::CodecChain;
use basalt_parts::BlockBytes;
use basalt_sql::ast::{self, ColumnDef, Literal, ObjectName, Setting, TableElement};
use uuid::Uuid;

use super::codecs::chain_of;
use super::definition::{ColumnDefault, ColumnDefinition, TableDefinition};
use super::ttl;

/// The definition that `create` states. Its engine's own rules are checked when it is opened.
pub(crate) fn definition_of(
    database: &str,
    name: &str,
    uuid: Uuid,
    mut create: ast::CreateTable,
) -> Result<TableDefinition> {
    let mut columns = Vec::new();
    for element in &mut create.elements {
        match element {
            TableElement::Column(column) => {
                column.ttl.iter_mut().for_each(ttl::name_intervals);
                let defined = column_of(column)?;
                if let Some(chain) = &defined.codec {
                    // SHOW CREATE shows the parameters that were left to their defaults.
                    column.codec = basalt_sql::parse_codec(chain.to_string().as_bytes())?;
                }
                columns.push(defined);
            }
            // Checked when all columns are known.
            TableElement::Index(_) | TableElement::ColumnGroup { .. } => {}
            TableElement::Constraint { name, .. } => {
                bail!(NotImplemented, "constraint `{name}` is not implemented")
            }
            TableElement::Projection { name, .. } => {
                bail!(NotImplemented, "projection `{name}` is not implemented")
            }
        }
    }
    check_columns(&columns)?;
    order_by_nothing_if_unsaid(&mut create);
    create.ttl.iter_mut().for_each(|element| ttl::name_intervals(&mut element.expr));
    create.name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
    create.or_replace = false;
    create.if_not_exists = false;
    create.source = None;
    let definition = TableDefinition::new(database, name, uuid, columns, create);
    check_elements(&definition)?;
    check_ttl(&definition)?;
    Ok(definition)
}

/// A table of parts without a key keeps the order of insertion.
fn order_by_nothing_if_unsaid(create: &mut ast::CreateTable) {
    let Some(engine) = &create.engine else { return };
    let is_of_parts = engine.name.ends_with("MergeTree") && engine.args.is_empty();
    if is_of_parts && create.order_by.is_none() && create.primary_key.is_none() {
        create.order_by = Some(Vec::new());
    }
}

fn check_ttl(definition: &TableDefinition) -> Result<()> {
    let engine = definition.create.engine.as_ref().map_or("", |engine| engine.name.as_str());
    match definition.has_ttl() {
        true if engine == "EmbeddedRocksDB" => {
            bail!(
                NotImplemented,
                "a TTL clause of engine {engine} is not implemented; its first argument is one"
            )
        }
        true if !engine.ends_with("MergeTree") => {
            bail!(
                BadArguments,
                "engine {engine} doesn't support TTL clause; those of the MergeTree family do"
            )
        }
        true => ttl::rules(definition).map(|_| ()),
        false => Ok(()),
    }
}

/// Checks what is in the column list and is no column. `Succinct` checks its indexes and groups itself.
fn check_elements(definition: &TableDefinition) -> Result<()> {
    let engine = definition.create.engine.as_ref().map_or("", |engine| engine.name.as_str());
    if engine == "Succinct" {
        return Ok(());
    }
    for element in &definition.create.elements {
        if let TableElement::ColumnGroup { name, .. } = element {
            bail!(
                BadArguments,
                "engine {engine} has no column groups, got COLUMN GROUP `{name}`; those of engine Succinct do"
            );
        }
    }
    if definition.index_clauses().next().is_some() && !engine.ends_with("MergeTree") {
        bail!(BadArguments, "engine {engine} has no skip indexes; those of the MergeTree family do");
    }
    definition.skip_indexes().map(|_| ())
}

/// One column of a CREATE TABLE or an ADD COLUMN.
pub(crate) fn column_of(column: &ColumnDef) -> Result<ColumnDefinition> {
    let Some(ty) = &column.ty else {
        bail!(NotImplemented, "column `{}` without a type is not implemented", column.name);
    };
    let mut ty =
        basalt_sql::resolve_type(ty).map_err(|error| error.within(format!("column `{}`", column.name)))?;
    if column.nullable == Some(true) {
        ty = ty.into_nullable();
    }
    refuse_unstorable(&column.name, &ty)?;
    let codec = if column.codec.is_empty() { None } else { Some(codec_of(column, &ty)?) };
    Ok(ColumnDefinition {
        name: column.name.clone(),
        ty,
        default: column.default.clone().map(|(kind, expr)| ColumnDefault { kind, expr }),
        codec,
        ttl: column.ttl.clone(),
        comment: column.comment.clone().unwrap_or_default(),
        blocks: blocks_of(&column.settings)
            .map_err(|error| error.within(format!("column `{}`", column.name)))?,
    })
}

/// The sizes of blocks in the SETTINGS of a column; 0 is the default.
fn blocks_of(settings: &[Setting]) -> Result<Option<BlockBytes>> {
    let mut blocks = BlockBytes::default();
    for Setting { name, value } in settings {
        if !matches!(name.as_str(), "min_compress_block_size" | "max_compress_block_size") {
            bail!(
                UnknownSetting,
                "setting {name} is unknown or not supported at column level, supported settings: \
                 max_compress_block_size, min_compress_block_size"
            );
        }
        let Literal::UInt(bytes) = value else {
            bail!(CannotParseInput, "setting {name} is a number of bytes, got `{value}`");
        };
        match name.as_str() {
            _ if *bytes == 0 => {}
            "min_compress_block_size" => blocks.least = *bytes,
            _ => blocks.most = *bytes,
        }
    }
    Ok((blocks != BlockBytes::default()).then_some(blocks))
}

fn codec_of(column: &ColumnDef, ty: &SqlType) -> Result<CodecChain> {
    chain_of(&column.codec, ty).map_err(|error| error.within(format!("column `{}`", column.name)))
}

fn refuse_unstorable(column: &str, ty: &SqlType) -> Result<()> {
    if has_nothing(ty) {
        bail!(DataTypeCannotBeUsedInTables, "column `{column}` has type {ty}, which cannot be stored");
    }
    if matches!(ty.stripped(), SqlType::Interval(_)) {
        bail!(IllegalColumn, "column `{column}` has type {ty}, which cannot be stored");
    }
    Ok(())
}

/// Whether values of the type, or some in them, are of type Nothing.
fn has_nothing(ty: &SqlType) -> bool {
    match ty {
        SqlType::Nothing => true,
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) | SqlType::Array(inner) => {
            has_nothing(inner)
        }
        SqlType::Tuple(elements) => elements.iter().any(|element| has_nothing(&element.ty)),
        SqlType::Map(key, value) => has_nothing(key) || has_nothing(value),
        _ => false,
    }
}

fn check_columns(columns: &[ColumnDefinition]) -> Result<()> {
    if !columns.iter().any(ColumnDefinition::is_stored) {
        return Err(Error::new(
            ErrorCode::EmptyListOfColumnsPassed,
            "a table needs at least one stored column",
        ));
    }
    let mut names = HashSet::new();
    for column in columns {
        if !names.insert(column.name.as_str()) {
            bail!(IllegalColumn, "column `{}` is listed twice", column.name);
        }
    }
    Ok(())
}
