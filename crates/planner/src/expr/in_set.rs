//! `IN`: a short list stays a list; longer lists, subqueries and tuples become a set.
//!
//! Members are converted to the type of the left side. NULL and members that the type cannot represent are dropped,
//! since they equal nothing. For NULL on the left the result is NULL. Float members compare by their bits, as in
//! ClickHouse: a set can contain NaN, and the two zeroes are different members.

use arrow::array::ArrayRef;
use basalt_base::query::check_memory;
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_functions::set::InSet;
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{Expr, Operator};

use super::fit::{Fitted, fit};
use super::subquery::Subquery;
use super::{Binder, convert};
use crate::bound_expr::BoundExpr;
use crate::subquery_rows::SubqueryRows;

/// Longer lists are looked up by hash.
const LIST_MEMBERS_MAX: usize = 64;

/// The members of the right side: one array per tuple element.
struct Members {
    types: Vec<SqlType>,
    arrays: Vec<ArrayRef>,
}

impl Binder<'_> {
    pub(super) fn bind_in(&self, operand: &ast::Expr, right: &ast::Expr, negated: bool) -> Result<BoundExpr> {
        let left = self.left_columns(operand)?;
        let kinds: Vec<_> = left.iter().map(BoundExpr::kind).collect();
        if let (ast::Expr::Tuple(members), [only]) = (right, left.as_slice()) {
            members.iter().for_each(|member| self.infer_parameter(member, &only.ty));
        }
        Ok(self.bind_membership(left, right, negated)?.low_cardinality_as(&kinds))
    }

    fn bind_membership(&self, left: Vec<BoundExpr>, right: &ast::Expr, negated: bool) -> Result<BoundExpr> {
        if let [only] = left.as_slice()
            && only.is_null_literal()
        {
            return Ok(BoundExpr::null());
        }
        let members = match right {
            ast::Expr::Tuple(elements) | ast::Expr::Array(elements) if self.any_varies(elements)? => {
                return self.in_values(left, elements, negated);
            }
            ast::Expr::Function(call)
                if matches!(call.name.as_str(), "tuple" | "array") && self.any_varies(&call.args)? =>
            {
                return self.in_values(left, &call.args, negated);
            }
            ast::Expr::Subquery(query) => match self.subquery(query)? {
                Subquery::Answered(answer) => self.members_of(&answer)?,
                Subquery::Correlated(planned, outer) => {
                    return self.in_correlated(left, query, *planned, &outer, negated);
                }
            },
            ast::Expr::Identifier(parts) if self.names_no_value(parts) => self.members_of_table(parts)?,
            ast::Expr::Tuple(elements) if !elements.is_empty() => {
                return self.in_elements(left, elements, negated);
            }
            ast::Expr::Function(call) if call.name == "tuple" && !call.args.is_empty() => {
                return self.in_elements(left, &call.args, negated);
            }
            other => {
                let value = self.bind(other)?.into_value();
                match value.constant() {
                    // An array on the right of an array is one member.
                    Some(ScalarValue::List(list))
                        if left.len() == 1
                            && matches!(value.ty.stripped(), SqlType::Array(_))
                            && common_type([&left[0].ty, &value.ty]).is_none() =>
                    {
                        let SqlType::Array(element) = value.ty.stripped() else {
                            return Err(Error::logical("a list is carried by an array"));
                        };
                        let array = list.values();
                        Members {
                            types: vec![element.as_ref().clone()],
                            arrays: vec![ArrayRef::clone(array)],
                        }
                    }
                    // An empty tuple has no elements to separate.
                    Some(ScalarValue::Struct(tuple)) if left.len() == 1 && tuple.num_columns() > 0 => {
                        return self.in_struct(left, &value, negated);
                    }
                    Some(_) => return self.in_elements(left, std::slice::from_ref(right), negated),
                    None => return self.in_value(left, value, negated),
                }
            }
        };
        self.in_members(left, members, negated)
    }

    /// The left side: one value, or the elements of a written tuple.
    fn left_columns(&self, operand: &ast::Expr) -> Result<Vec<BoundExpr>> {
        let elements = match operand {
            ast::Expr::Tuple(elements) if !elements.is_empty() => elements.as_slice(),
            ast::Expr::Function(call) if call.name == "tuple" && !call.args.is_empty() => {
                call.args.as_slice()
            }
            other => {
                let bound = self.bind(other)?.into_value();
                return Ok(vec![bound]);
            }
        };
        Ok(self.bind_list(elements)?.into_iter().map(BoundExpr::into_value).collect())
    }

    fn names_no_value(&self, parts: &[String]) -> bool {
        self.aliases.get(&parts[0]).is_none() && !matches!(self.scope.find(parts), Ok(Some(_)))
    }

    fn members_of(&self, answer: &SubqueryRows) -> Result<Members> {
        let limit = self.session.ctx.settings.max_rows_in_set;
        if limit > 0 && answer.rows as u64 > limit {
            bail!(SetSizeLimitExceeded, "the right side of IN has {} rows, more than {limit}", answer.rows);
        }
        let types = answer.columns.iter().map(|column| column.ty.clone()).collect();
        Ok(Members { types, arrays: answer.arrays.clone() })
    }

    /// `x IN table`, as `x IN (SELECT * FROM table)`.
    fn members_of_table(&self, parts: &[String]) -> Result<Members> {
        let (database, name) = match parts {
            [name] => (None, name.clone()),
            [database, name] => (Some(database.clone()), name.clone()),
            _ => return Err(self.scope.unknown(&parts.join("."), std::iter::empty())),
        };
        let factor = ast::TableFactor::Table {
            name: ast::ObjectName { database, name },
            alias: None,
            is_final: false,
            sample: None,
        };
        let everything = ast::Expr::Asterisk { qualifier: vec![], except: vec![], replace: vec![] };
        let select = ast::Select {
            items: vec![ast::SelectItem { expr: everything, alias: None }],
            from: Some(ast::TableExpr::Factor(factor)),
            ..ast::Select::default()
        };
        let query = ast::Query {
            body: ast::SetExpr::Select(Box::new(select)),
            into_outfile: None,
            format: None,
            settings: vec![],
        };
        match self.subquery(&query)? {
            Subquery::Answered(answer) => self.members_of(&answer),
            Subquery::Correlated(..) => Err(Error::logical("a table names no column of a query")),
        }
    }

    /// `x IN (1, 2, 3)` and `(a, b) IN ((1, 2), (3, 4))`.
    fn in_elements(&self, left: Vec<BoundExpr>, elements: &[ast::Expr], negated: bool) -> Result<BoundExpr> {
        let mut kept: Vec<Vec<ScalarValue>> = Vec::with_capacity(elements.len());
        let tuples = left.len() > 1;
        // `(a, b) IN (1, 2)` has one member, a tuple.
        let is_one_tuple = tuples && !elements.iter().any(|element| matches!(element, ast::Expr::Tuple(_)));
        let one_tuple = [ast::Expr::Tuple(elements.to_vec())];
        let elements = if is_one_tuple { &one_tuple[..] } else { elements };
        for element in elements {
            check_memory()?;
            let values = match element {
                ast::Expr::Tuple(parts) if tuples => {
                    parts.iter().map(|part| self.bind_constant(part)).collect::<Result<Vec<_>>>()?
                }
                other => vec![self.bind_constant(other)?],
            };
            if values.len() != left.len() {
                bail!(
                    NumberOfColumnsDoesntMatch,
                    "the left side of IN has {} columns, an element of the right side has {}",
                    left.len(),
                    values.len()
                );
            }
            if let Some(fitted) = self.fit_row(&left, values)? {
                kept.push(fitted);
            }
        }
        self.in_rows(left, kept, negated)
    }

    /// A constant tuple, from an alias or `tuple(1, 2)`: its elements are the members.
    fn in_struct(&self, left: Vec<BoundExpr>, tuple: &BoundExpr, negated: bool) -> Result<BoundExpr> {
        let (Some(ScalarValue::Struct(array)), SqlType::Tuple(types)) =
            (tuple.constant(), tuple.ty.stripped())
        else {
            return Err(Error::logical("a tuple is carried by a struct"));
        };
        let mut kept = Vec::with_capacity(types.len());
        for (column, element) in array.columns().iter().zip(types.iter()) {
            let value = ScalarValue::try_from_array(column, 0).map_err(Error::logical)?;
            if let Some(fitted) = self.fit_row(&left, vec![BoundExpr::literal(value, element.ty.clone())])? {
                kept.push(fitted);
            }
        }
        self.in_rows(left, kept, negated)
    }

    /// The values in the types of the left side; `None` if a type cannot represent its value.
    fn fit_row(&self, left: &[BoundExpr], values: Vec<BoundExpr>) -> Result<Option<Vec<ScalarValue>>> {
        let mut fitted = Vec::with_capacity(values.len());
        for (column, value) in left.iter().zip(values) {
            if value.is_null_literal() || value.constant().is_some_and(ScalarValue::is_null) {
                return Ok(None);
            }
            match self.member(value, &column.ty)? {
                Some(member) => fitted.push(member),
                None => return Ok(None),
            }
        }
        Ok(Some(fitted))
    }

    /// The value of type `ty` that equals the constant, if there is one.
    fn member(&self, value: BoundExpr, ty: &SqlType) -> Result<Option<ScalarValue>> {
        let to = ty.stripped();
        if to.enum_number().is_some() && value.ty.stripped().is_float() {
            return Err(no_common_type(&value.ty, ty));
        }
        let place = match fit(&value, to, self.session.ctx) {
            // The enum has no such name.
            Err(error) if error.code() == ErrorCode::UnknownElementOfEnum => return Ok(None),
            place => place?,
        };
        match place {
            Some(Fitted::Exact(value)) => return Ok(Some(value)),
            Some(Fitted::Several { alike, .. }) => return Ok(alike),
            Some(Fitted::Above(floor)) => return Ok(is_cut_in_sets(value.ty.stripped(), to).then_some(floor)),
            Some(Fitted::Beyond(_) | Fitted::Unordered) => return Ok(None),
            None => {}
        }
        // The zero bytes of a FixedString are kept.
        if let (SqlType::String, Some(ScalarValue::FixedSizeBinary(_, Some(bytes)))) = (to, value.constant())
        {
            return Ok(Some(ScalarValue::BinaryView(Some(bytes.clone()))));
        }
        let is_text =
            *to == SqlType::String && (value.ty.stripped().is_number() || value.ty.stripped().is_whole());
        let known = to.enum_number().is_none() && common_type([to, value.ty.stripped()]).is_some();
        if !known && !is_text && !value.ty.is_string() {
            return Err(no_common_type(&value.ty, ty));
        }
        let converted = convert(value.clone(), to, self.session.ctx)?;
        let member = super::evaluate(&converted.expr)?;
        let is_checked = matches!(to, SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..));
        // A nested number may have changed in the conversion.
        if is_checked && !value.ty.is_string() {
            let same = self.compare(Operator::Eq, BoundExpr::literal(member.clone(), to.clone()), value)?;
            let same = super::evaluate(&same.into_condition()?)?;
            return Ok((same == ScalarValue::Boolean(Some(true))).then_some(member));
        }
        Ok(Some(member))
    }

    fn in_rows(&self, left: Vec<BoundExpr>, rows: Vec<Vec<ScalarValue>>, negated: bool) -> Result<BoundExpr> {
        if rows.is_empty() {
            let outcome = Expr::Literal(ScalarValue::Boolean(Some(negated)), None);
            return Ok(null_if_left_is(&left, BoundExpr::truth(outcome, false)));
        }
        if let [column] = left.as_slice()
            && rows.len() <= LIST_MEMBERS_MAX
            && !column.ty.stripped().is_float()
        {
            let values = rows.into_iter().flatten().map(|value| Expr::Literal(value, None)).collect();
            return Ok(in_list(column.clone(), values, negated));
        }
        let arrays = (0..left.len())
            .map(|at| {
                ScalarValue::iter_to_array(rows.iter().map(|row| row[at].clone())).map_err(Error::logical)
            })
            .collect::<Result<Vec<_>>>()?;
        in_set(left, arrays, negated)
    }

    fn in_members(&self, left: Vec<BoundExpr>, members: Members, negated: bool) -> Result<BoundExpr> {
        let left = self.spread(left, members.types.len())?;
        let rows = members.arrays.first().map_or(0, |array| array.len());
        let same = left.iter().zip(&members.types).all(|(column, ty)| column.ty.stripped() == ty.stripped());
        if same && (rows > LIST_MEMBERS_MAX || left.len() > 1) {
            return in_set(left, members.arrays, negated);
        }
        let mut kept = Vec::with_capacity(rows);
        for row in 0..rows {
            check_memory()?;
            let values = members
                .arrays
                .iter()
                .zip(&members.types)
                .map(|(array, ty)| {
                    let value = ScalarValue::try_from_array(array, row).map_err(Error::logical)?;
                    Ok(BoundExpr::literal(value, ty.clone()))
                })
                .collect::<Result<Vec<_>>>()?;
            kept.extend(self.fit_row(&left, values)?);
        }
        self.in_rows(left, kept, negated)
    }

    /// The elements of a tuple on the left, to compare with several columns.
    pub(super) fn spread(&self, left: Vec<BoundExpr>, width: usize) -> Result<Vec<BoundExpr>> {
        if left.len() == width {
            return Ok(left);
        }
        if let [tuple] = left.as_slice()
            && matches!(tuple.ty.stripped(), SqlType::Tuple(elements) if elements.len() == width)
        {
            return (1..=width as u64).map(|index| self.tuple_element_at(tuple.clone(), index)).collect();
        }
        bail!(
            NumberOfColumnsDoesntMatch,
            "the left side of IN has {} columns, the right side has {width}",
            left.len()
        )
    }
}

fn in_list(column: BoundExpr, values: Vec<Expr>, negated: bool) -> BoundExpr {
    let nullable = column.accepts_null();
    BoundExpr::truth(Expr::InList(InList::new(Box::new(column.expr), values, negated)), nullable)
}

fn in_set(left: Vec<BoundExpr>, arrays: Vec<ArrayRef>, negated: bool) -> Result<BoundExpr> {
    let function = InSet::new(arrays)?.into_function();
    let args = left.iter().map(|column| column.expr.clone()).collect();
    let call = Expr::ScalarFunction(ScalarFunction::new_udf(function, args));
    Ok(null_if_left_is(&left, BoundExpr::truth(if negated { !call } else { call }, false)))
}

/// Whether ClickHouse truncates a time in a set to the type of the left side, although a comparison does not.
fn is_cut_in_sets(from: &SqlType, to: &SqlType) -> bool {
    match from {
        SqlType::DateTime(_) => matches!(to, SqlType::Date | SqlType::Date32),
        SqlType::DateTime64 { .. } => matches!(to, SqlType::DateTime64 { .. }),
        _ => false,
    }
}

/// The result for NULL on the left is NULL; a tuple that contains NULL is in no set.
pub(super) fn null_if_left_is(left: &[BoundExpr], outcome: BoundExpr) -> BoundExpr {
    match left {
        [column] if column.accepts_null() => {
            let null = Expr::Literal(ScalarValue::Boolean(None), None);
            let has_value = column.expr.clone().is_not_null();
            BoundExpr::truth(crate::bound_expr::case(vec![(has_value, outcome.expr)], null), true)
        }
        _ => outcome,
    }
}

pub(super) fn no_common_type(right: &SqlType, left: &SqlType) -> Error {
    Error::new(
        ErrorCode::TypeMismatch,
        format!("a member of type `{right}` cannot be in a set that is compared with type `{left}`"),
    )
}
