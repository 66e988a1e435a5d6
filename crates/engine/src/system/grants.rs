//! `system.grants` and `system.privileges`.

use std::sync::Arc;

use arrow::array::{Int8Array, Int16Array};
use arrow::record_batch::RecordBatch;
use basalt_access::privilege::{Level, privileges};
use basalt_base::{Column, Columns, Result};
use basalt_sql::ast::{AccessStatement, GrantTarget, Granted};

use super::access::{privilege_number, privilege_type};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;

const LEVELS: &str = "'GLOBAL' = 0, 'DATABASE' = 1, 'TABLE' = 2, 'DICTIONARY' = 3, 'VIEW' = 4, 'COLUMN' = 5, \
    'NAMED_COLLECTION' = 6, 'USER_NAME' = 7, 'TABLE_ENGINE' = 8, 'DEFINER' = 9, 'SOURCE' = 10";

pub(super) fn columns() -> Columns {
    let before = block::declared("user_name Nullable(String), role_name Nullable(String)");
    let after = block::declared(
        "access_object String, database Nullable(String), table Nullable(String), column Nullable(String), \
         is_partial_revoke UInt8, grant_option UInt8, is_wildcard UInt8",
    );
    let access_type = Column::new("access_type", privilege_type());
    before.iter().cloned().chain([access_type]).chain(after.iter().cloned()).collect()
}

struct Line {
    user: Option<String>,
    role: Option<String>,
    privilege: i16,
    target: GrantTarget,
    column: Option<String>,
    is_revoke: bool,
    has_option: bool,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let mut lines = Vec::new();
    for name in entities.users.keys().chain(entities.roles.keys()) {
        let is_user = entities.users.contains_key(name);
        for statement in entities.grant_statements(name) {
            add_lines(name, is_user, &statement, &mut lines);
        }
    }
    let name = |pattern: Option<&basalt_sql::ast::NamePattern>| pattern.map(|pattern| pattern.name.clone());
    let is_wildcard = |target: &GrantTarget| {
        let patterns = target.database.iter().chain(&target.table);
        u8::from(patterns.into_iter().any(|pattern| pattern.is_prefix))
    };
    BlockBuilder::default()
        .maybe_strings(lines.iter().map(|line| line.user.as_ref()))
        .maybe_strings(lines.iter().map(|line| line.role.as_ref()))
        .push(Arc::new(lines.iter().map(|line| line.privilege).collect::<Int16Array>()))
        .skip(1)
        .maybe_strings(lines.iter().map(|line| name(line.target.database.as_ref())))
        .maybe_strings(lines.iter().map(|line| name(line.target.table.as_ref())))
        .maybe_strings(lines.iter().map(|line| line.column.as_ref()))
        .u8s(lines.iter().map(|line| u8::from(line.is_revoke)))
        .u8s(lines.iter().map(|line| u8::from(line.has_option)))
        .u8s(lines.iter().map(|line| is_wildcard(&line.target)))
        .finish(&columns())
}

fn add_lines(name: &str, is_user: bool, statement: &AccessStatement, lines: &mut Vec<Line>) {
    let (what, is_revoke, has_option) = match statement {
        AccessStatement::Grant(grant) => (&grant.what, false, grant.with_option),
        AccessStatement::Revoke(revoke) => (&revoke.what, true, revoke.option_only),
        _ => return,
    };
    let Granted::Privileges(list) = what else { return };
    for on in list {
        for (privilege, columns) in &on.privileges {
            let line = |column: Option<&String>| Line {
                user: is_user.then(|| name.to_owned()),
                role: (!is_user).then(|| name.to_owned()),
                privilege: privilege_number(privilege),
                target: on.target.clone(),
                column: column.cloned(),
                is_revoke,
                has_option,
            };
            match columns.is_empty() {
                true => lines.push(line(None)),
                false => lines.extend(columns.iter().map(|column| line(Some(column)))),
            }
        }
    }
}

pub(super) fn privilege_columns() -> Columns {
    let between = block::declared(&format!("aliases Array(String), level Nullable(Enum8({LEVELS}))"));
    let first = Column::new("privilege", privilege_type());
    let last = Column::new("parent_group", privilege_type().into_nullable());
    [first].into_iter().chain(between.iter().cloned()).chain([last]).collect()
}

pub(super) fn privilege_block(_query: &Execution) -> Result<RecordBatch> {
    let all = || privileges().iter();
    let numbers = all().zip(0..).map(|(_, number)| number);
    BlockBuilder::default()
        .push(Arc::new(numbers.collect::<Int16Array>()))
        .string_lists(all().map(|privilege| privilege.aliases.clone()))
        .push(Arc::new(all().map(|privilege| privilege.level.map(level_number)).collect::<Int8Array>()))
        .push(Arc::new(all().map(|privilege| privilege.parent.map(privilege_number)).collect::<Int16Array>()))
        .finish(&privilege_columns())
}

fn level_number(level: Level) -> i8 {
    match level {
        Level::Global => 0,
        Level::Database => 1,
        Level::Table => 2,
        Level::Dictionary => 3,
        Level::View => 4,
        Level::Column => 5,
        Level::NamedCollection => 6,
        Level::UserName => 7,
        Level::TableEngine => 8,
        Level::Definer => 9,
        Level::Source => 10,
    }
}
