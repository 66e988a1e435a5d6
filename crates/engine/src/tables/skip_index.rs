//! INDEX in a CREATE TABLE: the types of indexes, their parameters, and the types of values that they take.

use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_parts::{FilterSize, INDEX_GRANULARITY_MAX, IndexKind, Indexed, KeyExpression, SkipIndex};
use basalt_sql::ast::{DefaultKind, Expr, IndexCall, IndexDef, Literal, TableElement};

use super::TableDefinition;
use super::key::PlannedKey;

/// The false positive rate of a `bloom_filter` that names none.
const FALSE_POSITIVE_DEFAULT: f64 = 0.025;
/// Bytes of a filter at most.
const FILTER_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a name at most: an index has a file that is named after it.
const NAME_BYTES_MAX: usize = 80;
/// Types that ClickHouse has and Basalt does not yet.
const NOT_BUILT: &[&str] = &["hypothesis", "sparse_grams", "text", "vector_similarity"];

impl TableDefinition {
    /// The INDEX clauses of the table.
    pub(crate) fn index_clauses(&self) -> impl Iterator<Item = &IndexDef> {
        self.create.elements.iter().filter_map(|element| match element {
            TableElement::Index(index) => Some(index),
            _ => None,
        })
    }

    /// The skip indexes of the table, checked.
    pub(crate) fn skip_indexes(&self) -> Result<Vec<SkipIndex>> {
        let mut indexes: Vec<SkipIndex> = Vec::new();
        for clause in self.index_clauses() {
            if indexes.iter().any(|other| other.name == clause.name) {
                bail!(IllegalIndex, "index `{}` is listed twice; names of indexes are unique", clause.name);
            }
            if clause.name.len() > NAME_BYTES_MAX {
                bail!(
                    BadArguments,
                    "the name of index `{}` is longer than {NAME_BYTES_MAX} bytes",
                    clause.name
                );
            }
            let index = self.skip_index(clause);
            indexes.push(index.map_err(|error| error.within(format!("index `{}`", clause.name)))?);
        }
        Ok(indexes)
    }

    fn skip_index(&self, clause: &IndexDef) -> Result<SkipIndex> {
        let exprs = self.indexed(clause);
        if exprs.is_empty() {
            bail!(IncorrectQuery, "an index is of one column or expression at least");
        }
        if let Some(twice) = exprs.iter().enumerate().find(|(at, expr)| exprs[..*at].contains(expr)) {
            bail!(BadArguments, "the index has `{}` twice", twice.1);
        }
        let Some(kind) = &clause.kind else {
            bail!(IncorrectQuery, "TYPE is required for index, for example TYPE minmax");
        };
        let kind = kind_of(kind)?;
        let mut elements = Vec::with_capacity(exprs.len());
        for expr in &exprs {
            let (element, ty) = self.index_element(expr)?;
            check_type(&kind, &ty)?;
            elements.push(element);
        }
        let granularity = clause.granularity.unwrap_or(1);
        if !(1..=u64::from(INDEX_GRANULARITY_MAX)).contains(&granularity) {
            bail!(BadArguments, "GRANULARITY is 1 to {INDEX_GRANULARITY_MAX} granules, got {granularity}");
        }
        Ok(SkipIndex { name: clause.name.clone(), elements, kind, granularity: granularity as u32 })
    }

    /// The elements of a tuple, or the expression itself; an ALIAS column stands for its expression.
    pub(crate) fn indexed(&self, clause: &IndexDef) -> Vec<Expr> {
        let elements = match &clause.expr {
            Expr::Tuple(elements) => elements.clone(),
            Expr::Function(call) if call.name == "tuple" => call.args.clone(),
            expr => vec![expr.clone()],
        };
        let resolved = |expr: Expr| match &expr {
            Expr::Identifier(parts) => {
                let column = self.column(&parts.join("."));
                let alias = column.filter(|column| column.kind() == Some(DefaultKind::Alias));
                alias.and_then(|column| column.default.as_ref()?.expr.clone()).unwrap_or(expr)
            }
            _ => expr,
        };
        elements.into_iter().map(resolved).collect()
    }

    /// As [`SkipIndex::text`].
    pub(crate) fn indexed_text(&self, clause: &IndexDef) -> String {
        let text = |expr: &Expr| match expr {
            Expr::Identifier(parts) => parts.join("."),
            other => other.to_string(),
        };
        let texts: Vec<String> = self.indexed(clause).iter().map(text).collect();
        texts.join(", ")
    }

    fn index_element(&self, expr: &Expr) -> Result<(Indexed, SqlType)> {
        match expr {
            Expr::Literal(_) => bail!(IncorrectQuery, "an index cannot be of the constant `{expr}`"),
            Expr::Identifier(_) => {
                let name = self.key_column(expr, "INDEX")?;
                let Some(column) = self.column(&name) else {
                    return Err(Error::logical(format!("column `{name}` was there just now")));
                };
                Ok((Indexed::Column(name), column.ty.clone()))
            }
            _ => {
                let unfolds = |part: &Expr| matches!(part, Expr::Function(call) if call.name == "arrayJoin");
                if expr.any(&mut |part| unfolds(part)) {
                    bail!(IncorrectQuery, "an index cannot have arrayJoin: `{expr}`");
                }
                let planned = PlannedKey::plan(&self.stored(), expr, "index")?;
                let ty = planned.ty().clone();
                Ok((Indexed::Expression(Arc::new(planned)), ty))
            }
        }
    }
}

fn kind_of(call: &IndexCall) -> Result<IndexKind> {
    match call.name.as_str() {
        "minmax" => Ok(IndexKind::MinMax),
        "set" => match call.args.as_slice() {
            [Literal::UInt(values_max)] => Ok(IndexKind::Set { values_max: *values_max }),
            [other] => {
                let other = Expr::Literal(other.clone());
                bail!(IncorrectQuery, "the argument of set is a positive integer, got `{other}`")
            }
            args => bail!(IncorrectQuery, "set takes exactly one argument, got {}", args.len()),
        },
        "bloom_filter" => bloom_filter(&call.args),
        "ngrambf_v1" => {
            let [n, bytes, hashes, seed] = numbers(call)?;
            if !(1..=u64::from(u16::MAX)).contains(&n) {
                bail!(BadArguments, "n-grams have 1 to {} bytes, got {n}", u16::MAX);
            }
            Ok(IndexKind::NgramFilter { n: n as u32, filter: filter_size(bytes, hashes, seed)? })
        }
        "tokenbf_v1" => {
            let [bytes, hashes, seed] = numbers(call)?;
            Ok(IndexKind::TokenFilter { filter: filter_size(bytes, hashes, seed)? })
        }
        known if NOT_BUILT.contains(&known) => {
            bail!(NotImplemented, "an index of type {known} is not implemented")
        }
        other => bail!(
            IncorrectQuery,
            "index type `{other}` is not known; there are bloom_filter, minmax, ngrambf_v1, set and tokenbf_v1"
        ),
    }
}

fn bloom_filter(args: &[Literal]) -> Result<IndexKind> {
    let false_positive = match args {
        [] => Some(FALSE_POSITIVE_DEFAULT),
        [Literal::Number(text)] => text.parse().ok(),
        [_] => None,
        more => {
            bail!(NumberOfArgumentsDoesntMatch, "bloom_filter takes at most one argument, got {}", more.len())
        }
    };
    match false_positive {
        Some(false_positive) if false_positive > 0.0 && false_positive < 1.0 => {
            Ok(IndexKind::BloomFilter { false_positive })
        }
        _ => bail!(BadArguments, "the false positive rate of bloom_filter is a number between 0 and 1"),
    }
}

/// The arguments of a filter of fixed size.
fn numbers<const N: usize>(call: &IndexCall) -> Result<[u64; N]> {
    let number = |literal: &Literal| match literal {
        Literal::UInt(number) => Some(*number),
        _ => None,
    };
    let found: Option<Vec<u64>> = call.args.iter().map(number).collect();
    let Some(found) = found else {
        bail!(BadArguments, "the arguments of {} are integers that are not negative", call.name);
    };
    found.try_into().map_err(|found: Vec<u64>| {
        let what = format!("{} takes exactly {N} arguments, got {}", call.name, found.len());
        Error::new(ErrorCode::BadArguments, what)
    })
}

fn filter_size(bytes: u64, hashes: u64, seed: u64) -> Result<FilterSize> {
    if !(1..=FILTER_BYTES_MAX).contains(&bytes) {
        bail!(BadArguments, "a filter has 1 to {FILTER_BYTES_MAX} bytes, got {bytes}");
    }
    if !(1..=32).contains(&hashes) {
        bail!(BadArguments, "a filter has 1 to 32 hash functions, got {hashes}");
    }
    Ok(FilterSize { bytes: bytes as u32, hashes: hashes as u32, seed })
}

/// Checks that an index of this kind takes values of the type.
fn check_type(kind: &IndexKind, ty: &SqlType) -> Result<()> {
    match kind {
        IndexKind::MinMax | IndexKind::Set { .. } => Ok(()),
        IndexKind::BloomFilter { .. } => {
            let is_nested =
                matches!(element(ty).stripped(), SqlType::Tuple(_) | SqlType::Map(..) | SqlType::Array(_));
            let has_null_elements = element(ty) != ty && element(ty).accepts_null();
            if is_nested || has_null_elements {
                bail!(IllegalColumn, "a bloom_filter cannot be of type {ty}");
            }
            Ok(())
        }
        IndexKind::NgramFilter { .. } | IndexKind::TokenFilter { .. } => {
            let inner = match element(ty) {
                SqlType::LowCardinality(inner) => inner.as_ref(),
                plain => plain,
            };
            match inner {
                SqlType::String | SqlType::FixedString(_) => Ok(()),
                _ => bail!(
                    BadArguments,
                    "{} is of String, FixedString, LowCardinality or arrays of them, not of {}",
                    kind.name(),
                    ty
                ),
            }
        }
    }
}

fn element(ty: &SqlType) -> &SqlType {
    match ty {
        SqlType::Array(element) => element.as_ref(),
        other => other,
    }
}
