//! Clients in other languages, installed into directories that later runs share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The directory of the client called `name`, with `files` in it, in which the commands of `steps` have run. It is made
/// again if any of them changed. The error says which step failed.
pub fn installed(name: &str, files: &[(&str, &str)], steps: &[Vec<&str>]) -> Result<PathBuf, String> {
    let root = cache_dir()?.join("clients").join(name);
    let marker = root.join("installed");
    let wanted = format!("{files:?}\n{steps:?}");
    // Tests run at once, in one process; the first installs the client.
    let _one_at_a_time = LOCK.lock().map_err(|_| "another test panicked".to_owned())?;
    if fs::read_to_string(&marker).is_ok_and(|found| found == wanted) {
        return Ok(root);
    }
    // It may be left from a run that was broken off.
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    for (file, text) in files {
        fs::write(root.join(file), text).map_err(|error| format!("{file}: {error}"))?;
    }
    for step in steps {
        // A program that an earlier step has installed, or one of the machine.
        let own = root.join(step[0]);
        let program = if own.is_file() { own } else { PathBuf::from(step[0]) };
        run(Command::new(program).args(&step[1..]).current_dir(&root))?;
    }
    fs::write(&marker, &wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(root)
}

static LOCK: Mutex<()> = Mutex::new(());

/// The directory of what tests download.
pub fn cache_dir() -> Result<PathBuf, String> {
    let home = std::env::var("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cache")));
    home.map(|cache| cache.join("basalt")).map_err(|_| "HOME is not set".to_owned())
}

/// What the command printed; the error has what it wrote to standard error.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(out.into_owned()),
        false => Err(format!("{command:?}: {out}\n{err}")),
    }
}
