//! Whole segments, built and opened.
//!
//! - [`sample`]: a segment of two columns, and all that it answers.

mod access;
mod build_options;
mod damage;
mod description;
mod lookup;
mod sample;
