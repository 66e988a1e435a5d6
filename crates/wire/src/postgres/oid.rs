//! The numbers of types that values are read and written by.

pub const BOOL: u32 = 16;
pub const BYTEA: u32 = 17;
pub const CHAR: u32 = 18;
pub const NAME: u32 = 19;
pub const INT8: u32 = 20;
pub const INT2: u32 = 21;
pub const INT2VECTOR: u32 = 22;
pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;
pub const OID: u32 = 26;
pub const OIDVECTOR: u32 = 30;
pub const JSON: u32 = 114;
pub const FLOAT4: u32 = 700;
pub const FLOAT8: u32 = 701;
pub const INET: u32 = 869;
pub const BPCHAR: u32 = 1042;
pub const VARCHAR: u32 = 1043;
pub const DATE: u32 = 1082;
pub const TIMESTAMP: u32 = 1114;
pub const TIMESTAMPTZ: u32 = 1184;
pub const NUMERIC: u32 = 1700;
pub const UUID: u32 = 2950;
pub const JSONB: u32 = 3802;

/// Types of arrays and of their elements.
const ARRAYS: &[(u32, u32)] = &[
    (1000, BOOL),
    (1001, BYTEA),
    (1002, CHAR),
    (1003, NAME),
    (1005, INT2),
    (INT2VECTOR, INT2),
    (1007, INT4),
    (1009, TEXT),
    (1014, BPCHAR),
    (1015, VARCHAR),
    (1016, INT8),
    (1021, FLOAT4),
    (1022, FLOAT8),
    (1028, OID),
    (OIDVECTOR, OID),
    (1041, INET),
    (1115, TIMESTAMP),
    (1182, DATE),
    (1185, TIMESTAMPTZ),
    (1231, NUMERIC),
    (2951, UUID),
    (199, JSON),
    (3807, JSONB),
];

pub(super) const TEXT_ARRAY: u32 = 1009;

/// The type of arrays of `element`.
pub(super) fn array(element: u32) -> Option<u32> {
    let is_vector = |array: u32| matches!(array, INT2VECTOR | OIDVECTOR);
    ARRAYS.iter().find(|(array, known)| *known == element && !is_vector(*array)).map(|(array, _)| *array)
}

/// The type of the elements of an array.
pub fn element(array: u32) -> Option<u32> {
    ARRAYS.iter().find(|(known, _)| *known == array).map(|(_, element)| *element)
}
