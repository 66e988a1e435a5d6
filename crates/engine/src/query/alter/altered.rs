//! A table's definition while the actions of one ALTER change it.

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, Result, bail};
use basalt_parts::NameChange;
use basalt_sql::ast::{
    AlterAction, ColumnDef, ColumnPosition, ColumnProperty, CreateTable, DefaultKind, TableElement,
};

use super::{clauses, indexes, names, types};
use crate::execution::Execution;
use crate::planning::check_defaults;
use crate::tables::{
    ColumnChange, ColumnDefinition, TableDefinition, column_of, definition_of, is_same_stored, names_column,
};

/// The definition after some actions, not checked as a whole yet.
pub(super) struct Altered<'a> {
    old: &'a TableDefinition,
    create: CreateTable,
    names: Vec<NameChange>,
    changes: Vec<ColumnChange>,
    /// Columns whose DEFAULT the statement sets.
    defaulted: Vec<String>,
}

impl<'a> Altered<'a> {
    pub(super) fn of(old: &'a TableDefinition) -> Altered<'a> {
        let create = old.create.clone();
        Altered { old, create, names: Vec::new(), changes: Vec::new(), defaulted: Vec::new() }
    }

    /// Makes one change.
    pub(super) fn apply(&mut self, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, if_not_exists, position } => {
                self.add(column, *if_not_exists, position.as_ref())
            }
            AlterAction::DropColumn { name, if_exists } => self.drop_column(name, *if_exists),
            AlterAction::RenameColumn { from, to, if_exists } => self.rename(from, to, *if_exists),
            AlterAction::ModifyColumn { column, if_exists, position } => {
                self.modify(column, *if_exists, position.as_ref())
            }
            AlterAction::RemoveProperty { name, property, if_exists } => {
                self.remove_property(name, *property, *if_exists)
            }
            AlterAction::CommentColumn { name, comment, if_exists } => {
                if self.has(name, *if_exists, "comment")? {
                    self.column_mut(name)?.comment = Some(comment.clone());
                    self.changes.push(ColumnChange::Describe);
                }
                Ok(())
            }
            other => self.apply_to_clauses(other),
        }
    }

    fn apply_to_clauses(&mut self, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::ModifyOrderBy { order_by } => {
                let is_added = |change: &ColumnChange| match change {
                    ColumnChange::Add { name } => Some(name.clone()),
                    _ => None,
                };
                let added: Vec<String> = self.changes.iter().filter_map(is_added).collect();
                clauses::modify_order_by(&mut self.create, self.old, &added, order_by)?;
            }
            AlterAction::ModifySetting { settings } => {
                clauses::modify_settings(&mut self.create, settings)?;
            }
            AlterAction::ResetSetting { names } => clauses::reset_settings(&mut self.create, names)?,
            AlterAction::ModifyComment { comment } => self.create.comment = Some(comment.clone()),
            AlterAction::ModifyTtl { ttl } => self.create.ttl.clone_from(ttl),
            AlterAction::RemoveTtl => {
                if self.create.ttl.is_empty() {
                    bail!(BadArguments, "table doesn't have any table TTL expression, cannot remove");
                }
                self.create.ttl.clear();
            }
            AlterAction::RemoveColumnTtl { name, .. } => self.remove_column_ttl(name)?,
            AlterAction::Index(action) => {
                if !indexes::change(&mut self.create, action)? {
                    return Ok(());
                }
            }
            AlterAction::Other { words } => return Err(not_built(words)),
            _ => return Err(Error::logical("an action that is no change of a definition")),
        }
        self.changes.push(ColumnChange::Describe);
        Ok(())
    }

    fn remove_column_ttl(&mut self, name: &str) -> Result<()> {
        let column = self.create.elements.iter_mut().find_map(|element| match element {
            TableElement::Column(column) if column.name == name => Some(column),
            _ => None,
        });
        if column.and_then(|column| column.ttl.take()).is_none() {
            bail!(BadArguments, "column `{name}` doesn't have TTL, cannot remove it");
        }
        Ok(())
    }

    /// Whether IF [NOT] EXISTS left nothing to do.
    pub(super) fn is_same(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn changes(&self) -> &[ColumnChange] {
        &self.changes
    }

    /// The new definition, checked by itself. Its column history omits changes up to number `unneeded`, which no part
    /// needs.
    pub(super) fn definition(&self, unneeded: u64) -> Result<TableDefinition> {
        let mut definition =
            definition_of(&self.old.database, &self.old.name, self.old.uuid, self.create.clone())?;
        definition.history = self.old.history.followed_by(&self.names, unneeded);
        Ok(definition)
    }

    /// Names of the old definition that the statement drops or renames.
    pub(super) fn gone_names(&self) -> impl Iterator<Item = &String> {
        let gone = self.names.iter().map(|change| match change {
            NameChange::Renamed { from, .. } => from,
            NameChange::Dropped { name } => name,
        });
        gone.filter(|name| self.old.column(name).is_some())
    }

    pub(super) fn verb_of(&self, name: &str) -> &'static str {
        let is_drop =
            |change: &NameChange| matches!(change, NameChange::Dropped { name: own } if own == name);
        if self.names.iter().any(is_drop) { "drop" } else { "rename" }
    }

    /// The commands of the mutation that gives stored values their new types.
    pub(super) fn retypes(&self) -> Vec<AlterAction> {
        let retype = |change: &ColumnChange| {
            let ColumnChange::Retype { name } = change else { return None };
            let column = self.column(name)?;
            let ColumnDef { name, ty, nullable, default, .. } = column.clone();
            let column = ColumnDef { nullable, default, ..ColumnDef::new(name, ty) };
            Some(AlterAction::ModifyColumn { column, if_exists: false, position: None })
        };
        self.changes.iter().filter_map(retype).collect()
    }

    /// Checks the DEFAULTs of the statement.
    pub(super) fn check_defaults(&self, query: &Arc<Execution>, definition: &TableDefinition) -> Result<()> {
        check_defaults(query, definition, |name| self.defaulted.iter().any(|own| own == name))
    }

    fn add(
        &mut self,
        column: &ColumnDef,
        if_not_exists: bool,
        position: Option<&ColumnPosition>,
    ) -> Result<()> {
        if self.column(&column.name).is_some() {
            if if_not_exists {
                return Ok(());
            }
            bail!(
                DuplicateColumn,
                "cannot add column `{}`: column with this name already exists",
                column.name
            );
        }
        let at = self.insert_position(position)?;
        self.create.elements.insert(at, TableElement::Column(column.clone()));
        self.defaulted.push(column.name.clone());
        self.changes.push(ColumnChange::Add { name: column.name.clone() });
        Ok(())
    }

    /// Drops a column, or all columns of a Nested.
    fn drop_column(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let elements = self.nested_elements(name);
        if !elements.is_empty() {
            return elements.iter().try_for_each(|element| self.drop_column(element, if_exists));
        }
        if !self.has(name, if_exists, "drop")? {
            return Ok(());
        }
        names::check_not_needed(self.old, name, "DROP")?;
        let uses = |column: &&ColumnDef| {
            let expr = column.default.as_ref().and_then(|(_, expr)| expr.as_ref());
            column.name != name && expr.is_some_and(|expr| names_column(expr, name))
        };
        if let Some(other) = self.create.elements.iter().filter_map(clauses::column_in).find(uses) {
            bail!(
                IllegalColumn,
                "cannot drop column `{name}`, because column `{}` depends on it",
                other.name
            );
        }
        self.create
            .elements
            .retain(|element| clauses::column_in(element).is_none_or(|column| column.name != name));
        if self.create.elements.iter().all(|element| clauses::column_in(element).is_none()) {
            bail!(BadArguments, "cannot DROP or CLEAR all columns");
        }
        self.names.push(NameChange::Dropped { name: name.to_owned() });
        self.changes.push(ColumnChange::Drop { name: name.to_owned() });
        Ok(())
    }

    /// The names `name.element`, if no column is called `name`.
    fn nested_elements(&self, name: &str) -> Vec<String> {
        if self.column(name).is_some() {
            return Vec::new();
        }
        let is_element =
            |column: &&ColumnDef| column.name.split_once('.').is_some_and(|(parent, _)| parent == name);
        let columns = self.create.elements.iter().filter_map(clauses::column_in);
        columns.filter(is_element).map(|column| column.name.clone()).collect()
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: bool) -> Result<()> {
        let others = self.names.iter().filter_map(|change| match change {
            NameChange::Renamed { from, to, .. } => Some([from.as_str(), to.as_str()]),
            NameChange::Dropped { .. } => None,
        });
        if others.flatten().any(|other| other == from || other == to) {
            bail!(
                NotImplemented,
                "transitive renames in a single ALTER query are not allowed (don't make sense)"
            );
        }
        if !self.has(from, if_exists, "rename")? {
            return Ok(());
        }
        names::check_not_needed(self.old, from, "RENAME")?;
        if self.column(to).is_some() {
            bail!(DuplicateColumn, "cannot rename to `{to}`: column with this name already exists");
        }
        if from.contains('.') != to.contains('.') {
            bail!(BadArguments, "cannot rename column from nested struct to normal column and vice versa");
        }
        let before = self.index_texts()?;
        names::rename(&mut self.create, from, to);
        let texts = before.into_iter().zip(self.index_texts()?).filter(|(old, new)| old != new).collect();
        let (from, to) = (from.to_owned(), to.to_owned());
        self.names.push(NameChange::Renamed { from: from.clone(), to: to.clone(), texts });
        self.changes.push(ColumnChange::Rename { from, to });
        Ok(())
    }

    /// The expressions of the skip indexes.
    fn index_texts(&self) -> Result<Vec<String>> {
        let definition =
            definition_of(&self.old.database, &self.old.name, self.old.uuid, self.create.clone())?;
        Ok(definition.index_clauses().map(|clause| definition.indexed_text(clause)).collect())
    }

    fn modify(&mut self, new: &ColumnDef, if_exists: bool, position: Option<&ColumnPosition>) -> Result<()> {
        let is_renamed = |change: &NameChange| match change {
            NameChange::Renamed { from, to, .. } => *from == new.name || *to == new.name,
            NameChange::Dropped { .. } => false,
        };
        if self.names.iter().any(is_renamed) {
            bail!(
                NotImplemented,
                "cannot rename and modify the column `{}` in a single ALTER query",
                new.name
            );
        }
        if !self.has(&new.name, if_exists, "modify")? {
            return Ok(());
        }
        let before = column_of(self.column_mut(&new.name)?)?;
        let column = self.column_mut(&new.name)?;
        describe(column, new);
        let after = column_of(column)?;
        if new.default.is_some() {
            self.defaulted.push(new.name.clone());
        }
        if before.ty == after.ty {
            self.changes.push(ColumnChange::Describe);
        } else {
            self.retype(&before, &after)?;
        }
        if position.is_some() {
            self.move_column(&new.name, position)?;
        }
        Ok(())
    }

    fn retype(&mut self, before: &ColumnDefinition, after: &ColumnDefinition) -> Result<()> {
        types::check_retype(self.old, before, after)?;
        // Expressions that use the column must accept the new type.
        let users = self.create.elements.iter().filter_map(clauses::column_in).filter(|column| {
            let expr = column.default.as_ref().and_then(|(_, expr)| expr.as_ref());
            column.name == before.name || expr.is_some_and(|expr| names_column(expr, &before.name))
        });
        self.defaulted.extend(users.map(|column| column.name.clone()));
        self.changes.push(match is_same_stored(&before.ty, &after.ty) {
            true => ColumnChange::Describe,
            false => ColumnChange::Retype { name: before.name.clone() },
        });
        Ok(())
    }

    fn move_column(&mut self, name: &str, position: Option<&ColumnPosition>) -> Result<()> {
        if matches!(position, Some(ColumnPosition::After(other)) if other == name) {
            return Ok(());
        }
        self.insert_position(position)?;
        let is_it =
            |element: &TableElement| clauses::column_in(element).is_some_and(|column| column.name == name);
        if let Some(at) = self.create.elements.iter().position(is_it) {
            let element = self.create.elements.remove(at);
            let to = self.insert_position(position)?;
            self.create.elements.insert(to, element);
        }
        Ok(())
    }

    fn remove_property(&mut self, name: &str, property: ColumnProperty, if_exists: bool) -> Result<()> {
        if !self.has(name, if_exists, "modify")? {
            return Ok(());
        }
        let column = self.column_mut(name)?;
        let kind = column.default.as_ref().map(|(kind, _)| *kind);
        let wanted = match property {
            ColumnProperty::Default => Some(DefaultKind::Default),
            ColumnProperty::Materialized => Some(DefaultKind::Materialized),
            ColumnProperty::Alias => Some(DefaultKind::Alias),
            _ => None,
        };
        let word = property.word();
        if let (Some(kind), Some(wanted)) = (kind, wanted)
            && kind != wanted
        {
            let own = crate::tables::default_kind_name(kind);
            bail!(
                BadArguments,
                "cannot remove {word} from column `{name}`, because column default type is {own}; use REMOVE {own} to \
                 delete it"
            );
        }
        let had = match property {
            ColumnProperty::Codec => !std::mem::take(&mut column.codec).is_empty(),
            ColumnProperty::Comment => column.comment.take().is_some_and(|comment| !comment.is_empty()),
            _ => column.default.take().is_some(),
        };
        if !had {
            bail!(BadArguments, "column `{name}` doesn't have {word}, cannot remove it");
        }
        self.changes.push(ColumnChange::Describe);
        Ok(())
    }

    fn column(&self, name: &str) -> Option<&ColumnDef> {
        self.create.elements.iter().filter_map(clauses::column_in).find(|column| column.name == name)
    }

    fn column_mut(&mut self, name: &str) -> Result<&mut ColumnDef> {
        let mut columns = self.create.elements.iter_mut().filter_map(|element| match element {
            TableElement::Column(column) => Some(column),
            _ => None,
        });
        columns
            .find(|column| column.name == name)
            .ok_or_else(|| Error::logical("the column was found before"))
    }

    fn has(&self, name: &str, if_exists: bool, verb: &str) -> Result<bool> {
        match self.column(name) {
            Some(_) => Ok(true),
            None if if_exists => Ok(false),
            None => {
                let known = self.create.elements.iter().filter_map(clauses::column_in);
                Err(no_column(self.old, name, verb, known.map(|column| column.name.as_str())))
            }
        }
    }

    fn insert_position(&self, position: Option<&ColumnPosition>) -> Result<usize> {
        let elements = &self.create.elements;
        match position {
            // After the last column, before indexes.
            None => Ok(elements
                .iter()
                .rposition(|element| clauses::column_in(element).is_some())
                .map_or(0, |at| at + 1)),
            Some(ColumnPosition::First) => Ok(0),
            Some(ColumnPosition::After(name)) => {
                let is_it =
                    |element: &TableElement| clauses::column_in(element).is_some_and(|c| c.name == *name);
                match elements.iter().position(is_it) {
                    Some(at) => Ok(at + 1),
                    None => bail!(NoSuchColumnInTable, "cannot find column `{name}` to insert after"),
                }
            }
        }
    }
}

fn not_built(words: &str) -> Error {
    Error::not_implemented(format!("ALTER TABLE ... {words}"))
}

/// Whether the table has the column; an error if it must.
pub(super) fn has_column(
    definition: &TableDefinition,
    name: &str,
    if_exists: bool,
    verb: &str,
) -> Result<bool> {
    if definition.column(name).is_some() || if_exists {
        return Ok(definition.column(name).is_some());
    }
    Err(no_column(definition, name, verb, definition.columns.iter().map(|column| column.name.as_str())))
}

fn no_column<'a>(
    definition: &TableDefinition,
    name: &str,
    verb: &str,
    known: impl Iterator<Item = &'a str>,
) -> Error {
    let near = did_you_mean(name, known);
    Error::new(
        basalt_base::ErrorCode::NotFoundColumnInBlock,
        format!("cannot find column `{name}` to {verb} in table `{}`{near}", definition.full_name()),
    )
}

/// Only what a MODIFY COLUMN states is changed.
fn describe(old: &mut ColumnDef, new: &ColumnDef) {
    if new.ty.is_some() {
        old.ty.clone_from(&new.ty);
        old.nullable = new.nullable;
    }
    if new.default.is_some() {
        old.default.clone_from(&new.default);
    }
    if !new.codec.is_empty() {
        old.codec.clone_from(&new.codec);
    }
    if !new.settings.is_empty() {
        old.settings.clone_from(&new.settings);
    }
    if new.comment.is_some() {
        old.comment.clone_from(&new.comment);
    }
    if new.ttl.is_some() {
        old.ttl.clone_from(&new.ttl);
    }
}
