//! A broken rule.

use std::fmt;

/// The document whose tables list the allowed uses.
pub(super) const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// One broken rule.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) place: String,
    pub(super) what: String,
    /// A warning is printed and does not fail.
    pub(super) is_warning: bool,
}

impl Complaint {
    pub(super) fn error(place: impl Into<String>, what: impl Into<String>) -> Complaint {
        Complaint { place: place.into(), what: what.into(), is_warning: false }
    }

    pub(super) fn warning(place: impl Into<String>, what: impl Into<String>) -> Complaint {
        Complaint { place: place.into(), what: what.into(), is_warning: true }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Complaint { place, what, is_warning } = self;
        write!(f, "{}{place}: {what}", if *is_warning { "warning: " } else { "" })
    }
}
