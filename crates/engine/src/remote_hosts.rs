//! The servers that sources of dictionaries and table functions may connect to: `remote_url_allow_hosts` of the configuration.

use basalt_base::{Result, bail};

/// The allowed hosts; `None` instead of a list allows all.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteHosts {
    listed: Option<Vec<String>>,
}

impl RemoteHosts {
    /// Each entry is `host`, for all ports of it, or `host:port`.
    pub(crate) fn new(listed: Option<Vec<String>>) -> RemoteHosts {
        RemoteHosts { listed }
    }

    /// Whether all hosts are allowed.
    pub(crate) fn are_all(&self) -> bool {
        self.listed.is_none()
    }

    /// UNACCEPTABLE_URL if `host` is not allowed.
    pub(crate) fn check(&self, host: &str, port: u16) -> Result<()> {
        let Some(listed) = &self.listed else { return Ok(()) };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let with_port = format!("{host}:{port}");
        let is_this = |entry: &&String| {
            let entry = entry.replace(['[', ']'], "");
            entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(&with_port)
        };
        if listed.iter().any(|entry| is_this(&entry)) {
            return Ok(());
        }
        bail!(
            UnacceptableUrl,
            "host `{host}`, port {port}, is not among those that the server may ask: add it to remote_url_allow_hosts in \
             the server's configuration"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(listed: &[&str], host: &str, port: u16) -> bool {
        let listed = listed.iter().map(|entry| (*entry).to_owned()).collect();
        RemoteHosts::new(Some(listed)).check(host, port).is_ok()
    }

    #[test]
    fn only_listed_hosts_are_asked() {
        assert!(RemoteHosts::default().check("anywhere", 1).is_ok());
        assert!(!allowed(&[], "127.0.0.1", 80));
        assert!(allowed(&["db.example"], "DB.example", 5432));
        assert!(allowed(&["db.example:5432"], "db.example", 5432));
        assert!(!allowed(&["db.example:5432"], "db.example", 80));
        assert!(!allowed(&["db.example"], "evil.db.example", 80));
        assert!(allowed(&["[::1]"], "::1", 80) && allowed(&["::1"], "[::1]", 80));
    }
}
