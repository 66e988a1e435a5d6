//! Content-Encoding of answers: gzip and zstd, piece by piece.
//!
//! An answer is compressed if the request accepts it and sets `enable_http_compression=1`. Every piece is flushed, so
//! that a client can read rows as soon as they are sent.

use std::io::{self, Write};

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{StreamExt, stream};

use super::parameters;

/// Fast rather than small, so that a query does not wait for compression.
const GZIP_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// The best encoding that both the request and this server support.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Encoding> {
        let accepted = parameters::header(headers, header::ACCEPT_ENCODING.as_str())?;
        let accepts = |wanted: &str| {
            accepted.split(',').any(|entry| {
                let mut parts = entry.split(';').map(str::trim);
                let refused = entry.replace(' ', "").ends_with(";q=0");
                parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted)) && !refused
            })
        };
        [Encoding::Zstd, Encoding::Gzip].into_iter().find(|encoding| accepts(encoding.name()))
    }

    /// The value of the Content-Encoding header.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Zstd => "zstd",
        }
    }

    /// The body, compressed.
    pub(super) fn compress(self, body: Body) -> io::Result<Body> {
        let encoder = match self {
            Encoding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Encoding::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
        };
        let state = (body.into_data_stream(), Some(encoder));
        Ok(Body::from_stream(stream::unfold(state, |(pieces, encoder)| step(pieces, encoder))))
    }
}

type State = (BodyDataStream, Option<Encoder>);

async fn step(mut pieces: BodyDataStream, encoder: Option<Encoder>) -> Option<(io::Result<Bytes>, State)> {
    let mut encoder = encoder?;
    match pieces.next().await {
        Some(Ok(piece)) => Some((encoder.encode(&piece), (pieces, Some(encoder)))),
        Some(Err(error)) => Some((Err(io::Error::other(error)), (pieces, None))),
        None => Some((encoder.finish(), (pieces, None))),
    }
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// The compressed bytes of the piece, complete.
    fn encode(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        let out = match self {
            Encoder::Gzip(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Encoder::Zstd(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(std::mem::take(out).into())
    }

    fn finish(self) -> io::Result<Bytes> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish().map(Bytes::from),
            Encoder::Zstd(encoder) => encoder.finish().map(Bytes::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn accepted(text: &str) -> Option<Encoding> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, text.parse().expect("a header"));
        Encoding::accepted(&headers)
    }

    #[test]
    fn best_encoding_that_is_accepted_is_taken() {
        assert_eq!(accepted("gzip"), Some(Encoding::Gzip));
        assert_eq!(accepted("deflate, GZIP;q=0.5, zstd"), Some(Encoding::Zstd));
        assert_eq!(accepted("zstd; q=0, gzip"), Some(Encoding::Gzip));
        assert_eq!(accepted("br"), None);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), None);
    }

    async fn compressed(encoding: Encoding, pieces: &[&'static str]) -> Vec<u8> {
        let pieces = stream::iter(pieces.to_vec()).map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
        let body = encoding.compress(Body::from_stream(pieces)).expect("an encoder");
        let mut all = Vec::new();
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            all.extend_from_slice(&piece.expect("in memory"));
        }
        all
    }

    #[tokio::test]
    async fn pieces_come_back_as_they_were() {
        let pieces = ["one\n", "", "two\n", "three\n"];
        let mut text = String::new();
        let gzip = compressed(Encoding::Gzip, &pieces).await;
        flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut text).expect("gzip");
        assert_eq!(text, pieces.concat());
        let zstd = compressed(Encoding::Zstd, &pieces).await;
        assert_eq!(zstd::decode_all(&zstd[..]).expect("zstd"), pieces.concat().as_bytes());
    }
}
