//! Differences that docs/dialect.md explains.

use super::query::Query;
use super::table::Table;
use crate::slt::Answer;

/// A statement with its tables, and both answers.
pub(crate) struct Case<'a> {
    sql: &'a str,
    /// The statements that create the tables.
    tables: String,
    expected: &'a Answer,
    found: &'a Answer,
}

/// Each one corresponds to a line of docs/dialect.md.
const EXPLAINED: &[fn(&Case<'_>) -> bool] = &[
    compares_decimals_exactly,
    refuses_overflow_of_decimals,
    drops_members_out_of_range,
    has_no_variants,
    computes_only_what_counts,
    has_no_nullable_tuples,
    has_no_wide_integers,
    makes_nothings,
    compares_late_dates,
    keeps_one_zero_in_sorted_keys,
    picks_among_nulls_in_tuples,
    shifts_enums,
    groups_by_constants,
    fails_by_itself,
    truncates_downward,
    finds_no_defaults,
    reads_no_digits_in_padding,
    divides_decimals,
    looks_at_all_operands,
    compares_no_mixed_arrays,
    evaluates_below_is_null,
];

pub(crate) fn is_explained(query: &Query, tables: &[Table], expected: &Answer, found: &Answer) -> bool {
    let tables = tables.iter().flat_map(Table::statements).collect();
    let case = Case { sql: &query.sql, tables, expected, found };
    EXPLAINED.iter().any(|explains| explains(&case))
}

impl Case<'_> {
    /// Whether ClickHouse refuses with `name` a statement that Basalt answers.
    fn is_answered(&self, name: &str) -> bool {
        matches!((self.expected, self.found), (Answer::Error(error), Answer::Rows(_)) if error == name)
    }

    /// Whether Basalt refuses with `name` a statement that ClickHouse answers.
    fn is_refused(&self, name: &str) -> bool {
        matches!((self.expected, self.found), (Answer::Rows(_), Answer::Error(error)) if error == name)
    }

    fn says(&self, text: &str) -> bool {
        self.sql.contains(text) || self.tables.contains(text)
    }

    fn has_row(answer: &Answer, text: &str) -> bool {
        matches!(answer, Answer::Rows(rows) if rows.iter().any(|row| row.contains(text)))
    }
}

fn compares_decimals_exactly(case: &Case<'_>) -> bool {
    case.is_answered("DECIMAL_OVERFLOW") && case.says("Decimal")
}

fn refuses_overflow_of_decimals(case: &Case<'_>) -> bool {
    case.is_refused("DECIMAL_OVERFLOW") && case.says("Decimal")
}

fn drops_members_out_of_range(case: &Case<'_>) -> bool {
    case.is_answered("ARGUMENT_OUT_OF_BOUND") && case.sql.contains(" IN (")
}

fn has_no_variants(case: &Case<'_>) -> bool {
    let chooses =
        ["CASE ", "if(", "multiIf(", "[", "ifNull(", "coalesce("].iter().any(|name| case.sql.contains(name));
    let tells = case.sql.contains("toTypeName(if(") || case.sql.contains("toTypeName(multiIf(");
    tells
        || Case::has_row(case.expected, "Variant(")
        || (chooses
            && (case.is_refused("NO_COMMON_TYPE")
                || case.is_answered("NO_COMMON_TYPE")
                || case.is_answered("ILLEGAL_COLUMN")
                || case.is_answered("ILLEGAL_TYPE_OF_ARGUMENT")))
}

/// An error in a row that WHERE or ARRAY JOIN removes, or in an argument that is not evaluated.
fn computes_only_what_counts(case: &Case<'_>) -> bool {
    let leaves_out = [" WHERE ", "ARRAY JOIN", "If(", "isNull(", "isNotNull(", "count(", "toTypeName("];
    let names = ["ILLEGAL_DIVISION", "DECIMAL_OVERFLOW", "CANNOT_CONVERT_TYPE"];
    names.iter().any(|name| case.is_answered(name)) && leaves_out.iter().any(|text| case.sql.contains(text))
}

fn has_no_nullable_tuples(case: &Case<'_>) -> bool {
    let makes_null = case.sql.contains("join_use_nulls") || case.sql.contains("OrNull(");
    (makes_null && Case::has_row(case.found, "(0,'')")) || Case::has_row(case.expected, "Nullable(Tuple(")
}

/// `intDiv` of decimals of more than 18 digits.
fn has_no_wide_integers(case: &Case<'_>) -> bool {
    ["Int128", "Int256"].iter().any(|name| Case::has_row(case.expected, name))
}

/// Features that ClickHouse does not have, and functions of elements of an empty array.
fn makes_nothings(case: &Case<'_>) -> bool {
    case.is_answered("NOT_IMPLEMENTED")
        || (case.is_answered("ILLEGAL_TYPE_OF_ARGUMENT") && case.sql.contains("([])["))
}

/// Comparisons of days out of the range of DateTime with a DateTime.
fn compares_late_dates(case: &Case<'_>) -> bool {
    let is_late = case.says("2149-06-06") || case.says("2299-");
    let compares = [" < ", " <= ", " > ", " >= ", " = ", " IN "].iter().any(|op| case.sql.contains(op));
    is_late && compares && matches!((case.expected, case.found), (Answer::Rows(_), Answer::Rows(_)))
}

/// Which of two equal zeroes a sorted LIMIT BY, or min and max, selects.
fn keeps_one_zero_in_sorted_keys(case: &Case<'_>) -> bool {
    if case.sql.contains("LIMIT 1 BY k") && case.says("-0.") && Case::has_row(case.found, "-0") {
        return true;
    }
    let picks = ["min(", "max(", "minIf(", "maxIf("].iter().any(|text| case.sql.contains(text));
    picks
        && case.says("-0.")
        && (Case::has_row(case.found, "-0") || Case::has_row(case.expected, "-0"))
        && without_signs(case.expected) == without_signs(case.found)
}

/// NULL and NaN in a tuple: in ClickHouse their order depends on how rows are grouped.
fn picks_among_nulls_in_tuples(case: &Case<'_>) -> bool {
    let columns = case.sql.split("(id, (").skip(1).chain(case.sql.split("max((").skip(1));
    let names = columns.filter_map(|rest| rest.split(',').next());
    names.into_iter().any(|name| {
        case.tables.contains(&format!("{name} Nullable("))
            || case.tables.contains(&format!("{name} Float"))
            || case.tables.contains(&format!("{name} LowCardinality(Nullable("))
    })
}

/// `lag` of an Enum without a default gives the first element, where ClickHouse's Enum has no element 0.
fn shifts_enums(case: &Case<'_>) -> bool {
    case.is_answered("UNKNOWN_ELEMENT_OF_ENUM")
        && (case.sql.contains(" OVER (") || case.sql.contains("OrDefault("))
}

/// A key that is constant but not written as a constant.
fn groups_by_constants(case: &Case<'_>) -> bool {
    let sets = ["GROUPING SETS", "CUBE", "ROLLUP", "WITH TOTALS"].iter().any(|text| case.sql.contains(text));
    sets && case.sql.contains("toTypeName(")
}

/// `date_trunc` in the last second before 1970.
fn truncates_downward(case: &Case<'_>) -> bool {
    case.sql.contains("date_trunc(") && case.says("1969-12-31 23:59:59.999")
}

/// A NULL among the elements that `hasAll` and `hasAny` search for.
fn finds_no_defaults(case: &Case<'_>) -> bool {
    let looks = case.sql.contains("hasAll(") || case.sql.contains("hasAny(");
    looks && case.tables.contains("Nullable(")
}

/// Arrays whose elements have no common type, such as Int64 and UInt64.
fn compares_no_mixed_arrays(case: &Case<'_>) -> bool {
    case.is_refused("ILLEGAL_TYPE_OF_ARGUMENT") && case.says("Array(Int64)") && case.says("UInt64")
}

/// An argument of `isNull` that fails; ClickHouse does not evaluate it if its type cannot be NULL.
fn evaluates_below_is_null(case: &Case<'_>) -> bool {
    let is_refused = ["ILLEGAL_COLUMN", "BAD_ARGUMENTS"].iter().any(|name| case.is_refused(name));
    is_refused && ["isNull(", "isNotNull(", "toTypeName("].iter().any(|name| case.sql.contains(name))
}

/// A FixedString of zero bytes as a number.
fn reads_no_digits_in_padding(case: &Case<'_>) -> bool {
    let reads = ["toInt64OrNull(", "toUInt64OrNull(", "toInt32OrZero(", "toDecimal64OrNull("];
    case.says("FixedString(3)") && reads.iter().any(|name| case.sql.contains(name))
}

/// A remainder of a decimal, which ClickHouse computes without the scale.
fn divides_decimals(case: &Case<'_>) -> bool {
    let divides = case.sql.contains(" % ") || case.sql.contains("oduloOrZero(");
    divides && case.says("Decimal")
}

/// An error on the right side of AND, OR or BETWEEN; in ClickHouse the left side decides.
fn looks_at_all_operands(case: &Case<'_>) -> bool {
    let names = [
        "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN",
        "CANNOT_PARSE_IPV4",
        "CANNOT_PARSE_IPV6",
        "CANNOT_PARSE_TEXT",
        "ILLEGAL_DIVISION",
    ];
    let decides = ["BETWEEN", ") AND (", ") OR ("].iter().any(|text| case.sql.contains(text));
    decides && names.iter().any(|name| case.is_refused(name))
}

/// Errors caused by faults of ClickHouse.
fn fails_by_itself(case: &Case<'_>) -> bool {
    ["NOT_FOUND_COLUMN_IN_BLOCK", "LOGICAL_ERROR"].iter().any(|name| case.is_answered(name))
}

/// The distinct rows, sorted, with positive zeroes.
fn without_signs(answer: &Answer) -> Vec<String> {
    let Answer::Rows(rows) = answer else { return Vec::new() };
    let unsigned = |text: &str| if text == "-0" { "0".to_owned() } else { text.to_owned() };
    let mut rows: Vec<String> =
        rows.iter().map(|row| row.split('\t').map(unsigned).collect::<Vec<_>>().join("\t")).collect();
    rows.sort();
    rows.dedup();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: Answer, found: Answer) -> bool {
        let query = Query { sql: sql.to_owned(), is_ordered: true };
        is_explained(&query, &[], &expected, &found)
    }

    fn rows(rows: &[&str]) -> Answer {
        Answer::Rows(rows.iter().map(|row| (*row).to_owned()).collect())
    }

    #[test]
    fn only_what_the_page_says_is_explained() {
        let overflow = || Answer::Error("DECIMAL_OVERFLOW".to_owned());
        assert!(check("SELECT toDecimal32(1, 0) < CAST(1 AS Decimal(18, 4))", overflow(), rows(&["1"])));
        assert!(!check("SELECT 1 + 1", overflow(), rows(&["1"])));
        assert!(!check("SELECT CAST(1 AS Decimal(18, 4))", rows(&["1"]), rows(&["2"])));
    }

    #[test]
    fn one_of_two_zeroes_is_as_good_as_the_other() {
        let sql = "SELECT x AS k FROM (SELECT arrayJoin([0., -0.]) AS x) ORDER BY k LIMIT 1 BY k";
        assert!(check(sql, rows(&["0"]), rows(&["0", "-0"])));
        assert!(!check(sql, rows(&["0"]), rows(&["0", "1"])));
    }
}
