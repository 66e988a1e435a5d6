//! dbt with its adapter dbt-clickhouse: a project with seeds, models of three kinds, and tests of columns.

use std::fs;
use std::path::Path;
use std::process::Command;

use basalt_itest::clients::run;
use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

const FILES: [(&str, &str); 6] = [
    (
        "dbt_project.yml",
        "{name: birds, version: 1.0.0, profile: birds, flags: {send_anonymous_usage_stats: false}}\n",
    ),
    ("seeds/raw_birds.csv", "id,name,weight\n1,owl,1.5\n2,tit,0.25\n3,owl,2.5\n"),
    (
        "models/birds.sql",
        "{{ config(materialized='view') }} SELECT id, upper(name) AS name, weight FROM {{ ref('raw_birds') }}",
    ),
    (
        "models/totals.sql",
        "{{ config(materialized='table', engine='MergeTree()', order_by='name') }}
        SELECT name, count() AS n, sum(weight) AS w FROM {{ ref('birds') }} GROUP BY name",
    ),
    (
        "models/growing.sql",
        "{{ config(materialized='incremental', order_by='id', unique_key='id') }}
        SELECT id, name FROM {{ ref('birds') }}
        {% if is_incremental() %} WHERE id > (SELECT max(id) FROM {{ this }}) {% endif %}",
    ),
    (
        "models/schema.yml",
        "{version: 2, models: [{name: totals, columns: [{name: name, data_tests: [unique, not_null]}]}]}\n",
    ),
];

fn profile(server: &Server) -> String {
    let port = server.address().port();
    format!(
        "{{birds: {{target: dev, outputs: {{dev: {{type: clickhouse, driver: http, host: 127.0.0.1, port: {port}, \
         user: default, password: '', schema: dbt_birds, secure: false}}}}}}}}\n"
    )
}

#[test]
fn dbt_builds_and_tests_a_project_again_and_again() {
    let python = match Python::with("dbt", &["dbt-core~=1.10.0", "dbt-clickhouse==1.10.3"]) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("dbt-clickhouse cannot be installed: {why}")),
    };
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let project = dir.path().join("project");
    write(&project, "profiles.yml", &profile(&server));
    for (file, text) in FILES {
        write(&project, file, text);
    }
    let dbt = |step: &[&str]| {
        let mut command = Command::new(python.program("dbt"));
        command.current_dir(&project).env("DBT_PROFILES_DIR", ".").args(["--no-use-colors"]).args(step);
        run(&mut command).unwrap_or_else(|error| panic!("{step:?}: {error}"))
    };
    dbt(&["seed"]);
    dbt(&["run"]);
    assert_eq!(server.ask("SELECT * FROM dbt_birds.totals ORDER BY name"), "OWL\t2\t4\nTIT\t1\t0.25\n");
    server.ask("INSERT INTO dbt_birds.raw_birds VALUES (4, 'jay', 0.2)");
    dbt(&["run"]);
    assert_eq!(server.ask("SELECT count(), max(name) FROM dbt_birds.growing"), "4\tTIT\n");
    assert_eq!(server.ask("SELECT count() FROM dbt_birds.totals"), "3\n");
    dbt(&["test"]);
    dbt(&["docs", "generate"]);
    assert!(project.join("target/catalog.json").exists());
}

fn write(project: &Path, file: &str, text: &str) {
    let path = project.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
    fs::write(path, text).expect("a new file");
}
