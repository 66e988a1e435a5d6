//! Functions of the session, of randomness and of presentation.

mod bar;
mod random;
mod readable;
mod run_time;
mod session;

pub use session::host_name;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &bar::BAR,
    &random::RAND,
    &random::RAND64,
    &random::RAND_CONSTANT,
    &random::RAND_CANONICAL,
    &random::RAND_UNIFORM,
    &random::GENERATE_UUID_V4,
    &readable::FORMAT_READABLE_SIZE,
    &readable::FORMAT_READABLE_DECIMAL_SIZE,
    &readable::FORMAT_READABLE_QUANTITY,
    &readable::FORMAT_READABLE_TIME_DELTA,
    &run_time::SLEEP,
    &run_time::THROW_IF,
    &run_time::IGNORE,
    &run_time::IS_CONSTANT,
    &session::VERSION,
    &session::CURRENT_DATABASE,
    &session::CURRENT_USER,
    &session::HOST_NAME,
    &session::TIME_ZONE,
    &session::TCP_PORT,
    &session::UPTIME,
    &session::QUERY_ID,
    &session::GET_SETTING,
];
