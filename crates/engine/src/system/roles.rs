//! `system.roles`, `system.role_grants`, and the roles of the asking session: `system.current_roles` and
//! `system.enabled_roles`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::access::{entity_uuid, storage};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared("name String, id UUID, storage String")
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let names = || entities.roles.keys();
    BlockBuilder::default()
        .strings(names())
        .uuids(names().map(|name| entity_uuid("role", name)))
        .strings(names().map(|_| storage(false)))
        .finish(&columns())
}

pub(super) fn grant_columns() -> Columns {
    block::declared(
        "user_name Nullable(String), role_name Nullable(String), granted_role_name String, granted_role_id UUID, \
         granted_role_is_default UInt8, with_admin_option UInt8",
    )
}

struct Line<'a> {
    user: Option<&'a str>,
    role: Option<&'a str>,
    granted: &'a str,
    is_default: bool,
    is_admin: bool,
}

pub(super) fn grant_block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let of_users = entities.users.iter().flat_map(|(name, user)| {
        user.grants.roles.iter().map(move |(granted, is_admin)| Line {
            user: Some(name),
            role: None,
            granted,
            is_default: user.default_roles().contains(granted),
            is_admin: *is_admin,
        })
    });
    let of_roles = entities.roles.iter().flat_map(|(name, role)| {
        role.grants.roles.iter().map(move |(granted, is_admin)| Line {
            user: None,
            role: Some(name),
            granted,
            is_default: true,
            is_admin: *is_admin,
        })
    });
    let lines: Vec<Line<'_>> = of_users.chain(of_roles).collect();
    BlockBuilder::default()
        .maybe_strings(lines.iter().map(|line| line.user))
        .maybe_strings(lines.iter().map(|line| line.role))
        .strings(lines.iter().map(|line| line.granted))
        .uuids(lines.iter().map(|line| entity_uuid("role", line.granted)))
        .u8s(lines.iter().map(|line| u8::from(line.is_default)))
        .u8s(lines.iter().map(|line| u8::from(line.is_admin)))
        .finish(&grant_columns())
}

pub(super) fn current_columns() -> Columns {
    block::declared("role_name String, with_admin_option UInt8, is_default UInt8")
}

pub(super) fn current_block(query: &Execution) -> Result<RecordBatch> {
    let roles = || query.access.current_roles.iter();
    BlockBuilder::default()
        .strings(roles())
        .u8s(roles().map(|role| is_admin(query, role)))
        .u8s(roles().map(|role| is_default(query, role)))
        .finish(&current_columns())
}

pub(super) fn enabled_columns() -> Columns {
    block::declared("role_name String, with_admin_option UInt8, is_current UInt8, is_default UInt8")
}

pub(super) fn enabled_block(query: &Execution) -> Result<RecordBatch> {
    let roles = || query.access.enabled_roles.iter();
    BlockBuilder::default()
        .strings(roles())
        .u8s(roles().map(|role| is_admin(query, role)))
        .u8s(roles().map(|role| u8::from(query.access.current_roles.contains(role))))
        .u8s(roles().map(|role| is_default(query, role)))
        .finish(&enabled_columns())
}

fn is_admin(query: &Execution, role: &str) -> u8 {
    u8::from(query.access.is_admin_of(role))
}

fn is_default(query: &Execution, role: &str) -> u8 {
    let entities = query.instance.access_control.entities();
    let is_default = |user: &basalt_access::User| {
        user.grants.roles.contains_key(role) && user.default_roles().contains(role)
    };
    u8::from(entities.users.get(&query.user).is_some_and(is_default))
}
