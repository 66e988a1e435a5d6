//! The messages of a server.

use super::Format;

/// How grave an error or a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The connection ends.
    Fatal,
    Error,
    Warning,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Fatal => "FATAL",
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
        }
    }
}

/// The state in which the server waits for the next statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TransactionStatus {
    #[default]
    Idle = b'I',
    InTransaction = b'T',
    Failed = b'E',
}

/// A column of a result set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDescription {
    pub name: String,
    pub oid: u32,
    /// Bytes of a value, negative if they vary.
    pub length: i16,
    pub modifier: i32,
    pub format: Format,
}

/// Appends messages to bytes.
#[derive(Debug, Default)]
pub struct MessageWriter {
    pub bytes: Vec<u8>,
}

impl MessageWriter {
    /// A demand for the password as text.
    pub fn authentication_password(&mut self) {
        self.message(b'R', |out| out.extend_from_slice(&3_i32.to_be_bytes()));
    }

    /// A demand for an exchange by one of the mechanisms.
    pub fn authentication_sasl(&mut self, mechanisms: &[&str]) {
        self.message(b'R', |out| {
            out.extend_from_slice(&10_i32.to_be_bytes());
            mechanisms.iter().for_each(|name| put_string(out, name.as_bytes()));
            out.push(0);
        });
    }

    pub fn authentication_sasl_continue(&mut self, data: &[u8]) {
        self.sasl_data(11, data);
    }

    pub fn authentication_sasl_final(&mut self, data: &[u8]) {
        self.sasl_data(12, data);
    }

    fn sasl_data(&mut self, step: i32, data: &[u8]) {
        self.message(b'R', |out| {
            out.extend_from_slice(&step.to_be_bytes());
            out.extend_from_slice(data);
        });
    }

    pub fn authentication_ok(&mut self) {
        self.message(b'R', |out| out.extend_from_slice(&0_i32.to_be_bytes()));
    }

    /// Says that version 3.0 is spoken, and which parameters of the protocol are unknown.
    pub fn negotiate_version(&mut self, unknown: &[&str]) {
        self.message(b'v', |out| {
            out.extend_from_slice(&0_i32.to_be_bytes());
            out.extend_from_slice(&(unknown.len() as i32).to_be_bytes());
            unknown.iter().for_each(|name| put_string(out, name.as_bytes()));
        });
    }

    pub fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            put_string(out, name.as_bytes());
            put_string(out, value.as_bytes());
        });
    }

    /// What a client needs to cancel a statement.
    pub fn backend_key(&mut self, process: u32, secret: u32) {
        self.message(b'K', |out| {
            out.extend_from_slice(&process.to_be_bytes());
            out.extend_from_slice(&secret.to_be_bytes());
        });
    }

    pub fn ready_for_query(&mut self, status: TransactionStatus) {
        self.message(b'Z', |out| out.push(status as u8));
    }

    pub fn row_description(&mut self, fields: &[FieldDescription]) {
        self.message(b'T', |out| {
            put_count(out, fields.len());
            for field in fields {
                put_string(out, field.name.as_bytes());
                // No column of a table.
                out.extend_from_slice(&[0; 6]);
                out.extend_from_slice(&field.oid.to_be_bytes());
                out.extend_from_slice(&field.length.to_be_bytes());
                out.extend_from_slice(&field.modifier.to_be_bytes());
                out.extend_from_slice(&(field.format as i16).to_be_bytes());
            }
        });
    }

    /// A row of texts.
    pub fn text_row<'a>(&mut self, values: impl ExactSizeIterator<Item = &'a str>) {
        self.message(b'D', |out| {
            put_count(out, values.len());
            for value in values {
                out.extend_from_slice(&(value.len() as i32).to_be_bytes());
                out.extend_from_slice(value.as_bytes());
            }
        });
    }

    pub fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |out| {
            put_count(out, types.len());
            types.iter().for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
        });
    }

    pub fn no_data(&mut self) {
        self.message(b'n', |_| {});
    }

    pub fn parse_complete(&mut self) {
        self.message(b'1', |_| {});
    }

    pub fn bind_complete(&mut self) {
        self.message(b'2', |_| {});
    }

    pub fn close_complete(&mut self) {
        self.message(b'3', |_| {});
    }

    pub fn portal_suspended(&mut self) {
        self.message(b's', |_| {});
    }

    pub fn empty_query(&mut self) {
        self.message(b'I', |_| {});
    }

    pub fn command_complete(&mut self, tag: &str) {
        self.message(b'C', |out| put_string(out, tag.as_bytes()));
    }

    /// Asks for the data of a COPY.
    pub fn copy_in(&mut self, format: Format, columns: usize) {
        self.message(b'G', |out| put_copy_formats(out, format, columns));
    }

    /// The data of a COPY follow.
    pub fn copy_out(&mut self, format: Format, columns: usize) {
        self.message(b'H', |out| put_copy_formats(out, format, columns));
    }

    pub fn copy_done(&mut self) {
        self.message(b'c', |_| {});
    }

    pub fn error(&mut self, severity: Severity, code: &str, text: &str) {
        self.report(b'E', severity, code, text);
    }

    pub fn notice(&mut self, severity: Severity, code: &str, text: &str) {
        self.report(b'N', severity, code, text);
    }

    fn report(&mut self, kind: u8, severity: Severity, code: &str, text: &str) {
        self.message(kind, |out| {
            for (field, value) in
                [(b'S', severity.name()), (b'V', severity.name()), (b'C', code), (b'M', text)]
            {
                out.push(field);
                put_string(out, value.as_bytes());
            }
            out.push(0);
        });
    }

    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        put_message(&mut self.bytes, kind, body);
    }
}

/// Appends a message of `kind` with its length.
pub(super) fn put_message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A number of 16 bits: the protocol has no more columns or parameters.
pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u16).to_be_bytes());
}

/// A text up to its first zero byte, which ends it.
fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().take_while(|byte| **byte != 0));
    out.push(0);
}

fn put_copy_formats(out: &mut Vec<u8>, format: Format, columns: usize) {
    out.push(format as u8);
    put_count(out, columns);
    for _ in 0..columns {
        out.extend_from_slice(&(format as i16).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_kind_length_and_body() {
        let mut out = MessageWriter::default();
        out.ready_for_query(TransactionStatus::InTransaction);
        out.command_complete("SELECT 1\0 and more");
        out.text_row(["a", ""].into_iter());
        let expected: &[u8] = b"Z\0\0\0\x05TC\0\0\0\x0dSELECT 1\0D\0\0\0\x0f\0\x02\0\0\0\x01a\0\0\0\0";
        assert_eq!(out.bytes, expected);
    }

    #[test]
    fn an_exchange_has_its_steps() {
        let mut out = MessageWriter::default();
        out.authentication_sasl(&["A", "B"]);
        out.authentication_sasl_continue(b"r=1");
        out.authentication_sasl_final(b"v=2");
        let expected: &[u8] =
            b"R\0\0\0\x0d\0\0\0\x0aA\0B\0\0R\0\0\0\x0b\0\0\0\x0br=1R\0\0\0\x0b\0\0\0\x0cv=2";
        assert_eq!(out.bytes, expected);
    }

    #[test]
    fn errors_have_a_code_and_a_text() {
        let mut out = MessageWriter::default();
        out.error(Severity::Error, "42P01", "no table");
        assert_eq!(out.bytes, b"E\0\0\0\x24SERROR\0VERROR\0C42P01\0Mno table\0\0");
    }
}
