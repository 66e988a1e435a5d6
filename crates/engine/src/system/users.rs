//! `system.users`: without what is stored of passwords.

use std::sync::Arc;

use arrow::array::{Int8Array, Int64Array};
use arrow::record_batch::RecordBatch;
use basalt_access::User;
use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast::{Authentication, PasswordKind, UserHost};

use super::access::{entity_uuid, storage};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;

const METHODS: &str = "'no_password' = 0, 'plaintext_password' = 1, 'sha256_password' = 2, \
    'double_sha1_password' = 3, 'ldap' = 4, 'kerberos' = 5, 'ssl_certificate' = 6, 'bcrypt_password' = 7, \
    'ssh_key' = 8, 'http' = 9, 'jwt' = 10, 'scram_sha256_password' = 11, 'no_authentication' = 12";

pub(super) fn columns() -> Columns {
    block::declared(&format!(
        "name String, id UUID, storage String, auth_type Array(Enum8({METHODS})), auth_params Array(String), \
         valid_until Array(DateTime64(0)), auth_grants Array(String), host_ip Array(String), \
         host_names Array(String), host_names_regexp Array(String), host_names_like Array(String), \
         default_roles_all UInt8, default_roles_list Array(String), default_roles_except Array(String), \
         grantees_any UInt8, grantees_list Array(String), grantees_except Array(String), default_database String"
    ))
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let users = || entities.users.values();
    let all = columns();
    let methods: Vec<Vec<i8>> =
        users().map(|user| user.authentication().iter().map(number).collect()).collect();
    let lengths = || methods.iter().map(Vec::len);
    let until = users().flat_map(|user| {
        std::iter::repeat_n(user.valid_until().unwrap_or_default(), user.authentication().len())
    });
    let texts = |text: &'static str| methods.iter().map(move |methods| vec![text; methods.len()]);
    BlockBuilder::default()
        .strings(users().map(User::name))
        .uuids(users().map(|user| entity_uuid("user", user.name())))
        .strings(users().map(|user| storage(user.is_configured)))
        .lists(
            &element(&all, 3),
            lengths(),
            Arc::new(methods.iter().flatten().copied().collect::<Int8Array>()),
        )
        .string_lists(texts("{}"))
        .lists(&element(&all, 5), lengths(), Arc::new(Int64Array::from_iter_values(until)))
        .string_lists(texts(""))
        .string_lists(users().map(networks))
        .string_lists(users().map(host_names))
        .skip(2)
        .u8s(users().map(|user| u8::from(user.default_roles().all)))
        .string_lists(users().map(|user| user.default_roles().names))
        .string_lists(users().map(|user| user.default_roles().except))
        .u8s(users().map(|user| u8::from(user.grantees().all)))
        .string_lists(users().map(|user| user.grantees().names))
        .string_lists(users().map(|user| user.grantees().except))
        .strings(users().map(|user| user.definition.default_database.clone().unwrap_or_default()))
        .finish(&all)
}

fn element(columns: &Columns, at: usize) -> SqlType {
    match &columns[at].ty {
        SqlType::Array(element) => element.as_ref().clone(),
        other => other.clone(),
    }
}

fn number(method: &Authentication) -> i8 {
    match method {
        Authentication::NoPassword => 0,
        Authentication::Password(PasswordKind::Plaintext, _) => 1,
        Authentication::Password(PasswordKind::Sha256, _) => 2,
        Authentication::Password(PasswordKind::DoubleSha1, _) => 3,
        Authentication::Certificate(..) => 6,
        Authentication::Password(PasswordKind::Bcrypt, _) => 7,
        Authentication::Password(PasswordKind::ScramSha256, _) => 11,
    }
}

fn networks(user: &User) -> Vec<String> {
    let network = |host: &UserHost| match host {
        UserHost::Any => Some("::/0".to_owned()),
        UserHost::Local => None,
        UserHost::Ip(network) => Some(network.clone()),
    };
    user.hosts().iter().filter_map(network).collect()
}

fn host_names(user: &User) -> Vec<&'static str> {
    user.hosts().iter().filter(|host| **host == UserHost::Local).map(|_| "localhost").collect()
}
