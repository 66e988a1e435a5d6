//! Days and seconds as `Date` and `DateTime`, clamped to their ranges.

/// The `Date` nearest to `days`.
pub(super) fn date_of(days: i32) -> u16 {
    days.clamp(0, i32::from(u16::MAX)) as u16
}

/// The `DateTime` nearest to `seconds`.
pub(super) fn date_time_of(seconds: i64) -> u32 {
    seconds.clamp(0, i64::from(u32::MAX)) as u32
}
