//! A time zone: converts between UTC and its local time.
//!
//! # Cost
//!
//! An offset is one load from a table of six-day slots for the years 1970 to 2106, the range of `DateTime`. A slot
//! in which the offset changes, and every other year, takes a binary search. A table takes 32 KiB and is built once
//! a zone, on first use.
//!
//! # Future years
//!
//! The rules of a zone are written out up to [`LAST_KNOWN_YEAR`]. They name days by month and
//! weekday, so a later year has the offsets of a known one whose days fall on the same weekdays.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::civil::{civil_from_days, days_from_civil, weekday};
use crate::suggest::did_you_mean;
use crate::{Error, ErrorCode, Result};

/// A slot of the table is `2^SLOT_BITS` seconds, about six days.
const SLOT_BITS: u32 = 19;
const SLOTS: usize = 1 << (u32::BITS - SLOT_BITS);
/// Samples per slot while the table is built: one every day and a half.
const LOOKS_PER_SLOT: i64 = 4;
/// Marks a slot in which the offset changes.
const CHANGES: i32 = i32::MIN;
const SECONDS_PER_DAY: i64 = 86_400;
const SECONDS_PER_HOUR: i32 = 3_600;
const SECONDS_PER_MINUTE: i32 = 60;
/// Precedes the name of a zone in the target of a link.
const ZONE_DIRECTORY: &str = "zoneinfo/";

/// The last year whose offset changes are listed.
const LAST_KNOWN_YEAR: i32 = 2099;
/// Years that begin in March, enough for one to begin on each weekday. Some zones have changes that follow the moon
/// before these years.
const MODEL_YEARS: std::ops::RangeInclusive<i32> = 2088..=2098;

static TABLES: LazyLock<Mutex<HashMap<Tz, &'static Table>>> = LazyLock::new(Mutex::default);

/// A time zone by its IANA name; cheap to copy.
#[derive(Clone, Copy)]
pub struct Zone {
    tz: Tz,
    /// `None` for zones that always equal UTC.
    table: Option<&'static Table>,
}

struct Table {
    offsets: [i32; SLOTS],
    whole_hours: bool,
    whole_minutes: bool,
}

impl Zone {
    /// The names of all zones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TZ_VARIANTS.iter().map(|tz| tz.name())
    }

    /// The zone called `name`, for example `Europe/Berlin`; names are case-sensitive.
    pub fn parse(name: &str) -> Result<Zone> {
        let tz = name.parse::<Tz>().map_err(|_| {
            let hint = did_you_mean(name, TZ_VARIANTS.iter().map(|tz| tz.name()));
            Error::new(ErrorCode::BadArguments, format!("unknown time zone `{name}`{hint}"))
        })?;
        Ok(Zone::of(tz))
    }

    pub const fn utc() -> Zone {
        Zone { tz: Tz::UTC, table: None }
    }

    /// The machine's zone: `TZ` from the environment, else `/etc`, else UTC. Read once.
    pub fn system() -> Zone {
        static SYSTEM: OnceLock<Zone> = OnceLock::new();
        *SYSTEM.get_or_init(Zone::of_system)
    }

    fn of_system() -> Zone {
        let from_environment = std::env::var("TZ").ok();
        let from_file = || std::fs::read_to_string("/etc/timezone").ok();
        from_environment
            .and_then(|name| Zone::from_setting(&name))
            .or_else(|| from_file().and_then(|name| Zone::from_setting(&name)))
            .or_else(|| Zone::from_link(Path::new("/etc/localtime")))
            .unwrap_or_default()
    }

    /// The IANA name.
    pub fn name(&self) -> &'static str {
        self.tz.name()
    }

    /// Whether the zone always equals UTC.
    pub fn is_utc(&self) -> bool {
        self.table.is_none()
    }

    /// Whether the offset is a whole number of hours throughout the range of `DateTime`.
    pub fn has_whole_hours(&self) -> bool {
        self.table.is_none_or(|table| table.whole_hours)
    }

    /// Like [`Zone::has_whole_hours`], for minutes.
    pub fn has_whole_minutes(&self) -> bool {
        self.table.is_none_or(|table| table.whole_minutes)
    }

    /// The offset from UTC at an instant, in seconds.
    #[inline]
    pub fn offset_at(&self, utc_seconds: i64) -> i32 {
        let Some(table) = self.table else { return 0 };
        if let Ok(seconds) = u32::try_from(utc_seconds) {
            let offset = table.offsets[(seconds >> SLOT_BITS) as usize];
            if offset != CHANGES {
                return offset;
            }
        }
        search_offset(self.tz, utc_seconds)
    }

    /// The local time at an instant, in seconds since the local 1970-01-01 00:00:00.
    #[inline]
    pub fn to_local(&self, utc_seconds: i64) -> i64 {
        utc_seconds.saturating_add(i64::from(self.offset_at(utc_seconds)))
    }

    /// The instant of a local time. An ambiguous time is the first of its two instants. A time that the clock skips
    /// is read with the offset after the change.
    pub fn from_local(&self, local_seconds: i64) -> i64 {
        if self.is_utc() {
            return local_seconds;
        }
        let before = self.offset_at(local_seconds.saturating_sub(SECONDS_PER_DAY));
        let after = self.offset_at(local_seconds.saturating_add(SECONDS_PER_DAY));
        let first = local_seconds.saturating_sub(i64::from(before.max(after)));
        let second = local_seconds.saturating_sub(i64::from(before.min(after)));
        if first == second || self.to_local(first) == local_seconds {
            return first;
        }
        if self.to_local(second) == local_seconds { second } else { first }
    }

    fn of(tz: Tz) -> Zone {
        if matches!(tz, Tz::UTC | Tz::Etc__UTC | Tz::GMT | Tz::Etc__GMT) {
            return Zone { tz, table: None };
        }
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let table = *tables.entry(tz).or_insert_with(|| build_table(tz));
        Zone { tz, table: Some(table) }
    }

    /// A zone from `TZ` or `/etc/timezone`: its name, or a path to its file.
    fn from_setting(text: &str) -> Option<Zone> {
        let text = text.trim().trim_start_matches(':');
        let name = text.split_once(ZONE_DIRECTORY).map_or(text, |(_, name)| name);
        Zone::parse(name).ok()
    }

    fn from_link(link: &Path) -> Option<Zone> {
        Zone::from_setting(std::fs::read_link(link).ok()?.to_str()?)
    }
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::utc()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.tz == other.tz
    }
}

impl Eq for Zone {}

impl std::hash::Hash for Zone {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.tz.hash(state);
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

fn search_offset(tz: Tz, utc_seconds: i64) -> i32 {
    // Outside chrono's calendar, the nearest instant that it knows.
    let instant = DateTime::from_timestamp(model_of(utc_seconds), 0).unwrap_or(if utc_seconds < 0 {
        DateTime::<chrono::Utc>::MIN_UTC
    } else {
        DateTime::<chrono::Utc>::MAX_UTC
    });
    tz.offset_from_utc_datetime(&instant.naive_utc()).fix().local_minus_utc()
}

/// The instant itself; for a year after the last known one, the same time of the same day in a model year.
fn model_of(utc_seconds: i64) -> i64 {
    let Ok(days) = i32::try_from(utc_seconds.div_euclid(SECONDS_PER_DAY)) else { return utc_seconds };
    let (year, month, _) = civil_from_days(days);
    if year <= LAST_KNOWN_YEAR {
        return utc_seconds;
    }
    let march = |year: i32| days_from_civil(year, 3, 1);
    let begin = march(year - i32::from(month < 3));
    let model = MODEL_YEARS.map(march).find(|&model| weekday(model) == weekday(begin));
    model.map_or(utc_seconds, |model| utc_seconds - (i64::from(begin) - i64::from(model)) * SECONDS_PER_DAY)
}

/// Tables are never freed: there is one per zone, shared by every `Zone` value.
fn build_table(tz: Tz) -> &'static Table {
    let mut offsets = [CHANGES; SLOTS];
    let (mut whole_hours, mut whole_minutes) = (true, true);
    let step = (1_i64 << SLOT_BITS) / LOOKS_PER_SLOT;
    for (slot, entry) in offsets.iter_mut().enumerate() {
        let start = (slot as i64) << SLOT_BITS;
        let offset = search_offset(tz, start);
        whole_hours &= offset % SECONDS_PER_HOUR == 0;
        whole_minutes &= offset % SECONDS_PER_MINUTE == 0;
        if (1..=LOOKS_PER_SLOT).all(|look| search_offset(tz, start + look * step) == offset) {
            *entry = offset;
        }
    }
    Box::leak(Box::new(Table { offsets, whole_hours, whole_minutes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::parse(name).unwrap()
    }

    #[test]
    fn table_agrees_with_the_search() {
        for name in ["Europe/Berlin", "Africa/Casablanca", "America/St_Johns", "Asia/Kathmandu"] {
            let zone = zone(name);
            for seconds in (0..i64::from(u32::MAX)).step_by(1_000_003) {
                assert_eq!(zone.offset_at(seconds), search_offset(zone.tz, seconds), "{name} {seconds}");
            }
        }
    }

    #[test]
    fn local_time_comes_back_unless_it_occurs_twice() {
        let zone = zone("America/New_York");
        for seconds in (-3_000_000_000..6_000_000_000_i64).step_by(7_777_777) {
            let back = zone.from_local(zone.to_local(seconds));
            assert!(back == seconds || back == seconds - 3_600, "{seconds}");
        }
    }

    #[test]
    fn gap_and_overlap_take_the_earlier_instant() {
        let berlin = zone("Europe/Berlin");
        let local = |days: i32, hours: i64| i64::from(days) * SECONDS_PER_DAY + hours * 1_800;
        let spring = crate::civil::days_from_civil(2024, 3, 31);
        let autumn = crate::civil::days_from_civil(2024, 10, 27);
        assert_eq!(berlin.from_local(local(spring, 5)), 1_711_845_000);
        assert_eq!(berlin.from_local(local(autumn, 5)), 1_729_989_000);
    }

    #[test]
    fn summer_time_goes_on_in_later_centuries() {
        let berlin = zone("Europe/Berlin");
        for year in [2100, 2117, 2150, 2200, 2299, 2400, 9999] {
            let noon = |month| i64::from(days_from_civil(year, month, 8)) * SECONDS_PER_DAY;
            assert_eq!([1, 3, 5, 9, 12].map(|month| berlin.offset_at(noon(month)) / 3_600), [1, 1, 2, 2, 1]);
        }
        // The last Sunday of March 2117, 01:00 UTC.
        let change = i64::from(days_from_civil(2117, 3, 28)) * SECONDS_PER_DAY + 3_600;
        assert_eq!((berlin.offset_at(change - 1), berlin.offset_at(change)), (3_600, 7_200));
    }

    #[test]
    fn every_weekday_begins_a_model_year() {
        let mut weekdays: Vec<u32> = MODEL_YEARS.map(|year| weekday(days_from_civil(year, 3, 1))).collect();
        weekdays.sort_unstable();
        weekdays.dedup();
        assert_eq!(weekdays, [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn zones_of_half_hours_are_known() {
        let whole = |name| (zone(name).has_whole_hours(), zone(name).has_whole_minutes());
        assert_eq!(whole("Europe/Moscow"), (true, true));
        assert_eq!(whole("Asia/Kolkata"), (false, true));
        assert_eq!(whole("Australia/Lord_Howe"), (false, true));
        assert_eq!(whole("Africa/Monrovia"), (false, false));
    }

    #[test]
    fn far_instants_do_not_panic() {
        for zone in [Zone::utc(), zone("Europe/Moscow")] {
            for seconds in [i64::MIN, i64::MAX] {
                let _ = (zone.to_local(seconds), zone.from_local(seconds));
            }
        }
    }

    #[test]
    fn an_unknown_zone_suggests_a_known_one() {
        let error = Zone::parse("Europe/Berlim").unwrap_err();
        assert!(error.message().contains("did you mean `Europe/Berlin`?"), "{error}");
    }
}
