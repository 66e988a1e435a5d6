//! What system tables of access control have in common.

use std::sync::Arc;

use basalt_access::privilege::privileges;
use basalt_base::SqlType;
use basalt_base::siphash::sip_hash128;
use basalt_sql::ast::RoleSet;
use uuid::Uuid;

use super::block::BlockBuilder;

/// The same for each entity of a kind and a name.
pub(super) fn entity_uuid(kind: &str, name: &str) -> Uuid {
    Uuid::from_bytes(sip_hash128(format!("{kind} {name}").as_bytes()))
}

/// Where a user comes from, as ClickHouse calls it.
pub(super) fn storage(is_configured: bool) -> &'static str {
    if is_configured { "users_xml" } else { "local_directory" }
}

/// The type of columns with the name of a privilege.
pub(super) fn privilege_type() -> SqlType {
    let names = privileges().iter().zip(0..).map(|(privilege, number)| (privilege.name.to_owned(), number));
    SqlType::Enum16(names.collect::<Arc<[_]>>())
}

/// The number of a privilege in [`privilege_type`].
pub(super) fn privilege_number(name: &str) -> i16 {
    privileges().iter().zip(0..).find(|(privilege, _)| privilege.name == name).map_or(0, |(_, number)| number)
}

/// The columns `apply_to_all`, `apply_to_list`, `apply_to_except`.
pub(super) fn apply_to<'a>(block: &mut BlockBuilder, sets: impl Iterator<Item = Option<&'a RoleSet>>) {
    let sets: Vec<RoleSet> = sets.map(|set| set.cloned().unwrap_or_default()).collect();
    block
        .u8s(sets.iter().map(|set| u8::from(set.all)))
        .string_lists(sets.iter().map(|set| set.names.clone()))
        .string_lists(sets.iter().map(|set| set.except.clone()));
}
