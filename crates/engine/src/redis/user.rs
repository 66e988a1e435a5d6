//! What a connection of Redis may reach, as the user that it is.

use std::net::IpAddr;
use std::sync::Arc;

use basalt_access::{Access, Path, PrivilegeSet};
use basalt_base::{Result, bail};
use basalt_redis::{Database, RowTable, SyncPolicy};
use basalt_sql::ast::ObjectName;
use futures::executor::block_on;
use parking_lot::Mutex;

use super::row_table::KeyedRows;
use crate::catalog::CatalogObject;
use crate::instance::Instance;
use crate::names::{DEFAULT, is_built_in};
use crate::request::Request;
use crate::session::Session;

/// The SQL database with a table for each database of Redis.
const DATABASE: &str = "redis";
/// The name of a table is this and the number.
const TABLE_PREFIX: &str = "db";
/// Rows that are looked at each second for expired keys.
const SWEPT_ROWS: usize = 20_000;
/// Whoever uses a database of Redis may do all of this.
const NEEDED: [&str; 3] = ["SELECT", "INSERT", "ALTER DELETE"];

/// A user of Redis' interface.
pub struct RedisUser {
    instance: Arc<Instance>,
    access: Arc<Access>,
    session: Mutex<Session>,
    policy: SyncPolicy,
}

impl RedisUser {
    pub(crate) fn log_in(
        instance: &Arc<Instance>,
        user: &str,
        address: IpAddr,
        policy: SyncPolicy,
    ) -> Result<RedisUser> {
        let mut session = Session::new(Arc::clone(instance));
        session.log_in(user, Some(address))?;
        let access = instance.access_control.access(user, None)?;
        Ok(RedisUser { instance: Arc::clone(instance), access, session: Mutex::new(session), policy })
    }

    /// Whether the user still has the rights that it had at its login.
    pub fn is_current(&self) -> bool {
        let access = self.instance.access_control.access(&self.access.user, None);
        access.is_ok_and(|access| Arc::ptr_eq(&access, &self.access) || *access == *self.access)
    }

    /// Database `number` of Redis; its table is made if it does not exist.
    pub fn database(&self, number: u32) -> Result<Arc<Database>> {
        let name = format!("{TABLE_PREFIX}{number}");
        for privilege in NEEDED {
            self.access.check(PrivilegeSet::of(privilege), &Path::of(&[DATABASE, &name]))?;
        }
        let table = match self.instance.catalog().find(DATABASE, &name) {
            Some(table) => table,
            None => {
                self.run(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}").as_bytes())?;
                self.run(create_table(&name).as_bytes())?;
                self.instance.catalog().get(DATABASE, &name)?
            }
        };
        let CatalogObject::Table(table) = table else {
            bail!(BadArguments, "`{DATABASE}.{name}` is not a table");
        };
        let definition = table.definition();
        let spec = basalt_redis::table::spec()?;
        let (Some(store), true) = (table.as_rows_store(), definition.stored() == spec.columns) else {
            bail!(
                BadArguments,
                "`{DATABASE}.{name}` is not a table for Redis: rename it, and the next command makes one"
            );
        };
        let open = || Database::new(store, self.policy);
        Ok(self.instance.redis_databases().of(number, definition.uuid, open))
    }

    /// The numbers of the databases whose tables exist.
    pub fn databases(&self) -> Vec<u32> {
        let objects = self.instance.catalog().all_objects();
        objects.iter().filter_map(|(database, name, _)| number_of(database, name)).collect()
    }

    /// Runs a statement as the user.
    pub(super) fn run(&self, statement: &[u8]) -> Result<()> {
        block_on(self.session.lock().execute(Request::new(statement))).map(drop)
    }
}

/// The number of the database of Redis that a table is.
fn number_of(database: &str, name: &str) -> Option<u32> {
    if database == DATABASE { name.strip_prefix(TABLE_PREFIX)?.parse().ok() } else { None }
}

/// What is done each second: expired keys are removed, logs are synced, and databases without tables are closed.
pub(crate) fn maintain(instance: &Instance, now_ms: u64) -> Result<()> {
    let databases = instance.redis_databases();
    databases.retain(|number, uuid| {
        let table = instance.catalog().find(DATABASE, &format!("{TABLE_PREFIX}{number}"));
        table.is_some_and(|table| table.uuid() == uuid)
    });
    for database in databases.all() {
        database.sweep(SWEPT_ROWS, now_ms)?;
        if database.policy() == SyncPolicy::EverySecond {
            database.sync_log()?;
        }
    }
    Ok(())
}

impl RedisUser {
    /// The table `name`, or `database.name`, if it finds rows by one key column and the user may read it.
    pub fn table(self: &Arc<Self>, name: &str) -> Option<Arc<dyn RowTable>> {
        let (database, name) = name.split_once('.').unwrap_or((DEFAULT, name));
        if is_built_in(database) || database == DATABASE {
            return None;
        }
        let Some(CatalogObject::Table(table)) = self.instance.catalog().find(database, name) else {
            return None;
        };
        let path = Path::of(&[database, name]);
        let entities = self.instance.access_control.entities();
        let has_policy = entities.row_filter_for(&self.access, database, name).is_some();
        if !self.access.has(PrivilegeSet::of("SELECT"), &path) || has_policy {
            return None;
        }
        let shown = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        KeyedRows::of(self, table, &shown).map(|rows| Arc::new(rows) as Arc<dyn RowTable>)
    }
}

fn create_table(name: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {DATABASE}.{name} (key String, \
         part Enum8('key' = 0, 'field' = 1, 'member' = 2, 'item' = 3, 'score' = 4), name String, \
         type Enum8('string' = 1, 'list' = 2, 'set' = 3, 'zset' = 4, 'hash' = 5), value String, \
         expires_at DateTime64(3, 'UTC'), score Float64, PRIMARY KEY (key, part, name)) ENGINE = EmbeddedRocksDB"
    )
}
