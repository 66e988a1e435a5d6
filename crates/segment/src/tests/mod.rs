//! Whole segments, built and opened.
//!
//! - [`sample`]: a segment of two columns, and all that it answers.

mod access;
mod damage;
mod description;
mod lookup;
mod sample;
