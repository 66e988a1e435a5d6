//! Pages of a mapped file that the disk does not give, or that the file does not have any more.
//!
//! The system ends a process that reads such a page (SIGBUS). Here it gets zeroes in its stead, from that page to the
//! end of the mapping, and the mapping is marked: what was read is to be thrown away.
//!
//! # Concurrency
//!
//! The signal arrives on the thread that reads, which may hold any lock. So the handler takes none: it looks through
//! a fixed list of mappings, and asks the system for pages. A mapping that found no place in the list is not watched.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use super::PAGE_BYTES;

/// More files than this are not mapped at once by anybody.
const WATCHED_MAX: usize = 1024;
const FREE: usize = 0;
const TAKEN: usize = 1;

static PLACES: [Place; WATCHED_MAX] = [const { Place::free() }; WATCHED_MAX];
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLED: Once = Once::new();

/// A mapping in the list; whole pages.
struct Place {
    /// Or [`FREE`], or [`TAKEN`] while it is filled.
    start: AtomicUsize,
    end: AtomicUsize,
    is_lost: AtomicBool,
}

/// A mapping whose missing pages are zeroes.
#[derive(Debug)]
pub(super) struct Watched(usize);

impl Place {
    const fn free() -> Place {
        Place { start: AtomicUsize::new(FREE), end: AtomicUsize::new(FREE), is_lost: AtomicBool::new(false) }
    }
}

impl Watched {
    /// Watches a mapping of a file, until it is dropped, before the mapping is; `None` if there are too many.
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

    /// Whether zeroes were read in a page's stead.
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
    // SAFETY: the handler has the form that SA_SIGINFO asks for and does only what a handler may; both structures
    // live through the calls, and all zeroes is a value that they can have.
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
    // SAFETY: the system hands a handler of this form the description of the signal.
    let address = unsafe { (*info).si_addr() } as usize;
    if !give_zeroes(address) {
        pass_on(signal, info, context);
    }
}

/// Puts zeroes from the page of `address` to the end of its mapping, if that is watched.
fn give_zeroes(address: usize) -> bool {
    for place in &PLACES {
        let start = place.start.load(Ordering::Acquire);
        let end = place.end.load(Ordering::Relaxed);
        if start <= TAKEN || !(start..end).contains(&address) {
            continue;
        }
        let page = address / PAGE_BYTES * PAGE_BYTES;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the pages are the end of a mapping of ours, which stays as long as it is watched. Their bytes are
        // not what was there, which is why the mapping is marked first.
        place.is_lost.store(true, Ordering::Release);
        let placed =
            unsafe { libc::mmap(page as *mut libc::c_void, end - page, libc::PROT_READ, flags, -1, 0) };
        return placed != libc::MAP_FAILED;
    }
    false
}

/// Does what would have been done without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().filter(|before| {
        before.sa_sigaction != libc::SIG_DFL
            && before.sa_sigaction != libc::SIG_IGN
            && before.sa_flags & libc::SA_SIGINFO != 0
    });
    // SAFETY: a handler that was set with SA_SIGINFO has this form. All zeroes is the default action, with which the
    // access, tried again, ends the process.
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
