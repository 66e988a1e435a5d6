//! Which tables of the database `system` everyone may read.

/// Tables that tell of other users, of their statements, or of secrets. All others are for everyone: their rows
/// are those that the user may know of.
const PRIVATE: &[&str] = &[
    "grants",
    "named_collections",
    "part_log",
    "query_log",
    "quota_limits",
    "quotas",
    "quotas_usage",
    "role_grants",
    "roles",
    "row_policies",
    "settings_profile_elements",
    "settings_profiles",
    "users",
];

/// Whether everyone may read the table.
pub(crate) fn is_public(name: &str) -> bool {
    !PRIVATE.contains(&name)
}
