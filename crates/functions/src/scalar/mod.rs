//! Scalar functions: a value for each row.
//!
//! [`ScalarFunction::bind`] is called once per call site, with the SQL types of the arguments and the values of
//! constant ones. It returns the result type and a [`Kernel`], which is called once per block. The adaptor around a
//! kernel handles constants, `Nullable` and `LowCardinality`, so that most kernels see plain arrays only.

mod address;
mod arithmetic;
mod array;
mod bound;
mod comparison;
mod conditional;
mod conversion;
mod date;
mod definition;
mod dictionary;
mod function;
mod hash;
mod json;
mod low_cardinality;
mod memory;
mod number;
mod operand;
mod other;
mod pace;
mod postgres;
mod string;
mod tuple;
pub(crate) mod whole;

pub use bound::BoundScalar;
pub use conversion::{Cast, Converter};
pub use dictionary::{AttributeOf, DICT_GET_FOUND};
pub use function::{
    Argument, Arity, Bound, Kernel, LowCardinality, Nulls, Operand, ScalarFunction, Volatility,
};
pub use low_cardinality::low_cardinality_of;
pub use other::host_name;

use std::sync::LazyLock;

/// Every scalar function.
pub fn all() -> &'static [&'static dyn ScalarFunction] {
    static FUNCTIONS: LazyLock<Vec<&dyn ScalarFunction>> = LazyLock::new(|| {
        [
            address::ALL,
            arithmetic::ALL,
            array::ALL,
            comparison::ALL,
            conditional::ALL,
            conversion::ALL,
            date::ALL,
            dictionary::ALL,
            hash::ALL,
            json::ALL,
            other::ALL,
            postgres::ALL,
            string::ALL,
            tuple::ALL,
        ]
        .concat()
    });
    &FUNCTIONS
}
