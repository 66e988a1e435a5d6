//! The setting `join_algorithm`: a list of ClickHouse's names.

use basalt_base::{Result, bail};

/// Algorithms that are executed as hash joins here: their results are the same.
const BY_HASH: [&str; 9] = [
    "auto",
    "default",
    "full_sorting_merge",
    "grace_hash",
    "hash",
    "ie_join",
    "parallel_full_sorting_merge",
    "parallel_hash",
    "partial_merge",
];
const PREFERRED_BY_HASH: &str = "prefer_partial_merge";
const DIRECT: &str = "direct";

/// The algorithms that a query allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinAlgorithms {
    /// Look up keys in a right side that finds rows by key.
    pub(crate) direct: bool,
    /// Nothing else.
    pub(crate) only_direct: bool,
}

impl JoinAlgorithms {
    pub(crate) fn parse(text: &str) -> Result<JoinAlgorithms> {
        let (mut direct, mut by_hash) = (false, false);
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                DIRECT => direct = true,
                "default" => (direct, by_hash) = (true, true),
                PREFERRED_BY_HASH => by_hash = true,
                name if BY_HASH.contains(&name) => by_hash = true,
                other => bail!(
                    BadArguments,
                    "setting join_algorithm is a list of {DIRECT}, {}, {PREFERRED_BY_HASH}; got `{other}`",
                    BY_HASH.join(", ")
                ),
            }
        }
        Ok(JoinAlgorithms { direct, only_direct: direct && !by_hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_what_joins_may_do() {
        let check = |text: &str, direct: bool, only_direct: bool| {
            let parsed = JoinAlgorithms::parse(text).expect("known names");
            assert_eq!(parsed, JoinAlgorithms { direct, only_direct }, "{text}");
        };
        check("direct,parallel_hash,hash", true, false);
        check("direct", true, true);
        check("default", true, false);
        check("hash, auto", false, false);
        check("", false, false);
        assert!(JoinAlgorithms::parse("hash,nosuch").is_err());
    }
}
