//! Strings in as few bytes as they need: compressed with OnPair if that pays. None are added any more.
//!
//! Each string is compressed on its own, with tokens from a sample of all strings ([`super::string_packer`]).

use basalt_base::Result;
use basalt_base::region::Section;
use basalt_base::string_views::StringViews;
use basalt_codec::Tokens;

use super::StringArena;
use super::packed_ends::PackedEnds;
use super::row_order::RowStretch;
use super::string_batch::{Asked, Places, Stretch, append_decoded, append_plain};
use super::string_packer::{CODE_BITS, Packed, pack};
use crate::image::{ImageReader, ImageWriter};
use crate::table::bits::PADDING_BYTES;

/// Strings by row number.
#[derive(Debug)]
pub(super) struct PackedStrings {
    bytes: Section,
    ends: PackedEnds,
    /// The tokens of compressed strings, whose ends count codes.
    tokens: Option<Tokens>,
}

impl PackedStrings {
    /// The strings of the rows `rows` of `arena`, in that order. They are compressed if there are `tokens`.
    pub(super) fn new(
        arena: StringArena,
        rows: Vec<RowStretch<'_>>,
        tokens: Option<Tokens>,
    ) -> Result<PackedStrings> {
        let Packed { bytes, lengths, tokens } = pack(arena, rows, tokens)?;
        Ok(PackedStrings { bytes: bytes.into(), ends: PackedEnds::new(&lengths)?, tokens })
    }

    /// Appends the strings of many rows; any strings if the file is damaged.
    pub(super) fn append(&self, asked: Asked<'_>, out: &mut StringViews) {
        match &self.tokens {
            Some(tokens) => append_decoded(&self.bytes, tokens, self.ends.view(), asked, out),
            None => append_plain(Stretch { bytes: &self.bytes, places: self.ends.view() }, asked, out),
        }
    }

    /// Compares the checksums of string `row`.
    pub(super) fn check(&self, row: usize) -> Result<()> {
        self.ends.check(row)?;
        let bits = self.tokens.as_ref().map_or(u64::from(u8::BITS), |tokens| u64::from(tokens.bits()));
        let byte = |place: usize| (place as u64).saturating_mul(bits) as usize / u8::BITS as usize;
        let range = self.ends.view().get(row);
        self.bytes.check(byte(range.start)..byte(range.end).saturating_add(PADDING_BYTES))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let tokens = self.tokens.as_ref().map_or(0, Tokens::heap_bytes);
        self.bytes.resident_bytes() + self.ends.heap_bytes() + tokens
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(self.tokens.is_some());
        if let Some(tokens) = &self.tokens {
            let mut written = Vec::new();
            tokens.write(&mut written);
            image.section(&written)?;
        }
        self.ends.save(image)?;
        image.section(&self.bytes)
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<PackedStrings> {
        let tokens = if image.flag()? { Some(read_tokens(&image.section()?)?) } else { None };
        let ends = PackedEnds::open(image)?;
        Ok(PackedStrings { bytes: image.section()?, ends, tokens })
    }
}

/// The tokens of a file are read at once, because any string may need any of them.
fn read_tokens(written: &Section) -> Result<Tokens> {
    written.check(0..written.len())?;
    let tokens = Tokens::read(written).map_err(|_| ImageReader::unfit())?;
    if CODE_BITS.contains(&tokens.bits()) { Ok(tokens) } else { Err(ImageReader::unfit()) }
}

#[cfg(test)]
mod tests {
    use super::super::string_packer::choose_tokens;
    use super::*;

    /// The strings of all rows, of each third one and of none come back, and take at most `part` of the bytes.
    fn check(strings: &[Vec<u8>], part: f64) {
        let packed = |rows: &[u32]| {
            let mut arena = StringArena::default();
            strings.iter().for_each(|string| arena.push(string));
            let tokens = choose_tokens(&arena, Some(rows));
            PackedStrings::new(arena, RowStretch::of_list(rows), tokens).expect("memory")
        };
        let all: Vec<u32> = (0..strings.len() as u32).rev().collect();
        let some: Vec<u32> = all.iter().copied().step_by(3).collect();
        for rows in [&all, &some, &Vec::new()] {
            let packed = packed(rows);
            let asked: Vec<u64> = (0..rows.len() as u64).chain([0]).collect();
            let found: Vec<bool> = asked.iter().enumerate().map(|(place, _)| place < rows.len()).collect();
            let mut out = StringViews::default();
            packed.append(Asked { rows: &asked, found: &found, default: b"none" }, &mut out);
            let expected =
                rows.iter().map(|&row| strings[row as usize].as_slice()).chain([b"none".as_slice()]);
            assert!(out.finish(None).iter().map(Option::unwrap).eq(expected));
        }
        let bytes: usize = strings.iter().map(Vec::len).sum();
        let packed = packed(&all);
        assert!(packed.heap_bytes() as f64 <= part * bytes as f64, "{} of {bytes}", packed.heap_bytes());
    }

    /// Numbers that look like random ones.
    fn mixed(number: usize) -> usize {
        (number ^ number >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    }

    #[test]
    fn texts_take_less_than_half() {
        let text = |row| format!("https://example.com/shop/{}?page={}", mixed(row) % 1000, row % 7);
        check(&(0..150_000).map(|row| text(row).into_bytes()).collect::<Vec<_>>(), 0.45);
    }

    #[test]
    fn what_has_nothing_in_common_takes_little_more_than_its_bytes() {
        let random = |row: usize| (0..row % 50).flat_map(|at| mixed(row + 977 * at).to_le_bytes()).collect();
        check(&(0..5_000).map(random).collect::<Vec<_>>(), 1.03);
    }

    #[test]
    fn one_long_string_among_short_ones_comes_back() {
        let mut strings: Vec<Vec<u8>> = (0..1000_usize).map(|row| row.to_string().into_bytes()).collect();
        strings[500] = vec![b'x'; 300_000];
        strings[501] = Vec::new();
        check(&strings, 0.5);
    }
}
