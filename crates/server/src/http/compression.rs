//! Content-Encoding of answers, piece by piece.
//!
//! An answer is compressed if the request accepts it and sets `enable_http_compression=1`. Every piece is flushed, so
//! that a client can read rows as soon as they are sent.

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use basalt_engine::Result;
use basalt_engine::compression::{Compression, Compressor};
use bytes::Bytes;
use futures::{StreamExt, stream};

use super::parameters;

/// The encodings of answers, those that ClickHouse prefers first. Pieces of the others cannot be flushed.
const OFFERED: [Compression; 5] =
    [Compression::Zstd, Compression::Brotli, Compression::Lz4, Compression::Gzip, Compression::Deflate];

/// The best encoding that both the request and this server support.
pub(super) fn accepted(headers: &HeaderMap) -> Option<Compression> {
    let accepted = parameters::header(headers, header::ACCEPT_ENCODING.as_str())?;
    let accepts = |wanted: &str| {
        accepted.split(',').any(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let refused = entry.replace(' ', "").ends_with(";q=0");
            parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted)) && !refused
        })
    };
    OFFERED.into_iter().find(|compression| accepts(compression.name()))
}

/// The body, compressed at `level`, or at the nearest level that there is.
pub(super) fn compressed(body: Body, compression: Compression, level: u32) -> Result<Body> {
    let compressor = Compressor::new(compression, level.clamp(1, compression.max_level()))?;
    let state = (body.into_data_stream(), Some(compressor));
    Ok(Body::from_stream(stream::unfold(state, |(pieces, compressor)| step(pieces, compressor))))
}

type Sent = Result<Bytes, axum::Error>;
type State = (BodyDataStream, Option<Compressor>);

async fn step(mut pieces: BodyDataStream, compressor: Option<Compressor>) -> Option<(Sent, State)> {
    let mut compressor = compressor?;
    let mut out = Vec::new();
    match pieces.next().await {
        Some(Ok(piece)) => {
            let done = compressor.compress(&piece, &mut out).and_then(|()| compressor.flush(&mut out));
            Some((sent(done, out), (pieces, Some(compressor))))
        }
        Some(Err(error)) => Some((Err(error), (pieces, None))),
        None => {
            let done = compressor.finish(&mut out);
            Some((sent(done, out), (pieces, None)))
        }
    }
}

fn sent(done: Result<()>, out: Vec<u8>) -> Sent {
    done.map(|()| out.into()).map_err(axum::Error::new)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use basalt_engine::compression::Decompressor;

    use super::*;

    fn best(text: &str) -> Option<Compression> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, text.parse().expect("a header"));
        accepted(&headers)
    }

    #[test]
    fn best_encoding_that_is_accepted_is_taken() {
        assert_eq!(best("gzip"), Some(Compression::Gzip));
        assert_eq!(best("deflate, GZIP;q=0.5, zstd"), Some(Compression::Zstd));
        assert_eq!(best("zstd; q=0, gzip"), Some(Compression::Gzip));
        assert_eq!(best("gzip, deflate, br"), Some(Compression::Brotli));
        assert_eq!(best("lz4, deflate"), Some(Compression::Lz4));
        assert_eq!(best("deflate"), Some(Compression::Deflate));
        assert_eq!(best("snappy"), None);
        assert_eq!(accepted(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn pieces_come_back_as_they_were() {
        let pieces = ["one\n", "", "two\n", "three\n"];
        for compression in OFFERED {
            let given = stream::iter(pieces).map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
            let body = compressed(Body::from_stream(given), compression, 99).expect("a level");
            let mut all = Vec::new();
            let mut sent = body.into_data_stream();
            while let Some(piece) = sent.next().await {
                all.extend_from_slice(&piece.expect("in memory"));
            }
            let mut text = String::new();
            let mut reader = Decompressor::new(compression, Box::new(Cursor::new(all)));
            reader.read_to_string(&mut text).expect("whole");
            assert_eq!(text, pieces.concat(), "{}", compression.name());
        }
    }
}
