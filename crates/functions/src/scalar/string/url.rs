//! `domain`, `protocol`, `path`, `queryString` and the like: parts of a URL.
//!
//! Syntax: `domain(url)`. The text is searched, not validated; if the part is missing the result is empty. NULL if
//! the argument is NULL.

use std::sync::Arc;

use arrow::array::Array;
use basalt_base::{ErrorCode, Result, SqlType};
use memchr::{memchr, memchr2};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{Bytes, build_strings, slice_strings};
use crate::scalar::{Arity, Bound, Operand};

/// Declares functions from a URL to a slice of it.
macro_rules! part_of_url {
    ($($static:ident $name:literal $f:expr;)+) => { $(
        pub(super) static $static: Definition = Definition::new($name, Arity::Exactly(1), |call| bind(call, $f));
    )+ };
}

part_of_url! {
    PROTOCOL "protocol" protocol;
    DOMAIN "domain" domain;
    DOMAIN_WITHOUT_WWW "domainWithoutWWW" |url| without_www(domain(url));
    TOP_LEVEL_DOMAIN "topLevelDomain" top_level_domain;
    PATH "path" |url| until_query(path_full(url));
    PATH_FULL "pathFull" path_full;
    QUERY_STRING "queryString" query_string;
    FRAGMENT "fragment" |url| memchr(b'#', url).map_or(b"", |at| &url[at + 1..]);
    QUERY_STRING_AND_FRAGMENT "queryStringAndFragment" query_string_and_fragment;
    CUT_FRAGMENT "cutFragment" |url| memchr(b'#', url).map_or(url, |at| &url[..at]);
    CUT_QUERY_STRING_AND_FRAGMENT "cutQueryStringAndFragment" |url| {
        memchr(b'?', url).or_else(|| memchr(b'#', url)).map_or(url, |at| &url[..at])
    };
}

/// The URL without its query; a fragment after it stays.
pub(super) static CUT_QUERY_STRING: Definition =
    Definition::new("cutQueryString", Arity::Exactly(1), |call| {
        call.expect_string(0)?;
        call.refuse_fixed_string(0, ErrorCode::IllegalColumn)?;
        Ok(Bound::of(SqlType::String, |args: &[Operand], _| {
            let urls = Bytes::of(&args[0].array)?;
            Ok(Arc::new(build_strings(args[0].array.len(), |row, out| {
                let [front, back] = around_query(urls.get(row));
                out.extend_from_slice(front);
                out.extend_from_slice(back);
                Ok(())
            })?))
        }))
    });

/// The parts before and after the query.
fn around_query(url: &[u8]) -> [&[u8]; 2] {
    let Some(at) = memchr(b'?', url) else { return [url, b""] };
    let (front, query) = url.split_at(at);
    [front, memchr(b'#', query).map_or(b"", |at| &query[at..])]
}

fn bind(call: &Call<'_>, part: for<'a> fn(&'a [u8]) -> &'a [u8]) -> Result<Bound> {
    call.expect_string(0)?;
    call.refuse_fixed_string(0, ErrorCode::IllegalColumn)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let urls = Bytes::of(&args[0].array)?;
        Ok(Arc::new(slice_strings(args[0].array.len(), |row| Ok(part(urls.get(row))))?))
    }))
}

fn is_scheme_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The scheme before `://`.
fn protocol(url: &[u8]) -> &[u8] {
    let end = url.iter().position(|byte| !is_scheme_byte(byte)).unwrap_or(url.len());
    let starts_well = url.first().is_some_and(u8::is_ascii_alphabetic);
    if starts_well && url[end..].starts_with(b"://") { &url[..end] } else { b"" }
}

/// The text after the scheme, or after a leading `//`.
fn after_scheme(url: &[u8]) -> &[u8] {
    if let Some(rest) = url.strip_prefix(b"//") {
        return rest;
    }
    let scheme = protocol(url);
    if scheme.is_empty() { url } else { &url[scheme.len() + 3..] }
}

/// The host, if it has a point and no byte that is invalid in hosts.
fn domain(url: &[u8]) -> &[u8] {
    let rest = after_scheme(url);
    if url.last() == Some(&b'.') {
        return b"";
    }
    let mut start = 0;
    let mut end = rest.len();
    let mut point = None;
    let mut has_delimiter = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'.' => point = Some(at),
            b':' | b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            b'@' if has_delimiter => return b"",
            b'@' => start = at + 1,
            b';' | b'=' | b'&' | b'~' | b'%' => has_delimiter = true,
            b' ' | b'\t' | b'<' | b'>' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'[' | b']' => return b"",
            _ => {}
        }
    }
    match point {
        Some(point) if !has_delimiter && point + 1 < end && start < end => &rest[start..end],
        _ => b"",
    }
}

fn without_www(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"www.").unwrap_or(host)
}

/// The text after the last point of the host; empty for a numeric address.
fn top_level_domain(url: &[u8]) -> &[u8] {
    let host = domain(url);
    match memchr::memrchr(b'.', host) {
        Some(at) if !host.get(at + 1).is_some_and(u8::is_ascii_digit) => &host[at + 1..],
        _ => b"",
    }
}

/// The path from its first slash on.
fn path_full(url: &[u8]) -> &[u8] {
    let rest = after_scheme(url);
    let host_end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    if rest.get(host_end) == Some(&b'/') { &rest[host_end..] } else { b"" }
}

fn until_query(url: &[u8]) -> &[u8] {
    memchr2(b'?', b'#', url).map_or(url, |at| &url[..at])
}

fn query_string(url: &[u8]) -> &[u8] {
    let query = memchr(b'?', url).map_or(b"".as_slice(), |at| &url[at + 1..]);
    memchr(b'#', query).map_or(query, |at| &query[..at])
}

/// The query and the fragment after the `?`; a fragment alone starts with its `#`.
fn query_string_and_fragment(url: &[u8]) -> &[u8] {
    match (memchr(b'?', url), memchr(b'#', url)) {
        (Some(query), _) => &url[query + 1..],
        (None, Some(fragment)) => &url[fragment..],
        (None, None) => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let host = |url: &'static str| std::str::from_utf8(domain(url.as_bytes())).unwrap();
        assert_eq!(host("http://www.example.com:8080/a?b#c"), "www.example.com");
        assert_eq!(
            [host("example.com"), host("//a.com/b"), host("http://u@a.com")],
            ["example.com", "a.com", "a.com"]
        );
        assert_eq!(host("svn+ssh://some.svn-hosting.com:80/repo/trunk"), "some.svn-hosting.com");
        assert_eq!([host("mailto:a@b.c"), host("localhost"), host("a b.com"), host("")], ["", "", "", ""]);
        assert_eq!([host("http://user:pass@a.com/"), host("a.b."), host("http://[::1]/")], ["", "", ""]);
    }

    #[test]
    fn other_parts() {
        let url = b"http://a.com/b/c?d#e";
        assert_eq!((path_full(url), until_query(path_full(url))), (&b"/b/c?d#e"[..], &b"/b/c"[..]));
        assert_eq!((query_string(url), protocol(url)), (&b"d"[..], &b"http"[..]));
        assert_eq!((protocol(b"1a://x"), protocol(b"http:x")), (&b""[..], &b""[..]));
        assert_eq!(
            (top_level_domain(b"http://127.0.0.1/"), top_level_domain(b"http://a.co.uk/")),
            (&b""[..], &b"uk"[..])
        );
    }
}
