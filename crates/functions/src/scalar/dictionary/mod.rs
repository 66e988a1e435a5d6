//! Functions that query a dictionary: `dictGet` and others.

mod attribute_of;
mod descendants;
mod dict_get;
mod dict_get_all;
mod dict_get_keys;
mod dict_has;
mod hierarchy;
mod lookup;
#[cfg(test)]
mod tests;

pub use attribute_of::AttributeOf;
pub use dict_get::DICT_GET_FOUND;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &dict_get::DICT_GET,
    &dict_get::DICT_GET_OR_DEFAULT,
    &dict_get::DICT_GET_OR_NULL,
    &dict_get::DICT_GET_UINT8,
    &dict_get::DICT_GET_UINT16,
    &dict_get::DICT_GET_UINT32,
    &dict_get::DICT_GET_UINT64,
    &dict_get::DICT_GET_INT8,
    &dict_get::DICT_GET_INT16,
    &dict_get::DICT_GET_INT32,
    &dict_get::DICT_GET_INT64,
    &dict_get::DICT_GET_FLOAT32,
    &dict_get::DICT_GET_FLOAT64,
    &dict_get::DICT_GET_DATE,
    &dict_get::DICT_GET_DATE_TIME,
    &dict_get::DICT_GET_UUID,
    &dict_get::DICT_GET_STRING,
    &dict_get::DICT_GET_UINT8_OR_DEFAULT,
    &dict_get::DICT_GET_UINT16_OR_DEFAULT,
    &dict_get::DICT_GET_UINT32_OR_DEFAULT,
    &dict_get::DICT_GET_UINT64_OR_DEFAULT,
    &dict_get::DICT_GET_INT8_OR_DEFAULT,
    &dict_get::DICT_GET_INT16_OR_DEFAULT,
    &dict_get::DICT_GET_INT32_OR_DEFAULT,
    &dict_get::DICT_GET_INT64_OR_DEFAULT,
    &dict_get::DICT_GET_FLOAT32_OR_DEFAULT,
    &dict_get::DICT_GET_FLOAT64_OR_DEFAULT,
    &dict_get::DICT_GET_DATE_OR_DEFAULT,
    &dict_get::DICT_GET_DATE_TIME_OR_DEFAULT,
    &dict_get::DICT_GET_UUID_OR_DEFAULT,
    &dict_get::DICT_GET_STRING_OR_DEFAULT,
    &dict_get::DICT_GET_IPV4,
    &dict_get::DICT_GET_IPV6,
    &dict_get::DICT_GET_IPV6_OR_DEFAULT,
    &dict_get::DICT_GET_IPV4_OR_DEFAULT,
    &dict_get_all::DICT_GET_ALL,
    &dict_get_keys::DICT_GET_KEYS,
    &dict_has::DICT_HAS,
    &descendants::DICT_GET_CHILDREN,
    &descendants::DICT_GET_DESCENDANTS,
    &hierarchy::DICT_GET_HIERARCHY,
    &hierarchy::DICT_GET_ROOT,
    &hierarchy::DICT_IS_IN,
];
