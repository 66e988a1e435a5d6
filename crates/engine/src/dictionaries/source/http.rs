//! The source HTTP: what a server answers, in any input format; keys go to it as the body of a POST.

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_sources::http::{HttpRequest, check_url};

use super::formatted::{checked_format, read_rows, write_keys};
use super::parameters::Parameters;
use super::select::update_field;
use super::{Blocks, Question, RowSource, UpdateField, Wanted, time_text};

pub(super) struct HttpSource {
    request: HttpRequest,
    format: String,
    update: Option<UpdateField>,
}

impl HttpSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<HttpSource> {
        let mut request = HttpRequest { url: parameters.required("url")?, ..HttpRequest::default() };
        check_url(&request.url)?;
        let format = checked_format(parameters.required("format")?)?;
        if let Some(credentials) = parameters.nested("credentials")? {
            let user = credentials.required("user")?;
            request.authorize(&user, &credentials.text("password")?.unwrap_or_default());
            credentials.finish(&["user", "password"])?;
        }
        if let Some(headers) = parameters.nested("headers")? {
            for header in headers.all_nested("header")? {
                request.headers.push((header.required("name")?, header.required("value")?));
                header.finish(&["name", "value"])?;
            }
            headers.finish(&["header"])?;
        }
        let update = update_field(parameters)?;
        parameters.finish(&["url", "format", "credentials", "headers", "update_field", "update_lag"])?;
        Ok(HttpSource { request, format, update })
    }
}

impl RowSource for HttpSource {
    fn describe(&self, _database: &str) -> String {
        self.request.url.clone()
    }

    fn rows(&self, question: &Question, wanted: Wanted) -> Result<Blocks> {
        let mut request = self.request.clone();
        if let (Wanted::Since(seconds), Some(field)) = (wanted, &self.update) {
            request.add_parameter(&field.name, &time_text(question, seconds));
        }
        let body = request.send(&question.limits())?;
        read_rows(question, &self.format, body, &self.request.url)
    }

    fn rows_of(&self, question: &Question, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let mut request = self.request.clone();
        request.body = Some(write_keys(question, &self.format, keys)?);
        let body = request.send(&question.limits())?;
        read_rows(question, &self.format, body, &self.request.url)?.collect()
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.update.as_ref()
    }

    fn tells_update_time(&self) -> bool {
        false
    }
}
