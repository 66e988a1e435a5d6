//! The interface of a dictionary: keys in, attribute columns out.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use basalt_base::{Error, Result, SqlType};

use crate::attribute::Attribute;
use crate::image::Storable;
use crate::layout_kind::KeyForm;
use crate::schema::DictionarySchema;
use crate::stats::DictionaryStats;

/// Called with each block of a scan: the number of its rows, and the requested columns.
pub type VisitRows<'a> = dyn FnMut(usize, Vec<ArrayRef>) -> Result<()> + 'a;

/// A dictionary that answers lookups. It never changes once it is built; a reload builds another one.
pub trait Dictionary: Any + Send + Sync {
    fn schema(&self) -> &DictionarySchema;

    /// The types of the key columns; one `UInt64` for the simple layouts.
    fn key_types(&self) -> &[SqlType] {
        &self.schema().key_types
    }

    /// How a lookup names a key.
    fn key_form(&self) -> KeyForm {
        self.schema().kind.key_form()
    }

    /// The type of the point that a lookup has after the key columns, if rows have a range.
    fn range_type(&self) -> Option<&SqlType> {
        self.schema().range_type.as_ref()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.schema().attributes
    }

    /// The layout's name as SQL writes it, for example `SPARSE_HASHED`.
    fn layout(&self) -> &'static str {
        self.schema().kind.name()
    }

    /// Whether [`Dictionary::visit`] visits each key once, in the columns that a lookup names it by.
    fn lists_keys(&self) -> bool {
        self.schema().kind.takes_changes()
    }

    /// Looks up every row of `keys`. Returns one array for each of `attributes`, which are positions in
    /// [`Dictionary::attributes`], and which keys were found. A missing key has the attribute's default.
    ///
    /// `keys` has as many arrays as [`Dictionary::key_types`], each of that type's carrier and without NULLs, unless
    /// [`Dictionary::key_form`] says otherwise. The point follows them if there is a [`Dictionary::range_type`].
    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)>;

    /// For each of `attributes`, the values of all rows that a key matches, as an array of lists of at most `limit`
    /// values. Only layouts in which a key matches several rows implement it.
    fn get_all(
        &self,
        _attributes: &[usize],
        _keys: &[ArrayRef],
        _limit: Option<usize>,
    ) -> Result<Vec<ArrayRef>> {
        Err(Error::not_implemented(format!("dictGetAll over a dictionary of layout {}", self.layout())))
    }

    /// The same dictionary for one query, whose lookups take at most `threads_max` threads; `None` if lookups run on
    /// the calling thread.
    fn on_threads(&self, _threads_max: usize) -> Option<Arc<dyn Dictionary>> {
        None
    }

    /// Whether a lookup of a million keys costs much less than some of fewer keys.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// Which of the keys are there.
    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray>;

    /// Visits all rows in blocks, for `SELECT ... FROM dictionary('name')`. `columns` are positions among the key
    /// columns, both ends of the range if rows have one, and all attributes.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()>;

    /// The number of columns that [`Dictionary::visit_columns`] has.
    fn column_count(&self) -> usize {
        let bounds = if self.range_type().is_some() { 2 } else { 0 };
        self.key_types().len() + bounds + self.attributes().len()
    }

    /// [`Dictionary::visit_columns`] with all columns.
    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        let columns: Vec<usize> = (0..self.column_count()).collect();
        self.visit_columns(&columns, &mut |_, block| visit(block))
    }

    /// The blocks of [`Dictionary::visit`].
    #[cfg(test)]
    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        let mut blocks = Vec::new();
        self.visit(&mut |block| {
            blocks.push(block);
            Ok(())
        })?;
        Ok(blocks)
    }

    fn stats(&self) -> DictionaryStats;

    /// The bytes of the process's own memory. Pages of a file do not count: the system can drop them.
    fn memory_bytes(&self) -> u64 {
        self.stats().bytes_allocated
    }

    /// The dictionary as what can be written to a file, if it was loaded whole.
    fn storable(&self) -> Option<&dyn Storable> {
        None
    }

    /// Reads all of the file that it answers from, and compares its checksums. Before that, every lookup compares
    /// those of the blocks that it reads.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the file that it answers from was found damaged.
    fn is_damaged(&self) -> bool {
        false
    }

    /// The loaded dictionary and the changes since, if updates made this one of them.
    fn changes(&self) -> Option<(Arc<dyn Dictionary>, Arc<dyn Dictionary>)> {
        None
    }
}

/// The dictionaries of a database by name, for `dictGet`.
pub trait Dictionaries: Send + Sync {
    /// The dictionary called `name` (`dict` or `database.dict`); it may be loaded at its first lookup. A plain name
    /// is looked for in `current_database`.
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>>;
}

/// Values of attributes, and the row of each key.
pub struct Located {
    /// One array for each requested attribute.
    pub values: Vec<ArrayRef>,
    /// For each key in order: its row in `values`, or `None` if the key is missing.
    pub row_of_key: Vec<Option<u32>>,
}

/// The source that a DIRECT dictionary or a cache asks at lookups.
pub trait DirectSource: Send + Sync {
    /// The rows of `keys`, which are distinct and not NULL: the key columns followed by all attributes, in any order.
    /// Missing keys have no row.
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>>;

    /// As [`DirectSource::lookup`], but only some attributes, and with the row of each key, on at most `threads_max`
    /// threads. Keys may repeat. `None` if the source does not know the row of a key.
    fn locate(&self, keys: &[ArrayRef], attributes: &[usize], threads_max: usize) -> Result<Option<Located>> {
        let _ = (keys, attributes, threads_max);
        Ok(None)
    }

    /// Whether it locates keys, and large blocks of keys faster than small ones.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// Visits all rows in blocks of the same form, for a scan of the dictionary.
    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        let _ = visit;
        Err(Error::not_implemented("reading all rows of this DIRECT dictionary's source"))
    }
}
