//! The revisions of ClickHouse's protocol at which blocks change.

/// The latest revision whose blocks are known: the next one moves the lengths of strings.
pub const REVISION_MAX: u64 = 54_491;

/// LowCardinality is sent; before, it is sent as the type in it.
pub(super) const LOW_CARDINALITY: u64 = 54_405;
/// The zone of a DateTime is part of its type; before, that of a column is left out.
pub(super) const ZONE_OF_DATE_TIME: u64 = 54_337;
/// A byte says how a column is serialized.
pub(super) const CUSTOM_SERIALIZATION: u64 = 54_454;
/// The block info lists buckets.
pub(super) const OUT_OF_ORDER_BUCKETS: u64 = 54_480;
