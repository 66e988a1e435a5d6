//! The context of a function call: the session and the query.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::dialect::DIALECT_VERSION;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_dict::Dictionaries;

/// The context of function calls, the same for a whole query.
#[derive(Clone)]
pub struct FunctionContext {
    /// The zone of `DateTime` values without a zone of their own.
    pub zone: Zone,
    /// Microseconds since 1970 at the start of the query: `now()` is one instant.
    pub now_us: u64,
    pub current_database: String,
    pub current_user: String,
    pub roles: UserRoles,
    pub query_id: String,
    pub server: ServerContext,
    pub dictionaries: Arc<dyn Dictionaries>,
    pub settings: Arc<dyn SettingValues>,
    pub relations: Arc<dyn Relations>,
}

/// The roles of the user, by name.
#[derive(Clone, Debug, Default)]
pub struct UserRoles {
    pub current: Vec<String>,
    /// The current ones and all that were granted to them.
    pub enabled: Vec<String>,
    /// Those that a new session has.
    pub default: Vec<String>,
}

/// The objects of the database by the numbers that Postgres' catalog has for them.
pub trait Relations: Send + Sync {
    /// The number of an object. Without a schema, `name` is searched in `pg_catalog` and the current database.
    fn oid_of(&self, kind: ObjectKind, name: &str) -> Option<u32>;

    /// The name of an object, with its schema where the name alone does not find it.
    fn name_of(&self, kind: ObjectKind, oid: u32) -> Option<String>;

    /// Whether the name of a table alone finds it.
    fn is_visible(&self, oid: u32) -> bool;

    /// A text about an object; `position` is that of a column, or 0.
    fn text_of(&self, text: ObjectText, oid: u32, position: i64) -> Option<String>;

    /// The bytes that a table takes on disk.
    fn bytes_of(&self, oid: u32) -> Option<u64>;

    /// The value of a variable of the session, such as `search_path`.
    fn variable(&self, name: &str) -> Option<String>;

    /// The databases that names without one are searched in.
    fn search_path(&self) -> Vec<String>;

    /// Whether a user has one of `privileges`, a list with commas; without a user, the current one. `None` if no object
    /// has the number; an error for a name that is not known.
    fn has_privilege(
        &self,
        user: Option<&ObjectRef>,
        target: &PrivilegeTarget,
        privileges: &str,
    ) -> Result<Option<bool>>;
}

/// An object by its name, or by its number in Postgres' catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectRef {
    Named(String),
    Numbered(i64),
}

/// What a privilege is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivilegeTarget {
    Table(ObjectRef),
    /// A table and its column.
    Column(ObjectRef, ObjectRef),
    AnyColumn(ObjectRef),
    Database(ObjectRef),
    Schema(ObjectRef),
    /// Membership in a role.
    Role(ObjectRef),
}

/// The kind of an object that has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Relation,
    Type,
    Namespace,
    Role,
}

/// A text about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectText {
    Comment,
    Constraint,
    Index,
    View,
}

/// No objects.
pub struct NoRelations;

impl Relations for NoRelations {
    fn oid_of(&self, _kind: ObjectKind, _name: &str) -> Option<u32> {
        None
    }

    fn name_of(&self, _kind: ObjectKind, _oid: u32) -> Option<String> {
        None
    }

    fn is_visible(&self, _oid: u32) -> bool {
        true
    }

    fn text_of(&self, _text: ObjectText, _oid: u32, _position: i64) -> Option<String> {
        None
    }

    fn bytes_of(&self, _oid: u32) -> Option<u64> {
        None
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn search_path(&self) -> Vec<String> {
        Vec::new()
    }

    fn has_privilege(
        &self,
        _user: Option<&ObjectRef>,
        _target: &PrivilegeTarget,
        _privileges: &str,
    ) -> Result<Option<bool>> {
        Ok(Some(true))
    }
}

/// The facts about the server that functions return.
#[derive(Clone)]
pub struct ServerContext {
    /// The result of `version()`: that of the dialect.
    pub dialect_version: String,
    /// The version of Basalt.
    pub version: String,
    /// The result of `serverUUID()`.
    pub uuid: [u8; 16],
    /// The zone of sessions that have not chosen one.
    pub zone: Zone,
    /// Seconds since the process opened the database: `uptime()`.
    pub uptime_seconds: u32,
}

impl Default for ServerContext {
    fn default() -> ServerContext {
        ServerContext {
            dialect_version: DIALECT_VERSION.to_owned(),
            version: String::new(),
            uuid: [0; 16],
            zone: Zone::utc(),
            uptime_seconds: 0,
        }
    }
}

/// The settings of the query, for `getSetting` and for functions that depend on one.
pub trait SettingValues: Send + Sync {
    /// The value of a setting, as an array of one row; UNKNOWN_SETTING if there is no such setting.
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)>;

    /// The maximum number of threads of a function: `max_threads`.
    fn threads_max(&self) -> usize {
        1
    }

    /// Whether a decimal result out of range is an error.
    fn decimal_check_overflow(&self) -> bool {
        true
    }

    /// Whether `CAST` of a Nullable value gives a Nullable one.
    fn cast_keep_nullable(&self) -> bool {
        false
    }

    /// Fails for a suspicious type that the settings do not allow.
    fn check_type(&self, ty: &SqlType) -> Result<()> {
        let _ = ty;
        Ok(())
    }
}

/// The settings outside of a query: none.
pub struct NoSettings;

impl SettingValues for NoSettings {
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)> {
        Err(Error::new(ErrorCode::UnknownSetting, format!("setting `{name}` is not known here")))
    }
}
