//! The rows of a source in files, a pile for each shard, until the shard is built.
//!
//! A pile is many files of some hundred kilobytes each: columns as the dictionary has them, written as
//! they lie in memory and mapped again. They hold nothing that outlives the load, so nothing is synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use basalt_base::fs::{PendingDirectory, Storage};
use basalt_base::{Error, Result};

use crate::attribute::Attribute;
use crate::block::integer_keys;
use crate::hash::{hash_bytes, scramble};
use crate::image::{open_parts, write_parts};
use crate::key_bytes::KeyShape;
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::ColumnStore;

/// Rows of a pile that are collected in memory at most.
const FILE_ROWS: usize = 65_536;
/// Bytes of all piles that are collected in memory, about.
pub(crate) const COLLECTED_BYTES: usize = 32 << 20;

/// Says which hash a key has, and so to which pile its rows go.
pub(crate) enum KeyHasher {
    Integers,
    Columns(KeyShape),
}

/// Piles that grow.
pub(crate) struct Piles {
    columns: Vec<Attribute>,
    storage: Arc<dyn Storage>,
    dir: PendingDirectory,
    piles: Vec<Pile>,
    /// Bytes of a pile that become a file.
    file_bytes: usize,
}

/// Piles that are whole.
pub(crate) struct FullPiles(Piles);

struct Pile {
    rows: ColumnStore,
    files: usize,
    bytes: usize,
}

impl KeyHasher {
    pub(crate) fn of(spec: &DictionarySpec) -> Result<KeyHasher> {
        Ok(match spec.layout.kind.is_complex() {
            true => KeyHasher::Columns(KeyShape::new(&spec.key_types())?),
            false => KeyHasher::Integers,
        })
    }

    /// The hash of each key, as the hashed layouts have it.
    pub(crate) fn hashes(&self, keys: &[ArrayRef]) -> Result<Vec<u64>> {
        Ok(match self {
            KeyHasher::Integers => integer_keys(&keys[0])?.into_iter().map(scramble).collect(),
            KeyHasher::Columns(shape) => {
                let keys = shape.encode(keys)?;
                (0..keys.len()).map(|row| hash_bytes(keys.get(row))).collect()
            }
        })
    }
}

impl Piles {
    /// Empty piles in the new directory `dir`, which keep about so many bytes in memory.
    pub(crate) fn create(
        spec: &DictionarySpec,
        count: usize,
        collected_bytes: usize,
        storage: &Arc<dyn Storage>,
        dir: &Path,
    ) -> Result<Piles> {
        let keys = spec.key_columns.iter().zip(spec.key_types()).map(|(column, ty)| Attribute {
            name: column.name.clone(),
            default: ty.default_array(1),
            ty,
            hierarchical: false,
            injective: false,
        });
        let bounds = spec.range.iter().flat_map(|range| {
            [&range.low, &range.high].map(|name| Attribute {
                name: name.clone(),
                default: range.ty.clone().into_nullable().default_array(1),
                ty: range.ty.clone().into_nullable(),
                hierarchical: false,
                injective: false,
            })
        });
        let columns: Vec<Attribute> = keys.chain(bounds).chain(spec.attributes.iter().cloned()).collect();
        let (storage, file_bytes) = (Arc::clone(storage), collected_bytes / count);
        let dir = PendingDirectory::create(Arc::clone(&storage), dir.to_owned())?;
        let piles = (0..count).map(|_| Pile { rows: ColumnStore::new(&columns), files: 0, bytes: 0 });
        let piles = piles.collect();
        Ok(Piles { columns, storage, dir, piles, file_bytes })
    }

    /// Adds the rows of a block, each to the pile that `piles` says.
    pub(crate) fn push(&mut self, block: &[ArrayRef], piles: &[usize]) -> Result<()> {
        for (pile, rows) in rows_of(self.piles.len(), piles).into_iter().enumerate() {
            let count = rows.len();
            if count == 0 {
                continue;
            }
            let store = &mut self.piles[pile].rows;
            store.push(&select(block, rows)?, count)?;
            if store.rows() >= FILE_ROWS || store.heap_bytes() >= self.file_bytes {
                self.write(pile)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<FullPiles> {
        (0..self.piles.len()).try_for_each(|pile| self.write(pile))?;
        Ok(FullPiles(self))
    }

    fn write(&mut self, at: usize) -> Result<()> {
        let path = self.path(at, self.piles[at].files);
        let pile = &mut self.piles[at];
        if pile.rows.rows() == 0 {
            return Ok(());
        }
        let mut rows = std::mem::replace(&mut pile.rows, ColumnStore::new(&self.columns));
        rows.shrink()?;
        pile.files += 1;
        pile.bytes += rows.heap_bytes();
        write_parts(self.storage.create(&path)?.as_mut(), |image| rows.save(image))
    }

    fn path(&self, pile: usize, file: usize) -> PathBuf {
        self.dir.path().join(format!("{pile}_{file}"))
    }
}

impl FullPiles {
    /// The rows of a pile, in the order in which they came.
    pub(crate) fn blocks(&self, pile: usize) -> impl Iterator<Item = Result<Vec<ArrayRef>>> + '_ {
        (0..self.0.piles[pile].files).map(move |file| self.block(&self.0.path(pile, file)))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.piles.len()
    }

    /// Of all piles together.
    pub(crate) fn bytes(&self) -> usize {
        self.0.piles.iter().map(|pile| pile.bytes).sum()
    }

    /// Gives the disk back what a pile takes; it is not read again.
    pub(crate) fn remove(&self, pile: usize) -> Result<()> {
        let files = 0..self.0.piles[pile].files;
        files.into_iter().try_for_each(|file| self.0.storage.remove_file(&self.0.path(pile, file)))
    }

    fn block(&self, path: &Path) -> Result<Vec<ArrayRef>> {
        let rows =
            open_parts(self.0.storage.as_ref(), path, |image| ColumnStore::new(&self.0.columns).open(image))?;
        let hits = Hits { payloads: (0..rows.rows() as u64).collect(), found: vec![true; rows.rows()] };
        (0..self.0.columns.len())
            .map(|column| {
                rows.check(column, &hits)?;
                rows.get(column, &hits)
            })
            .collect()
    }
}

/// The positions of the rows of each pile.
fn rows_of(count: usize, piles: &[usize]) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); count];
    piles.iter().enumerate().for_each(|(row, &pile)| rows[pile].push(row as u32));
    rows
}

pub(crate) fn select(columns: &[ArrayRef], rows: Vec<u32>) -> Result<Vec<ArrayRef>> {
    let rows = UInt32Array::from(rows);
    columns.iter().map(|column| take(column, &rows, None).map_err(Error::of_arrow)).collect()
}
