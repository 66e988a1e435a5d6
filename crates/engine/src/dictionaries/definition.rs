//! From the CREATE DICTIONARY statement to keys, attributes, layout and source.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_dict::{DictionarySpec, LayoutKind, LayoutSpec};
use basalt_sql::ast;

use super::schedule::Lifetime;
use super::settings::DictionarySettings;
use super::source;
use super::source::{Expressions, RowSource};
use super::structure::{layout_of, structure};
use crate::named_collections::NamedCollections;

/// A checked CREATE DICTIONARY.
pub(super) struct Definition {
    pub(super) spec: DictionarySpec,
    pub(super) source: Arc<dyn RowSource>,
    pub(super) settings: DictionarySettings,
    pub(super) lifetime: Lifetime,
    pub(super) expressions: Arc<Expressions>,
}

impl Definition {
    /// Checks the statement.
    pub(super) fn of(create: &ast::CreateDictionary, collections: &NamedCollections) -> Result<Definition> {
        if create.primary_key.is_empty() {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a PRIMARY KEY");
        }
        let settings = DictionarySettings::parse(&create.settings)?;
        let Some(layout) = &create.layout else {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a LAYOUT");
        };
        let layout = LayoutSpec { regexp_flags: settings.regexp_flags, ..layout_of(layout)? };
        let spec = structure(create, layout)?.resolved()?;
        let Some(source) = &create.source else {
            bail!(IncorrectDictionaryDefinition, "a dictionary needs a SOURCE");
        };
        let source = source::open(source, &spec, collections)?;
        let kind = spec.layout.kind;
        let lifetime = lifetime_of(create, kind)?;
        if settings.tombstone.is_some() && kind.asks_source() {
            bail!(BadArguments, "tombstone_column: layout {} holds no keys that could go", kind.name());
        }
        if (settings.tombstone.is_some() || source.update_field().is_some()) && !kind.takes_changes() {
            bail!(NotImplemented, "UPDATE_FIELD and tombstone_column with layout {}", kind.name());
        }
        if settings.persist && kind.asks_source() {
            bail!(BadArguments, "persist: layout {} holds nothing to be kept", kind.name());
        }
        if settings.persist && !kind.is_storable() {
            let layout = kind.name();
            return Err(Error::not_implemented(format!(
                "setting `persist` of a dictionary of layout {layout}"
            )));
        }
        let expressions = expressions_of(create, source.as_ref())?;
        Ok(Definition { spec, source, settings, lifetime, expressions })
    }

    /// The value in place of a missing one, for each column after the keys: the attribute's DEFAULT, or that of the
    /// column's type.
    pub(super) fn defaults(&self) -> Arc<[ArrayRef]> {
        let default = |column: &Column| {
            let mut attributes = self.spec.attributes.iter();
            let found = attributes.find(|known| known.name == column.name && known.ty == column.ty);
            found.map_or_else(|| column.ty.default_array(1), |known| Arc::clone(&known.default))
        };
        self.source_columns().iter().skip(self.spec.key_columns.len()).map(default).collect()
    }

    /// The key columns whose values must be numbers of the column's type. A signed key of a simple layout is stored
    /// as a `UInt64`: a negative number wraps, as in a cast.
    pub(super) fn exact_keys(&self) -> usize {
        let keys = &self.spec.key_columns;
        let is_signed = |ty: &SqlType| ty.is_integer() && !ty.is_unsigned();
        let is_widened =
            !self.spec.layout.kind.is_complex() && keys.iter().any(|key| is_signed(key.ty.full()));
        if is_widened { 0 } else { keys.len() }
    }

    /// The columns of a scan.
    pub(super) fn columns(&self) -> Columns {
        self.spec.columns()
    }

    /// The columns of the source: [`Definition::columns`], but bounds may be NULL.
    pub(super) fn source_columns(&self) -> Columns {
        let is_bound = |column: &Column| {
            let range = self.spec.range.as_ref();
            range.is_some_and(|range| range.low == column.name || range.high == column.name)
        };
        let nullable = |column: &Column| match is_bound(column) {
            true => Column::new(&column.name, column.ty.clone().into_nullable()),
            false => column.clone(),
        };
        self.columns().iter().map(nullable).collect()
    }
}

/// Without a LIFETIME, a dictionary is never refreshed, as with LIFETIME(0).
fn lifetime_of(create: &ast::CreateDictionary, kind: LayoutKind) -> Result<Lifetime> {
    let Some(ast::DictionaryLifetime { min_seconds, max_seconds }) = create.lifetime else {
        return Ok(Lifetime::default());
    };
    if kind.is_direct() {
        bail!(BadArguments, "layout DIRECT keeps nothing that could have a LIFETIME");
    }
    if min_seconds > max_seconds {
        bail!(BadArguments, "LIFETIME: MIN {min_seconds} is greater than MAX {max_seconds}");
    }
    Ok(Lifetime { min_seconds, max_seconds })
}

fn expressions_of(create: &ast::CreateDictionary, source: &dyn RowSource) -> Result<Arc<Expressions>> {
    let mut expressions = Expressions::new();
    for attribute in &create.attributes {
        let Some(expression) = &attribute.expression else { continue };
        if !source.takes_expressions() {
            bail!(
                SupportIsDisabled,
                "EXPRESSION of attribute `{}`: only a source that is a database (CLICKHOUSE, POSTGRESQL, MYSQL, \
                 SQLITE) computes columns",
                attribute.name
            );
        }
        expressions.insert(attribute.name.clone(), expression.to_string());
    }
    Ok(Arc::new(expressions))
}
