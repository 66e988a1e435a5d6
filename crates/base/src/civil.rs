//! Calendar dates as numbers: days since 1970-01-01 to year, month and day, and back.
//!
//! The proleptic Gregorian calendar by Howard Hinnant's algorithms ("chrono-compatible low-level
//! date algorithms", `days_from_civil` and `civil_from_days`): the year begins in March, so that
//! the leap day is its last day, and 400 years are one era of 146,097 days.

const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01, where era 0 begins, to 1970-01-01.
const ERA_ZERO_TO_EPOCH: i64 = 719_468;

/// Days since 1970-01-01 of a calendar day. Months count from 1. A day past the end of its month continues into the
/// next month. Saturates where the result does not fit.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    debug_assert!((1..=12).contains(&month), "months count from 1 to 12");
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * DAYS_PER_ERA + day_of_era - ERA_ZERO_TO_EPOCH;
    days.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Year, month (from 1) and day (from 1) of a number of days since 1970-01-01.
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let days = i64::from(days) + ERA_ZERO_TO_EPOCH;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / (DAYS_PER_ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u32, day as u32)
}

pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days in a month, counted from 1; 0 for a month that does not exist.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    }
}

/// Whether the calendar has this day.
pub fn is_valid(year: i32, month: u32, day: u32) -> bool {
    day >= 1 && day <= days_in_month(year, month)
}

/// The day of the week, Monday 1 to Sunday 7.
pub fn weekday(days: i32) -> u32 {
    // 1970-01-01 was a Thursday.
    (i64::from(days) + 3).rem_euclid(7) as u32 + 1
}

/// The day of the year, from 1.
pub fn day_of_year(days: i32) -> u32 {
    let (year, _, _) = civil_from_days(days);
    (i64::from(days) - i64::from(days_from_civil(year, 1, 1))) as u32 + 1
}

/// ISO 8601's year and week: weeks begin on Monday, week 1 holds the year's first Thursday.
pub fn iso_week(days: i32) -> (i32, u32) {
    let thursday = days.saturating_add(4 - weekday(days) as i32);
    let (year, _, _) = civil_from_days(thursday);
    (year, (day_of_year(thursday) - 1) / 7 + 1)
}

/// The day `months` later. A day past the end of the target month becomes its last day.
pub fn add_months(days: i32, months: i64) -> i32 {
    let (year, month, day) = civil_from_days(days);
    let from_zero = (i64::from(year) * 12 + i64::from(month) - 1).saturating_add(months);
    let year = from_zero.div_euclid(12).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    let month = from_zero.rem_euclid(12) as u32 + 1;
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_round_trips() {
        let mut expected = (1900, 1, 1);
        for days in days_from_civil(1900, 1, 1)..days_from_civil(2700, 1, 1) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!((year, month, day), expected);
            assert_eq!(days_from_civil(year, month, day), days);
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                _ if day == days_in_month(year, month) => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn far_days_do_not_overflow() {
        for days in [i32::MIN, i32::MAX] {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            let _ = (weekday(days), day_of_year(days), iso_week(days), add_months(days, i64::MAX));
        }
    }

    #[test]
    fn known_days() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2024, 2, 29), 19_782);
        assert_eq!((weekday(0), weekday(19_782), weekday(-1)), (4, 4, 3));
        assert_eq!(day_of_year(days_from_civil(2024, 12, 31)), 366);
        assert_eq!(iso_week(days_from_civil(2021, 1, 3)), (2020, 53));
        assert_eq!(iso_week(days_from_civil(2024, 12, 30)), (2025, 1));
        assert_eq!(add_months(days_from_civil(2024, 1, 31), 1), days_from_civil(2024, 2, 29));
        assert_eq!(add_months(days_from_civil(2024, 1, 31), -13), days_from_civil(2022, 12, 31));
        assert!(is_valid(2000, 2, 29) && !is_valid(1900, 2, 29) && !is_valid(2000, 13, 1));
    }
}
