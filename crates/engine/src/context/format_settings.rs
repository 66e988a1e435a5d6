//! The settings of a query as `formats` takes them.

use basalt_base::Result;
use basalt_base::zone::Zone;
use basalt_formats::{CopyDirection, CopyOptions, FormatSettings};

use super::query::QueryContext;
use crate::settings::Settings;

/// The settings of the formats of `query`.
pub(crate) fn format_settings(query: &QueryContext) -> FormatSettings {
    FormatSettings {
        threads: if query.settings.input_format_parallel_parsing { query.threads() } else { 1 },
        ..formats_of(&query.settings, query.zone)
    }
}

/// The part of `settings` that is for formats, for one thread.
pub(crate) fn formats_of(settings: &Settings, zone: Zone) -> FormatSettings {
    let mut formats = FormatSettings::default();
    formats.text.zone = zone;
    formats.max_block_rows = settings.max_block_size.clamp(1, 1 << 20) as usize;
    formats.threads = 1;
    for (name, value) in settings.formats() {
        // Name and value were checked when they were set.
        let known = formats.set(name, value);
        debug_assert!(matches!(known, Ok(true)), "{name} was set unchecked");
    }
    formats
}

/// The format that the options of a COPY name, and its settings.
pub(crate) fn copy_settings(
    query: &QueryContext,
    options: &[(String, String)],
) -> Result<(String, FormatSettings)> {
    let mut copy = CopyOptions::default();
    for (name, value) in options {
        copy.set(name, Some(value))?;
    }
    let (format, settings) = copy.resolve(CopyDirection::In, &format_settings(query));
    Ok((format.to_owned(), settings))
}
