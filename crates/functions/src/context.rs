//! The context of a function call: the session and the query.

use std::sync::Arc;

use arrow::array::ArrayRef;
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
    pub query_id: String,
    /// The result of `version()`.
    pub version: String,
    /// Seconds since the process opened the database: `uptime()`.
    pub uptime_seconds: u32,
    pub dictionaries: Arc<dyn Dictionaries>,
    pub settings: Arc<dyn SettingValues>,
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
