//! The settings that affect the text of single values.

use basalt_base::zone::Zone;

use super::short_text::ShortText;

/// The settings of single values. The default is that of casts and of `toString`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSettings {
    /// The session's zone, for types without one.
    pub zone: Zone,
    /// NULL for a type that is not nullable becomes the default value; otherwise it is an error.
    pub null_as_default: bool,
    pub date_time_input: DateTimeInput,
    pub date_time_output: DateTimeOutput,
    /// The words of Bool in TSV, CSV, Vertical and Pretty formats; `None` is `true` and `false`.
    pub bool_words: Option<BoolWords>,
    /// FixedString without the zero bytes at its end.
    pub trim_fixed_string: bool,
    /// `''` instead of `\'` inside an SQL literal.
    pub double_single_quotes: bool,
    pub json_quote_64bit_integers: bool,
    pub json_quote_64bit_floats: bool,
    pub json_quote_decimals: bool,
    /// `"nan"` and `"inf"` instead of null.
    pub json_quote_denormals: bool,
    pub json_escape_forward_slashes: bool,
    /// A tuple with names is an object; otherwise an array.
    pub json_named_tuples_as_objects: bool,
    /// An object leaves out the elements of a tuple that are NULL.
    pub json_skip_null_in_named_tuples: bool,
    /// A map is an array of `{"keys": .., "values": ..}`.
    pub json_map_as_array_of_tuples: bool,
    /// `1.50` for a decimal of two digits instead of `1.5`.
    pub decimal_trailing_zeros: bool,
}

/// The parser of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateTimeInput {
    /// `YYYY-MM-DD hh:mm:ss` and its variants, or seconds since 1970.
    #[default]
    Basic,
    /// Also what `parseDateTimeBestEffort` reads.
    BestEffort,
    /// Like `BestEffort`; the month comes first in `02/03/2020`.
    BestEffortUs,
}

/// The form of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateTimeOutput {
    /// `2024-01-02 03:04:05`.
    #[default]
    Simple,
    /// `2024-01-02T03:04:05Z`, in UTC.
    Iso,
    /// Seconds since 1970.
    UnixTimestamp,
}

/// The words of Bool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoolWords {
    pub yes: ShortText,
    pub no: ShortText,
}

impl Default for TextSettings {
    fn default() -> TextSettings {
        TextSettings {
            zone: Zone::utc(),
            null_as_default: true,
            date_time_input: DateTimeInput::Basic,
            date_time_output: DateTimeOutput::Simple,
            bool_words: None,
            trim_fixed_string: false,
            double_single_quotes: false,
            json_quote_64bit_integers: false,
            json_quote_64bit_floats: false,
            json_quote_decimals: false,
            json_quote_denormals: false,
            json_escape_forward_slashes: true,
            json_named_tuples_as_objects: true,
            json_skip_null_in_named_tuples: false,
            json_map_as_array_of_tuples: false,
            decimal_trailing_zeros: false,
        }
    }
}
