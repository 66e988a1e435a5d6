//! Conditions hold for the rows for which their filters hold.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, FixedSizeBinaryArray, UInt64Array};
use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Column, Columns, ErrorCode, SqlType};
use basalt_planner::plan_filter;
use basalt_sql::parse_expr;
use datafusion::common::DFSchema;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::create_physical_expr;
use proptest::prelude::*;

use super::test::TextTest;
use super::*;
use crate::tables::plan_alone;

/// Characters that functions may treat in different ways: NUL, line breaks, and letters that fold to ASCII.
const CHARACTERS: &[&str] = &[
    "a",
    "b",
    "A",
    "B",
    "k",
    "s",
    "1",
    "_",
    " ",
    "%",
    "\\",
    ".",
    "\0",
    "\n",
    "\r",
    "\u{212a}",
    "\u{17f}",
    "\u{e4}",
    "\u{c4}",
    "\u{4e2d}",
    "\u{1f600}",
];
const NO_CHARACTERS: &[&[u8]] = &[b"\xff", b"\x80", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf5"];
const SYMBOLS: &[&str] = &[
    "^",
    "$",
    ".",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "(?i)k",
    "(?i:S)",
    "(?m:^)",
    "(?m:$)",
    "(?-s:.)",
    "[^a]",
    "[a-s]",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\C",
    "\\pL",
    "[[:alpha:]]",
    "\\x00",
    "\\n",
    "\\Q.\\E",
    "(?U)a+",
    "a|",
    "(a|b)*",
    "b?",
    "(a(b))",
    "\u{e4}",
    "(?i)\u{e4}",
    "a{2}",
    "a{",
    "[\\n\\x00]",
    "\\_",
];

/// A string of each type, a string of fixed length, and a number.
fn columns() -> Columns {
    let low = |ty| SqlType::LowCardinality(Arc::new(ty));
    let types = [
        ("s", SqlType::String),
        ("n", SqlType::String.into_nullable()),
        ("l", low(SqlType::String)),
        ("ln", low(SqlType::String.into_nullable())),
        ("f", SqlType::FixedString(2)),
        ("i", SqlType::UInt64),
    ];
    types.into_iter().map(|(name, ty)| Column::new(name, ty)).collect()
}

fn filter_of(text: &[u8]) -> Expr {
    let expr = parse_expr(text).expect("an expression");
    plan_alone(Zone::utc(), |ctx| plan_filter(&expr, &columns(), ctx)).expect("a filter")
}

/// The conditions that follow from `filter`, each as its column, its pattern, and `exactly` if it is exact.
fn check(filter: &str, expected: &[&str]) {
    let found = text_conditions(&[filter_of(filter.as_bytes())], &columns());
    let print = |found: &TextCondition| {
        let name = &columns()[found.column].name;
        let how = if found.is_exact { " exactly" } else { "" };
        format!("{name}: {}{how}", found.test.pattern().expect("a small one"))
    };
    assert_eq!(found.iter().map(print).collect::<Vec<_>>(), expected, "{filter}");
}

#[test]
fn functions_that_answer_one_are_conditions() {
    check("match(s, 'x')", &["s: match `x` exactly"]);
    check("s REGEXP 'x'", &["s: match `x` exactly"]);
    check("s LIKE 'a%b'", &["s: like `a%b` exactly"]);
    check("s ILIKE '%a%'", &["s: ilike `%a%` exactly"]);
    check("startsWith(s, 'x')", &["s: startsWith `x` exactly"]);
    check("endsWith(n, 'x')", &["n: endsWith `x` exactly"]);
    check("match(l, 'x') = 1 ", &["l: match `x` exactly"]);
    check("match(ln, 'x') > 0", &["ln: match `x` exactly"]);
    check("1 = match(s, 'x')", &["s: match `x` exactly"]);
    check("hasToken(s, 'x')", &["s: contains `x`"]);
    check("multiMatchAny(s, ['x', 'y'])", &["s: multiMatchAny `x` `y` exactly"]);
    check("multiSearchAny(s, ['x', 'y'])", &["s: contains `x` or contains `y` exactly"]);
}

#[test]
fn a_place_above_zero_is_a_condition() {
    let exact = &["s: contains `x` exactly"];
    check("position(s, 'x') > 0", exact);
    check("position(s, 'x')", exact);
    check("position(s, 'x') != 0", exact);
    check("position(s, 'x') >= 1", exact);
    check("0 < position(s, 'x')", exact);
    check("locate('x', s) > 0", exact);
    check("positionUTF8(s, 'x') > 0", exact);
    check("countSubstrings(s, 'x') > 0", exact);
    check("position(s, 'x') > 1", &["s: contains `x`"]);
    check("position(s, 'x') = 5", &["s: contains `x`"]);
    check("position(s, 'x', 2) > 0", &["s: contains `x`"]);
    check("positionUTF8(s, '\\x80') > 0", &["s: contains `\u{fffd}`"]);
    check("positionCaseInsensitive(s, 'x.') > 0", &["s: match `[xX]\\x2e` exactly"]);
    check("countSubstringsCaseInsensitive(s, 'x') > 0", &["s: match `[xX]` exactly"]);
    for nothing in ["position(s, 'x') = 0", "position(s, 'x') < 2", "position(s, 'x') != 3"] {
        check(nothing, &[]);
    }
}

#[test]
fn equal_strings_are_conditions() {
    check("s = 'x'", &["s: in `x` exactly"]);
    check("'x' = n", &["n: in `x` exactly"]);
    check("l IN ('x', 'y')", &["l: in `x` `y` exactly"]);
    check("n IN ('x', NULL)", &["n: in `x` exactly"]);
    let many: Vec<String> = (100..200).map(|at| format!("'{at}'")).collect();
    let found = text_conditions(&[filter_of(format!("n IN ({})", many.join(",")).as_bytes())], &columns());
    assert!(found[0].is_exact && found[0].test.pattern().expect("strings").matches(b"150"));
    check("(s, i) IN (('x', 1), ('y', 2))", &["s: in `x` `y`"]);
    check("extract(s, 'x(.)') = 'y'", &["s: match `x(.)`", "s: contains `y`"]);
    check("extract(s, 'x') != ''", &["s: match `x`"]);
}

#[test]
fn small_distances_are_conditions() {
    check("editDistance(s, 'xy') <= 2", &["s: within 2 bytes of `xy` exactly"]);
    check("levenshteinDistance('xy', n) < 2", &["n: within 1 bytes of `xy` exactly"]);
    check("2 >= editDistance(s, 'xy')", &["s: within 2 bytes of `xy` exactly"]);
    check("editDistance(s, 'xy') = 2", &["s: within 2 bytes of `xy`"]);
    check("editDistanceUTF8(s, 'xy') <= 2", &["s: within 2 characters of `xy`"]);
    let long = format!("editDistance(s, '{}') <= 1", "x".repeat(2000));
    for nothing in
        ["editDistance(s, 'x') > 2", "editDistance(s, 'x') <= 200", "editDistance(s, 'x') < 0", &long]
    {
        check(nothing, &[]);
    }
}

#[test]
fn conditions_are_joined() {
    check("s = 'x' OR s = 'y' OR s IN ('z')", &["s: in `x` `y` `z` exactly"]);
    check("match(s, 'x') OR s LIKE 'y'", &["s: match `x` or like `y` exactly"]);
    check("match(s, 'x') OR hasToken(s, 'y')", &["s: match `x` or contains `y`"]);
    check("s = 'x' AND n LIKE 'y'", &["s: in `x`", "n: like `y`"]);
    check("(s = 'x' AND i = 1) OR (i = 2 AND s = 'y')", &["s: in `x` `y`"]);
    check("(s = 'x' AND n = 'x') OR (n = 'y' AND s LIKE 'y%')", &["s: in `x` or like `y%`", "n: in `x` `y`"]);
    for nothing in ["s = 'x' OR n = 'x'", "s = 'x' OR i = 1", "s = 'x' OR editDistance(s, 'y') < 2"] {
        check(nothing, &[]);
    }
}

#[test]
fn what_is_not_understood_is_left_out() {
    for filter in [
        "NOT match(s, 'x')",
        "NOT s = 'x'",
        "s != 'x'",
        "s > 'x'",
        "s NOT LIKE 'x'",
        "s NOT IN ('x', 'y')",
        "match(s, 'x') = 0",
        "match(f, 'x')",
        "f = 'x'",
        "f IN ('x', 'y')",
        "match(s, n)",
        "like(upper(s), 'x')",
        "position(s, n) > 0",
        "hasToken(s, '')",
        "countSubstrings(s, '') > 0",
        "multiSearchAny(s, ['x', ''])",
        "extract(s, 'x') = ''",
        "isNull(n) OR n = 'x'",
        "i = 1",
    ] {
        check(filter, &[]);
    }
}

#[test]
fn conditions_know_their_filters() {
    let filters = ["i = 1", "s = 'x'", "n = 'x' AND l = 'x'"].map(|filter| filter_of(filter.as_bytes()));
    let found = text_conditions(&filters, &columns());
    let places: Vec<_> = found.iter().map(|found| (found.filter, found.column, found.is_exact)).collect();
    assert_eq!(places, [(1, 0, true), (2, 1, false), (2, 2, false)]);
}

#[test]
fn a_condition_that_is_too_large_is_an_error() {
    let large =
        TextTest::Any(vec![TextTest::Like([b'x'; 1 << 20].to_vec()), TextTest::ILike(vec![b'x'; 1 << 20])]);
    assert_eq!(large.pattern().expect_err("an error").code(), ErrorCode::CannotCompileRegexp);
}

/// `text` as a literal, with each byte escaped.
fn quoted(text: &[u8]) -> String {
    let bytes: Vec<String> = text.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("'{}'", bytes.concat())
}

fn some_bytes(parts: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        8 => prop::sample::select(CHARACTERS).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::sample::select(NO_CHARACTERS).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(part, parts).prop_map(|parts| parts.concat())
}

fn some_expression() -> impl Strategy<Value = Vec<u8>> {
    let symbol = prop_oneof![
        4 => prop::sample::select(SYMBOLS).prop_map(|symbol| symbol.as_bytes().to_vec()),
        1 => some_bytes(1..3),
    ];
    prop::collection::vec(symbol, 0..5).prop_map(|symbols| symbols.concat())
}

fn some_atom() -> impl Strategy<Value = String> {
    let column = prop::sample::select(&["s", "n", "l", "ln"][..]);
    let text = || some_bytes(0..4).prop_map(|text| quoted(&text));
    let call = |names: &'static [&'static str], ends: &'static [&'static str]| {
        (prop::sample::select(names), column.clone(), text(), prop::sample::select(ends))
            .prop_map(|(name, column, text, end)| format!("{name}({column}, {text}{end}"))
    };
    let expressions = (column.clone(), prop::collection::vec(some_expression(), 1..4));
    let searches = &[
        "position",
        "positionUTF8",
        "positionCaseInsensitive",
        "countSubstrings",
        "countSubstringsCaseInsensitive",
    ];
    prop_oneof![
        4 => call(&["like", "ilike"], &[")", ") = 1"]),
        2 => call(&["startsWith", "endsWith", "hasToken"], &[")"]),
        3 => call(searches, &[")", ") > 0", ") >= 1", ") = 2", ") != 0"]),
        1 => call(&["position", "positionUTF8"], &[", 2) > 0", ", 0) > 0"]),
        2 => call(&["editDistance", "editDistanceUTF8"], &[") <= 1", ") < 3", ") = 2", ") < 1"]),
        4 => (column.clone(), some_expression()).prop_map(|(column, expression)| {
            format!("match({column}, {})", quoted(&expression))
        }),
        2 => expressions.prop_map(|(column, expressions)| {
            let list: Vec<String> = expressions.iter().map(|expression| quoted(expression)).collect();
            format!("multiMatchAny({column}, [{}])", list.join(", "))
        }),
        1 => (column.clone(), prop::collection::vec(text(), 1..4)).prop_map(|(column, texts)| {
            format!("multiSearchAny({column}, [{}])", texts.join(", "))
        }),
        1 => (column.clone(), some_expression(), text()).prop_filter_map("valid UTF-8", |(column, expression, text)| {
            let expression = String::from_utf8(expression).ok()?;
            Some(format!("extract({column}, {}) = {text}", quoted(expression.as_bytes())))
        }),
        1 => (column.clone(), some_expression()).prop_filter_map("valid UTF-8", |(column, expression)| {
            let expression = String::from_utf8(expression).ok()?;
            Some(format!("extract({column}, {}) != ''", quoted(expression.as_bytes())))
        }),
        2 => (column.clone(), text()).prop_map(|(column, text)| format!("{column} = {text}")),
        1 => (column, prop::collection::vec(text(), 1..80)).prop_map(|(column, texts)| {
            format!("{column} IN ({})", texts.join(", "))
        }),
    ]
}

fn some_filter() -> impl Strategy<Value = String> {
    let joined = |word: &'static str, atoms: std::ops::Range<usize>| {
        prop::collection::vec(some_atom(), atoms).prop_map(move |atoms| atoms.join(word))
    };
    prop_oneof![
        6 => some_atom(),
        1 => joined(" OR ", 2..4),
        1 => joined(" AND ", 2..3),
        1 => some_atom().prop_map(|atom| format!("{atom} OR ({atom} AND i < 30)")),
    ]
}

fn batch_of(texts: &[Option<Vec<u8>>]) -> RecordBatch {
    let nullable: ArrayRef = Arc::new(texts.iter().map(|text| text.as_deref()).collect::<BinaryViewArray>());
    let plain = texts.iter().map(|text| text.as_deref().unwrap_or_default());
    let plain: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(plain));
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::new(2, vec![b'a'; 2 * texts.len()].into(), None));
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..texts.len() as u64));
    let arrays = vec![plain.clone(), nullable.clone(), plain, nullable, fixed, numbers];
    RecordBatch::try_new(columns().to_arrow(), arrays).expect("a block")
}

/// Whether the filter holds for each row; `None` if it fails there.
fn evaluated(filter: &Expr, batch: &RecordBatch) -> Vec<Option<bool>> {
    let schema = DFSchema::try_from(columns().to_arrow()).expect("a schema");
    let context = PhysicalPlanningContext::default();
    let physical = create_physical_expr(filter, &schema, &ExecutionProps::new(), &context).expect("a filter");
    let holds = |row| {
        let flag = physical.evaluate(&batch.slice(row, 1)).and_then(|flag| flag.into_array(1)).ok()?;
        let flag = flag.as_boolean();
        Some(flag.is_valid(0) && flag.value(0))
    };
    (0..batch.num_rows()).map(holds).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    #[test]
    fn rows_pass_if_the_filter_holds(
        text in some_filter(), texts in prop::collection::vec(prop::option::weighted(0.9, some_bytes(0..7)), 1..40),
    ) {
        let expr = parse_expr(text.as_bytes()).expect("an expression");
        // A pattern may be wrong.
        let Ok(filter) = plan_alone(Zone::utc(), |ctx| plan_filter(&expr, &columns(), ctx)) else { return Ok(()) };
        let batch = batch_of(&texts);
        let expected = evaluated(&filter, &batch);
        for condition in text_conditions(std::slice::from_ref(&filter), &columns()) {
            let pattern = condition.test.pattern().expect("a small one");
            let strings = batch.column(condition.column).as_binary_view();
            for (row, holds) in expected.iter().enumerate() {
                let passes = strings.is_valid(row) && pattern.matches(strings.value(row));
                let is_fit = match holds {
                    Some(holds) if condition.is_exact => passes == *holds,
                    Some(holds) => passes || !holds,
                    None => true,
                };
                prop_assert!(is_fit, "{} {} {:?} {:?} {}", text, pattern, texts[row], holds, passes);
            }
        }
    }
}
