//! What lets a query skip granules: the smallest and the largest values of each.
//!
//! - [`zones`]: zone maps, of every column whose type has an order.
//! - [`zone_file`]: where a part keeps them.

pub(crate) mod zone_file;
pub(crate) mod zones;
