//! A file that a statement reads: its format and compression by name, and its plain bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use basalt_base::fs::InputFile;
use basalt_base::{Error, FileAction, Result, bail};
use basalt_formats::compression::{Compression, Decompressor};
use basalt_formats::format_of_file_name;

/// The format that takes any bytes as they are.
const ANY_BYTES: &str = "RawBLOB";

/// The format by the name of a file.
pub(crate) fn format_of_path(path: &Path) -> Result<String> {
    match format_of_file_name(&path.to_string_lossy())? {
        Some(format) => Ok(format.to_owned()),
        None => {
            bail!(UnknownFormat, "the name of `{}` does not determine its format; add FORMAT", path.display())
        }
    }
}

/// The plain bytes of the file, which is to be read as `format`. `compression` is that of a COMPRESSION clause; without
/// one the name of the file counts. A file that is compressed although its name does not say so is an error, unless
/// the format takes any bytes.
pub(crate) fn open_input(
    path: &Path,
    format: &str,
    compression: Option<&str>,
) -> Result<Box<dyn Read + Send>> {
    let name = path.to_string_lossy();
    let found = Compression::of_clause(compression.unwrap_or("auto"), &name)?;
    let mut file = InputFile::open(path)?;
    match found {
        Some(found) => Ok(Box::new(Decompressor::new(found, Box::new(file)))),
        None => {
            if compression.is_none() && format != ANY_BYTES && file.is_regular() {
                refuse_compressed(&mut file, path)?;
            }
            Ok(Box::new(file))
        }
    }
}

/// The file itself, if `format` reads files in place and this one is regular and plain.
pub(crate) fn open_in_place(path: &Path, format: &str, compression: Option<&str>) -> Result<Option<File>> {
    let found = Compression::of_clause(compression.unwrap_or("auto"), &path.to_string_lossy())?;
    if found.is_some() || !basalt_formats::reads_in_place(format)? || !path.is_file() {
        return Ok(None);
    }
    File::open(path).map(Some).map_err(|error| Error::io(FileAction::Open, path, &error))
}

fn refuse_compressed(file: &mut InputFile, path: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(FileAction::Read, path, &error);
    let mut head = Vec::new();
    file.by_ref().take(Compression::HEAD_BYTES_MAX as u64).read_to_end(&mut head).map_err(io)?;
    if let Some(found) = Compression::of_head(&head) {
        let name = found.name();
        bail!(
            IncorrectData,
            "`{}` is compressed ({name}), but its name does not say so: add COMPRESSION '{name}' to INFILE, or the \
             fourth argument '{name}' to file()",
            path.display()
        );
    }
    file.rewind().map_err(io)
}

#[cfg(test)]
mod tests {
    use basalt_formats::compression::Compressor;

    use super::*;

    #[test]
    fn compressed_files_are_told_from_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.tsv");
        let opened = |bytes: &[u8], format: &str, compression: Option<&str>| {
            std::fs::write(&path, bytes).expect("a new file");
            let mut text = Vec::new();
            open_input(&path, format, compression).and_then(|mut file| {
                file.read_to_end(&mut text).map_err(Error::of_reading)?;
                Ok(text)
            })
        };
        assert_eq!(opened(b"1\t2\n", "TSV", None).ok().as_deref(), Some(&b"1\t2\n"[..]));
        assert_eq!(opened(b"", "TSV", None).ok().as_deref(), Some(&b""[..]));
        for compression in Compression::ALL {
            let mut bytes = Vec::new();
            let mut compressor = Compressor::new(compression, 1).expect("a level");
            compressor.compress(b"1\t2\n", &mut bytes).expect("memory");
            compressor.finish(&mut bytes).expect("memory");
            let named = opened(&bytes, "TSV", Some(compression.name()));
            assert_eq!(named.ok().as_deref(), Some(&b"1\t2\n"[..]), "{}", compression.name());
            assert_eq!(opened(&bytes, "TSV", Some("none")).ok(), Some(bytes.clone()));
            assert_eq!(opened(&bytes, ANY_BYTES, None).ok(), Some(bytes.clone()));
            if Compression::of_head(&bytes).is_some() {
                let refused = opened(&bytes, "TSV", None);
                assert!(refused.is_err_and(|error| error.message().contains(compression.name())));
            }
        }
    }
}
