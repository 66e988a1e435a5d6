//! Python packages, installed into an environment that later runs share.

use std::path::PathBuf;
use std::process::Command;

use crate::clients::{installed, run};

/// An environment with packages.
pub struct Python {
    root: PathBuf,
}

impl Python {
    /// The environment called `name`, with `packages`; made if it does not exist. The error says why there is none.
    pub fn with(name: &str, packages: &[&str]) -> Result<Python, String> {
        let mut install =
            vec!["bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        install.extend(packages);
        let root = installed(name, &[], &[vec!["python3", "-m", "venv", "."], install])?;
        Ok(Python { root })
    }

    /// A program that one of the packages installs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// Runs a script and returns what it printed.
    ///
    /// # Panics
    ///
    /// If the script fails; the message has what it wrote to standard error.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(self.program("python"));
        let done = run(command.args(["-c", script]).args(arguments));
        done.unwrap_or_else(|error| panic!("{error}"))
    }
}
