//! EXPLAIN.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Explain, ExplainKind, Setting, Statement};
use crate::lexer::Symbol;

impl Cursor<'_> {
    pub(super) fn parse_explain(&mut self) -> Parsed<Statement> {
        self.nested(|cursor| {
            cursor.expect("EXPLAIN")?;
            let kind = cursor.parse_explain_kind()?;
            let settings = cursor.parse_explain_settings()?;
            let mut statement = Box::new(cursor.parse_statement()?);
            // FORMAT after an explained query is the format of the explanation.
            let format = match statement.as_mut() {
                Statement::Query(query) => query.format.take(),
                _ => cursor.parse_format()?,
            };
            Ok(Statement::Explain(Explain { kind, settings, statement, format }))
        })
    }

    fn parse_explain_kind(&mut self) -> Parsed<ExplainKind> {
        Ok(match () {
            () if self.eat("AST") => ExplainKind::Ast,
            () if self.eat("SYNTAX") => ExplainKind::Syntax,
            () if self.eat("PIPELINE") => ExplainKind::Pipeline,
            () if self.eat("ESTIMATE") => ExplainKind::Estimate,
            () if self.eat("ANALYZE") => ExplainKind::Analyze,
            () if self.is_phrase("QUERY TREE") => return Err(self.not_implemented("EXPLAIN QUERY TREE")),
            () if self.is_phrase("TABLE OVERRIDE") => {
                return Err(self.not_implemented("EXPLAIN TABLE OVERRIDE"));
            }
            () if self.is_phrase("CURRENT TRANSACTION") => {
                return Err(self.not_implemented("EXPLAIN CURRENT TRANSACTION"));
            }
            () => {
                let _noise = self.eat("PLAN");
                ExplainKind::Plan
            }
        })
    }

    fn parse_explain_settings(&mut self) -> Parsed<Vec<Setting>> {
        if self.is_symbol_at(1, Symbol::Equal) { self.parse_settings() } else { Ok(Vec::new()) }
    }
}
