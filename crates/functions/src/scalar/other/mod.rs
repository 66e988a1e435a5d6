//! Functions of the server, of the session, of randomness and of presentation.

mod bar;
mod random;
mod random_string;
mod readable;
mod run_time;
mod server;
mod session;

pub use server::host_name;

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
    &random_string::RANDOM_STRING,
    &random_string::RANDOM_PRINTABLE,
    &random_string::RANDOM_UTF8,
    &random_string::RANDOM_FIXED,
    &run_time::SLEEP_EACH_ROW,
    &server::VERSION,
    &server::BASALT_VERSION,
    &server::BUILD_ID,
    &server::REVISION,
    &server::HOST_NAME,
    &server::FULL_HOST_NAME,
    &server::DISPLAY_NAME,
    &server::SERVER_UUID,
    &server::SERVER_TIME_ZONE,
    &server::KERNEL_VERSION,
    &server::TCP_PORT,
    &server::UPTIME,
    &server::GET_MACRO,
    &session::CURRENT_DATABASE,
    &session::CURRENT_USER,
    &session::AUTHENTICATED_USER,
    &session::TIME_ZONE,
    &session::QUERY_ID,
    &session::CURRENT_QUERY_ID,
    &session::INITIAL_QUERY_ID,
    &session::INITIAL_QUERY_START,
    &session::CURRENT_PROFILES,
    &session::CURRENT_ROLES,
    &session::DEFAULT_ROLES,
    &session::ENABLED_ROLES,
    &session::ENABLED_PROFILES,
    &session::DEFAULT_PROFILES,
    &session::CURRENT_SCHEMAS,
    &session::CONNECTION_ID,
    &session::GET_SETTING,
    &session::GET_SETTING_OR_DEFAULT,
];
