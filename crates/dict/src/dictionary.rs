//! What a dictionary is to its callers: keys in, attribute columns out.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use basalt_base::{Result, SqlType};

/// One attribute: a named column that a key looks up.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: String,
    pub ty: SqlType,
    /// The value of a key that is not there: one row of `ty`'s carrier.
    pub default: ArrayRef,
    pub hierarchical: bool,
    pub injective: bool,
}

/// Figures for `system.dictionaries`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DictionaryStats {
    pub element_count: u64,
    /// What the process holds for this dictionary, in bytes.
    pub bytes_allocated: u64,
    /// Filled slots over all slots; 0 for a layout without slots.
    pub load_factor: f64,
    pub query_count: u64,
    pub found_count: u64,
}

/// A dictionary that can answer. Cheap to share; never changes once built (a reload makes another).
pub trait Dictionary: Send + Sync {
    /// The types of the key columns; one `UInt64` for the simple layouts.
    fn key_types(&self) -> &[SqlType];

    fn attributes(&self) -> &[Attribute];

    /// The layout's name as SQL writes it, for example `SPARSE_HASHED`.
    fn layout(&self) -> &'static str;

    /// Looks up every row of `keys` (as many arrays as [`Dictionary::key_types`], each of that type's
    /// carrier, without NULLs) and returns one array for each of `attributes` (positions in
    /// [`Dictionary::attributes`]), plus which keys were found. A missing key has the attribute's
    /// default in its place.
    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)>;

    /// Which of the keys are there.
    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray>;

    /// All rows, as blocks of the key columns followed by all attributes: for `SELECT ... FROM
    /// dictionary('name')`.
    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>>;

    fn stats(&self) -> DictionaryStats;

    /// The two dictionaries that this one is, if updates made it of one that was loaded and of what
    /// changed since.
    fn changes(&self) -> Option<(Arc<dyn Dictionary>, Arc<dyn Dictionary>)> {
        None
    }
}

/// The dictionaries of a database, by name; what `dictGet` asks.
pub trait Dictionaries: Send + Sync {
    /// The dictionary called `name` (`dict` or `database.dict`), loaded now if it was not yet. A
    /// plain name is looked for in `current_database`.
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>>;
}

/// Where a DIRECT dictionary takes its rows from at every lookup.
pub trait DirectSource: Send + Sync {
    /// The rows whose key is among `keys` (distinct rows, without NULLs), as the key columns followed
    /// by all attributes, in any order; keys that are not there are left out.
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>>;

    /// All rows, in blocks of the same form, for a scan of the dictionary.
    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        Err(basalt_base::Error::not_implemented("reading all rows of this DIRECT dictionary's source"))
    }
}
