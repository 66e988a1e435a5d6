//! A JSON document as a tree: parsed strictly, printed without spaces.

use basalt_formats::text::{JsonScanner, JsonValue, write_float64, write_json_string};

/// The maximum nesting of arrays and objects.
const DEPTH_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the range of `i64`.
    UInt(u64),
    Float(f64),
    String(Vec<u8>),
    Array(Vec<Json>),
    /// In the order of the text; the first of two entries with one name is found.
    Object(Vec<(Vec<u8>, Json)>),
}

impl Json {
    /// `None` for text that is not one JSON value.
    pub(super) fn parse(text: &[u8]) -> Option<Json> {
        let mut reader = Reader { scanner: JsonScanner::new(text), scratch: Vec::new() };
        let value = reader.value(0)?;
        reader.scanner.peek().is_none().then_some(value)
    }

    pub(super) fn print(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Json::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Json::UInt(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Json::Float(value) => write_float64(*value, out),
            Json::String(text) => write_json_string(text, false, out),
            Json::Array(elements) => {
                out.push(b'[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    element.print(out);
                }
                out.push(b']');
            }
            Json::Object(entries) => {
                out.push(b'{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_json_string(name, false, out);
                    out.push(b':');
                    value.print(out);
                }
                out.push(b'}');
            }
        }
    }

    /// The number of elements or entries; 0 for scalars.
    pub(super) fn len(&self) -> usize {
        match self {
            Json::Array(elements) => elements.len(),
            Json::Object(entries) => entries.len(),
            _ => 0,
        }
    }
}

struct Reader<'a> {
    scanner: JsonScanner<'a>,
    scratch: Vec<u8>,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.scanner.peek_value().ok()? {
            JsonValue::String => self.string().map(Json::String),
            JsonValue::Array => self.list(b'[', b']', |reader| reader.value(depth + 1)).map(Json::Array),
            JsonValue::Object => {
                let entry = |reader: &mut Self| {
                    let name = reader.string()?;
                    reader.scanner.expect(b':').ok()?;
                    Some((name, reader.value(depth + 1)?))
                };
                self.list(b'{', b'}', entry).map(Json::Object)
            }
            JsonValue::Null | JsonValue::Bool | JsonValue::Number => match self.scanner.token() {
                b"null" => Some(Json::Null),
                b"true" => Some(Json::Bool(true)),
                b"false" => Some(Json::Bool(false)),
                number => parse_number(number),
            },
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        self.scanner.string(&mut self.scratch).ok().map(<[u8]>::to_vec)
    }

    fn list<T>(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.scanner.expect(open).ok()?;
        let mut items = Vec::new();
        if self.scanner.eat(close) {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if !self.scanner.eat(b',') {
                self.scanner.expect(close).ok()?;
                return Some(items);
            }
        }
    }
}

/// A number in JSON's grammar: no plus sign, no leading zeroes, digits on both sides of the point.
fn parse_number(text: &[u8]) -> Option<Json> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, rest) = digits.split_at(digits.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let leads_with_zero = whole.len() > 1 && whole[0] == b'0';
    if whole.is_empty() || leads_with_zero {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    if rest.is_empty() {
        if let Ok(value) = text.parse() {
            return Some(Json::Int(value));
        }
        if let Ok(value) = text.parse() {
            return Some(Json::UInt(value));
        }
    }
    let fraction = rest.strip_prefix(b".");
    if fraction.is_some_and(|fraction| !fraction.first().is_some_and(u8::is_ascii_digit)) {
        return None;
    }
    // Rust refuses the remaining invalid forms, such as `1e` or `1x`.
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Json::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, printed: Option<&str>) {
        let found = Json::parse(text.as_bytes()).map(|document| {
            let mut out = Vec::new();
            document.print(&mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(found.as_deref(), printed, "{text}");
    }

    #[test]
    fn documents_are_printed_without_spaces_in_their_order() {
        check(
            r#" {"b" : [1, -2.50, "x\n"], "a": {"c":null,"d":true}} "#,
            Some(r#"{"b":[1,-2.5,"x\n"],"a":{"c":null,"d":true}}"#),
        );
        check("18446744073709551615", Some("18446744073709551615"));
        check("[]", Some("[]"));
        check("{}", Some("{}"));
        check("0", Some("0"));
    }

    #[test]
    fn what_json_does_not_allow_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "+1",
            "1.",
            ".5",
            "1e",
            "nan",
            "1 2",
            "'a'",
        ] {
            check(text, None);
        }
        check(&"[".repeat(100_000), None);
    }
}
