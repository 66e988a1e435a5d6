//! `version`, `currentDatabase`, `currentUser`, `hostName`, `timezone`, `uptime`, `queryID`, `tcpPort`, `getSetting`:
//! the context of a query.
//!
//! Syntax: `version()`, without arguments; `getSetting(name)`. The value is the same for the whole query.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, UInt16Array, UInt32Array};
use basalt_base::SqlType;

use crate::FunctionContext;
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, Operand, Volatility};

/// The default port of ClickHouse's native protocol.
const NATIVE_PORT: u16 = 9000;

/// Declares functions that return a text of the context.
macro_rules! text_of_context {
    ($($static:ident $name:literal [$($alias:literal),*] $f:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Exactly(0), |call| Ok(text($f(call.context))))
                .aliases(&[$($alias),*])
                .case_insensitive()
                .volatility(Volatility::Stable);
    )+ };
}

text_of_context! {
    VERSION "version" [] |context: &FunctionContext| context.version.clone();
    CURRENT_DATABASE "currentDatabase" ["DATABASE", "SCHEMA", "current_database"]
        |context: &FunctionContext| context.current_database.clone();
    CURRENT_USER "currentUser" ["user", "current_user"] |context: &FunctionContext| context.current_user.clone();
    TIME_ZONE "timezone" [] |context: &FunctionContext| context.zone.name().to_owned();
    QUERY_ID "queryID" ["query_id"] |context: &FunctionContext| context.query_id.clone();
    HOST_NAME "hostName" [] |_: &FunctionContext| host_name();
}

pub(super) static UPTIME: Definition = Definition::new("uptime", Arity::Exactly(0), |call| {
    let seconds = call.context.uptime_seconds;
    Ok(Bound::of(SqlType::UInt32, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt32Array::from_value(seconds, rows)))
    }))
})
.case_insensitive()
.volatility(Volatility::Stable);

/// No server listens to ClickHouse's native protocol; the sources of dictionaries use its port to refer to this
/// database.
pub(super) static TCP_PORT: Definition = Definition::new("tcpPort", Arity::Exactly(0), |_| {
    Ok(Bound::of(SqlType::UInt16, move |_: &[Operand], rows| {
        Ok(Arc::new(UInt16Array::from_value(NATIVE_PORT, rows)))
    }))
})
.volatility(Volatility::Stable);

pub(super) static GET_SETTING: Definition = Definition::new("getSetting", Arity::Exactly(1), |call| {
    let (ty, array) = call.context.settings.value(call.expect_text(0)?)?;
    Ok(Bound::new(ty, move |_: &[Operand], rows: usize| {
        Operand { array: ArrayRef::clone(&array), constant: true }.full(rows)
    }))
})
.volatility(Volatility::Stable);

fn text(value: String) -> Bound {
    Bound::of(SqlType::String, move |_: &[Operand], rows| {
        Ok(Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(&value, rows))))
    })
}

/// The host name that the kernel reports.
pub fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}
