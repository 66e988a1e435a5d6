//! Column stores: the values of a column by rank.
//!
//! - [`store`]: the contracts of a store and of its builder.

mod store;

pub use store::{ColumnStore, StoreBuilder, StringStore};
