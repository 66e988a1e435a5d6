//! The limits of keys.

/// The longest key.
pub const KEY_BYTES_MAX: usize = 1 << 16;

/// The bytes that two keys begin with.
#[inline]
pub(crate) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let words = one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0);
    let same = words.take_while(|(one, other)| one == other).count() * 8;
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

/// The least key greater than all keys that begin with `prefix`; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_after_a_prefix_is_the_least_greater_one() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
        assert_eq!(after_prefix(b""), None);
    }

    #[test]
    fn common_prefixes_of_all_lengths() {
        for same in 0..40 {
            let (mut one, mut other) = (vec![7; same], vec![7; same]);
            assert_eq!(common_prefix(&one, &other), same);
            one.push(1);
            assert_eq!(common_prefix(&one, &other), same);
            other.extend([2, 1, 1]);
            assert_eq!(common_prefix(&one, &other), same);
        }
    }
}
