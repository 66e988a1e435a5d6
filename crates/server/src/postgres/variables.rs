//! SET and SHOW: variables of PostgreSQL, and settings of the engine by the same statements.

use basalt_engine::{Result, Session};
use basalt_wire::postgres::MessageWriter;

use super::answer::Answer;
use super::client::Client;
use super::execution;
use super::failure::{Failure, Outcome, state};
use super::prepared::Prepared;

/// Variables whose values a client is told, at first and when they change.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// Variables that say what the server is.
const FIXED: &[&str] = &[
    "block_size",
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "max_identifier_length",
    "max_index_keys",
    "server_encoding",
    "server_version",
    "server_version_num",
];

/// The variable that limits the time of a statement, and its value for no limit.
const STATEMENT_TIMEOUT: &str = "statement_timeout";
const NO_TIMEOUT: &str = "0";

/// Tells a new client the values of variables.
pub(super) fn report_all(session: &Session, out: &mut MessageWriter) {
    for name in REPORTED {
        if let Some(value) = session.postgres_variable(name) {
            out.parameter_status(name, &value);
        }
    }
}

/// `SET name = value`; `None` is the value from the start.
pub(super) async fn set(client: &mut Client, name: &str, value: Option<&str>) -> Result<Outcome<Answer>> {
    let tag = if value.is_some() { "SET" } else { "RESET" };
    if client.session()?.postgres_variable(name).is_none() && !name.contains('.') {
        return set_setting(client, name, value).await.map(|set| set.map(|()| Answer::of_tag(tag)));
    }
    let changed = change(client.session()?, name, value);
    Ok(changed.map(|changed| {
        if let Some((name, value)) = changed.filter(|(name, _)| REPORTED.contains(&name.as_str())) {
            client.answers.parameter_status(&name, &value);
        }
        Answer::of_tag(tag)
    }))
}

/// Gives a variable of PostgreSQL a value. Returns how the name is spelled, and the value.
pub(super) fn change(
    session: &mut Session,
    name: &str,
    value: Option<&str>,
) -> Outcome<Option<(String, String)>> {
    let lower = name.to_ascii_lowercase();
    if FIXED.contains(&lower.as_str()) && value.is_some() {
        return Err(Failure::new("55P02", format!("parameter \"{name}\" cannot be changed")));
    }
    let value = value.map(|value| checked(session, &lower, value)).transpose()?;
    if lower == "timezone" {
        let zone = value.as_deref().unwrap_or_default();
        session.set("session_timezone", zone)?;
        let zone = if zone.is_empty() { basalt_base::zone::Zone::system().name() } else { zone };
        return Ok(session.set_postgres_variable(name, Some(zone)));
    }
    if lower == STATEMENT_TIMEOUT {
        limit_time(session, value.as_deref())?;
    }
    Ok(session.set_postgres_variable(name, value.as_deref()))
}

/// The setting that ends statements in time. A limit that was never set stays the user's own.
fn limit_time(session: &mut Session, value: Option<&str>) -> Outcome<()> {
    let before = session.postgres_variable(STATEMENT_TIMEOUT).unwrap_or_default();
    if value.is_none() && before == NO_TIMEOUT {
        return Ok(());
    }
    let value = value.unwrap_or(NO_TIMEOUT);
    let Some(seconds) = seconds_of(value) else {
        let what = format!("invalid value for parameter \"{STATEMENT_TIMEOUT}\": \"{value}\"");
        return Err(Failure::new(state::INVALID_VALUE, what));
    };
    Ok(session.change("max_execution_time", &seconds.to_string())?)
}

/// `300`, `300ms`, `5 s`, `1min` in seconds; a number alone means milliseconds.
fn seconds_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let in_unit = match unit {
        "us" => 1e-6,
        "" | "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * in_unit)
}

/// The value as it is kept, if the server can work by it.
fn checked(session: &mut Session, name: &str, value: &str) -> Outcome<String> {
    let letters: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_good = match name {
        "client_encoding" => match letters.to_ascii_lowercase().as_str() {
            "utf8" | "unicode" => return Ok("UTF8".to_owned()),
            _ => false,
        },
        "datestyle" => match value.to_ascii_lowercase().starts_with("iso") {
            true => return Ok("ISO, MDY".to_owned()),
            false => false,
        },
        "standard_conforming_strings" => is_on(value),
        "intervalstyle" => value.eq_ignore_ascii_case("postgres"),
        "bytea_output" => value.eq_ignore_ascii_case("hex"),
        "search_path" => return search_path(session, value),
        _ => true,
    };
    match is_good {
        true => Ok(value.to_owned()),
        false => Err(Failure::new(
            state::INVALID_VALUE,
            format!(
                "`{value}` as the value of {name}: only {} is supported",
                session.postgres_variable(name).unwrap_or_default()
            ),
        )),
    }
}

fn is_on(value: &str) -> bool {
    ["on", "true", "yes", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The first database of the path becomes the current one; other names of it mean that one already.
fn search_path(session: &mut Session, value: &str) -> Outcome<String> {
    let own = ["$user", "public", "pg_catalog", ""];
    let mut names = value.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
    if let Some(name) = names.find(|name| !own.contains(name)) {
        session.use_database(name)?;
    }
    Ok(value.to_owned())
}

/// All variables of PostgreSQL as they were at first.
pub(super) fn reset(client: &mut Client) -> Outcome<()> {
    let keep = ["session_authorization", "application_name"];
    for (name, before) in client.session()?.postgres_variables() {
        if FIXED.contains(&name.as_str()) || keep.contains(&name.as_str()) {
            continue;
        }
        let changed = change(client.session()?, &name, None)?;
        if let Some((name, now)) =
            changed.filter(|(name, now)| *now != before && REPORTED.contains(&name.as_str()))
        {
            client.answers.parameter_status(&name, &now);
        }
    }
    Ok(())
}

/// A setting of the engine.
async fn set_setting(client: &mut Client, name: &str, value: Option<&str>) -> Result<Outcome<()>> {
    let Some(value) = value else {
        let what = format!("the setting {name} cannot be reset: give it a value");
        return Ok(Err(Failure::new(state::FEATURE_NOT_SUPPORTED, what)));
    };
    if client.session()?.setting(name).is_err() {
        let what = format!("unrecognized configuration parameter \"{name}\"");
        return Ok(Err(Failure::new(state::UNKNOWN_VARIABLE, what)));
    }
    let text = format!("SET {name} = '{}'", value.replace('\'', "''"));
    let prepared = Prepared::for_engine(text.into_bytes(), "SET");
    Ok(execution::start(client, &prepared, Vec::new(), &[]).await?.map(|_| ()))
}

/// The columns of `SHOW name`.
pub(super) fn shown_columns(name: &str) -> Vec<String> {
    let spelled = REPORTED.iter().find(|known| known.eq_ignore_ascii_case(name)).copied();
    let columns: &[&str] = match name.eq_ignore_ascii_case("all") {
        true => &["name", "setting", "description"],
        false => &[spelled.unwrap_or(name)],
    };
    columns.iter().map(|column| (*column).to_owned()).collect()
}

/// `SHOW name`.
pub(super) fn show(session: &Session, name: &str) -> Outcome<Answer> {
    let columns = shown_columns(name);
    if columns.len() > 1 {
        let rows =
            session.postgres_variables().into_iter().map(|(name, value)| vec![name, value, String::new()]);
        return Ok(Answer { tag: "SHOW".to_owned(), columns, rows: rows.collect() });
    }
    let value = session.postgres_variable(name).or_else(|| session.setting(name).ok());
    let Some(value) = value else {
        let what = format!("unrecognized configuration parameter \"{name}\"");
        return Err(Failure::new(state::UNKNOWN_VARIABLE, what));
    };
    Ok(Answer { tag: "SHOW".to_owned(), columns, rows: vec![vec![value]] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_milliseconds_or_in_its_unit() {
        let found = ["300", "300ms", "5 s", "1min", "0", "x", "-1", "5 weeks", "inf"].map(seconds_of);
        let expected = [Some(0.3), Some(0.3), Some(5.0), Some(60.0), Some(0.0), None, None, None, None];
        assert_eq!(found, expected);
    }
}
