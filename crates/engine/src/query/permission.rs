//! The privileges that a statement needs, by its syntax. What SELECT reads is checked in its plan
//! (`planning/access_check.rs`).

use basalt_access::{Access, Path, PrivilegeSet};
use basalt_base::{Result, bail};
use basalt_sql::ast::{
    AccessKind, AccessStatement, AlterAction, AlterTable, CreateTable, DefinitionMode, Expr, IndexAction,
    Insert, InsertSource, InsertTarget, Literal, ObjectKind, ObjectName, ShowAccess, ShowWhat, Statement,
    SystemCommand, TableSource,
};

use crate::access_control::check_table_function;
use crate::execution::Execution;
use crate::names::{TEMPORARY, is_built_in, split_name};

/// Checks privileges for one statement.
struct Checker<'a> {
    query: &'a Execution,
    access: &'a Access,
}

/// ACCESS_DENIED unless the user of the query has the privileges for the statement.
pub(super) fn check(query: &Execution, statement: &Statement) -> Result<()> {
    let access = &query.access;
    if access.is_unlimited() {
        return Ok(());
    }
    Checker { query, access }.check(statement)
}

/// The privileges of CREATE, DROP and so on for each kind of object.
fn of_kind(verb: Verb, kind: ObjectKind) -> PrivilegeSet {
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
enum Verb {
    Create,
    Drop,
    Show,
}

impl Checker<'_> {
    fn check(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Set { .. }
            | Statement::KillQuery { .. } => Ok(()),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Copy(copy) => {
                if copy.path.is_some() {
                    self.global("FILE")?;
                }
                self.columns("INSERT", &copy.table, &copy.columns)
            }
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateDatabase(create) => {
                self.on(PrivilegeSet::of("CREATE DATABASE"), &Path::of(&[&create.name]))
            }
            Statement::CreateView(create) => {
                self.made("CREATE VIEW", &create.name)?;
                self.replace(create.or_replace, ObjectKind::View, &create.name)
            }
            Statement::CreateDictionary(create) => {
                self.made("CREATE DICTIONARY", &create.name)?;
                self.replace(create.or_replace, ObjectKind::Dictionary, &create.name)?;
                // The source is read with the rights of the engine.
                self.global("SOURCES")?;
                self.global("SELECT")
            }
            Statement::Drop(drop) if drop.temporary => Ok(()),
            Statement::Drop(drop) => {
                drop.names.iter().try_for_each(|name| self.kind(Verb::Drop, drop.kind, name))
            }
            Statement::Detach(detach) => self.kind(Verb::Drop, detach.kind, &detach.name),
            Statement::Attach { kind, name, .. } => self.made_kind(*kind, name),
            Statement::Truncate { name, .. } => self.named("TRUNCATE", name),
            Statement::Alter(alter) => self.alter(alter),
            Statement::Rename { kind, pairs } => {
                pairs.iter().try_for_each(|pair| self.moved(*kind, &pair.from, &pair.to))
            }
            Statement::Exchange { kind, left, right } => {
                self.moved(*kind, left, right)?;
                self.moved(*kind, right, left)
            }
            Statement::Delete { table, filter, .. } => {
                self.named("ALTER DELETE", table)?;
                self.mutation([filter])
            }
            Statement::Update(update) => {
                let columns: Vec<String> = update.assignments.iter().map(|(name, _)| name.clone()).collect();
                self.columns("ALTER UPDATE", &update.table, &columns)?;
                self.mutation(update.assignments.iter().map(|(_, value)| value).chain([&update.filter]))
            }
            Statement::Backup { table, .. } => self.named("BACKUP", table),
            Statement::Restore { table, new_name, .. } => {
                let path = self.new_path(new_name.as_ref().unwrap_or(table));
                self.on(PrivilegeSet::of("CREATE TABLE"), &path)?;
                self.on(PrivilegeSet::of("INSERT"), &path)
            }
            Statement::Optimize { table, .. } => self.named("OPTIMIZE", table),
            Statement::Check(check) => self.named("CHECK", &check.table),
            Statement::KillMutation { .. } => self.global("ALTER TABLE"),
            other => self.check_other(other),
        }
    }

    fn check_other(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::CreateNamedCollection(_) => self.global("CREATE NAMED COLLECTION"),
            Statement::AlterNamedCollection(_) => self.global("ALTER NAMED COLLECTION"),
            Statement::DropNamedCollection { .. } => self.global("DROP NAMED COLLECTION"),
            Statement::Use(database) => self.seen("SHOW DATABASES", &Path::of(&[database])),
            Statement::Exists { kind, name } => self.seen_kind(*kind, name),
            Statement::Describe(basalt_sql::ast::Describe::Table { name, .. }) => self.seen_whole(name),
            Statement::Show(show) => self.show(&show.what),
            Statement::System(command) => self.system(command),
            Statement::Access(statement) => self.statement_of_access(statement),
            _ => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert) -> Result<()> {
        if let InsertSource::Infile { .. } = &insert.source {
            self.global("FILE")?;
        }
        match &insert.target {
            InsertTarget::Table(name) => self.columns("INSERT", name, &insert.columns),
            InsertTarget::Function(call) => check_table_function(self.access, &call.name),
        }
    }

    fn create_table(&self, create: &CreateTable) -> Result<()> {
        if create.temporary {
            return self.global("CREATE TEMPORARY TABLE");
        }
        self.made("CREATE TABLE", &create.name)?;
        if let Some(engine) = create.engine.as_ref().filter(|engine| engine.name == "Dictionary") {
            self.dictionary(&engine.args)?;
        }
        self.replace(create.or_replace, ObjectKind::Table, &create.name)?;
        match &create.source {
            Some(TableSource::Like(name)) => self.seen_whole(name),
            Some(TableSource::Query(_)) => self.on(PrivilegeSet::of("INSERT"), &self.new_path(&create.name)),
            _ => Ok(()),
        }
    }

    fn replace(&self, replaces: bool, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        if replaces { self.on(of_kind(Verb::Drop, kind), &self.new_path(name)) } else { Ok(()) }
    }

    fn alter(&self, alter: &AlterTable) -> Result<()> {
        let table = &alter.name;
        for action in &alter.actions {
            match action {
                AlterAction::AddColumn { column, .. } => self.column("ALTER ADD COLUMN", table, &column.name),
                AlterAction::DropColumn { name, .. } => self.column("ALTER DROP COLUMN", table, name),
                AlterAction::ModifyColumn { column, .. } => {
                    self.column("ALTER MODIFY COLUMN", table, &column.name)
                }
                AlterAction::RemoveProperty { name, .. } | AlterAction::RemoveColumnTtl { name, .. } => {
                    self.column("ALTER MODIFY COLUMN", table, name)
                }
                AlterAction::RenameColumn { from, to, .. } => self
                    .column("ALTER RENAME COLUMN", table, from)
                    .and_then(|()| self.column("ALTER RENAME COLUMN", table, to)),
                AlterAction::CommentColumn { name, .. } => self.column("ALTER COMMENT COLUMN", table, name),
                AlterAction::ClearColumn { name, .. } => self.column("ALTER CLEAR COLUMN", table, name),
                AlterAction::MaterializeColumn { name, .. } => {
                    self.column("ALTER MATERIALIZE COLUMN", table, name)
                }
                AlterAction::Update { assignments, filter, .. } => {
                    let columns: Vec<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
                    self.columns("ALTER UPDATE", table, &columns)?;
                    self.mutation(assignments.iter().map(|(_, value)| value).chain([filter]))
                }
                AlterAction::Delete { filter, .. } => {
                    self.named("ALTER DELETE", table).and_then(|()| self.mutation([filter]))
                }
                AlterAction::Index(action) => self.named(index_privilege(action), table),
                AlterAction::ModifySetting { .. } | AlterAction::ResetSetting { .. } => {
                    self.named("ALTER SETTINGS", table)
                }
                AlterAction::ModifyComment { .. } => self.named("ALTER MODIFY COMMENT", table),
                AlterAction::ModifyOrderBy { .. } => self.named("ALTER ORDER BY", table),
                AlterAction::ModifyTtl { .. } | AlterAction::RemoveTtl => self.named("ALTER TTL", table),
                AlterAction::MaterializeTtl { .. } => self.named("ALTER MATERIALIZE TTL", table),
                _ => self.named("ALTER TABLE", table),
            }?;
        }
        Ok(())
    }

    fn moved(&self, kind: ObjectKind, from: &ObjectName, to: &ObjectName) -> Result<()> {
        self.kind(Verb::Drop, kind, from)?;
        self.made_kind(kind, to)?;
        if kind == ObjectKind::Table {
            self.named("SELECT", from)?;
            self.on(PrivilegeSet::of("INSERT"), &self.new_path(to))?;
        }
        Ok(())
    }

    fn show(&self, what: &ShowWhat) -> Result<()> {
        match what {
            ShowWhat::Create { kind: ObjectKind::Database, name } => {
                self.seen_kind(ObjectKind::Database, name)
            }
            ShowWhat::Create { name, .. } => self.seen_whole(name),
            ShowWhat::Columns { table, .. } | ShowWhat::Indexes { table, .. } => self.seen_whole(table),
            ShowWhat::Tables { database: Some(database), .. }
            | ShowWhat::FullTables { database: Some(database), .. } => {
                self.seen("SHOW DATABASES", &Path::of(&[database]))
            }
            ShowWhat::Access(show) => self.show_access(show),
            _ => Ok(()),
        }
    }

    fn show_access(&self, show: &ShowAccess) -> Result<()> {
        let is_own = |names: &[String]| names.iter().all(|name| *name == self.access.user);
        match show {
            ShowAccess::Entities(kind) => self.global(shows(*kind)),
            ShowAccess::Create { kind: AccessKind::User, names, .. } if is_own(names) => Ok(()),
            ShowAccess::Create { kind, .. } => self.global(shows(*kind)),
            ShowAccess::Grants { names } => match is_own(names) || self.are_roles(names) {
                true => Ok(()),
                false => self.global("SHOW USERS").and_then(|()| self.global("SHOW ROLES")),
            },
            ShowAccess::All => self.global("SHOW ACCESS"),
            ShowAccess::CurrentRoles | ShowAccess::EnabledRoles | ShowAccess::Privileges => Ok(()),
        }
    }

    fn are_roles(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.access.enabled_roles.contains(name))
    }

    fn system(&self, command: &SystemCommand) -> Result<()> {
        match command {
            SystemCommand::ReloadDictionary(_)
            | SystemCommand::ReloadDictionaries
            | SystemCommand::UnloadDictionary(_)
            | SystemCommand::UnloadDictionaries => self.global("SYSTEM RELOAD DICTIONARY"),
            SystemCommand::FlushLogs => self.global("SYSTEM FLUSH LOGS"),
            SystemCommand::DropCaches { .. } => self.global("SYSTEM DROP CACHE"),
            SystemCommand::StopMerges(table) | SystemCommand::StartMerges(table) => {
                self.table_or_all("SYSTEM MERGES", table.as_ref())
            }
            SystemCommand::StopTtlMerges(table) | SystemCommand::StartTtlMerges(table) => {
                self.table_or_all("SYSTEM TTL MERGES", table.as_ref())
            }
            SystemCommand::Shutdown => self.global("SYSTEM SHUTDOWN"),
            SystemCommand::RestoreTable(_) | SystemCommand::Other { .. } => self.global("SYSTEM"),
        }
    }

    fn table_or_all(&self, privilege: &'static str, table: Option<&ObjectName>) -> Result<()> {
        match table {
            Some(table) => self.named(privilege, table),
            None => self.global(privilege),
        }
    }

    fn statement_of_access(&self, statement: &AccessStatement) -> Result<()> {
        match statement {
            AccessStatement::User(definition) => self.defines("CREATE USER", "ALTER USER", definition.mode),
            AccessStatement::Role(definition) => self.defines("CREATE ROLE", "ALTER ROLE", definition.mode),
            AccessStatement::RowPolicy(definition) => {
                self.defines("CREATE ROW POLICY", "ALTER ROW POLICY", definition.mode)
            }
            AccessStatement::Quota(definition) => {
                self.defines("CREATE QUOTA", "ALTER QUOTA", definition.mode)
            }
            AccessStatement::SettingsProfile(definition) => {
                self.defines("CREATE SETTINGS PROFILE", "ALTER SETTINGS PROFILE", definition.mode)
            }
            AccessStatement::Drop(drop) => self.global(match drop.kind {
                AccessKind::User => "DROP USER",
                AccessKind::Role => "DROP ROLE",
                AccessKind::SettingsProfile => "DROP SETTINGS PROFILE",
                AccessKind::RowPolicy => "DROP ROW POLICY",
                AccessKind::Quota => "DROP QUOTA",
            }),
            AccessStatement::SetDefaultRole { users, .. } => {
                match users.iter().all(|user| *user == self.access.user) {
                    true => Ok(()),
                    false => self.global("ALTER USER"),
                }
            }
            // What may be granted is checked where it is granted.
            AccessStatement::Grant(_) | AccessStatement::Revoke(_) | AccessStatement::SetRole(_) => Ok(()),
        }
    }

    fn defines(&self, create: &'static str, alter: &'static str, mode: DefinitionMode) -> Result<()> {
        match mode {
            DefinitionMode::Create { or_replace, .. } => {
                self.global(create)?;
                if or_replace { self.global(alter) } else { Ok(()) }
            }
            DefinitionMode::Alter { .. } => self.global(alter),
        }
    }

    fn path(&self, name: &ObjectName) -> Path {
        let key = self.query.key_of(name);
        Path::of(&[&key.database, &key.name])
    }

    /// The path of an object that is to be made: a temporary one of the same name does not matter.
    fn new_path(&self, name: &ObjectName) -> Path {
        let key = self.query.key_of_new(name);
        Path::of(&[&key.database, &key.name])
    }

    fn made(&self, privilege: &'static str, name: &ObjectName) -> Result<()> {
        self.on(PrivilegeSet::of(privilege), &self.new_path(name))
    }

    fn made_kind(&self, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.on(of_kind(Verb::Create, kind), &Path::of(&[&name.name])),
            _ => self.on(of_kind(Verb::Create, kind), &self.new_path(name)),
        }
    }

    /// The dictionary that an ENGINE = Dictionary names.
    fn dictionary(&self, args: &[Expr]) -> Result<()> {
        let name = match args {
            [Expr::Literal(Literal::String(name))] => String::from_utf8_lossy(name).into_owned(),
            [Expr::Identifier(parts)] => parts.join("."),
            _ => return self.global("dictGet"),
        };
        let (database, name) = split_name(&name, &self.query.database);
        self.on(PrivilegeSet::of("dictGet"), &Path::of(&[&database, &name]))
    }

    /// Subqueries of a mutation run with the rights of the engine, when their time comes.
    fn mutation<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<()> {
        if !exprs.into_iter().any(|expr| expr.any(&mut |part| reads(part))) {
            return Ok(());
        }
        self.global("SELECT")?;
        match self.query.instance.access_control.entities().policies.is_empty() {
            true => Ok(()),
            false => bail!(
                AccessDenied,
                "{}: a mutation with a subquery needs all privileges while there are row policies",
                self.access.user
            ),
        }
    }

    fn on(&self, set: PrivilegeSet, path: &Path) -> Result<()> {
        self.access.check(set, path)
    }

    fn global(&self, privilege: &'static str) -> Result<()> {
        self.on(PrivilegeSet::of(privilege), &Path::default())
    }

    fn named(&self, privilege: &'static str, name: &ObjectName) -> Result<()> {
        self.object(PrivilegeSet::of(privilege), name)
    }

    fn object(&self, set: PrivilegeSet, name: &ObjectName) -> Result<()> {
        if self.query.is_temporary(name) { Ok(()) } else { self.on(set, &self.path(name)) }
    }

    fn kind(&self, verb: Verb, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.on(of_kind(verb, kind), &Path::of(&[&name.name])),
            _ => self.object(of_kind(verb, kind), name),
        }
    }

    fn column(&self, privilege: &'static str, table: &ObjectName, column: &str) -> Result<()> {
        self.columns(privilege, table, std::slice::from_ref(&column.to_owned()))
    }

    /// No columns are all of the table's.
    fn columns(&self, privilege: &'static str, table: &ObjectName, columns: &[String]) -> Result<()> {
        if columns.is_empty() || self.query.is_temporary(table) {
            return self.named(privilege, table);
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.access.check_columns(PrivilegeSet::of(privilege), &self.path(table), &columns)
    }

    fn seen_kind(&self, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        match kind {
            ObjectKind::Database => self.seen("SHOW DATABASES", &Path::of(&[&name.name])),
            _ => self
                .seen(of_kind(Verb::Show, kind).names().first().unwrap_or(&"SHOW TABLES"), &self.path(name)),
        }
    }

    /// All columns of a table are shown: a privilege on some of them is not enough.
    fn seen_whole(&self, name: &ObjectName) -> Result<()> {
        let key = self.query.key_of(name);
        let path = Path::of(&[&key.database, &key.name]);
        let is_known = is_built_in(&key.database) || key.database == TEMPORARY;
        if is_known || self.access.sees_whole(&path) {
            return Ok(());
        }
        self.on(PrivilegeSet::of("SHOW COLUMNS"), &path)
    }

    /// The privilege is implied by any other on the object.
    fn seen(&self, privilege: &'static str, path: &Path) -> Result<()> {
        let is_system = path.0.first().is_some_and(|database| is_built_in(&database.name));
        if is_system || self.access.sees(path) { Ok(()) } else { self.on(PrivilegeSet::of(privilege), path) }
    }
}

/// Whether an expression reads a table.
fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists(_) => true,
        Expr::In { right, .. } => matches!(right.as_ref(), Expr::Identifier(_) | Expr::Function(_)),
        _ => false,
    }
}

fn shows(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::User => "SHOW USERS",
        AccessKind::Role => "SHOW ROLES",
        AccessKind::SettingsProfile => "SHOW SETTINGS PROFILES",
        AccessKind::RowPolicy => "SHOW ROW POLICIES",
        AccessKind::Quota => "SHOW QUOTAS",
    }
}

fn index_privilege(action: &IndexAction) -> &'static str {
    match action {
        IndexAction::Add { .. } => "ALTER ADD INDEX",
        IndexAction::Drop { .. } => "ALTER DROP INDEX",
        IndexAction::Clear { .. } => "ALTER CLEAR INDEX",
        IndexAction::Materialize { .. } => "ALTER MATERIALIZE INDEX",
    }
}
