//! Bodies in ClickHouse's compressed frames: `decompress=1` for requests, `compress=1` for answers.

use axum::body::{Body, BodyDataStream};
use basalt_engine::Error;
use basalt_wire::frame::{self, Method};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};

use super::uploads::{broken_body, broken_frame};

/// The answer, as frames compressed with LZ4.
pub(super) fn compressed(body: Body) -> Body {
    let pieces = body.into_data_stream().map(|piece| {
        let mut frames = Vec::new();
        frame::compress(&piece?, Method::Lz4, &mut frames).map_err(axum::Error::new)?;
        Ok::<_, axum::Error>(Bytes::from(frames))
    });
    Body::from_stream(pieces)
}

/// The data of the frames of a request.
pub(super) fn decompressed(body: Body) -> Body {
    let state = Some((body.into_data_stream(), BytesMut::new()));
    Body::from_stream(stream::unfold(state, |state| async move {
        let (mut pieces, mut arrived) = state?;
        match next_frame(&mut pieces, &mut arrived).await {
            Ok(Some(data)) => Some((Ok(data), Some((pieces, arrived)))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    }))
}

/// The data of the next frame; `None` at the end of the body.
async fn next_frame(pieces: &mut BodyDataStream, arrived: &mut BytesMut) -> Result<Option<Bytes>, Error> {
    loop {
        if frame::length(arrived)?.is_some_and(|length| length <= arrived.len()) {
            let mut rest = &arrived[..];
            let data =
                frame::read_frame(&mut rest).map_err(|error| error.into_error("a compressed frame"))?;
            let consumed = arrived.len() - rest.len();
            drop(arrived.split_to(consumed));
            return Ok(Some(data.into()));
        }
        match pieces.next().await {
            Some(piece) => arrived.extend_from_slice(&piece.map_err(broken_body)?),
            None if arrived.is_empty() => return Ok(None),
            None => return Err(broken_frame()),
        }
    }
}
