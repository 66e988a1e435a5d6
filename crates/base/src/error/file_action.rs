//! The file operation that failed: the words and the code of its error.

use std::io;

use super::ErrorCode;

/// A kind of system call on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    Open,
    Create,
    CreateDirectory,
    Read,
    Write,
    Sync,
    Rename,
    Link,
    Remove,
    List,
    /// Reads the size, the modification time or the existence.
    Inspect,
}

impl FileAction {
    /// As in `cannot open /data/x`.
    pub(super) fn verb(self) -> &'static str {
        match self {
            FileAction::Open => "open",
            FileAction::Create => "create",
            FileAction::CreateDirectory => "create the directory",
            FileAction::Read => "read",
            FileAction::Write => "write",
            FileAction::Sync => "sync",
            FileAction::Rename => "rename",
            FileAction::Link => "link",
            FileAction::Remove => "remove",
            FileAction::List => "list the directory",
            FileAction::Inspect => "look at",
        }
    }

    /// ClickHouse's code. A missing file and a full disk have the same code for every action.
    pub(super) fn code(self, kind: io::ErrorKind) -> ErrorCode {
        match (kind, self) {
            (io::ErrorKind::NotFound, _) => ErrorCode::FileDoesntExist,
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => ErrorCode::NotEnoughSpace,
            (_, FileAction::Open | FileAction::Create) => ErrorCode::CannotOpenFile,
            (_, FileAction::CreateDirectory) => ErrorCode::CannotCreateDirectory,
            (_, FileAction::Read | FileAction::List) => ErrorCode::CannotReadFromFile,
            (_, FileAction::Write | FileAction::Rename) => ErrorCode::CannotWriteToFile,
            (_, FileAction::Sync) => ErrorCode::CannotFsync,
            (_, FileAction::Link) => ErrorCode::CannotLink,
            (_, FileAction::Remove) => ErrorCode::CannotUnlink,
            (_, FileAction::Inspect) => ErrorCode::CannotStat,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::Path;

    use super::*;
    use crate::Error;

    #[test]
    fn error_says_what_was_asked() {
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        for (action, code, words) in [
            (FileAction::Open, ErrorCode::CannotOpenFile, "cannot open /data/x: "),
            (FileAction::Read, ErrorCode::CannotReadFromFile, "cannot read /data/x: "),
            (FileAction::Write, ErrorCode::CannotWriteToFile, "cannot write /data/x: "),
            (FileAction::Sync, ErrorCode::CannotFsync, "cannot sync /data/x: "),
            (FileAction::Remove, ErrorCode::CannotUnlink, "cannot remove /data/x: "),
        ] {
            let error = Error::io(action, Path::new("/data/x"), &denied);
            assert_eq!(error.code(), code);
            assert!(error.message().starts_with(words), "{error}");
        }
        for (kind, code) in [
            (ErrorKind::NotFound, ErrorCode::FileDoesntExist),
            (ErrorKind::StorageFull, ErrorCode::NotEnoughSpace),
        ] {
            let error = Error::io(FileAction::Write, Path::new("/data/x"), &io::Error::from(kind));
            assert_eq!(error.code(), code);
        }
    }
}
