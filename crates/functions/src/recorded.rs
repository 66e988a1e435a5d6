//! Scalar functions against results recorded from ClickHouse 26.9. Each line of `recorded/*.tsv` has an expression,
//! its type, and its value in TSV or `error` and the error code.
//!
//! Every expression is computed twice: over constants and over columns of a few rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Float64Array, Int8Array, Int64Array, NullArray,
    UInt8Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::Field;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_dict::{Dictionaries, Dictionary};
use basalt_formats::text::{Style, TextSettings, write_value};
use basalt_sql::ast::{Expr, FunctionCall, Literal, UnaryOp};
use basalt_sql::{parse_expr, resolve_type};
use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use crate::registry;
use crate::scalar::{Argument, BoundScalar, Cast, ScalarFunction};
use crate::{FunctionContext, ServerContext};

/// Rows of the columns that are made from constants.
const ROWS: usize = 3;
/// 2020-02-03 04:05:06 UTC.
const NOW_US: u64 = 1_580_702_706_000_000;

struct NoDictionaries;

impl Dictionaries for NoDictionaries {
    fn dictionary(&self, name: &str, _current_database: &str) -> Result<Arc<dyn Dictionary>> {
        Err(Error::new(ErrorCode::BadArguments, format!("there is no dictionary `{name}`")))
    }
}

fn context() -> FunctionContext {
    FunctionContext {
        zone: Zone::utc(),
        now_us: NOW_US,
        current_database: "default".into(),
        current_user: "default".into(),
        roles: crate::UserRoles::default(),
        query_id: String::new(),
        server: ServerContext::default(),
        dictionaries: Arc::new(NoDictionaries),
        settings: Arc::new(crate::NoSettings),
        relations: Arc::new(crate::NoRelations),
    }
}

/// A value, with one row.
type Value = (SqlType, ArrayRef);

/// How arguments are passed to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    Constants,
    Columns,
}

fn evaluate(expr: &Expr, spread: Spread) -> Result<Value> {
    let call = |name: &str, args: Vec<&Expr>| {
        let args = args.into_iter().map(|arg| evaluate(arg, spread)).collect::<Result<Vec<_>>>()?;
        invoke(registry::expect_scalar(name)?, args, spread)
    };
    match expr {
        Expr::Literal(literal) => Ok(literal_value(literal, false)),
        Expr::Unary { op: UnaryOp::Minus, operand } => match operand.as_ref() {
            Expr::Literal(literal) => Ok(literal_value(literal, true)),
            Expr::Identifier(name) if name[0] == "inf" => Ok(float(f64::NEG_INFINITY)),
            other => panic!("no minus before {other:?}"),
        },
        Expr::Identifier(name) if name[0] == "nan" => Ok(float(f64::NAN)),
        Expr::Array(elements) => call("array", elements.iter().collect()),
        Expr::Tuple(elements) => call("tuple", elements.iter().collect()),
        Expr::ArrayElement { array, index } => call("arrayElement", vec![array, index]),
        Expr::TupleElement { tuple, index } => {
            let index = literal_value(&Literal::UInt(*index), false);
            invoke(registry::expect_scalar("tupleElement")?, vec![evaluate(tuple, spread)?, index], spread)
        }
        Expr::Cast { operand, ty } => {
            invoke(&Cast::to(resolve_type(ty)?), vec![evaluate(operand, spread)?], spread)
        }
        Expr::Interval { value, unit } => {
            let (_, count) = evaluate(value, spread)?;
            let count = arrow::compute::cast(&count, &arrow::datatypes::DataType::Int64).unwrap();
            Ok((SqlType::Interval(*unit), count))
        }
        Expr::Function(FunctionCall { name, args, .. }) => call(&name.to_string(), args.iter().collect()),
        other => panic!("no evaluation of {other:?}"),
    }
}

fn float(value: f64) -> Value {
    (SqlType::Float64, Arc::new(Float64Array::from(vec![value])))
}

fn literal_value(literal: &Literal, negative: bool) -> Value {
    match literal {
        Literal::Null => (SqlType::Nothing.into_nullable(), Arc::new(NullArray::new(1))),
        Literal::Bool(value) => (SqlType::Bool, Arc::new(BooleanArray::from(vec![*value]))),
        Literal::UInt(value) if negative => match i8::try_from(-(*value as i64)) {
            Ok(value) => (SqlType::Int8, Arc::new(Int8Array::from(vec![value]))),
            Err(_) => (SqlType::Int64, Arc::new(Int64Array::from(vec![-(*value as i64)]))),
        },
        Literal::UInt(value) => unsigned(*value),
        Literal::Int(value) => (SqlType::Int64, Arc::new(Int64Array::from(vec![*value]))),
        Literal::Number(text) => {
            let value: f64 = text.parse().unwrap();
            float(if negative { -value } else { value })
        }
        Literal::String(bytes) => (SqlType::String, Arc::new(BinaryViewArray::from_iter_values([bytes]))),
    }
}

fn unsigned(value: u64) -> Value {
    if let Ok(value) = u8::try_from(value) {
        (SqlType::UInt8, Arc::new(UInt8Array::from(vec![value])))
    } else if let Ok(value) = u16::try_from(value) {
        (SqlType::UInt16, Arc::new(arrow::array::UInt16Array::from(vec![value])))
    } else if let Ok(value) = u32::try_from(value) {
        (SqlType::UInt32, Arc::new(UInt32Array::from(vec![value])))
    } else {
        (SqlType::UInt64, Arc::new(UInt64Array::from(vec![value])))
    }
}

fn invoke(function: &dyn ScalarFunction, args: Vec<Value>, spread: Spread) -> Result<Value> {
    let arguments: Vec<Argument> = args
        .iter()
        .map(|(ty, value)| Argument { ty: ty.clone(), constant: Some(Arc::clone(value)) })
        .collect();
    let (bound, ty) = BoundScalar::bind(function, &arguments, &context())?;
    let repeat = UInt32Array::from_value(0, ROWS);
    let columns = args
        .iter()
        .map(|(_, value)| match spread {
            Spread::Constants => ColumnarValue::Scalar(ScalarValue::try_from_array(value, 0).unwrap()),
            Spread::Columns => ColumnarValue::Array(arrow::compute::take(value, &repeat, None).unwrap()),
        })
        .collect();
    let fields = args.iter().map(|(ty, _)| Arc::new(Field::new("x", ty.carrier(), ty.accepts_null())));
    let result = bound.invoke_with_args(ScalarFunctionArgs {
        args: columns,
        arg_fields: fields.collect(),
        number_rows: if spread == Spread::Constants { 1 } else { ROWS },
        return_field: Arc::new(Field::new("x", ty.carrier(), ty.accepts_null())),
        config_options: Arc::new(ConfigOptions::default()),
    });
    let result = result.map_err(|error| match error.find_root() {
        datafusion::common::DataFusionError::External(inner) => {
            inner.downcast_ref::<Error>().cloned().unwrap_or_else(|| Error::logical(inner))
        }
        other => Error::logical(other),
    })?;
    let array = match result {
        ColumnarValue::Array(array) => array,
        ColumnarValue::Scalar(value) => value.to_array().unwrap(),
    };
    assert_eq!(array.data_type(), &ty.carrier(), "{} carries {ty}", function.name());
    if array.len() == ROWS {
        let first = print(&(ty.clone(), array.slice(0, 1)));
        assert_eq!(first, print(&(ty.clone(), array.slice(ROWS - 1, 1))), "{}", function.name());
    }
    Ok((ty, array.slice(0, 1)))
}

fn print((ty, array): &Value) -> String {
    let mut text = Vec::new();
    write_value(ty, array, 0, &mut text, Style::Escaped, &TextSettings::default()).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn answer(expression: &str, spread: Spread) -> String {
    let expr = match parse_expr(expression.as_bytes()) {
        Ok(expr) => expr,
        Err(error) => return format!("does not parse: {error}"),
    };
    match evaluate(&expr, spread) {
        Ok(value) => format!("{}\t{}", value.0.to_string().replace('\'', "\\'"), print(&value)),
        Err(error) => format!("error\t{}", error.code().number()),
    }
}

/// Collects all differences, so that one run reports them together.
fn check(recorded: &str) {
    let mut differences = Vec::new();
    for line in recorded.lines() {
        let Some((expression, expected)) = line.split_once('\t') else { panic!("not a record: {line}") };
        for spread in [Spread::Constants, Spread::Columns] {
            let found = answer(expression, spread);
            if found != expected {
                differences
                    .push(format!("{expression} {spread:?}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn dates_answer_as_clickhouse_does() {
    check(include_str!("recorded/dates.tsv"));
}

#[test]
fn arrays_answer_as_clickhouse_does() {
    check(include_str!("recorded/arrays.tsv"));
}
