//! One privilege on one object.

use basalt_access::{Access, Path, PrivilegeSet};
use basalt_base::{Result, bail};
use basalt_sql::ast::{ObjectKind, ObjectName};

use crate::execution::Execution;
use crate::names::{TEMPORARY, is_built_in};

/// Checks privileges for one statement.
pub(super) struct Checker<'a> {
    pub(super) query: &'a Execution,
    pub(super) access: &'a Access,
}

/// The privileges of CREATE, DROP and so on for each kind of object.
pub(super) fn of_kind(verb: Verb, kind: ObjectKind) -> PrivilegeSet {
    PrivilegeSet::of(match (verb, kind) {
        (Verb::Create, ObjectKind::Database) => "CREATE DATABASE",
        (Verb::Create, ObjectKind::View) => "CREATE VIEW",
        (Verb::Create, ObjectKind::Dictionary) => "CREATE DICTIONARY",
        (Verb::Create, _) => "CREATE TABLE",
        (Verb::Drop, ObjectKind::Database) => "DROP DATABASE",
        (Verb::Drop, ObjectKind::View) => "DROP VIEW",
        (Verb::Drop, ObjectKind::Dictionary) => "DROP DICTIONARY",
        (Verb::Drop, _) => "DROP TABLE",
        (Verb::Show, ObjectKind::Database) => "SHOW DATABASES",
        (Verb::Show, ObjectKind::Dictionary) => "SHOW DICTIONARIES",
        (Verb::Show, _) => "SHOW TABLES",
    })
}

#[derive(Clone, Copy)]
pub(super) enum Verb {
    Create,
    Drop,
    Show,
}

impl Checker<'_> {
    pub(super) fn made(&self, privilege: &'static str, name: &ObjectName) -> Result<()> {
        self.on(PrivilegeSet::of(privilege), &self.new_path(name))
    }

    pub(super) fn made_kind(&self, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.on(of_kind(Verb::Create, kind), &Path::of(&[&name.name])),
            _ => self.on(of_kind(Verb::Create, kind), &self.new_path(name)),
        }
    }

    pub(super) fn on(&self, set: PrivilegeSet, path: &Path) -> Result<()> {
        self.access.check(set, path)
    }

    pub(super) fn global(&self, privilege: &'static str) -> Result<()> {
        self.on(PrivilegeSet::of(privilege), &Path::default())
    }

    pub(super) fn named(&self, privilege: &'static str, name: &ObjectName) -> Result<()> {
        self.object(PrivilegeSet::of(privilege), name)
    }

    pub(super) fn object(&self, set: PrivilegeSet, name: &ObjectName) -> Result<()> {
        if self.query.is_temporary(name) { Ok(()) } else { self.on(set, &self.path(name)) }
    }

    pub(super) fn kind(&self, verb: Verb, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.on(of_kind(verb, kind), &Path::of(&[&name.name])),
            _ => self.object(of_kind(verb, kind), name),
        }
    }

    pub(super) fn column(&self, privilege: &'static str, table: &ObjectName, column: &str) -> Result<()> {
        self.columns(privilege, table, std::slice::from_ref(&column.to_owned()))
    }

    /// No columns are all of the table's.
    pub(super) fn columns(
        &self,
        privilege: &'static str,
        table: &ObjectName,
        columns: &[String],
    ) -> Result<()> {
        if columns.is_empty() || self.query.is_temporary(table) {
            return self.named(privilege, table);
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.access.check_columns(PrivilegeSet::of(privilege), &self.path(table), &columns)
    }

    pub(super) fn seen_kind(&self, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.seen("SHOW DATABASES", &Path::of(&[&name.name])),
            _ => self
                .seen(of_kind(Verb::Show, kind).names().first().unwrap_or(&"SHOW TABLES"), &self.path(name)),
        }
    }

    /// All columns of a table are shown: a privilege on some of them is not enough.
    pub(super) fn seen_whole(&self, name: &ObjectName) -> Result<()> {
        let key = self.query.key_of(name);
        let path = Path::of(&[&key.database, &key.name]);
        let is_known = is_built_in(&key.database) || key.database == TEMPORARY;
        if is_known || self.access.sees_whole(&path) {
            return Ok(());
        }
        self.on(PrivilegeSet::of("SHOW COLUMNS"), &path)
    }

    /// The privilege is implied by any other on the object.
    pub(super) fn seen(&self, privilege: &'static str, path: &Path) -> Result<()> {
        let is_system = path.0.first().is_some_and(|database| is_built_in(&database.name));
        if is_system || self.access.sees(path) { Ok(()) } else { self.on(PrivilegeSet::of(privilege), path) }
    }

    pub(super) fn path(&self, name: &ObjectName) -> Path {
        let key = self.query.key_of(name);
        Path::of(&[&key.database, &key.name])
    }

    /// The path of an object that is to be made: a temporary one of the same name does not matter.
    pub(super) fn new_path(&self, name: &ObjectName) -> Path {
        let key = self.query.key_of_new(name);
        Path::of(&[&key.database, &key.name])
    }

    /// All columns and all rows of a table are read.
    pub(super) fn whole(&self, name: &ObjectName) -> Result<()> {
        self.named("SELECT", name)?;
        let key = self.query.key_of(name);
        match self.query.row_filter(&key.database, &key.name) {
            None => Ok(()),
            Some(_) => bail!(
                AccessDenied,
                "{}: a row policy of `{}`.`{}` hides rows that the statement would show",
                self.access.user,
                key.database,
                key.name
            ),
        }
    }
}
