//! What a function may know besides its arguments: the session and the query it runs in.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_dict::Dictionaries;

/// The surroundings of a function call; the same for a whole query.
#[derive(Clone)]
pub struct FunctionContext {
    /// The zone of `DateTime` values that name none.
    pub zone: Zone,
    /// Microseconds since 1970 at the start of the query: `now()` is one instant.
    pub now_us: u64,
    pub current_database: String,
    pub current_user: String,
    pub query_id: String,
    /// What `version()` answers.
    pub version: String,
    /// Seconds since the process opened the database: `uptime()`.
    pub uptime_seconds: u32,
    pub dictionaries: Arc<dyn Dictionaries>,
    pub settings: Arc<dyn SettingValues>,
}

/// The settings of the query, for `getSetting` and for functions that depend on one.
pub trait SettingValues: Send + Sync {
    /// The value of a setting, as an array of one row; UNKNOWN_SETTING if there is none of that name.
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)>;

    /// How many threads a function may take: `max_threads`.
    fn threads_max(&self) -> usize {
        1
    }

    /// Whether a result of decimals that does not fit its type is an error.
    fn decimal_check_overflow(&self) -> bool {
        true
    }

    /// Fails if the type is seldom meant, and the settings do not let it pass.
    fn check_type(&self, ty: &SqlType) -> Result<()> {
        let _ = ty;
        Ok(())
    }
}

/// Where there is no query, there are no settings.
pub struct NoSettings;

impl SettingValues for NoSettings {
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)> {
        Err(Error::new(ErrorCode::UnknownSetting, format!("setting `{name}` is not known here")))
    }
}
