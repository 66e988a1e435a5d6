//! A part's name: its partition, its range of blocks, and how often it was merged.

use std::fmt;
use std::str::FromStr;

/// The partition of an unpartitioned table.
pub const WHOLE_TABLE: &str = "all";

/// `<partition>_<min block>_<max block>_<level>[_<mutation>]`, ClickHouse's naming.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    pub partition: String,
    /// The block numbers of the inserts whose rows the part has: all from `min_block` to `max_block`.
    pub min_block: u64,
    pub max_block: u64,
    /// 0 for an insert, else one more than the highest level of the merged parts.
    pub level: u32,
    /// The last mutation applied to its rows; 0 for none.
    pub mutation: u64,
}

impl PartName {
    /// The name of a part that an insert writes into `partition`.
    pub fn inserted(partition: String, block: u64) -> PartName {
        PartName { partition, min_block: block, max_block: block, level: 0, mutation: 0 }
    }

    /// The name of the same rows after `mutation`.
    pub fn mutated(&self, mutation: u64) -> PartName {
        PartName { mutation, ..self.clone() }
    }

    /// The name of the result of merging parts with these names.
    ///
    /// # Panics
    ///
    /// If there are no names.
    pub fn merged<'a>(names: impl Iterator<Item = &'a PartName> + Clone) -> PartName {
        let first = names.clone().next().expect("a merge has inputs");
        PartName {
            partition: first.partition.clone(),
            min_block: names.clone().map(|name| name.min_block).min().unwrap_or(first.min_block),
            max_block: names.clone().map(|name| name.max_block).max().unwrap_or(first.max_block),
            level: names.clone().map(|name| name.level).max().unwrap_or(first.level) + 1,
            mutation: names.map(|name| name.mutation).max().unwrap_or(first.mutation),
        }
    }

    /// All mutations up to this number are applied to the rows, or are older than them.
    pub fn data_version(&self) -> u64 {
        if self.mutation == 0 { self.min_block } else { self.mutation }
    }

    /// Whether this part contains all rows of `other`, so that `other` is obsolete.
    pub fn covers(&self, other: &PartName) -> bool {
        self.partition == other.partition
            && self.min_block <= other.min_block
            && other.max_block <= self.max_block
            && other.level <= self.level
            && other.mutation <= self.mutation
            && self != other
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}_{}", self.partition, self.min_block, self.max_block, self.level)?;
        if self.mutation > 0 { write!(f, "_{}", self.mutation) } else { Ok(()) }
    }
}

/// The error for text that is no part name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPartName;

impl FromStr for PartName {
    type Err = NotAPartName;

    fn from_str(text: &str) -> Result<PartName, NotAPartName> {
        let fields: Vec<&str> = text.split('_').collect();
        let (partition, numbers) = fields.split_first().ok_or(NotAPartName)?;
        let (blocks, mutation) = match numbers {
            [blocks @ .., mutation] if numbers.len() == 4 => (blocks, number(mutation)?),
            _ => (numbers, 0),
        };
        let [min_block, max_block, level] = blocks else { return Err(NotAPartName) };
        let name = PartName {
            partition: (*partition).to_owned(),
            min_block: number(min_block)?,
            max_block: number(max_block)?,
            level: number(level)?,
            mutation,
        };
        // Only the canonical form is accepted, not "all_01_1_0" or "all_2_1_0".
        let is_ours = !partition.is_empty() && name.min_block <= name.max_block && name.to_string() == text;
        if is_ours { Ok(name) } else { Err(NotAPartName) }
    }
}

fn number<N: FromStr>(text: &str) -> Result<N, NotAPartName> {
    text.parse().map_err(|_| NotAPartName)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_nothing_else_parses() {
        for text in ["all_1_1_0", "202611_3_17_2", "all_1_1_0_5", "2026-11_3_17_2_18"] {
            assert_eq!(text.parse::<PartName>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "tmp",
            "detached",
            "all_2_1_0",
            "all_01_1_0",
            "all_1_1",
            "all_1_1_x",
            "all_-1_1_0",
            "all_1_1_0_0",
            "all_1_1_0_05",
            "a_b_1_2_3_4",
            "_1_1_0",
        ] {
            assert!(text.parse::<PartName>().is_err(), "{text}");
        }
    }

    #[test]
    fn merged_part_covers_its_inputs_only() {
        let merged: PartName = "all_2_5_1".parse().unwrap();
        for (other, covered) in [
            ("all_2_2_0", true),
            ("all_3_5_0", true),
            ("all_5_6_0", false),
            ("x_2_2_0", false),
            ("all_3_5_0_7", false),
        ] {
            assert_eq!(merged.covers(&other.parse().unwrap()), covered, "{other}");
        }
        assert!(!merged.covers(&merged.clone()));
    }

    #[test]
    fn mutated_part_covers_what_it_was_made_of() {
        let old: PartName = "all_2_5_1".parse().unwrap();
        let new = old.mutated(7);
        assert_eq!((new.to_string().as_str(), new.data_version()), ("all_2_5_1_7", 7));
        assert!(new.covers(&old) && !old.covers(&new));
        assert_eq!(old.data_version(), 2);
    }
}
