//! Functions over JSON in strings.

mod document;
mod extract;
mod fit;
mod inspect;
mod path;
mod simple;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &extract::JSON_EXTRACT,
    &extract::JSON_EXTRACT_INT,
    &extract::JSON_EXTRACT_UINT,
    &extract::JSON_EXTRACT_FLOAT,
    &extract::JSON_EXTRACT_BOOL,
    &extract::JSON_EXTRACT_STRING,
    &extract::JSON_EXTRACT_RAW,
    &extract::JSON_EXTRACT_KEYS,
    &extract::JSON_EXTRACT_ARRAY_RAW,
    &inspect::IS_VALID_JSON,
    &inspect::JSON_HAS,
    &inspect::JSON_LENGTH,
    &inspect::JSON_TYPE,
    &simple::HAS,
    &simple::EXTRACT_INT,
    &simple::EXTRACT_UINT,
    &simple::EXTRACT_FLOAT,
    &simple::EXTRACT_BOOL,
    &simple::EXTRACT_STRING,
    &simple::EXTRACT_RAW,
];
