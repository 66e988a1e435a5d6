//! GRANT and REVOKE.

use std::fmt::{self, Display, Formatter};

use super::{Comma, Name, flag, names};
use crate::ast::{Grant, GrantTarget, Granted, NamePattern, PrivilegesOn, Revoke};

impl Display for Granted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Granted::Roles(roles) => roles.fmt(f),
            Granted::Privileges(list) => Comma(list).fmt(f),
        }
    }
}

impl Display for PrivilegesOn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let privileges: Vec<String> = self
            .privileges
            .iter()
            .map(|(name, columns)| match columns.is_empty() {
                true => name.clone(),
                false => format!("{name}({})", Comma(&names(columns))),
            })
            .collect();
        write!(f, "{} ON {}", Comma(&privileges), self.target)
    }
}

impl Display for GrantTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.in_current_database {
            write_pattern(f, self.database.as_ref())?;
            f.write_str(".")?;
        }
        write_pattern(f, self.table.as_ref())
    }
}

fn write_pattern(f: &mut Formatter<'_>, pattern: Option<&NamePattern>) -> fmt::Result {
    match pattern {
        None => f.write_str("*"),
        Some(pattern) => {
            Name(&pattern.name).fmt(f)?;
            if pattern.is_prefix { f.write_str("*") } else { Ok(()) }
        }
    }
}

impl Display for Grant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GRANT {} TO {}", self.what, self.to)?;
        let option = match self.what {
            Granted::Roles(_) => "WITH ADMIN OPTION",
            Granted::Privileges(_) => "WITH GRANT OPTION",
        };
        flag(f, self.with_option, option)?;
        flag(f, self.replace, "WITH REPLACE OPTION")
    }
}

impl Display for Revoke {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("REVOKE")?;
        let option = match self.what {
            Granted::Roles(_) => "ADMIN OPTION FOR",
            Granted::Privileges(_) => "GRANT OPTION FOR",
        };
        flag(f, self.option_only, option)?;
        write!(f, " {} FROM {}", self.what, self.from)
    }
}
