//! Builds the shards of a dictionary, and puts their parts into its file.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType, bail};

use crate::block::RowBlock;
use crate::hash::ShardBits;
use crate::image::{ImageWriter, Piece};
use crate::layout::{
    AutoChoice, AutoKeys, ComplexKeyHashed, ComplexKeyHashedBuilder, Cut, DensePart, FlatBuilder, FlatPart,
    Hashed, HashedBuilder, LayoutBuilder, Part, RangeShard, RangeShardBuilder, dense_part, hashes,
    range_shard_builder,
};
use crate::layout_kind::LayoutKind;
use crate::payloads::Payloads;
use crate::spec::DictionarySpec;
use crate::table::{ShardedTable, TableBuilder, TableForm};
use crate::table_form::{table_form, table_shape};
use crate::tombstones::{RowForm, surviving};
use crate::values::{Extent, InlineValues, ROWS_MAX, SEGMENT_BITS, Values};

/// The form that all shards share.
pub(super) struct ShardForm {
    count: usize,
    rows: RowForm,
    key_types: Vec<SqlType>,
    keys: KeysForm,
    payload_bytes: usize,
    /// The values, if the payload holds them.
    inline: Option<InlineValues>,
}

/// The structure into which the keys are built.
#[derive(Clone, Copy)]
enum KeysForm {
    /// A hash table; a packed one if it has no form.
    Table {
        form: Option<TableForm>,
        /// The choice of AUTO.
        chosen: Option<AutoChoice>,
    },
    Flat(ArrayShards),
    /// The array that AUTO makes of dense keys.
    Dense(ArrayShards),
}

/// Shards that are ranges of positions in an array.
#[derive(Clone, Copy)]
pub(super) struct ArrayShards {
    cut: Cut,
    /// The positions of all shards.
    places: u64,
    count: usize,
}

/// The keys of one shard and their attributes.
pub(super) struct BuiltShard {
    layout: ShardLayout,
    values: Values,
}

enum ShardLayout {
    Simple(Hashed),
    Complex(ComplexKeyHashed),
    Flat(FlatPart),
    Dense(DensePart),
    Range(RangeShard),
}

/// The parts of the shards that were written.
pub(super) struct Pieces {
    keys_form: KeysForm,
    inline: Option<InlineValues>,
    kind: Option<Piece>,
    count: usize,
    tables: Vec<Piece>,
    keys: Vec<Piece>,
    intervals: Vec<Piece>,
    values: Vec<Piece>,
    key_count: u64,
}

impl ArrayShards {
    /// `places` positions from the key `least` on, in about `count` shards.
    fn of(least: u64, places: u64, count: usize) -> Result<ArrayShards> {
        if places > ROWS_MAX as u64 {
            bail!(ArgumentOutOfBound, "an array of a dictionary's keys has at most {ROWS_MAX} places");
        }
        let place_bits = places.div_ceil(count as u64).max(1).next_power_of_two().trailing_zeros();
        let count = places.div_ceil(1 << place_bits).max(1) as usize;
        Ok(ArrayShards { cut: Cut { least, place_bits }, places, count })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn shard_of(&self, key: u64) -> usize {
        self.cut.place(key).0
    }

    /// The key at the first position of a shard, and its number of positions.
    fn part(&self, shard: usize) -> (u64, usize) {
        let before = (shard as u64) << self.cut.place_bits;
        (self.cut.first_key(shard), (self.places - before).min(1 << self.cut.place_bits) as usize)
    }
}

impl ShardForm {
    /// At most `count` shards, a power of two, with `rows` rows together.
    pub(super) fn of(
        spec: &DictionarySpec,
        rows_form: RowForm,
        count: usize,
        values: Values,
        extents: &[Extent],
        auto: &AutoKeys,
        rows: usize,
    ) -> Result<ShardForm> {
        let payload_bytes = table_shape(&spec.layout, values.payload_bytes()).payload_bytes;
        let keys = KeysForm::of(spec, count, auto, rows)?;
        let mut inline = match values {
            Values::Inline(inline) => Some(inline),
            _ => None,
        };
        let is_packed = matches!(keys, KeysForm::Dense(_) | KeysForm::Table { form: None, .. });
        if is_packed && let Some(inline) = &mut inline {
            inline.pack(extents);
        }
        let count = keys.arrays().map_or(count, |arrays| arrays.count);
        Ok(ShardForm { count, rows: rows_form, key_types: spec.key_types(), keys, payload_bytes, inline })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The shards, if they are ranges of positions.
    pub(super) fn arrays(&self) -> Option<ArrayShards> {
        self.keys.arrays()
    }

    /// No shards yet.
    pub(super) fn pieces(&self) -> Pieces {
        Pieces {
            keys_form: self.keys,
            inline: self.inline.clone(),
            kind: None,
            count: self.count,
            tables: Vec::new(),
            keys: Vec::new(),
            intervals: Vec::new(),
            values: Vec::new(),
            key_count: 0,
        }
    }

    /// Builds shard `shard` from `blocks`, which are all of its rows.
    pub(super) fn build<I: Iterator<Item = Result<Vec<ArrayRef>>>>(
        &self,
        spec: &DictionarySpec,
        shard: usize,
        blocks: impl Fn() -> I,
    ) -> Result<BuiltShard> {
        match self.rows {
            RowForm::Plain => self.build_of(spec, shard, &mut blocks()),
            RowForm::Marked => self.build_of(spec, shard, &mut surviving(spec, blocks)?),
        }
    }

    fn build_of(
        &self,
        spec: &DictionarySpec,
        shard: usize,
        blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    ) -> Result<BuiltShard> {
        let mut values = match &self.inline {
            Some(inline) => Values::Inline(inline.clone()),
            None => Values::new(&spec.attributes, false),
        };
        let mut builder = self.builder(spec, shard)?;
        for block in blocks {
            let RowBlock { rows, keys, bounds, columns } = RowBlock::of(spec, &block?)?;
            let payloads = values.push(&columns, rows)?;
            if values.rows() > 1 << SEGMENT_BITS {
                bail!(ArgumentOutOfBound, "a shard of a dictionary has more than {} rows", 1 << SEGMENT_BITS);
            }
            builder.push(&keys, &bounds, payloads)?;
        }
        let layout = builder.finish((shard as u64) << SEGMENT_BITS, &mut values)?;
        values.shrink()?;
        Ok(BuiltShard { layout, values })
    }

    fn builder(&self, spec: &DictionarySpec, shard: usize) -> Result<Builder> {
        let first = (shard as u64) << SEGMENT_BITS;
        let table = |shards| TableBuilder::of_shard(self.payload_bytes, ShardBits::of(shards));
        Ok(match self.keys {
            KeysForm::Table { form: Some(form), .. } if spec.layout.kind.is_range() => {
                Builder::Range { rows: range_shard_builder(spec)?, table: table(self.count), form }
            }
            KeysForm::Table { form: Some(form), .. } if spec.layout.kind.is_complex() => {
                let table = table(self.count);
                let builder = ComplexKeyHashedBuilder::of_shard(&self.key_types, table, form, first)?;
                Builder::Complex(Box::new(builder))
            }
            KeysForm::Table { form, .. } => {
                Builder::Simple(HashedBuilder::of_shard(table(self.count), form, first))
            }
            KeysForm::Flat(shards) => {
                let (least, places) = shards.part(shard);
                Builder::Flat(FlatBuilder::of_part(&spec.attributes, least, places))
            }
            KeysForm::Dense(shards) => {
                let (least, places) = shards.part(shard);
                Builder::Dense { table: table(1), least, places }
            }
        })
    }
}

impl KeysForm {
    fn of(spec: &DictionarySpec, count: usize, auto: &AutoKeys, rows: usize) -> Result<KeysForm> {
        let (least, places) = auto.places();
        let layout = &spec.layout;
        Ok(match layout.kind {
            LayoutKind::Flat => {
                let initial = layout.initial_array_size.min(layout.max_array_size);
                KeysForm::Flat(ArrayShards::of(0, (least + places).max(initial), count)?)
            }
            LayoutKind::Auto if auto.are_dense() => KeysForm::Dense(ArrayShards::of(least, places, count)?),
            LayoutKind::Auto => KeysForm::Table {
                form: (!auto.are_many()).then(|| table_form(layout, Some(rows))),
                chosen: Some(auto.hashed_choice()),
            },
            LayoutKind::CompactHashed => KeysForm::Table { form: None, chosen: None },
            // There may be far fewer keys than rows, so the table must not be sized by the rows.
            kind if kind.is_range() => {
                KeysForm::Table { form: Some(table_form(layout, Some(1))), chosen: None }
            }
            _ => KeysForm::Table { form: Some(table_form(layout, Some(rows))), chosen: None },
        })
    }

    fn arrays(&self) -> Option<ArrayShards> {
        match *self {
            KeysForm::Table { .. } => None,
            KeysForm::Flat(shards) | KeysForm::Dense(shards) => Some(shards),
        }
    }
}

enum Builder {
    Simple(HashedBuilder),
    Complex(Box<ComplexKeyHashedBuilder>),
    Flat(FlatBuilder),
    Dense { table: TableBuilder, least: u64, places: usize },
    Range { rows: Box<dyn RangeShardBuilder>, table: TableBuilder, form: TableForm },
}

impl Builder {
    fn push(&mut self, keys: &[ArrayRef], bounds: &[ArrayRef], payloads: Payloads) -> Result<()> {
        match self {
            Builder::Simple(builder) => builder.push(keys, payloads),
            Builder::Complex(builder) => builder.push(keys, payloads),
            Builder::Flat(builder) => builder.push(keys, payloads),
            Builder::Dense { table, .. } => table.push(hashes(&keys[0])?, payloads),
            Builder::Range { rows, .. } => rows.push(keys, bounds, &payloads.into_vec()),
        }
    }

    /// Builds the keys. Their rows have numbers from `first` on.
    fn finish(self, first: u64, values: &mut Values) -> Result<ShardLayout> {
        Ok(match self {
            Builder::Simple(builder) => ShardLayout::Simple(builder.into_layout(values)?),
            Builder::Complex(builder) => ShardLayout::Complex(builder.into_layout(values)?),
            Builder::Flat(builder) => ShardLayout::Flat(builder.into_part(first, values)?),
            Builder::Dense { table, least, places } => {
                ShardLayout::Dense(dense_part(table, least, places, first, values)?)
            }
            Builder::Range { rows, table, form } => ShardLayout::Range(rows.finish(table, form, first)?),
        })
    }
}

impl BuiltShard {
    /// The hash table, if the keys are in one.
    fn table(&self) -> Option<&ShardedTable> {
        match &self.layout {
            ShardLayout::Simple(layout) => Some(layout.table()),
            ShardLayout::Complex(layout) => Some(layout.table()),
            ShardLayout::Range(shard) => Some(shard.groups.table()),
            ShardLayout::Flat(_) | ShardLayout::Dense(_) => None,
        }
    }

    fn composite_keys(&self) -> Option<&ComplexKeyHashed> {
        match &self.layout {
            ShardLayout::Complex(layout) => Some(layout),
            ShardLayout::Range(shard) => shard.groups.composite_keys(),
            ShardLayout::Simple(_) | ShardLayout::Flat(_) | ShardLayout::Dense(_) => None,
        }
    }

    fn len(&self) -> usize {
        match &self.layout {
            ShardLayout::Simple(layout) => layout.table().len(),
            ShardLayout::Complex(layout) => layout.table().len(),
            ShardLayout::Flat(part) => part.len(),
            ShardLayout::Dense(part) => part.len(),
            ShardLayout::Range(shard) => shard.len(),
        }
    }

    fn save_keys(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        match &self.layout {
            ShardLayout::Simple(layout) => layout.table().save_shards(image),
            ShardLayout::Complex(layout) => layout.table().save_shards(image),
            ShardLayout::Flat(part) => part.save(image),
            ShardLayout::Dense(part) => part.save(image),
            ShardLayout::Range(shard) => shard.groups.table().save_shards(image),
        }
    }
}

impl Pieces {
    /// Writes the next shard.
    pub(super) fn write(&mut self, shard: &BuiltShard, image: &mut ImageWriter<'_>) -> Result<()> {
        self.key_count += shard.len() as u64;
        if self.kind.is_none()
            && let Some(table) = shard.table()
        {
            self.kind = Some(image.piece(|image| {
                table.save_kind(self.count, image);
                Ok(())
            })?);
        }
        self.tables.push(image.piece(|image| shard.save_keys(image))?);
        if let Some(layout) = shard.composite_keys() {
            self.keys.push(image.piece(|image| layout.save_keys(image))?);
        }
        if let ShardLayout::Range(shard) = &shard.layout {
            self.intervals.push(image.piece(|image| shard.save_intervals(image))?);
        }
        if let Values::Rows(store) = &shard.values {
            self.values.push(image.piece(|image| store.save(image))?);
        }
        Ok(())
    }

    /// Puts the parts into the order in which a loaded dictionary saves them, and returns the number of keys.
    pub(super) fn put(self, image: &mut ImageWriter<'_>) -> Result<u64> {
        match self.keys_form {
            KeysForm::Table { chosen, .. } => chosen.into_iter().for_each(|choice| choice.save(image)),
            KeysForm::Flat(shards) => shards.cut.save::<FlatPart>(self.count, image),
            KeysForm::Dense(shards) => shards.cut.save::<DensePart>(self.count, image),
        }
        self.kind.into_iter().chain(self.tables).for_each(|piece| image.put(piece));
        for pieces in [self.keys, self.intervals, self.values] {
            if !pieces.is_empty() {
                image.number(pieces.len() as u64);
                pieces.into_iter().for_each(|piece| image.put(piece));
            }
        }
        if let Some(inline) = self.inline {
            inline.save(image);
        }
        Ok(self.key_count)
    }
}
