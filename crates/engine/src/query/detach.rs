//! DETACH and ATTACH: an object leaves the catalog with its name, its metadata and its data in their places, and
//! comes back.

use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{DetachObject, ObjectKind, ObjectName};

use super::detach_database;
use super::resolve::check_kind;
use crate::catalog::{CatalogObject, DetachedObject};
use crate::execution::Execution;
use crate::names::{ObjectKey, is_built_in};

/// How long ATTACH waits for queries that began before DETACH.
const USERS_MAX_WAIT: Duration = Duration::from_secs(10);
/// How often it looks whether the last of them has ended.
const USERS_INTERVAL: Duration = Duration::from_millis(5);

/// `DETACH TABLE|VIEW|DICTIONARY name [PERMANENTLY] [SYNC]`.
pub(super) fn detach(query: &Execution, detach: &DetachObject) -> Result<()> {
    if detach.kind == ObjectKind::Database {
        return detach_database::detach(query, detach);
    }
    let key = query.key_of(&detach.name);
    refuse_system("detached", &key)?;
    let catalog = query.instance.catalog();
    {
        let _ddl = catalog.ddl();
        let Some(object) = catalog.find(&key.database, &key.name) else {
            if detach.if_exists {
                return Ok(());
            }
            return catalog.get(&key.database, &key.name).map(|_| ());
        };
        check_kind(&object, detach.kind, &key, "DETACH")?;
        // Every reference to the object keeps its files open.
        drop(object);
        query.instance.background().cancel_table(&key);
        catalog.detach(&key, detach.permanently)?;
    }
    let is_used = || query.instance.catalog().detached(&key).is_some_and(|detached| detached.is_used());
    wait_while(query, || detach.sync && is_used())
}

/// `ATTACH TABLE|VIEW|DICTIONARY [IF NOT EXISTS] name`. Queries that began before DETACH may take a while to end.
pub(super) fn attach(
    query: &Execution,
    kind: ObjectKind,
    name: &ObjectName,
    if_not_exists: bool,
) -> Result<()> {
    if kind == ObjectKind::Database {
        return detach_database::attach(query, &name.name, if_not_exists);
    }
    let key = query.key_of(name);
    refuse_system("attached", &key)?;
    until_free(query, || attach_now(query, kind, &key, if_not_exists))
}

/// Calls `attach` until it returns no error that the object is still in use, for at most [`USERS_MAX_WAIT`].
pub(super) fn until_free(query: &Execution, attach: impl Fn() -> Result<Option<Error>>) -> Result<()> {
    let started = Instant::now();
    loop {
        match attach()? {
            None => return Ok(()),
            Some(in_use) if started.elapsed() >= USERS_MAX_WAIT => return Err(in_use),
            Some(_) => {
                query.check()?;
                std::thread::sleep(USERS_INTERVAL);
            }
        }
    }
}

/// Attaches the object, or returns the error that a query still uses it, after which the caller may try again.
fn attach_now(
    query: &Execution,
    kind: ObjectKind,
    key: &ObjectKey,
    if_not_exists: bool,
) -> Result<Option<Error>> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    catalog.require_database(&key.database)?;
    let (database, name) = (&key.database, &key.name);
    match catalog.find(database, name) {
        Some(_) if if_not_exists => return Ok(None),
        Some(CatalogObject::Dictionary(_)) => {
            bail!(DictionaryAlreadyExists, "dictionary `{database}.{name}` already exists")
        }
        Some(object) => bail!(TableAlreadyExists, "{} `{database}.{name}` already exists", object.kind()),
        None => {}
    }
    let Some(detached) = catalog.detached(key) else {
        bail!(
            CannotGetCreateTableQuery,
            "there is no metadata of `{database}.{name}`: nothing was detached under that name"
        );
    };
    check_attached_kind(&detached, kind, key)?;
    if detached.is_used() {
        return Ok(Some(still_used(&format!("{database}.{name}"))));
    }
    locked_as_used(catalog.attach(key, query.instance.opener()))
}

/// The error that a query still uses what was detached.
pub(super) fn still_used(name: &str) -> Error {
    let message = "was detached, but a query still uses it; try again when it has ended";
    Error::new(ErrorCode::TableAlreadyExists, format!("`{name}` {message}"))
}

/// Returns a failure to open files as a reason to try again: a scan may hold them longer than the table, and closing
/// them takes a moment.
pub(super) fn locked_as_used(attached: Result<()>) -> Result<Option<Error>> {
    match attached {
        Err(error) if error.code() == ErrorCode::CannotOpenFile => Ok(Some(error)),
        attached => attached.map(|()| None),
    }
}

fn check_attached_kind(detached: &DetachedObject, kind: ObjectKind, key: &ObjectKey) -> Result<()> {
    let known = detached.kind()?;
    if (known == ObjectKind::Dictionary) == (kind == ObjectKind::Dictionary) {
        return Ok(());
    }
    let (database, name, word) = (&key.database, &key.name, known.to_string().to_lowercase());
    bail!(IncorrectQuery, "`{database}.{name}` is a {word}; use ATTACH {known}")
}

/// Waits while `is_used` is true: a query works on the detached object.
pub(super) fn wait_while(query: &Execution, is_used: impl Fn() -> bool) -> Result<()> {
    while is_used() {
        query.check()?;
        std::thread::sleep(USERS_INTERVAL);
    }
    Ok(())
}

fn refuse_system(what: &str, key: &ObjectKey) -> Result<()> {
    match is_built_in(&key.database) {
        true => bail!(ReadOnly, "tables of the database `{}` cannot be {what}", key.database),
        false => Ok(()),
    }
}
