//! The rows of a cache by key, with their lifetimes, evicted when there is no room.
//!
//! The clock algorithm decides which cell is evicted: a hand goes round all cells, and spares a cell once that was
//! used since it passed. Keys that the source does not have are in memory only, where a full file does not evict
//! them. So there are at most as many of them as of keys with rows, or [`MISSING_MIN`]; then another one of them is
//! evicted.

use basalt_base::{Result, bail};
use hashbrown::HashTable;

use super::cell_list::{Cell, CellList, RowPlace};
use super::disk::{DiskPlace, DiskRows};
use super::slots::Slots;
use crate::hash::hash_bytes;
use crate::values::StringArena;

/// This many keys without a row are stored, even if fewer keys have one.
const MISSING_MIN: usize = 1 << 20;

pub(super) struct Cells {
    /// Positions in `cells`, by hash of the key.
    table: HashTable<u32>,
    cells: CellList,
    /// Keys and rows of the cells.
    slots: Slots,
    cells_max: usize,
    /// Cells of keys that the source does not have.
    missing_count: usize,
    /// The least limit of missing keys, see [`MISSING_MIN`].
    missing_min: usize,
    hand: usize,
    disk: Option<DiskRows>,
}

/// The state of a key's cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    Fresh,
    /// Expired, but may be returned.
    Stale,
    Absent,
}

impl Cells {
    pub(super) fn in_memory(cells_max: u64) -> Cells {
        Cells {
            table: HashTable::new(),
            cells: CellList::default(),
            slots: Slots::default(),
            cells_max: usize::try_from(cells_max).unwrap_or(usize::MAX),
            missing_count: 0,
            missing_min: MISSING_MIN,
            hand: 0,
            disk: None,
        }
    }

    pub(super) fn on_disk(disk: DiskRows, cells_max: u64) -> Cells {
        Cells { disk: Some(disk), ..Cells::in_memory(cells_max) }
    }

    /// The state of the cell of `key`. Its row is added to `rows`, unless it has none or the cell is absent.
    pub(super) fn get(&mut self, key: &[u8], now_us: u64, rows: &mut StringArena) -> Result<Freshness> {
        let Some(at) = self.find(key) else {
            return Ok(Freshness::Absent);
        };
        let cell = &self.cells[at];
        let is_stale = now_us >= cell.expires_us;
        if now_us >= cell.dies_us || !self.read_cell(cell, rows)? {
            return Ok(Freshness::Absent);
        }
        self.cells[at].used = true;
        Ok(if is_stale { Freshness::Stale } else { Freshness::Fresh })
    }

    /// All keys whose row may still be returned.
    pub(super) fn keys(&self, now_us: u64) -> StringArena {
        let mut keys = StringArena::default();
        let has_row = |cell: &&Cell| now_us < cell.dies_us && !cell.is_missing();
        self.cells.iter().filter(has_row).for_each(|cell| keys.push(key_of(&self.slots, cell)));
        keys
    }

    /// Adds the row of `key` to `rows`; `false` if it has none that may be returned. It does not count as a use.
    pub(super) fn read(&self, key: &[u8], now_us: u64, rows: &mut StringArena) -> Result<bool> {
        let before = rows.len();
        let cell = self.find(key).map(|at| &self.cells[at]);
        if let Some(cell) = cell.filter(|cell| now_us < cell.dies_us) {
            self.read_cell(cell, rows)?;
        }
        Ok(rows.len() > before)
    }

    /// Adds the row of `cell` to `rows`, if the source has one; `false` if the row is lost.
    fn read_cell(&self, cell: &Cell, rows: &mut StringArena) -> Result<bool> {
        let row = self.row_of(cell);
        match (cell.row, &self.disk) {
            (RowPlace::Missing, _) => {}
            (RowPlace::Memory, _) => rows.push(row),
            (RowPlace::Disk, Some(disk)) => match disk.read(DiskPlace::from_bytes(row)?)? {
                Some(row) => rows.push(&row),
                None => return Ok(false),
            },
            (RowPlace::Disk, None) => return Ok(false),
        }
        Ok(true)
    }

    /// The row, which follows the key in the cell's slot.
    fn row_of(&self, cell: &Cell) -> &[u8] {
        &self.slots.get(cell.slot, cell.slot_bytes())[cell.key_bytes as usize..]
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let is_key = |&at: &u32| key_of(&self.slots, &self.cells[at as usize]) == key;
        self.table.find(hash_bytes(key), is_key).map(|&at| at as usize)
    }

    /// Stores the row of `key`; `None` if the source has none.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        row: Option<&[u8]>,
        expires_us: u64,
        dies_us: u64,
    ) -> Result<()> {
        let place;
        let (row_place, row) = match (row, &mut self.disk) {
            (None, _) => (RowPlace::Missing, &[][..]),
            (Some(row), None) => (RowPlace::Memory, row),
            (Some(row), Some(disk)) => {
                let (at, dropped) = disk.append(row)?;
                if dropped {
                    self.forget_dropped()?;
                }
                place = at.to_bytes();
                (RowPlace::Disk, &place[..])
            }
        };
        let (Ok(key_bytes), Ok(row_bytes)) = (u32::try_from(key.len()), u32::try_from(row.len())) else {
            bail!(ArgumentOutOfBound, "a row of {} bytes does not fit into a cache", key.len() + row.len());
        };
        let is_missing = row_place == RowPlace::Missing;
        while is_missing && self.missing_count >= self.missing_max() {
            let at = self.turn_hand(Cell::is_missing);
            self.remove(at);
        }
        let known = self.find(key);
        let goes = match known {
            None if self.cells.len() >= self.cells_max => {
                let at = self.turn_hand(|_| true);
                self.unlink(at);
                Some(at)
            }
            _ => known,
        };
        if let Some(at) = goes {
            self.vacate(at);
        }
        let slot = self.slots.put([key, row]);
        let cell = Cell { slot, row: row_place, used: false, key_bytes, row_bytes, expires_us, dies_us };
        self.missing_count += usize::from(is_missing);
        let at = match goes {
            Some(at) => {
                self.cells[at] = cell;
                at
            }
            None => {
                self.cells.push(cell);
                self.cells.len() - 1
            }
        };
        if known.is_none() {
            let (cells, slots) = (&self.cells, &self.slots);
            let hash_of = |&at: &u32| hash_bytes(key_of(slots, &cells[at as usize]));
            self.table.insert_unique(hash_bytes(key), at as u32, hash_of);
        }
        Ok(())
    }

    /// Frees the slot of a cell that is replaced.
    fn vacate(&mut self, at: usize) {
        let cell = &self.cells[at];
        self.missing_count -= usize::from(cell.is_missing());
        self.slots.free(cell.slot);
    }

    /// The limit of keys without a row: as many as with one, so that the hand soon finds one of them.
    fn missing_max(&self) -> usize {
        self.missing_min.max(self.cells.len() - self.missing_count)
    }

    /// The next cell that may be evicted and was not used since the hand passed it. Two rounds find it, if there is
    /// one.
    fn turn_hand(&mut self, may_go: impl Fn(&Cell) -> bool) -> usize {
        loop {
            let at = self.hand % self.cells.len();
            self.hand = at + 1;
            if may_go(&self.cells[at]) && !std::mem::take(&mut self.cells[at].used) {
                return at;
            }
        }
    }

    /// Removes a cell. The last cell takes its place.
    fn remove(&mut self, at: usize) {
        self.unlink(at);
        self.vacate(at);
        self.cells.swap_remove(at);
        let last = self.cells.len();
        if at == last {
            return;
        }
        let moved = key_of(&self.slots, &self.cells[at]);
        if let Some(place) = self.table.find_mut(hash_bytes(moved), |&other| other as usize == last) {
            *place = at as u32;
        }
    }

    fn unlink(&mut self, at: usize) {
        let hash = hash_bytes(key_of(&self.slots, &self.cells[at]));
        if let Ok(entry) = self.table.find_entry(hash, |&other| other as usize == at) {
            entry.remove();
        }
    }

    /// Frees the cells whose rows were in a removed file.
    fn forget_dropped(&mut self) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let mut at = 0;
        while at < self.cells.len() {
            let cell = &self.cells[at];
            let row = &self.slots.get(cell.slot, cell.slot_bytes())[cell.key_bytes as usize..];
            if cell.row == RowPlace::Disk && disk.is_dropped(DiskPlace::from_bytes(row)?) {
                // No cell without a row is in a file.
                self.slots.free(cell.slot);
                self.cells.swap_remove(at);
            } else {
                at += 1;
            }
        }
        self.hand = 0;
        let (cells, slots) = (&self.cells, &self.slots);
        let hash_of = |&at: &u32| hash_bytes(key_of(slots, &cells[at as usize]));
        self.table.clear();
        for at in 0..cells.len() as u32 {
            self.table.insert_unique(hash_of(&at), at, hash_of);
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn load_factor(&self) -> f64 {
        self.cells.len() as f64 / self.cells_max as f64
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let disk = self.disk.as_ref().map_or(0, DiskRows::heap_bytes);
        self.table.allocation_size() + self.cells.heap_bytes() + self.slots.heap_bytes() + disk
    }
}

fn key_of<'a>(slots: &'a Slots, cell: &Cell) -> &'a [u8] {
    slots.get(cell.slot, cell.key_bytes as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use basalt_base::fs::FaultyStorage;

    use super::super::SsdSpec;
    use super::*;

    fn cells(cells_max: u64) -> Cells {
        let spec = SsdSpec { path: "/cache".into(), ..SsdSpec::default() };
        let disk = DiskRows::new(Arc::new(FaultyStorage::new()), spec, None).expect("an empty directory");
        Cells { missing_min: 10, ..Cells::on_disk(disk, cells_max) }
    }

    fn put(cells: &mut Cells, key: u32, row: Option<&[u8]>) {
        cells.put(&key.to_le_bytes(), row, u64::MAX, u64::MAX).expect("room");
    }

    fn is_there(cells: &mut Cells, key: u32) -> bool {
        let found = cells.get(&key.to_le_bytes(), 0, &mut StringArena::default());
        found.expect("a healthy disk") == Freshness::Fresh
    }

    #[test]
    fn keys_without_a_row_throw_out_each_other() {
        let mut cells = cells(1000);
        (0..5).for_each(|key| put(&mut cells, key, Some(b"row")));
        (100..1000).for_each(|key| put(&mut cells, key, None));
        assert_eq!((cells.len(), cells.missing_count), (15, 10));
        assert!((0..5).all(|key| is_there(&mut cells, key)));
        assert!(is_there(&mut cells, 999) && !is_there(&mut cells, 500));
        // As many as have a row.
        (5..40).for_each(|key| put(&mut cells, key, Some(b"row")));
        (1000..2000).for_each(|key| put(&mut cells, key, None));
        assert_eq!((cells.len(), cells.missing_count), (80, 40));
        // A key that got a row raises the limit.
        put(&mut cells, 1999, Some(b"row"));
        assert_eq!((cells.len(), cells.missing_count), (80, 39));
    }

    #[test]
    fn no_more_keys_are_kept_than_may_be() {
        let mut cells = cells(20);
        (0..100).for_each(|key| put(&mut cells, key, (key % 2 == 0).then_some(b"row")));
        assert_eq!(cells.len(), 20);
        let missing = cells.cells.iter().filter(|cell| cell.is_missing()).count();
        assert_eq!(cells.missing_count, missing);
        assert!(is_there(&mut cells, 99) && !is_there(&mut cells, 0));
    }
}
