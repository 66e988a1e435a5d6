//! A Basalt server on a free loopback port, queried over HTTP/1.0, where an answer ends with its connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::oracle::code_name;
use crate::slt::Answer;

/// A server that sends nothing for this long hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    process: Child,
    address: String,
    _data: TempDir,
}

impl Server {
    pub(crate) fn start(program: &Path) -> Result<Server> {
        let data = tempfile::tempdir()?;
        let mut process = Command::new(program)
            .args(["server", "--http-port", "auto", "--tcp-port", "0", "--path"])
            .arg(data.path())
            .env("TZ", "UTC")
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let mut lines = BufReader::new(process.stderr.take().context("standard error is piped")?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("the server did not start: {line}"))?.to_owned();
        // Drain the pipe, or the server would block on it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::stderr()));
        Ok(Server { process, address, _data: data })
    }

    pub(crate) fn ask(&mut self, sql: &str) -> Result<Answer> {
        let mut stream = TcpStream::connect(&self.address).context("the server is gone")?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let target = "/?wait_end_of_query=1&default_format=TabSeparated&max_execution_time=30";
        let head =
            format!("POST {target} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", sql.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(sql.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).context("the server does not answer")?;
        answer(&String::from_utf8_lossy(&bytes))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn answer(text: &str) -> Result<Answer> {
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no head in: {text}"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" {
        let mut rows: Vec<String> = body.split('\n').map(str::to_owned).collect();
        // Rows end with a line feed; the text after the last one is not a row.
        if rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        return Ok(Answer::Rows(rows));
    }
    match code_name(body) {
        Ok(name) => Ok(Answer::Error(name.to_owned())),
        Err(_) => bail!("status {status}: {body}"),
    }
}
