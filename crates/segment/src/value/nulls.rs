//! NULLs of a column, around the store of its other values.
//!
//! # Layout
//!
//! A nested component `nulls`, which a column without NULLs does not have, of one of two encodings:
//!
//! ```text
//! ranks      number of rows | the ranks of the NULLs, see `bits::ranks`
//! bitmap     number of rows | a section with a bit for each row, lowest bit first, set for NULL
//! ```
//!
//! # Invariants
//!
//! All of it is resident.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::nullif;
use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::numbers::no_value;
use super::store::{ColumnStore, StoreBuilder};
use crate::bits::packed::Packer;
use crate::bits::ranks::{MEMBER_BITS, Ranks, RanksBuilder};
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{ROWS_MAX, Rank};

/// The name of the nested component.
pub(super) const NULLS: &str = "nulls";

const RANKS: &str = "ranks";
const BITMAP: &str = "bitmap";
/// Bytes of a bitmap that are gathered before they go to the spool.
const PACKED_BYTES_MAX: usize = 8 << 10;

pub(super) struct NullsBuilder {
    values: Box<dyn StoreBuilder>,
    component: PendingComponent,
    set: SetBuilder,
    rows: u32,
}

enum SetBuilder {
    Ranks(RanksBuilder),
    Bitmap { packer: Packer, packed: Vec<u8>, spool: Spool },
}

impl NullsBuilder {
    /// `name` is that of the component, `nulls` of `rows` the expected share.
    pub(super) fn new(
        values: Box<dyn StoreBuilder>,
        name: String,
        nulls: u64,
        rows: u64,
        place: &SpoolPlace,
    ) -> NullsBuilder {
        let is_sparse = nulls.saturating_mul(MEMBER_BITS) < rows;
        let set = match is_sparse {
            true => SetBuilder::Ranks(RanksBuilder::new(place)),
            false => SetBuilder::Bitmap { packer: Packer::new(1), packed: Vec::new(), spool: place.spool() },
        };
        let mut component = PendingComponent::new(name, if is_sparse { RANKS } else { BITMAP });
        component.reason = format!("{nulls} of {rows} values are NULL");
        NullsBuilder { values, component, set, rows: 0 }
    }
}

impl StoreBuilder for NullsBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        self.values.push(values)?;
        for row in 0..values.len() {
            self.set.push(self.rows, values.is_null(row))?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut components = self.values.finish()?;
        let mut component = self.component;
        component.raw_bytes = u64::from(self.rows.div_ceil(8));
        component.number(u64::from(self.rows));
        self.set.finish(self.rows, &mut component)?;
        components.push(component);
        Ok(components)
    }
}

impl SetBuilder {
    fn push(&mut self, rank: Rank, is_null: bool) -> Result<()> {
        match self {
            SetBuilder::Ranks(ranks) if is_null => ranks.push(rank),
            SetBuilder::Ranks(_) => Ok(()),
            SetBuilder::Bitmap { packer, packed, spool } => {
                packer.push(u64::from(is_null), packed);
                if packed.len() >= PACKED_BYTES_MAX {
                    spool.write(packed)?;
                    packed.clear();
                }
                Ok(())
            }
        }
    }

    fn finish(self, rows: u32, component: &mut PendingComponent) -> Result<()> {
        match self {
            SetBuilder::Ranks(ranks) => ranks.finish(rows, component),
            SetBuilder::Bitmap { packer, mut packed, mut spool } => {
                packer.finish(&mut packed);
                spool.write(&packed)?;
                component.section(spool);
                Ok(())
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Nulls {
    values: Arc<dyn ColumnStore>,
    set: Set,
}

#[derive(Debug)]
enum Set {
    Ranks(Ranks),
    /// The bits, and their bytes.
    Bitmap(Section, Buffer),
}

impl Nulls {
    pub(super) fn open(values: Arc<dyn ColumnStore>, component: &mut ComponentReader<'_>) -> Result<Nulls> {
        let rows = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        if rows != values.len() {
            let what = format!("{rows} rows, but the column has {}", values.len());
            return Err(component.place().corrupt(what));
        }
        let set = match component.encoding() {
            RANKS => Set::Ranks(Ranks::open(component, rows)?),
            BITMAP => {
                let bits = component.resident_of(u64::from(rows.div_ceil(8)))?;
                Set::Bitmap(bits.clone(), bits.into())
            }
            other => return Err(component.place().corrupt(format!("`{other}` is no encoding of NULLs"))),
        };
        Ok(Nulls { values, set })
    }

    /// Makes the values at set bits NULL.
    fn with_nulls(values: &ArrayRef, nulls: BooleanBuffer) -> Result<ArrayRef> {
        if nulls.len() != values.len() {
            return Err(Error::logical("a store gave more or fewer values than it was asked for"));
        }
        match nulls.has_true() {
            true => nullif(values, &BooleanArray::new(nulls, None)).map_err(Error::logical),
            false => Ok(Arc::clone(values)),
        }
    }
}

impl Set {
    #[inline]
    fn has(&self, rank: Rank) -> bool {
        match self {
            Set::Ranks(ranks) => ranks.position(rank).is_some(),
            Set::Bitmap(bits, _) => {
                bits.get(rank as usize / 8).is_some_and(|byte| byte >> (rank % 8) & 1 == 1)
            }
        }
    }
}

impl ColumnStore for Nulls {
    fn len(&self) -> u32 {
        self.values.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let values = self.values.take(ranks)?;
        let nulls = BooleanBuffer::collect_bool(ranks.len(), |at| self.set.has(ranks[at]));
        Nulls::with_nulls(&values, nulls)
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        if ranks.start > ranks.end || ranks.end > self.len() {
            return Err(no_value(ranks.end, self.len()));
        }
        let values = self.values.scan(ranks.clone())?;
        let nulls = match &self.set {
            Set::Bitmap(_, bits) => BooleanBuffer::new(bits.clone(), ranks.start as usize, ranks.len()),
            Set::Ranks(set) => {
                let mut nulls = BooleanBufferBuilder::new(ranks.len());
                nulls.append_n(ranks.len(), false);
                set.each_in(ranks.clone(), |rank, _| nulls.set_bit((rank - ranks.start) as usize, true));
                nulls.finish()
            }
        };
        Nulls::with_nulls(&values, nulls)
    }

    fn append_value(&self, rank: Rank, out: &mut Vec<u8>) -> Result<bool> {
        if self.set.has(rank) { Ok(false) } else { self.values.append_value(rank, out) }
    }

    fn as_strings(&self) -> Option<&dyn super::store::StringStore> {
        self.values.as_strings()
    }

    fn stored_bytes(&self) -> u64 {
        let set = match &self.set {
            Set::Ranks(ranks) => ranks.bytes(),
            Set::Bitmap(bits, _) => bits.len(),
        };
        self.values.stored_bytes() + set as u64
    }
}
