//! Lines about failures that no statement reports, for the standard error of the server.

/// Where they go, if anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerLog(Option<fn(&str)>);

impl ServerLog {
    pub(crate) fn new(write: Option<fn(&str)>) -> ServerLog {
        ServerLog(write)
    }

    /// The function that writes lines.
    pub(crate) fn writer(self) -> Option<fn(&str)> {
        self.0
    }

    pub(crate) fn say(self, line: &str) {
        if let Some(write) = self.0 {
            write(line);
        }
    }
}
