//! The settings of a Succinct table, from the SETTINGS clause of its CREATE: one line each.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_sql::ast::Setting;

use super::literal::literal_text;
use super::table::settings_table;

const BUILD_THREADS_MAX: u64 = 256;

settings_table! {
    /// The values of all settings of one table.
    SuccinctSettings;
    access: String = "mapped", "How values are read out of segments: `mapped` into memory, or `read` by system calls, which suits data far above the memory.";
    build_memory_bytes: u64 = 536_870_912u64, "Bytes of samples and of sorted runs that the build of a segment keeps in memory.";
    build_threads: u64 = 1u64, "Threads of the build of a segment.";
    max_dead_share: f64 = 0.1f64, "A segment with a larger share of shadowed rows than this is written anew.";
    max_segments: u64 = 5u64, "With more segments than this, some are merged.";
    segment_bytes: u64 = 268_435_456u64, "Bytes of new rows after which they become a segment.";
}

impl SuccinctSettings {
    /// The settings of a table with this SETTINGS clause.
    pub(crate) fn of_clause(clause: &[Setting]) -> Result<SuccinctSettings> {
        let mut settings = SuccinctSettings::default();
        for Setting { name, value } in clause {
            if !settings.set_known(name, &literal_text(value))? {
                let hint = did_you_mean(name, SuccinctSettings::names());
                bail!(UnknownSetting, "setting `{name}` of engine Succinct is not known{hint}");
            }
        }
        if !matches!(settings.access.as_str(), "mapped" | "read") {
            bail!(BadArguments, "setting `access` is `mapped` or `read`, not `{}`", settings.access);
        }
        if !(0.0..=1.0).contains(&settings.max_dead_share) {
            bail!(BadArguments, "setting `max_dead_share` is a share between 0 and 1");
        }
        if settings.segment_bytes == 0 || settings.max_segments == 0 {
            bail!(BadArguments, "settings `segment_bytes` and `max_segments` are at least 1");
        }
        if !(1..=BUILD_THREADS_MAX).contains(&settings.build_threads) {
            bail!(BadArguments, "setting `build_threads` is between 1 and {BUILD_THREADS_MAX}");
        }
        Ok(settings)
    }
}
