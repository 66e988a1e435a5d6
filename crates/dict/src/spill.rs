//! Spill partitions: the rows of a source in files, until the shard of a partition is built.
//!
//! A partition is many files of some hundred kilobytes: columns in the form that the dictionary has them in, written
//! as they are in memory, and mapped again. They do not outlive the load, so nothing is synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_base::fs::{PendingDirectory, Storage};

use crate::attribute::Attribute;
use crate::block::{integer_keys, select};
use crate::hash::{hash_bytes, scramble};
use crate::image::{open_parts, write_parts};
use crate::key_bytes::KeyShape;
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::ColumnStore;

/// Rows of a partition that are buffered in memory, at most.
const FILE_ROWS: usize = 65_536;
/// About the bytes of all partitions that are buffered in memory.
pub(crate) const SPILL_BUFFER_BYTES: usize = 32 << 20;

/// Hashes keys; the hash decides the partition.
pub(crate) enum KeyHasher {
    Integers,
    Columns(KeyShape),
}

/// Routes rows to partitions and writes these.
pub(crate) struct SpillWriter {
    columns: Vec<Attribute>,
    storage: Arc<dyn Storage>,
    dir: PendingDirectory,
    partitions: Vec<SpillPartition>,
    /// The bytes of a partition that become a file.
    file_bytes: usize,
}

/// Reads the partitions after the last row.
pub(crate) struct SpillReader(SpillWriter);

struct SpillPartition {
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

    /// The hashes of the keys, the same as those of the hashed layouts.
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

impl SpillWriter {
    /// Empty partitions in the new directory `dir`, which buffer about `buffer_bytes` in memory.
    pub(crate) fn create(
        spec: &DictionarySpec,
        count: usize,
        buffer_bytes: usize,
        storage: &Arc<dyn Storage>,
        dir: &Path,
    ) -> Result<SpillWriter> {
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
        let (storage, file_bytes) = (Arc::clone(storage), buffer_bytes / count);
        let dir = PendingDirectory::create(Arc::clone(&storage), dir.to_owned())?;
        let partitions =
            (0..count).map(|_| SpillPartition { rows: ColumnStore::new(&columns), files: 0, bytes: 0 });
        let partitions = partitions.collect();
        Ok(SpillWriter { columns, storage, dir, partitions, file_bytes })
    }

    /// Adds the rows of a block; `partitions` has the partition of each row.
    pub(crate) fn push(&mut self, block: &[ArrayRef], partitions: &[usize]) -> Result<()> {
        for (partition, rows) in rows_of(self.partitions.len(), partitions).into_iter().enumerate() {
            let count = rows.len();
            if count == 0 {
                continue;
            }
            let store = &mut self.partitions[partition].rows;
            store.push(&select(block, rows)?, count)?;
            if store.rows() >= FILE_ROWS || store.heap_bytes() >= self.file_bytes {
                self.write(partition)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<SpillReader> {
        (0..self.partitions.len()).try_for_each(|partition| self.write(partition))?;
        Ok(SpillReader(self))
    }

    fn write(&mut self, at: usize) -> Result<()> {
        let path = self.path(at, self.partitions[at].files);
        let partition = &mut self.partitions[at];
        if partition.rows.rows() == 0 {
            return Ok(());
        }
        let mut rows = std::mem::replace(&mut partition.rows, ColumnStore::new(&self.columns));
        rows.shrink()?;
        partition.files += 1;
        partition.bytes += rows.heap_bytes();
        write_parts(self.storage.create(&path)?.as_mut(), |image| rows.save(image))
    }

    fn path(&self, partition: usize, file: usize) -> PathBuf {
        self.dir.path().join(format!("{partition}_{file}"))
    }
}

impl SpillReader {
    /// The rows of a partition, in the order in which they were added.
    pub(crate) fn blocks(&self, partition: usize) -> impl Iterator<Item = Result<Vec<ArrayRef>>> + '_ {
        (0..self.0.partitions[partition].files).map(move |file| self.block(&self.0.path(partition, file)))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.partitions.len()
    }

    /// The bytes of all partitions.
    pub(crate) fn bytes(&self) -> usize {
        self.0.partitions.iter().map(|partition| partition.bytes).sum()
    }

    /// Removes the files of a partition, which is not read again.
    pub(crate) fn remove(&self, partition: usize) -> Result<()> {
        let files = 0..self.0.partitions[partition].files;
        files.into_iter().try_for_each(|file| self.0.storage.remove_file(&self.0.path(partition, file)))
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

/// The positions of the rows of each partition.
fn rows_of(count: usize, partitions: &[usize]) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); count];
    partitions.iter().enumerate().for_each(|(row, &partition)| rows[partition].push(row as u32));
    rows
}
