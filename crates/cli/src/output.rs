//! The destination of answers: standard output, or the file of INTO OUTFILE.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Stdout, Write};

use basalt_engine::compression::Compressor;
use basalt_engine::{ErrorCode, Outfile};

use crate::failure::Failure;

/// Standard output of this process.
pub(crate) struct Output {
    stdout: Stdout,
}

/// The destination of one answer.
pub(crate) enum Sink<'a> {
    Stdout(&'a Stdout),
    File(BufWriter<File>),
    Compressed(BufWriter<File>, Compressor),
    Memory(&'a mut Vec<u8>),
}

impl Output {
    pub(crate) fn new() -> Output {
        Output { stdout: io::stdout() }
    }

    /// Opens `outfile`, which must not exist, or standard output if there is none.
    pub(crate) fn begin(&mut self, outfile: Option<&Outfile>) -> Result<Sink<'_>, Failure> {
        let Some(Outfile { path, compression }) = outfile else {
            return Ok(Sink::Stdout(&self.stdout));
        };
        let compressor =
            compression.map(|(compression, level)| Compressor::new(compression, level)).transpose()?;
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|e| Failure::with_code(ErrorCode::CannotOpenFile, format!("{path}: {e}")))?;
        let file = BufWriter::new(file);
        Ok(match compressor {
            Some(compressor) => Sink::Compressed(file, compressor),
            None => Sink::File(file),
        })
    }

    /// Prints a line of the shell itself.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.stdout, "{text}").and_then(|()| self.stdout.flush()).map_err(|e| Failure::output(&e))
    }
}

impl<'a> Sink<'a> {
    pub(crate) fn memory(out: &'a mut Vec<u8>) -> Sink<'a> {
        Sink::Memory(out)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Sink::Stdout(stdout) => stdout.lock().write_all(bytes),
            Sink::File(file) => file.write_all(bytes),
            Sink::Compressed(file, compressor) => {
                let mut compressed = Vec::new();
                compressor.compress(bytes, &mut compressed)?;
                file.write_all(&compressed)
            }
            Sink::Memory(out) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
        };
        written.map_err(|e| Failure::output(&e))
    }

    /// Completes the answer. A file is on disk when this returns.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let finished = match self {
            Sink::Stdout(stdout) => stdout.lock().flush(),
            Sink::File(file) => synced(file),
            Sink::Compressed(mut file, compressor) => {
                let mut compressed = Vec::new();
                compressor.finish(&mut compressed)?;
                file.write_all(&compressed).and_then(|()| synced(file))
            }
            Sink::Memory(_) => Ok(()),
        };
        finished.map_err(|e| Failure::output(&e))
    }
}

fn synced(file: BufWriter<File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all())
}
