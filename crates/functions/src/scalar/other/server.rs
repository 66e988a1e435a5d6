//! `version`, `revision`, `basaltVersion`, `hostName`, `FQDN`, `displayName`, `serverUUID`, `serverTimezone`, `buildId`,
//! `uptime`, `tcpPort`, `getMacro`, `getOSKernelVersion`: the server.
//!
//! Syntax: `version()`, without arguments; `getMacro(name)`. `version` and `revision` are those of the dialect.

use std::sync::Arc;

use arrow::array::{FixedSizeBinaryArray, UInt16Array, UInt32Array};
use basalt_base::dialect::DIALECT_REVISION;
use basalt_base::{Error, ErrorCode, SqlType};

use super::session::{text, text_of_context};
use crate::FunctionContext;
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, Operand, Volatility};

/// The default port of ClickHouse's native protocol.
const NATIVE_PORT: u16 = 9000;

text_of_context! {
    VERSION "version" [] |context: &FunctionContext| context.server.dialect_version.clone();
    BASALT_VERSION "basaltVersion" [] |context: &FunctionContext| context.server.version.clone();
    BUILD_ID "buildId" [] |context: &FunctionContext| context.server.version.clone();
    HOST_NAME "hostName" [] |_: &FunctionContext| host_name();
    FULL_HOST_NAME "FQDN" ["fullHostName"] |_: &FunctionContext| host_name();
    DISPLAY_NAME "displayName" [] |_: &FunctionContext| host_name();
    SERVER_TIME_ZONE "serverTimezone" ["serverTimeZone"] |context: &FunctionContext| context.server.zone.name().to_owned();
    KERNEL_VERSION "getOSKernelVersion" [] |_: &FunctionContext| kernel_version();
}

pub(super) static REVISION: Definition = Definition::new("revision", Arity::Exactly(0), |_| {
    Ok(Bound::of(SqlType::UInt32, |_: &[Operand], rows| {
        Ok(Arc::new(UInt32Array::from_value(DIALECT_REVISION, rows)))
    }))
})
.case_insensitive()
.volatility(Volatility::Stable);

pub(super) static SERVER_UUID: Definition = Definition::new("serverUUID", Arity::Exactly(0), |call| {
    let uuid = call.context.server.uuid;
    Ok(Bound::of(SqlType::Uuid, move |_: &[Operand], rows| {
        let array = FixedSizeBinaryArray::try_new(16, uuid.repeat(rows).into(), None);
        Ok(Arc::new(array.map_err(Error::logical)?))
    }))
})
.volatility(Volatility::Stable);

pub(super) static UPTIME: Definition = Definition::new("uptime", Arity::Exactly(0), |call| {
    let seconds = call.context.server.uptime_seconds;
    Ok(Bound::of(SqlType::UInt32, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt32Array::from_value(seconds, rows)))
    }))
})
.case_insensitive()
.volatility(Volatility::Stable);

/// The sources of dictionaries use the port of the native protocol to refer to this database.
pub(super) static TCP_PORT: Definition = Definition::new("tcpPort", Arity::Exactly(0), |_| {
    Ok(Bound::of(SqlType::UInt16, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt16Array::from_value(NATIVE_PORT, rows)))
    }))
})
.volatility(Volatility::Stable);

/// No macro can be configured.
pub(super) static GET_MACRO: Definition = Definition::new("getMacro", Arity::Exactly(1), |call| {
    let name = call.expect_text(0)?;
    Err(Error::new(ErrorCode::NoElementsInConfig, format!("there is no macro `{name}`")))
})
.volatility(Volatility::Stable);

/// The host name that the kernel reports.
pub fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

fn kernel_version() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
