//! The parameters in a request's URL and headers.
//!
//! A name that is not listed in [`Parameters::take`] is a setting, so that the engine refuses a misspelt name.

use std::collections::HashMap;

use axum::http::HeaderMap;
use basalt_engine::compression::Compression;
use basalt_engine::{Error, ErrorCode, Result};

use super::compression::accepted;
use super::query_string;
use crate::sessions::{self, SessionChoice};

/// The default number of bytes that are buffered before the head is sent.
const DEFAULT_BUFFER_BYTES: u64 = 1 << 20;

/// The parameters of a request, without the body.
#[derive(Debug)]
pub(super) struct Parameters {
    /// The statement, or its start.
    pub(super) query: Option<Vec<u8>>,
    pub(super) query_id: Option<String>,
    pub(super) database: Option<String>,
    pub(super) default_format: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// The roles of the request, instead of those of the session.
    pub(super) roles: Vec<String>,
    pub(super) quota_key: Option<String>,
    pub(super) session: SessionChoice,
    pub(super) settings: Vec<(String, String)>,
    /// Values of `{name:Type}`.
    pub(super) substitutions: HashMap<String, String>,
    /// Whether to buffer the whole answer until the query has ended.
    pub(super) wait_end_of_query: bool,
    /// How much to buffer, so that an early error has its status.
    pub(super) buffer_bytes: u64,
    pub(super) send_progress: bool,
    /// Whether the answer is in compressed frames.
    pub(super) frames_answer: bool,
    /// Whether the body of the request is.
    pub(super) frames_body: bool,
    /// Whether to compress the answer, if the request accepts it.
    compresses: bool,
    pub(super) encoding: Option<Compression>,
    pub(super) compression_level: u32,
}

impl Parameters {
    pub(super) fn read(query_string: &str, headers: &HeaderMap) -> Result<Parameters> {
        let mut parameters = Parameters {
            query: None,
            query_id: None,
            database: header(headers, "x-clickhouse-database"),
            default_format: header(headers, "x-clickhouse-format"),
            user: None,
            password: None,
            roles: Vec::new(),
            quota_key: None,
            session: SessionChoice::default(),
            settings: Vec::new(),
            substitutions: HashMap::new(),
            wait_end_of_query: false,
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            send_progress: false,
            frames_answer: false,
            frames_body: false,
            compresses: false,
            encoding: None,
            compression_level: Compression::DEFAULT_LEVEL,
        };
        for (name, value) in query_string::parse(query_string) {
            if name == "query" {
                parameters.query = Some(value);
            } else {
                let value = text(&name, value)?;
                parameters.take(name, value)?;
            }
        }
        if parameters.compresses {
            parameters.encoding = accepted(headers);
        }
        if parameters.query_id.is_none() {
            parameters.query_id = header(headers, "x-clickhouse-query-id").filter(|id| !id.is_empty());
        }
        Ok(parameters)
    }

    /// Takes a part of a form that is no table.
    pub(super) fn take_part(&mut self, name: String, value: Vec<u8>) -> Result<()> {
        if name == "query" {
            self.query = Some(value);
            return Ok(());
        }
        let value = text(&name, value)?;
        self.take(name, value)
    }

    /// Whether `name` is that of an external table.
    pub(super) fn describes_table(&self, name: &str) -> bool {
        let is_asked =
            |suffix: &str| self.settings.iter().any(|(known, _)| *known == format!("{name}{suffix}"));
        is_asked("_structure") || is_asked("_types")
    }

    /// Takes a parameter of the external table `name`, which is no setting.
    pub(super) fn take_of_table(&mut self, name: &str, suffix: &str) -> Option<String> {
        let wanted = format!("{name}{suffix}");
        let place = self.settings.iter().position(|(known, _)| *known == wanted)?;
        Some(self.settings.remove(place).1)
    }

    fn take(&mut self, name: String, value: String) -> Result<()> {
        match name.as_str() {
            "query_id" => self.query_id = Some(value).filter(|id| !id.is_empty()),
            "database" => self.database = Some(value),
            "default_format" => self.default_format = Some(value),
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "role" => self.roles.push(value),
            "quota_key" => self.quota_key = Some(value),
            "session_id" => self.session.id = Some(value).filter(|id| !id.is_empty()),
            "session_timeout" => self.session.timeout = Some(sessions::parse_timeout(&value)?),
            "session_check" => self.session.must_exist = flag(&name, &value)?,
            "wait_end_of_query" => self.wait_end_of_query = flag(&name, &value)?,
            "buffer_size" => self.buffer_bytes = byte_count(&name, &value)?,
            "send_progress_in_http_headers" => self.send_progress = flag(&name, &value)?,
            "enable_http_compression" => self.compresses = flag(&name, &value)?,
            "http_zlib_compression_level" => self.compression_level = level(&name, &value)?,
            "compress" => self.frames_answer = flag(&name, &value)?,
            "decompress" => self.frames_body = flag(&name, &value)?,
            // An answer never has a stack trace.
            "stacktrace" => {}
            _ => match name.strip_prefix("param_") {
                Some(parameter) => drop(self.substitutions.insert(parameter.to_owned(), value)),
                None => self.settings.push((name, value)),
            },
        }
        Ok(())
    }
}

/// A header as text; a header that is not ASCII counts as absent.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn text(name: &str, value: Vec<u8>) -> Result<String> {
    String::from_utf8(value).map_err(|_| bad(name, "is not UTF-8"))
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(bad(name, &format!("is `{value}`, expected 0 or 1"))),
    }
}

fn byte_count(name: &str, value: &str) -> Result<u64> {
    value.parse().map_err(|_| bad(name, &format!("is `{value}`, expected a number of bytes")))
}

fn level(name: &str, value: &str) -> Result<u32> {
    value.parse().map_err(|_| bad(name, &format!("is `{value}`, expected a level")))
}

fn bad(name: &str, what: &str) -> Error {
    Error::new(ErrorCode::BadArguments, format!("the URL parameter `{name}` {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query_string: &str) -> Result<Parameters> {
        Parameters::read(query_string, &HeaderMap::new())
    }

    #[test]
    fn unlisted_names_are_settings() {
        let parameters = read("query=SELECT+1&max_threads=2&param_id=7").expect("valid");
        assert_eq!(parameters.query.as_deref(), Some(&b"SELECT 1"[..]));
        assert_eq!(parameters.settings, [("max_threads".to_owned(), "2".to_owned())]);
        assert_eq!(parameters.substitutions["id"], "7");
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        for query in ["wait_end_of_query=maybe", "buffer_size=-1", "session_timeout=x", "database=%ff"] {
            let message = read(query).expect_err(query).to_string();
            let name = query.split('=').next().expect("a name");
            assert!(message.contains(name), "{message}");
        }
    }

    #[test]
    fn external_tables_are_described_by_parameters() {
        let text = "ext_structure=a+UInt8&ext_format=CSV&date_time_output_format=iso";
        let mut parameters = read(text).expect("valid");
        assert!(parameters.describes_table("ext") && !parameters.describes_table("other"));
        assert_eq!(parameters.take_of_table("ext", "_format").as_deref(), Some("CSV"));
        assert_eq!(parameters.take_of_table("ext", "_structure").as_deref(), Some("a UInt8"));
        assert_eq!(parameters.settings, [("date_time_output_format".to_owned(), "iso".to_owned())]);
    }

    #[test]
    fn frames_are_asked_for_by_name() {
        let parameters = read("compress=1&decompress=0").expect("valid");
        assert!(parameters.frames_answer && !parameters.frames_body);
    }
}
