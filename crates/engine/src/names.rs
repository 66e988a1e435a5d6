//! Names of databases and of what is in them, and these names as names of files.

use basalt_base::{Error, ErrorCode, Result, bail};

/// The database with the tables that describe the engine itself.
pub(crate) const SYSTEM: &str = "system";
/// The database of temporary tables of all sessions; each has a unique name there.
pub(crate) const TEMPORARY: &str = "_temporary_and_external_tables";
/// The database with the relations that Postgres clients ask.
pub(crate) const PG_CATALOG: &str = "pg_catalog";
/// The name by which Postgres clients call the current database.
pub(crate) const PUBLIC: &str = "public";
/// The databases of the information schema.
pub(crate) const INFORMATION_SCHEMA: &[&str] = &["INFORMATION_SCHEMA", "information_schema"];
/// The database of a session that named none.
pub(crate) const DEFAULT: &str = "default";

/// Bytes of a file's name that every file system takes.
const FILE_NAME_BYTES_MAX: usize = 255;
/// Follows an encoded name while its file is written: no other suffix is longer.
const LONGEST_SUFFIX: &str = ".sql.tmp";
/// Bytes that an encoded name may have.
const NAME_BYTES_MAX: usize = FILE_NAME_BYTES_MAX - LONGEST_SUFFIX.len();
/// Characters of a name that is too long in the error.
const SHOWN_CHARS: usize = 40;

/// A name with its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectKey {
    pub(crate) database: String,
    pub(crate) name: String,
}

/// Whether what is in the database is made by the engine, so that nothing in it can be created or changed.
pub(crate) fn is_built_in(database: &str) -> bool {
    database == SYSTEM || INFORMATION_SCHEMA.contains(&database)
}

/// `database.name` or `name`, as (database, name).
pub(crate) fn split_name(name: &str, current_database: &str) -> (String, String) {
    match name.split_once('.') {
        Some((database, name)) => (database.to_owned(), name.to_owned()),
        None => (current_database.to_owned(), name.to_owned()),
    }
}

/// A name as a file name: letters, digits and `_` stay, every other byte becomes `%XX`.
pub(crate) fn encode_name(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The inverse of [`encode_name`].
pub(crate) fn decode_name(encoded: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => bytes.push(value),
            None => bail!(CorruptedData, "`{encoded}` in the metadata directory is not an encoded name"),
        }
        rest = &tail[2..];
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorCode::CorruptedData, format!("`{encoded}` is not an encoded name")))
}

/// ARGUMENT_OUT_OF_BOUND for a name that no file can have; `kind` is what it would be the name of.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        bail!(BadArguments, "the name of a {kind} cannot be empty");
    }
    let bytes = encode_name(name).len();
    if bytes <= NAME_BYTES_MAX {
        return Ok(());
    }
    let shown: String = name.chars().take(SHOWN_CHARS).collect();
    bail!(
        ArgumentOutOfBound,
        "the name of the {kind} `{shown}..` is too long: as the name of a file, where each byte but letters, digits and `_` takes three, it has {bytes} bytes, and {NAME_BYTES_MAX} are the most; use a shorter one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_file_system() {
        for name in ["orders", "a b/c", "..", "%41", "\u{e9}t\u{e9}"] {
            assert_eq!(decode_name(&encode_name(name)).expect("our own encoding"), name);
            assert!(!encode_name(name).contains(['/', '.']));
        }
        assert!(decode_name("%4").is_err());
    }

    #[test]
    fn name_may_be_as_long_as_its_longest_file_name() {
        for (name, is_refused) in [
            ("n".repeat(247), false),
            ("n".repeat(248), true),
            ("\u{e9}".repeat(41), false),
            ("\u{e9}".repeat(42), true),
        ] {
            let checked = check_name("table", &name).map_err(|error| error.code());
            assert_eq!(checked.err(), is_refused.then_some(ErrorCode::ArgumentOutOfBound), "{name}");
        }
        check_name("table", "").unwrap_err();
    }
}
