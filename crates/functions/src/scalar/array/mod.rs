//! Functions of arrays and maps.

mod combine;
mod construct;
mod count;
mod element;
mod fold;
mod lists;
mod map;
mod reshape;
mod search;
mod transform;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &construct::ARRAY,
    &construct::ARRAY_CONCAT,
    &construct::ARRAY_PUSH_BACK,
    &construct::ARRAY_PUSH_FRONT,
    &construct::ARRAY_RESIZE,
    &construct::ARRAY_WITH_CONSTANT,
    &construct::RANGE,
    &construct::EMPTY_UINT8,
    &construct::EMPTY_UINT16,
    &construct::EMPTY_UINT32,
    &construct::EMPTY_UINT64,
    &construct::EMPTY_INT8,
    &construct::EMPTY_INT16,
    &construct::EMPTY_INT32,
    &construct::EMPTY_INT64,
    &construct::EMPTY_FLOAT32,
    &construct::EMPTY_FLOAT64,
    &construct::EMPTY_DATE,
    &construct::EMPTY_DATE_TIME,
    &construct::EMPTY_STRING,
    &element::ARRAY_ELEMENT,
    &search::HAS,
    &search::INDEX_OF,
    &search::COUNT_EQUAL,
    &search::HAS_ANY,
    &search::HAS_ALL,
    &reshape::ARRAY_SLICE,
    &reshape::ARRAY_POP_BACK,
    &reshape::ARRAY_POP_FRONT,
    &reshape::ARRAY_REVERSE,
    &reshape::ARRAY_SORT,
    &reshape::ARRAY_REVERSE_SORT,
    &reshape::ARRAY_DISTINCT,
    &reshape::ARRAY_COMPACT,
    &count::ARRAY_UNIQ,
    &count::ARRAY_ENUMERATE,
    &count::ARRAY_ENUMERATE_UNIQ,
    &count::ARRAY_ENUMERATE_DENSE,
    &count::ARRAY_COUNT,
    &fold::ARRAY_MIN,
    &fold::ARRAY_MAX,
    &fold::ARRAY_SUM,
    &fold::ARRAY_AVG,
    &fold::ARRAY_PRODUCT,
    &fold::ARRAY_CUM_SUM,
    &fold::ARRAY_DIFFERENCE,
    &combine::ARRAY_STRING_CONCAT,
    &combine::ARRAY_ZIP,
    &combine::ARRAY_FLATTEN,
    &transform::TRANSFORM,
    &map::MAP,
    &map::MAP_FROM_ARRAYS,
    &map::MAP_KEYS,
    &map::MAP_VALUES,
    &map::MAP_CONTAINS,
];
