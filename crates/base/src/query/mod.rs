//! The query that a thread works for: what it holds of memory, and when it must stop.
//!
//! A thread enters a query with [`enter`] for as long as it works for it, a future with [`in_query`] for as long
//! as it is polled, a closure for another thread is wrapped by [`carried`]. Memory that the thread takes and
//! gives back meanwhile is the query's: [`crate::allocator::TrackingAllocator`] counts it.
//!
//! Nothing stops a query from outside: work that takes long, or takes much memory, asks [`checkpoint`] (every
//! few thousand rows, every megabyte or so), and hands on the error that it gets. [`check_memory`] is for inner loops:
//! it only compares two numbers. [`check_allocation`] comes before one large allocation of a known size.
//!
//! # Cost
//!
//! An allocation adds to a number of its thread; every [`UNTRACKED_BYTES_MAX`] of them go to the query's.
//!
//! # Concurrency
//!
//! A query's memory is what its threads take less what its threads give back. What passes from one query to
//! another, or to the caches of the process, is counted where it was taken and missed where it is given back, unless
//! the place where it passes says so: [`outside`] runs work of nobody, [`hand_over`] takes bytes off the query's count.

mod current;
mod future;
mod server;
mod status;
mod tracker;

pub use current::{
    Entered, carried, check_allocation, check_memory, checkpoint, current, enter, hand_over, outside,
};
pub use future::{InQuery, in_query};
pub use server::ServerTracker;
pub use status::{QueryStatus, TimeLimit};
pub use tracker::{MemoryTracker, UNTRACKED_BYTES_MAX};

pub(crate) use current::count;
