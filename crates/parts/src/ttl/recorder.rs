//! Computes the TTL bounds of rows that are written to a part.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::bounds::TtlBounds;
use super::rule::{TtlAction, is_expired};
use crate::error::Result;
use crate::spec::PartSpec;

/// Collects the bounds of each rule of a table.
pub(crate) struct TtlRecorder {
    spec: Arc<PartSpec>,
    /// The time up to which the rules were applied to the rows, in seconds since 1970.
    applied_s: Option<i64>,
    bounds: Vec<TtlBounds>,
}

impl TtlRecorder {
    pub(crate) fn new(spec: &Arc<PartSpec>, applied_s: Option<i64>) -> TtlRecorder {
        let bounds = spec.ttl.iter().map(|rule| TtlBounds::new(&rule.name)).collect();
        TtlRecorder { spec: Arc::clone(spec), applied_s, bounds }
    }

    /// Adds the rows of `batch`, which has the columns of the table.
    pub(crate) fn see(&mut self, batch: &RecordBatch) -> Result<()> {
        for (rule, bounds) in self.spec.ttl.iter().zip(&mut self.bounds) {
            let is_clear = matches!(rule.action, TtlAction::Clear { .. });
            for expiry in rule.evaluate(batch, &self.spec.columns)? {
                let is_done = self.applied_s.is_some_and(|applied| is_expired(expiry, applied));
                // A cleared value cannot expire again.
                if !(is_clear && is_done) {
                    bounds.add(expiry, !is_done);
                }
            }
        }
        Ok(())
    }

    /// The bounds in the order of the rules.
    pub(crate) fn finish(mut self) -> Vec<TtlBounds> {
        for (rule, bounds) in self.spec.ttl.iter().zip(&mut self.bounds) {
            if rule.is_recompression() {
                bounds.is_due_at_end(self.applied_s);
            }
        }
        self.bounds
    }
}
