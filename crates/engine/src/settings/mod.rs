//! The settings of a session: each a line in [`registry`], typed, with a default and a description.

mod registry;
mod value;

pub(crate) use registry::Settings;
