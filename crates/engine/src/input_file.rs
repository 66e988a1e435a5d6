//! A file that a statement reads: its format by name, and a check that it is not compressed.

use std::io::Read;
use std::path::Path;

use basalt_base::fs::InputFile;
use basalt_base::{Error, FileAction, Result, bail};
use basalt_formats::format_of_file_name;

/// The first bytes of compressed files.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b\x08", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"BZh91AY&SY", "bzip2"),
];

/// The longest of them.
const MAGIC_BYTES_MAX: u64 = 10;

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

/// Opens a file to be read as `format`; an error if it is compressed, unless the format takes any bytes.
pub(crate) fn open_input(path: &Path, format: &str) -> Result<InputFile> {
    let io = |error: std::io::Error| Error::io(FileAction::Read, path, &error);
    let mut file = InputFile::open(path)?;
    if format == ANY_BYTES || !file.is_regular() {
        return Ok(file);
    }
    let mut head = Vec::new();
    file.by_ref().take(MAGIC_BYTES_MAX).read_to_end(&mut head).map_err(io)?;
    if let Some((_, name)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        bail!(
            NotImplemented,
            "`{}` is compressed ({name}), and reading compressed files is not implemented: unpack it first",
            path.display()
        );
    }
    file.rewind().map_err(io)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_told_from_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.tsv");
        let opened = |bytes: &[u8], format: &str| {
            std::fs::write(&path, bytes).expect("a new file");
            let mut text = Vec::new();
            open_input(&path, format).and_then(|mut file| {
                file.read_to_end(&mut text).map_err(|error| Error::io(FileAction::Read, &path, &error))?;
                Ok(text)
            })
        };
        assert_eq!(opened(b"1\t2\n", "TSV").ok().as_deref(), Some(&b"1\t2\n"[..]));
        assert_eq!(opened(b"", "TSV").ok().as_deref(), Some(&b""[..]));
        for (magic, name) in COMPRESSED {
            let refused = opened(&[magic, b"rest of it"].concat(), "TSV");
            assert!(refused.is_err_and(|error| error.message().contains(name)), "{name}");
            assert!(opened(magic, ANY_BYTES).is_ok());
        }
    }
}
