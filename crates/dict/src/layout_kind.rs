//! The layouts, and what kind of key each takes.

/// A layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    Flat,
    Hashed,
    SparseHashed,
    HashedArray,
    /// An extension of ClickHouse: as few bytes as keys and values need.
    CompactHashed,
    /// An extension of ClickHouse: the keys decide.
    Auto,
    RangeHashed,
    Cache,
    SsdCache,
    Direct,
    ComplexKeyHashed,
    ComplexKeySparseHashed,
    ComplexKeyHashedArray,
    ComplexKeyRangeHashed,
    ComplexKeyCache,
    ComplexKeySsdCache,
    ComplexKeyDirect,
    IpTrie,
    RegexpTree,
    Polygon,
    PolygonSimple,
    PolygonIndexEach,
    PolygonIndexCell,
}

/// The form of the key of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// The key columns as they are stored.
    Columns,
    /// An IPv4 address as `UInt32`, or an IPv6 address as `IPv6` or `FixedString(16)`.
    Address,
    /// A point: two `Float64`.
    Point,
    /// One `String`, which regular expressions may match.
    Text,
}

impl LayoutKind {
    pub const ALL: [LayoutKind; 23] = [
        LayoutKind::Flat,
        LayoutKind::Hashed,
        LayoutKind::SparseHashed,
        LayoutKind::HashedArray,
        LayoutKind::CompactHashed,
        LayoutKind::Auto,
        LayoutKind::RangeHashed,
        LayoutKind::Cache,
        LayoutKind::SsdCache,
        LayoutKind::Direct,
        LayoutKind::ComplexKeyHashed,
        LayoutKind::ComplexKeySparseHashed,
        LayoutKind::ComplexKeyHashedArray,
        LayoutKind::ComplexKeyRangeHashed,
        LayoutKind::ComplexKeyCache,
        LayoutKind::ComplexKeySsdCache,
        LayoutKind::ComplexKeyDirect,
        LayoutKind::IpTrie,
        LayoutKind::RegexpTree,
        LayoutKind::Polygon,
        LayoutKind::PolygonSimple,
        LayoutKind::PolygonIndexEach,
        LayoutKind::PolygonIndexCell,
    ];

    /// The name as SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            LayoutKind::Flat => "FLAT",
            LayoutKind::Hashed => "HASHED",
            LayoutKind::SparseHashed => "SPARSE_HASHED",
            LayoutKind::HashedArray => "HASHED_ARRAY",
            LayoutKind::CompactHashed => "COMPACT_HASHED",
            LayoutKind::Auto => "AUTO",
            LayoutKind::RangeHashed => "RANGE_HASHED",
            LayoutKind::Cache => "CACHE",
            LayoutKind::SsdCache => "SSD_CACHE",
            LayoutKind::Direct => "DIRECT",
            LayoutKind::ComplexKeyHashed => "COMPLEX_KEY_HASHED",
            LayoutKind::ComplexKeySparseHashed => "COMPLEX_KEY_SPARSE_HASHED",
            LayoutKind::ComplexKeyHashedArray => "COMPLEX_KEY_HASHED_ARRAY",
            LayoutKind::ComplexKeyRangeHashed => "COMPLEX_KEY_RANGE_HASHED",
            LayoutKind::ComplexKeyCache => "COMPLEX_KEY_CACHE",
            LayoutKind::ComplexKeySsdCache => "COMPLEX_KEY_SSD_CACHE",
            LayoutKind::ComplexKeyDirect => "COMPLEX_KEY_DIRECT",
            LayoutKind::IpTrie => "IP_TRIE",
            LayoutKind::RegexpTree => "REGEXP_TREE",
            LayoutKind::Polygon => "POLYGON",
            LayoutKind::PolygonSimple => "POLYGON_SIMPLE",
            LayoutKind::PolygonIndexEach => "POLYGON_INDEX_EACH",
            LayoutKind::PolygonIndexCell => "POLYGON_INDEX_CELL",
        }
    }

    /// The layout of the same kind that takes any key columns; `None` if there is none.
    pub fn complex_form(self) -> Option<LayoutKind> {
        match self {
            LayoutKind::Flat | LayoutKind::CompactHashed => None,
            LayoutKind::Auto | LayoutKind::Hashed => Some(LayoutKind::ComplexKeyHashed),
            LayoutKind::SparseHashed => Some(LayoutKind::ComplexKeySparseHashed),
            LayoutKind::HashedArray => Some(LayoutKind::ComplexKeyHashedArray),
            LayoutKind::RangeHashed => Some(LayoutKind::ComplexKeyRangeHashed),
            LayoutKind::Cache => Some(LayoutKind::ComplexKeyCache),
            LayoutKind::SsdCache => Some(LayoutKind::ComplexKeySsdCache),
            LayoutKind::Direct => Some(LayoutKind::ComplexKeyDirect),
            complex => Some(complex),
        }
    }

    /// Whether the stored key has the declared types, and is not one `UInt64`.
    pub fn is_complex(self) -> bool {
        self.complex_form() == Some(self)
    }

    /// Whether nothing is stored, and every lookup goes to the source.
    pub fn is_direct(self) -> bool {
        matches!(self, LayoutKind::Direct | LayoutKind::ComplexKeyDirect)
    }

    /// How a lookup names a key.
    pub fn key_form(self) -> KeyForm {
        match self {
            LayoutKind::IpTrie => KeyForm::Address,
            LayoutKind::RegexpTree => KeyForm::Text,
            kind if kind.is_polygon() => KeyForm::Point,
            _ => KeyForm::Columns,
        }
    }

    /// Whether some rows are stored, and lookups of other keys go to the source.
    pub fn is_cache(self) -> bool {
        matches!(self, LayoutKind::Cache | LayoutKind::ComplexKeyCache) || self.is_ssd()
    }

    /// Whether rows are stored in files.
    pub fn is_ssd(self) -> bool {
        matches!(self, LayoutKind::SsdCache | LayoutKind::ComplexKeySsdCache)
    }

    /// Whether lookups ask a [`crate::DirectSource`]. All other layouts are loaded whole.
    pub fn asks_source(self) -> bool {
        self.is_direct() || self.is_cache()
    }

    /// Whether a loaded version and later changes can answer together: each key has one row.
    pub fn takes_changes(self) -> bool {
        !self.is_range() && !self.asks_source() && self.key_form() == KeyForm::Columns
    }

    /// Whether a loaded dictionary can be written to a file, and can be loaded into it part by part.
    pub fn is_storable(self) -> bool {
        self.has_shards() || self.is_range() || self.is_ordered()
    }

    /// Whether all of its keys are sorted at once.
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, LayoutKind::IpTrie | LayoutKind::RegexpTree) || self.is_polygon()
    }

    /// Whether a dictionary can be loaded shard by shard: its keys, in a hash table or an array, determine the rows
    /// of a lookup.
    fn has_shards(self) -> bool {
        use LayoutKind::{
            Auto, CompactHashed, ComplexKeyHashed, ComplexKeyHashedArray, ComplexKeySparseHashed, Flat,
            Hashed, HashedArray, SparseHashed,
        };
        matches!(
            self,
            Auto | CompactHashed
                | ComplexKeyHashed
                | ComplexKeyHashedArray
                | ComplexKeySparseHashed
                | Flat
                | Hashed
                | HashedArray
                | SparseHashed
        )
    }

    /// Whether rows have a range, and a lookup has a point in addition to the key.
    pub fn is_range(self) -> bool {
        matches!(self, LayoutKind::RangeHashed | LayoutKind::ComplexKeyRangeHashed)
    }

    pub(crate) fn is_polygon(self) -> bool {
        matches!(
            self,
            LayoutKind::Polygon
                | LayoutKind::PolygonSimple
                | LayoutKind::PolygonIndexEach
                | LayoutKind::PolygonIndexCell
        )
    }

    /// Whether narrow attributes may be stored in the payloads.
    pub(crate) fn may_inline(self) -> bool {
        matches!(
            self,
            LayoutKind::Hashed | LayoutKind::SparseHashed | LayoutKind::CompactHashed | LayoutKind::Auto
        )
    }

    pub(crate) fn takes(self, parameter: &str) -> bool {
        use LayoutKind::{
            Auto, CompactHashed, ComplexKeyHashed, ComplexKeyHashedArray, ComplexKeySparseHashed, Flat,
            Hashed, HashedArray, IpTrie, PolygonIndexCell, PolygonIndexEach, SparseHashed,
        };
        let is_hashed = matches!(self, Hashed | SparseHashed | ComplexKeyHashed | ComplexKeySparseHashed);
        match parameter {
            "INITIAL_ARRAY_SIZE" | "MAX_ARRAY_SIZE" => self == Flat,
            "SHARDS" | "SHARD_LOAD_QUEUE_BACKLOG" => {
                is_hashed || matches!(self, HashedArray | ComplexKeyHashedArray | CompactHashed | Auto)
            }
            "MAX_LOAD_FACTOR" | "PREALLOCATE" => is_hashed,
            "RANGE_LOOKUP_STRATEGY" | "CONVERT_NULL_RANGE_BOUND_TO_OPEN" => self.is_range(),
            "SIZE_IN_CELLS" => self.is_cache() && !self.is_ssd(),
            "ALLOW_READ_EXPIRED_KEYS"
            | "STRICT_MAX_LIFETIME_SECONDS"
            | "MAX_UPDATE_QUEUE_SIZE"
            | "UPDATE_QUEUE_PUSH_TIMEOUT_MILLISECONDS"
            | "QUERY_WAIT_TIMEOUT_MILLISECONDS"
            | "MAX_THREADS_FOR_UPDATES" => self.is_cache(),
            "BLOCK_SIZE"
            | "FILE_SIZE"
            | "READ_BUFFER_SIZE"
            | "WRITE_BUFFER_SIZE"
            | "PATH"
            | "MAX_PARTITIONS_COUNT"
            | "MAX_STORED_KEYS" => self.is_ssd(),
            "ACCESS_TO_KEY_FROM_ATTRIBUTES" => self == IpTrie,
            "STORE_POLYGON_KEY_COLUMN" => self.is_polygon(),
            "MIN_INTERSECTIONS" | "MAX_DEPTH" => matches!(self, PolygonIndexEach | PolygonIndexCell),
            _ => false,
        }
    }
}
