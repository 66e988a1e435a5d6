//! Any bytes are packets of the native protocol or refused; a query is written as bytes that read back to itself.
//!
//! The first byte chooses the revision of the protocol and whether blocks are compressed. A hello, packets and the
//! blocks after them are read from the rest, as a server reads them, and as a client reads what a server sends.

use std::io::Cursor;

use basalt_formats::native::BlockLimits;
use basalt_wire::frame::{self, Method};
use basalt_wire::native::{
    ClientHello, ClientPacket, DataReader, OLDEST_REVISION, REVISION, ServerHello, ServerReader,
    read_addendum, read_end_of_data,
};

/// Before and after each change of a query.
const REVISIONS: [u64; 5] = [OLDEST_REVISION, 54_441, 54_449, 54_459, REVISION];

const LIMITS: BlockLimits = BlockLimits { bytes_max: 1 << 20 };

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let revision = REVISIONS[usize::from(choice & 0x7f) % REVISIONS.len()];
    let is_compressed = choice & 0x80 != 0;
    if let Ok(hello) = ClientHello::read(rest) {
        let mut written = Vec::new();
        hello.write(&mut written);
        assert_eq!(ClientHello::read(written.as_slice()).expect("a hello that was written"), hello);
    }
    // These take any bytes.
    let _ = ServerHello::read(rest);
    let _ = (read_addendum(rest, revision), read_end_of_data(rest, is_compressed), frame::length(rest));
    let mut packets = rest;
    while let Ok(packet) = ClientPacket::read(&mut packets, revision) {
        match packet {
            ClientPacket::Query(query) => {
                let mut written = Vec::new();
                query.write(revision, &mut written);
                let read =
                    ClientPacket::read(written.as_slice(), revision).expect("a query that was written");
                let ClientPacket::Query(read) = read else { panic!("{read:?} is no query") };
                assert_eq!((read.text, read.parameters), (query.text, query.parameters));
            }
            ClientPacket::Data | ClientPacket::Scalar => break,
            _ => {}
        }
    }
    blocks(rest, revision, is_compressed);
    answer(rest, revision, is_compressed);
    let mut frames = Vec::new();
    frame::compress(rest, Method::Lz4, &mut frames).expect("any bytes compress");
    blocks(&frames, revision, true);
}

fn blocks(bytes: &[u8], revision: u64, is_compressed: bool) {
    let input = Cursor::new(bytes);
    let mut reader = DataReader::new(input, revision, is_compressed, LIMITS).expect("a known revision");
    while let Ok(Some(_)) = reader.next_block() {}
}

fn answer(bytes: &[u8], revision: u64, is_compressed: bool) {
    let mut reader = ServerReader::new(bytes, revision, is_compressed, LIMITS).expect("a known revision");
    while reader.next_packet().is_ok() {}
}
