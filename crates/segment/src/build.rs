//! Makes a segment file in two passes over the rows.
//!
//! The first pass collects statistics and samples; with them the encodings are chosen, tokens and dictionaries are
//! trained. The second pass encodes. Both stream: the memory is that of the samples and of one block a column, for any
//! number of rows.

use arrow::array::{Array, ArrayRef, AsArray};
use basalt_base::fs::WritableFile;
use basalt_base::{Error, Result, bail, query};

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

/// The bytes of the samples of all columns together.
const SAMPLE_BYTES: usize = 128 << 20;
const SAMPLE_BYTES_MIN: usize = 1 << 20;

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
    out: &mut dyn WritableFile,
) -> Result<Built> {
    let mut samples = Samples::new(spec)?;
    source.read(&mut |block| samples.add(spec, block))?;
    let mut encoders = Encoders::new(samples, spec, place)?;
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
    fn new(spec: &SegmentSpec) -> Result<Samples> {
        let bytes = (SAMPLE_BYTES / spec.columns.len().max(1)).max(SAMPLE_BYTES_MIN);
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
}

/// The builders of a column.
struct ColumnEncoder {
    store: Box<dyn StoreBuilder>,
    zones: Option<ZonesBuilder>,
    trigrams: Option<TrigramBuilder>,
}

impl Encoders {
    fn new(samples: Samples, spec: &SegmentSpec, place: &SpoolPlace) -> Result<Encoders> {
        let columns = spec.columns.iter().zip(&samples.columns);
        let columns = columns.map(|(column, sample)| ColumnEncoder::new(column, sample, place));
        let columns = columns.collect::<Result<_>>()?;
        let indexes =
            spec.indexes.iter().map(|name| SecondaryIndexBuilder::new(&index_component(name), place));
        Ok(Encoders {
            rows: 0,
            tombstone_count: 0,
            filter: KeyFilterBuilder::new(FILTER, samples.keys.count(), place),
            keys: KeyIndexBuilder::new(KEY, samples.keys, place)?,
            columns,
            indexes: indexes.collect(),
            tombstones: RanksBuilder::new(place),
        })
    }

    fn push(&mut self, spec: &SegmentSpec, block: &RowBlock) -> Result<()> {
        check_block(spec, block)?;
        for key in block.keys.iter().flatten() {
            self.keys.push(key)?;
            self.filter.push(key)?;
        }
        for (encoder, values) in self.columns.iter_mut().zip(&block.columns) {
            query::checkpoint()?;
            encoder.push(values)?;
        }
        for (builder, entries) in self.indexes.iter_mut().zip(&block.indexes) {
            for (row, entry) in (self.rows..).zip(entries) {
                entry.map_or(Ok(()), |entry| builder.push(entry, row))?;
            }
        }
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

    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        self.store.push(values)?;
        if let Some(zones) = &mut self.zones {
            zones.push(values)?;
        }
        if let Some(trigrams) = &mut self.trigrams {
            let strings = values
                .as_binary_view_opt()
                .ok_or_else(|| Error::logical("trigrams of values that are no strings"))?;
            strings.iter().try_for_each(|string| trigrams.push(string.unwrap_or_default()))?;
        }
        Ok(())
    }
}

/// A number of rows, which the first pass has compared with [`ROWS_MAX`].
fn rank(rows: usize) -> Result<Rank> {
    Rank::try_from(rows).map_err(Error::logical)
}
