//! The built program, and complete runs of `basalt local`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program that was built together with this test.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let folder = test.parent().and_then(Path::parent).expect("target/release/deps");
    let program = folder.join("basalt");
    assert!(program.is_file(), "{} is missing: cargo build --release --workspace", program.display());
    program
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The standard output of a successful run.
    #[track_caller]
    pub fn expect(self) -> String {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The standard error of a run that failed with the error `name`.
    #[track_caller]
    pub fn expect_error(self, name: &str) -> String {
        assert_ne!(self.code, Some(0), "no error, but: {}", self.stdout);
        assert!(self.stderr.contains(&format!("({name})")), "not {name}: {}", self.stderr);
        self.stderr
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the program with `arguments` and `input` as its standard input.
pub fn run(arguments: &[&str], input: &[u8]) -> Ended {
    let mut command = Command::new(path());
    command.args(arguments).env("BASALT_HISTORY", "/dev/null");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // On a separate thread: the program may write before it has read everything.
    let feeding = std::thread::spawn(move || {
        // A program that needs no input closes the pipe.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the program ends");
    feeding.join().expect("feeding cannot fail");
    output.into()
}

/// `basalt local` on `data` with one script.
pub fn local(data: &Path, script: &str) -> Ended {
    let data = data.to_str().expect("temporary paths are UTF-8");
    run(&["local", "--path", data, "--query", script], b"")
}

/// Runs one statement with the data `input` by `basalt local` on `data`.
pub fn load(data: &Path, statement: &str, input: &[u8]) -> Ended {
    let data = data.to_str().expect("temporary paths are UTF-8");
    run(&["local", "--path", data, "--query", statement], input)
}
