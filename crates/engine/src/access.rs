//! Access of statements to what lies outside of the database: files, hosts, programs.

use std::path::PathBuf;

use basalt_base::{Error, ErrorCode, Result};

use crate::data_dir;
use crate::remote_hosts::RemoteHosts;

/// The access that the configuration of the server allows.
pub(crate) struct AccessPolicy {
    /// The only directory that statements may read from; `None`: they may read from all.
    pub(crate) user_files_path: Option<PathBuf>,
    /// The hosts that sources of dictionaries and table functions may connect to.
    pub(crate) remote_hosts: RemoteHosts,
    /// The directory of the programs that sources may run; `None`: they may run none.
    pub(crate) user_scripts_path: Option<PathBuf>,
    /// Whether sources may run commands in a shell.
    pub(crate) allows_shell_commands: bool,
    /// Certificates of authorities that are trusted in addition to those of the machine.
    pub(crate) tls_ca_file: Option<PathBuf>,
}

impl AccessPolicy {
    /// The path of a file that a statement names and that need not exist, if statements may read it.
    pub(crate) fn user_path(&self, path: &str) -> Result<PathBuf> {
        data_dir::user_path(path, self.user_files_path.as_deref())
    }

    /// As [`AccessPolicy::user_path`], for a file or directory of a dictionary.
    pub(crate) fn dictionary_path(&self, path: &str) -> Result<PathBuf> {
        self.user_path(path).map_err(|error| match error.code() {
            ErrorCode::DatabaseAccessDenied => Error::new(ErrorCode::PathAccessDenied, error.message()),
            _ => error,
        })
    }
}
