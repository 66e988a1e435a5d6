//! A Succinct table answers as a MergeTree table with the same rows does, wherever its rows are.

use std::fmt::Write;

use basalt_engine::{EngineOptions, Request, Session};
use basalt_itest::in_process::InProcess;
use basalt_itest::note;

/// Used unless BASALT_SUCCINCT_SEED is set.
const SEED: u64 = 11;
/// Rows of each INSERT: more than are in one zone.
const ROWS: u64 = 2500;
/// Conditions in each state of the table.
const CONDITIONS: usize = 160;

const COLUMNS: &str = "p String, n Int32, d DateTime('UTC'), f Float32, s String, t String, z Nullable(String), u UInt64, \
                       m Nullable(Int64), a String CODEC(ZSTD), h String, e Enum8('one' = 1, 'two' = 2), l LowCardinality(String)";
const KEY: &str = "(p, n, d)";

/// Both tables, of the same rows.
struct Tables {
    engine: InProcess,
    session: Session,
}

impl Tables {
    /// Segments are read in another way if the seed is odd.
    fn new(seed: u64) -> Tables {
        let engine = InProcess::open(EngineOptions::default());
        let session = engine.session();
        let mut tables = Tables { engine, session };
        let access = if seed.is_multiple_of(2) { "mapped" } else { "read" };
        tables.run(&format!(
            "CREATE TABLE s ({COLUMNS}, INDEX by_u (u), INDEX by_zf (z, f), INDEX by_m (m), INDEX g t TYPE trigram, \
             COLUMN GROUP hot (h, f, m, n)) ENGINE = Succinct PRIMARY KEY {KEY} SETTINGS access = '{access}'"
        ));
        tables.run(&format!("CREATE TABLE m ({COLUMNS}) ENGINE = ReplacingMergeTree ORDER BY {KEY}"));
        tables.run("SYSTEM STOP MERGES s");
        tables
    }

    #[track_caller]
    fn run(&mut self, statement: &str) -> String {
        match self.answer(statement) {
            Ok(text) => text,
            Err(error) => panic!("{statement}: {error}"),
        }
    }

    fn answer(&mut self, statement: &str) -> Result<String, String> {
        let answer = self.engine.answer(&mut self.session, Request::new(statement));
        let answer = answer.map_err(|error| format!("{:?} {}", error.code(), error.message()))?;
        Ok(String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned())
    }

    /// Runs a statement on both tables: `{}` is the name.
    #[track_caller]
    fn change(&mut self, statement: &str) {
        for table in ["s", "m"] {
            self.run(&statement.replace("{}", table));
        }
        self.run("OPTIMIZE TABLE m FINAL");
    }

    #[track_caller]
    fn insert(&mut self, from: u64, salt: u64) {
        self.change(&format!(
            "INSERT INTO {{}} SELECT concat('P', toString(number % 37)), number % 1000 - 500, toDateTime('2024-01-01', \
             'UTC') + number * 7, multiIf(number % 50 = 1, nan, number % 50 = 2, -0., number % 90 / 4 - 8), \
             concat('text ', toString(cityHash64(number, {salt}) % 3000), if(number % 5 = 0, '', ' und Stra\u{df}e')) AS s, \
             concat('Gram ', char(65 + number % 26, 97 + number % 7), toString(number * 31 % 1777)) AS t, \
             if(number % 6 = 0, NULL, toString(number % 400)), cityHash64(number, {salt}) % 700, \
             if(number % 4 = 0, NULL, number % 77 - 30), s, t, number % 2 + 1, toString(number % 9) FROM numbers({from}, \
             {ROWS})"
        ));
    }

    /// The tables agree about generated conditions.
    #[track_caller]
    fn check(&mut self, state: &str, seed: u64) {
        note(&format!("SEED {seed}: {state}"));
        let mut random = Random(seed);
        let mut refused = 0;
        for _ in 0..CONDITIONS {
            let condition = condition(&mut random, 0);
            let query = query(&mut random, &condition);
            let (found, expected) =
                (self.answer(&query.replace("{}", "s")), self.answer(&query.replace("{}", "m")));
            refused += usize::from(expected.is_err());
            let code = |answer: &Result<String, String>| {
                answer.clone().map_err(|error| error.split(' ').next().unwrap_or_default().to_owned())
            };
            if code(&found) != code(&expected) {
                let plan = self.answer(&format!("EXPLAIN indexes = 1 {}", query.replace("{}", "s")));
                panic!(
                    "{state}: {query}\nSuccinct: {found:.600?}\nMergeTree: {expected:.600?}\n{}",
                    plan.unwrap_or_default()
                );
            }
        }
        assert!(refused < CONDITIONS / 10, "{refused} of {CONDITIONS} generated queries are refused by both");
    }
}

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn query(random: &mut Random, condition: &str) -> String {
    let columns = random.one_of(&["*", "p, s", "u, f", "n", "d, z, m", "1", "t, e, l", "m, n, f"]);
    let order = random.one_of(&["p, n, d", "p DESC, n DESC, d DESC", "u, p, n, d", "n, p, d"]);
    let limit = random.one_of(&["", "", "", " LIMIT 5", " LIMIT 3 OFFSET 20"]);
    match random.below(6) {
        0 => format!("SELECT count() FROM {{}} WHERE {condition}"),
        1 => format!(
            "SELECT count(), sum(u), min(p), max(n), uniqExact(z), sum(m) FROM {{}} WHERE {condition}"
        ),
        2 => format!("SELECT l, count(), max(d) FROM {{}} WHERE {condition} GROUP BY l ORDER BY l"),
        _ => format!("SELECT {columns} FROM {{}} WHERE {condition} ORDER BY {order}{limit}"),
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    let kind = if depth >= 3 { 9 } else { random.below(10) };
    let mut side = || condition(random, depth + 1);
    match kind {
        0..=2 => format!("({} AND {})", side(), side()),
        3 | 4 => format!("({} OR {})", side(), side()),
        5 => format!("NOT {}", side()),
        _ => atom(random),
    }
}

fn atom(random: &mut Random) -> String {
    match random.below(5) {
        0 => key_atom(random),
        1 => number_atom(random),
        2 => nullable_atom(random),
        _ => text_atom(random),
    }
}

fn key_atom(random: &mut Random) -> String {
    let (p, q) = (random.below(40), random.below(40));
    let n = random.below(1100) as i64 - 550;
    let minute = random.below(60);
    match random.below(14) {
        0 => format!("p = 'P{p}'"),
        1 => format!("p IN ('P{p}', 'P{q}', 'none')"),
        2 => format!("p >= 'P{p}'"),
        3 => format!("p LIKE 'P{}%'", p / 10),
        4 => format!("match(p, '{}')", random.one_of(&["^P1", "[37]$", "^P(2|30)$", "P", "^$", "(?i)p5"])),
        5 => format!("editDistance(p, 'P{p}') {} {}", random.one_of(&["<=", "<", "=", ">"]), q % 4),
        6 => format!("(p, n) = ('P{p}', {n})"),
        7 => {
            format!("(p, n, d) IN (SELECT p, n, d FROM m WHERE n BETWEEN {n} AND {n} + 3)")
        }
        8 => format!("(p, n) {} ('P{p}', {n})", random.one_of(&["<", ">=", "!="])),
        9 => format!("n BETWEEN {n} AND {n} + {}", p * 3),
        10 => format!("n IN ({n}, {p}, -{q})"),
        11 => format!("d {} '2024-01-01 01:{minute:02}:00'", random.one_of(&["<", ">", "<=", ">=", "!="])),
        12 => format!("toStartOfHour(d) = toDateTime('2024-01-01 0{}:00:00', 'UTC')", q % 6),
        _ => format!("p = 'P{p}' AND n {} {n}", random.one_of(&["<", ">", "=", "<="])),
    }
}

fn number_atom(random: &mut Random) -> String {
    let (a, b) = (random.below(720), random.below(720));
    let f = random.below(60) as f64 / 4.0 - 8.0;
    match random.below(11) {
        0 => format!("u = {a}"),
        1 => format!("u IN ({a}, {b}, 999999)"),
        2 => format!("u BETWEEN {} AND {}", a.min(b), a.min(b) + 20),
        3 => format!("u {} {a}", random.one_of(&["<", ">", ">=", "!="])),
        4 => format!("f {} {f}", random.one_of(&["<", ">", "=", "<=", ">=", "!="])),
        5 => "f = 0".to_owned(),
        6 => format!("{}isNaN(f)", random.one_of(&["", "NOT "])),
        7 => format!("f IN (0, {f}, 1.5)"),
        8 => format!("e = '{}'", random.one_of(&["one", "two"])),
        9 => format!("u % {} = 3", 4 + a % 9),
        _ => format!("l IN ('{}', '{}')", a % 10, b % 10),
    }
}

fn nullable_atom(random: &mut Random) -> String {
    let (a, b) = (random.below(410), random.below(60) as i64 - 30);
    match random.below(12) {
        0 => "z IS NULL".to_owned(),
        1 => "m IS NOT NULL".to_owned(),
        2 => format!("z = '{a}'"),
        3 => format!("z = '{a}' AND f > {}", b / 4),
        4 => format!("z IN ('{a}', '7', NULL)"),
        5 => format!("z NOT IN ('{a}', '7')"),
        6 => format!("z LIKE '{}%'", a / 10),
        7 => format!("match(z, '{}')", random.one_of(&["^1", "7$", "^(12|3.)$", "^$"])),
        8 => format!("m {} {b}", random.one_of(&["<", ">", "=", "<=", ">=", "!="])),
        9 => format!("m IN ({b}, 5, NULL)"),
        10 => format!("ifNull(z, '{a}') = '{a}'"),
        _ => format!("(z, m) = ('{a}', {b})"),
    }
}

fn text_atom(random: &mut Random) -> String {
    let column = random.one_of(&["s", "t", "s", "t", "z", "p", "l", "a", "h"]);
    let number = random.below(1800);
    let part = match random.below(6) {
        0 => "text 1".to_owned(),
        1 => "Gram".to_owned(),
        2 => "Stra\u{df}e".to_owned(),
        3 => format!("{}", number % 100),
        4 => format!("m {}a{}", char::from(b'A' + (number % 26) as u8), number % 10),
        _ => format!("{number}"),
    };
    let mut text = String::new();
    let written = match random.below(20) {
        0 => write!(text, "{column} LIKE '%{part}%'"),
        1 => write!(text, "{column} LIKE '{part}%'"),
        2 => write!(text, "{column} LIKE '%{part}'"),
        3 => write!(text, "{column} LIKE '%{}_{}%'", number % 10, number % 7),
        4 => write!(text, "{column} ILIKE '%{}%'", part.to_uppercase()),
        5 => write!(text, "{column} NOT LIKE '%{part}%'"),
        6 => write!(text, "{column} NOT ILIKE '%{part}%'"),
        7 => write!(text, "match({column}, '{}')", random.one_of(EXPRESSIONS)),
        8 => write!(text, "NOT match({column}, '{}')", random.one_of(EXPRESSIONS)),
        9 => write!(text, "extract({column}, '{}') = '{part}'", random.one_of(EXPRESSIONS)),
        10 => write!(text, "extract({column}, '{}') != ''", random.one_of(EXPRESSIONS)),
        11 => write!(
            text,
            "position({column}, '{part}') {}",
            random.one_of(&["> 0", "= 1", "= 0", "< 6", "!= 0"])
        ),
        12 => write!(text, "startsWith({column}, '{part}')"),
        13 => write!(text, "endsWith({column}, '{part}')"),
        14 => write!(text, "multiMatchAny({column}, ['{part}', '{}'])", random.one_of(EXPRESSIONS)),
        15 => write!(text, "multiSearchAny({column}, ['{part}', '{number}'])"),
        16 => write!(text, "{column} {} '{part}'", random.one_of(&["=", "!=", "<", ">="])),
        17 => write!(text, "{column} {} ('{part}', '{number}', 'text 7')", random.one_of(&["IN", "NOT IN"])),
        18 => write!(text, "positionCaseInsensitive({column}, '{}') > 0", part.to_uppercase()),
        _ => write!(text, "editDistance({column}, 'text {number}') <= {}", number % 4),
    };
    written.expect("strings take everything");
    text
}

const EXPRESSIONS: &[&str] = &[
    "^text \\\\d+$",
    "(\\\\d+) und",
    "[aeiou]{2}",
    "(?i)STRASSE|stra\u{df}e",
    "Gram [A-C]",
    "^Gram .{3,5}$",
    "7.*7",
    "",
    "^$",
    "x",
    "\\\\bund\\\\b",
    "ra[^m]|am",
];

#[test]
fn answers_are_those_of_merge_tree_wherever_the_rows_are() {
    let seed = std::env::var("BASALT_SUCCINCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED);
    let mut tables = Tables::new(seed);
    tables.check("no rows", seed);
    tables.insert(0, 1);
    tables.check("fresh rows", seed + 1);
    tables.run("OPTIMIZE TABLE s");
    tables.check("one segment", seed + 2);
    // Rows of the first segment are replaced, deleted and changed from the second one and from fresh rows.
    tables.insert(ROWS / 2, 2);
    tables.change("ALTER TABLE {} DELETE WHERE u % 13 = 1 SETTINGS mutations_sync = 1");
    tables.run("OPTIMIZE TABLE s");
    tables.check("two segments", seed + 3);
    tables.insert(ROWS / 4, 3);
    tables.change("ALTER TABLE {} UPDATE s = concat(s, '!'), a = '', h = s, u = u + 1, z = NULL WHERE n % 7 = 1 SETTINGS mutations_sync = 1");
    tables.change("ALTER TABLE {} DELETE WHERE n % 11 = 1 SETTINGS mutations_sync = 1");
    tables.check("two segments and fresh rows", seed + 4);
    tables.run("OPTIMIZE TABLE s");
    tables.check("segments", seed + 5);
    tables.change("ALTER TABLE {} DELETE WHERE p = 'P3' SETTINGS mutations_sync = 1");
    tables.run("OPTIMIZE TABLE s FINAL");
    let states = "SELECT state, tombstones FROM system.succinct_segments WHERE table = 's' AND rows > 0";
    assert_eq!(tables.run(states), "read-only\t0\n");
    tables.check("one final segment", seed + 6);
    tables.change("ALTER TABLE {} DELETE WHERE 1 SETTINGS mutations_sync = 1");
    tables.check("tombstones only", seed + 7);
    tables.engine.shutdown();
}
