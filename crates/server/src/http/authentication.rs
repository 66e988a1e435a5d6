//! The credentials of a request: a user and a password.
//!
//! As in ClickHouse, the credentials come from the `X-ClickHouse-User` and `X-ClickHouse-Key` headers, from Basic authentication or from the URL; a
//! request that uses two of the three ways is refused.

use axum::http::HeaderMap;
use basalt_engine::{Error, ErrorCode, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;

use super::parameters::{Parameters, header};

/// The name and the password of a request.
#[derive(Debug)]
pub(super) struct Credentials {
    /// Empty if the request names none.
    pub(super) user: String,
    pub(super) password: String,
}

impl Credentials {
    fn new(user: Option<String>, password: Option<String>) -> Credentials {
        Credentials { user: user.unwrap_or_default(), password: password.unwrap_or_default() }
    }
}

/// The credentials in the headers or the URL of a request.
pub(super) fn find(headers: &HeaderMap, parameters: &Parameters) -> Result<Credentials> {
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
    let text = BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text else {
        return Err(refused("the Authorization header is not base64 of `user:password`"));
    };
    let (user, password) = text.split_once(':').unwrap_or((&text, ""));
    Ok(Credentials::new(Some(user.to_owned()), Some(password.to_owned())))
}

fn refused(why: &str) -> Error {
    Error::new(ErrorCode::AuthenticationFailed, why)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::http::{HeaderName, HeaderValue};

    use basalt_engine::{DefaultUser, Engine, EngineOptions};

    use super::*;
    use crate::connections::Peer;
    use crate::password::Password;
    use crate::users::Users;

    fn check(query_string: &str, pairs: &[(&'static str, &'static str)], allowed: bool) {
        check_with(None, query_string, pairs, allowed);
    }

    fn check_with(
        password: Option<&str>,
        query_string: &str,
        pairs: &[(&'static str, &'static str)],
        allowed: bool,
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let parameters = Parameters::read(query_string, &headers).expect("valid");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
        let found = runtime.block_on(async {
            let password_sha256_hex = password.map(|text| Password::of_text(text).sha256_hex());
            let default_user = DefaultUser { password_sha256_hex };
            let engine =
                Engine::open(EngineOptions { default_user, ..EngineOptions::default() }).expect("open");
            let users = Users::new(&engine);
            let credentials = find(&headers, &parameters)?;
            let address = (Ipv4Addr::LOCALHOST, 1).into();
            let peer = Peer { address, is_encrypted: false, certificate: None };
            users.authenticate(&credentials.user, &credentials.password, &peer).await
        });
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
    fn password_lets_in_whichever_way_it_comes() {
        let check = |query: &str, pairs: &[(&'static str, &'static str)], allowed: bool| {
            check_with(Some("x y"), query, pairs, allowed);
        };
        check("user=default&password=x%20y", &[], true);
        check("password=x+y", &[], true);
        check("", &[("x-clickhouse-user", "default"), ("x-clickhouse-key", "x y")], true);
        check("", &[("authorization", "Basic ZGVmYXVsdDp4IHk=")], true);
        check("", &[], false);
        check("user=default", &[], false);
        check("user=default&password=x", &[], false);
        check("user=admin&password=x%20y", &[], false);
        check("", &[("authorization", "Basic ZGVmYXVsdDo=")], false);
    }

    #[test]
    fn two_ways_at_once_are_refused() {
        check("user=default", &[("x-clickhouse-user", "default")], false);
    }
}
