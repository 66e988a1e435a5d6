//! CRC-32C (Castagnoli), the checksum of every file that Basalt writes.

/// The CRC-32C of `bytes`; the hardware instruction is used where the processor has one.
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of RFC 3720, appendix B.4.
    #[test]
    fn crc32c_matches_the_rfc() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
