//! Renders one table: its cells, the widths of its columns, its lines.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use memchr::memchr_iter;
use unicode_width::UnicodeWidthChar;

use super::frame::Frame;
use super::readable::write_tip;
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{NULL_SIGN, Style};

/// The mark at the end of a truncated value.
const CUT: &[u8] = "\u{22ef}".as_bytes();
/// The marks at the end and the start of the lines of a multi-line value.
const LINE_END: &str = "\u{21b4}";
const LINE_START: &str = "\u{21b3}";
const TAB_STOP: usize = 8;
/// Long tables repeat the names at their end.
const ROWS_FOR_FOOTER: u64 = 50;
const BOLD: &[u8] = b"\x1b[1m";
const GRAY: &[u8] = b"\x1b[90m";
const PLAIN: &[u8] = b"\x1b[0m";

pub(super) struct Table<'a> {
    settings: &'a FormatSettings,
    columns: &'a Columns,
    frame: Frame,
    /// The cells of all rows, one row after the other.
    cells: Vec<Vec<u8>>,
    /// The displayed number of every row.
    numbers: Vec<u64>,
    /// Rows of the whole result, including those left out.
    total: u64,
    /// The number in the last column of every row, if it is numeric.
    last_numbers: Vec<Option<f64>>,
}

/// The pieces of a horizontal line: left end, line, crossing, right end.
type Line = [&'static str; 4];

const TOP: Line = ["\u{250f}", "\u{2501}", "\u{2533}", "\u{2513}"];
const BELOW_NAMES: Line = ["\u{2521}", "\u{2501}", "\u{2547}", "\u{2529}"];
const BETWEEN: Line = ["\u{251c}", "\u{2500}", "\u{253c}", "\u{2524}"];
const ABOVE_FOOTER: Line = ["\u{2522}", "\u{2501}", "\u{2548}", "\u{252a}"];
const BELOW_FOOTER: Line = ["\u{2517}", "\u{2501}", "\u{253b}", "\u{251b}"];
const COMPACT_TOP: Line = ["\u{250c}", "\u{2500}", "\u{252c}", "\u{2510}"];
const BOTTOM: Line = ["\u{2514}", "\u{2500}", "\u{2534}", "\u{2518}"];

impl<'a> Table<'a> {
    /// A table that shows some of `total` rows.
    pub(super) fn new(
        columns: &'a Columns,
        settings: &'a FormatSettings,
        frame: Frame,
        total: u64,
    ) -> Table<'a> {
        Table {
            settings,
            columns,
            frame,
            cells: Vec::new(),
            numbers: Vec::new(),
            total,
            last_numbers: Vec::new(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Adds the rows of `batch`; its first row has the number `first`.
    pub(super) fn push(&mut self, batch: &RecordBatch, first: u64) -> Result<()> {
        let values = writers(self.columns, batch, &self.settings.text)?;
        for row in 0..batch.num_rows() {
            for values in &values {
                let mut cell = Vec::new();
                if values.is_null(row) {
                    cell.extend_from_slice(NULL_SIGN);
                } else {
                    values.write(row, Style::Raw, &mut cell);
                }
                self.cells.push(cell);
            }
            self.numbers.push(first + row as u64);
            self.last_numbers.push(values.last().and_then(|values| values.as_number(row)));
        }
        Ok(())
    }

    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        self.cut_values();
        let last = self.numbers.last().copied().unwrap_or(0);
        let digits = if self.settings.pretty_row_numbers { last.to_string().len() } else { 0 };
        let margin = if digits > 0 { digits + 2 } else { 0 };
        let widths = self.widths(margin);
        self.write_header(&widths, margin, out);
        for row in 0..self.rows() {
            if row > 0 {
                self.write_between(row, &widths, margin, out);
            }
            self.write_row(row, &widths, digits, out);
        }
        self.write_footer(&widths, margin, out);
    }

    /// Truncates values that are too long; a single value is always shown whole.
    fn cut_values(&mut self) {
        let limit = self.settings.pretty_max_value_width;
        if self.cells.len() <= 1 || limit == 0 {
            return;
        }
        for cell in self.cells.iter_mut().filter(|cell| cell.len() > limit) {
            if width_of(cell, 0) > limit {
                let end = prefix_of_width(cell, limit);
                cell.truncate(end);
                cell.extend_from_slice(CUT);
            }
        }
    }

    /// The widths of the columns, no greater than the setting allows.
    fn widths(&self, margin: usize) -> Vec<usize> {
        let mut before = margin + 2;
        let mut widths = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            let cells = self.cells.iter().skip(at).step_by(self.columns.len().max(1));
            let lines = cells.flat_map(|cell| cell.split(|&byte| byte == b'\n'));
            let widest = lines.map(|line| width_of(line, before)).max().unwrap_or(0);
            let limited = widest.min(self.settings.pretty_max_column_pad_width);
            let width = limited.max(width_of(column.name.as_bytes(), before));
            widths.push(width);
            before += width + 3;
        }
        widths
    }

    fn write_header(&self, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        match self.frame {
            Frame::Full => {
                write_line(TOP, widths, margin, out);
                self.write_full_names(widths, margin, out);
                write_line(BELOW_NAMES, widths, margin, out);
            }
            Frame::Compact => self.write_names_in_line(COMPACT_TOP, widths, margin, out),
            Frame::Space => {
                self.write_space_names(widths, margin, out);
                out.push(b'\n');
            }
        }
    }

    fn write_footer(&self, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        let names = self.total >= ROWS_FOR_FOOTER;
        match self.frame {
            Frame::Full if names => {
                write_line(ABOVE_FOOTER, widths, margin, out);
                self.write_full_names(widths, margin, out);
                write_line(BELOW_FOOTER, widths, margin, out);
            }
            Frame::Compact if names => self.write_names_in_line(BOTTOM, widths, margin, out),
            Frame::Full | Frame::Compact => write_line(BOTTOM, widths, margin, out),
            Frame::Space if names => {
                out.push(b'\n');
                self.write_space_names(widths, margin, out);
                out.push(b'\n');
            }
            Frame::Space => {}
        }
    }

    fn write_full_names(&self, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        spaces(margin, out);
        for (column, &width) in self.columns.iter().zip(widths) {
            out.extend_from_slice("\u{2503} ".as_bytes());
            self.write_name(&column.name, &column.ty, width, " ", out);
            out.push(b' ');
        }
        out.extend_from_slice("\u{2503}\n".as_bytes());
    }

    fn write_names_in_line(&self, line: Line, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        let [left, dash, crossing, right] = line;
        spaces(margin, out);
        for (at, (column, &width)) in self.columns.iter().zip(widths).enumerate() {
            out.extend_from_slice(if at == 0 { left } else { crossing }.as_bytes());
            out.extend_from_slice(dash.as_bytes());
            self.write_name(&column.name, &column.ty, width, dash, out);
            out.extend_from_slice(dash.as_bytes());
        }
        out.extend_from_slice(right.as_bytes());
        out.push(b'\n');
    }

    fn write_space_names(&self, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        spaces(margin + 1, out);
        for (at, (column, &width)) in self.columns.iter().zip(widths).enumerate() {
            spaces(if at > 0 { 3 } else { 0 }, out);
            self.write_name(&column.name, &column.ty, width, " ", out);
        }
        out.push(b'\n');
    }

    fn write_name(&self, name: &str, ty: &SqlType, width: usize, fill: &str, out: &mut Vec<u8>) {
        let fill = fill.repeat(width.saturating_sub(width_of(name.as_bytes(), 0)));
        let bold = |out: &mut Vec<u8>| {
            self.colored(BOLD, out, |out| out.extend_from_slice(name.as_bytes()));
        };
        if aligns_right(ty) {
            out.extend_from_slice(fill.as_bytes());
            bold(out);
        } else {
            bold(out);
            out.extend_from_slice(fill.as_bytes());
        }
    }

    /// Writes the separator of two rows: a line, or a broken one where rows were left out.
    fn write_between(&self, row: usize, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
        let full = self.frame == Frame::Full;
        if full {
            write_line(BETWEEN, widths, margin, out);
        }
        if self.numbers[row] == self.numbers[row - 1] + 1 {
            return;
        }
        let inner = widths.iter().sum::<usize>() + 3 * widths.len();
        let width = if self.frame == Frame::Space { inner.saturating_sub(2) } else { inner + 1 };
        spaces(margin, out);
        for at in 0..width {
            out.extend_from_slice(if at % 2 == 0 { "\u{2500}" } else { " " }.as_bytes());
        }
        out.push(b'\n');
        if full {
            write_line(BETWEEN, widths, margin, out);
        }
    }

    fn write_row(&self, row: usize, widths: &[usize], digits: usize, out: &mut Vec<u8>) {
        let cells = &self.cells[row * widths.len()..(row + 1) * widths.len()];
        let height = cells.iter().map(|cell| memchr_iter(b'\n', cell).count() + 1).max().unwrap_or(1);
        let bar = if self.frame == Frame::Space { "" } else { "\u{2502}" };
        let inner_bar = if self.frame == Frame::Space { " " } else { bar };
        for line in 0..height {
            self.write_margin((line == 0).then(|| self.numbers[row]), digits, out);
            out.extend_from_slice(bar.as_bytes());
            let mut before = if digits > 0 { digits + 4 } else { 2 };
            for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
                out.extend_from_slice(if at > 0 { inner_bar } else { "" }.as_bytes());
                self.write_cell_line(cell, line, width, before, &self.columns[at].ty, out);
                before += width + 3;
            }
            out.extend_from_slice(bar.as_bytes());
            if let (0, Some(number)) = (line, self.last_numbers[row]) {
                write_tip(number, out);
            }
            out.push(b'\n');
        }
    }

    fn write_cell_line(
        &self,
        cell: &[u8],
        line: usize,
        width: usize,
        before: usize,
        ty: &SqlType,
        out: &mut Vec<u8>,
    ) {
        let mut lines = cell.split(|&byte| byte == b'\n').skip(line);
        let text = lines.next();
        let continued = line > 0 && text.is_some();
        out.extend_from_slice(if continued { LINE_START } else { " " }.as_bytes());
        let text = text.unwrap_or_default();
        let fill = width.saturating_sub(width_of(text, before));
        let right = aligns_right(ty);
        spaces(if right { fill } else { 0 }, out);
        out.extend_from_slice(text);
        // A truncated value has used up its space.
        let cut = text.ends_with(CUT) && width_of(text, before) > width;
        spaces(if right { 0 } else { fill }, out);
        let last = if cut { "" } else { " " };
        out.extend_from_slice(if lines.next().is_some() { LINE_END } else { last }.as_bytes());
    }

    /// Writes the row number, or as much space.
    fn write_margin(&self, number: Option<u64>, digits: usize, out: &mut Vec<u8>) {
        match number {
            _ if digits == 0 => {}
            Some(number) => {
                let number = number.to_string();
                spaces(digits.saturating_sub(number.len()), out);
                self.colored(GRAY, out, |out| out.extend_from_slice(format!("{number}. ").as_bytes()));
            }
            None => spaces(digits + 2, out),
        }
    }

    fn colored(&self, color: &[u8], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if self.settings.pretty_color {
            out.extend_from_slice(color);
        }
        write(out);
        if self.settings.pretty_color {
            out.extend_from_slice(PLAIN);
        }
    }
}

fn write_line(line: Line, widths: &[usize], margin: usize, out: &mut Vec<u8>) {
    let [left, dash, crossing, right] = line;
    spaces(margin, out);
    for (at, &width) in widths.iter().enumerate() {
        out.extend_from_slice(if at == 0 { left } else { crossing }.as_bytes());
        out.extend_from_slice(dash.repeat(width + 2).as_bytes());
    }
    out.extend_from_slice(right.as_bytes());
    out.push(b'\n');
}

fn spaces(count: usize, out: &mut Vec<u8>) {
    out.extend(std::iter::repeat_n(b' ', count));
}

/// Whether values are right-aligned: numbers and dates.
pub(crate) fn aligns_right(ty: &SqlType) -> bool {
    let ty = ty.stripped();
    ((ty.is_number() || ty.is_whole()) && *ty != SqlType::Bool)
        || ty.is_date_or_time()
        || matches!(ty, SqlType::Interval(_))
}

/// The terminal columns that `text` takes after `before` columns.
pub(crate) fn width_of(text: &[u8], before: usize) -> usize {
    if text.iter().all(|byte| (0x20..0x7f).contains(byte)) {
        return text.len();
    }
    let mut at = before;
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            at = match letter {
                '\t' => (at / TAB_STOP + 1) * TAB_STOP,
                other => at + other.width().unwrap_or(0),
            };
        }
        at += usize::from(!chunk.invalid().is_empty());
    }
    at - before
}

/// The longest prefix of `text` that fits in `limit` columns.
fn prefix_of_width(text: &[u8], limit: usize) -> usize {
    let (mut bytes, mut width) = (0, 0);
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            width += letter.width().unwrap_or(0);
            if width > limit {
                return bytes;
            }
            bytes += letter.len_utf8();
        }
        bytes += chunk.invalid().len();
    }
    bytes
}
