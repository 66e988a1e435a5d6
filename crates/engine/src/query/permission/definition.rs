//! Statements of access control itself.

use basalt_base::Result;
use basalt_sql::ast::{AccessKind, AccessStatement, DefinitionMode};

use super::checker::Checker;

impl Checker<'_> {
    pub(super) fn statement_of_access(&self, statement: &AccessStatement) -> Result<()> {
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
}
