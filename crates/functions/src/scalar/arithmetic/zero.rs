//! What a division by zero gives.

/// The result of a division by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// ILLEGAL_DIVISION.
    Fails,
    GivesZero,
}
