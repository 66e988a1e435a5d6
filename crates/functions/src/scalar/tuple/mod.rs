//! Functions of tuples.

mod construct;
mod element;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[&construct::TUPLE, &element::TUPLE_ELEMENT];
