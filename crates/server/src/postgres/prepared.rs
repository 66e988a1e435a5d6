//! A statement that was parsed, for later.

use std::sync::OnceLock;

use basalt_engine::postgres::{self, ParameterValue, PostgresCommand, PostgresParameter};
use basalt_engine::{PostgresDescription, PostgresType, SqlType};
use basalt_wire::postgres::{FieldDescription, Format, parameter_type};

use super::failure::{Failure, Outcome};

/// The name and the type of the one column of SHOW.
const TEXT: u32 = 25;

/// A parsed statement.
pub(super) struct Prepared {
    pub(super) text: Vec<u8>,
    /// `None` for a text without a statement.
    pub(super) command: Option<PostgresCommand>,
    /// The types that the client declared, without values.
    pub(super) declared: Vec<PostgresParameter>,
    /// Their numbers; 0 is an unknown one.
    oids: Vec<u32>,
    /// How many parameters the text has.
    parameter_count: usize,
    pub(super) description: OnceLock<PostgresDescription>,
}

impl Prepared {
    /// Parses the text of at most one statement, whose first parameters have the types `oids`.
    pub(super) fn parse(text: &[u8], oids: Vec<u32>) -> Outcome<Prepared> {
        let statements = postgres::split(text).map_err(basalt_engine::Error::from)?;
        let text = match statements.as_slice() {
            [] => Vec::new(),
            [only] => text[only.clone()].to_vec(),
            _ => {
                let what = "cannot insert multiple commands into a prepared statement";
                return Err(Failure::new("42601", what));
            }
        };
        let declared = oids
            .iter()
            .map(|oid| PostgresParameter::new(parameter_type(*oid).as_deref(), ParameterValue::Unbound))
            .collect::<Result<Vec<_>, _>>()
            .map_err(basalt_engine::Error::from)?;
        Prepared::with_types(text, declared, oids)
    }

    /// A statement of PREPARE, which names its types.
    pub(super) fn with_types(
        text: Vec<u8>,
        declared: Vec<PostgresParameter>,
        oids: Vec<u32>,
    ) -> Outcome<Prepared> {
        let command = match text.is_empty() {
            true => None,
            false => Some(postgres::parse_command(&text).map_err(basalt_engine::Error::from)?),
        };
        let parameter_count = match command {
            Some(PostgresCommand::Statement { .. }) => {
                postgres::parse(&text, &declared).map_err(basalt_engine::Error::from)?.parameter_count
            }
            _ => 0,
        };
        Ok(Prepared { text, command, declared, oids, parameter_count, description: OnceLock::new() })
    }

    /// A statement for the engine that was not parsed yet.
    pub(super) fn for_engine(text: Vec<u8>, tag: &'static str) -> Prepared {
        let command = Some(PostgresCommand::Statement { tag });
        Prepared {
            text,
            command,
            declared: Vec::new(),
            oids: Vec::new(),
            parameter_count: 0,
            description: OnceLock::new(),
        }
    }

    /// The tag of a statement that the engine runs.
    pub(super) fn engine_tag(&self) -> Option<&'static str> {
        match self.command {
            Some(PostgresCommand::Statement { tag }) => Some(tag),
            _ => None,
        }
    }

    /// Whether running it may give rows, so that its columns are only known then.
    pub(super) fn may_have_rows(&self) -> bool {
        match &self.command {
            Some(PostgresCommand::Statement { tag }) => matches!(*tag, "SELECT" | "SHOW" | "EXPLAIN" | "OK"),
            Some(PostgresCommand::Execute { .. }) => true,
            _ => false,
        }
    }

    /// The types of the parameters by number: declared ones, or those that their places have.
    pub(super) fn parameter_oids(&self) -> Vec<u32> {
        let found = self.description.get().map_or(&[][..], |description| &description.parameter_types);
        let count = self.oids.len().max(found.len()).max(self.parameter_count);
        let oid = |index: usize| match self.oids.get(index) {
            Some(oid) if *oid != 0 => *oid,
            _ => found.get(index).map_or(0, |ty| ty.oid),
        };
        (0..count).map(oid).collect()
    }

    /// The type of ours that the place of a parameter has, if the client declared none.
    pub(super) fn inferred(&self, index: usize) -> Option<&SqlType> {
        match self.oids.get(index) {
            Some(oid) if *oid != 0 => None,
            _ => self.description.get()?.parameters.get(index),
        }
    }

    /// Whether the types of some of `count` parameters are neither declared nor found yet.
    pub(super) fn has_unknown_types(&self, count: usize) -> bool {
        self.description.get().is_none()
            && (0..count).any(|index| self.oids.get(index).is_none_or(|oid| *oid == 0))
    }

    /// The columns, as far as the text tells; `None` for a statement without rows.
    pub(super) fn fields(&self, formats: &[Format]) -> Option<Vec<FieldDescription>> {
        let description = self.description.get()?;
        let columns = description.columns.as_ref()?;
        Some(fields(columns.iter().map(|column| column.name.as_str()), &description.postgres_types, formats))
    }
}

/// Columns with the formats that the client wants.
pub(super) fn fields<'a>(
    names: impl Iterator<Item = &'a str>,
    types: &[PostgresType],
    formats: &[Format],
) -> Vec<FieldDescription> {
    let fields = names.zip(types).enumerate().map(|(index, (name, ty))| FieldDescription {
        name: name.to_owned(),
        oid: ty.oid,
        length: ty.length,
        modifier: ty.modifier,
        format: Format::of(formats, index),
    });
    fields.collect()
}

/// Columns of texts.
pub(super) fn text_fields(names: &[String], formats: &[Format]) -> Vec<FieldDescription> {
    let types = vec![PostgresType { oid: TEXT, length: -1, modifier: -1 }; names.len()];
    fields(names.iter().map(String::as_str), &types, formats)
}
