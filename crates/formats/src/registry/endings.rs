//! The format of a file by the ending of its name.

use basalt_base::{Error, Result};

use super::table::FORMATS;

/// File extensions that are not a format's own name.
const ENDINGS: &[(&str, &str)] =
    &[("json", "JSON"), ("jsonl", "JSONEachRow"), ("ndjson", "JSONEachRow"), ("bin", "RowBinary")];

/// File extensions of ClickHouse's formats that are not supported.
const OTHER_ENDINGS: &[&str] = &[
    "arrow",
    "avro",
    "bson",
    "capnp",
    "feather",
    "messagepack",
    "msgpack",
    "npy",
    "orc",
    "parquet",
    "pb",
    "prometheus",
    "protobuf",
];

/// File extensions of compressed files.
const COMPRESSIONS: &[&str] = &["br", "bz2", "deflate", "gz", "gzip", "lz4", "snappy", "xz", "zst", "zstd"];

/// The format of a file extension; `None` if it is unknown. Fails if the format is not supported, or the file is
/// compressed.
pub fn format_of_file_name(name: &str) -> Result<Option<&'static str>> {
    let Some((_, ending)) = name.rsplit_once('/').map_or(name, |(_, file)| file).rsplit_once('.') else {
        return Ok(None);
    };
    let ending = ending.to_ascii_lowercase();
    if COMPRESSIONS.contains(&&*ending) {
        return Err(Error::not_implemented(format!("`{name}`: compression of files (.{ending})")));
    }
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
            ("a.txt", None),
            ("/x.csv/a", None),
            ("a", None),
        ] {
            assert_eq!(format_of_file_name(name).unwrap(), format, "{name}");
        }
        for name in ["a.parquet", "a.csv.gz", "a.json.zst", "a.Arrow"] {
            assert_eq!(format_of_file_name(name).unwrap_err().code(), ErrorCode::NotImplemented, "{name}");
        }
    }
}
