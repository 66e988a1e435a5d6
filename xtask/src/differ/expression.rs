//! Random expressions over the columns of some tables.

use super::kind::{self, Family, KINDS};
use super::random::Random;

/// Operations on integers, floats and decimals; `{n}`, `{t}`, ... stand for operands of a family.
const NUMBERS: &[&str] = &[
    "{n} + {n}",
    "{n} - {n}",
    "{n} * {n}",
    "{n} / {n}",
    "-({n})",
    "abs({n})",
    "intDiv({n}, 3)",
    "intDiv(toFloat64({n}), 3)",
    "{n} % {n}",
    "intDivOrZero({n}, {f})",
    "moduloOrZero({n}, {n})",
    "greatest({n}, {n})",
    "least({n}, {n})",
    "round({n}, 1)",
    "floor({n})",
    "ceil({n})",
    "trunc({n})",
    "sign({n})",
    "if({b}, {n}, {n})",
    "multiIf({b}, {n}, {b}, {n}, {n})",
    "coalesce({n}, {n})",
    "ifNull({n}, {n})",
    "nullIf({n}, {n})",
    "toInt64OrNull({t})",
    "toFloat64OrZero({t})",
    "toUInt8({i})",
    "toInt16({i})",
    "toInt32({i})",
    "toUInt64({i})",
    "toFloat64({n})",
    "toDecimal64({i} % 1000, 3)",
    "bitAnd({i}, {i})",
    "bitOr({i}, {i})",
    "bitXor({i}, {i})",
    "bitNot({i})",
    "bitShiftLeft({i}, 3)",
    "bitShiftRight({i}, 2)",
    "bitCount({i})",
    "length({t})",
    "lengthUTF8({t})",
    "position({t}, 'a')",
    "length({a})",
    "arraySum({a})",
    "arrayCount(x -> x > 1, {a})",
    "indexOf({a}, 1)",
    "toYear({d})",
    "toMonth({d})",
    "toDayOfWeek({d})",
    "toDayOfYear({d})",
    "toHour({m})",
    "toMinute({m})",
    "toSecond({m})",
    "toUnixTimestamp({m})",
    "toISOWeek({d})",
    "toYYYYMM({d})",
    "dateDiff('day', {d}, {d})",
    "dateDiff('hour', {m}, {m})",
    "toInt8({e})",
    "ascii({t})",
    "countSubstrings({t}, 'a')",
    "toUInt32({d})",
    "toUInt8({b})",
    "gcd({i}, {i})",
    "sqrt(abs({n}))",
    "CASE WHEN {b} THEN {n} ELSE {n} END",
    "CASE {i} WHEN 1 THEN {n} WHEN 2 THEN {n} END",
    "if({l}, {i}, NULL)",
    "arrayMin({a})",
    "arrayMax({a})",
    "arrayAvg({a})",
    "arrayUniq({a})",
    "{a}[1]",
    "{a}[-1]",
    "{p}['a']",
    "{q}.1",
    "toInt32OrZero({t})",
    "toUInt64OrNull({t})",
    "toDecimal64OrNull({t}, 2)",
    "dateDiff('month', {d}, {d})",
    "dateDiff('second', {m}, {m})",
    "age('year', {d}, {d})",
    "toRelativeDayNum({d})",
    "countEqual({a}, {i})",
    "toQuarter({d})",
    "toYYYYMMDD({d})",
    "toDayOfMonth({d})",
    "length({p})",
    "positionCaseInsensitive({t}, 'A')",
    "bitTest({i}, 1)",
    "cityHash64({t})",
    "xxHash64({t})",
    "crc32({t})",
    "length({s})",
    "arrayReduce('sum', {a})",
    "toInt64({d})",
    "toUInt64({u} = {u})",
    "empty({a})",
    "roundDown({i}, [0, 5, 100])",
];
const BOOLEANS: &[&str] = &[
    "{n} = {n}",
    "{n} != {n}",
    "{n} < {n}",
    "{n} <= {n}",
    "{n} > {n}",
    "{n} >= {n}",
    "{t} = {t}",
    "{t} < {t}",
    "{t} != {t}",
    "{t} >= {t}",
    "{d} = {d}",
    "{d} < {m}",
    "{m} >= {d}",
    "{m} = {m}",
    "{d} > '2000-02-29'",
    "{u} = {u}",
    "{u} < {u}",
    "{e} = 'a'",
    "{e} < {e}",
    "{e} IN ('a', 'z')",
    "{n} IN (1, 2, {k})",
    "{n} NOT IN (0, -1)",
    "{t} IN ('a', 'abc', '')",
    "{d} IN ('2000-02-29', '1970-01-01')",
    "{m} IN (toDate('2000-02-29'))",
    "{n} BETWEEN {n} AND {n}",
    "{t} LIKE '%a%'",
    "{t} NOT LIKE 'a_c'",
    "{t} ILIKE 'A%'",
    "match({t}, '^[a-c]+$')",
    "isNull({n})",
    "isNotNull({t})",
    "{n} IS NULL",
    "{d} IS NOT NULL",
    "({b}) AND ({b})",
    "({b}) OR ({b})",
    "NOT ({b})",
    "xor({b}, {b})",
    "has({a}, ifNull({i}, 7))",
    "has({s}, ifNull({t}, 'none'))",
    "empty({t})",
    "notEmpty({a})",
    "startsWith({t}, 'a')",
    "endsWith({t}, 'c')",
    "isNaN({f})",
    "isFinite({f})",
    "arrayExists(x -> x > 2, {a})",
    "arrayAll(x -> x < 200, {a})",
    "({n}, {t}) = (1, 'a')",
    "({n}, {t}) IN ((1, 'a'), (0, ''))",
    "{l} = true",
    "mapContains({p}, 'a')",
    "{g} = {g}",
    "{g} < '10.0.0.2'",
    "{u} > '00000000-0000-0001-0000-000000000002'",
    "{a} = {a}",
    "{a} < {a}",
    "{q} = {q}",
    "{n} IN (NULL, 1)",
    "{n} = NULL",
    "{t} IN ('a', NULL)",
    "{q} IN ((1, 'a'), (0, ''))",
    "{u} IN ('00000000-0000-0000-0000-000000000000')",
    "{g} IN ('10.0.0.1', '::')",
    "{d} BETWEEN {d} AND {d}",
    "{m} BETWEEN {m} AND {m}",
    "{t} BETWEEN {t} AND {t}",
    "{n} NOT BETWEEN {n} AND {n}",
    "{t} LIKE '_%'",
    "{t} NOT ILIKE '%b%'",
    "hasAny({a}, {a})",
    "hasAll({a}, {a})",
    "isZeroOrNull({n})",
    "{e} = {e}",
    "{e} != 'b'",
    "{l} AND ({b})",
    "if({b}, {b}, {b})",
    "{n} <=> {n}",
    "isNotDistinctFrom({t}, {t})",
    "{s} = {s}",
    "{p} = {p}",
    "length({t}) > {i}",
    "({n}, {d}) < ({n}, {d})",
    "{d} IS NOT DISTINCT FROM {d}",
];
const TEXTS: &[&str] = &[
    "concat({t}, {t})",
    "{t} || {t}",
    "upper({t})",
    "lower({t})",
    "substring({t}, 2)",
    "substring({t}, 1, 2)",
    "substring({t}, -2)",
    "left({t}, 2)",
    "right({t}, 2)",
    "reverse({t})",
    "trim({t})",
    "replaceAll({t}, 'a', 'xy')",
    "replaceOne({t}, 'a', '')",
    "replaceRegexpAll({t}, '[a-b]', '<\\\\0>')",
    "toString({n})",
    "toString({d})",
    "toString({m})",
    "toString({u})",
    "toString({e})",
    "toString({a})",
    "toString({b})",
    "if({b}, {t}, {t})",
    "coalesce({t}, {t})",
    "ifNull({t}, 'none')",
    "nullIf({t}, 'a')",
    "leftPad({t}, 5, '*')",
    "repeat({t}, 2)",
    "hex({t})",
    "hex({i})",
    "bin({i} % 8)",
    "arrayStringConcat({s}, ',')",
    "substringUTF8({t}, 1, 1)",
    "upperUTF8({t})",
    "format('{{}}-{{}}', {t}, {t})",
    "formatDateTime({m}, '%Y-%m-%d %H:%i:%S')",
    "toString({g})",
    "toString({q})",
    "splitByChar('a', {t})[1]",
    "greatest({t}, {t})",
    "toTypeName({n})",
    "toTypeName({t})",
    "toTypeName({d})",
    "toString({l})",
    "CAST({n} AS String)",
    "CAST({d} AS String)",
    "substring({t}, {i} % 3 + 1)",
    "{s}[1]",
    "{s}[-1]",
    "toString({p})",
    "toString({s})",
    "base64Encode({t})",
    "replaceRegexpOne({t}, '[0-9]+', '#')",
    "extract({t}, '[a-z]+')",
    "arrayStringConcat(arrayMap(x -> toString(x), {a}), '-')",
    "lowerUTF8({t})",
    "rightPad({t}, 4, '-')",
    "CASE WHEN {b} THEN {t} END",
    "if({l}, {t}, NULL)",
    "{q}.2",
    "toFixedString(left(toString({i}), 3), 3)",
    "concat({t}, toString({n}))",
    "dateName('month', {d})",
    "toTypeName({a})",
    "toTypeName({m})",
    "toTypeName(if({b}, {n}, {n}))",
    "reverseUTF8({t})",
    "trimLeft({t})",
    "splitByString('b', {t})[1]",
];
const DATES: &[&str] = &[
    "toDate({m})",
    "toDate32({d})",
    "addDays({d}, 1)",
    "addMonths({d}, -1)",
    "{d} + INTERVAL 1 WEEK",
    "toMonday({d})",
    "toStartOfMonth({d})",
    "toStartOfYear({d})",
    "toLastDayOfMonth({d})",
    "if({b}, {d}, {d})",
    "greatest({d}, {d})",
    "toStartOfQuarter({m})",
    "{d} - 1",
    "toDateOrNull({t})",
    "addYears({d}, 1)",
    "addWeeks({d}, 1)",
    "subtractDays({d}, 3)",
    "toStartOfWeek({d})",
    "toStartOfISOYear({d})",
    "least({d}, {d})",
    "coalesce({d}, {d})",
    "toDate32OrNull({t})",
    "date_trunc('month', {d})",
    "addQuarters({d}, 1)",
    "{d} + 1",
    "if({l}, {d}, NULL)",
    "toDate({u} = {u})",
    "makeDate(2000, 2, {i} % 28 + 1)",
];
const TIMES: &[&str] = &[
    "toDateTime({d}, 'UTC')",
    "addHours({m}, 5)",
    "{m} + INTERVAL 1 DAY",
    "{m} - INTERVAL 30 MINUTE",
    "{m} + 60",
    "toStartOfHour({m})",
    "toStartOfDay({m})",
    "toStartOfMinute({m})",
    "toDateTime64({m}, 2, 'UTC')",
    "toTimeZone({m}, 'Asia/Kolkata')",
    "if({b}, {m}, {m})",
    "least({m}, {m})",
    "toStartOfInterval({m}, INTERVAL 6 HOUR)",
    "addMonths({m}, 1)",
    "addMinutes({m}, 90)",
    "subtractHours({m}, 3)",
    "date_trunc('hour', {m})",
    "toStartOfFifteenMinutes({m})",
    "toStartOfInterval({m}, INTERVAL 1 DAY)",
    "coalesce({m}, {m})",
    "greatest({m}, {m})",
    "if({l}, {m}, NULL)",
    "toStartOfMonth({m})",
    "addYears({m}, -1)",
    "toDateTime64({d}, 3, 'UTC')",
    "nullIf({m}, {m})",
];
const INTEGER_ARRAYS: &[&str] = &[
    "arrayMap(x -> x + 1, {a})",
    "arrayFilter(x -> x > 1, {a})",
    "arraySort({a})",
    "arrayReverse({a})",
    "arrayConcat({a}, {a})",
    "arrayDistinct({a})",
    "arraySlice({a}, 2)",
    "range({i} % 5)",
    "[{i}, {i}]",
    "arrayPushBack({a}, 7)",
    "arrayCumSum({a})",
    "arraySort(x -> -x, {a})",
    "arrayEnumerate({a})",
    "arrayMap((x, y) -> x + y, {a}, {a})",
    "arrayPopBack({a})",
    "arrayPushFront({a}, {i})",
    "arrayReverseSort({a})",
    "arrayFlatten([{a}, {a}])",
    "arrayIntersect({a}, {a})",
    "arrayDifference({a})",
    "if({b}, {a}, {a})",
    "arrayEnumerateUniq({a})",
    "arrayCompact({a})",
    "mapValues({p})",
    "arrayFill(x -> x > 1, {a})",
    "arrayRotateLeft({a}, 1)",
    "arrayZip({a}, {a}).1",
];
const TEXT_ARRAYS: &[&str] = &[
    "splitByChar(',', {t})",
    "arrayMap(x -> upper(x), {s})",
    "[{t}, {t}]",
    "arraySort({s})",
    "arrayDistinct({s})",
    "mapKeys({p})",
    "arrayFilter(x -> x != '', {s})",
    "arrayResize({s}, 2)",
    "arrayReverse({s})",
    "arraySlice({s}, 1, 1)",
    "arrayConcat({s}, {s})",
    "if({b}, {s}, {s})",
    "alphaTokens({t})",
    "arrayPushBack({s}, {t})",
    "arrayMap(x -> concat(x, '!'), {s})",
    "extractAll({t}, '[a-z]')",
    "arrayCompact({s})",
];

/// The available columns by family, and how they are written.
pub(crate) struct Scope<'a> {
    pub(crate) columns: Vec<(Family, String)>,
    pub(crate) random: &'a mut Random,
}

impl Scope<'_> {
    pub(crate) fn boolean(&mut self, depth: usize) -> String {
        self.from(BOOLEANS, depth)
    }

    /// An expression of a random family.
    pub(crate) fn any(&mut self, depth: usize) -> String {
        let letter =
            *self.random.pick(&['n', 'n', 'i', 't', 't', 'd', 'm', 'b', 'a', 's', 'u', 'e', 'g', 'q', 'p']);
        self.operand(letter, depth)
    }

    pub(crate) fn number(&mut self, depth: usize) -> String {
        self.operand('n', depth)
    }

    /// A column of a type that can be sorted and grouped, or a small expression.
    pub(crate) fn column(&mut self) -> String {
        match self.columns.is_empty() {
            true => self.any(0),
            false => self.random.pick(&self.columns).1.clone(),
        }
    }

    fn operand(&mut self, letter: char, depth: usize) -> String {
        let (families, templates) = operands(letter);
        let column = self.column_of(families);
        let is_leaf = depth == 0 || templates.is_empty() || self.random.once_in(3);
        match column {
            Some(column) if is_leaf && !self.random.once_in(4) => column,
            _ if is_leaf => self.constant(families),
            _ => self.from(templates, depth),
        }
    }

    fn column_of(&mut self, families: &[Family]) -> Option<String> {
        let found: Vec<&String> = self
            .columns
            .iter()
            .filter(|(family, _)| families.contains(family))
            .map(|(_, name)| name)
            .collect();
        (!found.is_empty()).then(|| (*self.random.pick(&found)).clone())
    }

    fn constant(&mut self, families: &[Family]) -> String {
        let family = *self.random.pick(families);
        let kind = kind::of_family(family, self.random.below(KINDS.len()));
        let value = *self.random.pick(kind.values);
        let is_plain = matches!(
            family,
            Family::Integer | Family::Float | Family::Text | Family::Integers | Family::Texts
        );
        match self.random.below(4) {
            0 => format!("materialize({})", kind.constant(value)),
            1 => kind.constant(value),
            _ if is_plain => value.to_owned(),
            _ => kind.constant(value),
        }
    }

    fn from(&mut self, templates: &[&str], depth: usize) -> String {
        let template = *self.random.pick(templates);
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            if let Some(after) = after.strip_prefix("{}}") {
                text.push_str("{}");
                rest = after;
                continue;
            }
            let (letter, after) = after.split_at(1);
            let operand = self.operand(letter.chars().next().unwrap_or('n'), depth.saturating_sub(1));
            text.push_str(&in_brackets(&operand));
            rest = after.strip_prefix('}').unwrap_or(after);
        }
        text + rest
    }
}

fn in_brackets(operand: &str) -> String {
    let is_simple = operand.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.');
    match is_simple {
        true => operand.to_owned(),
        false => format!("({operand})"),
    }
}

/// The families of a template letter, and the templates for them.
fn operands(letter: char) -> (&'static [Family], &'static [&'static str]) {
    use Family::{
        Address, Bool, Date, Decimal, Enum, Float, Integer, Integers, Map, Text, Texts, Time, Tuple, Uuid,
    };
    match letter {
        'n' => (&[Integer, Float, Decimal], NUMBERS),
        't' => (&[Text], TEXTS),
        'd' => (&[Date], DATES),
        'm' => (&[Time], TIMES),
        'b' => (&[Bool], BOOLEANS),
        'a' => (&[Integers], INTEGER_ARRAYS),
        's' => (&[Texts], TEXT_ARRAYS),
        'f' => (&[Float], &[]),
        'u' => (&[Uuid], &[]),
        'e' => (&[Enum], &[]),
        'g' => (&[Address], &[]),
        'l' => (&[Bool], &[]),
        'p' => (&[Map], &[]),
        'q' => (&[Tuple], &[]),
        _ => (&[Integer], &[]),
    }
}
