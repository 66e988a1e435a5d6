//! Loads rows in memory, or shard by shard by way of spill partitions.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Error, Result};

use super::in_order::load_in_order;
use super::pending::{ImagePlace, LoadBounds, LoadedImage, in_file, threads};
use super::shard::{ArrayShards, BuiltShard, ShardForm};
use crate::block::{RowBlock, integer_keys};
use crate::dictionary::Dictionary;
use crate::image::ImageWriter;
use crate::layout::{AutoKeys, check_flat_key};
use crate::layout_kind::LayoutKind;
use crate::loaded::build;
use crate::spec::DictionarySpec;
use crate::spill::{KeyHasher, SpillReader, SpillWriter};
use crate::table::in_parallel;
use crate::tombstones::{RowForm, mark_attribute, surviving};
use crate::values::{Bitmap, Extent, SEGMENTS_MAX, Values};

/// Spill partitions: as many as there may be shards.
const SPILL_PARTITIONS: usize = SEGMENTS_MAX;

/// Loads the rows of `blocks`, which have this form; see [`crate::build`]. An error of the source or of the disk ends
/// the load, and leaves no file.
pub fn load_image(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    rows: RowForm,
    place: &ImagePlace<'_>,
    bounds: LoadBounds,
) -> Result<LoadedImage> {
    let spec = spec.resolved()?;
    if !spec.layout.kind.is_storable() {
        return build(spec, blocks).map(LoadedImage::InMemory);
    }
    let (mut first, mut bytes) = (Vec::new(), 0);
    while bytes <= bounds.memory_bytes {
        let Some(block) = blocks.next().transpose()? else {
            return build_few(spec, first, rows).map(LoadedImage::InMemory);
        };
        bytes += block.iter().map(|column| column.get_array_memory_size()).sum::<usize>();
        first.push(block);
    }
    let mut blocks = first.into_iter().map(Ok).chain(blocks);
    if spec.layout.kind.is_ordered() {
        return load_in_order(spec, &mut blocks, place, bounds);
    }
    let mut stage = SpillStage::new(&spec, rows, place, bounds.memory_bytes)?;
    for block in blocks {
        stage.push(&block?)?;
    }
    stage.into_image(place, bounds)
}

fn build_few(spec: DictionarySpec, blocks: Vec<Vec<ArrayRef>>, rows: RowForm) -> Result<Arc<dyn Dictionary>> {
    match rows {
        RowForm::Plain => build(spec, &mut blocks.into_iter().map(Ok)),
        RowForm::Marked => {
            let mut surviving = surviving(&spec, || blocks.iter().cloned().map(Ok))?;
            build(spec.clone(), &mut surviving)
        }
    }
}

/// The first stage of a load: rows are spilled, and what the shards must know of all rows is collected.
struct SpillStage {
    spec: DictionarySpec,
    rows_form: RowForm,
    hasher: KeyHasher,
    /// The values that a load in memory would have, without rows.
    values: Values,
    extents: Vec<Extent>,
    keys: AutoKeys,
    rows: usize,
    partitions: SpillWriter,
}

impl SpillStage {
    fn new(
        spec: &DictionarySpec,
        rows_form: RowForm,
        place: &ImagePlace<'_>,
        buffer_bytes: usize,
    ) -> Result<SpillStage> {
        let spilled = with_mark(spec, rows_form);
        Ok(SpillStage {
            spec: spec.clone(),
            rows_form,
            hasher: KeyHasher::of(spec)?,
            values: Values::new(&spec.attributes, spec.layout.kind.may_inline()),
            extents: Vec::new(),
            keys: AutoKeys::default(),
            rows: 0,
            partitions: SpillWriter::create(
                &spilled,
                SPILL_PARTITIONS,
                buffer_bytes,
                place.storage,
                place.spill_dir,
            )?,
        })
    }

    fn push(&mut self, block: &[ArrayRef]) -> Result<()> {
        let spec = &self.spec;
        let (columns, mark) = match self.rows_form {
            RowForm::Plain => (block, &[][..]),
            RowForm::Marked => block.split_at(block.len().saturating_sub(1)),
        };
        let RowBlock { rows, keys, bounds, columns } = RowBlock::of(spec, columns)?;
        if let Values::Inline(inline) = &self.values {
            inline.widen(&mut self.extents, &inline.payloads(&columns, rows)?);
        }
        if spec.layout.kind == LayoutKind::Flat {
            let most = spec.layout.max_array_size;
            integer_keys(&keys[0])?.into_iter().try_for_each(|key| check_flat_key(key, most))?;
        }
        if may_be_array(spec.layout.kind) {
            self.keys.push(&keys)?;
        }
        self.rows += rows;
        let partitions = self.hasher.hashes(&keys)?;
        let partitions: Vec<usize> = partitions.into_iter().map(partition_of).collect();
        self.partitions.push(&[&keys, &bounds, &columns, mark].concat(), &partitions)
    }

    fn into_image(self, place: &ImagePlace<'_>, bounds: LoadBounds) -> Result<LoadedImage> {
        let SpillStage { spec, rows_form, values, extents, mut keys, rows, partitions, .. } = self;
        let mut partitions = partitions.finish()?;
        if spec.layout.kind == LayoutKind::Auto && keys.are_dense() {
            let count = distinct_keys(&partitions, keys.places())?;
            keys = keys.counted(count);
        }
        let count =
            (partitions.bytes() / bounds.shard_bytes.max(1)).next_power_of_two().clamp(1, SPILL_PARTITIONS);
        let form = ShardForm::of(&spec, rows_form, count, values, &extents, &keys, rows)?;
        if let Some(shards) = form.arrays() {
            let dir = place.spill_dir.with_extension("positions");
            let place = ImagePlace { spill_dir: &dir, ..*place };
            partitions =
                repartition(&with_mark(&spec, rows_form), &partitions, &shards, &place, bounds.memory_bytes)?;
        }
        in_file(spec, place, |spec, image| write_shards(spec, &form, &partitions, image))
    }
}

/// Whether the layout may be an array of all keys.
fn may_be_array(kind: LayoutKind) -> bool {
    matches!(kind, LayoutKind::Flat | LayoutKind::Auto)
}

/// The definition with the tombstone as an attribute, if rows have one: the columns of spilled rows.
fn with_mark(spec: &DictionarySpec, rows: RowForm) -> DictionarySpec {
    let mut spec = spec.clone();
    spec.attributes.extend((rows == RowForm::Marked).then(mark_attribute));
    spec
}

/// The number of distinct keys, which are all below `least + places` and not below `least`.
fn distinct_keys(partitions: &SpillReader, (least, places): (u64, u64)) -> Result<usize> {
    let mut seen = Bitmap::zeroes(usize::try_from(places).map_err(Error::logical)?);
    for block in (0..partitions.count()).flat_map(|partition| partitions.blocks(partition)) {
        integer_keys(&block?[0])?.into_iter().for_each(|key| seen.set((key - least) as usize));
    }
    Ok(seen.count())
}

/// Moves the rows to partitions that are the ranges of positions of `shards`. Old partitions are removed one after
/// the other.
fn repartition(
    spec: &DictionarySpec,
    partitions: &SpillReader,
    shards: &ArrayShards,
    place: &ImagePlace<'_>,
    buffer_bytes: usize,
) -> Result<SpillReader> {
    let mut writer = SpillWriter::create(spec, shards.count(), buffer_bytes, place.storage, place.spill_dir)?;
    for partition in 0..partitions.count() {
        for block in partitions.blocks(partition) {
            let block = block?;
            let keys = integer_keys(&block[0])?.into_iter();
            writer.push(&block, &keys.map(|key| shards.shard_of(key)).collect::<Vec<_>>())?;
        }
        partitions.remove(partition)?;
    }
    writer.finish()
}

/// The partition of a hash: its high bits, so that a shard is several adjacent partitions.
fn partition_of(hash: u64) -> usize {
    (hash >> (u64::BITS - SPILL_PARTITIONS.trailing_zeros())) as usize
}

/// Builds and writes all shards; returns the number of their keys.
fn write_shards(
    spec: &DictionarySpec,
    form: &ShardForm,
    partitions: &SpillReader,
    image: &mut ImageWriter<'_>,
) -> Result<u64> {
    let threads = threads();
    let mut pieces = form.pieces();
    let shards: Vec<usize> = (0..form.count()).collect();
    let partitions_per_shard = partitions.count() / form.count();
    for shards in shards.chunks(threads) {
        let partitions_of = |shard: usize| shard * partitions_per_shard..(shard + 1) * partitions_per_shard;
        let build = |&shard: &usize| {
            form.build(spec, shard, || {
                partitions_of(shard).flat_map(|partition| partitions.blocks(partition))
            })
        };
        for built in in_parallel(shards.iter(), build) {
            let built: BuiltShard = built?;
            pieces.write(&built, image)?;
        }
        shards
            .iter()
            .flat_map(|&shard| partitions_of(shard))
            .try_for_each(|partition| partitions.remove(partition))?;
    }
    pieces.put(image)
}
