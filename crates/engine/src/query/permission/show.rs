//! SHOW.

use basalt_access::Path;
use basalt_base::Result;
use basalt_sql::ast::{AccessKind, ObjectKind, ShowAccess, ShowWhat};

use super::checker::Checker;

impl Checker<'_> {
    pub(super) fn show(&self, what: &ShowWhat) -> Result<()> {
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
