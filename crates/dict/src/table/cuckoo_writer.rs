//! Fills the buckets of a table, group by group.
//!
//! All entries of a group go into their primary buckets while these have room. The others go into their alternate
//! buckets. Where both are full, an entry is displaced, which may displace another one (cuckoo hashing: Pagh and
//! Rodler, Journal of Algorithms 51, 2004; buckets of several cells: Dietzfelbinger and Weidling, TCS 380, 2007).
//!
//! An entry in its alternate bucket is displaced first: it returns to its primary bucket, so that fewer lookups read
//! two buckets. With five cells filled to 0.94 and to 0.965, 19 and 22 % of the entries are then in their alternate
//! bucket, not 21 and 28 %. An exhaustive search finds 18 and 20 % (simulated).

use basalt_base::Result;
use basalt_base::region::{RecyclingRegion, Region};

use super::CuckooTable;
use super::bucket_shape::{Address, Addressing, BucketShape, overflow_bit};
use super::cuckoo::{Cell, stash_section};
use crate::hash::ShardBits;

/// After this many displacements, an entry goes into the stash.
const DISPLACEMENTS_MAX: usize = 500;
/// With more entries in the stash, keys were chosen to crowd some buckets, and no displacement helps.
const STASH_DISPLACED_MAX: usize = 1000;

/// Builds a [`CuckooTable`] from entries in order of hash.
pub(super) struct CuckooTableWriter {
    region: RecyclingRegion,
    shape: BucketShape,
    addressing: Addressing,
    /// The shard of all hashes.
    shard: usize,
    len: usize,
    /// The first bucket of the group that is being filled.
    first: usize,
    /// The number of entries in each bucket of the group.
    filled: Vec<u8>,
    /// For each bucket of the group, a bit for each cell that is the alternate place of its entry.
    alternates: Vec<u16>,
    /// Entries of the group whose primary bucket is full.
    overflowed: Vec<(Address, u64)>,
    stash: Vec<(u64, u64)>,
}

impl CuckooTableWriter {
    /// A table for `len` entries of one shard that fills `load_factor` of its cells.
    pub(super) fn new(
        len: usize,
        load_factor: f64,
        shape: BucketShape,
        shard_bits: ShardBits,
    ) -> Result<CuckooTableWriter> {
        assert!(load_factor > 0.0 && load_factor < 1.0);
        let count = shape.buckets_for(len, load_factor).max(shape.buckets_min(shard_bits));
        let addressing = shape.addressing(count, shard_bits);
        let mut region = RecyclingRegion::new(shape.bytes(count as usize))?;
        region.ready(shape.bytes(addressing.group(0).1));
        Ok(CuckooTableWriter {
            region,
            shape,
            addressing,
            shard: 0,
            len: 0,
            first: 0,
            filled: vec![0; addressing.group(0).1],
            alternates: vec![0; addressing.group(0).1],
            overflowed: Vec::new(),
            stash: Vec::new(),
        })
    }

    /// Adds an entry whose hash is not smaller than the one before.
    #[inline(always)]
    pub(super) fn push(&mut self, hash: u64, payload: u64) {
        self.len += 1;
        let address = self.addressing.address(hash);
        if address.bucket >= self.first + self.filled.len() {
            self.end_group();
            let (first, len) = self.addressing.group(address.bucket);
            self.region.ready(self.shape.bytes(first + len));
            self.first = first;
            self.filled.clear();
            self.filled.resize(len, 0);
            self.alternates.clear();
            self.alternates.resize(len, 0);
        }
        if !self.put(address.bucket, Cell { word: self.shape.word(address.fingerprint, true), payload }) {
            self.shard = self.addressing.shard_bits.split(hash).0;
            self.overflowed.push((address, payload));
        }
    }

    /// Reuses memory that is not needed elsewhere any more.
    pub(super) fn give(&mut self, memory: Region) {
        self.region.give(memory);
    }

    pub(super) fn finish(mut self) -> Result<CuckooTable> {
        self.end_group();
        let CuckooTableWriter { region, shape, addressing, len, stash, .. } = self;
        Ok(CuckooTable {
            buckets: region.finish().into(),
            shape,
            addressing,
            len,
            stash: stash_section(stash)?,
        })
    }

    fn end_group(&mut self) {
        let mut overflowed = std::mem::take(&mut self.overflowed);
        for (address, payload) in overflowed.drain(..) {
            self.insert_alternate(address, payload);
        }
        self.overflowed = overflowed;
        for bucket in self.first..self.first + self.filled.len() {
            let mut cells = self.alternates[bucket - self.first];
            while cells != 0 {
                let word = Cell::word_at(&self.region, self.shape, bucket, cells.trailing_zeros() as usize);
                let fingerprint = self.shape.split(word).0;
                self.set_overflow_bit(Address {
                    bucket: self.addressing.primary_of(bucket, fingerprint),
                    fingerprint,
                });
                cells &= cells - 1;
            }
        }
    }

    /// Finds a place for an entry whose primary bucket is full: in its alternate bucket; else in its primary bucket,
    /// if another entry there can move to its alternate one; else in its alternate bucket, by displacing others.
    fn insert_alternate(&mut self, address: Address, payload: u64) {
        let mut bucket = self.addressing.alternate(address);
        let mut cell = Cell { word: self.shape.word(address.fingerprint, false), payload };
        if address.fingerprint != 0 && self.put(bucket, cell) {
            return;
        }
        if self.displace(address.bucket, Cell { word: self.shape.word(address.fingerprint, true), payload }) {
            return;
        }
        let displacements = match () {
            () if address.fingerprint == 0 => 0,
            () if self.stash.len() < STASH_DISPLACED_MAX => DISPLACEMENTS_MAX,
            () => 1,
        };
        for displacement in 0..displacements {
            if self.put(bucket, cell) || self.displace(bucket, cell) {
                return;
            }
            let at = self.victim(bucket, displacement);
            if let Some((to, word)) = self.other_place(bucket, at) {
                let moved = Cell { word, ..self.cell(bucket, at) };
                self.put_at(bucket, at, cell);
                (bucket, cell) = (to, moved);
            }
        }
        // `cell` is the last displaced entry, and `bucket` the full one where it belongs.
        let (fingerprint, is_primary) = self.shape.split(cell.word);
        let bucket = if is_primary { bucket } else { self.addressing.primary_of(bucket, fingerprint) };
        self.set_overflow_bit(Address { bucket, fingerprint });
        self.stash.push((self.addressing.hash(self.shard, Address { bucket, fingerprint }), cell.payload));
    }

    /// The cell of the full `bucket` whose entry is displaced: one in its alternate bucket, if there is one. After
    /// half of all displacements any entry is taken, so that a few buckets do not exchange their entries forever.
    fn victim(&self, bucket: usize, displacement: usize) -> usize {
        let (cells, alternates) = (self.shape.cells, u32::from(self.alternates[bucket - self.first]));
        let next = (displacement + bucket) % cells;
        if alternates == 0 || displacement > DISPLACEMENTS_MAX / 2 {
            return next;
        }
        let from_next = alternates >> next | alternates << (cells - next);
        (next + from_next.trailing_zeros() as usize) % cells
    }

    /// Puts a cell into the full `bucket`, in the place of an entry whose other bucket has room.
    fn displace(&mut self, bucket: usize, cell: Cell) -> bool {
        for at in 0..self.shape.cells {
            if let Some((to, word)) = self.other_place(bucket, at)
                && to != bucket
                && self.has_room(to)
            {
                self.put(to, Cell { word, ..self.cell(bucket, at) });
                self.put_at(bucket, at, cell);
                return true;
            }
        }
        false
    }

    /// The other bucket of the entry in a cell of `bucket`, and its word there; `None` if it may only be here.
    fn other_place(&self, bucket: usize, at: usize) -> Option<(usize, u64)> {
        let (fingerprint, is_primary) = self.shape.split(Cell::word_at(&self.region, self.shape, bucket, at));
        let to = match is_primary {
            true => self.addressing.alternate(Address { bucket, fingerprint }),
            false => self.addressing.primary_of(bucket, fingerprint),
        };
        (fingerprint != 0).then(|| (to, self.shape.word(fingerprint, !is_primary)))
    }

    /// Adds a cell to `bucket`, if it has room.
    #[inline(always)]
    fn put(&mut self, bucket: usize, cell: Cell) -> bool {
        let at = usize::from(self.filled[bucket - self.first]);
        if !self.has_room(bucket) {
            return false;
        }
        self.filled[bucket - self.first] += 1;
        self.put_at(bucket, at, cell);
        true
    }

    #[inline(always)]
    fn has_room(&self, bucket: usize) -> bool {
        usize::from(self.filled[bucket - self.first]) < self.shape.cells
    }

    #[inline(always)]
    fn cell(&self, bucket: usize, at: usize) -> Cell {
        Cell::at(&self.region, self.shape, bucket, at)
    }

    /// Puts a cell into `bucket`.
    #[inline(always)]
    fn put_at(&mut self, bucket: usize, at: usize, cell: Cell) {
        cell.put(&mut self.region, self.shape, bucket, at);
        let is_alternate = !self.shape.split(cell.word).1;
        let cells = &mut self.alternates[bucket - self.first];
        *cells = *cells & !(1 << at) | u16::from(is_alternate) << at;
    }

    /// Sets the overflow bit of an entry that is outside of its primary bucket.
    fn set_overflow_bit(&mut self, address: Address) {
        let at = self.shape.bucket_at(address.bucket) + self.shape.overflow_at();
        self.region[at] |= overflow_bit(address.fingerprint);
    }
}
