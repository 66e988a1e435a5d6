//! The functions of environments. There is one, the operating system, so that a handle has nothing.

use std::ffi::c_char;

use basalt_base::{Error, FileAction};

use crate::border::{answered, done, given, malloc_text};

/// The variable that LevelDB's tests take their directory from.
const DIRECTORY_VARIABLE: &str = "TEST_TMPDIR";

/// An environment. Not without size, so that each handle has an address of its own.
pub(crate) struct Env {
    _unused: u8,
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_create_default_env() -> Option<Box<Env>> {
    answered(None, || Ok(Some(Box::new(Env { _unused: 0 }))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_env_destroy(env: Option<Box<Env>>) {
    done(|| drop(env));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_env_get_test_directory(env: Option<&Env>) -> *mut c_char {
    answered(std::ptr::null_mut(), || {
        given(env, "env")?;
        let own = || format!("/tmp/leveldbtest-{}", rustix::process::geteuid().as_raw());
        let directory = std::env::var(DIRECTORY_VARIABLE).ok().filter(|directory| !directory.is_empty());
        let directory = directory.unwrap_or_else(own);
        std::fs::create_dir_all(&directory)
            .map_err(|error| Error::io(FileAction::CreateDirectory, directory.as_ref(), &error))?;
        Ok(malloc_text(&directory))
    })
}
