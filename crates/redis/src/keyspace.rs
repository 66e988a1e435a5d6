//! Keys with their types, times and elements, in a [`Transaction`].

use basalt_base::Result;
use basalt_kv::{ByteRange, Direction};

use crate::failure::{Failure, Outcome, WRONG_TYPE};
use crate::number::parse_integer;
use crate::table::{Kind, Part, Place, Record};
use crate::transaction::{Flow, Transaction};

/// A collection with more elements is removed by its range: RocksDB keeps a range for longer than single rows.
const SINGLE_DELETES_MAX: i64 = 256;
/// The position of the first item of a new list.
const FIRST_POSITION: u64 = 1 << 63;

/// The first row of a key, without the value of a string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Milliseconds since 1970; 0: never.
    pub(crate) expires_at: u64,
    /// Elements of a collection.
    pub(crate) count: i64,
    /// The position of the first item of a list.
    pub(crate) first: u64,
}

impl Head {
    fn new(kind: Kind) -> Head {
        Head { kind, expires_at: 0, count: 0, first: FIRST_POSITION }
    }

    fn of(record: &Record<'_>) -> Head {
        let (kind, expires_at) = (record.kind, record.expires_at);
        let mut words = record.value.split(|&byte| byte == b' ');
        let count = if kind == Kind::String { 0 } else { words.next().and_then(parse_integer).unwrap_or(0) };
        let first = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        Head { kind, expires_at, count: count.max(0), first: first.unwrap_or(FIRST_POSITION) }
    }

    /// A head whose expiry is over is none, but its elements are still there.
    fn is_expired(&self, now: u64) -> bool {
        self.expires_at != 0 && self.expires_at <= now
    }
}

impl Transaction {
    /// The head of a key that has not expired.
    pub(crate) fn head(&self, place: &Place) -> Result<Option<Head>> {
        Ok(self.stored_head(place)?.filter(|head| !head.is_expired(self.now)))
    }

    fn stored_head(&self, place: &Place) -> Result<Option<Head>> {
        self.get(place.head(), |row| Record::decode(row).map(|record| Head::of(&record)))?.transpose()
    }

    /// The head of a key that must have this type if it exists.
    pub(crate) fn head_of(&self, place: &Place, kind: Kind) -> Outcome<Option<Head>> {
        match self.head(place)? {
            Some(head) if head.kind != kind => Err(WRONG_TYPE),
            head => Ok(head),
        }
    }

    /// Calls `visit` with the value of a string.
    pub(crate) fn string<T>(&self, place: &Place, visit: impl FnOnce(&[u8]) -> T) -> Outcome<Option<T>> {
        self.string_record(place, |record| visit(record.value))
    }

    /// Calls `visit` with the row of a string.
    pub(crate) fn string_record<T>(
        &self,
        place: &Place,
        visit: impl FnOnce(Record<'_>) -> T,
    ) -> Outcome<Option<T>> {
        let found = self.get(place.head(), |row| -> Outcome<Option<T>> {
            let record = Record::decode(row)?;
            if record.is_expired(self.now) {
                return Ok(None);
            }
            if record.kind != Kind::String { Err(WRONG_TYPE) } else { Ok(Some(visit(record))) }
        })?;
        found.transpose().map(Option::flatten)
    }

    /// Makes a key a string, whatever it was.
    pub(crate) fn put_string(&mut self, key: &[u8], place: &Place, value: &[u8], expires_at: u64) -> Outcome {
        match self.stored_head(place)? {
            Some(head) if head.kind != Kind::String => self.remove_elements(place, &head)?,
            _ => {}
        }
        let record = Record { expires_at, ..Record::of(Kind::String, value) };
        self.put(place.head().to_vec(), record.encode());
        self.changed(key);
        Ok(())
    }

    /// The head of a collection that is about to be changed, a new one if there is none.
    pub(crate) fn begin(&mut self, place: &Place, kind: Kind) -> Outcome<Head> {
        match self.stored_head(place)? {
            Some(head) if head.is_expired(self.now) => {
                self.remove_elements(place, &head)?;
                Ok(Head::new(kind))
            }
            Some(head) if head.kind != kind => Err(WRONG_TYPE),
            Some(head) => Ok(head),
            None => Ok(Head::new(kind)),
        }
    }

    /// Writes the head of a collection after a change; without elements the key is gone.
    pub(crate) fn end(&mut self, key: &[u8], place: &Place, head: &Head) {
        self.changed(key);
        if head.count <= 0 {
            return self.delete(place.head().to_vec());
        }
        let value = match head.kind {
            Kind::List => format!("{} {}", head.count, head.first),
            _ => head.count.to_string(),
        };
        let record = Record { expires_at: head.expires_at, ..Record::of(head.kind, value.as_bytes()) };
        self.put(place.head().to_vec(), record.encode());
    }

    /// Sets the time of a key that exists.
    pub(crate) fn set_expiry(&mut self, key: &[u8], place: &Place, expires_at: u64) -> Outcome {
        let row = self.get(place.head(), |row| {
            Record::decode(row).map(|record| Record { expires_at, ..record }.encode())
        })?;
        if let Some(row) = row.transpose()? {
            self.put(place.head().to_vec(), row);
            self.changed(key);
        }
        Ok(())
    }

    /// Removes a key. Returns whether it was there and had not expired.
    pub(crate) fn remove(&mut self, key: &[u8], place: &Place) -> Outcome<bool> {
        let Some(head) = self.stored_head(place)? else { return Ok(false) };
        self.remove_elements(place, &head)?;
        self.delete(place.head().to_vec());
        let was_there = !head.is_expired(self.now);
        if was_there {
            self.changed(key);
        }
        Ok(was_there)
    }

    /// Removes a key if its time is over.
    pub(crate) fn remove_expired(&mut self, key: &[u8], place: &Place) -> Outcome<bool> {
        match self.stored_head(place)? {
            Some(head) if head.is_expired(self.now) => self.remove(key, place).map(|_| true),
            _ => Ok(false),
        }
    }

    fn remove_elements(&mut self, place: &Place, head: &Head) -> Outcome {
        if head.kind == Kind::String {
            return Ok(());
        }
        let range = ByteRange { lower: place.after(Part::Key), ..place.all() };
        if head.count > SINGLE_DELETES_MAX {
            self.delete_range(range);
            return Ok(());
        }
        let mut keys = Vec::new();
        self.scan(&range, Direction::Ascending, |key, _| {
            keys.push(key.to_vec());
            Ok::<_, Failure>(Flow::Next)
        })?;
        keys.into_iter().for_each(|key| self.delete(key));
        Ok(())
    }

    /// Remembers that a key was changed, for those who watch it.
    pub(crate) fn changed(&mut self, key: &[u8]) {
        if self.changed_keys.last().is_none_or(|last| last != key) {
            self.changed_keys.push(key.to_vec());
        }
    }

    /// Calls `visit` with the names and records of a part of a key, in order.
    pub(crate) fn elements(
        &self,
        place: &Place,
        range: &ByteRange,
        direction: Direction,
        mut visit: impl FnMut(&[u8], Record<'_>) -> Outcome<Flow>,
    ) -> Outcome {
        self.scan(range, direction, |key, row| visit(place.name(key), Record::decode(row)?))
    }
}
