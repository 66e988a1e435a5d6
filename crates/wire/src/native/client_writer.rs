//! The packets that a client sends after its statement.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use super::blocks::BlockPackets;
use super::client_packet::{CANCEL, DATA, PING};
use crate::frame::Method;
use crate::write::put_varint;

/// Writes packets for a server of one revision.
#[derive(Clone, Copy, Debug)]
pub struct ClientWriter {
    blocks: BlockPackets,
}

impl ClientWriter {
    /// Blocks are in frames of the method `compression`, if there is one.
    pub fn new(revision: u64, compression: Option<Method>) -> ClientWriter {
        ClientWriter { blocks: BlockPackets { revision, compression } }
    }

    /// Rows of an INSERT.
    pub fn data(&self, columns: &Columns, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put(DATA, columns, rows, out)
    }

    /// The empty block that follows a statement, and the rows of an INSERT.
    pub fn end_of_data(&self, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put_header(DATA, &Columns::new(Vec::new()), out)
    }

    pub fn cancel(&self, out: &mut Vec<u8>) {
        put_varint(out, CANCEL);
    }

    pub fn ping(&self, out: &mut Vec<u8>) {
        put_varint(out, PING);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::UInt8Array;
    use basalt_base::{Column, SqlType};
    use basalt_formats::native::BlockLimits;

    use super::*;
    use crate::native::{ClientPacket, DataReader, EndOfData, REVISION, read_end_of_data};

    #[test]
    fn a_server_reads_what_a_client_writes() {
        let columns = Columns::new(vec![Column::new("a", SqlType::UInt8)]);
        let array = Arc::new(UInt8Array::from(vec![1, 2, 3]));
        let rows = RecordBatch::try_new(columns.to_arrow(), vec![array]).expect("one column");
        for compression in [None, Some(Method::Lz4), Some(Method::Zstd)] {
            let writer = ClientWriter::new(REVISION, compression);
            let mut bytes = Vec::new();
            writer.end_of_data(&mut bytes).expect("it is written");
            let is_compressed = compression.is_some();
            let end = read_end_of_data(bytes.as_slice(), is_compressed).expect("whole");
            assert_eq!(end, EndOfData::Reached);
            bytes.clear();
            writer.data(&columns, &rows, &mut bytes).expect("it is written");
            writer.end_of_data(&mut bytes).expect("it is written");
            let limits = BlockLimits { bytes_max: 1 << 20 };
            let mut reader =
                DataReader::new(bytes.as_slice(), REVISION, is_compressed, limits).expect("known");
            let block = reader.next_block().expect("whole").expect("there is one");
            assert_eq!((block.columns, block.rows), (columns.clone(), rows.clone()));
            assert!(reader.next_block().expect("whole").is_none());
        }
        let mut bytes = Vec::new();
        ClientWriter::new(REVISION, None).ping(&mut bytes);
        ClientWriter::new(REVISION, None).cancel(&mut bytes);
        let mut packets = bytes.as_slice();
        for packet in [ClientPacket::Ping, ClientPacket::Cancel] {
            assert_eq!(ClientPacket::read(&mut packets, REVISION).expect("whole"), packet);
        }
    }
}
