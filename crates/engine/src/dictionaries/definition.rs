//! From the CREATE DICTIONARY statement to keys, attributes, layout and source.

use arrow::array::ArrayRef;
use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType, bail};
use basalt_dict::{Attribute, DictionarySpec, LayoutParameter, LayoutSpec};
use basalt_formats::TextSettings;
use basalt_formats::text::ColumnBuilder;
use basalt_sql::ast::{self, KeyValue, KeyValueArgument, Literal};

/// Where the rows of a dictionary come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceSpec {
    Table { database: Option<String>, table: String, filter: Option<String> },
    Query(String),
}

/// Everything that a CREATE DICTIONARY states, checked.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) spec: DictionarySpec,
    pub(super) source: SourceSpec,
    pub(super) lifetime_min_seconds: u64,
    pub(super) lifetime_max_seconds: u64,
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
        if let Some(setting) = create.settings.first() {
            bail!(NotImplemented, "SETTINGS({}) of a dictionary is not implemented", setting.name);
        }
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
        let (lifetime_min_seconds, lifetime_max_seconds) =
            create.lifetime.map_or((0, 0), |lifetime| (lifetime.min_seconds, lifetime.max_seconds));
        let source = source_of(create)?;
        Ok(Definition { spec, source, lifetime_min_seconds, lifetime_max_seconds })
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

/// The sources that ClickHouse has and Basalt does not yet.
const NOT_BUILT: [&str; 14] = [
    "FILE",
    "EXECUTABLE",
    "EXECUTABLE_POOL",
    "HTTP",
    "ODBC",
    "JDBC",
    "MYSQL",
    "POSTGRESQL",
    "MONGODB",
    "REDIS",
    "CASSANDRA",
    "SQLITE",
    "YTSAURUS",
    "NULL",
];

fn source_of(create: &ast::CreateDictionary) -> Result<SourceSpec> {
    let Some(source) = &create.source else {
        bail!(IncorrectDictionaryDefinition, "a dictionary needs a SOURCE");
    };
    let name = source.name.to_ascii_uppercase();
    if NOT_BUILT.contains(&name.as_str()) {
        bail!(NotImplemented, "dictionary source {name} is not implemented");
    }
    if name != "CLICKHOUSE" {
        bail!(IncorrectDictionaryDefinition, "dictionary source `{}` is not known", source.name);
    }
    let (mut database, mut table, mut filter, mut query) = (None, None, None, None);
    for (key, value) in &source.args {
        let text = argument_text(key, value)?;
        match key.to_ascii_lowercase().as_str() {
            "db" | "database" => database = Some(text).filter(|name| !name.is_empty()),
            "table" => table = Some(text),
            "where" => filter = Some(text),
            "query" => query = Some(text),
            "host" if is_this_host(&text) => {}
            "host" => {
                bail!(NotImplemented, "a dictionary source on another host, `{text}`, is not implemented")
            }
            // They matter for a connection, and here there is none.
            "port" | "user" | "password" | "secure" => {}
            other => bail!(
                NotImplemented,
                "parameter `{other}` of dictionary source CLICKHOUSE is not implemented"
            ),
        }
    }
    match (table, query) {
        (Some(table), None) => Ok(SourceSpec::Table { database, table, filter }),
        (None, Some(query)) => Ok(SourceSpec::Query(query)),
        _ => Err(Error::new(
            ErrorCode::IncorrectDictionaryDefinition,
            "dictionary source CLICKHOUSE takes either TABLE or QUERY",
        )),
    }
}

fn is_this_host(host: &str) -> bool {
    matches!(host, "" | "localhost" | "127.0.0.1" | "::1")
}

fn argument_text(key: &str, value: &KeyValueArgument) -> Result<String> {
    match value {
        KeyValueArgument::Ident(name) => Ok(name.clone()),
        KeyValueArgument::Literal(Literal::String(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        KeyValueArgument::Literal(Literal::UInt(value)) => Ok(value.to_string()),
        _ => bail!(
            IncorrectDictionaryDefinition,
            "parameter `{key}` of a dictionary source is a string or a number"
        ),
    }
}
