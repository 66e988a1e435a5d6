//! Claims on parts: no two merges or mutations work on the same part.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::lock::lock;
use crate::name::PartName;
use crate::part::view::Part;

/// The parts of a table that are being worked on.
#[derive(Debug, Default)]
pub(super) struct Claims {
    busy: Mutex<HashSet<PartName>>,
    released: Condvar,
}

/// Parts that only the holder may replace, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    claims: &'a Claims,
    parts: Vec<Arc<Part>>,
    /// How many of the parts to work on; the others are only kept from others.
    used: usize,
}

impl Claims {
    /// Claims `parts`; `None` if one of them is claimed already.
    pub(super) fn claim(&self, parts: &[Arc<Part>]) -> Option<Claim<'_>> {
        let mut busy = lock(&self.busy);
        if parts.iter().any(|part| busy.contains(part.name())) {
            return None;
        }
        Some(self.enter(&mut busy, parts.to_vec()))
    }

    /// Waits until no part that `choose` returns is claimed, and claims all of them.
    pub(super) fn claim_all(&self, choose: impl Fn() -> Vec<Arc<Part>>) -> Claim<'_> {
        let mut busy = lock(&self.busy);
        loop {
            let parts = choose();
            if !parts.iter().any(|part| busy.contains(part.name())) {
                return self.enter(&mut busy, parts);
            }
            busy = self.released.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the part is claimed.
    pub(super) fn is_busy(&self, part: &Part) -> bool {
        lock(&self.busy).contains(part.name())
    }

    fn enter(&self, busy: &mut HashSet<PartName>, parts: Vec<Arc<Part>>) -> Claim<'_> {
        busy.extend(parts.iter().map(|part| part.name().clone()));
        let used = parts.len();
        Claim { claims: self, parts, used }
    }
}

impl Claim<'_> {
    pub(super) fn parts(&self) -> &[Arc<Part>] {
        &self.parts[..self.used]
    }

    /// Restricts the work to the first `count` parts.
    pub(super) fn first(mut self, count: usize) -> Self {
        self.used = self.used.min(count);
        self
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut busy = lock(&self.claims.busy);
        for part in &self.parts {
            busy.remove(part.name());
        }
        self.claims.released.notify_all();
    }
}
