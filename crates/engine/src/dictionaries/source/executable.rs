//! The sources EXECUTABLE and EXECUTABLE_POOL: what a program in the directory of user scripts writes.
//!
//! Keys go to the program's input in the same format. A program of a pool lives on: it answers every line
//! of keys with one line, for ever.

use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef};
use basalt_base::{Result, bail};
use basalt_sources::Limits;
use basalt_sources::process::{Ending, Program, Running};
use parking_lot::{Condvar, Mutex};

use super::formatted::{checked_format, read_rows, read_values, write_keys};
use super::parameters::Parameters;
use super::select::update_field;
use super::{Blocks, Question, RowSource, Timeouts, UpdateField, Wanted, time_text};

/// Of reading what a program writes, and of writing what it reads.
const PIPE_TIMEOUT_MS: u64 = 10_000;
const TERMINATION_TIMEOUT_SECONDS: u64 = 10;
/// How long a question waits for a program of the pool.
const EXECUTION_SECONDS_MAX: u64 = 10;
/// No wait is longer.
const TIMEOUT_SECONDS_MAX: u64 = 86_400;
const POOL_SIZE: u64 = 16;
const POOL_SIZE_MAX: u64 = 1000;

const PARAMETERS: [&str; 15] = [
    "command",
    "format",
    "implicit_key",
    "execute_direct",
    "send_chunk_header",
    "pool_size",
    "size",
    "update_field",
    "update_lag",
    "command_read_timeout",
    "command_write_timeout",
    "command_termination_timeout",
    "max_command_execution_time",
    "check_exit_code",
    "stderr_reaction",
];

pub(super) struct ExecutableSource {
    command: String,
    format: String,
    /// The program writes the attributes alone, a row for each key in their order.
    implicit_key: bool,
    /// The count of rows stands before the keys, and before the answer.
    chunk_header: bool,
    read_timeout: Duration,
    write_timeout: Duration,
    ending: Ending,
    update: Option<UpdateField>,
    pool: Option<Pool>,
}

/// The programs of a pool.
struct Pool {
    size: usize,
    /// How long a question waits for a program.
    patience: Duration,
    /// How long programs may take to end when the pool does.
    ending: Duration,
    programs: Mutex<Programs>,
    returned: Condvar,
}

#[derive(Default)]
struct Programs {
    idle: Vec<Running>,
    started: usize,
}

impl ExecutableSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<ExecutableSource> {
        let command = parameters.required("command")?;
        let format = checked_format(parameters.required("format")?)?;
        if !parameters.flag("execute_direct", true)? {
            bail!(
                NotImplemented,
                "EXECUTE_DIRECT 0 is not implemented: programs run without a shell; write a script"
            );
        }
        let ending = Ending {
            patience: seconds(parameters, "command_termination_timeout", TERMINATION_TIMEOUT_SECONDS)?,
            checks_status: parameters.flag("check_exit_code", true)?,
            refuses_stderr: refuses_stderr(parameters)?,
        };
        let patience = seconds(parameters, "max_command_execution_time", EXECUTION_SECONDS_MAX)?;
        let is_pool = parameters.source() == "EXECUTABLE_POOL";
        let source = ExecutableSource {
            command,
            format,
            implicit_key: parameters.flag("implicit_key", false)?,
            chunk_header: parameters.flag("send_chunk_header", false)?,
            read_timeout: pipe_timeout(parameters, "command_read_timeout")?,
            write_timeout: pipe_timeout(parameters, "command_write_timeout")?,
            ending,
            update: update_field(parameters)?,
            pool: if is_pool { Some(Pool::of(parameters, patience, ending.patience)?) } else { None },
        };
        parameters.finish(&PARAMETERS)?;
        Ok(source)
    }

    fn program(&self, question: &Question, more: &str) -> Result<Program> {
        let Some(scripts) = question.engine.user_scripts_path() else {
            bail!(
                SupportIsDisabled,
                "sources EXECUTABLE and EXECUTABLE_POOL are off: the server's user_scripts_path names no directory"
            );
        };
        Ok(Program::find(&format!("{}{more}", self.command), scripts)?.ending(self.ending))
    }

    fn limits(&self, question: &Question) -> Limits {
        Limits { silence: self.read_timeout, send: self.write_timeout, ..question.limits(Timeouts::Database) }
    }

    fn ask_pool(&self, pool: &Pool, question: &Question, input: &[u8]) -> Result<Vec<u8>> {
        let mut running = pool.take(|| self.program(question, "")?.start(self.limits(question)))?;
        let answer = running.ask(input, self.chunk_header, self.limits(question));
        // A program that failed once is not asked again.
        pool.give_back(answer.is_ok().then_some(running));
        answer
    }
}

impl RowSource for ExecutableSource {
    fn describe(&self, _database: &str) -> String {
        let kind = if self.pool.is_some() { "ExecutablePool" } else { "Executable" };
        format!("{kind}: {}", self.command)
    }

    fn rows(&self, question: &Question, wanted: Wanted) -> Result<Blocks> {
        if self.pool.is_some() || self.implicit_key {
            bail!(
                UnsupportedMethod,
                "a source EXECUTABLE_POOL, or one with IMPLICIT_KEY, answers for keys: use layout DIRECT or CACHE"
            );
        }
        let more = match (wanted, &self.update) {
            (Wanted::Since(seconds), Some(_)) => {
                format!(" {}", time_text(question, seconds).replace(' ', "T"))
            }
            _ => String::new(),
        };
        let output = self.program(question, &more)?.run(Vec::new(), self.limits(question))?;
        read_rows(question, &self.format, Box::new(output), &self.command)
    }

    fn rows_of(&self, question: &Question, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let input = write_keys(question, &self.format, keys)?;
        let output: Box<dyn std::io::Read + Send> = match &self.pool {
            Some(pool) => Box::new(std::io::Cursor::new(self.ask_pool(pool, question, &input)?)),
            None => Box::new(self.program(question, "")?.run(input, self.limits(question))?),
        };
        if !self.implicit_key {
            return read_rows(question, &self.format, output, &self.command)?.collect();
        }
        let mut first = 0;
        let mut found = Vec::new();
        for block in read_values(question, &self.format, output, &self.command)? {
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

impl Pool {
    fn of(parameters: &Parameters<'_>, patience: Duration, ending: Duration) -> Result<Pool> {
        // 0 is no limit but ours.
        let size = match parameters.number("pool_size", parameters.number("size", POOL_SIZE)?)? {
            0 => POOL_SIZE_MAX,
            size => size.min(POOL_SIZE_MAX),
        };
        Ok(Pool {
            size: size as usize,
            patience,
            ending,
            programs: Mutex::default(),
            returned: Condvar::new(),
        })
    }

    /// An idle program, or a new one; waits while as many as may run are busy.
    fn take(&self, start: impl FnOnce() -> Result<Running>) -> Result<Running> {
        let until = Instant::now() + self.patience;
        let mut programs = self.programs.lock();
        loop {
            match programs.idle.pop() {
                Some(mut running) => {
                    if running.is_ready() {
                        return Ok(running);
                    }
                    // It has ended, or says what nobody asked.
                    programs.started -= 1;
                }
                None if programs.started < self.size => break,
                None if self.returned.wait_until(&mut programs, until).timed_out() => bail!(
                    TimeoutExceeded,
                    "all {} programs of the pool were busy for {} seconds (max_command_execution_time)",
                    self.size,
                    self.patience.as_secs()
                ),
                None => {}
            }
        }
        programs.started += 1;
        drop(programs);
        start().inspect_err(|_| self.give_back(None))
    }

    fn give_back(&self, running: Option<Running>) {
        let mut programs = self.programs.lock();
        match running {
            Some(running) => programs.idle.push(running),
            None => programs.started -= 1,
        }
        self.returned.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut idle = std::mem::take(&mut self.programs.get_mut().idle);
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

fn refuses_stderr(parameters: &Parameters<'_>) -> Result<bool> {
    match parameters.text("stderr_reaction")?.as_deref() {
        None | Some("none") => Ok(false),
        Some("throw") => Ok(true),
        Some(other @ ("log" | "log_first" | "log_last")) => {
            bail!(NotImplemented, "stderr_reaction '{other}' is not implemented: it is none or throw")
        }
        Some(_) => Err(parameters.wrong("stderr_reaction", "none or throw")),
    }
}
