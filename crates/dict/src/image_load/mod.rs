//! A dictionary that is loaded into its file: the memory of a load is bounded, whatever its rows are.
//!
//! Rows up to [`LoadBounds::memory_bytes`] are loaded in memory. More of them are dealt to files, a pile for
//! each stretch of hashes ([`Piles`]). Then one shard after the other is built from its piles ([`shard`]),
//! written, and freed. Once all are there and synced, the file gets its name: what opens it has the dictionary
//! that a load in memory would have made, cut into shards.
//!
//! Keys that become positions in an array (FLAT, and AUTO of dense keys) are dealt once more when all are known, a
//! pile for each stretch of positions: from then on a shard is such a stretch.
//!
//! Layouts whose keys are put in order all together have no shards: their keys stay in memory to the end ([`in_order`]).
//!
//! # Cost
//!
//! On disk, the rows once while the load runs, and the version. In memory, some of the rows ([`LoadBounds::memory_bytes`]); then
//! the rows and the table of as many shards as are built at once.

mod in_order;
mod shard;

#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::fs::{PendingFile, StartedFile, Storage};
use basalt_base::region::Incoming;
use basalt_base::{Error, Result};

use self::in_order::load_in_order;
use self::shard::{ArrayShards, BuiltShard, ShardForm};
use crate::block::{RowBlock, integer_keys};
use crate::dictionary::Dictionary;
use crate::image::{ImageWriter, Written, open_unnamed, open_unpublished};
use crate::layout::{AutoKeys, check_flat_key};
use crate::layout_kind::LayoutKind;
use crate::loaded::build;
use crate::piles::{COLLECTED_BYTES, FullPiles, KeyHasher, Piles};
use crate::spec::DictionarySpec;
use crate::table::in_parallel;
use crate::tombstones::{RowForm, mark_attribute, surviving};
use crate::values::{Bitmap, Extent, SEGMENTS_MAX, Values};

/// As many shards as there may be at most.
const PILES: usize = SEGMENTS_MAX;
/// Shards that are built at once, at most.
const THREADS_MAX: usize = 4;

/// Where the file goes.
pub struct ImagePlace<'a> {
    pub storage: &'a Arc<dyn Storage>,
    pub path: &'a Path,
    /// What the dictionary was made by, as for [`crate::save_image`].
    pub definition: &'a str,
    /// A directory that does not exist yet, for rows on their way.
    pub piles: &'a Path,
}

/// What a load may take.
#[derive(Clone, Copy, Debug)]
pub struct LoadBounds {
    /// Rows of so many bytes are loaded without files; more of them have so many bytes in memory while they are
    /// dealt.
    pub memory_bytes: usize,
    /// Rows of a shard have about so many bytes, or more where there would be too many shards.
    pub shard_bytes: usize,
}

impl Default for LoadBounds {
    fn default() -> LoadBounds {
        LoadBounds { memory_bytes: COLLECTED_BYTES, shard_bytes: 16 << 20 }
    }
}

impl LoadBounds {
    /// About what a load has in memory at most: rows that are dealt, or shards that are built, each as rows and as
    /// what becomes of them.
    pub fn memory_most(&self) -> usize {
        self.memory_bytes.max(threads() * 2 * self.shard_bytes)
    }
}

/// A loaded dictionary.
pub enum LoadedImage {
    /// In memory, because it is small or of a layout without shards.
    InMemory(Arc<dyn Dictionary>),
    InFile(Box<PendingImage>),
}

/// A dictionary in a file that has no name yet. Dropped, it is gone.
pub struct PendingImage {
    spec: DictionarySpec,
    element_count: u64,
    definition: String,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// Taken when it ends.
    started: Option<(StartedFile, Written)>,
}

/// Loads the rows of `blocks`, which have this form; see [`crate::build`]. The source's first error, and the disk's,
/// end the load and leave nothing.
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
    let mut dealt = Dealt::new(&spec, rows, place, bounds.memory_bytes)?;
    for block in blocks {
        dealt.push(&block?)?;
    }
    dealt.into_image(place, bounds)
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

/// Rows in piles, and what was learned of them on the way.
struct Dealt {
    spec: DictionarySpec,
    rows_form: RowForm,
    hasher: KeyHasher,
    /// As a load in memory would have them; without rows.
    values: Values,
    extents: Vec<Extent>,
    keys: AutoKeys,
    rows: usize,
    piles: Piles,
}

impl Dealt {
    fn new(
        spec: &DictionarySpec,
        rows_form: RowForm,
        place: &ImagePlace<'_>,
        collected_bytes: usize,
    ) -> Result<Dealt> {
        let on_the_way = with_mark(spec, rows_form);
        Ok(Dealt {
            spec: spec.clone(),
            rows_form,
            hasher: KeyHasher::of(spec)?,
            values: Values::new(&spec.attributes, spec.layout.kind.may_inline()),
            extents: Vec::new(),
            keys: AutoKeys::default(),
            rows: 0,
            piles: Piles::create(&on_the_way, PILES, collected_bytes, place.storage, place.piles)?,
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
        if is_array_of_some(spec.layout.kind) {
            self.keys.push(&keys)?;
        }
        self.rows += rows;
        let piles = self.hasher.hashes(&keys)?;
        let piles: Vec<usize> = piles.into_iter().map(pile_of).collect();
        self.piles.push(&[&keys, &bounds, &columns, mark].concat(), &piles)
    }

    fn into_image(self, place: &ImagePlace<'_>, bounds: LoadBounds) -> Result<LoadedImage> {
        let Dealt { spec, rows_form, values, extents, mut keys, rows, piles, .. } = self;
        let mut piles = piles.finish()?;
        if spec.layout.kind == LayoutKind::Auto && keys.are_dense() {
            let count = distinct_keys(&piles, keys.places())?;
            keys = keys.counted(count);
        }
        let count = (piles.bytes() / bounds.shard_bytes.max(1)).next_power_of_two().clamp(1, PILES);
        let form = ShardForm::of(&spec, rows_form, count, values, &extents, &keys, rows)?;
        if let Some(shards) = form.arrays() {
            let dir = place.piles.with_extension("positions");
            let place = ImagePlace { piles: &dir, ..*place };
            piles = deal_again(&with_mark(&spec, rows_form), &piles, &shards, &place, bounds.memory_bytes)?;
        }
        in_file(spec, place, |spec, image| write_shards(spec, &form, &piles, image))
    }
}

/// The dictionary that `write` writes, and says the number of keys of.
fn in_file(
    spec: DictionarySpec,
    place: &ImagePlace<'_>,
    write: impl FnOnce(&DictionarySpec, &mut ImageWriter<'_>) -> Result<u64>,
) -> Result<LoadedImage> {
    let mut started = PendingFile::start(place.storage.as_ref(), place.path)?;
    let mut image = ImageWriter::resume(started.file(), Written::default());
    let written = write(&spec, &mut image).map(|len| (len, image.pause()));
    match written {
        Ok((element_count, written)) => Ok(LoadedImage::InFile(Box::new(PendingImage {
            spec,
            element_count,
            definition: place.definition.to_owned(),
            storage: Arc::clone(place.storage),
            path: place.path.to_owned(),
            started: Some((started, written)),
        }))),
        Err(error) => {
            started.discard(place.storage.as_ref());
            Err(error)
        }
    }
}

/// Whether the layout is an array of all keys, or may be.
fn is_array_of_some(kind: LayoutKind) -> bool {
    matches!(kind, LayoutKind::Flat | LayoutKind::Auto)
}

/// What rows on their way have.
fn with_mark(spec: &DictionarySpec, rows: RowForm) -> DictionarySpec {
    let mut spec = spec.clone();
    spec.attributes.extend((rows == RowForm::Marked).then(mark_attribute));
    spec
}

/// How many keys there are among so many places from the least on.
fn distinct_keys(piles: &FullPiles, (least, places): (u64, u64)) -> Result<usize> {
    let mut seen = Bitmap::zeroes(usize::try_from(places).map_err(Error::logical)?);
    for block in (0..piles.count()).flat_map(|pile| piles.blocks(pile)) {
        integer_keys(&block?[0])?.into_iter().for_each(|key| seen.set((key - least) as usize));
    }
    Ok(seen.count())
}

/// The rows of `piles`, which are removed one after the other, in piles of shards that are stretches of positions.
fn deal_again(
    spec: &DictionarySpec,
    piles: &FullPiles,
    shards: &ArrayShards,
    place: &ImagePlace<'_>,
    collected_bytes: usize,
) -> Result<FullPiles> {
    let mut dealt = Piles::create(spec, shards.count(), collected_bytes, place.storage, place.piles)?;
    for pile in 0..piles.count() {
        for block in piles.blocks(pile) {
            let block = block?;
            let keys = integer_keys(&block[0])?.into_iter();
            dealt.push(&block, &keys.map(|key| shards.shard_of(key)).collect::<Vec<_>>())?;
        }
        piles.remove(pile)?;
    }
    dealt.finish()
}

/// The pile of a hash: its high bits, so that some piles together are a shard.
fn pile_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PILES.trailing_zeros())) as usize
}

/// Shards that are built at once.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Builds and writes all shards; says how many keys they have.
fn write_shards(
    spec: &DictionarySpec,
    form: &ShardForm,
    piles: &FullPiles,
    image: &mut ImageWriter<'_>,
) -> Result<u64> {
    let threads = threads();
    let mut pieces = form.pieces();
    let shards: Vec<usize> = (0..form.count()).collect();
    let piles_a_shard = piles.count() / form.count();
    for shards in shards.chunks(threads) {
        let piles_of = |shard: usize| shard * piles_a_shard..(shard + 1) * piles_a_shard;
        let build =
            |&shard: &usize| form.build(spec, shard, || piles_of(shard).flat_map(|pile| piles.blocks(pile)));
        for built in in_parallel(shards.iter(), build) {
            let built: BuiltShard = built?;
            pieces.write(&built, image)?;
        }
        shards.iter().flat_map(|&shard| piles_of(shard)).try_for_each(|pile| piles.remove(pile))?;
    }
    pieces.put(image)
}

impl LoadedImage {
    pub fn element_count(&self) -> u64 {
        match self {
            LoadedImage::InMemory(dictionary) => dictionary.stats().element_count,
            LoadedImage::InFile(pending) => pending.element_count,
        }
    }
}

impl PendingImage {
    /// Ends the file with `stamp`, gives it its name and opens it: it is there whole and durable, or what was
    /// there before is.
    pub fn publish(mut self, stamp: &[u8]) -> Result<Arc<dyn Dictionary>> {
        let ended = self.end(stamp)?;
        let storage = self.storage.as_ref();
        let ended = ended.finish(storage)?;
        // What cannot be opened must not take the place of what can: expressions are compiled here.
        let opened = ended
            .map(storage)
            .and_then(|file| open_unpublished(self.spec.clone(), file, &self.path, &self.definition));
        match opened {
            Ok(dictionary) => ended.publish(storage).map(|()| dictionary),
            Err(error) => {
                ended.discard(storage);
                Err(error)
            }
        }
    }

    /// Ends the file, which never gets a name, and opens it; and says what brings it into memory while it
    /// answers, unless it is there. The file is gone with the dictionary, or once that is in memory.
    pub fn open_unnamed(mut self) -> Result<(Arc<dyn Dictionary>, Option<Incoming>)> {
        let file = self.end(&[])?.map_and_remove(self.storage.as_ref())?;
        open_unnamed(self.spec.clone(), file, &self.definition)
    }

    fn end(&mut self, stamp: &[u8]) -> Result<StartedFile> {
        let (mut started, written) =
            self.started.take().ok_or_else(|| Error::logical("a dictionary's file is ended once"))?;
        match ImageWriter::resume(started.file(), written).finish(&self.definition, stamp) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.discard(self.storage.as_ref());
                Err(error)
            }
        }
    }
}

impl Drop for PendingImage {
    fn drop(&mut self) {
        if let Some((started, _)) = self.started.take() {
            started.discard(self.storage.as_ref());
        }
    }
}
