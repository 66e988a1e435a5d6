//! Messages of an Arrow stream: their framing, and checks of the lengths that they state.
//!
//! # Layout
//!
//! A message is `FF FF FF FF`, the length of its metadata (i32), the metadata (a flatbuffer), and a body of the length
//! that the metadata state. Old streams lack the first four bytes. Length 0 ends a stream. An Arrow file is the word
//! `ARROW1` and two zero bytes, a stream, and a footer.

use std::io::Read;

use arrow::buffer::Buffer;
use arrow_ipc::{BodyCompression, Message, MessageHeader, RecordBatch, root_as_message};
use basalt_base::query::{check_allocation, checkpoint};
use basalt_base::{Error, Result};

use super::damage::damaged;

/// The start of an Arrow file.
pub(super) const FILE_MAGIC: &[u8; 8] = b"ARROW1\0\0";

const CONTINUATION: [u8; 4] = [0xff; 4];
const METADATA_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 1 << 20;

/// The most bytes that the buffers of one batch may take when they are decompressed.
const PLAIN_BYTES_MAX: u64 = 16 << 30;

/// The bytes of a message.
pub(super) struct MessageBytes {
    metadata: Vec<u8>,
    pub(super) body: Buffer,
}

impl MessageBytes {
    /// The next message; `None` at the end of the stream.
    pub(super) fn read(input: &mut dyn Read, format: &'static str) -> Result<Option<MessageBytes>> {
        let mut length = [0; 4];
        if !read_word(input, &mut length, format)? {
            return Ok(None);
        }
        if length == CONTINUATION && !read_word(input, &mut length, format)? {
            return Err(damaged(format, "it ends inside of a message"));
        }
        let length =
            usize::try_from(i32::from_le_bytes(length)).ok().filter(|&length| length <= METADATA_BYTES_MAX);
        let Some(length) = length else { return Err(damaged(format, "a message has an impossible length")) };
        if length == 0 {
            return Ok(None);
        }
        let metadata = read_bytes(input, length as u64, format)?;
        let body_bytes = parsed(&metadata, format)?.bodyLength();
        let body_bytes =
            u64::try_from(body_bytes).map_err(|_| damaged(format, "a body has an impossible length"))?;
        let body = Buffer::from_vec(read_bytes(input, body_bytes, format)?);
        Ok(Some(MessageBytes { metadata, body }))
    }

    pub(super) fn message(&self, format: &'static str) -> Result<Message<'_>> {
        parsed(&self.metadata, format)
    }
}

fn parsed<'a>(metadata: &'a [u8], format: &'static str) -> Result<Message<'a>> {
    root_as_message(metadata).map_err(|error| damaged(format, error))
}

/// Reads four bytes; `false` if there are none.
fn read_word(input: &mut dyn Read, word: &mut [u8; 4], format: &'static str) -> Result<bool> {
    let found = read_up_to(input, 4)?;
    match <[u8; 4]>::try_from(found.as_slice()) {
        Ok(bytes) => *word = bytes,
        Err(_) if found.is_empty() => return Ok(false),
        Err(_) => return Err(damaged(format, "it ends inside of a message")),
    }
    Ok(true)
}

fn read_bytes(input: &mut dyn Read, count: u64, format: &'static str) -> Result<Vec<u8>> {
    let bytes = read_up_to(input, count)?;
    if (bytes.len() as u64) < count {
        return Err(damaged(format, "it ends inside of a message"));
    }
    Ok(bytes)
}

/// Reads `count` bytes, or fewer at the end. Memory grows with what is there, not with `count`.
pub(super) fn read_up_to(input: &mut dyn Read, count: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < count {
        checkpoint()?;
        let missing = (count - bytes.len() as u64).min(READ_BYTES as u64);
        check_allocation(missing)?;
        let read = (&mut *input).take(missing).read_to_end(&mut bytes).map_err(Error::of_reading)?;
        if (read as u64) < missing {
            break;
        }
    }
    Ok(bytes)
}

/// Fails if a buffer of the batch is not inside of `body`, or if lengths contradict each other.
pub(super) fn check_batch(batch: RecordBatch<'_>, body: &[u8], format: &'static str) -> Result<()> {
    let impossible = |what: &str| Err(damaged(format, format!("{what} of a batch is impossible")));
    if i32::try_from(batch.length()).is_err() || batch.length() < 0 {
        return impossible("the number of rows");
    }
    for node in batch.nodes().into_iter().flatten() {
        if node.length() < 0 || !(0..=node.length()).contains(&node.null_count()) {
            return impossible("the length of an array");
        }
    }
    let mut plain_bytes = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let bounds = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let bytes = bounds.and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?));
        let Some(bytes) = bytes else { return impossible("the place of a buffer") };
        match plain_length(bytes, batch.compression()) {
            Some(length) => plain_bytes += length,
            None => return impossible("the decompressed length of a buffer"),
        }
    }
    if plain_bytes > PLAIN_BYTES_MAX {
        return impossible("the decompressed size");
    }
    check_allocation(plain_bytes)
}

/// The length of a buffer without compression: its first eight bytes, -1 if it is plain.
fn plain_length(bytes: &[u8], compression: Option<BodyCompression<'_>>) -> Option<u64> {
    let (Some(_), false) = (compression, bytes.is_empty()) else { return Some(0) };
    let stated = i64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    match stated {
        -1 => Some(0),
        _ => u64::try_from(stated).ok().filter(|&length| length <= PLAIN_BYTES_MAX),
    }
}

/// The kind of a message, for an error.
pub(super) fn unexpected(header: MessageHeader, format: &'static str) -> Error {
    damaged(
        format,
        format!("a message of type {} is not expected", header.variant_name().unwrap_or("unknown")),
    )
}
