//! Sources of dictionaries, each tested with the real server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use basalt_itest::foreign::{Foreign, NO_MARIADB, NO_POSTGRESQL, NO_REDIS, NO_SQLITE, find, run};
use basalt_itest::server::Server;
use basalt_itest::{http, program, skipped};

/// The answer to `query`.
#[track_caller]
pub(crate) fn ask(server: &Server, query: &str) -> String {
    let answer = http::request(server.address(), "POST", "/", &[], query.as_bytes());
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.text()
}

/// The error of `query`.
#[track_caller]
pub(crate) fn ask_error(server: &Server, query: &str) -> String {
    let answer = http::request(server.address(), "POST", "/", &[], query.as_bytes());
    assert_ne!(answer.status, 200, "{query}: {}", answer.text());
    answer.text()
}

/// Repeats a query until its answer is `wanted`, for changes in the background.
#[track_caller]
fn wait_for(server: &Server, query: &str, wanted: &str) {
    server.wait_until(query, |answer| answer.trim_end() == wanted);
}

/// Tests a source over a table `people` (id, name, score, changed, gone) in another database with the rows 1 'one'
/// 1.5, 2 NULL -2, 3 'it''s \ "3"' 3, and a deleted 4. `source` is the SOURCE clause without its closing parentheses.
fn check_database(server: &Server, source: &str, mut change: impl FnMut(&str)) {
    let define = |name: &str, source: &str, rest: &str| {
        ask(
            server,
            &format!(
                "CREATE OR REPLACE DICTIONARY {name} (id UInt64, name String DEFAULT 'nobody', score Float64) \
                 PRIMARY KEY id SOURCE({source}) {rest}"
            ),
        );
    };
    let get = |name: &str, key: u64| {
        ask(
            server,
            &format!(
                "SELECT dictGet('{name}', 'name', {key}::UInt64), dictGet('{name}', 'score', {key}::UInt64)"
            ),
        )
    };
    define("plain", &format!("{source} TABLE 'people' WHERE 'gone = 0')"), "LAYOUT(HASHED()) LIFETIME(0)");
    assert_eq!(get("plain", 1), "one\t1.5\n");
    assert_eq!(get("plain", 2), "nobody\t-2\n");
    assert_eq!(get("plain", 3), "it\\'s \\\\ \"3\"\t3\n");
    assert_eq!(get("plain", 4), "nobody\t0\n");
    define("direct", &format!("{source} TABLE 'people')"), "LAYOUT(DIRECT())");
    assert_eq!(get("direct", 3), "it\\'s \\\\ \"3\"\t3\n");
    assert_eq!(ask(server, "SELECT count() FROM dictionary('direct')"), "4\n");
    let query = format!("{source} QUERY 'SELECT id, name, score * 2 AS score FROM people WHERE gone = 0')");
    define("query", &query, "LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)");
    assert_eq!(get("query", 1), "one\t3\n");
    let updated = format!("{source} TABLE 'people' UPDATE_FIELD 'changed' UPDATE_LAG 5)");
    define("updated", &updated, "LAYOUT(HASHED()) LIFETIME(0) SETTINGS(tombstone_column = 'gone')");
    assert_eq!(ask(server, "SELECT arraySort(groupArray(id)) FROM updated"), "[1,2,3]\n");
    // The newest change was at 00:00:10; 6 is beyond the lag.
    change("INSERT INTO people VALUES (5, 'five', 5, '2026-01-01 00:00:06', 0)");
    change("INSERT INTO people VALUES (6, 'six', 6, '2026-01-01 00:00:01', 0)");
    change("UPDATE people SET gone = 1, changed = '2026-01-01 00:00:20' WHERE id = 1");
    ask(server, "SYSTEM RELOAD DICTIONARY updated");
    assert_eq!(ask(server, "SELECT arraySort(groupArray(id)) FROM updated"), "[2,3,5]\n");
    // A missing name is an error that contains it, and the old rows stay.
    define("missing", &format!("{source} TABLE 'nowhere')"), "LAYOUT(HASHED()) LIFETIME(0)");
    assert!(ask_error(server, "SELECT dictHas('missing', 1::UInt64)").contains("nowhere"));
    change("ALTER TABLE people RENAME COLUMN score TO points");
    ask_error(server, "SYSTEM RELOAD DICTIONARY updated");
    assert_eq!(
        ask(
            server,
            "SELECT status, last_exception LIKE '%score%' FROM system.dictionaries WHERE name = 'updated'"
        ),
        "LOADED\t1\n"
    );
    assert_eq!(get("updated", 5), "five\t5\n");
    check_revision(server, source, change);
}

/// At the end of LIFETIME the INVALIDATE_QUERY runs, and the dictionary is loaded again only if its answer has
/// changed. Uses the table of [`check_database`], whatever its rows.
fn check_revision(server: &Server, source: &str, mut change: impl FnMut(&str)) {
    let define = |name: &str, more: &str| {
        ask(
            server,
            &format!(
                "CREATE DICTIONARY {name} (id UInt64, name String) PRIMARY KEY id SOURCE({source} TABLE 'people' {more})) \
                 LAYOUT(HASHED()) LIFETIME(MIN 1 MAX 1)"
            ),
        );
    };
    define("always", "");
    define("revised", "INVALIDATE_QUERY 'SELECT max(id) FROM people'");
    let has = |name: &str, id: u64| ask(server, &format!("SELECT dictHas('{name}', {id}::UInt64)"));
    let loaded = |name: &str| {
        let time = "toUnixTimestamp(last_successful_update_time)";
        ask(server, &format!("SELECT {time} FROM system.dictionaries WHERE name = '{name}'"))
    };
    assert_eq!(has("always", 0) + &has("revised", 0), "0\n0\n");
    let first_load = loaded("revised");
    change("INSERT INTO people VALUES (0, 'early', 0, '2026-01-01 00:00:00', 0)");
    wait_for(server, "SELECT dictHas('always', 0::UInt64)", "1");
    // After a few more lifetimes.
    let seconds = format!("toUnixTimestamp(last_successful_update_time) >= {} + 3", loaded("always").trim());
    wait_for(server, &format!("SELECT {seconds} FROM system.dictionaries WHERE name = 'always'"), "1");
    assert_eq!((has("revised", 0).as_str(), loaded("revised")), ("0\n", first_load));
    change("INSERT INTO people VALUES (70, 'late', 0, '2026-01-01 00:00:00', 0)");
    wait_for(server, "SELECT dictHas('revised', 0::UInt64), dictHas('revised', 70::UInt64)", "1\t1");
}

/// Reads the table of [`check_database`] through a named collection of these entries, with a source of this `kind`.
fn check_collection(server: &Server, kind: &str, entries: &str) {
    ask(server, &format!("CREATE NAMED COLLECTION place AS {entries}"));
    let define = |name: &str, parameters: &str, layout: &str| {
        ask(
            server,
            &format!(
                "CREATE DICTIONARY {name} (id UInt64, name String DEFAULT 'nobody', score Float64) PRIMARY KEY id \
                 SOURCE({kind}(NAME place {parameters})) LAYOUT({layout})"
            ),
        );
    };
    define("named", "TABLE 'people'", "HASHED()) LIFETIME(0");
    define("named_direct", "TABLE 'people' WHERE 'gone = 0'", "DIRECT()");
    define(
        "named_query",
        "QUERY 'SELECT id, name, 7 AS score FROM people'",
        "CACHE(SIZE_IN_CELLS 10)) LIFETIME(1",
    );
    let scores = |name: &str| {
        ask(server, &format!("SELECT groupArray(dictGet('{name}', 'score', number)) FROM numbers(1, 4)"))
    };
    assert_eq!(scores("named"), "[1.5,-2,3,4]\n");
    assert_eq!(scores("named_direct"), "[1.5,-2,3,0]\n");
    assert_eq!(scores("named_query"), "[7,7,7,7]\n");
    // Parameters of the source override the collection, unless it forbids that.
    define("own", "PASSWORD 'wrong' TABLE 'people'", "HASHED()) LIFETIME(0");
    let refused = ask_error(server, "SELECT dictHas('own', 1::UInt64)");
    assert!(refused.contains("AUTHENTICATION_FAILED") && !refused.contains("secret"), "{refused}");
    define("fixed", "PORT 1 TABLE 'people'", "HASHED()) LIFETIME(0");
    let refused = ask_error(server, "SELECT dictHas('fixed', 1::UInt64)");
    assert!(refused.contains("does not allow another value of `PORT`"), "{refused}");
    // A changed collection applies from the next load on; the previous rows stay if it fails.
    ask(server, "ALTER NAMED COLLECTION place SET password = 'wrong'");
    assert_eq!(scores("named"), "[1.5,-2,3,4]\n");
    assert!(ask_error(server, "SYSTEM RELOAD DICTIONARY named").contains("AUTHENTICATION_FAILED"));
    assert_eq!(scores("named"), "[1.5,-2,3,4]\n");
    assert!(ask_error(server, "DROP NAMED COLLECTION place").contains("NAMED_COLLECTION"));
    ask(server, "ALTER NAMED COLLECTION place SET password = 'secret'");
    ask(server, "SYSTEM RELOAD DICTIONARY named");
    for name in ["named", "named_direct", "named_query", "own", "fixed"] {
        ask(server, &format!("DROP DICTIONARY {name}"));
    }
    ask(server, "DROP NAMED COLLECTION place");
}

/// Statements that create the table of [`check_database`].
fn people(time_type: &str) -> [String; 2] {
    [
        format!("CREATE TABLE people (id BIGINT, name TEXT, score DOUBLE PRECISION, changed {time_type}, gone INTEGER)"),
        "INSERT INTO people VALUES (1, 'one', 1.5, '2026-01-01 00:00:00', 0), (2, NULL, -2, '2026-01-01 00:00:10', 0), \
         (3, CONCAT('it''s ', CHR(92), ' \"3\"'), 3, '2026-01-01 00:00:00', 0), (4, 'gone', 4, '2026-01-01 00:00:00', 1)"
            .to_owned(),
    ]
}

#[test]
fn postgresql_is_a_source() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let psql = |statement: &str| {
        let mut command = Command::new("psql");
        command.env("PGPASSWORD", "secret").args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-v",
            "ON_ERROR_STOP=1",
        ]);
        run(command.args(["-p", &postgresql.port.to_string(), "-c", statement])).expect("a valid statement");
    };
    people("TIMESTAMP").iter().for_each(|statement| psql(statement));
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let source = |password: &str| {
        format!(
            "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD '{password}' DB 'postgres'",
            postgresql.port
        )
    };
    ask(
        &server,
        &format!(
            "CREATE DICTIONARY refused (id UInt64, name String) PRIMARY KEY id SOURCE({} TABLE 'people')) \
             LAYOUT(HASHED()) LIFETIME(0)",
            source("wrong")
        ),
    );
    assert!(ask_error(&server, "SELECT dictHas('refused', 1::UInt64)").contains("password"));
    let place = format!(
        "host = '127.0.0.1', port = {} NOT OVERRIDABLE, user = 'postgres', password = 'secret', database = 'postgres'",
        postgresql.port
    );
    check_collection(&server, "POSTGRESQL", &place);
    check_database(&server, &source("secret"), psql);
}

#[test]
fn mariadb_is_a_source() {
    let Some(mariadb) = Foreign::mariadb() else {
        return skipped(NO_MARIADB);
    };
    let mysql = |statement: &str| {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "-h", "127.0.0.1", "-u", "basalt", "-psecret", "shop"]);
        run(command.args(["-P", &mariadb.port.to_string(), "-e", statement])).expect("a valid statement");
    };
    people("DATETIME").iter().for_each(|statement| mysql(statement));
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let port = mariadb.port;
    let source = format!("MYSQL(HOST '127.0.0.1' PORT {port} USER 'basalt' PASSWORD 'secret' DB 'shop'");
    let place = "username = 'basalt', password = 'secret', db = 'shop'";
    check_collection(
        &server,
        "MYSQL",
        &format!("hostname = '127.0.0.1', port = {port} NOT OVERRIDABLE, {place}"),
    );
    check_compression(&server, &source);
    check_database(&server, &source, mysql);
    let refused = source.replace("secret", "wrong");
    ask(
        &server,
        &format!(
            "CREATE DICTIONARY refused (id UInt64, name String) PRIMARY KEY id SOURCE({refused} TABLE 'people')) \
             LAYOUT(HASHED()) LIFETIME(0)"
        ),
    );
    assert!(ask_error(&server, "SELECT dictHas('refused', 1::UInt64)").contains("Access denied"));
}

/// Rows of a few bytes and of a megabyte from MariaDB, loaded and looked up over compressed connections.
pub(crate) fn check_compression(server: &Server, source: &str) {
    let query = "SELECT seq AS id, REPEAT(seq, IF(seq % 1000 = 0, 200000, 1)) AS name, \
                 (SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = ''COMPRESSION'') \
                 AS compression FROM shop.seq_1_to_10000";
    let values = "sum(length(dictGet('{name}', 'name', number))), groupUniqArray(dictGet('{name}', 'compression', number))";
    for (parameter, compression) in
        [("", "OFF"), ("ENABLE_COMPRESSION 0", "OFF"), ("ENABLE_COMPRESSION 1", "ON")]
    {
        for (name, layout) in [("compressed", "HASHED()) LIFETIME(0"), ("compressed_direct", "DIRECT()")] {
            ask(
                server,
                &format!(
                    "CREATE OR REPLACE DICTIONARY {name} (id UInt64, name String, compression String) PRIMARY KEY id \
                     SOURCE({source} {parameter} QUERY '{query}')) LAYOUT({layout})"
                ),
            );
            let values = values.replace("{name}", name);
            let answer = ask(server, &format!("SELECT {values} FROM numbers(1, 10000)"));
            assert_eq!(answer, format!("8238853\t['{compression}']\n"), "{name} {parameter}");
        }
    }
}

#[test]
fn sqlite_is_a_source() {
    if find("sqlite3").is_none() {
        return skipped(NO_SQLITE);
    }
    let data = tempfile::tempdir().expect("a directory");
    let file = data.path().join("shop.db");
    let sqlite = |statement: &str| run(Command::new("sqlite3").arg(&file).arg(statement)).expect("valid");
    let [table, rows] = people("TEXT");
    sqlite(&table);
    sqlite(&rows.replace("CONCAT('it''s ', CHR(92), ' \"3\"')", "'it''s ' || CHAR(92) || ' \"3\"'"));
    let server = Server::start(&data.path().join("basalt"));
    check_database(&server, &format!("SQLITE(PATH '{}'", file.display()), sqlite);
}

#[test]
fn redis_is_a_source() {
    let Some(redis) = Foreign::redis() else {
        return skipped(NO_REDIS);
    };
    let send = |commands: &str| {
        let mut command = Command::new("redis-cli");
        command.args(["--no-auth-warning", "-a", "secret", "-n", "3", "-p", &redis.port.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(commands.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success());
    };
    let values: String = (0..3000).map(|key| format!("SET {key} \"value {key}\"\n")).collect();
    send(&values);
    send("HSET apples red 5 green 7\nHSET pears yellow 1\n");
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let source = |more: &str| {
        format!("REDIS(HOST '127.0.0.1' PORT {} PASSWORD 'secret' DB_INDEX 3 {more})", redis.port)
    };
    for (name, layout) in [("simple", "HASHED()) LIFETIME(0"), ("simple_direct", "DIRECT()")] {
        ask(
            &server,
            &format!(
                "CREATE DICTIONARY {name} (id UInt64, text String DEFAULT '-') PRIMARY KEY id \
                 SOURCE({}) LAYOUT({layout})",
                source("")
            ),
        );
        let query = format!("SELECT dictGet('{name}', 'text', number) FROM numbers(2999, 2)");
        assert_eq!(ask(&server, &query), "value 2999\n-\n");
        assert_eq!(ask(&server, &format!("SELECT count() FROM dictionary('{name}')")), "3000\n");
    }
    for (name, layout) in
        [("hashes", "COMPLEX_KEY_HASHED()) LIFETIME(0"), ("hashes_direct", "COMPLEX_KEY_DIRECT()")]
    {
        ask(
            &server,
            &format!(
                "CREATE DICTIONARY {name} (fruit String, colour String, count UInt32) PRIMARY KEY fruit, colour \
                 SOURCE({}) LAYOUT({layout})",
                source("STORAGE_TYPE 'hash_map'")
            ),
        );
        let query = format!(
            "SELECT dictGet('{name}', 'count', ('apples', 'green')), dictHas('{name}', ('pears', 'red'))"
        );
        assert_eq!(ask(&server, &query), "7\t0\n");
        assert_eq!(ask(&server, &format!("SELECT count() FROM dictionary('{name}')")), "3\n");
    }
}

#[test]
fn another_basalt_is_a_source() {
    let data = tempfile::tempdir().expect("a directory");
    let far = Server::start(&data.path().join("far"));
    let near = Server::start(&data.path().join("near"));
    ask(
        &far,
        "CREATE TABLE t (id UInt64, name Nullable(String), tags Array(String), changed DateTime, gone UInt8) ENGINE = MergeTree ORDER BY id",
    );
    ask(
        &far,
        "INSERT INTO t VALUES (1, 'a\\tb', ['x', 'y'], '2026-01-01 00:00:00', 0), (2, NULL, [], '2026-01-01 00:00:10', 0)",
    );
    let port = far.tcp_address().port();
    let source = format!("CLICKHOUSE(HOST '127.0.0.1' PORT {port} DB 'default' TABLE 't'");
    let columns = "(id UInt64, name Nullable(String), tags Array(String))";
    ask(
        &near,
        &format!(
            "CREATE DICTIONARY d {columns} PRIMARY KEY id SOURCE({source} UPDATE_FIELD 'changed' UPDATE_LAG 1 \
             INVALIDATE_QUERY 'SELECT max(changed) FROM t')) LAYOUT(HASHED()) LIFETIME(MIN 1 MAX 1) \
             SETTINGS(tombstone_column = 'gone')"
        ),
    );
    ask(
        &near,
        &format!("CREATE DICTIONARY direct {columns} PRIMARY KEY id SOURCE({source})) LAYOUT(DIRECT())"),
    );
    for name in ["d", "direct"] {
        let query = format!("SELECT dictGet('{name}', ('name', 'tags'), number) FROM numbers(4)");
        assert_eq!(ask(&near, &query), "(NULL,[])\n('a\\tb',['x','y'])\n(NULL,[])\n(NULL,[])\n");
    }
    // Reloads automatically: LIFETIME, INVALIDATE_QUERY and UPDATE_FIELD together.
    ask(
        &far,
        "INSERT INTO t VALUES (3, 'three', [], '2026-01-01 00:00:20', 0), (1, NULL, [], '2026-01-01 00:00:21', 1)",
    );
    wait_for(&near, "SELECT dictGet('d', 'name', 3::UInt64), dictHas('d', 1::UInt64)", "three\t0");
    drop(far);
    wait_for(
        &near,
        "SELECT error_count > 0, last_exception != '', status FROM system.dictionaries WHERE name = 'd'",
        "1\t1\tLOADED",
    );
    assert_eq!(ask(&near, "SELECT dictGet('d', 'name', 3::UInt64)"), "three\n");
}

#[test]
fn a_table_that_says_that_nothing_changed_is_not_loaded_again() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(&data.path().join("basalt"));
    ask(
        &server,
        "CREATE TABLE people (id UInt64, name String, score Float64, changed DateTime, gone UInt8) \
         ENGINE = MergeTree ORDER BY id",
    );
    ask(&server, "INSERT INTO people VALUES (1, 'one', 1.5, '2026-01-01 00:00:00', 0)");
    check_revision(&server, "CLICKHOUSE(", |statement| {
        ask(&server, statement);
    });
}

#[test]
fn files_are_sources() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(&data.path().join("basalt"));
    let cases = [
        ("a.csv", "CSV", "1,one\n2,two\n"),
        ("a.tsv", "TabSeparatedWithNames", "id\tname\n1\tone\n2\ttwo\n"),
        (
            "a.json",
            "JSONEachRow",
            "{\"name\": \"one\", \"id\": 1}\n{\"id\": 2, \"name\": \"two\", \"more\": 3}\n",
        ),
    ];
    for (file, format, text) in cases {
        let path = data.path().join(file);
        std::fs::write(&path, text).expect("writable");
        ask(
            &server,
            &format!(
                "CREATE OR REPLACE DICTIONARY d (id UInt64, name String DEFAULT '-') PRIMARY KEY id \
                 SOURCE(FILE(PATH '{}' FORMAT '{format}')) LAYOUT(FLAT()) LIFETIME(MIN 1 MAX 1)",
                path.display()
            ),
        );
        assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(4)"), "-\none\ntwo\n-\n");
    }
    // The file changes, then breaks: the previous rows stay.
    let path = data.path().join("a.json");
    std::fs::write(&path, "{\"id\": 3, \"name\": \"three\"}\n{\"id\": 4}\n").expect("writable");
    wait_for(&server, "SELECT dictGet('d', 'name', 3::UInt64), dictGet('d', 'name', 4::UInt64)", "three\t-");
    std::fs::write(&path, "{\"id\": 3, \"name\": \"three\"}\n{\"id\": -1, \"name\": \"x\"}\n")
        .expect("writable");
    assert!(ask_error(&server, "SYSTEM RELOAD DICTIONARY d").contains("a.json"));
    std::fs::write(&path, "{\"id\": 3, \"name\": \"three\"}\n{\"name\": \"no key\"}\n").expect("writable");
    assert!(ask_error(&server, "SYSTEM RELOAD DICTIONARY d").contains("key column `id`"));
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', 3::UInt64)"), "three\n");
    drop(server);
    let files = data.path().join("user_files");
    std::fs::create_dir(&files).expect("ours");
    let files = files.to_str().expect("UTF-8");
    let server = Server::start_with(&data.path().join("basalt"), &["--user-files-path", files]);
    assert!(
        ask_error(&server, "SELECT dictGet('d', 'name', 3::UInt64)")
            .contains("outside the directory of user files")
    );
}

#[test]
fn a_yaml_file_is_a_source_of_regular_expressions() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(&data.path().join("basalt"));
    let path = data.path().join("agents.yaml");
    let write = |text: &str| std::fs::write(&path, text).expect("writable");
    let define = |layout: &str| {
        format!(
            "CREATE OR REPLACE DICTIONARY agents (regexp String, name String, version String DEFAULT 'none') \
             PRIMARY KEY regexp SOURCE(YAMLRegExpTree(PATH '{}')) LAYOUT({layout}) LIFETIME(0)",
            path.display()
        )
    };
    write(
        "- regexp: 'Linux/(\\d+[\\.\\d]*).+tlinux'\n  name: TencentOS\n  version: '\\1'\n\
         - regexp: '\\d+/tclwebkit'\n  name: Android\n  versions:\n\
         \x20   - regexp: '33/tclwebkit'\n      version: '13'\n    - regexp: '3[12]/tclwebkit'\n      version: '12'\n",
    );
    ask(&server, &define("REGEXP_TREE"));
    let get = |text: &str| ask(&server, &format!("SELECT dictGet('agents', ('name', 'version'), '{text}')"));
    assert_eq!(get("Linux/101.tlinux"), "('TencentOS','101')\n");
    assert_eq!(get("31/tclwebkit1024"), "('Android','12')\n");
    assert_eq!(get("30/tclwebkit1024"), "('Android','none')\n");
    assert_eq!(
        ask(&server, "SELECT id, parent_id, keys FROM dictionary('agents') ORDER BY id"),
        "1\t0\t['name','version']\n2\t0\t['name']\n3\t2\t['version']\n4\t2\t['version']\n"
    );
    for (text, error) in [
        ("- name: x", "INVALID_CONFIG_PARAMETER"),
        ("- regexp: 'x", "CANNOT_PARSE_YAML"),
        ("- regexp: '('", "INCORRECT_DICTIONARY_DEFINITION"),
    ] {
        write(text);
        assert!(ask_error(&server, "SYSTEM RELOAD DICTIONARY agents").contains(error), "{text}");
        assert_eq!(get("31/tclwebkit1024"), "('Android','12')\n");
    }
    let refused = ask_error(&server, &define("COMPLEX_KEY_HASHED()"));
    assert!(refused.contains("REGEXP_TREE"), "{refused}");
}

/// An HTTP server that answers every request with the result of `answer`, and records the requests.
pub(crate) fn serve(
    answer: impl Fn(&str) -> (&'static str, String) + Send + 'static,
) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Some(request) = read_request(&stream) else { continue };
            let (status, body) = answer(&request);
            kept.lock().expect("no panics").push(request);
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // The client may have disconnected.
            let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
        }
    });
    (port, requests)
}

/// The head and body of a request.
pub(crate) fn read_request(mut stream: &TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(head) = text.find("\r\n\r\n") {
            let length =
                text.to_lowercase().split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok();
            if bytes.len() >= head + 4 + length.unwrap_or(0) || text.starts_with("GET") {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok()?;
        if count == 0 {
            return Some(text).filter(|text| !text.is_empty());
        }
        bytes.extend_from_slice(&piece[..count]);
        if bytes.starts_with(b"GET") && bytes.ends_with(b"\r\n\r\n") {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

#[test]
fn http_servers_are_sources() {
    let (port, requests) = serve(|request| match request {
        _ if request.starts_with("GET /broken") => ("500 Oops", "no luck today".to_owned()),
        _ if request.starts_with("POST") => ("200 OK", "7\tseven\n".to_owned()),
        _ if request.contains("since=") => ("200 OK", "3\tthree\n".to_owned()),
        _ => ("200 OK", "1\tone\n2\ttwo\n".to_owned()),
    });
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let define = |name: &str, path: &str, rest: &str| {
        ask(
            &server,
            &format!(
                "CREATE DICTIONARY {name} (id UInt64, name String DEFAULT '-') PRIMARY KEY id SOURCE(HTTP(\
                 URL 'http://127.0.0.1:{port}/{path}' FORMAT 'TSV' CREDENTIALS(USER 'me' PASSWORD 'secret') \
                 HEADERS(HEADER(NAME 'X-Shop' VALUE 'fruit')) {rest}"
            ),
        );
    };
    define("d", "rows", "UPDATE_FIELD 'since')) LAYOUT(HASHED()) LIFETIME(0)");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(4)"), "-\none\ntwo\n-\n");
    {
        let requests = requests.lock().expect("no panics");
        let head = requests[0].to_lowercase();
        assert!(head.contains("x-shop: fruit"), "{head}");
        assert!(requests[0].contains("Basic bWU6c2VjcmV0"), "{head}");
    }
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(4)"), "-\none\ntwo\nthree\n");
    define("direct", "keys", ")) LAYOUT(DIRECT())");
    assert_eq!(ask(&server, "SELECT dictGet('direct', 'name', arrayJoin([7, 8])::UInt64)"), "seven\n-\n");
    assert!(requests.lock().expect("no panics").iter().any(|request| request.ends_with("7\n8\n")));
    define("broken", "broken", ")) LAYOUT(HASHED()) LIFETIME(0) SETTINGS(http_max_tries = 1)");
    let error = ask_error(&server, "SELECT dictHas('broken', 1::UInt64)");
    assert!(error.contains("status 500") && error.contains("no luck today"), "{error}");
}

#[test]
fn a_source_that_hangs_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let sources = [
        format!("HTTP(URL 'http://127.0.0.1:{port}/' FORMAT 'TSV')"),
        format!("CLICKHOUSE(HOST '127.0.0.1' PORT {port} TABLE 't')"),
        format!("POSTGRESQL(HOST '127.0.0.1' PORT {port} USER 'u' TABLE 't')"),
        format!("MYSQL(HOST '127.0.0.1' PORT {port} USER 'u' TABLE 't')"),
        format!("REDIS(HOST '127.0.0.1' PORT {port})"),
    ];
    for source in sources {
        ask(
            &server,
            &format!(
                "CREATE OR REPLACE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE({source}) \
                 LAYOUT(HASHED()) LIFETIME(0) SETTINGS(max_execution_time = 0.3)"
            ),
        );
        let error = ask_error(&server, "SELECT dictHas('d', 1::UInt64)");
        assert!(error.contains("TIMEOUT_EXCEEDED"), "{source}: {error}");
    }
}

fn write_script(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn programs_are_sources_where_they_are_allowed() {
    let data = tempfile::tempdir().expect("a directory");
    let scripts = data.path().join("scripts");
    std::fs::create_dir(&scripts).expect("ours");
    write_script(&scripts, "all", "printf '1\\tone %s\\n2\\ttwo\\n' $1");
    write_script(&scripts, "keys", "while read key; do printf '%s\\tname of %s\\n' $key $key; done");
    write_script(&scripts, "values", "while read key; do echo value of $key; done");
    write_script(
        &scripts,
        "counted",
        "while read n; do while [ $n -gt 0 ]; do read key; echo \"$key\tc$key $$\"; n=$((n-1)); done; done",
    );
    write_script(&scripts, "fails", "echo broken >&2; exit 1");
    write_script(&scripts, "hangs", "sleep 1000");
    let basalt = data.path().join("basalt");
    let columns = "(id UInt64, name String DEFAULT '-') PRIMARY KEY id";
    let server = Server::start(&basalt);
    ask(
        &server,
        &format!(
            "CREATE DICTIONARY d {columns} SOURCE(EXECUTABLE(COMMAND 'all x' FORMAT 'TSV' EXECUTE_DIRECT 1)) LAYOUT(HASHED()) LIFETIME(0)"
        ),
    );
    assert!(ask_error(&server, "SELECT dictHas('d', 1::UInt64)").contains("user_scripts_path"));
    drop(server);
    let server = Server::start_with(&basalt, &["--user-scripts-path", scripts.to_str().expect("UTF-8")]);
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', number) FROM numbers(3)"), "-\none x\ntwo\n");
    let define = |name: &str, source: &str, layout: &str| {
        ask(&server, &format!("CREATE DICTIONARY {name} {columns} SOURCE({source}) LAYOUT({layout})"));
    };
    define("keys", "EXECUTABLE(COMMAND 'keys' FORMAT 'TSV' EXECUTE_DIRECT 1)", "DIRECT()");
    define(
        "implicit",
        "EXECUTABLE(COMMAND 'values' FORMAT 'TSV' EXECUTE_DIRECT 1 IMPLICIT_KEY 1)",
        "DIRECT()",
    );
    define("pool", "EXECUTABLE_POOL(COMMAND 'keys' FORMAT 'TSV' EXECUTE_DIRECT 1 SIZE 2)", "DIRECT()");
    define(
        "counted",
        "EXECUTABLE_POOL(COMMAND 'counted' FORMAT 'TSV' EXECUTE_DIRECT 1 SIZE 1 SEND_CHUNK_HEADER 1)",
        "DIRECT()",
    );
    define("fails", "EXECUTABLE(COMMAND 'fails' FORMAT 'TSV' EXECUTE_DIRECT 1)", "HASHED()");
    define(
        "hangs",
        "EXECUTABLE(COMMAND 'hangs' FORMAT 'TSV' EXECUTE_DIRECT 1 COMMAND_READ_TIMEOUT 300)",
        "HASHED()",
    );
    define("outside", "EXECUTABLE(COMMAND '/bin/true' FORMAT 'TSV' EXECUTE_DIRECT 1)", "HASHED()");
    let get =
        |name: &str| ask(&server, &format!("SELECT dictGet('{name}', 'name', number) FROM numbers(5, 2)"));
    assert_eq!(get("keys"), "name of 5\nname of 6\n");
    assert_eq!(get("implicit"), "value of 5\nvalue of 6\n");
    for _ in 0..3 {
        assert_eq!(get("pool"), "name of 5\nname of 6\n");
    }
    // One program answers repeatedly: its process id does not change.
    assert_eq!(get("counted"), get("counted"));
    let has = |name: &str| ask_error(&server, &format!("SELECT dictHas('{name}', 1::UInt64)"));
    assert!(has("fails").contains("broken"));
    assert!(has("hangs").contains("in time"));
    assert!(has("outside").contains("outside the directory of user scripts"));
}

#[test]
fn dictionaries_are_loaded_at_the_start_where_that_is_wanted() {
    let data = tempfile::tempdir().expect("a directory");
    program::local(
        data.path(),
        "CREATE DICTIONARY d (id UInt64, v UInt64) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY 'SELECT number AS id, number AS v FROM numbers(10)')) LAYOUT(FLAT()) LIFETIME(0)",
    )
    .expect();
    let status = "SELECT status, element_count FROM system.dictionaries WHERE name = 'd'";
    let server = Server::start(data.path());
    assert_eq!(ask(&server, status), "NOT_LOADED\t0\n");
    drop(server);
    let server = Server::start_with(data.path(), &["--dictionaries-lazy-load", "false"]);
    wait_for(&server, status, "LOADED\t10");
}
