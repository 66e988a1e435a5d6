//! The number of files that the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard limit and returns it; `None` is unlimited.
pub fn raise_limit() -> Option<u64> {
    let found = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: found.maximum, maximum: found.maximum };
    match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => wanted.current,
        Err(_) => found.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_not_lowered() {
        let before = getrlimit(Resource::Nofile).current;
        let after = raise_limit();
        assert!(after.is_none_or(|after| before.is_some_and(|before| after >= before)));
        assert_eq!(getrlimit(Resource::Nofile).current, after);
    }
}
