//! Replies, in the versions 2 and 3 of the protocol.

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    #[default]
    Resp2,
    Resp3,
}

/// Appends replies to a buffer. Where version 2 has no form for a reply, it gets the one that Redis chooses there.
#[derive(Debug)]
pub struct ReplyWriter<'a> {
    pub out: &'a mut Vec<u8>,
    pub version: Version,
}

impl ReplyWriter<'_> {
    /// A short text without line ends.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: a code in capitals and a sentence. Line ends in it become spaces.
    pub fn error(&mut self, text: &[u8]) {
        self.out.push(b'-');
        self.out.extend(text.iter().map(|&byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
        self.out.extend_from_slice(b"\r\n");
    }

    pub fn integer(&mut self, value: i64) {
        self.out.push(b':');
        put_number(value, self.out);
        self.out.extend_from_slice(b"\r\n");
    }

    pub fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A missing string.
    pub fn null(&mut self) {
        self.out.extend_from_slice(if self.is_3() { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// A missing array.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(if self.is_3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// `count` replies follow.
    pub fn array(&mut self, count: usize) {
        self.length(b'*', count);
    }

    /// `pairs` pairs of replies follow.
    pub fn map(&mut self, pairs: usize) {
        if self.is_3() { self.length(b'%', pairs) } else { self.length(b'*', pairs * 2) }
    }

    /// `count` different replies follow.
    pub fn set(&mut self, count: usize) {
        self.length(if self.is_3() { b'~' } else { b'*' }, count);
    }

    /// `count` replies follow that no command asked for.
    pub fn push(&mut self, count: usize) {
        self.length(if self.is_3() { b'>' } else { b'*' }, count);
    }

    /// A number by its text.
    pub fn double(&mut self, text: &str) {
        if self.is_3() { self.line(b',', text.as_bytes()) } else { self.bulk(text.as_bytes()) }
    }

    pub fn boolean(&mut self, value: bool) {
        match self.version {
            Version::Resp3 => self.out.extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" }),
            Version::Resp2 => self.integer(i64::from(value)),
        }
    }

    /// A text for people. `form` has three letters, for example `txt`.
    pub fn verbatim(&mut self, form: &str, text: &[u8]) {
        if !self.is_3() {
            return self.bulk(text);
        }
        self.length(b'=', form.len() + 1 + text.len());
        self.out.extend_from_slice(form.as_bytes());
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    fn is_3(&self) -> bool {
        self.version == Version::Resp3
    }

    fn length(&mut self, kind: u8, length: usize) {
        self.out.push(kind);
        put_number(i64::try_from(length).unwrap_or(i64::MAX), self.out);
        self.out.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }
}

fn put_number(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let (mut at, mut left) = (digits.len(), value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).unwrap_or_default();
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, write: impl FnOnce(&mut ReplyWriter<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut ReplyWriter { out: &mut out, version });
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn replies_have_the_forms_of_both_versions() {
        let check = |expected: [&str; 2], write: &dyn Fn(&mut ReplyWriter<'_>)| {
            assert_eq!([Version::Resp2, Version::Resp3].map(|version| written(version, write)), expected);
        };
        check(["+OK\r\n"; 2], &|reply| reply.simple("OK"));
        check(["-ERR a  b\r\n"; 2], &|reply| reply.error(b"ERR a\r\nb"));
        check([":-9223372036854775808\r\n"; 2], &|reply| reply.integer(i64::MIN));
        check(["$3\r\na\r\n\r\n"; 2], &|reply| reply.bulk(b"a\r\n"));
        check(["$-1\r\n", "_\r\n"], &|reply| reply.null());
        check(["*-1\r\n", "_\r\n"], &|reply| reply.null_array());
        check(["*0\r\n"; 2], &|reply| reply.array(0));
        check(["*4\r\n", "%2\r\n"], &|reply| reply.map(2));
        check(["*2\r\n", "~2\r\n"], &|reply| reply.set(2));
        check(["*2\r\n", ">2\r\n"], &|reply| reply.push(2));
        check(["$3\r\n1.5\r\n", ",1.5\r\n"], &|reply| reply.double("1.5"));
        check([":1\r\n", "#t\r\n"], &|reply| reply.boolean(true));
        check(["$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"], &|reply| reply.verbatim("txt", b"hi"));
    }
}
