//! The sources EXECUTABLE and EXECUTABLE_POOL: the output of a program in the directory of user scripts.
//!
//! Keys are written to the program's input in the same format. A program of a pool keeps running: it answers every
//! line of keys with one line.

use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, bail};
use basalt_sources::Limits;
use basalt_sources::process::{Ending, Program, RowEnds, Running, StderrReaction};

use super::formatted::{checked_format, read_rows, read_values, write_keys};
use super::parameters::Parameters;
use super::pool::Pool;
use super::row_source::{Timeouts, UpdateField, time_text};
use super::select::{UPDATE_PARAMETERS, update_field};
use super::{Blocks, LoadRequest, RowRange, RowSource};

/// The timeouts of reading from a program and of writing to it.
const PIPE_TIMEOUT_MS: u64 = 10_000;
const TERMINATION_TIMEOUT_SECONDS: u64 = 10;
/// How long a lookup waits for a program of the pool.
const EXECUTION_SECONDS_MAX: u64 = 10;
/// The longest timeout.
const TIMEOUT_SECONDS_MAX: u64 = 86_400;
const POOL_SIZE: u64 = 16;
const POOL_SIZE_MAX: u64 = 1000;

const PARAMETERS: [&str; 10] = [
    "command",
    "format",
    "implicit_key",
    "execute_direct",
    "send_chunk_header",
    "command_read_timeout",
    "command_write_timeout",
    "command_termination_timeout",
    "check_exit_code",
    "stderr_reaction",
];
const POOL_PARAMETERS: [&str; 3] = ["pool_size", "size", "max_command_execution_time"];

pub(super) struct ExecutableSource {
    command: String,
    /// The command is a program's name and its arguments, and not a shell command.
    is_direct: bool,
    format: String,
    /// The program writes the attributes alone, a row for each key in order.
    implicit_key: bool,
    /// The number of rows is written before the keys.
    chunk_header: bool,
    read_timeout: Duration,
    write_timeout: Duration,
    ending: Ending,
    update: Option<UpdateField>,
    programs: Option<Programs>,
}

/// The programs of a pool, and how rows of their answers end.
struct Programs {
    pool: Pool<Running>,
    /// The size in the definition.
    size: u64,
    rows: RowEnds,
    /// How long programs may take to end when the pool is dropped.
    ending: Duration,
}

impl ExecutableSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<ExecutableSource> {
        let command = parameters.required("command")?;
        let format = checked_format(parameters.required("format")?)?;
        let ending = Ending {
            patience: seconds(parameters, "command_termination_timeout", TERMINATION_TIMEOUT_SECONDS)?,
            checks_status: parameters.flag("check_exit_code", true)?,
            stderr: stderr_reaction(parameters)?,
            log: None,
        };
        let is_pool = parameters.source() == "EXECUTABLE_POOL";
        let source = ExecutableSource {
            command,
            is_direct: parameters.flag("execute_direct", false)?,
            implicit_key: parameters.flag("implicit_key", false)?,
            chunk_header: parameters.flag("send_chunk_header", false)?,
            read_timeout: pipe_timeout(parameters, "command_read_timeout")?,
            write_timeout: pipe_timeout(parameters, "command_write_timeout")?,
            ending,
            update: if is_pool { None } else { update_field(parameters)? },
            programs: if is_pool { Some(Programs::of(parameters, &format, ending.patience)?) } else { None },
            format,
        };
        let more = if is_pool { &POOL_PARAMETERS[..] } else { &UPDATE_PARAMETERS };
        parameters.finish(&[&PARAMETERS[..], more].concat())?;
        Ok(source)
    }

    /// The program. If only changes are read, its arguments have their earliest time.
    fn program(&self, load: &LoadRequest, since: Option<(&str, String)>) -> Result<Program> {
        let policy = load.host.policy();
        let ending = Ending { log: policy.log, ..self.ending };
        if self.is_direct {
            let Some(scripts) = policy.user_scripts_path else {
                bail!(
                    SupportIsDisabled,
                    "sources EXECUTABLE and EXECUTABLE_POOL with EXECUTE_DIRECT 1 are off: the server's \
                     user_scripts_path names no directory"
                );
            };
            let words = since.into_iter().flat_map(|(field, time)| [field.to_owned(), time]);
            return Ok(Program::find(&self.command, scripts)?.with(words).ending(ending));
        }
        if !policy.allows_shell_commands {
            bail!(
                SupportIsDisabled,
                "sources EXECUTABLE and EXECUTABLE_POOL with EXECUTE_DIRECT 0, which it is if nothing is said, run COMMAND \
                 in a shell, and the server's allow_shell_commands is off; with EXECUTE_DIRECT 1 they run a program from \
                 the directory user_scripts_path"
            );
        }
        let more = since.map(|(field, time)| format!(" {field} {time}")).unwrap_or_default();
        Ok(Program::shell(&format!("{}{more}", self.command))?.ending(ending))
    }

    fn limits(&self, load: &LoadRequest) -> Limits {
        Limits { receive: self.read_timeout, send: self.write_timeout, ..load.limits(Timeouts::Database) }
    }

    /// The text that is written before `keys`.
    fn head(&self, keys: &[ArrayRef]) -> String {
        let rows = keys.first().map_or(0, |key| key.len());
        if self.chunk_header { format!("{rows}\n") } else { String::new() }
    }

    fn ask_pool(&self, programs: &Programs, load: &LoadRequest, head: &str, input: &[u8]) -> Result<Vec<u8>> {
        let limits = self.limits(load);
        let start = || self.program(load, None)?.start(limits);
        // A program that has ended, or has written something unasked, is not used again.
        let ask = |running: &mut Running| running.ask(head.as_bytes(), input, programs.rows, limits);
        programs.pool.with(limits.deadline, Running::is_ready, start, ask)
    }
}

impl RowSource for ExecutableSource {
    fn describe(&self, _database: &str) -> String {
        match &self.programs {
            Some(programs) => format!("ExecutablePool size: {} command: {}", programs.size, self.command),
            None => format!("Executable: {}", self.command),
        }
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        if self.programs.is_some() || self.implicit_key {
            bail!(
                UnsupportedMethod,
                "a source EXECUTABLE_POOL, or one with IMPLICIT_KEY, answers for keys: use layout DIRECT or CACHE"
            );
        }
        let since = match (range, &self.update) {
            (RowRange::Since(seconds), Some(field)) => Some((field.name.as_str(), time_text(load, seconds))),
            _ => None,
        };
        let output = self.program(load, since)?.run(Vec::new(), self.limits(load))?;
        read_rows(load, &self.format, Box::new(output), &self.command)
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let head = self.head(keys);
        let input = write_keys(load, &self.format, keys)?;
        let output: Box<dyn std::io::Read + Send> = match &self.programs {
            Some(programs) => Box::new(std::io::Cursor::new(self.ask_pool(programs, load, &head, &input)?)),
            None => {
                let input = [head.as_bytes(), &input].concat();
                Box::new(self.program(load, None)?.run(input, self.limits(load))?)
            }
        };
        if !self.implicit_key {
            return read_rows(load, &self.format, output, &self.command)?.collect();
        }
        let mut first = 0;
        let mut found = Vec::new();
        for block in read_values(load, &self.format, output, &self.command)? {
            let block = block?;
            let rows = block.first().map_or(0, |column| column.len());
            if keys.first().is_none_or(|key| key.len() < first + rows) {
                bail!(IncorrectData, "{} answers with more rows than it was given keys", self.command);
            }
            let keys = keys.iter().map(|key| key.slice(first, rows));
            found.push(keys.chain(block).collect());
            first += rows;
        }
        Ok(found)
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.update.as_ref()
    }

    fn tells_update_time(&self) -> bool {
        false
    }
}

impl Programs {
    fn of(parameters: &Parameters<'_>, format: &str, ending: Duration) -> Result<Programs> {
        let size = parameters.number("pool_size", parameters.number("size", POOL_SIZE)?)?;
        let patience = seconds(parameters, "max_command_execution_time", EXECUTION_SECONDS_MAX)?;
        // 0 is no limit but [`POOL_SIZE_MAX`].
        let size_max = if size == 0 { POOL_SIZE_MAX } else { size.min(POOL_SIZE_MAX) };
        let what = "programs of the pool (pool_size, max_command_execution_time)";
        Ok(Programs {
            pool: Pool::new(size_max as usize, patience, what),
            size,
            rows: row_ends(format)?,
            ending,
        })
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let mut idle = self.pool.drain();
        idle.iter_mut().for_each(Running::close_input);
        let end = Instant::now() + self.ending;
        idle.into_iter().for_each(|running| running.retire(end));
    }
}

fn seconds(parameters: &Parameters<'_>, name: &str, default: u64) -> Result<Duration> {
    Ok(Duration::from_secs(parameters.number(name, default)?.min(TIMEOUT_SECONDS_MAX)))
}

fn pipe_timeout(parameters: &Parameters<'_>, name: &str) -> Result<Duration> {
    let milliseconds = parameters.number(name, PIPE_TIMEOUT_MS)?.min(TIMEOUT_SECONDS_MAX * 1000);
    Ok(Duration::from_millis(milliseconds))
}

fn stderr_reaction(parameters: &Parameters<'_>) -> Result<StderrReaction> {
    Ok(match parameters.text("stderr_reaction")?.as_deref() {
        Some("none") => StderrReaction::None,
        Some("log") => StderrReaction::Log,
        Some("log_first") => StderrReaction::LogFirst,
        None | Some("log_last") => StderrReaction::LogLast,
        Some("throw") => StderrReaction::Throw,
        Some(_) => return Err(parameters.wrong("stderr_reaction", "none, log, log_first, log_last or throw")),
    })
}

/// Where the rows of an answer end: a program of a pool does not end after them.
fn row_ends(format: &str) -> Result<RowEnds> {
    match format {
        name if name.starts_with("CSV") => Ok(RowEnds::CSV),
        name if name.starts_with("TSV") || name.starts_with("TabSeparated") => Ok(RowEnds::LINES),
        "Raw" | "JSONEachRow" | "JSONLines" | "NDJSON" | "JSONL" | "JSONCompactEachRow" => Ok(RowEnds::LINES),
        other => bail!(
            NotImplemented,
            "source EXECUTABLE_POOL in format {other}, which has no line for each row, is not implemented: use TSV, CSV \
             or JSONEachRow"
        ),
    }
}
