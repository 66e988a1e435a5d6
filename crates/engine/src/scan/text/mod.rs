//! Conditions on strings, for table engines that search compressed strings.
//!
//! - [`condition`]: what follows from a filter; [`call`]: what follows from the call of a function.
//! - [`test`]: a test of a string, which becomes the pattern of a search.

mod call;
mod condition;
mod test;

#[cfg(test)]
mod tests;

pub(crate) use condition::{TextCondition, text_conditions};
