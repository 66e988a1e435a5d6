//! Regular expressions and substrings over keys and compressed values.
