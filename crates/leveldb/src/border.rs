//! What every function does at the border to C: bytes and texts in, memory of `malloc` out, errors and panics caught.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use basalt_base::{Error, ErrorCode, Result, bail};

/// Where the caller of a function finds its error: NULL, or a text of `malloc`.
#[repr(transparent)]
pub(crate) struct ErrorSlot(*mut c_char);

impl ErrorSlot {
    /// Replaces the error that is there.
    fn set(&mut self, error: &Error) {
        free(self.0.cast());
        self.0 = malloc_text(&text(error));
    }
}

/// The error as LevelDB words it: its kind, then what happened. Programs compare the kind.
fn text(error: &Error) -> String {
    let kind = match error.code() {
        ErrorCode::CorruptedData | ErrorCode::ChecksumDoesntMatch => "Corruption",
        ErrorCode::NotImplemented => "Not implemented",
        ErrorCode::BadArguments | ErrorCode::ArgumentOutOfBound => "Invalid argument",
        _ => "IO error",
    };
    format!("{kind}: {}", error.message())
}

/// Calls `call`. An error and a panic go to `slot`, if there is one, and `otherwise` is returned.
pub(crate) fn reported<T>(slot: Option<&mut ErrorSlot>, otherwise: T, call: impl FnOnce() -> Result<T>) -> T {
    let result = catch_unwind(AssertUnwindSafe(call));
    let result = result.unwrap_or_else(|_| Err(Error::logical("a function of the C library panicked")));
    match (result, slot) {
        (Ok(value), _) => value,
        (Err(error), Some(slot)) => {
            slot.set(&error);
            otherwise
        }
        (Err(_), None) => otherwise,
    }
}

/// Calls `call`. After an error or a panic it returns `otherwise`.
pub(crate) fn answered<T>(otherwise: T, call: impl FnOnce() -> Result<T>) -> T {
    reported(None, otherwise, call)
}

/// Calls `call`, which has nothing to return.
pub(crate) fn done(call: impl FnOnce()) {
    answered((), || {
        call();
        Ok(())
    });
}

/// `argument`, which may not be NULL; `name` is its name in the header.
pub(crate) fn given<T>(argument: Option<T>, name: &str) -> Result<T> {
    argument.ok_or_else(|| null(name))
}

fn null(name: &str) -> Error {
    Error::new(ErrorCode::BadArguments, format!("argument `{name}` is NULL"))
}

/// The bytes at `start`; NULL is an error unless there are none.
///
/// # Safety
///
/// `start` is NULL, or `length` bytes are there that are not changed during `'a`.
pub(crate) unsafe fn bytes<'a>(start: *const c_char, length: usize, name: &str) -> Result<&'a [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(null(name));
    }
    if length > isize::MAX as usize {
        bail!(BadArguments, "argument `{name}` has a length of {length} bytes");
    }
    // SAFETY: the caller says so, and no object is longer.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), length) })
}

/// The values at `start`.
///
/// # Safety
///
/// `start` is NULL, or `count` values are there that are not changed during `'a`.
pub(crate) unsafe fn values<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() {
        return Err(null(name));
    }
    // SAFETY: the caller says so.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// The text at `start`, without its NUL.
///
/// # Safety
///
/// `start` is NULL, or a text is there that ends with NUL and is not changed during `'a`.
pub(crate) unsafe fn c_text<'a>(start: *const c_char, name: &str) -> Result<&'a CStr> {
    if start.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller says so.
    Ok(unsafe { CStr::from_ptr(start) })
}

/// The path at `start`.
///
/// # Safety
///
/// As for [`c_text`].
pub(crate) unsafe fn path<'a>(start: *const c_char, name: &str) -> Result<&'a Path> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: the caller says so.
    let text = unsafe { c_text(start, name) }?;
    if text.is_empty() {
        bail!(BadArguments, "argument `{name}` is an empty path");
    }
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

/// A copy of `bytes` for `free`; NULL without memory. No bytes have an address too, because NULL means something else.
pub(crate) fn malloc_bytes(bytes: &[u8]) -> *mut c_char {
    // SAFETY: any size may be asked for.
    let copy = unsafe { libc::malloc(bytes.len().max(1)) };
    if !copy.is_null() {
        // SAFETY: the memory is new and has room for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len()) };
    }
    copy.cast()
}

/// A copy of `text` with NUL at its end, for `free`; a NUL in the text ends it.
pub(crate) fn malloc_text(text: &str) -> *mut c_char {
    let length = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
    let mut bytes = text.as_bytes()[..length].to_vec();
    bytes.push(0);
    malloc_bytes(&bytes)
}

/// Frees memory that `malloc` gave to a caller of the library, or to the library; NULL is nothing to free.
pub(crate) fn free(memory: *mut c_void) {
    // SAFETY: the callers have it from `malloc`, or NULL, and use it no more.
    unsafe { libc::free(memory) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(call: impl FnOnce() -> Result<u8>) -> Option<String> {
        let mut slot = ErrorSlot(std::ptr::null_mut());
        let answer = reported(Some(&mut slot), 7, call);
        let text = (!slot.0.is_null()).then(|| {
            // SAFETY: the slot has a text of `malloc_text`.
            unsafe { CStr::from_ptr(slot.0) }.to_str().expect("UTF-8").to_owned()
        });
        assert_eq!(answer, if text.is_some() { 7 } else { 1 });
        free(slot.0.cast());
        text
    }

    #[test]
    fn errors_and_panics_become_texts() {
        assert_eq!(error_of(|| Ok(1)), None);
        let refused = error_of(|| bail!(BadArguments, "no\0 matter")).expect("an error");
        assert_eq!(refused, "Invalid argument: no");
        let damaged = error_of(|| bail!(CorruptedData, "a file")).expect("an error");
        assert_eq!(damaged, "Corruption: a file");
        let other = error_of(|| bail!(RocksdbError, "a disk")).expect("an error");
        assert_eq!(other, "IO error: a disk");
        let panicked = error_of(|| panic!("as the test wants it")).expect("an error");
        assert!(panicked.contains("panicked"), "{panicked}");
    }

    #[test]
    fn an_error_replaces_the_one_before() {
        let mut slot = ErrorSlot(malloc_text("before"));
        reported(Some(&mut slot), (), || bail!(NotImplemented, "after"));
        // SAFETY: the slot has a text of `malloc_text`.
        assert_eq!(unsafe { CStr::from_ptr(slot.0) }, c"Not implemented: after");
        reported(Some(&mut slot), (), || Ok(()));
        // SAFETY: the slot has a text of `malloc_text`.
        assert_eq!(unsafe { CStr::from_ptr(slot.0) }, c"Not implemented: after");
        free(slot.0.cast());
    }

    #[test]
    fn null_is_an_error_unless_nothing_is_there() {
        let null = std::ptr::null();
        // SAFETY: NULL is allowed.
        unsafe {
            assert_eq!(bytes(null, 0, "key").expect("no bytes"), b"");
            assert!(bytes(null, 1, "key").expect_err("NULL").message().contains("`key` is NULL"));
            assert!(values::<u64>(std::ptr::null(), 1, "sizes").is_err());
            assert!(c_text(null, "name").is_err());
            assert!(path(null, "name").is_err());
            assert!(path(c"".as_ptr(), "name").is_err());
        }
        let one = c"x".as_ptr();
        // SAFETY: the length is refused before anything is read.
        assert!(unsafe { bytes(one, usize::MAX, "key") }.is_err());
    }

    #[test]
    fn copies_are_of_malloc_and_have_an_address() {
        let (empty, some) = (malloc_bytes(b""), malloc_bytes(b"a\0b"));
        assert!(!empty.is_null());
        // SAFETY: the copy has three bytes.
        assert_eq!(unsafe { bytes(some, 3, "copy") }.expect("bytes"), b"a\0b");
        free(empty.cast());
        free(some.cast());
        free(std::ptr::null_mut());
    }
}
