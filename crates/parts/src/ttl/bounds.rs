//! The bounds of one TTL rule in a part's metadata: when its rows expire.
//!
//! # Layout
//!
//! ```text
//! name of the rule as bytes
//! least, greatest, due: i64 each      seconds since 1970
//! whether some rows never expire u32  0 or 1
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::error::Damage;
use crate::fields::{FieldReader, FieldWriter};
use crate::ttl::rule::is_expired;

/// The minimum of no times.
const NEVER: i64 = i64::MAX;

/// The maximum of no times.
const NONE: i64 = i64::MIN;

/// When the rows of a part expire by one rule. Cleared values no longer count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TtlBounds {
    /// See [`TtlRule::name`](super::rule::TtlRule::name).
    pub(crate) name: String,
    least: i64,
    greatest: i64,
    /// The time from which a merge changes something.
    due: i64,
    some_never: bool,
}

impl TtlBounds {
    /// The bounds of no rows.
    pub(crate) fn new(name: &str) -> TtlBounds {
        TtlBounds { name: name.to_owned(), least: NEVER, greatest: NONE, due: NEVER, some_never: false }
    }

    /// Adds a row; `is_due` is whether its expiry gives a merge something to do.
    pub(crate) fn add(&mut self, expiry_s: i64, is_due: bool) {
        if expiry_s == 0 {
            self.some_never = true;
            return;
        }
        self.least = self.least.min(expiry_s);
        self.greatest = self.greatest.max(expiry_s);
        if is_due {
            self.due = self.due.min(expiry_s);
        }
    }

    /// Makes the rule due when all rows have expired, unless that was applied already.
    pub(crate) fn is_due_at_end(&mut self, done_s: Option<i64>) {
        let is_done = self.greatest == NONE || done_s.is_some_and(|done| self.greatest <= done);
        self.due = if is_done { NEVER } else { self.greatest };
    }

    /// The first and the last time; `None` if no row expires.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        (self.greatest != NONE).then_some((self.least, self.greatest))
    }

    /// The time from which a merge changes something; `None` if never.
    pub(crate) fn due(&self) -> Option<i64> {
        (self.due != NEVER).then_some(self.due)
    }

    pub(crate) fn is_due(&self, now_s: i64) -> bool {
        self.due().is_some_and(|due| due <= now_s)
    }

    /// Whether every row has expired.
    pub(crate) fn all_expired(&self, now_s: i64) -> bool {
        !self.some_never && (self.greatest == NONE || is_expired(self.greatest, now_s))
    }

    pub(crate) fn encode(&self, out: &mut FieldWriter) {
        out.bytes(self.name.as_bytes());
        for time in [self.least, self.greatest, self.due] {
            out.u64(time.cast_unsigned());
        }
        out.u32(u32::from(self.some_never));
    }

    pub(crate) fn decode(fields: &mut FieldReader<'_>) -> Result<TtlBounds, Damage> {
        let name = fields.text()?;
        let (least, greatest, due) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (least, greatest, due) = (least.cast_signed(), greatest.cast_signed(), due.cast_signed());
        if (greatest == NONE) != (least == NEVER) || (greatest != NONE && least > greatest) {
            return Err(Damage::new(fields.at(), format!("rows expire from {least} to {greatest}")));
        }
        let some_never = match fields.u32()? {
            0 => false,
            1 => true,
            other => return Err(Damage::new(fields.at(), format!("{other} is neither 0 nor 1"))),
        };
        Ok(TtlBounds { name, least, greatest, due, some_never })
    }
}
