//! Revisions of the protocol. Each side says its own; both use what the lower one has.
//!
//! The numbers and names are those of ClickHouse's `ProtocolDefines.h`.

/// The revision of our side: up to the features that every common client knows.
pub const REVISION: u64 = 54_468;

/// The oldest client: before it, the values of settings have a binary form of each type.
pub const OLDEST_REVISION: u64 = 54_429;

/// The forwarded address of an HTTP client.
pub(super) const FORWARDED_FOR: u64 = 54_443;
/// The secret between servers, in a query.
pub(super) const INTERSERVER_SECRET: u64 = 54_441;
/// The trace of a query.
pub(super) const OPENTELEMETRY: u64 = 54_442;
/// The referer of an HTTP client.
pub(super) const REFERER: u64 = 54_447;
/// How many servers a query has passed.
pub(super) const DISTRIBUTED_DEPTH: u64 = 54_448;
/// When the first of them received it.
pub(super) const INITIAL_QUERY_START_TIME: u64 = 54_449;
/// Counters of a query.
pub(super) const PROFILE_EVENTS: u64 = 54_451;
/// Counters after each block of an INSERT.
pub(super) const PROFILE_EVENTS_IN_INSERT: u64 = 54_456;
/// Replicas that read a table together.
pub(super) const PARALLEL_REPLICAS: u64 = 54_453;
/// The quota key of a client, after its hello.
pub const ADDENDUM: u64 = 54_458;
/// Values of query parameters.
pub(super) const PARAMETERS: u64 = 54_459;
/// The time in progress packets.
pub(super) const SERVER_QUERY_TIME_IN_PROGRESS: u64 = 54_460;
/// Rules of passwords in the server's hello.
pub(super) const PASSWORD_RULES: u64 = 54_461;
/// A random number in the server's hello.
pub(super) const INTERSERVER_SECRET_V2: u64 = 54_462;
/// All bytes to read, in progress packets.
pub(super) const TOTAL_BYTES_IN_PROGRESS: u64 = 54_463;

/// The revision of a connection.
pub const fn negotiated(theirs: u64) -> u64 {
    if theirs < REVISION { theirs } else { REVISION }
}
