//! Who asks: the user and password of a request.
//!
//! There is one user, `default`, without a password. Names come, as in ClickHouse, from the
//! `X-ClickHouse-User` and `X-ClickHouse-Key` headers, from Basic authentication or from the URL; a
//! request that uses two of the three ways is refused.

use axum::http::HeaderMap;
use basalt_engine::{Error, ErrorCode, Result};

use super::parameters::{Parameters, header};

const DEFAULT_USER: &str = "default";

/// The name of the user, once the password was found right.
pub(super) fn authenticate(headers: &HeaderMap, parameters: &Parameters) -> Result<String> {
    let Credentials { user, password } = find(headers, parameters)?;
    if user == DEFAULT_USER && password.is_empty() {
        return Ok(user);
    }
    Err(Error::new(
        ErrorCode::AuthenticationFailed,
        format!("{user}: authentication failed: password is incorrect, or there is no user with such name"),
    ))
}

struct Credentials {
    user: String,
    password: String,
}

impl Credentials {
    fn new(user: Option<String>, password: Option<String>) -> Credentials {
        let user = user.filter(|name| !name.is_empty()).unwrap_or_else(|| DEFAULT_USER.to_owned());
        Credentials { user, password: password.unwrap_or_default() }
    }
}

fn find(headers: &HeaderMap, parameters: &Parameters) -> Result<Credentials> {
    let user = header(headers, "x-clickhouse-user");
    let key = header(headers, "x-clickhouse-key");
    let basic = header(headers, "authorization");
    let by_header = user.is_some() || key.is_some();
    let by_url = parameters.user.is_some() || parameters.password.is_some();
    if [by_header, by_url, basic.is_some()].into_iter().filter(|used| *used).count() > 1 {
        return Err(refused("user and password are given in two ways at once"));
    }
    match basic {
        Some(value) => basic_credentials(&value),
        None if by_header => Ok(Credentials::new(user, key)),
        None => Ok(Credentials::new(parameters.user.clone(), parameters.password.clone())),
    }
}

fn basic_credentials(value: &str) -> Result<Credentials> {
    let encoded = match value.split_once(' ') {
        Some((scheme, encoded)) if scheme.eq_ignore_ascii_case("basic") => encoded.trim(),
        _ => return Err(refused("only Basic authentication is known")),
    };
    let text = decode_base64(encoded).and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text else {
        return Err(refused("the Authorization header is not base64 of `user:password`"));
    };
    let (user, password) = text.split_once(':').unwrap_or((&text, ""));
    Ok(Credentials::new(Some(user.to_owned()), Some(password.to_owned())))
}

/// Standard base64; `None` for anything else.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorCode::AuthenticationFailed, why)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn check(query_string: &str, pairs: &[(&'static str, &'static str)], allowed: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let parameters = Parameters::read(query_string, &headers).expect("valid");
        let found = authenticate(&headers, &parameters);
        assert_eq!(found.is_ok(), allowed, "{query_string} {pairs:?}: {found:?}");
    }

    #[test]
    fn default_user_needs_no_password() {
        check("", &[], true);
        check("user=default&password=", &[], true);
        check("", &[("x-clickhouse-user", "default")], true);
        check("", &[("authorization", "Basic ZGVmYXVsdDo=")], true);
    }

    #[test]
    fn everybody_else_is_refused() {
        check("user=admin", &[], false);
        check("password=x", &[], false);
        check("", &[("x-clickhouse-user", "default"), ("x-clickhouse-key", "x")], false);
        check("", &[("authorization", "Basic ZGVmYXVsdDp4")], false);
        check("", &[("authorization", "Basic !")], false);
        check("", &[("authorization", "Bearer x")], false);
    }

    #[test]
    fn two_ways_at_once_are_refused() {
        check("user=default", &[("x-clickhouse-user", "default")], false);
    }

    #[test]
    fn base64_of_each_length_decodes() {
        for (text, bytes) in [("", &b""[..]), ("YQ==", b"a"), ("YWI=", b"ab"), ("YWJj", b"abc")] {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes));
        }
    }
}
