//! Decompresses the body of a response.

use std::io::Read;

use basalt_base::{Error, Result, bail};
use flate2::read::{MultiGzDecoder, ZlibDecoder};

/// Names of compressions in Content-Encoding, and suffixes of compressed files.
const NAMES: [(&str, Compression); 7] = [
    ("gzip", Compression::Gzip),
    ("gz", Compression::Gzip),
    ("x-gzip", Compression::Gzip),
    ("deflate", Compression::Deflate),
    ("zstd", Compression::Zstd),
    ("zst", Compression::Zstd),
    ("identity", Compression::None),
];

/// Compressions that ClickHouse supports and this crate does not.
const UNREAD: [&str; 6] = ["br", "xz", "lzma", "lz4", "bz2", "snappy"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Deflate,
    Zstd,
}

/// Decompresses `body` as Content-Encoding says, or else as the suffix of the path in `url` says.
pub(super) fn decoded(
    body: impl Read + Send + 'static,
    encoding: Option<&str>,
    url: &str,
) -> Result<Box<dyn Read + Send>> {
    Ok(match compression(encoding, url)? {
        Compression::None => Box::new(body),
        Compression::Gzip => Box::new(MultiGzDecoder::new(body)),
        Compression::Deflate => Box::new(ZlibDecoder::new(body)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(body).map_err(Error::logical)?),
    })
}

fn compression(encoding: Option<&str>, url: &str) -> Result<Compression> {
    let named = encoding.map(str::trim).filter(|name| !name.is_empty()).map(str::to_ascii_lowercase);
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_named = named.is_some();
    let Some(name) = named.or(ending) else { return Ok(Compression::None) };
    if let Some((_, compression)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(*compression);
    }
    if is_named || UNREAD.contains(&name.as_str()) {
        bail!(
            NotImplemented,
            "{url} answers in compression `{name}`, which is not implemented: gzip, deflate and zstd are"
        );
    }
    Ok(Compression::None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_header_counts_more_than_the_path() {
        let check = |encoding: Option<&str>, url: &str| compression(encoding, url).ok();
        assert_eq!(check(None, "http://a/b"), Some(Compression::None));
        assert_eq!(check(None, "http://a.gz/b"), Some(Compression::None));
        assert_eq!(check(None, "http://a/b.tsv.GZ?x=y.zst"), Some(Compression::Gzip));
        assert_eq!(check(Some(""), "http://a/b.zst"), Some(Compression::Zstd));
        assert_eq!(check(Some("identity"), "http://a/b.zst"), Some(Compression::None));
        assert_eq!(check(Some("GZip"), "http://a/b.tsv"), Some(Compression::Gzip));
        assert_eq!(check(Some("br"), "http://a/b.tsv"), None);
        assert_eq!(check(None, "http://a/b.xz"), None);
    }

    #[test]
    fn bodies_come_out_as_they_were_and_damaged_ones_are_errors() {
        let text = b"1\tone\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&text).expect("memory");
        let zlib = zlib.finish().expect("memory");
        let zstd = zstd::stream::encode_all(&text[..], 1).expect("memory");
        for (name, bytes) in [("gzip", gzip), ("deflate", zlib), ("zstd", zstd)] {
            let read = |bytes: Vec<u8>| {
                let mut out = Vec::new();
                let body = decoded(std::io::Cursor::new(bytes), Some(name), "http://a/");
                body.expect("known").read_to_end(&mut out).map(|_| out)
            };
            assert_eq!(read(bytes.clone()).ok().as_deref(), Some(&text[..]), "{name}");
            for end in 1..bytes.len() {
                assert!(read(bytes[..end].to_vec()).is_err(), "{name} of {end} bytes");
            }
        }
    }
}
