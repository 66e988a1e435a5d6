//! Keys, range, attributes and layout of a CREATE DICTIONARY.

use std::collections::HashSet;

use arrow::array::ArrayRef;
use basalt_base::{Column, Result, SqlType, bail};
use basalt_dict::{Attribute, DictionarySpec, LayoutParameter, LayoutSpec, RangeSpec, ReadValues};
use basalt_formats::TextSettings;
use basalt_formats::text::ColumnBuilder;
use basalt_sql::ast::{self, KeyValue, KeyValueArgument, Literal};

/// The column list, PRIMARY KEY and RANGE.
pub(super) fn structure(create: &ast::CreateDictionary, layout: LayoutSpec) -> Result<DictionarySpec> {
    check_names(create)?;
    let key_columns = create.primary_key.iter().map(|name| column(create, name)).collect::<Result<_>>()?;
    let range = range_of(create)?;
    let is_bound =
        |name: &String| range.as_ref().is_some_and(|range| range.low == *name || range.high == *name);
    let attributes = create
        .attributes
        .iter()
        .filter(|attribute| !create.primary_key.contains(&attribute.name) && !is_bound(&attribute.name))
        .map(attribute_of)
        .collect::<Result<Vec<_>>>()?;
    if let Some(lone) = create.attributes.iter().find(|column| column.bidirectional && !column.hierarchical) {
        bail!(BadArguments, "BIDIRECTIONAL is for a HIERARCHICAL attribute, which `{}` is not", lone.name);
    }
    check_hierarchy(&attributes, &layout)?;
    Ok(DictionarySpec { key_columns, attributes, layout, range })
}

/// An error if a name comes twice, among the columns or in the key.
fn check_names(create: &ast::CreateDictionary) -> Result<()> {
    let columns: Vec<&String> = create.attributes.iter().map(|attribute| &attribute.name).collect();
    for names in [columns, create.primary_key.iter().collect()] {
        let mut seen = HashSet::new();
        if let Some(twice) = names.into_iter().find(|name| !seen.insert(*name)) {
            bail!(
                BadArguments,
                "the name `{twice}` comes twice in the columns or in the key of the dictionary"
            );
        }
    }
    Ok(())
}

fn column(create: &ast::CreateDictionary, name: &str) -> Result<Column> {
    match create.attributes.iter().find(|attribute| attribute.name == name) {
        Some(attribute) => Ok(Column::new(name, basalt_sql::resolve_type(&attribute.ty)?)),
        None => {
            bail!(IncorrectDictionaryDefinition, "column `{name}` is not among the dictionary's columns")
        }
    }
}

/// `RANGE(MIN low MAX high)`: columns of one type, with or without Nullable.
fn range_of(create: &ast::CreateDictionary) -> Result<Option<RangeSpec>> {
    let Some((low, high)) = &create.range else { return Ok(None) };
    let types = [column(create, low)?.ty, column(create, high)?.ty];
    let [low_type, high_type] = types.map(|ty| ty.stripped().clone());
    if low_type != high_type {
        bail!(
            BadArguments,
            "the ends of a RANGE are of one type; `{low}` is {low_type} and `{high}` {high_type}"
        );
    }
    Ok(Some(RangeSpec { low: low.clone(), high: high.clone(), ty: low_type }))
}

fn check_hierarchy(attributes: &[Attribute], layout: &LayoutSpec) -> Result<()> {
    let mut parents = attributes.iter().filter(|attribute| attribute.hierarchical);
    let Some(parent) = parents.next() else { return Ok(()) };
    if parents.next().is_some() {
        bail!(BadArguments, "a dictionary has one HIERARCHICAL attribute at most");
    }
    if layout.kind.is_complex() || layout.kind.is_range() {
        bail!(BadArguments, "a dictionary of layout {} has no HIERARCHICAL attribute", layout.kind.name());
    }
    if parent.ty.stripped() != &SqlType::UInt64 {
        bail!(
            TypeMismatch,
            "the HIERARCHICAL attribute of a dictionary holds keys and is UInt64; `{}` is {}",
            parent.name,
            parent.ty
        );
    }
    Ok(())
}

fn attribute_of(attribute: &ast::DictionaryAttribute) -> Result<Attribute> {
    let ty = basalt_sql::resolve_type(&attribute.ty)?;
    let default = match &attribute.default {
        None => default_without_clause(&ty)?,
        Some(literal) => default_of(literal, &ty)
            .map_err(|error| error.within(format!("DEFAULT of attribute `{}`", attribute.name)))?,
    };
    Ok(Attribute {
        name: attribute.name.clone(),
        ty,
        default,
        hierarchical: attribute.hierarchical,
        injective: attribute.injective,
    })
}

/// As in ClickHouse, the default of a Date32 is another day here than in a column of a table.
fn default_without_clause(ty: &SqlType) -> Result<ArrayRef> {
    match ty {
        SqlType::Date32 => default_of(&Literal::String(b"1900-01-01".to_vec()), ty),
        _ => Ok(ty.default_array(1)),
    }
}

fn default_of(literal: &Literal, ty: &SqlType) -> Result<ArrayRef> {
    let text: Vec<u8> = match literal {
        Literal::Null if ty.accepts_null() => return Ok(ty.default_array(1)),
        Literal::Null => bail!(BadArguments, "NULL is no value of type {ty}"),
        Literal::Bool(value) => value.to_string().into_bytes(),
        Literal::UInt(value) => value.to_string().into_bytes(),
        Literal::Int(value) => value.to_string().into_bytes(),
        Literal::Number(text) => text.clone().into_bytes(),
        Literal::String(bytes) => bytes.clone(),
    };
    let mut column = ColumnBuilder::new(ty, &TextSettings::default())?;
    column.parse_raw(&text)?;
    Ok(column.finish())
}

/// The LAYOUT clause.
pub(super) fn layout_of(layout: &KeyValue) -> Result<LayoutSpec> {
    let parameters = layout
        .args
        .iter()
        .map(|(name, value)| Ok((name.clone(), parameter_of(name, value)?)))
        .collect::<Result<Vec<_>>>()?;
    let layout = LayoutSpec::parse(&layout.name, &parameters)?;
    Ok(LayoutSpec { read_values: ReadValues::new(read_values), ..layout })
}

/// Reads texts as values of a type.
fn read_values(ty: &SqlType, texts: &[Vec<u8>]) -> Result<ArrayRef> {
    let mut column = ColumnBuilder::new(ty, &TextSettings::default())?;
    for text in texts {
        column.parse_raw(text)?;
    }
    Ok(column.finish())
}

fn parameter_of(name: &str, value: &KeyValueArgument) -> Result<LayoutParameter> {
    Ok(match value {
        KeyValueArgument::Literal(Literal::UInt(value)) => LayoutParameter::UInt(*value),
        KeyValueArgument::Literal(Literal::Number(text)) => match text.parse() {
            Ok(value) => LayoutParameter::Float(value),
            Err(_) => bail!(BadArguments, "layout parameter {name} is a number, got `{text}`"),
        },
        KeyValueArgument::Literal(Literal::String(text)) => {
            LayoutParameter::Text(String::from_utf8_lossy(text).into_owned())
        }
        _ => bail!(BadArguments, "layout parameter {name} is a number or a string"),
    })
}
