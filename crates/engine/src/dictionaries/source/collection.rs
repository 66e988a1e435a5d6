//! `NAME c`: the parameters of a source from a named collection. Those of the SOURCE clause override them.

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{CollectionEntry, CreateNamedCollection, KeyValue, KeyValueArgument, Literal};

use crate::named_collections::NamedCollections;
use crate::settings::literal_text;

/// The sources that may take a collection.
const SOURCES: [&str; 4] = ["CLICKHOUSE", "HTTP", "MYSQL", "POSTGRESQL"];
const NAME: &str = "NAME";
const CREDENTIALS: &str = "CREDENTIALS";

/// The collection that a source takes parameters from.
pub(in super::super) fn collection_of(source: &KeyValue) -> Option<String> {
    let (_, value) = source.args.iter().find(|(name, _)| name == NAME)?;
    match value {
        _ if !SOURCES.contains(&source.name.as_str()) => None,
        KeyValueArgument::Ident(name) => Some(name.clone()),
        KeyValueArgument::Literal(Literal::String(name)) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    }
}

/// The source with the parameters of its collection.
pub(super) fn resolved(source: &KeyValue, collections: &NamedCollections) -> Result<KeyValue> {
    let Some(name) = collection_of(source) else { return Ok(source.clone()) };
    let collection = collections.get(&name)?;
    let own: Vec<_> = source.args.iter().filter(|(name, _)| name != NAME).cloned().collect();
    let mut args = Vec::with_capacity(collection.entries.len() + own.len());
    for entry in &collection.entries {
        let is_same = |(key, _): &&(String, KeyValueArgument)| canonical(key) == canonical(&entry.key);
        match own.iter().find(is_same) {
            Some((key, _)) if entry.overridable == Some(false) => {
                bail!(BadArguments, "collection `{name}` does not allow another value of `{key}`")
            }
            Some(_) => {}
            None => args.push(argument(source, entry)),
        }
    }
    if source.name == "HTTP" {
        credentials(&collection, &mut args);
    }
    args.extend(own);
    Ok(KeyValue { name: source.name.clone(), args })
}

/// An unknown parameter from a collection is an error of the collection as well.
pub(super) fn within_collection(source: &KeyValue, error: Error) -> Error {
    match collection_of(source) {
        Some(name) => {
            let code = match error.code() {
                ErrorCode::IncorrectDictionaryDefinition => ErrorCode::BadArguments,
                other => other,
            };
            Error::new(code, error.message()).within(format!("with named collection `{name}`"))
        }
        None => error,
    }
}

fn argument(source: &KeyValue, entry: &CollectionEntry) -> (String, KeyValueArgument) {
    let key = canonical(&entry.key);
    // HTTP has its credentials in a list of their own.
    let key = if source.name == "HTTP" && credential(&entry.key).is_some() { CREDENTIALS } else { &key };
    (key.to_owned(), text(entry))
}

fn text(entry: &CollectionEntry) -> KeyValueArgument {
    KeyValueArgument::Literal(Literal::String(literal_text(&entry.value).into_bytes()))
}

/// The credential of HTTP that a key names.
fn credential(key: &str) -> Option<&'static str> {
    match key.to_ascii_lowercase().as_str() {
        "user" | "username" | "credentials.user" => Some("USER"),
        "password" | "credentials.password" => Some("PASSWORD"),
        _ => None,
    }
}

/// Puts the credentials of the collection into `CREDENTIALS(USER .. PASSWORD ..)`.
fn credentials(collection: &CreateNamedCollection, args: &mut Vec<(String, KeyValueArgument)>) {
    args.retain(|(name, _)| name != CREDENTIALS);
    let given = collection.entries.iter();
    let given: Vec<_> =
        given.filter_map(|entry| Some((credential(&entry.key)?.to_owned(), text(entry)))).collect();
    if !given.is_empty() {
        args.insert(0, (CREDENTIALS.to_owned(), KeyValueArgument::Nested(given)));
    }
}

/// The parameter that a key of a collection names.
fn canonical(key: &str) -> String {
    match key.to_ascii_uppercase().as_str() {
        "HOSTNAME" => "HOST".to_owned(),
        "USERNAME" => "USER".to_owned(),
        "DATABASE" => "DB".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use basalt_base::fs::FaultyStorage;
    use basalt_sql::ast::Statement;

    use super::*;

    /// The SOURCE clause that `source` becomes with a collection `c` of these entries, or the error's code.
    fn check(entries: &str, source: &str, expected: std::result::Result<&str, ErrorCode>) {
        let parsed = |text: String| basalt_sql::parse_statement(text.as_bytes()).unwrap();
        let collections =
            NamedCollections::open(Arc::new(FaultyStorage::new()), Path::new("/data"), Default::default())
                .unwrap();
        let statement = parsed(format!("CREATE NAMED COLLECTION c AS {entries}"));
        let Statement::CreateNamedCollection(collection) = statement else { panic!("another statement") };
        collections.put(collection).unwrap();
        let statement = parsed(format!("CREATE DICTIONARY d (id UInt64) PRIMARY KEY id SOURCE({source})"));
        let Statement::CreateDictionary(create) = statement else { panic!("another statement") };
        let resolved = resolved(&create.source.unwrap(), &collections);
        let found = resolved.map(|source| source.to_string()).map_err(|error| error.code());
        assert_eq!(found, expected.map(str::to_owned), "{entries}: {source}");
    }

    #[test]
    fn source_without_a_name_is_as_it_was() {
        check("host = 'h'", "MYSQL(TABLE 't')", Ok("MYSQL(TABLE 't')"));
        check("host = 'h'", "REDIS(NAME 'c')", Ok("REDIS(NAME 'c')"));
    }

    #[test]
    fn collection_gives_what_the_source_does_not_say() {
        check(
            "hostname = 'h', username = 'u', port = 1, database = 'a', secure = true",
            "POSTGRESQL(NAME c TABLE 't' DB 'b')",
            Ok("POSTGRESQL(HOST 'h' PORT '1' SECURE '1' USER 'u' TABLE 't' DB 'b')"),
        );
    }

    #[test]
    fn key_that_is_not_overridable_is_not_said_twice() {
        let entries = "database = 'a' NOT OVERRIDABLE, host = 'h' OVERRIDABLE";
        check(entries, "CLICKHOUSE(NAME c DB 'b')", Err(ErrorCode::BadArguments));
        check(entries, "CLICKHOUSE(HOST 'i' NAME 'c')", Ok("CLICKHOUSE(DB 'a' HOST 'i')"));
    }

    #[test]
    fn credentials_of_http_come_from_either_form_of_keys() {
        let expected = "HTTP(CREDENTIALS (USER 'u' PASSWORD 'p') URL 'x' FORMAT 'TSV')";
        for entries in
            ["user = 'u', password = 'p'", "`credentials.user` = 'u', `credentials.password` = 'p'"]
        {
            let entries = format!("{entries}, url = 'x'");
            let reversed = expected.replace("USER 'u' PASSWORD 'p'", "PASSWORD 'p' USER 'u'");
            check(&entries, "HTTP(NAME c FORMAT 'TSV')", Ok(&reversed));
        }
    }

    #[test]
    fn missing_collection_is_an_error() {
        check("a = 1", "HTTP(NAME other)", Err(ErrorCode::NamedCollectionDoesntExist));
    }
}
