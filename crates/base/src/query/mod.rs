//! The query of a thread: its memory and its cancellation.
//!
//! A thread enters a query with [`enter`], a future with [`in_query`] at each poll; [`carried`] wraps a closure for
//! another thread. Memory that the thread allocates and frees meanwhile is charged to the query by
//! [`crate::allocator::TrackingAllocator`].
//!
//! Cancellation is cooperative: work that takes long or takes much memory calls [`checkpoint`] (every few thousand
//! rows, every megabyte or so) and returns its error. [`check_memory`] is for inner loops: it only compares two
//! numbers. [`check_allocation`] precedes one large allocation of a known size.
//!
//! # Cost
//!
//! An allocation adds to a thread-local counter, which is charged to the query every [`UNTRACKED_BYTES_MAX`] bytes.
//!
//! # Concurrency
//!
//! A query's memory is what its threads allocate less what they free. Memory that moves to another query or to a
//! cache of the process is counted where it was allocated and missed where it is freed, unless the code that moves
//! it says so: [`outside`] charges no query, [`hand_over`] takes bytes off the query.

mod current;
mod future;
mod server;
mod status;
mod tracker;
mod waiting;

pub use current::{
    Entered, carried, check_allocation, check_memory, checkpoint, current, enter, hand_over, outside,
};
pub use future::{InQuery, in_query};
pub use server::ServerTracker;
pub use status::{QueryStatus, TimeLimit};
pub use tracker::{MemoryTracker, UNTRACKED_BYTES_MAX};
pub use waiting::wait_for;

pub(crate) use current::count;
