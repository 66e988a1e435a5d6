//! A program, what it is told and what it writes.
//!
//! A program that says nothing for too long, or that nobody listens to any more, is killed together with
//! whatever it started. No threads: pipes are read and written as far as they go, with short pauses.

mod running;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use basalt_base::{Error, Result, bail};

pub use self::running::Running;
use crate::Limits;

/// How long a program may take to end, unless something else is said.
const ENDING: Duration = Duration::from_secs(10);

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    args: Vec<String>,
    ending: Ending,
}

/// What is expected of the end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How long it may take to end when it has closed its output, or when nothing is asked of it any more.
    pub patience: Duration,
    /// Another status than 0 is an error.
    pub checks_status: bool,
    /// So is anything on its standard error.
    pub refuses_stderr: bool,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending { patience: ENDING, checks_status: true, refuses_stderr: false }
    }
}

impl Program {
    /// The program that `command` names first, in the directory `scripts`, and its arguments, separated
    /// by spaces. No shell sees it.
    pub fn find(command: &str, scripts: &Path) -> Result<Program> {
        let mut words = command.split_whitespace().map(str::to_owned);
        let Some(name) = words.next() else {
            bail!(BadArguments, "the command of a source is empty");
        };
        let root = scripts.canonicalize().map_err(|error| Error::io(scripts, &error))?;
        let path = root.join(&name);
        let path = path.canonicalize().map_err(|error| Error::io(&path, &error))?;
        if !path.starts_with(&root) {
            bail!(ReadOnly, "program `{name}` is outside the directory of user scripts");
        }
        Ok(Program { path, args: words.collect(), ending: Ending::default() })
    }

    /// The same, with another end.
    #[must_use]
    pub fn ending(self, ending: Ending) -> Program {
        Program { ending, ..self }
    }

    /// Starts it, writes `input` to it, and hands over what it writes. A program that does not end as it
    /// should ends the reader with an error.
    pub fn run(&self, input: Vec<u8>, limits: Limits) -> Result<Output> {
        Ok(Output { running: self.start(limits)?, input, at: 0 })
    }

    /// Starts it for many questions, see [`Running::ask`].
    pub fn start(&self, limits: Limits) -> Result<Running> {
        Running::start(&self.path, &self.args, self.ending, limits)
    }
}

/// What a program writes until it ends.
pub struct Output {
    running: Running,
    input: Vec<u8>,
    /// How much of the input is written.
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

    use basalt_base::ErrorCode;

    use super::*;

    fn write(dir: &Path, script: &str) {
        let path = dir.join("script");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// What the script writes for `input`.
    fn check(script: &str, input: &[u8], silence: Duration) -> Result<String> {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), script);
        let limits = Limits { silence, ..Limits::default() };
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
    fn answers_have_as_many_lines_as_questions() {
        let check = |script: &str, with_count: bool| {
            let dir = tempfile::tempdir().expect("a directory");
            write(dir.path(), script);
            let program = Program::find("script", dir.path()).expect("it is there");
            let mut running = program.start(Limits::default()).expect("it starts");
            let answer = running.ask(b"1\n2\n", with_count, Limits::default());
            let text = answer.map(|answer| String::from_utf8(answer).expect("UTF-8"));
            text.map_err(|error| error.message().to_owned())
        };
        assert_eq!(check("while read k; do echo a$k; done", false), Ok("a1\na2\n".to_owned()));
        assert_eq!(check("read n; read a; read b; echo 1; echo x", true), Ok("x\n".to_owned()));
        for (script, with_count, why) in [
            ("read a; read b; printf 'a\\nb\\nc\\n'; read c", false, "more rows"),
            ("read a; read b; printf 'a\\nb\\nc'; read c", false, "more rows"),
            ("read a; echo a; exit 0", false, "in the middle"),
            ("read a; echo a; echo why >&2; exit 3", false, "why"),
            ("read n; read a; read b; echo many; read c", true, "no count"),
        ] {
            let answer = check(script, with_count);
            assert!(answer.as_ref().is_err_and(|error| error.contains(why)), "{script}: {answer:?}");
        }
    }

    #[test]
    fn programs_elsewhere_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let code = |command: &str| Program::find(command, dir.path()).map_err(|error| error.code());
        assert_eq!(code("/bin/sh -c true").err(), Some(ErrorCode::ReadOnly));
        assert_eq!(code("../../../../bin/sh").err(), Some(ErrorCode::ReadOnly));
        assert_eq!(code("nothing").err(), Some(ErrorCode::FileDoesntExist));
        assert_eq!(code(" ").err(), Some(ErrorCode::BadArguments));
    }
}
