//! From the CREATE DICTIONARY statement to keys, attributes, layout and source.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Column, Columns, Result, SqlType, bail};
use basalt_dict::{Attribute, DictionarySpec, LayoutParameter, LayoutSpec};
use basalt_formats::TextSettings;
use basalt_formats::text::ColumnBuilder;
use basalt_sql::ast::{self, KeyValue, KeyValueArgument, Literal};

use super::schedule::Lifetime;
use super::settings::DictionarySettings;
use super::source::{self, RowSource};

/// Everything that a CREATE DICTIONARY states, checked.
pub(super) struct Definition {
    pub(super) spec: DictionarySpec,
    pub(super) source: Arc<dyn RowSource>,
    pub(super) settings: DictionarySettings,
    pub(super) lifetime: Lifetime,
}

impl Definition {
    /// Checks the statement.
    pub(super) fn of(create: &ast::CreateDictionary) -> Result<Definition> {
        if create.primary_key.is_empty() {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a PRIMARY KEY");
        }
        if create.range.is_some() {
            bail!(NotImplemented, "RANGE of a dictionary is not implemented");
        }
        let settings = DictionarySettings::parse(&create.settings)?;
        let Some(layout) = &create.layout else {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a LAYOUT");
        };
        let key_columns =
            create.primary_key.iter().map(|name| key_column(create, name)).collect::<Result<_>>()?;
        let attributes = create
            .attributes
            .iter()
            .filter(|attribute| !create.primary_key.contains(&attribute.name))
            .map(attribute_of)
            .collect::<Result<Vec<_>>>()?;
        let spec = DictionarySpec { key_columns, attributes, layout: layout_of(layout)? }.resolved()?;
        let lifetime = create.lifetime.map_or_else(Lifetime::default, |lifetime| Lifetime {
            min_seconds: lifetime.min_seconds,
            max_seconds: lifetime.max_seconds,
        });
        let Some(source) = &create.source else {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a SOURCE");
        };
        let source = source::open(source)?;
        if settings.tombstone.is_some() && spec.layout.kind.is_direct() {
            bail!(
                BadArguments,
                "tombstone_column: layout {} holds no keys that could go",
                spec.layout.kind.name()
            );
        }
        Ok(Definition { spec, source, settings, lifetime })
    }

    /// Key columns as they are looked up, then attributes.
    pub(super) fn columns(&self) -> Columns {
        let keys = self.spec.key_columns.iter().zip(self.spec.key_types());
        let keys = keys.map(|(column, ty)| Column::new(&column.name, ty));
        let attributes =
            self.spec.attributes.iter().map(|attribute| Column::new(&attribute.name, attribute.ty.clone()));
        keys.chain(attributes).collect()
    }
}

fn key_column(create: &ast::CreateDictionary, name: &str) -> Result<Column> {
    match create.attributes.iter().find(|attribute| attribute.name == name) {
        Some(attribute) => Ok(Column::new(name, basalt_sql::resolve_type(&attribute.ty)?)),
        None => {
            bail!(IncorrectDictionaryDefinition, "key column `{name}` is not among the dictionary's columns")
        }
    }
}

fn attribute_of(attribute: &ast::DictionaryAttribute) -> Result<Attribute> {
    if attribute.expression.is_some() {
        bail!(NotImplemented, "EXPRESSION of attribute `{}` is not implemented", attribute.name);
    }
    let ty = basalt_sql::resolve_type(&attribute.ty)?;
    let default = match &attribute.default {
        None => ty.default_array(1),
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

fn layout_of(layout: &KeyValue) -> Result<LayoutSpec> {
    let parameters = layout
        .args
        .iter()
        .map(|(name, value)| match value {
            KeyValueArgument::Literal(Literal::UInt(value)) => {
                Ok((name.clone(), LayoutParameter::UInt(*value)))
            }
            KeyValueArgument::Literal(Literal::Number(text)) => match text.parse() {
                Ok(value) => Ok((name.clone(), LayoutParameter::Float(value))),
                Err(_) => bail!(BadArguments, "layout parameter {name} is a number, got `{text}`"),
            },
            _ => bail!(BadArguments, "layout parameter {name} is a number"),
        })
        .collect::<Result<Vec<_>>>()?;
    LayoutSpec::parse(&layout.name, &parameters)
}
