//! Makes a segment file in two passes over the rows.
//!
//! The first pass collects statistics and samples; with them the encodings are chosen, tokens and dictionaries are
//! trained. The second pass encodes. Both stream: the memory is that of the samples and of one block a column, for any
//! number of rows.

use arrow::array::{Array, ArrayRef, AsArray};
use basalt_base::fs::WritableFile;
use basalt_base::{Error, Result, bail, parallel, query};

use crate::ROWS_MAX;
use crate::Rank;
use crate::bits::ranks::RanksBuilder;
use crate::file::{Features, PendingComponent, SegmentWriter, SpoolPlace};
use crate::filter::KeyFilterBuilder;
use crate::key::{KeyIndexBuilder, KeySample, SecondaryIndexBuilder};
use crate::rows::{RowBlock, RowSource};
use crate::spec::{ColumnSpec, FILTER, KEY, SegmentSpec, TOMBSTONES, index_component};
use crate::trigram::TrigramBuilder;
use crate::value::{ColumnSample, StoreBuilder, ZonesBuilder, choose};

/// Shares of the memory: samples of all columns together, and entries of each secondary index that are sorted.
const SAMPLE_PART: usize = 4;
const SORT_PART: usize = 16;
const PART_BYTES_MIN: usize = 1 << 20;
const PART_BYTES_MAX: usize = 1 << 30;

/// How much a build may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Bytes of samples and of sorted runs. Dictionaries and blocks come on top; their sizes have bounds.
    pub memory_bytes: usize,
    /// Columns and indexes are encoded on so many threads, with the caller's.
    pub threads: usize,
}

impl BuildOptions {
    fn part(self, part: usize) -> usize {
        (self.memory_bytes / part).clamp(PART_BYTES_MIN, PART_BYTES_MAX)
    }
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions { memory_bytes: 512 << 20, threads: 1 }
    }
}

/// A segment that was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    pub rows: u32,
    pub tombstones: u32,
    /// The bytes of the file.
    pub bytes: u64,
}

/// Writes the rows of `source` as a segment of the number `segment` to `out`, an empty file, which the caller syncs.
pub fn build(
    source: &dyn RowSource,
    spec: &SegmentSpec,
    segment: u64,
    place: &SpoolPlace,
    options: BuildOptions,
    out: &mut dyn WritableFile,
) -> Result<Built> {
    let mut samples = Samples::new(spec, options.part(SAMPLE_PART))?;
    source.read(&mut |block| samples.add(spec, block))?;
    let mut encoders = Encoders::new(samples, spec, place, options)?;
    source.read(&mut |block| encoders.push(spec, block))?;
    let (rows, tombstones) = (encoders.rows, encoders.tombstone_count);
    let mut writer = SegmentWriter::begin(out, segment, Features::default())?;
    for component in encoders.finish()? {
        query::checkpoint()?;
        writer.add(component)?;
    }
    let bytes = writer.finish(u64::from(rows), u64::from(tombstones))?;
    Ok(Built { rows, tombstones, bytes })
}

/// What the first pass knows.
struct Samples {
    keys: KeySample,
    columns: Vec<ColumnSample>,
}

impl Samples {
    fn new(spec: &SegmentSpec, bytes: usize) -> Result<Samples> {
        let bytes = (bytes / spec.columns.len().max(1)).max(PART_BYTES_MIN);
        let columns = spec.columns.iter().map(|column| ColumnSample::new(&column.data_type, bytes));
        Ok(Samples { keys: KeySample::default(), columns: columns.collect::<Result<_>>()? })
    }

    fn add(&mut self, spec: &SegmentSpec, block: &RowBlock) -> Result<()> {
        check_block(spec, block)?;
        block.keys.iter().flatten().try_for_each(|key| self.keys.add(key))?;
        if self.keys.count() > ROWS_MAX {
            bail!(TooManyRows, "a segment has at most {ROWS_MAX} rows");
        }
        self.columns.iter_mut().zip(&block.columns).try_for_each(|(sample, values)| sample.add(values))
    }
}

fn check_block(spec: &SegmentSpec, block: &RowBlock) -> Result<()> {
    let rows = block.rows();
    let fits = block.columns.len() == spec.columns.len()
        && block.indexes.len() == spec.indexes.len()
        && block.columns.iter().all(|column| column.len() == rows)
        && block.indexes.iter().all(|index| index.len() == rows)
        && block
            .columns
            .iter()
            .zip(&spec.columns)
            .all(|(array, column)| *array.data_type() == column.data_type)
        && block.keys.null_count() == 0
        && block.tombstones.as_ref().is_none_or(|tombstones| tombstones.len() == rows);
    match fits {
        true => Ok(()),
        false => Err(Error::logical("a block of rows does not fit the spec of its segment")),
    }
}

/// The second pass.
struct Encoders {
    rows: u32,
    tombstone_count: u32,
    keys: KeyIndexBuilder,
    filter: KeyFilterBuilder,
    columns: Vec<ColumnEncoder>,
    indexes: Vec<SecondaryIndexBuilder>,
    tombstones: RanksBuilder,
    threads: usize,
}

/// What one thread does for a block of rows.
type Task<'a> = Box<dyn FnOnce() -> Result<()> + Send + 'a>;

/// The builders of a column.
struct ColumnEncoder {
    store: Box<dyn StoreBuilder>,
    zones: Option<ZonesBuilder>,
    trigrams: Option<TrigramBuilder>,
}

impl Encoders {
    fn new(
        samples: Samples,
        spec: &SegmentSpec,
        place: &SpoolPlace,
        options: BuildOptions,
    ) -> Result<Encoders> {
        let columns = spec.columns.iter().zip(&samples.columns);
        let columns = columns.map(|(column, sample)| ColumnEncoder::new(column, sample, place));
        let columns = columns.collect::<Result<_>>()?;
        let sorted = options.part(SORT_PART);
        let index = |name: &String| SecondaryIndexBuilder::new(&index_component(name), place, sorted);
        let indexes = spec.indexes.iter().map(index);
        Ok(Encoders {
            rows: 0,
            tombstone_count: 0,
            filter: KeyFilterBuilder::new(FILTER, samples.keys.count(), place),
            keys: KeyIndexBuilder::new(KEY, samples.keys, place)?,
            columns,
            indexes: indexes.collect(),
            tombstones: RanksBuilder::new(place),
            threads: options.threads,
        })
    }

    fn push(&mut self, spec: &SegmentSpec, block: &RowBlock) -> Result<()> {
        check_block(spec, block)?;
        let (rows, keys, filter) = (self.rows, &mut self.keys, &mut self.filter);
        let mut tasks: Vec<Task<'_>> = Vec::new();
        for (encoder, values) in self.columns.iter_mut().zip(&block.columns) {
            encoder.add_tasks(values, &mut tasks);
        }
        for (builder, entries) in self.indexes.iter_mut().zip(&block.indexes) {
            tasks.push(Box::new(move || {
                let mut entries = (rows..).zip(entries);
                entries.try_for_each(|(row, entry)| entry.map_or(Ok(()), |entry| builder.push(entry, row)))
            }));
        }
        tasks.push(Box::new(|| {
            block.keys.iter().flatten().try_for_each(|key| {
                keys.push(key)?;
                filter.push(key)
            })
        }));
        parallel::for_each(tasks.into_iter(), self.threads, |task| {
            query::checkpoint()?;
            task()
        })?;
        for row in block.tombstones.iter().flat_map(|tombstones| tombstones.set_indices()) {
            self.tombstones.push(self.rows + rank(row)?)?;
            self.tombstone_count += 1;
        }
        self.rows += rank(block.rows())?;
        Ok(())
    }

    fn finish(self) -> Result<Vec<PendingComponent>> {
        let mut components = self.keys.finish()?;
        components.push(self.filter.finish()?);
        if self.tombstone_count > 0 {
            let mut component = PendingComponent::new(TOMBSTONES, TOMBSTONES);
            self.tombstones.finish(self.rows, &mut component)?;
            components.push(component);
        }
        for index in self.indexes {
            components.extend(index.finish()?);
        }
        for column in self.columns {
            components.extend(column.store.finish()?);
            components.extend(column.zones.map(ZonesBuilder::finish).transpose()?);
            components.extend(column.trigrams.map(TrigramBuilder::finish).transpose()?);
        }
        Ok(components)
    }
}

impl ColumnEncoder {
    fn new(column: &ColumnSpec, sample: &ColumnSample, place: &SpoolPlace) -> Result<ColumnEncoder> {
        let zones = ZonesBuilder::has_zones(&column.data_type)
            .then(|| ZonesBuilder::new(&column.zones(), &column.data_type, place))
            .transpose()?;
        let trigrams = column.has_trigrams.then(|| {
            TrigramBuilder::new(
                place.clone(),
                &column.trigrams(),
                sample.string_bytes() / sample.rows().max(1),
            )
        });
        let store = choose(&column.component(), &column.data_type, column.strings, sample, place)?;
        Ok(ColumnEncoder { store, zones, trigrams })
    }

    /// Adds what is to be done with the next values, which may be done in any order.
    fn add_tasks<'a>(&'a mut self, values: &'a ArrayRef, tasks: &mut Vec<Task<'a>>) {
        let ColumnEncoder { store, zones, trigrams } = self;
        tasks.push(Box::new(|| store.push(values)));
        if let Some(zones) = zones {
            tasks.push(Box::new(|| zones.push(values)));
        }
        if let Some(trigrams) = trigrams {
            tasks.push(Box::new(|| {
                let strings = values
                    .as_binary_view_opt()
                    .ok_or_else(|| Error::logical("trigrams of values that are no strings"))?;
                strings.iter().try_for_each(|string| trigrams.push(string.unwrap_or_default()))
            }));
        }
    }
}

/// A number of rows, which the first pass has compared with [`ROWS_MAX`].
fn rank(rows: usize) -> Result<Rank> {
    Rank::try_from(rows).map_err(Error::logical)
}
