//! Programs as dictionary sources that fail, hang or send wrong data: they leave no processes and no query waits for
//! them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};

use crate::dictionary_bad_input::{SOON, check_refused, define};
use crate::dictionary_sources::{ask, ask_error};

/// The number of processes whose command line in /proc contains `what`.
fn processes_of(what: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let name = what.to_str().expect("UTF-8").as_bytes().to_vec();
    lines.filter(|line| line.windows(name.len()).any(|part| part == name)).count()
}

/// A killed process takes a moment to disappear.
#[track_caller]
fn wait_until_gone(program: &Path) {
    wait_until(|| check(processes_of(program) == 0, format!("{} lives on", program.display())));
}

#[test]
fn programs_that_will_not_do_are_refused_and_leave_nothing_behind() {
    let data = tempfile::tempdir().expect("a directory");
    let scripts = data.path().join("scripts");
    std::fs::create_dir(&scripts).expect("ours");
    let program = scripts.join("program");
    let write = |text: &str| {
        // Written next to the target first: a running file cannot be written.
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
                  EXECUTE_DIRECT 1 STDERR_REACTION 'throw')";
    define(&server, source, "require_nonempty = 1, max_execution_time = 5");
    let sleep = format!("sleep 1000; : {}", scripts.display());
    let cases = [
        (format!("{rows}; echo why >&2; exit 3"), "UNSUPPORTED_METHOD", "why"),
        (format!("{rows}; kill -9 $$"), "CHILD_WAS_NOT_EXITED_NORMALLY", "signal: 9"),
        (format!("{rows}; echo why >&2"), "UNSUPPORTED_METHOD", "standard error: why"),
        (format!("{rows}; {sleep}"), "TIMEOUT_EXCEEDED", "in time"),
        (format!("{rows}; exec 1>&-; {sleep}"), "TIMEOUT_EXCEEDED", "its end"),
        (format!("{rows}; ({sleep}) &"), "TIMEOUT_EXCEEDED", "in time"),
        ("while :; do printf '1\\tone\\n'; sleep 0.05; done".to_owned(), "TIMEOUT_EXCEEDED", "in time"),
        ("printf '300\\tone\\n'".to_owned(), "id", ""),
        ("printf '\\\\N\\tone\\n'".to_owned(), "id", ""),
        ("printf '1\\tone\\ttwo\\n'".to_owned(), "CANNOT_PARSE", ""),
        ("printf '1\\tone'; exit 1".to_owned(), "CHILD_WAS_NOT_EXITED_NORMALLY", "exit status: 1"),
        (":".to_owned(), "DICTIONARY_IS_EMPTY", "require_nonempty"),
    ];
    for (text, code, why) in cases {
        write(&text);
        check_refused(&server, &text, code, why);
    }
    std::fs::remove_file(&program).expect("ours");
    check_refused(&server, "no program", "UNSUPPORTED_METHOD", "no program");
    // Processes that the shell started with the directory in their arguments are gone, too.
    write(&format!("{rows}; ({sleep}) >/dev/null 2>&1 &"));
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    wait_until_gone(&program);
}

/// Posts `query` with an id and additional settings, and returns its answer.
fn post_as(server: &Server, id: &str, settings: &str, query: &str) -> String {
    server.post(&format!("query_id={id}{settings}"), query.as_bytes()).text()
}

/// Waits until the query with this id runs.
#[track_caller]
fn wait_until_running(server: &Server, id: &str) {
    let count = format!("SELECT count() FROM system.processes WHERE query_id = '{id}'");
    server.wait_until(&count, |answer| answer != "0\n");
}

#[test]
fn a_query_does_not_wait_for_a_load_beyond_its_end() {
    let data = tempfile::tempdir().expect("a directory");
    let scripts = data.path().join("scripts");
    std::fs::create_dir(&scripts).expect("ours");
    let (program, loads, gate) =
        (scripts.join("program"), data.path().join("loads"), data.path().join("gate"));
    // Records each load, and answers when the gate exists.
    let script = format!(
        "#!/bin/sh\necho load >> '{}'\nwhile [ ! -e '{}' ]; do sleep 0.05; done\nprintf '1\\tone\\n'\n",
        loads.display(),
        gate.display()
    );
    std::fs::write(&program, script).expect("writable");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let arguments = ["--user-scripts-path", scripts.to_str().expect("UTF-8")];
    let server = &Server::start_with(&data.path().join("basalt"), &arguments);
    ask(
        server,
        "CREATE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE(EXECUTABLE(COMMAND 'program' FORMAT 'TSV' \
         EXECUTE_DIRECT 1 COMMAND_READ_TIMEOUT 600000)) LAYOUT(HASHED()) LIFETIME(0)",
    );
    let get = "SELECT dictGet('d', 'name', 1::UInt64)";
    let load_count = || std::fs::read_to_string(&loads).unwrap_or_default().lines().count();
    let status = "SELECT status FROM system.dictionaries WHERE name = 'd'";
    std::thread::scope(|scope| {
        // The query that starts the load, and queries that join it.
        for (id, query) in [("first", get), ("second", get), ("table", "SELECT * FROM d")] {
            let started = Instant::now();
            let answer = post_as(server, id, "&max_execution_time=1", query);
            assert!(answer.contains("TIMEOUT_EXCEEDED"), "{id}: {answer}");
            assert!(started.elapsed() < SOON, "{id}: {:?}", started.elapsed());
            assert_eq!(ask(server, status), "LOADING\n");
        }
        for (id, query) in [("killed", get), ("killed_table", "SELECT count() FROM dictionary('d')")] {
            let waiting = scope.spawn(move || post_as(server, id, "", query));
            wait_until_running(server, id);
            ask(server, &format!("KILL QUERY WHERE query_id = '{id}' SYNC"));
            let answer = waiting.join().expect("no panic");
            assert!(answer.contains("QUERY_WAS_CANCELLED"), "{answer}");
        }
        let unload = post_as(server, "unload", "&max_execution_time=1", "SYSTEM UNLOAD DICTIONARY d");
        assert!(unload.contains("TIMEOUT_EXCEEDED"), "{unload}");
        // The same load answers a query that waits long enough.
        let waiting = scope.spawn(|| post_as(server, "patient", "", get));
        wait_until_running(server, "patient");
        std::fs::write(&gate, "").expect("writable");
        assert_eq!(waiting.join().expect("no panic"), "one\n");
        assert_eq!(load_count(), 1);
        // A reload without a waiting query continues, and the previous version answers.
        std::fs::remove_file(&gate).expect("ours");
        let reload = post_as(server, "reload", "&max_execution_time=1", "SYSTEM RELOAD DICTIONARY d");
        assert!(reload.contains("TIMEOUT_EXCEEDED"), "{reload}");
        assert_eq!(ask(server, get), "one\n");
        assert_eq!(ask(server, status), "LOADED_AND_RELOADING\n");
        std::fs::write(&gate, "").expect("writable");
        server.wait_until(status, |answer| answer == "LOADED\n");
        assert_eq!(load_count(), 2);
    });
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
                 'program' FORMAT 'TSV' EXECUTE_DIRECT 1 COMMAND_READ_TIMEOUT 500 COMMAND_TERMINATION_TIMEOUT 1 {more})) LAYOUT(DIRECT())"
            ),
        );
    };
    let get = "SELECT dictGet('p', 'name', 7::UInt64)";
    // A program that answers once and ends.
    define("read k; printf '%s\\ta%s\\n' $k $k", "POOL_SIZE 1");
    for _ in 0..3 {
        assert_eq!(ask(&server, get), "a7\n");
        wait_until_gone(&scripts.join("program"));
    }
    // A program that sends more than requested, at once and afterwards.
    define("while read k; do printf '%s\\ta\\n%s\\tb\\n' $k $k; done", "POOL_SIZE 1");
    assert!(ask_error(&server, get).contains("more rows"));
    let late = data.path().join("late");
    let script = "while read k; do printf '%s\\ta%s\\n' $k $k; sleep 0.1; printf 'x\\n'; echo >";
    define(&format!("{script} '{}'; done", late.display()), "POOL_SIZE 1");
    assert_eq!(ask(&server, get), "a7\n");
    wait_until(|| check(late.exists(), "the program has sent nothing more"));
    assert_eq!(ask(&server, get), "a7\n");
    // A program that hangs is replaced.
    define("read k; sleep 1000", "POOL_SIZE 1");
    for _ in 0..2 {
        assert!(ask_error(&server, get).contains("TIMEOUT_EXCEEDED"));
    }
    // Each request has its own deadline.
    define("while read k; do printf '%s\\ta%s\\n' $k $k; done", "POOL_SIZE 1");
    for _ in 0..2 {
        assert_eq!(ask(&server, get), "a7\n");
    }
    // Dropping a pool ends its programs, including those that ignore signals.
    define("trap '' TERM HUP; while :; do read k && printf '%s\\ta%s\\n' $k $k; done", "POOL_SIZE 1");
    assert_eq!(ask(&server, get), "a7\n");
    ask(&server, "DROP DICTIONARY p");
    wait_until_gone(&scripts.join("program"));
}

/// Defines `d` over `source` on a server that may run shell commands.
#[track_caller]
fn define_command(server: &Server, source: &str, layout: &str) {
    ask(
        server,
        &format!(
            "CREATE OR REPLACE DICTIONARY d (id UInt64, name String DEFAULT '-') PRIMARY KEY id SOURCE({source}) LAYOUT({layout})"
        ),
    );
}

#[test]
fn commands_run_in_a_shell_where_that_is_allowed() {
    let data = tempfile::tempdir().expect("a directory");
    let basalt = data.path().join("basalt");
    let command = r"EXECUTABLE(COMMAND 'echo 7 | tr 7 1 | while read k; do printf ''%s\tone\n'' $k; done' FORMAT 'TSV')";
    let server = Server::start(&basalt);
    define_command(&server, command, "HASHED()");
    let refused = ask_error(&server, "SELECT dictHas('d', 1::UInt64)");
    assert!(refused.contains("SUPPORT_IS_DISABLED") && refused.contains("allow_shell_commands"), "{refused}");
    drop(server);
    let server = Server::start_with(&basalt, &["--allow-shell-commands"]);
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(2)"), "-\none\n");
    // The second load passes the time of the first; the first passes none.
    let update = r"EXECUTABLE(COMMAND 'say() { printf ''1\t%s\n'' $1; }; say' FORMAT 'TSV' UPDATE_FIELD 'since' UPDATE_LAG 5)";
    define_command(&server, update, "HASHED()) LIFETIME(0");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 1::UInt64)"), "\n");
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 1::UInt64)"), "since\n");
    // Keys are preceded by their count; the answer has none.
    let keys = r#"while read k; do printf ''%s\t%s of %s\n'' $k $k $n; done"#;
    for source in ["EXECUTABLE", "EXECUTABLE_POOL"] {
        let command = match source {
            "EXECUTABLE" => format!("read n; {keys}"),
            _ => r"while read n; do i=0; while [ $i -lt $n ]; do read k; printf ''%s\t%s of %s\n'' $k $k $n; i=$((i+1)); done; done".to_owned(),
        };
        let source = format!("{source}(COMMAND '{command}' FORMAT 'TSV' SEND_CHUNK_HEADER 1)");
        define_command(&server, &source, "DIRECT()");
        let get = "SELECT dictGet('d', 'name', number) FROM numbers(5, 2)";
        assert_eq!(ask(&server, get), "5 of 2\n6 of 2\n", "{source}");
    }
    assert_eq!(
        ask(&server, "SELECT source LIKE 'ExecutablePool size: 16 command: while%' FROM system.dictionaries"),
        "1\n"
    );
    let csv = r#"EXECUTABLE_POOL(COMMAND 'while read k; do printf ''%s,"a\nb"\n'' $k; done' FORMAT 'CSV')"#;
    define_command(&server, csv, "DIRECT()");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(5, 2)"), "a\\nb\na\\nb\n");
    let values = "CREATE OR REPLACE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE(EXECUTABLE_POOL(COMMAND \
                  'cat' FORMAT 'Values')) LAYOUT(DIRECT())";
    assert!(ask_error(&server, values).contains("NOT_IMPLEMENTED"));
}

#[test]
fn what_programs_say_on_their_standard_error_is_logged_or_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start_with(data.path(), &["--allow-shell-commands"]);
    let say = r"echo first word >&2; head -c 10000 /dev/zero | tr ''\\0'' x >&2; echo >&2; printf ''1\tone\n''; echo last word >&2";
    let logged = |reaction: &str| {
        let before = server.log().len();
        let source = format!("EXECUTABLE(COMMAND '{say}' FORMAT 'TSV' {reaction})");
        define_command(&server, &source, "HASHED()) LIFETIME(0");
        assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 1::UInt64)"), "one\n");
        // The log is read by a thread of the test: it is complete when it contains a later line.
        let end = format!("flushed after {before}");
        let source = format!(r"EXECUTABLE(COMMAND 'echo {end} >&2; printf ''1\tone\n''' FORMAT 'TSV')");
        define_command(&server, &source, "HASHED()) LIFETIME(0");
        assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 1::UInt64)"), "one\n");
        wait_until(|| check(server.log()[before..].contains(&end), "the log is incomplete"));
        let log = server.log()[before..].to_owned();
        (log.contains("standard error: first word"), log.contains("standard error: last word"))
    };
    assert_eq!(logged(""), (false, true));
    assert_eq!(logged("STDERR_REACTION 'none'"), (false, false));
    assert_eq!(logged("STDERR_REACTION 'log'"), (true, true));
    assert_eq!(logged("STDERR_REACTION 'log_first'"), (true, false));
    assert_eq!(logged("STDERR_REACTION 'log_last'"), (false, true));
    let pool = |reaction: &str| {
        let command = r"while read k; do echo warn $k >&2; printf ''%s\tone\n'' $k; done";
        format!("EXECUTABLE_POOL(COMMAND '{command}' FORMAT 'TSV' POOL_SIZE 1 {reaction})")
    };
    define_command(&server, &pool(""), "DIRECT()");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 71::UInt64)"), "one\n");
    wait_until(|| check(server.log().contains("warn 71"), server.log()));
    define_command(&server, &pool("STDERR_REACTION 'throw'"), "DIRECT()");
    for _ in 0..2 {
        let error = ask_error(&server, "SELECT dictGet('d', 'name', 72::UInt64)");
        assert!(error.contains("UNSUPPORTED_METHOD") && error.contains("warn 72"), "{error}");
    }
    let wrong = format!(
        "CREATE OR REPLACE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE({}) LAYOUT(DIRECT())",
        pool("STDERR_REACTION 'shout'")
    );
    assert!(ask_error(&server, &wrong).contains("log_first"));
    let near = wrong.replace("STDERR_REACTION 'shout'", "STDERR_RECTION 'log'");
    assert!(ask_error(&server, &near).contains("did you mean `stderr_reaction`"));
}
