//! Programs as sources of dictionaries that fail, hang or lie: nothing of them stays behind.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use basalt_itest::server::Server;

use crate::dictionary_bad_input::{SOON, check_refused, define};
use crate::dictionary_sources::{ask, ask_error};

/// Lines of /proc that name `what`: processes of this machine.
fn processes_of(what: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let name = what.to_str().expect("UTF-8").as_bytes().to_vec();
    lines.filter(|line| line.windows(name.len()).any(|part| part == name)).count()
}

/// A process that was killed takes a moment to go.
#[track_caller]
fn wait_until_gone(program: &Path) {
    let started = Instant::now();
    while processes_of(program) > 0 {
        assert!(started.elapsed() < SOON, "{} lives on", program.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn programs_that_will_not_do_are_refused_and_leave_nothing_behind() {
    let data = tempfile::tempdir().expect("a directory");
    let scripts = data.path().join("scripts");
    std::fs::create_dir(&scripts).expect("ours");
    let program = scripts.join("program");
    let write = |text: &str| {
        // Beside it first: a file that runs cannot be written.
        let fresh = scripts.join("fresh");
        std::fs::write(&fresh, format!("#!/bin/sh\n{text}\n")).expect("writable");
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).expect("ours");
        std::fs::rename(&fresh, &program).expect("ours");
    };
    let arguments = ["--user-scripts-path", scripts.to_str().expect("UTF-8")];
    let server = Server::start_with(&data.path().join("basalt"), &arguments);
    let rows = "printf '1\\tone\\n'";
    write(rows);
    let source = "EXECUTABLE(COMMAND 'program' FORMAT 'TSV' COMMAND_READ_TIMEOUT 400 COMMAND_TERMINATION_TIMEOUT 1 \
                  STDERR_REACTION 'throw')";
    define(&server, source, "require_nonempty = 1, max_execution_time = 5");
    let sleep = format!("sleep 1000; : {}", scripts.display());
    let cases = [
        (format!("{rows}; echo why >&2; exit 3"), "CANNOT_READ_FROM_FILE", "why"),
        (format!("{rows}; kill -9 $$"), "CANNOT_READ_FROM_FILE", "signal: 9"),
        (format!("{rows}; echo why >&2"), "CANNOT_READ_FROM_FILE", "standard error: why"),
        (format!("{rows}; {sleep}"), "TIMEOUT_EXCEEDED", "in time"),
        (format!("{rows}; exec 1>&-; {sleep}"), "TIMEOUT_EXCEEDED", "its end"),
        (format!("{rows}; ({sleep}) &"), "TIMEOUT_EXCEEDED", "in time"),
        ("while :; do printf '1\\tone\\n'; sleep 0.05; done".to_owned(), "TIMEOUT_EXCEEDED", "in time"),
        ("printf '300\\tone\\n'".to_owned(), "id", ""),
        ("printf '\\\\N\\tone\\n'".to_owned(), "id", ""),
        ("printf '1\\tone\\ttwo\\n'".to_owned(), "CANNOT_PARSE", ""),
        ("printf '1\\tone'; exit 1".to_owned(), "CANNOT_READ_FROM_FILE", "exit status: 1"),
        (":".to_owned(), "DICTIONARY_IS_EMPTY", "require_nonempty"),
    ];
    for (text, code, why) in cases {
        write(&text);
        check_refused(&server, &text, code, why);
    }
    std::fs::remove_file(&program).expect("ours");
    check_refused(&server, "no program", "FILE_DOESNT_EXIST", "program");
    // What the shell started with the name of the folder in its words is gone too.
    write(&format!("{rows}; ({sleep}) >/dev/null 2>&1 &"));
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    wait_until_gone(&program);
}

#[test]
fn programs_of_a_pool_that_fail_are_replaced() {
    let data = tempfile::tempdir().expect("a directory");
    let scripts = data.path().join("scripts");
    std::fs::create_dir(&scripts).expect("ours");
    let arguments = ["--user-scripts-path", scripts.to_str().expect("UTF-8")];
    let server = Server::start_with(&data.path().join("basalt"), &arguments);
    let define = |script: &str, more: &str| {
        let path = scripts.join("program");
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        ask(
            &server,
            &format!(
                "CREATE OR REPLACE DICTIONARY p (id UInt64, name String) PRIMARY KEY id SOURCE(EXECUTABLE_POOL(COMMAND \
                 'program' FORMAT 'TSV' COMMAND_READ_TIMEOUT 500 COMMAND_TERMINATION_TIMEOUT 1 {more})) LAYOUT(DIRECT())"
            ),
        );
    };
    let get = "SELECT dictGet('p', 'name', 7::UInt64)";
    // One that answers once and ends.
    define("read k; printf '%s\\ta%s\\n' $k $k", "POOL_SIZE 1");
    for _ in 0..3 {
        assert_eq!(ask(&server, get), "a7\n");
        std::thread::sleep(Duration::from_millis(50));
    }
    // One that says more than it was asked, at once and afterwards.
    define("while read k; do printf '%s\\ta\\n%s\\tb\\n' $k $k; done", "POOL_SIZE 1");
    assert!(ask_error(&server, get).contains("more rows"));
    define("while read k; do printf '%s\\ta%s\\n' $k $k; sleep 0.1; printf 'x\\n'; done", "POOL_SIZE 1");
    assert_eq!(ask(&server, get), "a7\n");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ask(&server, get), "a7\n");
    // One that hangs leaves its place to the next.
    define("read k; sleep 1000", "POOL_SIZE 1");
    for _ in 0..2 {
        assert!(ask_error(&server, get).contains("TIMEOUT_EXCEEDED"));
    }
    // The deadline is that of each question.
    define("while read k; do printf '%s\\ta%s\\n' $k $k; done", "POOL_SIZE 1");
    for _ in 0..2 {
        assert_eq!(ask(&server, get), "a7\n");
    }
    // A pool that is gone takes its programs along, also those that do not end by themselves.
    define("trap '' TERM HUP; while :; do read k && printf '%s\\ta%s\\n' $k $k; done", "POOL_SIZE 1");
    assert_eq!(ask(&server, get), "a7\n");
    ask(&server, "DROP DICTIONARY p");
    wait_until_gone(&scripts.join("program"));
}
