//! What a client of a server does itself: it writes answers to files and, over the native protocol, into formats, and it
//! reads the data of an INSERT.

use std::io::Read;

use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Columns, Error, Result, bail};
use basalt_formats::{
    Block, BlockReader, BlockSource, BlockWriter, Defaulted, FormatSettings, open_reader, open_writer,
};
use basalt_sql::ast::{Describe, InsertSource, Statement};

use crate::context::formats_of;
use crate::outfile::Outfile;
use crate::query::{changes, clause_settings};
use crate::settings::Settings;

/// The settings of a client's session, as far as formats need them.
#[derive(Clone)]
pub struct ClientSettings {
    settings: Settings,
    /// The zone of the server.
    zone: Zone,
}

impl ClientSettings {
    /// `timezone` is the name of the server's zone; a name that is not known here means UTC.
    pub fn new(timezone: &str) -> ClientSettings {
        ClientSettings {
            settings: Settings::default(),
            zone: Zone::parse(timezone).unwrap_or_else(|_| Zone::utc()),
        }
    }

    /// Settings that the server has accepted; a newer server may know more of them.
    pub fn accept(&mut self, settings: &[(String, String)]) {
        for (name, value) in settings {
            // Those that are not known here are not for formats.
            let _ = self.settings.set(name, value);
        }
    }

    fn formats(&self) -> FormatSettings {
        let zone = match self.settings.session_timezone.as_str() {
            "" => self.zone,
            name => Zone::parse(name).unwrap_or(self.zone),
        };
        formats_of(&self.settings, zone)
    }
}

/// A statement as its client understands it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStatement {
    /// The statement without INTO OUTFILE; the format that the file's name means is its FORMAT clause.
    pub text: Vec<u8>,
    /// Where the client writes the answer.
    pub outfile: Option<Outfile>,
    /// The format of the FORMAT clause.
    pub format: Option<String>,
    /// The format of the data that follow the statement.
    pub data_format: Option<String>,
    /// The settings of its own SETTINGS clauses.
    settings: Vec<(String, String)>,
    /// The settings that a SET gives to the session.
    pub session_settings: Vec<(String, String)>,
}

impl ClientStatement {
    /// A text that does not parse is left for the server to judge.
    pub fn parse(text: Vec<u8>) -> Result<ClientStatement> {
        let Ok(mut statement) = basalt_sql::parse_statement(&text) else {
            return Ok(ClientStatement { text, ..ClientStatement::default() });
        };
        let mut client =
            ClientStatement { settings: changes(&clause_settings(&statement)), ..Default::default() };
        client.text = text;
        match &mut statement {
            Statement::Query(query) => {
                if let Some(clause) = query.into_outfile.take() {
                    let outfile = Outfile::of_clause(&clause)?;
                    if query.format.is_none() {
                        query.format = Some(outfile.format()?);
                    }
                    client.outfile = Some(outfile);
                }
                client.format.clone_from(&query.format);
            }
            Statement::Insert(insert) => match &insert.source {
                InsertSource::Values { .. } => client.data_format = Some("Values".to_owned()),
                InsertSource::Format { name, .. } => client.data_format = Some(name.clone()),
                InsertSource::Query(_) | InsertSource::Infile { .. } => {}
            },
            Statement::Set { changes: list, .. } => client.session_settings = changes(list),
            other => client.format = format_of(other),
        }
        if client.outfile.is_some() {
            client.text = statement.to_string().into_bytes();
        }
        Ok(client)
    }

    /// Writes the answer, in `default_format` if the statement names none.
    pub fn writer(
        &self,
        columns: &Columns,
        default_format: &str,
        session: &ClientSettings,
    ) -> Result<Box<dyn BlockWriter>> {
        let format = self.format.as_deref().unwrap_or(default_format);
        open_writer(format, columns, &self.formats(session))
    }

    /// Reads the data of an INSERT whose columns the server has said.
    pub fn data(
        &self,
        columns: &Columns,
        session: &ClientSettings,
        input: Box<dyn Read + Send>,
    ) -> Result<ClientData> {
        let format = self.data_format.as_deref().unwrap_or_default();
        let reader = open_reader(format, columns, &self.formats(session), input)?;
        Ok(ClientData { reader, columns: columns.clone(), waiting: Vec::new() })
    }

    fn formats(&self, session: &ClientSettings) -> FormatSettings {
        let mut session = session.clone();
        session.accept(&self.settings);
        session.formats()
    }
}

fn format_of(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Show(show) => show.format.clone(),
        Statement::Describe(Describe::Table { format, .. } | Describe::Factor { format, .. }) => {
            format.clone()
        }
        Statement::Explain(explain) => explain.format.clone(),
        Statement::Check(check) => check.format.clone(),
        _ => None,
    }
}

/// The rows of an INSERT. A block has only the columns that its rows give: the server knows the defaults of the others.
pub struct ClientData {
    reader: Box<dyn BlockReader>,
    columns: Columns,
    /// Blocks with their columns, the next one last.
    waiting: Vec<(Columns, RecordBatch)>,
}

impl BlockSource for ClientData {
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>> {
        while self.waiting.is_empty() {
            let Some(block) = self.reader.next_block()? else { return Ok(None) };
            self.waiting = given_columns(&block, &self.columns)?;
            self.waiting.reverse();
        }
        Ok(self.waiting.pop())
    }
}

/// The block as blocks of consecutive rows that give the same columns.
fn given_columns(block: &Block, columns: &Columns) -> Result<Vec<(Columns, RecordBatch)>> {
    let rows = block.batch.num_rows();
    let is_given = |column: usize, row: usize| match &block.defaulted[column] {
        Defaulted::Never => true,
        Defaulted::Always => false,
        Defaulted::Rows(rows) => !rows.value(row),
    };
    let given =
        |row: usize| (0..columns.len()).filter(move |column| is_given(*column, row)).collect::<Vec<_>>();
    let is_whole = block.defaulted.iter().all(|defaulted| !matches!(defaulted, Defaulted::Rows(_)));
    let mut blocks = Vec::new();
    let mut begin = 0;
    while begin < rows {
        let kept = given(begin);
        let end = if is_whole { rows } else { (begin..rows).find(|row| given(*row) != kept).unwrap_or(rows) };
        let part = block.batch.slice(begin, end - begin);
        if kept.is_empty() {
            bail!(
                NotImplemented,
                "a row without any value cannot be sent over the native protocol; name a column"
            );
        }
        let of_part = kept.iter().map(|column| columns[*column].clone()).collect();
        blocks.push((Columns::new(of_part), part.project(&kept).map_err(Error::logical)?));
        begin = end;
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ClientStatement {
        ClientStatement::parse(text.as_bytes().to_vec()).expect("a statement")
    }

    #[test]
    fn output_of_a_statement_is_the_clients() {
        let asked = parse("SELECT 1 INTO OUTFILE 'a.csv'");
        assert_eq!(asked.outfile.map(|file| file.path), Some("a.csv".to_owned()));
        assert_eq!(asked.format.as_deref(), Some("CSV"));
        assert_eq!(String::from_utf8_lossy(&asked.text), "SELECT 1 FORMAT CSV");
        for (text, format) in [
            ("SHOW TABLES FORMAT JSON", Some("JSON")),
            ("DESCRIBE t FORMAT CSV", Some("CSV")),
            ("EXPLAIN SELECT 1 FORMAT TSVRaw", Some("TSVRaw")),
            ("SELECT 1", None),
            ("no statement", None),
        ] {
            let asked = parse(text);
            assert_eq!((asked.format.as_deref(), asked.text), (format, text.as_bytes().to_vec()), "{text}");
        }
    }

    #[test]
    fn settings_of_a_statement_are_for_its_format() {
        let session = ClientSettings::new("Europe/Berlin");
        let asked = parse("SELECT 1 FORMAT CSV SETTINGS format_csv_delimiter = ';'");
        assert_eq!(asked.formats(&session).csv.delimiter, b';');
        assert_eq!(asked.formats(&session).text.zone.name(), "Europe/Berlin");
        let set = parse("SET format_csv_delimiter = '|', session_timezone = 'Asia/Tokyo'");
        let mut session = session;
        session.accept(&set.session_settings);
        assert_eq!(session.formats().csv.delimiter, b'|');
        assert_eq!(session.formats().text.zone.name(), "Asia/Tokyo");
    }
}
