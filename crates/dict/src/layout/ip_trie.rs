//! IP_TRIE: prefixes of addresses; a lookup finds the longest prefix of its address.
//!
//! The prefixes are laid flat: where one begins or ends, the row of the longest prefix from there on. So a
//! lookup is one binary search, however deep prefixes are nested. IPv4 has a table of its own; an IPv6
//! address that stands for an IPv4 one (`::ffff:0:0/96`) is looked up there first.
//!
//! # Cost
//!
//! At most two places a prefix, of 8 bytes for IPv4 and 20 for IPv6, and the row itself.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::{Result, SqlType, bail};

use super::SCAN_BLOCK_ROWS;
use crate::block::split_block;
use crate::counters::Counters;
use crate::dictionary::{Attribute, Dictionary, DictionaryStats};
use crate::layout_kind::{KeyForm, LayoutKind};
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::{Bitmap, Values};

/// Addresses from here on stand for IPv4 ones: `::ffff:0:0`.
const MAPPED: u128 = 0xffff_0000_0000;
const MAPPED_BITS: u8 = 96;

/// The first `bits` bits of an address; IPv4 as the IPv6 address that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Prefix {
    address: u128,
    bits: u8,
}

struct IpTrie {
    key_types: Vec<SqlType>,
    attributes: Vec<Attribute>,
    /// The prefix is the last of `attributes` and not in `values`.
    key_is_attribute: bool,
    /// By row.
    prefixes: Vec<Prefix>,
    has_v6: bool,
    v4: Flat<u32>,
    v6: Flat<u128>,
    values: Values,
    counters: Counters,
}

/// Loads a dictionary from blocks of the prefix and all attributes. Of equal prefixes the last counts.
pub(crate) fn build_ip_trie(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let key_types = spec.key_types();
    if key_types != [SqlType::String] {
        bail!(BadArguments, "the key of an IP_TRIE dictionary is one String, the prefix");
    }
    let mut values = Values::new(&spec.attributes, false);
    let mut prefixes = Vec::new();
    for block in blocks {
        let (rows, keys, columns) = split_block(&key_types, &spec.attributes, &block?, false)?;
        values.push(&columns, rows)?;
        for text in keys[0].as_binary_view().iter().flatten() {
            prefixes.push(Prefix::parse(text)?);
        }
    }
    keep_last(&mut prefixes, &mut values)?;
    values.shrink()?;
    let mut attributes = spec.attributes;
    if spec.layout.key_is_attribute {
        attributes.push(Attribute {
            name: spec.key_columns[0].name.clone(),
            ty: SqlType::String,
            default: SqlType::String.default_array(1),
            hierarchical: false,
            injective: false,
        });
    }
    let numbered = || prefixes.iter().zip(0_u32..);
    let v4 = numbered().filter(|(prefix, _)| prefix.is_v4());
    let v6 = numbered().filter(|(prefix, _)| !prefix.is_v4());
    Ok(Arc::new(IpTrie {
        key_types,
        attributes,
        key_is_attribute: spec.layout.key_is_attribute,
        has_v6: prefixes.iter().any(|prefix| !prefix.is_v4()),
        v4: Flat::new(v4.map(|(prefix, row)| {
            let (first, last) = prefix.range();
            (first as u32, last as u32, row)
        })),
        v6: Flat::new(v6.map(|(prefix, row)| {
            let (first, last) = prefix.range();
            (first, last, row)
        })),
        prefixes,
        values,
        counters: Counters::default(),
    }))
}

/// Drops the rows whose prefix comes again.
fn keep_last(prefixes: &mut Vec<Prefix>, values: &mut Values) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    let mut alive = Bitmap::zeroes(prefixes.len());
    (0..prefixes.len()).rev().filter(|&row| seen.insert(prefixes[row])).for_each(|row| alive.set(row));
    if alive.count() == prefixes.len() {
        return Ok(());
    }
    let mut row = 0..;
    prefixes.retain(|_| row.next().is_some_and(|row| alive.get(row)));
    match values {
        Values::Rows(store) => store.retain(&alive),
        Values::Inline(_) | Values::Segments(_) => Ok(()),
    }
}

impl Prefix {
    /// `10.0.0.0/8`, `2620:0:870::/48`, or an address alone. Bits behind the prefix are cleared.
    fn parse(text: &[u8]) -> Result<Prefix> {
        let parsed = || {
            let text = std::str::from_utf8(text).ok()?;
            let (address, bits) = match text.split_once('/') {
                Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
                None => (text, None),
            };
            let (address, most): (u128, u8) = match address.parse().ok()? {
                IpAddr::V4(address) => (MAPPED | u128::from(u32::from(address)), 32),
                IpAddr::V6(address) => (address.into(), 128),
            };
            let bits = bits.unwrap_or(most);
            let bits = (bits <= most).then_some(128 - most + bits)?;
            Some(Prefix { address: address & mask(bits), bits })
        };
        match parsed() {
            Some(prefix) => Ok(prefix),
            None => {
                bail!(CannotParseInput, "`{}` is no prefix of an address", String::from_utf8_lossy(text))
            }
        }
    }

    fn is_v4(self) -> bool {
        self.bits >= MAPPED_BITS && self.address & mask(MAPPED_BITS) == MAPPED
    }

    /// The first and the last address.
    fn range(self) -> (u128, u128) {
        (self.address, self.address | !mask(self.bits))
    }

    fn text(self, all_v4: bool) -> String {
        let address = Ipv6Addr::from(self.address);
        match address.to_ipv4_mapped() {
            Some(address) if all_v4 => format!("{address}/{}", self.bits - MAPPED_BITS),
            _ => format!("{address}/{}", self.bits),
        }
    }
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

/// Nested ranges as places that follow each other.
struct Flat<T> {
    starts: Vec<T>,
    /// The row from the start on; `NO_ROW` if there is none.
    rows: Vec<u32>,
}

const NO_ROW: u32 = u32::MAX;

trait Place: Copy + Ord {
    /// `None` behind the last.
    fn next(self) -> Option<Self>;
}

impl Place for u32 {
    fn next(self) -> Option<u32> {
        self.checked_add(1)
    }
}

impl Place for u128 {
    fn next(self) -> Option<u128> {
        self.checked_add(1)
    }
}

impl<T: Place> Flat<T> {
    /// Of ranges (first, last, row) that are apart or one inside the other.
    fn new(ranges: impl Iterator<Item = (T, T, u32)>) -> Flat<T> {
        let mut ranges: Vec<(T, T, u32)> = ranges.collect();
        ranges.sort_unstable_by_key(|&(first, last, _)| (first, std::cmp::Reverse(last)));
        let mut flat = Flat { starts: Vec::new(), rows: Vec::new() };
        let mut open: Vec<(T, u32)> = Vec::new();
        for (first, last, row) in ranges {
            flat.close(&mut open, Some(first));
            flat.push(first, row);
            open.push((last, row));
        }
        flat.close(&mut open, None);
        flat.starts.shrink_to_fit();
        flat.rows.shrink_to_fit();
        flat
    }

    /// Ends the ranges that end before `until`.
    fn close(&mut self, open: &mut Vec<(T, u32)>, until: Option<T>) {
        while let Some(&(last, _)) = open.last() {
            if until.is_some_and(|until| last >= until) {
                return;
            }
            open.pop();
            if let Some(behind) = last.next() {
                self.push(behind, open.last().map_or(NO_ROW, |&(_, row)| row));
            }
        }
    }

    fn push(&mut self, start: T, row: u32) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.rows.pop();
        }
        self.starts.push(start);
        self.rows.push(row);
    }

    fn find(&self, place: T) -> Option<u32> {
        let at = self.starts.partition_point(|&start| start <= place).checked_sub(1)?;
        Some(self.rows[at]).filter(|&row| row != NO_ROW)
    }

    fn heap_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<T>() + self.rows.capacity() * size_of::<u32>()
    }
}

impl IpTrie {
    fn row_of(&self, address: u128) -> Option<u32> {
        let v4 = address & mask(MAPPED_BITS) == MAPPED;
        v4.then(|| self.v4.find(address as u32)).flatten().or_else(|| self.v6.find(address))
    }

    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let addresses: Vec<u128> = match keys {
            [key] if *key.data_type() == DataType::UInt32 => {
                let addresses = key.as_primitive::<UInt32Type>().values();
                addresses.iter().map(|&address| MAPPED | u128::from(address)).collect()
            }
            [key] if *key.data_type() == DataType::FixedSizeBinary(16) => {
                let addresses = key.as_fixed_size_binary();
                let address = |row| addresses.value(row).try_into().map_or(0, u128::from_be_bytes);
                (0..key.len()).map(address).collect()
            }
            _ => bail!(TypeMismatch, "the key of an IP_TRIE dictionary is an IPv4 or an IPv6 address"),
        };
        let mut hits = Hits::with_capacity(addresses.len());
        addresses.iter().for_each(|&address| hits.push(self.row_of(address).map(u64::from)));
        self.counters.add(&hits.found);
        Ok(hits)
    }

    fn texts(&self, hits: &Hits) -> ArrayRef {
        let text = |(&row, &found): (&u64, &bool)| match found {
            true => self.prefixes[row as usize].text(!self.has_v6),
            false => String::new(),
        };
        Arc::new(BinaryViewArray::from_iter_values(hits.payloads.iter().zip(&hits.found).map(text)))
    }

    fn columns(&self, attributes: &[usize], hits: &Hits) -> Result<Vec<ArrayRef>> {
        let column = |&at: &usize| match self.key_is_attribute && at + 1 == self.attributes.len() {
            true => Ok(self.texts(hits)),
            false => Ok(self.values.get(&[at], hits)?.remove(0)),
        };
        attributes.iter().map(column).collect()
    }
}

impl Dictionary for IpTrie {
    fn key_types(&self) -> &[SqlType] {
        &self.key_types
    }

    fn key_form(&self) -> KeyForm {
        LayoutKind::IpTrie.key_form()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn layout(&self) -> &'static str {
        LayoutKind::IpTrie.name()
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let hits = self.find(keys)?;
        let columns = self.columns(attributes, &hits)?;
        Ok((columns, BooleanArray::from(hits.found)))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(BooleanArray::from(self.find(keys)?.found))
    }

    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        let attributes: Vec<usize> = (0..self.attributes.len()).collect();
        let mut blocks = Vec::new();
        for first in (0..self.prefixes.len()).step_by(SCAN_BLOCK_ROWS) {
            let rows = first..self.prefixes.len().min(first + SCAN_BLOCK_ROWS);
            let hits = Hits { found: vec![true; rows.len()], payloads: rows.map(|row| row as u64).collect() };
            let mut block = vec![self.texts(&hits)];
            block.extend(self.columns(&attributes, &hits)?);
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn stats(&self) -> DictionaryStats {
        let heap = self.v4.heap_bytes()
            + self.v6.heap_bytes()
            + self.prefixes.capacity() * size_of::<Prefix>()
            + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.prefixes.len() as u64,
            bytes_allocated: (size_of::<IpTrie>() + heap) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_prefix_is_found(
            given in prop::collection::vec((any::<u8>(), 0..9_u8), 0..30),
            asked: Vec<u8>,
        ) {
            // Prefixes of one byte, in the last byte of an IPv4 address.
            let prefixes: Vec<Prefix> = given
                .iter()
                .map(|&(byte, bits)| Prefix::parse(format!("1.2.3.{byte}/{}", 24 + bits).as_bytes()).expect("valid"))
                .collect();
            let mut unique: Vec<Prefix> = Vec::new();
            for prefix in prefixes {
                if !unique.contains(&prefix) {
                    unique.push(prefix);
                }
            }
            let ranges = unique.iter().zip(0_u32..).map(|(prefix, row)| {
                let (first, last) = prefix.range();
                (first as u32, last as u32, row)
            });
            let flat = Flat::new(ranges);
            for byte in asked {
                let address = MAPPED | u128::from(u32::from_be_bytes([1, 2, 3, byte]));
                let holds = |prefix: &&Prefix| address & mask(prefix.bits) == prefix.address;
                let best = unique.iter().filter(holds).max_by_key(|prefix| prefix.bits);
                let row = best.and_then(|best| unique.iter().position(|prefix| prefix == best));
                prop_assert_eq!(flat.find(address as u32), row.map(|row| row as u32));
            }
            prop_assert_eq!(flat.find(0), None);
        }

        #[test]
        fn any_text_is_a_prefix_or_an_error(text: Vec<u8>, tail in "[0-9a-f:./]{0,20}") {
            let _ = (Prefix::parse(&text), Prefix::parse(tail.as_bytes()));
        }
    }

    #[test]
    fn prefixes_of_all_lengths_are_read_and_written() {
        let text = |prefix: &str, all_v4| Prefix::parse(prefix.as_bytes()).map(|prefix| prefix.text(all_v4));
        assert_eq!(text("0.0.0.0/0", true).ok().as_deref(), Some("0.0.0.0/0"));
        assert_eq!(text("10.1.2.3/8", true).ok().as_deref(), Some("10.0.0.0/8"));
        assert_eq!(text("10.1.2.3", false).ok().as_deref(), Some("::ffff:10.1.2.3/128"));
        assert_eq!(text("::1/0", true).ok().as_deref(), Some("::/0"));
        assert!(
            ["10.0.0.0/33", "x/8", "10.0.0.0/-1", "::/129", ""].iter().all(|bad| text(bad, true).is_err())
        );
    }
}
