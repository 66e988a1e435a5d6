//! Content-Encoding of requests: turns a compressed body into a plain one.
//!
//! A thread reads the compressed body, decompresses it and sends the plain pieces on. It holds a place of [`Uploads`],
//! so there is a limit of such threads, and a client that sends nothing loses its place to one that waits.

use std::io::Read;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use basalt_engine::compression::{Compression, Decompressor};
use basalt_engine::{Error, Result};
use bytes::Bytes;
use futures::stream;
use tokio::sync::mpsc;

use super::parameters;
use super::uploads::Uploads;

/// Plain bytes that are sent on at once.
const PIECE_BYTES: usize = 64 << 10;

/// Plain pieces that may wait for the statement.
const PIECES_WAITING: usize = 2;

/// The request with a plain body.
pub(super) async fn decoded(request: Request, uploads: &Uploads) -> Result<Request> {
    let Some(compression) = encoding(request.headers())? else { return Ok(request) };
    let (head, body) = request.into_parts();
    Ok(Request::from_parts(head, plain_body(body, compression, uploads).await))
}

fn encoding(headers: &HeaderMap) -> Result<Option<Compression>> {
    match parameters::header(headers, header::CONTENT_ENCODING.as_str()) {
        Some(name) => Compression::of_content_encoding(&name),
        None => Ok(None),
    }
}

async fn plain_body(body: Body, compression: Compression, uploads: &Uploads) -> Body {
    let input = uploads.open(body.into_data_stream()).await;
    let (sender, receiver) = mpsc::channel(PIECES_WAITING);
    tokio::task::spawn_blocking(move || {
        let mut reader = Decompressor::new(compression, Box::new(input));
        while let Some(piece) = next_piece(&mut reader).transpose() {
            let failed = piece.is_err();
            // If the statement is gone, nobody needs the rest.
            if sender.blocking_send(piece).is_err() || failed {
                return;
            }
        }
    });
    Body::from_stream(stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    }))
}

fn next_piece(reader: &mut Decompressor) -> Result<Option<Bytes>> {
    let mut piece = vec![0; PIECE_BYTES];
    let count = reader.read(&mut piece).map_err(Error::of_reading)?;
    piece.truncate(count);
    Ok(if count == 0 { None } else { Some(piece.into()) })
}

#[cfg(test)]
mod tests {
    use basalt_engine::ErrorCode;
    use basalt_engine::compression::Compressor;
    use futures::StreamExt;

    use super::super::uploads::broken_body;
    use super::*;

    fn compressed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut compressor = Compressor::new(compression, 1).expect("a level");
        compressor.compress(text, &mut bytes).expect("memory");
        compressor.finish(&mut bytes).expect("memory");
        bytes
    }

    async fn plain(compression: Compression, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let body = plain_body(Body::from(bytes), compression, &Uploads::default()).await;
        let (mut pieces, mut all) = (body.into_data_stream(), Vec::new());
        while let Some(piece) = pieces.next().await {
            all.extend_from_slice(&piece.map_err(broken_body)?);
        }
        Ok(all)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bodies_come_out_as_they_were_and_damaged_ones_are_errors() {
        let text = b"1\tone\n".repeat(50_000);
        for compression in Compression::ALL {
            let bytes = compressed(compression, &text);
            assert!(plain(compression, bytes.clone()).await.expect("whole") == text);
            let cut = plain(compression, bytes[..bytes.len() - 1].to_vec()).await.expect_err("cut");
            assert_eq!(cut.code(), ErrorCode::IncorrectData, "{}", compression.name());
        }
    }
}
