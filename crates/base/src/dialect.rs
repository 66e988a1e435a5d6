//! The version of ClickHouse whose dialect Basalt speaks: drivers compare it with what they need.

/// The result of `version()`.
pub const DIALECT_VERSION: &str = "26.9.2.1";

/// The revision of the native protocol, and the result of `revision()`.
pub const DIALECT_REVISION: u32 = 54_468;
