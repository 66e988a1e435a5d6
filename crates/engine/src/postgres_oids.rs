//! The numbers that `pg_catalog` gives to objects: they stay the same as long as the process runs.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Objects of users have numbers from here on, as in Postgres.
const FIRST: u32 = 16_384;

/// The numbers given so far.
#[derive(Default)]
pub(crate) struct Oids {
    given: Mutex<HashMap<String, u32>>,
}

impl Oids {
    /// The number of the object that `key` identifies; a new one for a new key.
    pub(crate) fn of(&self, key: &str) -> u32 {
        let mut given = self.given.lock();
        if let Some(oid) = given.get(key) {
            return *oid;
        }
        let oid = FIRST.saturating_add(u32::try_from(given.len()).unwrap_or(u32::MAX));
        given.insert(key.to_owned(), oid);
        oid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_an_object_stays() {
        let oids = Oids::default();
        let (first, second) = (oids.of("a"), oids.of("b"));
        assert!(first != second && oids.of("a") == first && oids.of("b") == second);
    }
}
