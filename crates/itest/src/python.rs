//! Python packages, installed into an environment that later runs share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment with packages.
pub struct Python {
    interpreter: PathBuf,
}

impl Python {
    /// The environment called `name`, with `packages`; made if it does not exist. The error says why there is none.
    pub fn with(name: &str, packages: &[&str]) -> Result<Python, String> {
        let root = cache_dir()?.join("clients").join(name);
        let interpreter = root.join("bin/python");
        let marker = root.join("packages");
        let wanted = packages.join("\n");
        // Tests run at once, in one process; the first makes the environment.
        let _one_at_a_time = LOCK.lock().map_err(|_| "another test panicked".to_owned())?;
        if fs::read_to_string(&marker).is_ok_and(|found| found == wanted) {
            return Ok(Python { interpreter });
        }
        // It may be left from a run that was broken off.
        let _ = fs::remove_dir_all(&root);
        run(Command::new("python3").args(["-m", "venv"]).arg(&root))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&interpreter).args(install).args(packages))?;
        fs::write(&marker, &wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
        Ok(Python { interpreter })
    }

    /// Runs a script and returns what it printed.
    ///
    /// # Panics
    ///
    /// If the script fails; the message has what it wrote to standard error.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: &[&str]) -> String {
        let output =
            Command::new(&self.interpreter).args(["-c", script]).args(arguments).output().expect("it starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        out.into_owned()
    }
}

static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The directory of what tests download.
pub fn cache_dir() -> Result<PathBuf, String> {
    let home = std::env::var("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cache")));
    home.map(|cache| cache.join("basalt")).map_err(|_| "HOME is not set".to_owned())
}

/// Runs a command; the error has what it wrote to standard error.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
