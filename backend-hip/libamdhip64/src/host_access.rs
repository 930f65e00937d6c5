//! The host's own accesses to pinned memory that a copy uses, while the host has not waited for the copy.
//!
//! Between HIP calls the pages of such copies are protected: the destination against reads and writes, the source against writes. An
//! access then raises SIGSEGV; the handler reports it, lifts the protection, and the program goes on. Whether the copy happens to have run
//! does not matter, so that the finding does not depend on the schedule. The kernel's own accesses for the program (`write` from such
//! a buffer) fail with `EFAULT` and are not reported.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_api::Code;
use softhip::control::{CallSite, current};
use softhip::memory::{AllocationInfo, AllocationKind, Site};
use softhip::report::{HostCall, Problem, Report};
use softhip::sched::Ticket;

use crate::session;

/// Bytes of a page.
const PAGE: usize = 4096;
/// Copies that are watched at a time.
const WATCHED: usize = 256;

/// One end of a copy that the host has not waited for.
struct Pending {
    start: usize,
    end: usize,
    /// The pages that are protected. At the ends of registered memory, a page that it shares with others is not.
    pages: Range<usize>,
    /// The copy reads it, so that the host may do so too.
    is_source: bool,
    ticket: Ticket,
    call: HostCall,
}

impl Pending {
    /// Its pages, for `mprotect`.
    fn protect(&self, protection: c_int) {
        let Range { start, end } = self.pages;
        if start >= end {
            return;
        }
        let len = end - start;
        // SAFETY: the pages are those of live pinned or registered memory, and have nothing else. While the host's access to them is taken
        // away, no HIP call runs, and nobody but the program uses them.
        let refused = unsafe { libc::mprotect(with_exposed_provenance_mut(start), len, protection) } != 0;
        debug_assert!(!refused, "pinned memory is mapped");
    }

    fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    fn pages_contain(&self, address: usize) -> bool {
        self.pages.contains(&address)
    }
}

/// What is watched.
struct Watch {
    pending: Vec<Pending>,
    /// Calls that are running, of all threads. The device may use the memory meanwhile.
    calls: usize,
    /// The handler that was there before ours.
    previous: Option<libc::sigaction>,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { pending: Vec::new(), calls: 0, previous: None });

fn watch() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A HIP call begins: the device may use all memory.
pub(crate) fn begin_call() {
    if !session::watches_host() {
        return;
    }
    let mut watch = watch();
    watch.calls += 1;
    if watch.calls == 1 {
        watch.pending.iter().for_each(|pending| pending.protect(libc::PROT_READ | libc::PROT_WRITE));
    }
}

/// A HIP call ends: what the host has not waited for is protected again.
pub(crate) fn end_call() {
    if !session::watches_host() {
        return;
    }
    let device = current();
    let mut watch = watch();
    watch.calls = watch.calls.saturating_sub(1);
    if watch.calls > 0 || watch.pending.is_empty() {
        return;
    }
    let live =
        |pending: &Pending| device.allocation_at(pending.start as u64).is_some_and(|found| !found.is_freed);
    watch.pending.retain(|pending| live(pending) && !device.host_has_waited(pending.ticket));
    if !watch.pending.is_empty() && watch.handler_is_ours() {
        // Where two copies share a page, the stricter protection is set last.
        watch
            .pending
            .iter()
            .filter(|pending| pending.is_source)
            .for_each(|pending| pending.protect(libc::PROT_READ));
        watch
            .pending
            .iter()
            .filter(|pending| !pending.is_source)
            .for_each(|pending| pending.protect(libc::PROT_NONE));
    }
}

/// A copy of `size` bytes has been queued on `stream` by `function`, unless `code` says otherwise.
pub(crate) fn copied(
    code: i32,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    function: &'static str,
    stream: *mut c_void,
) {
    if code != Code::SUCCESS.0 || size == 0 || !session::watches_host() {
        return;
    }
    let Ok(ticket) = softhip::api::ticket(stream) else { return };
    let device = current();
    for (start, is_source) in [(to.cast_const(), false), (from, true)] {
        let found = device.allocation_at(start.addr() as u64);
        if let Some(found) = found.filter(|found| found.kind.is_host() && !found.is_freed) {
            let call = HostCall::new(function, CallSite::get());
            let (start, end) = (start.addr(), start.addr() + size);
            let pages = pages(start..end, &found);
            let mut watch = watch();
            if watch.pending.len() < WATCHED {
                watch.pending.push(Pending { start, end, pages, is_source, ticket, call });
            }
        }
    }
}

/// The pages that hold `bytes` of an allocation and nothing that is not the allocation's. Pinned memory has whole pages.
fn pages(bytes: Range<usize>, allocation: &AllocationInfo) -> Range<usize> {
    let around = bytes.start - bytes.start % PAGE..bytes.end.next_multiple_of(PAGE);
    if allocation.kind == AllocationKind::Pinned {
        return around;
    }
    let address = |number: u64| usize::try_from(number).expect("the library is for 64-bit hosts");
    let (first, last) = (address(allocation.base), address(allocation.base + allocation.size));
    around.start.max(first.next_multiple_of(PAGE))..around.end.min(last - last % PAGE)
}

/// The program ends: its memory is its own.
pub(crate) fn end() {
    let mut watch = watch();
    watch.pending.iter().for_each(|pending| pending.protect(libc::PROT_READ | libc::PROT_WRITE));
    watch.pending.clear();
}

impl Watch {
    /// Installs the handler at first. False if the program has put one of its own in its place: then nothing is watched.
    fn handler_is_ours(&mut self) -> bool {
        let handler = on_fault as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        if self.previous.is_some() {
            return present_handler().is_some_and(|present| present.sa_sigaction == handler);
        }
        let Some(previous) = present_handler() else { return false };
        let mut action = previous;
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for.
        let installed = unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()) } == 0;
        if installed {
            self.previous = Some(previous);
        }
        installed
    }
}

fn present_handler() -> Option<libc::sigaction> {
    let mut present = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only the present handler is asked for, and there is room for it.
    let known = unsafe { libc::sigaction(libc::SIGSEGV, std::ptr::null(), present.as_mut_ptr()) } == 0;
    // SAFETY: all zeros is a value of the type, and the call has written it.
    known.then(|| unsafe { present.assume_init() })
}

/// Handles SIGSEGV. It runs where the program's own code has touched memory, never within this library: during its calls nothing is
/// protected. So it may lock and allocate.
extern "C" fn on_fault(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes valid information to a handler with SA_SIGINFO.
    let info = unsafe { info.read() };
    // SAFETY: of SIGSEGV the address is known.
    let address = unsafe { info.si_addr() }.addr();
    let mut watch = watch();
    if !watch.pending.iter().any(|pending| pending.pages_contain(address)) {
        return hand_over(&watch);
    }
    let touched: Vec<Pending> = {
        let lifted = watch.pending.iter().filter(|pending| pending.pages_contain(address));
        lifted.for_each(|pending| pending.protect(libc::PROT_READ | libc::PROT_WRITE));
        watch.pending.extract_if(.., |pending| pending.contains(address)).collect()
    };
    drop(watch);
    let Some(pending) = touched.into_iter().min_by_key(|pending| pending.is_source) else { return };
    let site = Site::of_stack(host_stack::take_at(instruction(context)));
    let allocation = current().allocation_at(address as u64).map(Box::new);
    let copy = Box::new(pending.call);
    let problem =
        Problem::HostAccess { writes: pending.is_source, address: address as u64, allocation, copy };
    session::report_host(Report::new(problem).call(HostCall::new("the host's own code", Some(site))));
}

/// Gives the signal to the handler that was there before: the instruction runs again, and faults again.
fn hand_over(watch: &Watch) {
    if let Some(previous) = &watch.previous {
        // SAFETY: it was the process's handler before.
        unsafe { libc::sigaction(libc::SIGSEGV, previous, null_mut()) };
    }
}

/// The address of the instruction that faulted.
#[cfg(target_arch = "x86_64")]
fn instruction(context: *mut c_void) -> usize {
    let context: *const libc::ucontext_t = context.cast();
    let counter = usize::try_from(libc::REG_RIP).expect("a small index");
    // SAFETY: the system passes a valid context to a handler with SA_SIGINFO.
    let registers = unsafe { (*context).uc_mcontext.gregs };
    usize::try_from(registers[counter]).unwrap_or_default()
}

/// Unknown here, so that the handler's own frames are part of the stack.
#[cfg(not(target_arch = "x86_64"))]
fn instruction(_context: *mut c_void) -> usize {
    0
}
