//! Loads that run queries which use dictionaries, whose loads run queries in turn.
//!
//! Each load of a chain waits for the next one. A dictionary that reads itself, directly or through others, would
//! wait for itself forever. If it is loaded already, it would not wait, but its new version would be made of its old
//! one. Both are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use uuid::Uuid;

/// The loads that a query is part of, and the dictionaries that it uses.
#[derive(Debug, Default)]
pub(crate) struct LoadChain {
    /// The outermost load first.
    loading: Vec<Uuid>,
    used: Mutex<BTreeSet<(String, Uuid)>>,
}

impl LoadChain {
    /// The chain of the queries that the load of `dictionary` runs, which a query of this chain needs.
    pub(crate) fn child(&self, dictionary: Uuid) -> Arc<LoadChain> {
        let loading = self.loading.iter().copied().chain([dictionary]).collect();
        Arc::new(LoadChain { loading, used: Mutex::default() })
    }

    /// Records that the query uses a dictionary.
    pub(crate) fn record_use(&self, database: &str, name: &str, dictionary: Uuid) {
        self.used.lock().insert((format!("{database}.{name}"), dictionary));
    }

    /// The dictionaries that the query used, in alphabetical order.
    pub(crate) fn used(&self) -> Vec<String> {
        self.used.lock().iter().map(|(name, _)| name.clone()).collect()
    }

    /// An error if a load of this chain would read its own old version through `dictionary`. `sources` is the chain
    /// of the load that made the version of a dictionary.
    pub(crate) fn refuse_cycle(
        &self,
        dictionary: Uuid,
        name: &str,
        sources: impl Fn(Uuid) -> Option<Arc<LoadChain>>,
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
            if let Some(sources) = sources(at) {
                let used = sources.used.lock();
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
pub(crate) struct LoadWaitGraph {
    edges: Mutex<Vec<(Uuid, Uuid)>>,
}

/// One load's wait for another; it ends when this is dropped.
pub(crate) struct WaitEdge<'a> {
    graph: &'a LoadWaitGraph,
    edge: Option<(Uuid, Uuid)>,
}

impl LoadWaitGraph {
    /// Adds that the innermost load of `chain` waits for `dictionary`; an error if that one waits for the chain.
    pub(crate) fn add(&self, chain: &LoadChain, dictionary: Uuid, name: &str) -> Result<WaitEdge<'_>> {
        let Some(&waiting) = chain.loading.last() else {
            return Ok(WaitEdge { graph: self, edge: None });
        };
        let mut edges = self.edges.lock();
        let mut reached = vec![dictionary];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            if chain.loading.contains(&at) {
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
        Ok(WaitEdge { graph: self, edge: Some((waiting, dictionary)) })
    }
}

impl Drop for WaitEdge<'_> {
    fn drop(&mut self) {
        let Some(edge) = self.edge else { return };
        let mut edges = self.graph.edges.lock();
        if let Some(at) = edges.iter().position(|&found| found == edge) {
            edges.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_loads_is_an_error() {
        let (a, b, c) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let (graph, query) = (LoadWaitGraph::default(), LoadChain::default());
        assert!(graph.add(&query, a, "a").is_ok());
        let in_a = query.child(a);
        assert!(graph.add(&in_a, a, "a").is_err(), "a reads a");
        let _a_waits = graph.add(&in_a, b, "b").expect("no cycle");
        let _b_waits = graph.add(&query.child(b), c, "c").expect("no cycle");
        assert!(graph.add(&query.child(c), a, "a").is_err(), "two threads load a and c");
        assert!(graph.add(&in_a.child(b).child(c), b, "b").is_err(), "one thread loads all");
    }

    #[test]
    fn a_version_made_of_a_dictionary_that_loads_is_refused() {
        let (a, b, c) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let (of_b, of_c) = (LoadChain::default().child(b), LoadChain::default().child(c));
        of_b.record_use("d", "c", c);
        of_c.record_use("d", "a", a);
        let sources =
            |id: Uuid| [(b, &of_b), (c, &of_c)].into_iter().find(|of| of.0 == id).map(|of| Arc::clone(of.1));
        let in_a = LoadChain::default().child(a);
        assert!(in_a.refuse_cycle(a, "d.a", sources).is_err(), "a reads a");
        assert!(in_a.refuse_cycle(b, "d.b", sources).is_err(), "b was made of c, and c of a");
        assert!(LoadChain::default().refuse_cycle(b, "d.b", sources).is_ok(), "nothing loads");
        assert!(LoadChain::default().child(Uuid::from_u128(4)).refuse_cycle(b, "d.b", sources).is_ok());
    }

    #[test]
    fn an_ended_wait_is_forgotten() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let (graph, query) = (LoadWaitGraph::default(), LoadChain::default());
        drop(graph.add(&query.child(a), b, "b").expect("no cycle"));
        assert!(graph.add(&query.child(b), a, "a").is_ok());
    }
}
