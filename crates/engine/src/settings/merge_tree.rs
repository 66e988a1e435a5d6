//! The settings of a MergeTree table, from the SETTINGS clause of its CREATE: one line each.

use std::collections::BTreeMap;
use std::time::Duration;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_parts::{BrokenLimits, GRANULE_BYTES_DEFAULT, MergeLimits, WIDE_BYTES_MIN_DEFAULT};
use basalt_sql::ast::{Literal, Setting};

use super::known::MERGE_TREE;
use super::table::{SettingLine, settings_table};

/// Rows of a granule at most.
const INDEX_GRANULARITY_MAX: u64 = 1 << 20;

/// An INSERT waits no longer than this under any settings.
const DELAY_MAX_MS: u64 = 60_000;

settings_table! {
    /// The values of all settings of one table.
    MergeTreeSettings;
    allow_floating_point_partition_key: bool = false, "PARTITION BY may have floating point values.";
    allow_nullable_key: bool = false, "Keys may have Nullable columns.";
    enable_vertical_merge_algorithm: bool = true, "Merges of many columns write those that decide nothing one after the other.";
    default_compression_codec: String = "AUTO", "The codecs of columns without a CODEC clause, and what `Default` stands for in one.";
    index_granularity: u64 = 8192u64, "Rows of a granule at most.";
    index_granularity_bytes: u64 = GRANULE_BYTES_DEFAULT, "Bytes of a granule, about: parts of wide rows get fewer rows a granule; 0 is no limit.";
    max_bytes_to_merge_at_max_space_in_pool: u64 = 161_061_273_600u64, "Bytes on disk that parts may have together to be merged in the background.";
    max_delay_to_insert: u64 = 1u64, "Seconds that an INSERT waits at most while there are many parts.";
    max_parts_in_total: u64 = 100_000u64, "An INSERT into a table with more parts than this is refused.";
    max_suspicious_broken_parts: u64 = 100u64, "A table with more damaged parts than this is not opened.";
    max_suspicious_broken_parts_bytes: u64 = 1_073_741_824u64, "A table whose damaged parts have more bytes than this is not opened.";
    merge_max_block_size: u64 = 8192u64, "Rows that a merge handles at a time, at most.";
    merge_max_block_size_bytes: u64 = 10_485_760u64, "Bytes that a merge handles at a time, about: fewer rows where they are wide.";
    merge_with_recompression_ttl_timeout: u64 = 14_400u64, "Seconds between two merges of a partition that write columns with other codecs because of a TTL.";
    merge_with_ttl_timeout: u64 = 14_400u64, "Seconds between two merges of a partition that remove rows or values because of a TTL.";
    min_bytes_for_wide_part: u64 = WIDE_BYTES_MIN_DEFAULT, "A part with fewer bytes of values is compact: one file for all columns.";
    min_index_granularity_bytes: u64 = 1024u64, "The least that index_granularity_bytes may be, unless it is 0.";
    min_delay_to_insert_ms: u64 = 10u64, "Milliseconds that an INSERT waits at least while there are many parts.";
    min_rows_for_wide_part: u64 = 0u64, "A part with fewer rows is compact.";
    non_replicated_deduplication_window: u64 = 0u64, "Blocks that are remembered, so that a repeated INSERT adds nothing; 0 is off.";
    parts_to_delay_insert: u64 = 1000u64, "An INSERT waits if a partition has more parts than this; 0 is never.";
    parts_to_throw_insert: u64 = 3000u64, "An INSERT is refused if a partition has more parts than this; 0 is never.";
    ttl_only_drop_parts: bool = false, "No merge begins because of a TTL before all rows of a part have expired.";
    vertical_merge_algorithm_min_bytes_to_activate: u64 = 0u64, "Bytes of values from which a merge writes columns one after the other.";
    vertical_merge_algorithm_min_columns_to_activate: u64 = 11u64, "Columns outside the keys from which a merge writes them one after the other.";
    vertical_merge_algorithm_min_rows_to_activate: u64 = 131_072u64, "Rows from which a merge writes columns one after the other.";
}

impl MergeTreeSettings {
    /// The settings of a table with this SETTINGS clause.
    pub(crate) fn of_clause(clause: &[Setting]) -> Result<MergeTreeSettings> {
        let mut settings = MergeTreeSettings::default();
        for setting in clause {
            settings.set(&setting.name, &text_of(&setting.value))?;
        }
        settings.check()?;
        Ok(settings)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let known = MERGE_TREE.find(name);
        let text = match known {
            Some(known) => &MERGE_TREE.canonical(known, text)?,
            None => text,
        };
        if self.set_known(name, text)? {
            return Ok(());
        }
        if let Some(known) = known {
            return MERGE_TREE.accepted(known, text).map(|_| ());
        }
        let hint = did_you_mean(name, MergeTreeSettings::names());
        bail!(UnknownSetting, "setting `{name}` of engine MergeTree is not known{hint}")
    }

    /// Whether ClickHouse has a setting of that name.
    pub(crate) fn is_known(name: &str) -> bool {
        MergeTreeSettings::names().any(|known| known == name) || MERGE_TREE.find(name).is_some()
    }

    /// Every setting, in alphabetical order.
    pub(crate) fn lines(&self) -> Vec<SettingLine> {
        let mut lines: BTreeMap<&str, SettingLine> =
            self.own_lines().into_iter().map(|line| (line.name, line)).collect();
        for known in MERGE_TREE.iter() {
            let line = known.unchanged_line();
            lines
                .entry(known.name)
                .and_modify(|own| (own.type_name, own.tier) = (line.type_name, line.tier))
                .or_insert(line);
        }
        lines.into_values().collect()
    }

    /// How long an INSERT waits when a partition has `parts` parts, which are too many. The delay grows up to the
    /// number at which INSERTs are refused.
    pub(crate) fn delay(&self, parts: u64) -> Duration {
        let over = parts.saturating_sub(self.parts_to_delay_insert) + 1;
        let allowed = self.parts_to_throw_insert.saturating_sub(self.parts_to_delay_insert).max(1);
        let most = self.max_delay_to_insert.saturating_mul(1000).min(DELAY_MAX_MS);
        let delay = (over as f64 / allowed as f64).min(1.0) * most as f64;
        Duration::from_millis((delay as u64).max(self.min_delay_to_insert_ms.min(most)))
    }

    /// The limits of merges.
    pub(crate) fn merge_limits(&self) -> MergeLimits {
        MergeLimits {
            batch_rows: self.merge_max_block_size.min(INDEX_GRANULARITY_MAX) as usize,
            batch_bytes: self.merge_max_block_size_bytes,
            bytes_max: self.max_bytes_to_merge_at_max_space_in_pool,
            is_vertical_allowed: self.enable_vertical_merge_algorithm,
            vertical_rows_min: self.vertical_merge_algorithm_min_rows_to_activate,
            vertical_bytes_min: self.vertical_merge_algorithm_min_bytes_to_activate,
            vertical_columns_min: usize::try_from(self.vertical_merge_algorithm_min_columns_to_activate)
                .unwrap_or(usize::MAX),
        }
    }

    /// The damage with which a table still opens.
    pub(crate) fn broken_limits(&self) -> BrokenLimits {
        BrokenLimits {
            parts_max: self.max_suspicious_broken_parts,
            bytes_max: self.max_suspicious_broken_parts_bytes,
        }
    }

    /// Checks that the types of the settings cannot make.
    fn check(&self) -> Result<()> {
        if !(1..=INDEX_GRANULARITY_MAX).contains(&self.index_granularity) {
            bail!(
                BadArguments,
                "index_granularity is 1 to {INDEX_GRANULARITY_MAX} rows, got {}",
                self.index_granularity
            );
        }
        let (bytes, least) = (self.index_granularity_bytes, self.min_index_granularity_bytes);
        if (1..least).contains(&bytes) {
            bail!(
                BadArguments,
                "index_granularity_bytes: {bytes} is lower than specified min_index_granularity_bytes: {least}"
            );
        }
        if self.merge_max_block_size == 0 {
            bail!(BadArguments, "merge_max_block_size is 1 or more rows, got 0");
        }
        Ok(())
    }
}

fn text_of(value: &Literal) -> String {
    match value {
        Literal::Bool(value) => u8::from(*value).to_string(),
        Literal::UInt(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Number(text) => text.clone(),
        Literal::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Literal::Null => "NULL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: Literal) -> Result<MergeTreeSettings> {
        MergeTreeSettings::of_clause(&[Setting { name: name.to_owned(), value }])
    }

    #[test]
    fn an_insert_waits_longer_the_more_parts_there_are() {
        let settings = MergeTreeSettings::default();
        let waits: Vec<u128> = [1000, 2000, 3000].map(|parts| settings.delay(parts).as_millis()).into();
        assert_eq!(waits, [10, 500, 1000]);
    }

    #[test]
    fn values_are_checked_and_names_known() {
        assert_eq!(check("index_granularity", Literal::UInt(64)).unwrap().index_granularity, 64);
        check("index_granularity", Literal::UInt(0)).unwrap_err();
        check("index_granularity", Literal::Int(-1)).unwrap_err();
        check("index_granularity_bytes", Literal::UInt(1023)).unwrap_err();
        check("index_granularity_bytes", Literal::UInt(0)).unwrap();
        check("merge_selecting_sleep_ms", Literal::UInt(1)).unwrap();
        let error = check("table_disk", Literal::UInt(1)).unwrap_err();
        assert!(error.to_string().contains("is not implemented"), "{error}");
        let error = check("index_granularty", Literal::UInt(8)).unwrap_err();
        assert!(error.to_string().contains("did you mean `index_granularity`"), "{error}");
    }
}
