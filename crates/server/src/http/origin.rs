//! Where a request comes from. Pages of other sites in a browser are refused.
//!
//! Without a password, anyone who can send a request to the loopback address is accepted, and a browser sends
//! requests for any page. Such a request has an `Origin` header or says so in `Sec-Fetch-Site`. A page whose host
//! name was made to resolve to this machine (DNS rebinding) has that name in `Host`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use basalt_engine::{Error, ErrorCode, Result};

use super::{HttpState, failure};

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The origins that are accepted in addition to programs on this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// Whether only this machine can reach the server, so that its host names are known.
    pub(crate) is_loopback: bool,
    /// Additional host names of the server.
    pub(crate) hosts: Vec<String>,
    /// Origins of accepted pages, such as `https://host:port`; `*` means all pages.
    pub(crate) origins: Vec<String>,
}

impl Origins {
    /// The requesting page, if there is one. An error if it is not accepted, or if the host name is not one of this
    /// machine.
    fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<Option<HeaderValue>> {
        if self.is_loopback {
            let named = headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or("?"));
            let named = named.chain(uri.authority().map(|authority| authority.as_str()));
            if let Some(host) = named.into_iter().find(|host| !self.is_own_name(host)) {
                return Err(refused(format!(
                    "Host `{host}` is not a name of this server, which accepts requests from this machine only: add it to \
                     allowed_hosts in the server's configuration"
                )));
            }
        }
        let origins = headers.get_all(header::ORIGIN);
        if let Some(origin) = origins.iter().find(|origin| !self.is_listed(origin)) {
            return Err(refused(format!(
                "Origin `{}` is not allowed: add it to allowed_origins in the server's configuration",
                origin.to_str().unwrap_or("?")
            )));
        }
        let origin = origins.iter().next();
        let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        if origin.is_none() && matches!(site, Some(b"cross-site" | b"same-site")) {
            return Err(refused("the request comes from a page of another site".to_owned()));
        }
        Ok(origin.cloned())
    }

    fn is_own_name(&self, host: &str) -> bool {
        let name = without_port(host);
        let is_loopback = match name.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => Ipv4Addr::is_loopback(&address),
            Ok(IpAddr::V6(address)) => Ipv6Addr::is_loopback(&address),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        let is_listed = |listed: &String| {
            listed.eq_ignore_ascii_case(host) || without_port(listed).eq_ignore_ascii_case(name)
        };
        is_loopback || self.hosts.iter().any(is_listed)
    }

    fn is_listed(&self, origin: &HeaderValue) -> bool {
        let is_this = |listed: &String| listed.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
        self.origins.iter().any(|listed| listed == "*" || is_this(listed))
    }
}

/// Passes on requests with an accepted origin, and answers CORS preflight requests.
pub(super) async fn guard(State(state): State<Arc<HttpState>>, request: Request, next: Next) -> Response {
    let origin = match state.origins.check(request.headers(), request.uri()) {
        Ok(origin) => origin,
        Err(error) => return failure::response(&error, None),
    };
    let asks_beforehand = *request.method() == Method::OPTIONS && origin.is_some();
    let mut response = match asks_beforehand {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        let every = HeaderValue::from_static("*");
        match asks_beforehand {
            true => {
                headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
                // `*` does not include Authorization.
                let names = HeaderValue::from_static("Authorization, *");
                headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
            }
            false => drop(headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, every)),
        }
    }
    response
}

/// `[::1]:8123` is `::1`.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match host.rsplit_once(':') {
        // An address with several colons but without brackets has no port.
        Some((name, _)) if !name.contains(':') => name,
        _ => host,
    }
}

fn refused(what: String) -> Error {
    Error::new(ErrorCode::DatabaseAccessDenied, what)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn allowed(origins: &Origins, pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        origins.check(&headers, &Uri::from_static("/")).is_ok()
    }

    fn loopback() -> Origins {
        Origins { is_loopback: true, ..Origins::default() }
    }

    #[test]
    fn names_of_this_machine_are_known() {
        for host in ["localhost", "LocalHost:8123", "127.0.0.1:8123", "127.1.2.3", "[::1]:8123", "::1"] {
            assert!(allowed(&loopback(), &[("host", host)]), "{host}");
        }
        assert!(allowed(&loopback(), &[]));
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8123", "10.0.0.1", ""]
        {
            assert!(!allowed(&loopback(), &[("host", host)]), "{host}");
        }
        assert!(!allowed(&loopback(), &[("host", "localhost"), ("host", "evil.example")]));
        assert!(loopback().check(&HeaderMap::new(), &Uri::from_static("http://evil.example/")).is_err());
    }

    #[test]
    fn lists_allow_more() {
        let mut origins = loopback();
        origins.hosts = vec!["db.home".to_owned()];
        origins.origins = vec!["https://page.example".to_owned()];
        assert!(allowed(&origins, &[("host", "db.home:8123"), ("origin", "https://page.example")]));
        assert!(!allowed(&origins, &[("origin", "http://page.example")]));
        assert!(!allowed(&origins, &[("origin", "https://page.example"), ("origin", "null")]));
        origins.origins = vec!["*".to_owned()];
        assert!(allowed(&origins, &[("origin", "null"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn pages_of_other_sites_are_refused_wherever_the_server_listens() {
        for origins in [loopback(), Origins::default()] {
            assert!(!allowed(&origins, &[("origin", "https://evil.example")]));
            assert!(!allowed(&origins, &[("origin", "null")]));
            assert!(!allowed(&origins, &[("sec-fetch-site", "cross-site")]));
            assert!(allowed(&origins, &[("sec-fetch-site", "none")]));
        }
        assert!(allowed(&Origins::default(), &[("host", "db.example")]));
    }
}
