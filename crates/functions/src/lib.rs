//! What does `cityHash64` do? Scalar and aggregate functions, one file per function.
//!
//! A function works on SQL types and Arrow arrays. DataFusion sees it only through two adaptors,
//! [`scalar::BoundScalar`] and [`aggregate::BoundAggregate`]. [`registry`] finds a function by name.
//!
//! # Not here
//!
//! Operators that are not functions (`AND`, `CASE`, comparisons of equal types) are DataFusion's own expressions,
//! which `planner` builds. Table functions belong to the engine.

pub mod aggregate;
mod context;
mod float_bits;
mod native_order;
mod parameter;
pub mod prewhere;
#[cfg(test)]
mod recorded;
pub mod registry;
pub mod scalar;
pub mod set;

pub use context::{
    FunctionContext, NoRelations, NoSettings, ObjectKind, ObjectRef, ObjectText, PrivilegeTarget, Relations,
    ServerContext, SettingValues, UserRoles,
};
pub use float_bits::{bits_of_float, float_of_bits};
pub use native_order::native_order;
pub use parameter::{bad_parameter, parameter_text};
pub use scalar::host_name;
