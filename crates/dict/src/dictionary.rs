//! What a dictionary is to its callers: keys in, attribute columns out.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use basalt_base::{Error, Result, SqlType};

use crate::attribute::Attribute;
use crate::image::ImageWriter;
use crate::layout_kind::KeyForm;
use crate::stats::DictionaryStats;

/// Called with each block of a scan: how many rows it has, and the columns that were asked for.
pub type VisitRows<'a> = dyn FnMut(usize, Vec<ArrayRef>) -> Result<()> + 'a;

/// A dictionary that can answer. Cheap to share; never changes once built (a reload makes another).
pub trait Dictionary: Any + Send + Sync {
    /// The types of the key columns; one `UInt64` for the simple layouts.
    fn key_types(&self) -> &[SqlType];

    /// How a lookup names a key.
    fn key_form(&self) -> KeyForm {
        KeyForm::Columns
    }

    /// The type of the point that a lookup has behind the key columns, if rows have a range.
    fn range_type(&self) -> Option<&SqlType> {
        None
    }

    fn attributes(&self) -> &[Attribute];

    /// The layout's name as SQL writes it, for example `SPARSE_HASHED`.
    fn layout(&self) -> &'static str;

    /// Looks up every row of `keys` (as many arrays as [`Dictionary::key_types`], each of that type's
    /// carrier, without NULLs, unless the [`Dictionary::key_form`] is another one; behind them the point
    /// if there is a [`Dictionary::range_type`]) and returns one array for each of `attributes`
    /// (positions in [`Dictionary::attributes`]), plus which keys were found. A missing key has the
    /// attribute's default in its place.
    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)>;

    /// For each of `attributes` the values of all rows that a key matches, as an array of lists of at most
    /// `limit` values. Only layouts in which a key matches several rows have them.
    fn get_all(
        &self,
        _attributes: &[usize],
        _keys: &[ArrayRef],
        _limit: Option<usize>,
    ) -> Result<Vec<ArrayRef>> {
        Err(Error::not_implemented(format!("dictGetAll over a dictionary of layout {}", self.layout())))
    }

    /// Itself for one query, with lookups that take at most `threads_max` threads; `None` from a dictionary
    /// that answers on the thread that asks.
    fn on_threads(&self, _threads_max: usize) -> Option<Arc<dyn Dictionary>> {
        None
    }

    /// Whether [`Dictionary::visit`] shows each key once, in the columns that a lookup names it by.
    fn lists_keys(&self) -> bool {
        false
    }

    /// Whether a lookup of a million keys costs much less than some of fewer keys.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// Which of the keys are there.
    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray>;

    /// Shows all rows, in blocks one after the other: of the key columns, followed by both ends of the range, if
    /// rows have one, and all attributes, those at these positions, in this order. For `SELECT ... FROM
    /// dictionary('name')`.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()>;

    /// How many columns [`Dictionary::visit_columns`] knows.
    fn column_count(&self) -> usize {
        let bounds = if self.range_type().is_some() { 2 } else { 0 };
        self.key_types().len() + bounds + self.attributes().len()
    }

    /// [`Dictionary::visit_columns`] of all columns.
    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        let columns: Vec<usize> = (0..self.column_count()).collect();
        self.visit_columns(&columns, &mut |_, block| visit(block))
    }

    /// The blocks of [`Dictionary::visit`], all at once.
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

    /// What it holds of the process's own memory, in bytes: pages of a file are the system's to take back.
    fn memory_bytes(&self) -> u64 {
        self.stats().bytes_allocated
    }

    /// Writes what it holds; only a dictionary that was loaded whole can.
    fn save(&self, _image: &mut ImageWriter<'_>) -> Result<()> {
        Err(Error::not_implemented(format!("a file of a dictionary of layout {}", self.layout())))
    }

    /// Reads all of the file that it answers from and compares its checksums; until then, every lookup does
    /// so for what it touches.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the file that it answers from was found damaged.
    fn is_damaged(&self) -> bool {
        false
    }

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

/// Values of attributes, and which of them each key has.
pub struct Located {
    /// One array an attribute that was asked for.
    pub values: Vec<ArrayRef>,
    /// For each key, in the order asked: its row in `values`, or `None` if there is none.
    pub row_of_key: Vec<Option<u32>>,
}

/// Where a DIRECT dictionary takes its rows from at every lookup.
pub trait DirectSource: Send + Sync {
    /// The rows whose key is among `keys` (distinct rows, without NULLs), as the key columns followed
    /// by all attributes, in any order; keys that are not there are left out.
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>>;

    /// As [`DirectSource::lookup`], of some attributes alone, by a source that finds the row of each key by
    /// itself, on at most `threads_max` threads: a key may be asked for more than once. `None` from all others.
    fn locate(&self, keys: &[ArrayRef], attributes: &[usize], threads_max: usize) -> Result<Option<Located>> {
        let _ = (keys, attributes, threads_max);
        Ok(None)
    }

    /// Whether it locates keys, and many at once for less.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// Shows all rows, in blocks of the same form, for a scan of the dictionary.
    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        let _ = visit;
        Err(Error::not_implemented("reading all rows of this DIRECT dictionary's source"))
    }
}
