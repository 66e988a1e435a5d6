//! SYSTEM commands.

use super::cursor::{Cursor, Parsed};
use crate::ast::{ObjectName, Statement, SystemCommand};
use crate::lexer::TokenKind;

impl Cursor<'_> {
    pub(super) fn parse_system(&mut self) -> Parsed<Statement> {
        self.expect("SYSTEM")?;
        let command = match () {
            () if self.eat("RELOAD DICTIONARY") => {
                self.refuse_cluster()?;
                SystemCommand::ReloadDictionary(self.parse_dictionary_name()?)
            }
            () if self.eat("RELOAD DICTIONARIES") => SystemCommand::ReloadDictionaries,
            () if self.eat("UNLOAD DICTIONARY") => {
                self.refuse_cluster()?;
                SystemCommand::UnloadDictionary(self.parse_dictionary_name()?)
            }
            () if self.eat("UNLOAD DICTIONARIES") => SystemCommand::UnloadDictionaries,
            () if self.is_phrase("FLUSH LOGS") && self.ends_at(2) => {
                self.eat("FLUSH LOGS");
                SystemCommand::FlushLogs
            }
            () if self.eat("STOP MERGES") => SystemCommand::StopMerges(self.parse_optional_name()?),
            () if self.eat("START MERGES") => SystemCommand::StartMerges(self.parse_optional_name()?),
            () if self.eat("STOP TTL MERGES") => SystemCommand::StopTtlMerges(self.parse_optional_name()?),
            () if self.eat("START TTL MERGES") => SystemCommand::StartTtlMerges(self.parse_optional_name()?),
            () if self.eat("RESTORE TABLE") => {
                self.refuse_cluster()?;
                SystemCommand::RestoreTable(self.parse_object_name()?)
            }
            () if self.eat("SHUTDOWN") => SystemCommand::Shutdown,
            () => self.parse_other_system()?,
        };
        self.refuse_cluster()?;
        Ok(Statement::System(command))
    }

    /// A name, or a string with one: `'database.name'`.
    fn parse_dictionary_name(&mut self) -> Parsed<ObjectName> {
        if self.peek_kind() != TokenKind::String {
            return self.parse_object_name();
        }
        let text = self.parse_string()?;
        Ok(match text.split_once('.') {
            Some((database, name)) => {
                ObjectName { database: Some(database.to_owned()), name: name.to_owned() }
            }
            None => ObjectName { database: None, name: text },
        })
    }

    fn parse_optional_name(&mut self) -> Parsed<Option<ObjectName>> {
        self.refuse_cluster()?;
        if self.at_statement_end() { Ok(None) } else { self.parse_object_name().map(Some) }
    }

    /// `DROP <which> CACHE`, or the words of an unknown command.
    fn parse_other_system(&mut self) -> Parsed<SystemCommand> {
        if self.at_statement_end() {
            return Err(self.unexpected());
        }
        let words = self.take_words(&[])?;
        let upper = words.to_ascii_uppercase();
        if upper.contains("ON CLUSTER") {
            return Err(self.not_implemented("ON CLUSTER"));
        }
        let which = upper.strip_prefix("DROP ").and_then(|rest| rest.strip_suffix(" CACHE"));
        Ok(match which {
            Some(which) => SystemCommand::DropCaches { which: which.to_owned() },
            None => SystemCommand::Other { words },
        })
    }

    fn ends_at(&mut self, ahead: usize) -> bool {
        use crate::lexer::{Symbol, TokenKind};
        matches!(self.peek_at(ahead).kind, TokenKind::End | TokenKind::Symbol(Symbol::Semicolon))
    }
}
