//! The command line.
//!
//! In addition to the options below, `--param_NAME=VALUE` is a value of `{NAME:Type}` in the statements, and any
//! other `--NAME=VALUE` or `--NAME VALUE` is a setting; the engine refuses unknown settings.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use basalt_engine::ErrorCode;
use basalt_server::{Port, RedisSync};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// The whole command line.
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) settings: Settings,
}

/// The settings and parameters of statements from the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) parameters: HashMap<String, String>,
}

#[derive(Parser)]
#[command(name = "basalt", version, about = "An analytical SQL database that is also a key/value store")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run statements on a data directory, in this process
    #[command(after_help = SETTINGS_HELP)]
    Local(LocalOptions),
    /// Answer ClickHouse's HTTP interface
    #[command(after_help = SETTINGS_HELP)]
    Server(ServerOptions),
    /// Run statements on a server
    #[command(after_help = SETTINGS_HELP)]
    Client(ClientOptions),
    /// Describe a segment, a data part or the file of a dictionary, and verify its checksums; exits with 1 if it is
    /// damaged
    Inspect(InspectOptions),
}

const SETTINGS_HELP: &str =
    "Any other --NAME=VALUE is a setting (--max_threads=1), --param_NAME=VALUE a query parameter.";

#[derive(clap::Args)]
pub(crate) struct LocalOptions {
    /// Data directory, created if it does not exist [default: a temporary one]
    #[arg(long)]
    pub(crate) path: Option<PathBuf>,
    /// Memory for queries, merges and dictionaries together, in bytes [default: nine tenths of the machine's]
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    pub(crate) max_server_memory_usage: u64,
    /// Memory for decoded blocks of tables, in bytes [default: a tenth of the machine's memory]
    #[arg(long, value_name = "BYTES")]
    pub(crate) uncompressed_cache_size: Option<u64>,
    /// Directory of programs that EXECUTABLE sources of dictionaries may run [default: none, such sources are off]
    #[arg(long, value_name = "DIR")]
    pub(crate) user_scripts_path: Option<PathBuf>,
    /// Let EXECUTABLE sources of dictionaries run any command in a shell: whoever may create a dictionary may then do
    /// what this process may [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) allow_shell_commands: Option<bool>,
    #[command(flatten)]
    pub(crate) statements: StatementOptions,
}

/// A protocol of `basalt client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Protocol {
    Http,
    /// The protocol of ClickHouse's own client: blocks, compressed
    Native,
}

#[derive(clap::Args)]
pub(crate) struct ClientOptions {
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port of the server [default: 8123; 9000 with --protocol native, 9440 with --secure]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Protocol of the port
    #[arg(long, value_enum, default_value_t = Protocol::Http)]
    pub(crate) protocol: Protocol,
    /// Use TLS, over the native protocol; the server's certificate must be for this host
    #[arg(long)]
    pub(crate) secure: bool,
    /// PEM file of the certificate authorities that are trusted with --secure [default: those of the machine]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca_file: Option<PathBuf>,
    /// Accept any certificate of the server with --secure
    #[arg(long)]
    pub(crate) accept_invalid_certificate: bool,
    #[arg(long, short)]
    pub(crate) user: Option<String>,
    #[arg(long)]
    pub(crate) password: Option<String>,
    #[arg(long, short)]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) statements: StatementOptions,
}

#[derive(clap::Args)]
pub(crate) struct InspectOptions {
    /// A segment of a Succinct table, the directory of a MergeTree part, or the file of a dictionary; it is only read,
    /// and a server may use it meanwhile
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
}

/// The statements to run, and the form of their answers.
#[derive(clap::Args)]
pub(crate) struct StatementOptions {
    /// Statements, separated by `;`; may be given several times
    #[arg(long, short, value_name = "SQL", conflicts_with = "queries_file")]
    pub(crate) query: Vec<String>,
    /// File of statements
    #[arg(long, value_name = "FILE")]
    pub(crate) queries_file: Vec<PathBuf>,
    /// Output format [default: PrettyCompact on a terminal, TabSeparated otherwise]
    #[arg(long, short, value_name = "NAME", alias = "output-format")]
    pub(crate) format: Option<String>,
    /// Print the seconds that each statement took to standard error
    #[arg(long)]
    pub(crate) time: bool,
    /// Show the progress of long statements even if standard error is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
    /// In the shell a statement ends with `;` or `\G` and may have several lines; =false ends it at Enter
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) multiline: bool,
}

#[derive(clap::Args)]
pub(crate) struct ServerOptions {
    /// Data directory, created if it does not exist
    #[arg(long)]
    pub(crate) path: Option<PathBuf>,
    /// Port of the HTTP interface; 0 turns it off, auto selects a free one [default: 8123]
    #[arg(long, value_name = "PORT")]
    pub(crate) http_port: Option<Port>,
    /// Port of the HTTP interface with TLS; needs a certificate in the file of --config [default: 0]
    #[arg(long, value_name = "PORT")]
    pub(crate) https_port: Option<Port>,
    /// Port of ClickHouse's native protocol; 0 turns it off, auto selects a free one [default: 9000, if it is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) tcp_port: Option<Port>,
    /// Port of the native protocol with TLS; needs a certificate in the file of --config [default: 0]
    #[arg(long, value_name = "PORT")]
    pub(crate) tcp_port_secure: Option<Port>,
    /// Port of the protocol of PostgreSQL; 0 turns it off, auto selects a free one [default: 5432, if it is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) postgres_port: Option<Port>,
    /// Port of the protocol of Redis; 0 turns it off, auto selects a free one [default: 6379, if it is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) redis_port: Option<Port>,
    /// When changes of Redis' clients are on the disk: everysec (within a second) or always [default: everysec]
    #[arg(long, value_name = "WHEN")]
    pub(crate) redis_appendfsync: Option<RedisSync>,
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long)]
    pub(crate) listen_host: Option<String>,
    /// Memory for queries, merges and dictionaries together, in bytes [default: nine tenths of the machine's]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_server_memory_usage: Option<u64>,
    /// Memory for decoded blocks of tables, in bytes [default: a tenth of the machine's memory]
    #[arg(long, value_name = "BYTES")]
    pub(crate) uncompressed_cache_size: Option<u64>,
    /// Listen on addresses that other machines can reach although the user has no password [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) allow_no_password: Option<bool>,
    /// Accepted host names on a loopback address, in addition to localhost and the address [default: none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) allowed_hosts: Option<Vec<String>>,
    /// Origins of pages that may send requests from a browser, as https://host:port; * means all [default: none]
    #[arg(long, value_name = "ORIGINS", value_delimiter = ',')]
    pub(crate) allowed_origins: Option<Vec<String>>,
    /// Hosts, or host:port, that dictionaries and remote() may contact [default: all on a loopback address, else none]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    pub(crate) remote_url_allow_hosts: Option<Vec<String>>,
    /// Maximum number of open connections [default: 4096]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_connections: Option<usize>,
    /// Maximum number of open connections of one address; 0 means no limit [default: 0]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_connections_per_address: Option<usize>,
    /// Seconds that a client may take for the handshake of TLS and for its login [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) login_timeout: Option<f64>,
    /// Let everybody read /metrics without a password, not only this machine [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) metrics_without_password: Option<bool>,
    /// Maximum number of concurrent queries; 0 means no limit [default: 1000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_concurrent_queries: Option<u64>,
    /// Seconds that a connection may be idle [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) keep_alive_timeout: Option<f64>,
    /// Directory that file(), INFILE, COPY and dictionaries may read [default: user_files in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) user_files_path: Option<PathBuf>,
    /// Directory of programs that EXECUTABLE sources of dictionaries may run [default: none, such sources are off]
    #[arg(long, value_name = "DIR")]
    pub(crate) user_scripts_path: Option<PathBuf>,
    /// Let EXECUTABLE sources of dictionaries run any command in a shell: whoever may create a dictionary may then do
    /// what this process may [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) allow_shell_commands: Option<bool>,
    /// PEM file of certificate authorities that TLS sources of dictionaries trust, in addition to those of the
    /// machine
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca_file: Option<PathBuf>,
    /// Load dictionaries when a query needs them; false: at the start [default: true]
    #[arg(long, value_name = "BOOL")]
    pub(crate) dictionaries_lazy_load: Option<bool>,
    /// TOML file with the same keys, and settings under [settings]; the command line wins
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
}

impl Arguments {
    /// Parses the command line; ends the process for `--help` and for errors.
    pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, Failure> {
        let definition = CommandLine::command();
        let (known, settings) = split_settings(arguments.collect(), &definition)?;
        let matches = definition.get_matches_from(known);
        let line = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Ok(Arguments { command: line.command, settings })
    }
}

/// Moves each long option that `definition` does not have out of `arguments`.
fn split_settings(
    arguments: Vec<OsString>,
    definition: &clap::Command,
) -> Result<(Vec<OsString>, Settings), Failure> {
    let subcommand = arguments.get(1).and_then(|name| definition.find_subcommand(name));
    let (Some(subcommand), true) = (subcommand, arguments.len() > 2) else {
        return Ok((arguments, Settings::default()));
    };
    let mut arguments = arguments.into_iter();
    let mut known: Vec<OsString> = arguments.by_ref().take(2).collect();
    let mut settings = Settings::default();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        match Word::of(&text, subcommand) {
            Word::Positional => known.push(argument),
            Word::Known { takes_next } => {
                known.push(canonical(argument, &text));
                known.extend(takes_next.then(|| arguments.next()).flatten());
            }
            Word::Setting { name, value: Some(value) } => settings.add(name, value),
            Word::Setting { name, value: None } => {
                // `--extremes --time`: a setting without a value is switched on.
                let next = arguments.next_if(|next| !next.to_string_lossy().starts_with("--"));
                let value = next.map_or(Ok("1".to_owned()), |next| utf8(next, &name))?;
                settings.add(name, value);
            }
        }
    }
    Ok((known, settings))
}

impl Settings {
    fn add(&mut self, name: String, value: String) {
        match name.strip_prefix("param_") {
            Some(parameter) => drop(self.parameters.insert(parameter.to_owned(), value)),
            None => self.settings.push((name, value)),
        }
    }
}

/// The kind of a word on the command line.
enum Word {
    Positional,
    Known { takes_next: bool },
    Setting { name: String, value: Option<String> },
}

impl Word {
    fn of(text: &str, subcommand: &clap::Command) -> Word {
        if let Some(short) = text.strip_prefix('-').filter(|rest| rest.len() == 1) {
            let takes = |arg: &clap::Arg| arg.get_short().is_some_and(|c| short.starts_with(c));
            let takes_next = subcommand.get_arguments().any(|arg| takes(arg) && takes_value(arg));
            return Word::Known { takes_next };
        }
        let Some(long) = text.strip_prefix("--").filter(|rest| !rest.is_empty()) else {
            return Word::Positional;
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let dashed = name.replace('_', "-");
        let found = subcommand.get_arguments().find(|arg| {
            arg.get_long() == Some(&dashed)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&dashed.as_str()))
        });
        match found {
            Some(arg) => Word::Known { takes_next: value.is_none() && takes_value(arg) },
            None if matches!(dashed.as_str(), "help" | "version") => Word::Known { takes_next: false },
            None => Word::Setting { name: name.replace('-', "_"), value },
        }
    }
}

fn takes_value(arg: &clap::Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

/// `--queries_file=X` in clap's spelling: `--queries-file=X`.
fn canonical(argument: OsString, text: &str) -> OsString {
    let Some(end) = text.strip_prefix("--").map(|rest| 2 + rest.find('=').unwrap_or(rest.len())) else {
        return argument;
    };
    match text[..end].contains('_') {
        true => OsString::from(format!("{}{}", text[..end].replace('_', "-"), &text[end..])),
        false => argument,
    }
}

fn utf8(value: OsString, name: &str) -> Result<String, Failure> {
    let lost = |_| Failure::with_code(ErrorCode::BadArguments, format!("the value of --{name} is not UTF-8"));
    value.into_string().map_err(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &[&str]) -> (Vec<String>, Settings) {
        let arguments = line.iter().map(OsString::from).collect();
        let (known, settings) = split_settings(arguments, &CommandLine::command()).expect("UTF-8");
        (known.into_iter().map(|word| word.into_string().expect("UTF-8")).collect(), settings)
    }

    #[test]
    fn definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn unknown_options_are_settings_and_parameters() {
        let (known, settings) = split(&[
            "basalt",
            "local",
            "--max_threads",
            "1",
            "--query",
            "--x",
            "--extremes",
            "--param_id=7",
            "--a=b=c",
        ]);
        assert_eq!(known, ["basalt", "local", "--query", "--x"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.settings, [pair("max_threads", "1"), pair("extremes", "1"), pair("a", "b=c")]);
        assert_eq!(settings.parameters["id"], "7");
    }

    #[test]
    fn underscores_do_for_dashes() {
        let (known, settings) = split(&["basalt", "local", "--queries_file=a_b", "-q", "--1"]);
        assert_eq!(known, ["basalt", "local", "--queries-file=a_b", "-q", "--1"]);
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn help_and_other_commands_pass_through() {
        assert_eq!(split(&["basalt", "--help"]).0, ["basalt", "--help"]);
        assert_eq!(split(&["basalt", "local", "--help"]).0, ["basalt", "local", "--help"]);
    }
}
