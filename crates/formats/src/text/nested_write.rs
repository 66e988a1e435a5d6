//! Writes arrays, tuples and maps: as SQL literals, as JSON on one line or on many, and as XML.

use super::escape::{write_csv_quoted, write_json_string};
use super::values::{Values, bounds};
use super::writer::{NULL_SIGN, Style, ValueWriter};

/// The spaces before a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indent {
    /// The spaces of one level.
    unit: &'static str,
    levels: usize,
}

impl Indent {
    pub(crate) fn tabs(levels: usize) -> Indent {
        Indent { unit: "\t", levels }
    }

    pub(crate) fn spaces(levels: usize) -> Indent {
        Indent { unit: "    ", levels }
    }

    pub(crate) fn deeper(self) -> Indent {
        Indent { levels: self.levels + 1, ..self }
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend(std::iter::repeat_n(self.unit.as_bytes(), self.levels).flatten());
    }
}

impl ValueWriter {
    pub(super) fn write_nested(&self, row: usize, style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Json => self.write_json(row, out),
            Style::Xml => self.write_xml(row, out),
            Style::Csv => {
                let mut text = Vec::new();
                self.write_literal(row, &mut text);
                write_csv_quoted(&text, out);
            }
            Style::Raw | Style::Escaped | Style::Quoted => self.write_literal(row, out),
        }
    }

    /// `[1,2]`, `(1,'x')`, `{'k':1}`.
    fn write_literal(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Array(offsets, element) => {
                let write = |at: usize, out: &mut Vec<u8>| element.write(at, Style::Quoted, out);
                separated(b"[]", bounds(offsets, row), out, write);
            }
            Values::Tuple(elements) => separated(b"()", 0..elements.len(), out, |at, out| {
                elements[at].1.write(row, Style::Quoted, out);
            }),
            Values::Map(offsets, keys, values) => separated(b"{}", bounds(offsets, row), out, |at, out| {
                keys.write(at, Style::Quoted, out);
                out.push(b':');
                values.write(at, Style::Quoted, out);
            }),
            _ => self.write(row, Style::Quoted, out),
        }
    }

    /// `<array><elem>1</elem></array>`.
    fn write_xml(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Array(offsets, element) => element_of(b"array", out, |out| {
                bounds(offsets, row).for_each(|at| {
                    element_of(b"elem", out, |out| element.write(at, Style::Xml, out));
                });
            }),
            Values::Tuple(elements) => element_of(b"tuple", out, |out| {
                for (_, element) in elements {
                    element_of(b"elem", out, |out| element.write(row, Style::Xml, out));
                }
            }),
            Values::Map(offsets, keys, values) => element_of(b"map", out, |out| {
                bounds(offsets, row).for_each(|at| {
                    element_of(b"elem", out, |out| {
                        element_of(b"key", out, |out| keys.write(at, Style::Xml, out));
                        element_of(b"value", out, |out| values.write(at, Style::Xml, out));
                    });
                });
            }),
            _ => self.write(row, Style::Xml, out),
        }
    }

    fn write_json(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Array(offsets, element) => {
                separated(b"[]", bounds(offsets, row), out, |at, out| element.write(at, Style::Json, out));
            }
            Values::Tuple(elements) if self.is_object() => {
                separated(b"{}", self.shown_elements(row), out, |at, out| {
                    self.write_element_name(at, out);
                    out.push(b':');
                    elements[at].1.write(row, Style::Json, out);
                })
            }
            Values::Tuple(elements) => separated(b"[]", 0..elements.len(), out, |at, out| {
                elements[at].1.write(row, Style::Json, out);
            }),
            Values::Map(offsets, keys, values) if self.settings.json_map_as_array_of_tuples => {
                separated(b"[]", bounds(offsets, row), out, |at, out| {
                    separated(self.entry_brackets(), 0..2, out, |part, out| {
                        out.extend_from_slice(self.entry_key(part));
                        let part = if part == 0 { keys } else { values };
                        part.write(at, Style::Json, out);
                    });
                });
            }
            Values::Map(offsets, keys, values) => separated(b"{}", bounds(offsets, row), out, |at, out| {
                keys.write_json_key(at, out);
                out.push(b':');
                values.write(at, Style::Json, out);
            }),
            _ => self.write(row, Style::Json, out),
        }
    }

    /// Like [`Style::Json`], but a nested value takes a line for each element; an array of plain values stays on one
    /// line.
    pub(crate) fn write_json_indented(&self, row: usize, indent: Indent, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return self.write(row, Style::Json, out);
        }
        match &self.values {
            Values::Array(offsets, element) if element.is_nested() => {
                lines_if_any(b"[]", bounds(offsets, row), indent, out, |at, out| {
                    element.write_json_indented(at, indent.deeper(), out);
                });
            }
            Values::Tuple(elements) if self.is_object() => {
                lines(b"{}", self.shown_elements(row), indent, out, |at, out| {
                    self.write_element_name(at, out);
                    out.extend_from_slice(b": ");
                    elements[at].1.write_json_indented(row, indent.deeper(), out);
                });
            }
            Values::Tuple(elements) => lines(b"[]", 0..elements.len(), indent, out, |at, out| {
                elements[at].1.write_json_indented(row, indent.deeper(), out);
            }),
            Values::Map(offsets, keys, values) if self.settings.json_map_as_array_of_tuples => {
                lines_if_any(b"[]", bounds(offsets, row), indent, out, |at, out| {
                    lines(self.entry_brackets(), 0..2, indent.deeper(), out, |part, out| {
                        let key = self.entry_key(part);
                        out.extend_from_slice(key);
                        out.extend_from_slice(if key.is_empty() { b"" } else { b" " });
                        let part = if part == 0 { keys } else { values };
                        part.write_json_indented(at, indent.deeper().deeper(), out);
                    });
                });
            }
            Values::Map(offsets, keys, values) => {
                lines_if_any(b"{}", bounds(offsets, row), indent, out, |at, out| {
                    keys.write_json_key(at, out);
                    out.extend_from_slice(b": ");
                    values.write_json_indented(at, indent.deeper(), out);
                });
            }
            _ => self.write(row, Style::Json, out),
        }
    }

    /// The brackets of an entry of a map that is written as a tuple.
    fn entry_brackets(&self) -> &'static [u8; 2] {
        if self.settings.json_named_tuples_as_objects { b"{}" } else { b"[]" }
    }

    /// The key of the first or second part of an entry that is written as a tuple.
    fn entry_key(&self, part: usize) -> &'static [u8] {
        match part {
            _ if !self.settings.json_named_tuples_as_objects => b"",
            0 => b"\"keys\":",
            _ => b"\"values\":",
        }
    }

    /// The positions of the elements of a tuple that its object has.
    fn shown_elements(&self, row: usize) -> impl Iterator<Item = usize> {
        let elements = match &self.values {
            Values::Tuple(elements) => elements.as_slice(),
            _ => &[],
        };
        let skip = self.settings.json_skip_null_in_named_tuples;
        (0..elements.len()).filter(move |&at| !(skip && elements[at].1.is_null(row)))
    }

    fn is_nested(&self) -> bool {
        matches!(self.values, Values::Array(..) | Values::Tuple(_) | Values::Map(..))
    }

    /// Whether JSON writes the tuple as an object.
    fn is_object(&self) -> bool {
        match &self.values {
            _ if !self.settings.json_named_tuples_as_objects => false,
            Values::Tuple(elements) => {
                !elements.is_empty() && elements.iter().all(|(name, _)| name.is_some())
            }
            _ => false,
        }
    }

    fn write_element_name(&self, at: usize, out: &mut Vec<u8>) {
        if let Values::Tuple(elements) = &self.values {
            let name = elements[at].0.as_deref().unwrap_or_default();
            write_json_string(name.as_bytes(), self.settings.json_escape_forward_slashes, out);
        }
    }

    /// The text of `Raw` as a JSON string. NULL is a sign that no other text has.
    pub(crate) fn write_json_text(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.push(b'"');
            out.extend_from_slice(NULL_SIGN);
            return out.push(b'"');
        }
        self.write_json_key(row, out);
    }

    fn write_json_key(&self, row: usize, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        self.write(row, Style::Raw, &mut text);
        write_json_string(&text, self.settings.json_escape_forward_slashes, out);
    }
}

fn element_of(name: &[u8], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'<');
    out.extend_from_slice(name);
    out.push(b'>');
    write(out);
    out.extend_from_slice(b"</");
    out.extend_from_slice(name);
    out.push(b'>');
}

fn separated(
    brackets: &[u8; 2],
    items: impl Iterator<Item = usize>,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>),
) {
    out.push(brackets[0]);
    for (index, at) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(at, out);
    }
    out.push(brackets[1]);
}

fn lines(
    brackets: &[u8; 2],
    items: impl Iterator<Item = usize>,
    indent: Indent,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>),
) {
    out.extend_from_slice(&[brackets[0], b'\n']);
    for (index, at) in items.enumerate() {
        out.extend_from_slice(if index > 0 { b",\n" } else { b"" });
        indent.deeper().write(out);
        write(at, out);
    }
    out.push(b'\n');
    indent.write(out);
    out.push(brackets[1]);
}

/// Like [`lines`], on one line if there are no items.
fn lines_if_any(
    brackets: &[u8; 2],
    items: std::ops::Range<usize>,
    indent: Indent,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>),
) {
    if items.is_empty() {
        return out.extend_from_slice(brackets);
    }
    lines(brackets, items, indent, out, write);
}
