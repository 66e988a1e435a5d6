//! One shard of a dictionary that is loaded into its file, and the parts of all of them there.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType, bail};

use crate::block::split_block;
use crate::hash::ShardBits;
use crate::image::{ImageWriter, Piece};
use crate::layout::{
    AutoKeys, ComplexKeyHashed, ComplexKeyHashedBuilder, Hashed, HashedBuilder, LayoutBuilder, save_choice,
};
use crate::layout_kind::LayoutKind;
use crate::loaded::{table_form, table_shape};
use crate::spec::DictionarySpec;
use crate::table::{ShardedTable, TableBuilder, TableForm};
use crate::values::{Extent, InlineValues, SEGMENT_BITS, Values};

/// What all shards have in common.
pub(super) struct ShardForm {
    count: usize,
    key_types: Vec<SqlType>,
    /// `None`: packed.
    table: Option<TableForm>,
    payload_bytes: usize,
    /// The values, if the payload holds them.
    inline: Option<InlineValues>,
    /// What AUTO became.
    chosen: Option<&'static str>,
}

/// The keys of one shard and their attributes.
pub(super) struct BuiltShard {
    layout: ShardLayout,
    values: Values,
}

enum ShardLayout {
    Simple(Hashed),
    Complex(ComplexKeyHashed),
}

/// Where the parts of the shards are that were written.
pub(super) struct Pieces {
    chosen: Option<&'static str>,
    inline: Option<InlineValues>,
    kind: Option<Piece>,
    count: usize,
    tables: Vec<Piece>,
    keys: Vec<Piece>,
    values: Vec<Piece>,
    key_count: u64,
}

impl ShardForm {
    /// Of so many shards, a power of two, with so many rows together.
    pub(super) fn of(
        spec: &DictionarySpec,
        count: usize,
        values: Values,
        extents: &[Extent],
        keys: &AutoKeys,
        rows: usize,
    ) -> ShardForm {
        let payload_bytes = values.payload_bytes();
        let chosen = (spec.layout.kind == LayoutKind::Auto).then(|| keys.hashed_name());
        let is_packed = match chosen {
            Some(_) => keys.are_many(),
            None => spec.layout.kind == LayoutKind::CompactHashed,
        };
        let mut inline = match values {
            Values::Inline(inline) => Some(inline),
            _ => None,
        };
        if is_packed && let Some(inline) = &mut inline {
            inline.pack(extents);
        }
        let payload_bytes = table_shape(&spec.layout, payload_bytes).payload_bytes;
        let table = (!is_packed).then(|| table_form(&spec.layout, Some(rows)));
        ShardForm { count, key_types: spec.key_types(), table, payload_bytes, inline, chosen }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// No shards yet.
    pub(super) fn pieces(&self) -> Pieces {
        Pieces {
            chosen: self.chosen,
            inline: self.inline.clone(),
            kind: None,
            count: self.count,
            tables: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            key_count: 0,
        }
    }

    /// Shard `shard` of the rows of `blocks`, which are all that it has.
    pub(super) fn build(
        &self,
        spec: &DictionarySpec,
        shard: usize,
        blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    ) -> Result<BuiltShard> {
        let is_complex = spec.layout.kind.is_complex();
        let mut values = match &self.inline {
            Some(inline) => Values::Inline(inline.clone()),
            None => Values::new(&spec.attributes, false),
        };
        let table = TableBuilder::of_shard(self.payload_bytes, ShardBits::of(self.count));
        let first = (shard as u64) << SEGMENT_BITS;
        let mut builder = match self.table {
            Some(form) if is_complex => Builder::Complex(Box::new(ComplexKeyHashedBuilder::of_shard(
                &self.key_types,
                table,
                form,
                first,
            )?)),
            form => Builder::Simple(HashedBuilder::of_shard(table, form, first)),
        };
        for block in blocks {
            let (rows, keys, columns) = split_block(&self.key_types, &spec.attributes, &block?, !is_complex)?;
            let payloads = values.push(&columns, rows)?;
            if values.rows() > 1 << SEGMENT_BITS {
                bail!(ArgumentOutOfBound, "a shard of a dictionary has more than {} rows", 1 << SEGMENT_BITS);
            }
            builder.rows().push(&keys, payloads)?;
        }
        let layout = builder.finish(&mut values)?;
        values.shrink()?;
        Ok(BuiltShard { layout, values })
    }
}

enum Builder {
    Simple(HashedBuilder),
    Complex(Box<ComplexKeyHashedBuilder>),
}

impl Builder {
    fn rows(&mut self) -> &mut dyn LayoutBuilder {
        match self {
            Builder::Simple(builder) => builder,
            Builder::Complex(builder) => builder.as_mut(),
        }
    }

    fn finish(self, values: &mut Values) -> Result<ShardLayout> {
        Ok(match self {
            Builder::Simple(builder) => ShardLayout::Simple(builder.into_layout(values)?),
            Builder::Complex(builder) => ShardLayout::Complex(builder.into_layout(values)?),
        })
    }
}

impl BuiltShard {
    fn table(&self) -> &ShardedTable {
        match &self.layout {
            ShardLayout::Simple(layout) => layout.table(),
            ShardLayout::Complex(layout) => layout.table(),
        }
    }
}

impl Pieces {
    /// Writes the next shard.
    pub(super) fn write(&mut self, shard: &BuiltShard, image: &mut ImageWriter<'_>) -> Result<()> {
        let table = shard.table();
        self.key_count += table.len() as u64;
        if self.kind.is_none() {
            self.kind = Some(image.piece(|image| {
                table.save_kind(self.count, image);
                Ok(())
            })?);
        }
        self.tables.push(image.piece(|image| table.save_shards(image))?);
        if let ShardLayout::Complex(layout) = &shard.layout {
            self.keys.push(image.piece(|image| layout.save_keys(image))?);
        }
        if let Values::Rows(store) = &shard.values {
            self.values.push(image.piece(|image| store.save(image))?);
        }
        Ok(())
    }

    /// Puts the parts into the order in which a loaded dictionary saves them, and says how many keys there are.
    pub(super) fn put(self, image: &mut ImageWriter<'_>) -> Result<u64> {
        if let Some(name) = self.chosen {
            save_choice(name, image);
        }
        self.kind.into_iter().chain(self.tables).for_each(|piece| image.put(piece));
        for pieces in [self.keys, self.values] {
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
