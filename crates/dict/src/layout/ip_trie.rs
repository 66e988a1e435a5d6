//! IP_TRIE: prefixes of addresses; a lookup finds the longest prefix of its address.
//!
//! Nested prefixes are stored as a sorted list ([`ip_ranges`](super::ip_ranges)): where a prefix begins or ends, the
//! longest prefix from there on. So a lookup is one binary search, however deep prefixes are nested. IPv4 has a list
//! of its own. An IPv6 address that is mapped from IPv4 (`::ffff:0:0/96`) is looked up there first.
//!
//! # Layout
//!
//! In a file: the number of prefixes; their addresses, lengths and rows, in order; the lists of IPv4 and of IPv6; the
//! attributes.
//!
//! # Cost
//!
//! At most two list entries for each prefix, of 8 bytes for IPv4 and 20 for IPv6, 21 bytes for the prefix, and its
//! row.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::{Result, SqlType, bail};

use super::ip_ranges::FlatRanges;
use crate::block::split_block;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter, Storable};
use crate::scan_columns::ScanColumns;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::Hits;
use crate::values::{Bitmap, Numbers, Values};

/// IPv4-mapped addresses begin here: `::ffff:0:0`.
const MAPPED: u128 = 0xffff_0000_0000;
const MAPPED_BITS: u8 = 96;

/// The first `bits` bits of an address. An IPv4 address is the IPv6 address that it maps to. In order, a prefix comes
/// before those inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Prefix {
    address: u128,
    bits: u8,
}

struct IpTrie {
    schema: DictionarySchema,
    /// The prefix is the last attribute, and not in `values`.
    key_is_attribute: bool,
    prefixes: Prefixes,
    values: Values,
    counters: Counters,
    backing: Backing,
}

/// Prefixes in order, and the lists that find them.
struct Prefixes {
    addresses: Numbers<u128>,
    bits: Numbers<u8>,
    /// The row of each prefix's attributes.
    rows: Numbers<u32>,
    v4: FlatRanges<u32>,
    v6: FlatRanges<u128>,
}

/// The prefixes of a load, and their rows.
#[derive(Default)]
pub(crate) struct GivenPrefixes(Vec<(Prefix, u32)>);

/// Loads a dictionary from blocks of the prefix and all attributes. The last one of equal prefixes counts.
pub(crate) fn build_ip_trie(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let key_types = spec.key_types();
    check_prefix_key(&key_types)?;
    let mut values = Values::new(&spec.attributes, false);
    let mut given = GivenPrefixes::default();
    for block in blocks {
        let (rows, keys, columns) = split_block(&key_types, &spec.attributes, &block?, false)?;
        let rows = values.push(&columns, rows)?;
        given.push(&keys, &rows.into_vec())?;
    }
    if let (Some(alive), Values::Rows(store)) = (given.keep_last(values.rows()), &mut values) {
        given.renumber(&alive.ranks());
        store.retain(&alive)?;
    }
    values.shrink()?;
    Ok(IpTrie::over(spec, Prefixes::of(&given.0), values, Backing::default()))
}

/// Opens a dictionary over the parts that [`Storable::save`] wrote.
pub(crate) fn open_ip_trie(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    let prefixes = Prefixes::open(image)?;
    let values = Values::open(&spec.attributes, false, image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    Ok(IpTrie::over(spec, prefixes, values, backing))
}

/// Checks that the key is one String.
pub(crate) fn check_prefix_key(key_types: &[SqlType]) -> Result<()> {
    if key_types != [SqlType::String] {
        bail!(BadArguments, "the key of an IP_TRIE dictionary is one String, the prefix");
    }
    Ok(())
}

impl GivenPrefixes {
    /// Adds the keys of a block, whose rows have these numbers.
    pub(crate) fn push(&mut self, keys: &[ArrayRef], rows: &[u64]) -> Result<()> {
        let texts = keys[0].as_binary_view().iter().flatten();
        texts.zip(rows).try_for_each(|(text, &row)| {
            self.0.push((Prefix::parse(text)?, row as u32));
            Ok(())
        })
    }

    /// Sorts the prefixes and drops duplicates. Returns which of `rows` rows are left, or `None` if all are.
    pub(crate) fn keep_last(&mut self, rows: usize) -> Option<Bitmap> {
        self.0.sort_unstable_by_key(|&(prefix, row)| (prefix, std::cmp::Reverse(row)));
        self.0.dedup_by_key(|(prefix, _)| *prefix);
        if self.0.len() == rows {
            return None;
        }
        let mut alive = Bitmap::zeroes(rows);
        self.0.iter().for_each(|&(_, row)| alive.set(row as usize));
        Some(alive)
    }

    /// Replaces row `n` by `numbers[n]`.
    pub(crate) fn renumber(&mut self, numbers: &[u32]) {
        self.0.iter_mut().for_each(|(_, row)| *row = numbers[*row as usize]);
    }

    /// Writes the sorted prefixes as a loaded dictionary does, and returns their number.
    pub(crate) fn save(self, image: &mut ImageWriter<'_>) -> Result<u64> {
        Prefixes::of(&self.0).save(image)?;
        Ok(self.0.len() as u64)
    }
}

impl Prefixes {
    /// Builds the lists of sorted prefixes without duplicates.
    fn of(given: &[(Prefix, u32)]) -> Prefixes {
        let ranges = |is_v4: bool| {
            let numbered = given.iter().map(|(prefix, _)| *prefix).zip(0_u32..);
            let own = numbered.filter(move |(prefix, _)| prefix.is_v4() == is_v4);
            own.map(|(prefix, number)| {
                let (first, last) = prefix.range();
                (first, last, number)
            })
        };
        Prefixes {
            addresses: given.iter().map(|(prefix, _)| prefix.address).collect(),
            bits: given.iter().map(|(prefix, _)| prefix.bits).collect(),
            rows: given.iter().map(|&(_, row)| row).collect(),
            v4: FlatRanges::new(
                ranges(true).map(|(first, last, number)| (first as u32, last as u32, number)),
            ),
            v6: FlatRanges::new(ranges(false)),
        }
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn get(&self, number: u32) -> Prefix {
        let at = number as usize;
        let (address, bits) = (self.addresses.get(at), self.bits.get(at));
        Prefix { address: address.unwrap_or_default(), bits: bits.unwrap_or_default() }
    }

    /// The longest prefix of an address.
    fn find(&self, address: u128) -> Option<u32> {
        let v4 = address & mask(MAPPED_BITS) == MAPPED;
        v4.then(|| self.v4.find(address as u32)).flatten().or_else(|| self.v6.find(address))
    }

    /// As [`Prefixes::find`], for a file that is not checked yet: compares the checksums of all that the lookup
    /// reads, here and later.
    fn find_checked(&self, address: u128) -> Result<Option<u32>> {
        let mut found = None;
        if address & mask(MAPPED_BITS) == MAPPED {
            found = self.v4.find_checked(address as u32)?;
        }
        if found.is_none() {
            found = self.v6.find_checked(address)?;
        }
        if let Some(number) = found {
            let at = number as usize;
            self.addresses.check(at..at + 1)?;
            self.bits.check(at..at + 1)?;
            self.rows.check(at..at + 1)?;
        }
        Ok(found)
    }

    fn has_v6(&self) -> bool {
        self.v6.len() > 0
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.len() as u64);
        self.addresses.save(image)?;
        self.bits.save(image)?;
        self.rows.save(image)?;
        self.v4.save(image)?;
        self.v6.save(image)
    }

    fn open(image: &mut ImageReader<'_>) -> Result<Prefixes> {
        let len = image.count()?;
        Ok(Prefixes {
            addresses: Numbers::open(len, image)?,
            bits: Numbers::open(len, image)?,
            rows: Numbers::open(len, image)?,
            v4: FlatRanges::open(image)?,
            v6: FlatRanges::open(image)?,
        })
    }

    fn heap_bytes(&self) -> usize {
        let prefixes = self.addresses.heap_bytes() + self.bits.heap_bytes() + self.rows.heap_bytes();
        prefixes + self.v4.heap_bytes() + self.v6.heap_bytes()
    }
}

impl Prefix {
    /// `10.0.0.0/8`, `2620:0:870::/48`, or an address. Bits after the prefix are cleared.
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
            Some(address) if all_v4 => format!("{address}/{}", self.bits.saturating_sub(MAPPED_BITS)),
            _ => format!("{address}/{}", self.bits),
        }
    }
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

impl IpTrie {
    fn over(
        spec: DictionarySpec,
        prefixes: Prefixes,
        values: Values,
        backing: Backing,
    ) -> Arc<dyn Dictionary> {
        let (schema, counters) = (DictionarySchema::of_resolved(&spec), Counters::default());
        let key_is_attribute = spec.layout.key_is_attribute;
        Arc::new(IpTrie { schema, key_is_attribute, prefixes, values, counters, backing })
    }

    /// The number of each address's prefix.
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
        let (mut hits, is_unchecked) = (Hits::with_capacity(addresses.len()), self.backing.is_unchecked());
        for address in addresses {
            let found = match is_unchecked {
                true => self.prefixes.find_checked(address)?,
                false => self.prefixes.find(address),
            };
            hits.push(found.map(u64::from));
        }
        self.counters.add(&hits.found);
        Ok(hits)
    }

    fn texts(&self, hits: &Hits) -> ArrayRef {
        let text = |(&number, &found): (&u64, &bool)| match found {
            true => self.prefixes.get(number as u32).text(!self.prefixes.has_v6()),
            false => String::new(),
        };
        Arc::new(BinaryViewArray::from_iter_values(hits.payloads.iter().zip(&hits.found).map(text)))
    }

    fn columns(&self, attributes: &[usize], hits: &Hits) -> Result<Vec<ArrayRef>> {
        let row = |(&number, &found): (&u64, &bool)| {
            found.then(|| self.prefixes.rows.get(number as usize)).flatten().map_or(0, u64::from)
        };
        let payloads = hits.payloads.iter().zip(&hits.found).map(row).collect();
        let rows = Hits { payloads, found: hits.found.clone() };
        let is_key = |at: usize| self.key_is_attribute && at + 1 == self.schema.attributes.len();
        if self.backing.is_unchecked() {
            let own: Vec<usize> = attributes.iter().copied().filter(|&at| !is_key(at)).collect();
            self.values.check(&own, &rows)?;
        }
        let column = |&at: &usize| match is_key(at) {
            true => Ok(self.texts(hits)),
            false => Ok(self.values.get(&[at], &rows)?.remove(0)),
        };
        attributes.iter().map(column).collect()
    }
}

impl Dictionary for IpTrie {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let hits = self.find(keys)?;
        let found = hits.found_array();
        let columns = self.columns(attributes, &hits)?;
        self.backing.check_present()?;
        Ok((columns, found))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        let hits = self.find(keys)?;
        self.backing.check_present()?;
        Ok(hits.found_array())
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        self.check()?;
        let asked = ScanColumns::of(columns, self.schema.key_types.len());
        for first in (0..self.prefixes.len()).step_by(SCAN_BLOCK_ROWS) {
            let numbers = first..self.prefixes.len().min(first + SCAN_BLOCK_ROWS);
            let found = vec![true; numbers.len()];
            let hits = Hits { found, payloads: numbers.map(|number| number as u64).collect() };
            let values = self.columns(&asked.attributes(), &hits)?;
            visit(hits.found.len(), asked.join(|_| Ok(self.texts(&hits)), values)?)?;
        }
        Ok(())
    }

    fn stats(&self) -> DictionaryStats {
        let heap = self.prefixes.heap_bytes() + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.prefixes.len() as u64,
            bytes_allocated: (size_of::<IpTrie>() + heap) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, size_of::<IpTrie>())
    }

    fn storable(&self) -> Option<&dyn Storable> {
        Some(self)
    }

    fn check(&self) -> Result<()> {
        self.backing.check()
    }

    fn is_damaged(&self) -> bool {
        self.backing.is_damaged()
    }
}

impl Storable for IpTrie {
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.prefixes.save(image)?;
        self.values.save(image)
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
            let mut given = GivenPrefixes(prefixes.into_iter().zip(0..).collect());
            let count = given.0.len();
            let alive = given.keep_last(count);
            let found = Prefixes::of(&given.0);
            prop_assert_eq!(given.0.len(), alive.map_or(count, |alive| alive.count()));
            let unique: Vec<Prefix> = given.0.iter().map(|&(prefix, _)| prefix).collect();
            for byte in asked {
                let address = MAPPED | u128::from(u32::from_be_bytes([1, 2, 3, byte]));
                let holds = |prefix: &&Prefix| address & mask(prefix.bits) == prefix.address;
                let best = unique.iter().filter(holds).max_by_key(|prefix| prefix.bits);
                let row = best.and_then(|best| unique.iter().position(|prefix| prefix == best));
                let row = row.map(|row| row as u32);
                prop_assert_eq!(found.find(address), row);
                prop_assert_eq!(found.find_checked(address).expect("in memory"), row);
            }
            prop_assert_eq!(found.find(0), None);
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
