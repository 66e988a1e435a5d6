//! Any bytes are commands of the protocol of Redis or refused, however they arrive.
//!
//! The first byte chooses in which pieces the rest arrives.

use basalt_wire::resp::{CommandReader, Decoded};

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [step, rest @ ..] = bytes else { return };
    let (whole, pieces) = (read(rest, rest.len().max(1)), read(rest, usize::from(*step).max(1)));
    assert_eq!(whole, pieces, "pieces of {step} bytes");
}

/// The commands, and whether the bytes after them are refused.
fn read(bytes: &[u8], step: usize) -> (Vec<Vec<Vec<u8>>>, bool) {
    let (mut reader, mut commands, mut start, mut arrived) = (CommandReader::default(), Vec::new(), 0, 0);
    loop {
        match reader.read(&bytes[start..arrived]) {
            Ok(Decoded::Command { end }) => {
                assert!(end > 0 && start + end <= arrived, "an end outside of the bytes");
                let arguments: Vec<Vec<u8>> =
                    reader.arguments(&bytes[start..arrived]).map(<[u8]>::to_vec).collect();
                assert!(arguments.iter().map(Vec::len).sum::<usize>() <= end, "more arguments than bytes");
                commands.push(arguments);
                start += end;
            }
            Ok(Decoded::Incomplete) if arrived == bytes.len() => return (commands, false),
            Ok(Decoded::Incomplete) => arrived = (arrived + step).min(bytes.len()),
            Err(_) => return (commands, true),
        }
    }
}
