//! The functions of Postgres' catalog that its clients call: numbers and names of objects, their definitions, and
//! what they say of a session.
//!
//! They ask [`Relations`](crate::Relations). An object that is unknown gives NULL, as in Postgres.

mod about;
mod array;
mod column;
mod names;
mod privilege;
mod session;
mod text;
mod truth;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &about::COL_DESCRIPTION,
    &about::OBJ_DESCRIPTION,
    &about::PG_DATABASE_SIZE,
    &about::PG_GET_CONSTRAINTDEF,
    &about::PG_GET_EXPR,
    &about::PG_GET_INDEXDEF,
    &about::PG_GET_VIEWDEF,
    &about::PG_INDEXES_SIZE,
    &about::PG_TABLE_SIZE,
    &about::UNKNOWN_DEFINITION,
    &about::UNKNOWN_NUMBER,
    &array::ARRAY_DIMS,
    &array::ARRAY_LENGTH,
    &array::ARRAY_LOWER,
    &array::ARRAY_TO_STRING,
    &array::PARSE_IDENT,
    &array::STRING_TO_ARRAY,
    &names::FORMAT_TYPE,
    &names::PG_GET_USERBYID,
    &names::REGCLASS,
    &names::REGNAMESPACE,
    &names::REGPROC,
    &names::REGROLE,
    &names::REGTYPE,
    &privilege::HAS_ANY_COLUMN_PRIVILEGE,
    &privilege::HAS_COLUMN_PRIVILEGE,
    &privilege::HAS_DATABASE_PRIVILEGE,
    &privilege::HAS_SCHEMA_PRIVILEGE,
    &privilege::HAS_TABLE_PRIVILEGE,
    &privilege::PG_HAS_ROLE,
    &session::CURRENT_SCHEMAS,
    &session::CURRENT_SETTING,
    &session::PG_BACKEND_PID,
    &session::PG_CLIENT_ENCODING,
    &session::SET_CONFIG,
    &session::TXID_CURRENT,
    &text::JSON_BUILD_OBJECT,
    &text::PG_ENCODING_TO_CHAR,
    &text::PG_SIZE_PRETTY,
    &text::PG_TYPEOF,
    &text::QUOTE_IDENT,
    &text::QUOTE_LITERAL,
    &truth::ALWAYS,
    &truth::NEVER,
    &truth::PG_TABLE_IS_VISIBLE,
];
