//! Functions over strings.

mod concat;
mod contains;
mod distance;
mod edits;
mod encode;
mod map;
mod multi;
mod pad;
mod pattern;
mod replace;
mod search;
mod size;
mod split;
mod substring;
mod translate;
mod trim;
mod url;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &size::LENGTH,
    &size::LENGTH_UTF8,
    &size::EMPTY,
    &size::NOT_EMPTY,
    &map::LOWER,
    &map::UPPER,
    &map::LOWER_UTF8,
    &map::UPPER_UTF8,
    &map::INITCAP,
    &map::REVERSE,
    &map::REVERSE_UTF8,
    &map::TO_VALID_UTF8,
    &map::IS_VALID_UTF8,
    &concat::CONCAT,
    &concat::CONCAT_WITH_SEPARATOR,
    &concat::FORMAT,
    &substring::SUBSTRING,
    &substring::SUBSTRING_UTF8,
    &substring::LEFT,
    &substring::LEFT_UTF8,
    &substring::RIGHT,
    &substring::RIGHT_UTF8,
    &search::POSITION,
    &search::POSITION_CASE_INSENSITIVE,
    &search::POSITION_UTF8,
    &search::LOCATE,
    &search::COUNT_SUBSTRINGS,
    &search::COUNT_SUBSTRINGS_CASE_INSENSITIVE,
    &search::STARTS_WITH,
    &search::ENDS_WITH,
    &search::HAS_TOKEN,
    &pattern::LIKE,
    &pattern::NOT_LIKE,
    &pattern::ILIKE,
    &pattern::NOT_ILIKE,
    &pattern::MATCH,
    &multi::MULTI_MATCH_ANY,
    &multi::MULTI_SEARCH_ANY,
    &distance::EDIT_DISTANCE,
    &distance::EDIT_DISTANCE_UTF8,
    &replace::REPLACE_ONE,
    &replace::REPLACE_ALL,
    &replace::REPLACE_REGEXP_ONE,
    &replace::REPLACE_REGEXP_ALL,
    &split::SPLIT_BY_CHAR,
    &split::SPLIT_BY_STRING,
    &split::SPLIT_BY_WHITESPACE,
    &split::SPLIT_BY_NON_ALPHA,
    &split::ALPHA_TOKENS,
    &split::EXTRACT,
    &split::EXTRACT_ALL,
    &translate::TRANSLATE,
    &translate::TRANSLATE_UTF8,
    &trim::TRIM_LEFT,
    &trim::TRIM_RIGHT,
    &trim::TRIM_BOTH,
    &pad::LEFT_PAD,
    &pad::RIGHT_PAD,
    &pad::LEFT_PAD_UTF8,
    &pad::RIGHT_PAD_UTF8,
    &pad::REPEAT,
    &pad::SPACE,
    &encode::HEX,
    &encode::UNHEX,
    &encode::BIN,
    &encode::UNBIN,
    &encode::BASE64_ENCODE,
    &encode::BASE64_DECODE,
    &encode::TRY_BASE64_DECODE,
    &encode::CHAR,
    &encode::ASCII,
    &url::PROTOCOL,
    &url::DOMAIN,
    &url::DOMAIN_WITHOUT_WWW,
    &url::TOP_LEVEL_DOMAIN,
    &url::PATH,
    &url::PATH_FULL,
    &url::QUERY_STRING,
    &url::FRAGMENT,
    &url::QUERY_STRING_AND_FRAGMENT,
    &url::CUT_QUERY_STRING,
    &url::CUT_FRAGMENT,
    &url::CUT_QUERY_STRING_AND_FRAGMENT,
];
