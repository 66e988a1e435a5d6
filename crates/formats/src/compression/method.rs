//! The compressions of streams, by name, file extension and first bytes.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};

/// How a whole file or HTTP body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    /// The zlib format, which HTTP calls deflate.
    Deflate,
    Zstd,
    /// Frames of LZ4.
    Lz4,
    Brotli,
    Xz,
    Bzip2,
}

/// The names of COMPRESSION and of file extensions. The first name of a compression is that of Content-Encoding.
const NAMES: [(&str, Compression); 12] = [
    ("gzip", Compression::Gzip),
    ("gz", Compression::Gzip),
    ("deflate", Compression::Deflate),
    ("zstd", Compression::Zstd),
    ("zst", Compression::Zstd),
    ("lz4", Compression::Lz4),
    ("br", Compression::Brotli),
    ("brotli", Compression::Brotli),
    ("xz", Compression::Xz),
    ("lzma", Compression::Xz),
    ("bz2", Compression::Bzip2),
    ("bzip2", Compression::Bzip2),
];

/// The first bytes of compressed files. Deflate and br have none.
const MAGICS: [(&[u8], Compression); 5] = [
    (b"\x1f\x8b\x08", Compression::Gzip),
    (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x04\x22\x4d\x18", Compression::Lz4),
    (b"BZh91AY&SY", Compression::Bzip2),
];

impl Compression {
    /// All of them, those that ClickHouse prefers for HTTP answers first.
    pub const ALL: [Compression; 7] = [
        Compression::Zstd,
        Compression::Brotli,
        Compression::Lz4,
        Compression::Gzip,
        Compression::Deflate,
        Compression::Xz,
        Compression::Bzip2,
    ];

    /// The level if none is named: fast rather than small, as in ClickHouse.
    pub const DEFAULT_LEVEL: u32 = 3;

    /// How many of the first bytes of a file [`Compression::of_head`] needs.
    pub const HEAD_BYTES_MAX: usize = 10;

    /// The compression of an HTTP body with this Content-Encoding; `None` if the body is plain.
    pub fn of_content_encoding(name: &str) -> Result<Option<Compression>> {
        match name.trim() {
            "" => Ok(None),
            identity if identity.eq_ignore_ascii_case("identity") => Ok(None),
            name => match known(name.strip_prefix("x-").unwrap_or(name)) {
                Some(compression) => Ok(Some(compression)),
                None => bail!(
                    NotImplemented,
                    "Content-Encoding `{name}` is not implemented; use gzip, deflate, zstd, lz4, br, xz or bz2"
                ),
            },
        }
    }

    /// The compression that a COMPRESSION clause names; with `auto`, that of the extension of the file `path`.
    pub fn of_clause(name: &str, path: &str) -> Result<Option<Compression>> {
        match name.to_ascii_lowercase().as_str() {
            "none" => Ok(None),
            "auto" => Compression::of_file_name(path),
            lower => match known(lower) {
                Some(compression) => Ok(Some(compression)),
                None => {
                    let hint = did_you_mean(name, NAMES.iter().map(|(known, _)| *known));
                    bail!(
                        NotImplemented,
                        "compression `{name}` is not implemented{hint}; use auto, none, gzip, deflate, zstd, lz4, br, xz \
                         or bz2"
                    )
                }
            },
        }
    }

    /// The compression of a file by its extension; `None` if that does not mean one.
    pub fn of_file_name(name: &str) -> Result<Option<Compression>> {
        let Some((_, extension)) = extension(name) else { return Ok(None) };
        if extension.eq_ignore_ascii_case("snappy") {
            bail!(NotImplemented, "`{name}`: snappy is not implemented");
        }
        Ok(known(extension))
    }

    /// The name of a file without the extension that means its compression.
    pub fn plain_file_name(name: &str) -> &str {
        match extension(name) {
            Some((plain, extension)) if known(extension).is_some() => plain,
            _ => name,
        }
    }

    /// The compression of a file that begins with the bytes `head`, if its format has a mark at the beginning.
    pub fn of_head(head: &[u8]) -> Option<Compression> {
        MAGICS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, compression)| *compression)
    }

    /// The name in Content-Encoding and in COMPRESSION.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Deflate => "deflate",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
            Compression::Brotli => "br",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bz2",
        }
    }

    /// The greatest level; the smallest is 1.
    pub fn max_level(self) -> u32 {
        match self {
            Compression::Zstd => 22,
            Compression::Lz4 => 12,
            _ => 9,
        }
    }
}

fn known(name: &str) -> Option<Compression> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, compression)| *compression)
}

/// The name before the last dot of the last component, and the extension after it.
fn extension(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(_, extension)| !extension.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_encodings_are_known_by_name() {
        let of = |name: &str| Compression::of_content_encoding(name).ok();
        assert_eq!(of("GZip"), Some(Some(Compression::Gzip)));
        assert_eq!(of("x-gzip"), Some(Some(Compression::Gzip)));
        assert_eq!((of(""), of("identity")), (Some(None), Some(None)));
        assert_eq!((of("compress"), of("gzip, br")), (None, None));
        for compression in Compression::ALL {
            assert_eq!(of(compression.name()), Some(Some(compression)));
        }
    }

    #[test]
    fn clause_counts_more_than_the_name_of_the_file() {
        let of = |name: &str, path: &str| Compression::of_clause(name, path).ok();
        assert_eq!(of("none", "a.gz"), Some(None));
        assert_eq!(of("auto", "a.gz"), Some(Some(Compression::Gzip)));
        assert_eq!(of("ZSTD", "a.gz"), Some(Some(Compression::Zstd)));
        let unknown = Compression::of_clause("gzp", "a").unwrap_err();
        assert!(unknown.message().contains("did you mean `gz"), "{unknown}");
    }

    #[test]
    fn extension_of_a_file_is_its_compression() {
        for (name, plain, compression) in [
            ("a.csv.gz", "a.csv", Some(Compression::Gzip)),
            ("/x.y/a.csv.ZST", "/x.y/a.csv", Some(Compression::Zstd)),
            ("a.xz", "a", Some(Compression::Xz)),
            ("/x.gz/a", "/x.gz/a", None),
            ("a.csv", "a.csv", None),
        ] {
            assert_eq!(Compression::of_file_name(name).unwrap(), compression, "{name}");
            assert_eq!(Compression::plain_file_name(name), plain);
        }
        assert!(Compression::of_file_name("a.csv.snappy").is_err());
    }
}
