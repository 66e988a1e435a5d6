//! Who asks for dictionaries: the names that a query used, and the loads that it belongs to.
//!
//! A load asks its source by a query, which may ask for dictionaries itself. Each of these waits for the
//! load of the next, so that a dictionary that reads itself, by whatever way, would wait for ever. One that is
//! loaded already would not: it would be made of its old version, which is refused for the same reason.

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use uuid::Uuid;

/// The dictionaries that one query has to do with.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// The loads that this query belongs to, the outermost first.
    loading: Vec<Uuid>,
    used: Mutex<BTreeSet<(String, Uuid)>>,
}

impl Asking {
    /// What a query asks on behalf of the load of `dictionary`, which `self` asked for.
    pub(crate) fn deeper(&self, dictionary: Uuid) -> Arc<Asking> {
        let loading = self.loading.iter().copied().chain([dictionary]).collect();
        Arc::new(Asking { loading, used: Mutex::default() })
    }

    /// Notes that the query used a dictionary.
    pub(crate) fn note(&self, database: &str, name: &str, dictionary: Uuid) {
        self.used.lock().insert((format!("{database}.{name}"), dictionary));
    }

    /// The dictionaries that were used, in alphabetical order.
    pub(crate) fn used(&self) -> Vec<String> {
        self.used.lock().iter().map(|(name, _)| name.clone()).collect()
    }

    /// Refuses to answer from `dictionary`, whose version was made of what `reads` says, to a load that this
    /// would make it out of itself.
    pub(crate) fn refuse_circle(
        &self,
        dictionary: Uuid,
        name: &str,
        reads: impl Fn(Uuid) -> Option<Arc<Asking>>,
    ) -> Result<()> {
        if self.loading.is_empty() {
            return Ok(());
        }
        let mut reached = vec![dictionary];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            if self.loading.contains(&at) {
                return Err(reads_itself(name));
            }
            if let Some(asked) = reads(at) {
                let used = asked.used.lock();
                let new: Vec<Uuid> =
                    used.iter().map(|used| used.1).filter(|used| !reached.contains(used)).collect();
                reached.extend(new);
            }
            next += 1;
        }
        Ok(())
    }
}

fn reads_itself(name: &str) -> Error {
    let what = format!("dictionary `{name}` reads itself while it loads");
    Error::new(ErrorCode::IncorrectDictionaryDefinition, what)
}

/// Which load waits for which.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    edges: Mutex<Vec<(Uuid, Uuid)>>,
}

/// Ends the wait when it is dropped.
pub(crate) struct Wait<'a> {
    waits: &'a Waits,
    edge: Option<(Uuid, Uuid)>,
}

impl Waits {
    /// Enters that the query's load waits for `dictionary`; an error if that one waits for the query.
    pub(crate) fn enter(&self, asking: &Asking, dictionary: Uuid, name: &str) -> Result<Wait<'_>> {
        let Some(&waiting) = asking.loading.last() else {
            return Ok(Wait { waits: self, edge: None });
        };
        let mut edges = self.edges.lock();
        let mut reached = vec![dictionary];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            if asking.loading.contains(&at) {
                return Err(reads_itself(name));
            }
            for &(from, to) in edges.iter() {
                if from == at && !reached.contains(&to) {
                    reached.push(to);
                }
            }
            next += 1;
        }
        edges.push((waiting, dictionary));
        Ok(Wait { waits: self, edge: Some((waiting, dictionary)) })
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Some(edge) = self.edge else { return };
        let mut edges = self.waits.edges.lock();
        if let Some(at) = edges.iter().position(|&found| found == edge) {
            edges.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_of_loads_is_an_error() {
        let (a, b, c) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let (waits, query) = (Waits::default(), Asking::default());
        assert!(waits.enter(&query, a, "a").is_ok());
        let in_a = query.deeper(a);
        assert!(waits.enter(&in_a, a, "a").is_err(), "a reads a");
        let _a_waits = waits.enter(&in_a, b, "b").expect("no circle");
        let _b_waits = waits.enter(&query.deeper(b), c, "c").expect("no circle");
        assert!(waits.enter(&query.deeper(c), a, "a").is_err(), "two threads load a and c");
        assert!(waits.enter(&in_a.deeper(b).deeper(c), b, "b").is_err(), "one thread loads all");
    }

    #[test]
    fn a_version_that_was_made_of_what_loads_is_refused() {
        let (a, b, c) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let (of_b, of_c) = (Asking::default().deeper(b), Asking::default().deeper(c));
        of_b.note("d", "c", c);
        of_c.note("d", "a", a);
        let reads =
            |id: Uuid| [(b, &of_b), (c, &of_c)].into_iter().find(|of| of.0 == id).map(|of| Arc::clone(of.1));
        let in_a = Asking::default().deeper(a);
        assert!(in_a.refuse_circle(a, "d.a", reads).is_err(), "a reads a");
        assert!(in_a.refuse_circle(b, "d.b", reads).is_err(), "b was made of c, and c of a");
        assert!(Asking::default().refuse_circle(b, "d.b", reads).is_ok(), "nothing loads");
        assert!(Asking::default().deeper(Uuid::from_u128(4)).refuse_circle(b, "d.b", reads).is_ok());
    }

    #[test]
    fn an_ended_wait_is_forgotten() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let (waits, query) = (Waits::default(), Asking::default());
        drop(waits.enter(&query.deeper(a), b, "b").expect("no circle"));
        assert!(waits.enter(&query.deeper(b), a, "a").is_ok());
    }
}
