//! `currentDatabase`, `currentUser`, `currentProfiles`, `currentRoles`, `timezone`, `queryID`, `connectionId`,
//! `getSetting`: the session and the query.
//!
//! Syntax: `currentUser()`, without arguments; `getSetting(name)`, `getSettingOrDefault(name, value)`. The value is the
//! same for the whole query.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, ListArray, UInt32Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use basalt_base::{ErrorCode, SqlType};

use crate::FunctionContext;
use crate::scalar::definition::Definition;
use crate::scalar::{Arity, Bound, Operand, Volatility};

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

pub(super) use text_of_context;

text_of_context! {
    CURRENT_DATABASE "currentDatabase" ["DATABASE", "SCHEMA", "current_database"]
        |context: &FunctionContext| context.current_database.clone();
    CURRENT_USER "currentUser" ["user", "current_user", "session_user"]
        |context: &FunctionContext| context.current_user.clone();
    AUTHENTICATED_USER "authenticatedUser" ["authUser"] |context: &FunctionContext| context.current_user.clone();
    TIME_ZONE "timezone" [] |context: &FunctionContext| context.zone.name().to_owned();
    QUERY_ID "queryID" ["query_id"] |context: &FunctionContext| context.query_id.clone();
    CURRENT_QUERY_ID "currentQueryID" ["current_query_id"] |context: &FunctionContext| context.query_id.clone();
    INITIAL_QUERY_ID "initialQueryID" ["initial_query_id"]
        |context: &FunctionContext| context.query_id.clone();
}

/// Declares functions that return a list of texts of the context.
macro_rules! texts_of_context {
    ($($static:ident $name:literal [$($alias:literal),*] $f:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Between(0, 1), |call| Ok(texts($f(call.context))))
                .aliases(&[$($alias),*])
                .volatility(Volatility::Stable);
    )+ };
}

texts_of_context! {
    CURRENT_PROFILES "currentProfiles" [] |_: &FunctionContext| vec!["default".to_owned()];
    ENABLED_PROFILES "enabledProfiles" [] |_: &FunctionContext| vec!["default".to_owned()];
    DEFAULT_PROFILES "defaultProfiles" [] |_: &FunctionContext| vec!["default".to_owned()];
    CURRENT_ROLES "currentRoles" [] |context: &FunctionContext| context.roles.current.clone();
    ENABLED_ROLES "enabledRoles" [] |context: &FunctionContext| context.roles.enabled.clone();
    DEFAULT_ROLES "defaultRoles" [] |context: &FunctionContext| context.roles.default.clone();
    CURRENT_SCHEMAS "currentSchemas" []
        |context: &FunctionContext| vec![context.current_database.clone()];
}

pub(super) static INITIAL_QUERY_START: Definition =
    Definition::new("initialQueryStartTime", Arity::Exactly(0), |call| {
        let seconds = u32::try_from(call.context.now_us / 1_000_000).unwrap_or(u32::MAX);
        Ok(Bound::of(SqlType::DateTime(None), move |_: &[Operand], rows| {
            Ok(Arc::new(UInt32Array::from_value(seconds, rows)))
        }))
    })
    .aliases(&["initial_query_start_time"])
    .case_insensitive()
    .volatility(Volatility::Stable);

/// Only the protocol of MySQL numbers its connections, for which 0 stands elsewhere.
pub(super) static CONNECTION_ID: Definition = Definition::new("connectionId", Arity::Exactly(0), |_| {
    Ok(Bound::of(SqlType::UInt64, |_: &[Operand], rows| Ok(Arc::new(UInt64Array::from_value(0, rows)))))
})
.aliases(&["connection_id"])
.case_insensitive()
.volatility(Volatility::Stable);

pub(super) static GET_SETTING: Definition = Definition::new("getSetting", Arity::Exactly(1), |call| {
    let (ty, array) = call.context.settings.value(call.expect_text(0)?)?;
    Ok(constant(ty, array))
})
.volatility(Volatility::Stable);

pub(super) static GET_SETTING_OR_DEFAULT: Definition =
    Definition::new("getSettingOrDefault", Arity::Exactly(2), |call| {
        match call.context.settings.value(call.expect_text(0)?) {
            Ok((ty, array)) => Ok(constant(ty, array)),
            Err(error) if error.code() == ErrorCode::UnknownSetting => {
                Ok(Bound::new(call.args[1].ty.clone(), |args: &[Operand], rows: usize| args[1].full(rows)))
            }
            Err(error) => Err(error),
        }
    })
    .sees_null()
    .volatility(Volatility::Stable);

fn constant(ty: SqlType, array: ArrayRef) -> Bound {
    Bound::new(ty, move |_: &[Operand], rows: usize| {
        Operand { array: ArrayRef::clone(&array), constant: true }.full(rows)
    })
}

pub(super) fn text(value: String) -> Bound {
    Bound::of(SqlType::String, move |_: &[Operand], rows| {
        Ok(Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n(&value, rows))))
    })
}

fn texts(values: Vec<String>) -> Bound {
    Bound::of(SqlType::array_of(SqlType::String), move |_: &[Operand], rows| {
        let offsets = OffsetBuffer::from_repeated_length(values.len(), rows);
        let all = std::iter::repeat_n(&values, rows).flatten();
        let strings = Arc::new(BinaryViewArray::from_iter_values(all));
        Ok(Arc::new(ListArray::new(SqlType::String.element_field(), offsets, strings, None)))
    })
}
