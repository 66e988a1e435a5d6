//! Requests with a form: parts with data are external tables, all others are parameters.
//!
//! A part `NAME` is a table if it has the name of a file, or if there is a parameter `NAME_structure` or `NAME_types`.
//! `NAME_format` is the format of its data. Columns of `NAME_types` are called `_1`, `_2` and so on.

use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, header};
use basalt_engine::{Error, ErrorCode, ExternalTableText, Result};

use super::parameters::Parameters;

/// The form of a request with its external tables in memory.
const FORM_BYTES_MAX: usize = 1 << 30;

/// The format of an external table without `NAME_format`.
const DEFAULT_FORMAT: &str = "TabSeparated";

/// Whether the body of the request is a form with parts.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|text| text.trim_start().to_ascii_lowercase().starts_with("multipart/form-data"))
}

/// Reads the form: its parameters go to `parameters`, its data are returned.
pub(super) async fn read(
    request: Request<Body>,
    parameters: &mut Parameters,
) -> Result<Vec<ExternalTableText>> {
    let mut form = Multipart::from_request(request, &()).await.map_err(|error| bad_form(&error))?;
    let (mut parts, mut left) = (Vec::new(), FORM_BYTES_MAX);
    while let Some(mut field) = form.next_field().await.map_err(|error| bad_form(&error))? {
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        let mut bytes = Vec::new();
        while let Some(piece) = field.chunk().await.map_err(|error| bad_form(&error))? {
            left = left.checked_sub(piece.len()).ok_or_else(too_large)?;
            bytes.extend_from_slice(&piece);
        }
        match is_file || parameters.describes_table(&name) {
            true => parts.push(table(name, bytes, parameters)),
            false => parameters.take_part(name, bytes)?,
        }
    }
    Ok(parts)
}

fn table(name: String, bytes: Vec<u8>, parameters: &mut Parameters) -> ExternalTableText {
    let structure = parameters.take_of_table(&name, "_structure");
    let types = parameters.take_of_table(&name, "_types");
    let format = parameters.take_of_table(&name, "_format");
    ExternalTableText {
        structure: structure.or(types),
        format: format.unwrap_or_else(|| DEFAULT_FORMAT.to_owned()),
        name,
        bytes,
    }
}

fn bad_form(source: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::BadArguments, format!("the form of the request cannot be read: {source}"))
}

fn too_large() -> Error {
    let what = format!("the form of the request has more than {FORM_BYTES_MAX} bytes");
    Error::new(ErrorCode::LimitExceeded, what)
}
