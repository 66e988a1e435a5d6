//! Choices between values, and replacements for NULL.

mod branch;
mod null;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &branch::IF,
    &branch::MULTI_IF,
    &null::IF_NULL,
    &null::NULL_IF,
    &null::COALESCE,
    &null::IS_NULL,
    &null::IS_NOT_NULL,
    &null::IS_NULLABLE,
    &null::ASSUME_NOT_NULL,
    &null::TO_NULLABLE,
    &null::IS_ZERO_OR_NULL,
];
