//! Handles pages of a mapped file that cannot be read, because the disk fails or the file became shorter.
//!
//! The system ends a process that reads such a page (SIGBUS). This handler maps zeroes instead, from that page to the
//! end of the mapping, and marks the mapping: what was read must be discarded.
//!
//! # Concurrency
//!
//! The signal arrives on the thread that reads, which may hold any lock. So the handler takes no lock: it searches a
//! fixed list of mappings, and maps pages. A mapping that finds no place in the list is not watched.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use super::PAGE_BYTES;

/// The most files that are mapped at once.
const WATCHED_MAX: usize = 1024;
const FREE: usize = 0;
const TAKEN: usize = 1;

static PLACES: [Place; WATCHED_MAX] = [const { Place::free() }; WATCHED_MAX];
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: Once = Once::new();

/// A mapping in the list, in whole pages.
struct Place {
    /// The address, or [`FREE`], or [`TAKEN`] while the place is filled.
    start: AtomicUsize,
    end: AtomicUsize,
    is_lost: AtomicBool,
}

/// A mapping whose missing pages become zeroes.
#[derive(Debug)]
pub(super) struct Watched(usize);

impl Place {
    const fn free() -> Place {
        Place { start: AtomicUsize::new(FREE), end: AtomicUsize::new(FREE), is_lost: AtomicBool::new(false) }
    }
}

impl Watched {
    /// Watches a mapping of a file until this is dropped, which must be before the mapping is; `None` if the list is
    /// full.
    pub(super) fn of(start: NonNull<u8>, bytes: usize) -> Option<Watched> {
        INSTALLED.call_once(install);
        let take = |place: &Place| {
            place.start.compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let at = PLACES.iter().position(take)?;
        let start = start.as_ptr() as usize;
        PLACES[at].is_lost.store(false, Ordering::Relaxed);
        PLACES[at].end.store((start + bytes).next_multiple_of(PAGE_BYTES), Ordering::Relaxed);
        PLACES[at].start.store(start, Ordering::Release);
        Some(Watched(at))
    }

    /// Whether zeroes were read instead of a page.
    pub(super) fn is_lost(&self) -> bool {
        PLACES[self.0].is_lost.load(Ordering::Acquire)
    }

    pub(super) fn lose(&self) {
        PLACES[self.0].is_lost.store(true, Ordering::Release);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        PLACES[self.0].start.store(FREE, Ordering::Release);
    }
}

fn install() {
    // SAFETY: the handler has the signature that SA_SIGINFO requires and does only what a handler may do; both
    // structures live through the calls, and all zeroes is a valid value of them.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        ours.sa_sigaction = handler as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) == 0 {
            let _ = BEFORE.set(before);
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes the description of the signal to a handler with this signature.
    let address = unsafe { (*info).si_addr() } as usize;
    if !give_zeroes(address) {
        pass_on(signal, info, context);
    }
}

/// Maps zeroes from the page of `address` to the end of its mapping, if that is watched.
fn give_zeroes(address: usize) -> bool {
    for place in &PLACES {
        let start = place.start.load(Ordering::Acquire);
        let end = place.end.load(Ordering::Relaxed);
        if start <= TAKEN || !(start..end).contains(&address) {
            continue;
        }
        let page = address / PAGE_BYTES * PAGE_BYTES;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        place.is_lost.store(true, Ordering::Release);
        let start = page as *mut libc::c_void;
        // SAFETY: the pages are the end of a mapping of ours, which stays as long as it is watched. Their bytes
        // change, so the mapping was marked first.
        let placed = unsafe { libc::mmap(start, end - page, libc::PROT_READ, flags, -1, 0) };
        return placed != libc::MAP_FAILED;
    }
    false
}

/// Does what would have happened without this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().filter(|before| {
        before.sa_sigaction != libc::SIG_DFL
            && before.sa_sigaction != libc::SIG_IGN
            && before.sa_flags & libc::SA_SIGINFO != 0
    });
    // SAFETY: a handler that was set with SA_SIGINFO has this signature. All zeroes is the default action, with which
    // the repeated access ends the process.
    unsafe {
        match before {
            Some(before) => {
                type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
                handler(signal, info, context);
            }
            None => {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            }
        }
    }
}
