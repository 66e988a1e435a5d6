//! `MD5`, `SHA1`, `SHA224`, `SHA256`, `SHA384`, `SHA512`: digests of a string.
//!
//! Syntax: `SHA256(s)`. The result is a FixedString with the digest's bytes. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, FixedSizeBinaryArray};
use basalt_base::{Error, Result, SqlType};
use sha2::Digest;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static MD5: Definition = Definition::new("MD5", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&md5_digest(text)), 16)
})
.case_insensitive();

pub(super) static SHA1: Definition = Definition::new("SHA1", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha1::Sha1::digest(text)), 20)
})
.case_insensitive();

pub(super) static SHA224: Definition = Definition::new("SHA224", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha224::digest(text)), 28)
})
.case_insensitive();

pub(super) static SHA256: Definition = Definition::new("SHA256", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha256::digest(text)), 32)
})
.case_insensitive();

pub(super) static SHA384: Definition = Definition::new("SHA384", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha384::digest(text)), 48)
})
.case_insensitive();

pub(super) static SHA512: Definition = Definition::new("SHA512", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha512::digest(text)), 64)
})
.case_insensitive();

fn bind(call: &Call<'_>, digest: fn(&[u8], &mut Vec<u8>), width: usize) -> Result<Bound> {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::FixedString(width), move |args: &[Operand], _| {
        let (text, rows) = (args[0].bytes()?, args[0].array.len());
        let mut digests = Vec::with_capacity(rows * width);
        (0..rows).for_each(|row| digest(text.get(row), &mut digests));
        let array = FixedSizeBinaryArray::try_new(width as i32, digests.into(), None);
        Ok(Arc::new(array.map_err(Error::logical)?))
    }))
}

fn md5_digest(text: &[u8]) -> [u8; 16] {
    use md5::Digest;

    md5::Md5::digest(text).into()
}
