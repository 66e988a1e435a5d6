//! The rows of a cache: by key, each with its time, the least wanted thrown out when there is no room.
//!
//! Which one goes is decided by a hand that turns over the cells: a cell that was used since the hand
//! passed is left alone once.

use basalt_base::Result;
use hashbrown::HashTable;

use super::disk::{DiskPlace, DiskRows};
use crate::hash::hash_bytes;
use crate::values::StringArena;

pub(super) struct Cells {
    /// Positions in `cells`, by hash of the key.
    table: HashTable<u32>,
    cells: Vec<Cell>,
    cells_max: usize,
    hand: usize,
    heap_bytes: usize,
    disk: Option<DiskRows>,
}

struct Cell {
    key: Box<[u8]>,
    row: Row,
    expires_us: u64,
    dies_us: u64,
    used: bool,
}

enum Row {
    /// The source does not have the key.
    Missing,
    Memory(Box<[u8]>),
    Disk(DiskPlace),
}

/// How a key's cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    Fresh,
    /// Old, but may be shown.
    Stale,
    Absent,
}

impl Cells {
    pub(super) fn in_memory(cells_max: u64) -> Cells {
        Cells {
            table: HashTable::new(),
            cells: Vec::new(),
            cells_max: usize::try_from(cells_max).unwrap_or(usize::MAX),
            hand: 0,
            heap_bytes: 0,
            disk: None,
        }
    }

    pub(super) fn on_disk(disk: DiskRows) -> Cells {
        Cells { disk: Some(disk), ..Cells::in_memory(u64::from(u32::MAX)) }
    }

    /// How the cell of `key` is; its row is added to `rows`, unless it is missing or the cell is absent.
    pub(super) fn get(&mut self, key: &[u8], now_us: u64, rows: &mut StringArena) -> Result<Freshness> {
        let Some(at) = self.find(key) else {
            return Ok(Freshness::Absent);
        };
        let cell = &mut self.cells[at];
        if now_us >= cell.dies_us || !cell.read(self.disk.as_ref(), rows)? {
            return Ok(Freshness::Absent);
        }
        cell.used = true;
        Ok(if now_us >= cell.expires_us { Freshness::Stale } else { Freshness::Fresh })
    }

    /// All keys that have a row which may still be shown.
    pub(super) fn keys(&self, now_us: u64) -> StringArena {
        let mut keys = StringArena::default();
        let has_row = |cell: &&Cell| now_us < cell.dies_us && !matches!(cell.row, Row::Missing);
        self.cells.iter().filter(has_row).for_each(|cell| keys.push(&cell.key));
        keys
    }

    /// Adds the row of `key` to `rows`; `false` if it has none that may be shown. No sign that somebody wants it.
    pub(super) fn read(&self, key: &[u8], now_us: u64, rows: &mut StringArena) -> Result<bool> {
        let before = rows.len();
        let cell = self.find(key).map(|at| &self.cells[at]);
        if let Some(cell) = cell.filter(|cell| now_us < cell.dies_us) {
            cell.read(self.disk.as_ref(), rows)?;
        }
        Ok(rows.len() > before)
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let is_key = |&at: &u32| *self.cells[at as usize].key == *key;
        self.table.find(hash_bytes(key), is_key).map(|&at| at as usize)
    }

    /// Keeps the row of `key`; `None` is that there is none.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        row: Option<&[u8]>,
        expires_us: u64,
        dies_us: u64,
    ) -> Result<()> {
        let row = match (row, &mut self.disk) {
            (None, _) => Row::Missing,
            (Some(row), None) => Row::Memory(Box::from(row)),
            (Some(row), Some(disk)) => {
                let (place, dropped) = disk.append(row)?;
                if dropped {
                    self.forget_dropped();
                }
                Row::Disk(place)
            }
        };
        let cell = Cell { key: Box::from(key), row, expires_us, dies_us, used: false };
        self.heap_bytes += cell.heap_bytes();
        let hash = hash_bytes(key);
        if let Some(at) = self.find(key) {
            self.replace(at, cell);
            return Ok(());
        }
        let at = if self.cells.len() < self.cells_max {
            self.cells.push(cell);
            self.cells.len() - 1
        } else {
            let at = self.turn_hand();
            self.unlink(at);
            self.replace(at, cell);
            at
        };
        let cells = &self.cells;
        self.table.insert_unique(hash, at as u32, |&at| hash_bytes(&cells[at as usize].key));
        Ok(())
    }

    fn replace(&mut self, at: usize, cell: Cell) {
        self.heap_bytes -= self.cells[at].heap_bytes();
        self.cells[at] = cell;
    }

    /// The next cell that was not used since the hand passed. Two rounds are enough.
    fn turn_hand(&mut self) -> usize {
        loop {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.cells.len();
            if !std::mem::take(&mut self.cells[at].used) {
                return at;
            }
        }
    }

    fn unlink(&mut self, at: usize) {
        let hash = hash_bytes(&self.cells[at].key);
        if let Ok(entry) = self.table.find_entry(hash, |&other| other as usize == at) {
            entry.remove();
        }
    }

    /// Frees the cells whose rows were in a file that is gone.
    fn forget_dropped(&mut self) {
        let Some(disk) = &self.disk else { return };
        self.cells.retain(|cell| !matches!(cell.row, Row::Disk(place) if disk.is_dropped(place)));
        self.heap_bytes = self.cells.iter().map(Cell::heap_bytes).sum();
        self.hand = 0;
        let cells = &self.cells;
        let hash = |at: &u32| hash_bytes(&cells[*at as usize].key);
        self.table.clear();
        for at in 0..cells.len() as u32 {
            self.table.insert_unique(hash(&at), at, hash);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn load_factor(&self) -> f64 {
        self.cells.len() as f64 / self.cells_max as f64
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let disk = self.disk.as_ref().map_or(0, DiskRows::heap_bytes);
        self.heap_bytes + self.table.allocation_size() + self.cells.capacity() * size_of::<Cell>() + disk
    }
}

impl Cell {
    /// Adds the row to `rows`, unless the source has none; `false` if it is lost.
    fn read(&self, disk: Option<&DiskRows>, rows: &mut StringArena) -> Result<bool> {
        match (&self.row, disk) {
            (Row::Missing, _) => {}
            (Row::Memory(row), _) => rows.push(row),
            (Row::Disk(place), Some(disk)) => match disk.read(*place)? {
                Some(row) => rows.push(&row),
                None => return Ok(false),
            },
            (Row::Disk(_), None) => return Ok(false),
        }
        Ok(true)
    }

    fn heap_bytes(&self) -> usize {
        let row = if let Row::Memory(row) = &self.row { row.len() } else { 0 };
        self.key.len() + row
    }
}
