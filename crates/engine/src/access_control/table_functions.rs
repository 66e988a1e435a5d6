//! Privileges on what table functions reach.

use basalt_access::{Access, Path, PrivilegeSet};
use basalt_base::Result;

/// ACCESS_DENIED unless the user may reach what a table function reads or writes.
pub(crate) fn check_table_function(access: &Access, name: &str) -> Result<()> {
    const SOURCES: &[(&str, &str)] = &[
        ("file", "FILE"),
        ("url", "URL"),
        ("s3", "S3"),
        ("remote", "REMOTE"),
        ("remoteSecure", "REMOTE"),
        ("postgresql", "POSTGRES"),
        ("mysql", "MYSQL"),
        ("redis", "REDIS"),
        ("mongodb", "MONGO"),
    ];
    match SOURCES.iter().find(|(function, _)| *function == name) {
        Some(&(_, privilege)) => access.check(PrivilegeSet::of(privilege), &Path::default()),
        None => Ok(()),
    }
}
