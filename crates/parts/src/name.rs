//! A part's name: which blocks of which partition it holds, and how often they were merged.

use std::fmt;
use std::str::FromStr;

/// The partition of a table that has none.
pub const WHOLE_TABLE: &str = "all";

/// `<partition>_<min block>_<max block>_<level>`, ClickHouse's naming.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    pub partition: String,
    /// Numbers of the inserts whose rows the part holds: all from `min_block` to `max_block`.
    pub min_block: u64,
    pub max_block: u64,
    /// 0 for an insert, else one more than the highest among those it was made of.
    pub level: u32,
}

impl PartName {
    /// The name of what an insert writes.
    pub fn inserted(block: u64) -> PartName {
        PartName { partition: WHOLE_TABLE.to_owned(), min_block: block, max_block: block, level: 0 }
    }

    /// Whether this part holds all that `other` holds, so that `other` is obsolete.
    pub fn covers(&self, other: &PartName) -> bool {
        self.partition == other.partition
            && self.min_block <= other.min_block
            && other.max_block <= self.max_block
            && self.level > other.level
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}_{}", self.partition, self.min_block, self.max_block, self.level)
    }
}

/// The text is not the name of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPartName;

impl FromStr for PartName {
    type Err = NotAPartName;

    fn from_str(text: &str) -> Result<PartName, NotAPartName> {
        let mut fields = text.rsplitn(4, '_');
        let mut next = || fields.next().ok_or(NotAPartName);
        let level = next()?.parse().map_err(|_| NotAPartName)?;
        let max_block = next()?.parse().map_err(|_| NotAPartName)?;
        let min_block = next()?.parse().map_err(|_| NotAPartName)?;
        let partition = next()?.to_owned();
        let name = PartName { partition, min_block, max_block, level };
        // "all_01_1_0" and "all_2_1_0" are nobody's parts.
        if min_block > max_block || name.to_string() != text { Err(NotAPartName) } else { Ok(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_nothing_else_parses() {
        for text in ["all_1_1_0", "202611_3_17_2", "a_b_1_2_3"] {
            assert_eq!(text.parse::<PartName>().unwrap().to_string(), text);
        }
        for text in ["", "tmp", "detached", "all_2_1_0", "all_01_1_0", "all_1_1", "all_1_1_x", "all_-1_1_0"] {
            assert!(text.parse::<PartName>().is_err(), "{text}");
        }
    }

    #[test]
    fn merged_part_covers_its_inputs_only() {
        let merged: PartName = "all_2_5_1".parse().unwrap();
        for (other, covered) in
            [("all_2_2_0", true), ("all_3_5_0", true), ("all_5_6_0", false), ("x_2_2_0", false)]
        {
            assert_eq!(merged.covers(&other.parse().unwrap()), covered, "{other}");
        }
        assert!(!merged.covers(&merged.clone()));
    }
}
