//! The packets of a server, as a client reads them on a thread that may block.

use std::io::BufRead;

use basalt_base::{Error, ErrorCode, Result};
use basalt_formats::native::{BlockDecoder, BlockLimits};

use super::blocks::{BlockBytes, DataBlock, NAME_BYTES_MAX};
use super::exception::read_exception;
use super::revision::{SERVER_QUERY_TIME_IN_PROGRESS, TOTAL_BYTES_IN_PROGRESS};
use super::server_packet::{
    DATA, END_OF_STREAM, EXCEPTION, EXTREMES, LOG, PONG, PROFILE_EVENTS, PROFILE_INFO, PROGRESS, ProfileInfo,
    ProgressIncrement, TABLE_COLUMNS, TIMEZONE_UPDATE, TOTALS,
};
use crate::read::{ReadError, ReadPrimitives, ReadResult, malformed};

/// The names, types and defaults of a table's columns.
const COLUMNS_BYTES_MAX: usize = 16 << 20;

/// Where the bytes end too early, for errors.
const ANSWER: &str = "the answer of a server";

/// A packet of a server.
#[derive(Clone, Debug)]
pub enum ServerPacket {
    /// Rows of a result. The first block has no rows: it says the columns.
    Data(DataBlock),
    Totals(DataBlock),
    Extremes(DataBlock),
    /// Lines of the server's log.
    Log(DataBlock),
    /// Counters of the query.
    ProfileEvents(DataBlock),
    Progress(ProgressIncrement),
    ProfileInfo(ProfileInfo),
    /// The columns of a table with their defaults, in the form of ClickHouse's metadata.
    TableColumns(String),
    /// The time zone of the session.
    TimezoneUpdate(String),
    Exception(Error),
    EndOfStream,
    Pong,
}

/// Reads the packets that follow a server's hello.
pub struct ServerReader<R> {
    input: BlockBytes<R>,
    decoder: BlockDecoder,
    revision: u64,
}

impl<R: BufRead> ServerReader<R> {
    pub fn new(input: R, revision: u64, is_compressed: bool, limits: BlockLimits) -> Result<ServerReader<R>> {
        let decoder = BlockDecoder::new(revision, limits)?;
        Ok(ServerReader { input: BlockBytes::new(input, is_compressed), decoder, revision })
    }

    pub fn input_mut(&mut self) -> &mut R {
        self.input.raw()
    }

    /// The next packet. After an error nothing that follows can be understood.
    pub fn next_packet(&mut self) -> Result<ServerPacket> {
        self.read().map_err(|error| {
            let error = error.into_error(ANSWER);
            match error.code() {
                ErrorCode::UnexpectedPacketFromClient => {
                    Error::new(ErrorCode::UnexpectedPacketFromServer, error.message())
                }
                _ => error,
            }
        })
    }

    fn read(&mut self) -> ReadResult<ServerPacket> {
        let input = self.input.raw();
        Ok(match input.varint()? {
            DATA => ServerPacket::Data(self.block()?),
            TOTALS => ServerPacket::Totals(self.block()?),
            EXTREMES => ServerPacket::Extremes(self.block()?),
            LOG => ServerPacket::Log(self.plain_block()?),
            PROFILE_EVENTS => ServerPacket::ProfileEvents(self.plain_block()?),
            PROGRESS => ServerPacket::Progress(read_progress(input, self.revision)?),
            PROFILE_INFO => ServerPacket::ProfileInfo(read_profile_info(input)?),
            TABLE_COLUMNS => {
                input.prefixed(NAME_BYTES_MAX, "the name of a table")?;
                ServerPacket::TableColumns(input.text(COLUMNS_BYTES_MAX, "the columns of a table")?)
            }
            TIMEZONE_UPDATE => ServerPacket::TimezoneUpdate(input.text(NAME_BYTES_MAX, "a time zone")?),
            EXCEPTION => ServerPacket::Exception(read_exception(input)?),
            END_OF_STREAM => ServerPacket::EndOfStream,
            PONG => ServerPacket::Pong,
            other => return Err(malformed(format!("packet {other} of a server is not known"))),
        })
    }

    fn block(&mut self) -> ReadResult<DataBlock> {
        let table = read_name(self.input.raw())?;
        block(table, self.input.block(&mut self.decoder)?)
    }

    /// A block that is never compressed.
    fn plain_block(&mut self) -> ReadResult<DataBlock> {
        let input = self.input.raw();
        let table = read_name(input)?;
        block(table, self.decoder.read(input)?)
    }
}

fn read_name(input: &mut impl BufRead) -> ReadResult<String> {
    input.text(NAME_BYTES_MAX, "the name of a block")
}

fn block(
    table: String,
    read: Option<(basalt_base::Columns, arrow::array::RecordBatch)>,
) -> ReadResult<DataBlock> {
    let (columns, rows) = read.ok_or(ReadError::Incomplete(1))?;
    Ok(DataBlock { table, columns, rows })
}

fn read_progress(input: &mut impl BufRead, revision: u64) -> ReadResult<ProgressIncrement> {
    let (read_rows, read_bytes, total_rows_to_read) = (input.varint()?, input.varint()?, input.varint()?);
    if revision >= TOTAL_BYTES_IN_PROGRESS {
        input.varint()?;
    }
    Ok(ProgressIncrement {
        read_rows,
        read_bytes,
        total_rows_to_read,
        written_rows: input.varint()?,
        written_bytes: input.varint()?,
        elapsed_ns: if revision >= SERVER_QUERY_TIME_IN_PROGRESS { input.varint()? } else { 0 },
    })
}

fn read_profile_info(input: &mut impl BufRead) -> ReadResult<ProfileInfo> {
    let (rows, blocks, bytes) = (input.varint()?, input.varint()?, input.varint()?);
    let has_limit = input.byte()? != 0;
    let rows_before_limit = Some(input.varint()?).filter(|_| has_limit);
    // Whether the number of rows was counted.
    input.byte()?;
    Ok(ProfileInfo { rows, blocks, bytes, rows_before_limit })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, RecordBatch, UInt32Array};
    use basalt_base::{Column, Columns, SqlType};

    use super::*;
    use crate::frame::Method;
    use crate::native::{PacketWriter, REVISION};

    const LIMITS: BlockLimits = BlockLimits { bytes_max: 1 << 20 };
    const INFO: ProfileInfo = ProfileInfo { rows: 2, blocks: 1, bytes: 30, rows_before_limit: Some(9) };
    const PROGRESS_OF_QUERY: ProgressIncrement = ProgressIncrement {
        read_rows: 1,
        read_bytes: 2,
        total_rows_to_read: 3,
        written_rows: 4,
        written_bytes: 5,
        elapsed_ns: 6,
    };

    fn sample() -> (Columns, RecordBatch) {
        let columns =
            Columns::new(vec![Column::new("a", SqlType::UInt32), Column::new("b", SqlType::String)]);
        let texts = BinaryViewArray::from_iter_values(["one", "a text of more than twelve bytes"]);
        let arrays: Vec<arrow::array::ArrayRef> =
            vec![Arc::new(UInt32Array::from(vec![1, 1 << 30])), Arc::new(texts)];
        let rows = RecordBatch::try_new(columns.to_arrow(), arrays).expect("two columns");
        (columns, rows)
    }

    /// An answer with packets of every type that our server sends.
    fn answer(revision: u64, compression: Option<Method>) -> Vec<u8> {
        let (columns, rows) = sample();
        let writer = PacketWriter::new(revision, compression);
        let mut bytes = Vec::new();
        writer.pong(&mut bytes);
        writer.table_columns(&columns, &mut bytes);
        writer.header(&columns, &mut bytes).expect("it is written");
        writer.progress(&PROGRESS_OF_QUERY, &mut bytes);
        writer.data(&columns, &rows, &mut bytes).expect("it is written");
        writer.totals(&columns, &rows.slice(0, 1), &mut bytes).expect("it is written");
        writer.extremes(&columns, &rows, &mut bytes).expect("it is written");
        writer.profile_info(&INFO, &mut bytes);
        writer.profile_events(&[("SelectedRows", 2)], &mut bytes).expect("it is written");
        writer.end_of_stream(&mut bytes);
        bytes
    }

    fn read_all(bytes: &[u8], revision: u64, is_compressed: bool) -> Result<Vec<ServerPacket>> {
        let mut reader = ServerReader::new(bytes, revision, is_compressed, LIMITS)?;
        let mut packets = Vec::new();
        loop {
            packets.push(reader.next_packet()?);
            if matches!(packets.last(), Some(ServerPacket::EndOfStream)) {
                return Ok(packets);
            }
        }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written_for_every_revision() {
        let (columns, rows) = sample();
        for revision in [54_429, 54_451, 54_454, 54_460, 54_463, REVISION] {
            for compression in [None, Some(Method::None), Some(Method::Lz4), Some(Method::Zstd)] {
                let bytes = answer(revision, compression);
                let packets = read_all(&bytes, revision, compression.is_some()).expect("whole");
                let [
                    ServerPacket::Pong,
                    ServerPacket::TableColumns(text),
                    ServerPacket::Data(header),
                    rest @ ..,
                ] = packets.as_slice()
                else {
                    panic!("{packets:?}");
                };
                assert!(text.contains("2 columns:\na UInt32\n"), "{text}");
                assert_eq!((&header.columns, header.rows.num_rows()), (&columns, 0));
                let [ServerPacket::Progress(progress), ServerPacket::Data(data), rest @ ..] = rest else {
                    panic!("{rest:?}");
                };
                let elapsed_ns = if revision >= 54_460 { 6 } else { 0 };
                assert_eq!(*progress, ProgressIncrement { elapsed_ns, ..PROGRESS_OF_QUERY });
                assert_eq!((data.table.as_str(), &data.rows), ("", &rows));
                let [
                    ServerPacket::Totals(totals),
                    ServerPacket::Extremes(_),
                    ServerPacket::ProfileInfo(info),
                    ..,
                ] = rest
                else {
                    panic!("{rest:?}");
                };
                assert_eq!((&totals.rows, info), (&rows.slice(0, 1), &INFO));
                let has_events = rest.iter().any(|packet| matches!(packet, ServerPacket::ProfileEvents(_)));
                assert_eq!(has_events, revision >= 54_451);
            }
        }
    }

    #[test]
    fn packets_that_only_other_servers_send_are_read() {
        let (columns, rows) = sample();
        let mut bytes = Vec::new();
        crate::native::blocks::BlockPackets { revision: REVISION, compression: None }
            .put(LOG, &columns, &rows, &mut bytes)
            .expect("it is written");
        crate::write::put_varint(&mut bytes, TIMEZONE_UPDATE);
        crate::write::put_text(&mut bytes, "Europe/Berlin");
        PacketWriter::new(REVISION, None).exception(&Error::new(ErrorCode::UnknownTable, "no"), &mut bytes);
        let mut reader = ServerReader::new(bytes.as_slice(), REVISION, true, LIMITS).expect("known");
        assert!(matches!(reader.next_packet(), Ok(ServerPacket::Log(block)) if block.rows == rows));
        assert!(
            matches!(reader.next_packet(), Ok(ServerPacket::TimezoneUpdate(zone)) if zone == "Europe/Berlin")
        );
        let Ok(ServerPacket::Exception(error)) = reader.next_packet() else { panic!("no exception") };
        assert_eq!((error.code(), error.message()), (ErrorCode::UnknownTable, "no"));
    }

    #[test]
    fn no_truncation_is_a_whole_answer() {
        for compression in [None, Some(Method::Lz4)] {
            let bytes = answer(REVISION, compression);
            for length in 0..bytes.len() {
                assert!(read_all(&bytes[..length], REVISION, compression.is_some()).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn no_flipped_bit_is_a_panic() {
        for compression in [None, Some(Method::Lz4)] {
            let bytes = answer(REVISION, compression);
            for bit in 0..bytes.len() * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                // An error is as good as other packets.
                let _ = read_all(&changed, REVISION, compression.is_some());
            }
        }
    }

    #[test]
    fn packets_that_are_not_known_are_those_of_the_server() {
        let mut reader = ServerReader::new([99_u8].as_slice(), REVISION, true, LIMITS).expect("known");
        let error = reader.next_packet().expect_err("unknown");
        assert_eq!(error.code(), ErrorCode::UnexpectedPacketFromServer);
    }
}
