//! CREATE DICTIONARY.

use super::create::CreateWords;
use super::cursor::{Cursor, Parsed};
use crate::ast::{
    CreateDictionary, DictionaryAttribute, DictionaryLifetime, Ident, KeyValue, KeyValueArgument, Literal,
    Statement,
};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    /// Starts after the word DICTIONARY.
    pub(super) fn parse_create_dictionary(&mut self, words: CreateWords) -> Parsed<Statement> {
        let if_not_exists = self.eat_if_not_exists();
        let mut dictionary = CreateDictionary {
            name: self.parse_target()?,
            or_replace: words.or_replace,
            if_not_exists,
            attributes: Vec::new(),
            primary_key: Vec::new(),
            source: None,
            layout: None,
            lifetime: None,
            range: None,
            settings: Vec::new(),
            comment: None,
        };
        if self.is_symbol(Symbol::OpenParen) {
            dictionary.attributes = self.parse_parenthesized(Cursor::parse_attribute)?;
        }
        while self.parse_dictionary_clause(&mut dictionary)? {}
        Ok(Statement::CreateDictionary(Box::new(dictionary)))
    }

    fn parse_attribute(&mut self) -> Parsed<DictionaryAttribute> {
        let name = self.parse_ident()?;
        let mut attribute = DictionaryAttribute {
            name,
            ty: self.parse_type()?,
            default: None,
            expression: None,
            hierarchical: false,
            injective: false,
            is_object_id: false,
            bidirectional: false,
        };
        loop {
            match () {
                () if self.eat("DEFAULT") => attribute.default = Some(self.parse_default()?),
                () if self.eat("EXPRESSION") => attribute.expression = Some(self.parse_expr()?),
                () if self.eat("HIERARCHICAL") => attribute.hierarchical = self.parse_flag(),
                () if self.eat("INJECTIVE") => attribute.injective = self.parse_flag(),
                () if self.eat("IS_OBJECT_ID") => attribute.is_object_id = self.parse_flag(),
                () if self.eat("BIDIRECTIONAL") => attribute.bidirectional = self.parse_flag(),
                () => return Ok(attribute),
            }
        }
    }

    /// A literal; an array of literals becomes its text.
    fn parse_default(&mut self) -> Parsed<Literal> {
        if !self.eat_symbol(Symbol::OpenBracket) {
            return self.parse_literal();
        }
        let mut items = vec![self.parse_literal()?.to_string()];
        while self.eat_symbol(Symbol::Comma) {
            items.push(self.parse_literal()?.to_string());
        }
        self.expect_symbol(Symbol::CloseBracket)?;
        Ok(Literal::String(format!("[{}]", items.join(", ")).into_bytes()))
    }

    /// The value of a flag; a flag alone is set.
    fn parse_flag(&mut self) -> bool {
        let unset = self.eat("FALSE");
        let _noise = self.eat("TRUE");
        !unset
    }

    fn parse_dictionary_clause(&mut self, dictionary: &mut CreateDictionary) -> Parsed<bool> {
        match () {
            () if self.eat("PRIMARY KEY") => dictionary.primary_key = self.parse_dictionary_key()?,
            () if self.eat("SOURCE") => dictionary.source = Some(self.parse_enclosed_key_value()?),
            () if self.eat("LAYOUT") => dictionary.layout = Some(self.parse_enclosed_key_value()?),
            () if self.eat("LIFETIME") => dictionary.lifetime = Some(self.parse_lifetime()?),
            () if self.eat("RANGE") => dictionary.range = Some(self.parse_range()?),
            () if self.eat("SETTINGS") => {
                dictionary.settings = self.parse_parenthesized(Cursor::parse_setting)?;
            }
            () if self.eat("COMMENT") => dictionary.comment = Some(self.parse_string()?),
            () => return Ok(false),
        }
        Ok(true)
    }

    fn parse_dictionary_key(&mut self) -> Parsed<Vec<Ident>> {
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_ident);
        }
        self.parse_ident_list()
    }

    /// `(NAME(..))`; the inner parentheses may be left out.
    fn parse_enclosed_key_value(&mut self) -> Parsed<KeyValue> {
        self.expect_symbol(Symbol::OpenParen)?;
        let name = self.parse_ident()?.to_ascii_uppercase();
        let has_args = self.is_symbol(Symbol::OpenParen);
        let args = if has_args { self.parse_key_values()? } else { Vec::new() };
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(KeyValue { name, args })
    }

    /// `(key value key value ..)`.
    fn parse_key_values(&mut self) -> Parsed<Vec<(Ident, KeyValueArgument)>> {
        self.nested(|cursor| {
            cursor.expect_symbol(Symbol::OpenParen)?;
            let mut pairs = Vec::new();
            while !cursor.eat_symbol(Symbol::CloseParen) {
                let key = cursor.parse_ident()?.to_ascii_uppercase();
                pairs.push((key, cursor.parse_key_value()?));
            }
            Ok(pairs)
        })
    }

    fn parse_key_value(&mut self) -> Parsed<KeyValueArgument> {
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_key_values().map(KeyValueArgument::Nested);
        }
        let is_word = matches!(self.peek_kind(), TokenKind::Word | TokenKind::QuotedName);
        // Also for names that are words of literals, such as `null`.
        if is_word && self.is_symbol_at(1, Symbol::OpenParen) {
            return self.parse_call().map(|call| KeyValueArgument::Call(Box::new(call)));
        }
        if let Some(literal) = self.try_unsigned_literal()? {
            return Ok(KeyValueArgument::Literal(literal));
        }
        if !is_word {
            return self.parse_literal().map(KeyValueArgument::Literal);
        }
        self.parse_ident().map(KeyValueArgument::Ident)
    }

    /// `(n)`, `(MIN a MAX b)` or `(MAX b MIN a)`.
    fn parse_lifetime(&mut self) -> Parsed<DictionaryLifetime> {
        self.expect_symbol(Symbol::OpenParen)?;
        let (min_seconds, max_seconds) = if self.eat("MIN") {
            let min_seconds = self.parse_u64()?;
            self.expect("MAX")?;
            (min_seconds, self.parse_u64()?)
        } else if self.eat("MAX") {
            let max_seconds = self.parse_u64()?;
            self.expect("MIN")?;
            (self.parse_u64()?, max_seconds)
        } else {
            (0, self.parse_u64()?)
        };
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(DictionaryLifetime { min_seconds, max_seconds })
    }

    /// `(MIN a MAX b)`.
    fn parse_range(&mut self) -> Parsed<(Ident, Ident)> {
        self.expect_symbol(Symbol::OpenParen)?;
        self.expect("MIN")?;
        let low = self.parse_ident()?;
        self.expect("MAX")?;
        let high = self.parse_ident()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok((low, high))
    }
}
