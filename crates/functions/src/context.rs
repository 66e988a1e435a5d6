//! What a function may know besides its arguments: the session and the query it runs in.

use std::sync::Arc;

use basalt_base::zone::Zone;
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
}
