//! The rows of a source in files, a pile for each shard, until the shard is built.
//!
//! A pile is a few files of some ten thousand rows each: columns as the dictionary has them, written as
//! they lie in memory and mapped again. They hold nothing that outlives the load, so nothing is synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_base::fs::{PendingDirectory, Storage};

use super::{rows_of, select};
use crate::dictionary::Attribute;
use crate::image::{open_parts, write_parts};
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::ColumnStore;

/// Rows of a pile that are collected in memory.
const FILE_ROWS: usize = 65_536;

/// Piles that grow.
pub(super) struct Piles {
    columns: Vec<Attribute>,
    storage: Arc<dyn Storage>,
    dir: PendingDirectory,
    piles: Vec<Pile>,
}

/// Piles that are whole.
pub(super) struct FullPiles(Piles);

struct Pile {
    rows: ColumnStore,
    files: usize,
}

impl Piles {
    /// Empty piles in the new directory `dir`.
    pub(super) fn create(
        spec: &DictionarySpec,
        count: usize,
        storage: Arc<dyn Storage>,
        dir: &Path,
    ) -> Result<Piles> {
        let keys = spec.key_columns.iter().zip(spec.key_types()).map(|(column, ty)| Attribute {
            name: column.name.clone(),
            default: ty.default_array(1),
            ty,
            hierarchical: false,
            injective: false,
        });
        let columns: Vec<Attribute> = keys.chain(spec.attributes.iter().cloned()).collect();
        let dir = PendingDirectory::create(Arc::clone(&storage), dir.to_owned())?;
        let piles = (0..count).map(|_| Pile { rows: ColumnStore::new(&columns), files: 0 }).collect();
        Ok(Piles { columns, storage, dir, piles })
    }

    /// Adds the rows of a block, each to the pile of its shard.
    pub(super) fn push(&mut self, block: &[ArrayRef], shards: &[usize]) -> Result<()> {
        for (shard, rows) in rows_of(shards).into_iter().enumerate() {
            let count = rows.len();
            self.piles[shard].rows.push(&select(block, rows)?, count)?;
            if self.piles[shard].rows.rows() >= FILE_ROWS {
                self.write(shard)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<FullPiles> {
        (0..self.piles.len()).try_for_each(|shard| self.write(shard))?;
        Ok(FullPiles(self))
    }

    fn write(&mut self, shard: usize) -> Result<()> {
        let path = self.path(shard, self.piles[shard].files);
        let pile = &mut self.piles[shard];
        pile.files += 1;
        let mut rows = std::mem::replace(&mut pile.rows, ColumnStore::new(&self.columns));
        rows.shrink()?;
        write_parts(self.storage.create(&path)?.as_mut(), |image| rows.save(image))
    }

    fn path(&self, shard: usize, file: usize) -> PathBuf {
        self.dir.path().join(format!("{shard}_{file}"))
    }
}

impl FullPiles {
    /// The rows of a shard, in the order in which they came.
    pub(super) fn blocks(&self, shard: usize) -> impl Iterator<Item = Result<Vec<ArrayRef>>> + '_ {
        (0..self.0.piles[shard].files).map(move |file| self.block(&self.0.path(shard, file)))
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
