//! A program that answers: its command line, its input and its output.
//!
//! A program that is silent for too long, or whose output nobody reads any more, is killed with all its children.
//! There are no threads: pipes are read and written without blocking, with short pauses.

mod running;
mod stderr;

use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use basalt_base::{Result, bail};
use rustix::fs::{Access, access};

pub use self::running::{RowEnds, Running};
pub use self::stderr::StderrReaction;
use crate::Limits;

/// How long a program may take to exit, by default.
const ENDING: Duration = Duration::from_secs(10);
const SHELL: &str = "/bin/sh";
/// Characters of a shell command that errors quote.
const NAME_CHARS_MAX: usize = 200;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program's name in errors.
    name: String,
    path: PathBuf,
    args: Vec<String>,
    ending: Ending,
}

/// Requirements for the exit of a program.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// How long it may take to exit after it closed its output, or after its input was closed.
    pub patience: Duration,
    /// A nonzero status is an error.
    pub checks_status: bool,
    pub stderr: StderrReaction,
    /// Receives the lines that the reaction logs.
    pub log: Option<fn(&str)>,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending { patience: ENDING, checks_status: true, stderr: StderrReaction::default(), log: None }
    }
}

impl Program {
    /// The program named by the first word of `command`, in the directory `scripts`; the other words, separated by
    /// single spaces, are its arguments. No shell is involved. A link in the directory may lead outside: its
    /// creator allows that.
    pub fn find(command: &str, scripts: &Path) -> Result<Program> {
        let mut words = command.split(' ').map(str::to_owned);
        let Some(name) = words.next().filter(|name| !name.trim().is_empty()) else {
            bail!(BadArguments, "the command of a source is empty");
        };
        let Some(inside) = inside(&name, scripts) else {
            bail!(UnsupportedMethod, "program `{name}` is outside the directory of user scripts");
        };
        let path = scripts.join(inside);
        if !path.is_file() {
            bail!(UnsupportedMethod, "there is no program `{name}` in the directory of user scripts");
        }
        if access(&path, Access::EXEC_OK).is_err() {
            bail!(UnsupportedMethod, "program `{name}` in the directory of user scripts is not executable");
        }
        let name = format!("program {}", path.display());
        Ok(Program { name, path, args: words.collect(), ending: Ending::default() })
    }

    /// The shell, running `command`.
    pub fn shell(command: &str) -> Result<Program> {
        if command.trim().is_empty() {
            bail!(BadArguments, "the command of a source is empty");
        }
        let shown = command.chars().take(NAME_CHARS_MAX);
        let shown: String = shown.map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let args = vec!["-c".to_owned(), command.to_owned()];
        Ok(Program {
            name: format!("command `{shown}`"),
            path: SHELL.into(),
            args,
            ending: Ending::default(),
        })
    }

    /// Adds arguments.
    #[must_use]
    pub fn with(mut self, args: impl IntoIterator<Item = String>) -> Program {
        self.args.extend(args);
        self
    }

    /// Sets the requirements for the exit.
    #[must_use]
    pub fn ending(self, ending: Ending) -> Program {
        Program { ending, ..self }
    }

    /// Starts the program, writes `input` to it, and returns its output. If the program does not exit as required,
    /// the last read fails.
    pub fn run(&self, input: Vec<u8>, limits: Limits) -> Result<Output> {
        Ok(Output { running: self.start(limits)?, input, at: 0 })
    }

    /// Starts the program for several requests, see [`Running::ask`].
    pub fn start(&self, limits: Limits) -> Result<Running> {
        Running::start(&self.name, &self.path, &self.args, self.ending, limits)
    }
}

/// The path of `name` in `root`; `None` if it leads outside.
fn inside(name: &str, root: &Path) -> Option<PathBuf> {
    let path = Path::new(name);
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            // `pop` returns `false` at the root.
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    Some(inside).filter(|inside| !inside.as_os_str().is_empty())
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The output of a program until it exits.
pub struct Output {
    running: Running,
    input: Vec<u8>,
    /// Bytes of the input written so far.
    at: usize,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut rest = &self.input[self.at..];
        let read = self.running.exchange(&mut rest, true, buffer);
        self.at = self.input.len() - rest.len();
        let count = read.map_err(io::Error::other)?;
        if count == 0 {
            self.running.end().map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use basalt_base::{Error, ErrorCode};

    use super::*;

    fn write(dir: &Path, script: &str) {
        let path = dir.join("script");
        // Another process writes it. A child of a test beside this one would inherit an open file, and a program that is
        // open for writing does not start.
        let mut command = std::process::Command::new("sh");
        let done = command
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\""])
            .arg(&path)
            .arg(script)
            .status();
        assert!(done.expect("a shell").success());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// The output of the script for `input`.
    fn check(script: &str, input: &[u8], receive: Duration) -> Result<String> {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), script);
        let limits = Limits { receive, ..Limits::default() };
        let mut text = String::new();
        let mut output = Program::find("script 7", dir.path())?.run(input.to_vec(), limits)?;
        let read = output.read_to_string(&mut text);
        read.map_err(|error| Error::new(ErrorCode::CannotReadFromFile, error.to_string()))?;
        Ok(text)
    }

    #[test]
    fn a_program_gets_its_input_and_arguments() {
        let minute = Duration::from_secs(60);
        assert_eq!(check("echo $1; cat", b"x\ny\n", minute).expect("it works"), "7\nx\ny\n");
        let error = check("echo a; echo broken >&2; exit 3", b"", minute).expect_err("status 3");
        assert!(error.message().contains("broken"), "{error}");
    }

    #[test]
    fn a_silent_program_is_killed_with_what_it_started() {
        let started = Instant::now();
        let error = check("sleep 100", b"", Duration::from_millis(200)).expect_err("silent");
        assert!(error.message().contains("in time"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn much_on_the_standard_error_holds_nothing_up() {
        let minute = Duration::from_secs(60);
        let script = "head -c 1000000 /dev/zero >&2; echo row; echo last words >&2";
        assert_eq!(check(script, b"", minute).expect("it works"), "row\n");
        let error = check(&format!("{script}; exit 1"), b"", minute).expect_err("status 1");
        assert!(error.message().contains("last words"), "{error}");
    }

    #[test]
    fn a_program_that_closes_its_output_has_to_end() {
        let started = Instant::now();
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), "echo row; exec 1>&-; sleep 100");
        let ending = Ending { patience: Duration::from_millis(100), ..Ending::default() };
        let program = Program::find("script", dir.path()).expect("it is there").ending(ending);
        let mut output = program.run(Vec::new(), Limits::default()).expect("it starts");
        let error = output.read_to_string(&mut String::new()).expect_err("it does not end");
        assert!(error.to_string().contains("its end did not"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn a_program_that_reads_nothing_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), "sleep 100");
        let limits = Limits { send: Duration::from_millis(100), ..Limits::default() };
        let program = Program::find("script", dir.path()).expect("it is there");
        let mut output = program.run(vec![b'x'; 1 << 20], limits).expect("it starts");
        let error = output.read_to_string(&mut String::new()).expect_err("it does not read");
        assert!(error.to_string().contains("in time"), "{error}");
    }

    #[test]
    fn answers_have_as_many_rows_as_questions() {
        let check = |script: &str, head: &str, rows: RowEnds| {
            let dir = tempfile::tempdir().expect("a directory");
            write(dir.path(), script);
            let program = Program::find("script", dir.path()).expect("it is there");
            let mut running = program.start(Limits::default()).expect("it starts");
            let answer = running.ask(head.as_bytes(), b"1\n2\n", rows, Limits::default());
            let text = answer.map(|answer| String::from_utf8(answer).expect("UTF-8"));
            text.map_err(|error| error.message().to_owned())
        };
        let (lines, csv) = (RowEnds::LINES, RowEnds::CSV);
        assert_eq!(check("while read k; do echo a$k; done", "", lines), Ok("a1\na2\n".to_owned()));
        assert_eq!(check("read n; read a; read b; echo $n; echo x", "2\n", lines), Ok("2\nx\n".to_owned()));
        let quoted = "read a; read b; printf '1,\"x\n\"\"y\"\n2,z\n'; read c";
        assert_eq!(check(quoted, "", csv), Ok("1,\"x\n\"\"y\"\n2,z\n".to_owned()));
        for (script, why) in [
            ("read a; read b; printf 'a\\nb\\nc\\n'; read c", "more rows"),
            ("read a; read b; printf 'a\\nb\\nc'; read c", "more rows"),
            ("read a; echo a; exit 0", "in the middle"),
            ("read a; echo a; echo why >&2; exit 3", "why"),
        ] {
            let answer = check(script, "", lines);
            assert!(answer.as_ref().is_err_and(|error| error.contains(why)), "{script}: {answer:?}");
        }
    }

    #[test]
    fn a_shell_runs_a_whole_command() {
        let program = Program::shell("read a; echo \"$a\" | tr a b; echo $0").expect("a command");
        let mut text = String::new();
        let mut output = program.run(b"aa\n".to_vec(), Limits::default()).expect("it starts");
        output.read_to_string(&mut text).expect("it ends well");
        assert!(text.starts_with("bb\n"), "{text}");
        assert_eq!(Program::shell(" ").map_err(|error| error.code()).err(), Some(ErrorCode::BadArguments));
    }

    #[test]
    fn programs_elsewhere_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("text"), "no program").expect("writable");
        std::os::unix::fs::symlink("/bin/true", dir.path().join("link")).expect("ours");
        let error = |command: &str| Program::find(command, dir.path()).expect_err("refused");
        for (command, why) in [
            ("/bin/sh -c true", "outside"),
            ("../../../../bin/sh", "outside"),
            ("a/../../x", "outside"),
            ("nothing", "no program"),
            (".", "outside"),
            ("text", "not executable"),
        ] {
            let error = error(command);
            assert_eq!(error.code(), ErrorCode::UnsupportedMethod, "{command}");
            assert!(error.message().contains(why), "{command}: {error}");
        }
        assert_eq!(error(" ").code(), ErrorCode::BadArguments);
        assert!(Program::find("a/../link x", dir.path()).is_ok());
    }
}
