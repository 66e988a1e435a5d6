//! The format of a file by the ending of its name.

use basalt_base::{Error, Result};

use super::table::FORMATS;
use crate::compression::Compression;

/// File extensions that are not a format's own name.
const ENDINGS: &[(&str, &str)] = &[
    ("feather", "Arrow"),
    ("json", "JSON"),
    ("jsonl", "JSONEachRow"),
    ("ndjson", "JSONEachRow"),
    ("bin", "RowBinary"),
];

/// File extensions of ClickHouse's formats that are not supported.
const OTHER_ENDINGS: &[&str] =
    &["avro", "bson", "capnp", "messagepack", "msgpack", "npy", "orc", "pb", "prometheus", "protobuf"];

/// The format of a file extension, before that of a compression; `None` if it is unknown. Fails if the format is not
/// supported.
pub fn format_of_file_name(name: &str) -> Result<Option<&'static str>> {
    Compression::of_file_name(name)?;
    let plain = Compression::plain_file_name(name);
    let Some((_, ending)) = plain.rsplit_once('/').map_or(plain, |(_, file)| file).rsplit_once('.') else {
        return Ok(None);
    };
    let ending = ending.to_ascii_lowercase();
    if OTHER_ENDINGS.contains(&&*ending) {
        return Err(Error::not_implemented(format!("`{name}`: the format of files called .{ending}")));
    }
    let by_ending = ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format);
    let by_name =
        || FORMATS.iter().map(|(format, ..)| *format).find(|format| format.eq_ignore_ascii_case(&ending));
    Ok(by_ending.or_else(by_name))
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use super::*;

    #[test]
    fn endings_of_file_names_mean_formats() {
        for (name, format) in [
            ("a.csv", Some("CSV")),
            ("/x.y/a.CSV", Some("CSV")),
            ("a.tsv", Some("TSV")),
            ("a.json", Some("JSON")),
            ("a.jsonl", Some("JSONEachRow")),
            ("a.ndjson", Some("JSONEachRow")),
            ("a.tskv", Some("TSKV")),
            ("a.vertical", Some("Vertical")),
            ("a.native", Some("Native")),
            ("a.rowbinary", Some("RowBinary")),
            ("a.bin", Some("RowBinary")),
            ("a.Arrow", Some("Arrow")),
            ("a.feather", Some("Arrow")),
            ("a.parquet", Some("Parquet")),
            ("a.csv.gz", Some("CSV")),
            ("a.JSON.ZST", Some("JSON")),
            ("a.gz", None),
            ("a.txt", None),
            ("/x.csv/a", None),
            ("a", None),
        ] {
            assert_eq!(format_of_file_name(name).unwrap(), format, "{name}");
        }
        for name in ["a.orc", "a.orc.gz", "a.csv.snappy", "a.Avro"] {
            assert_eq!(format_of_file_name(name).unwrap_err().code(), ErrorCode::NotImplemented, "{name}");
        }
    }
}
