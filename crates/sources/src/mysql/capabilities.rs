//! The capability flags of the protocol.

pub(super) const LONG_PASSWORD: u32 = 1;
pub(super) const CONNECT_WITH_DB: u32 = 8;
pub(super) const COMPRESSION: u32 = 32;
pub(super) const PROTOCOL_41: u32 = 512;
pub(super) const TLS: u32 = 2048;
pub(super) const TRANSACTIONS: u32 = 8192;
pub(super) const SECURE_CONNECTION: u32 = 32768;
pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
