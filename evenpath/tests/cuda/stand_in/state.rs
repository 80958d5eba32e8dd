//! State of the stand-in driver: contexts with their memory, streams and modules.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

use crate::order::Order;

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const ILLEGAL_ADDRESS: c_int = 700;
pub(crate) const UNKNOWN: c_int = 999;

#[derive(Default)]
pub(crate) struct Context {
    /// Error with which a kernel ended the context.
    pub(crate) error: c_int,
    /// Allocations by address.
    pub(crate) blocks: BTreeMap<u64, Vec<u32>>,
    pub(crate) streams: Vec<usize>,
    pub(crate) events: HashMap<usize, Option<Instant>>,
    /// Page-locked memory of the host: addresses and bytes.
    pub(crate) locked: BTreeMap<u64, usize>,
    /// Copies to page-locked memory, which arrive at the next wait.
    pub(crate) arriving: Vec<(usize, Vec<u8>)>,
    /// Number of waits that will fail, and true if one did.
    pub(crate) failing_waits: u32,
    pub(crate) has_failed: bool,
    pub(crate) order: Order,
    /// PTX text by module.
    pub(crate) modules: HashMap<usize, String>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) contexts: HashMap<usize, Context>,
    pub(crate) handles: usize,
    /// The primary context and its retain count.
    pub(crate) primary: Option<(usize, usize)>,
    pub(crate) used: usize,
    /// True if a kernel of any context faulted.
    pub(crate) faulted: bool,
}

pub(crate) static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

thread_local! {
    pub(crate) static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|_| misused("another thread"))
}

pub(crate) fn misused(what: &str) -> ! {
    eprintln!("the stand-in driver was misused: {what}");
    std::process::abort()
}

impl State {
    pub(crate) fn handle(&mut self) -> usize {
        self.handles += 1;
        self.handles
    }
}

/// Runs `body` on the current context, or returns the error of its fault.
pub(crate) fn in_context(body: impl FnOnce(&mut Context, &mut usize, &mut usize) -> c_int) -> c_int {
    let current = STACK.with_borrow(|stack| stack.last().copied());
    let current = current.unwrap_or_else(|| misused("a call without a current context"));
    let State { contexts, handles, used, faulted, .. } = &mut *state();
    let context = contexts.get_mut(&current).unwrap_or_else(|| misused("the current context was destroyed"));
    if *faulted {
        return ILLEGAL_ADDRESS;
    }
    if context.error != SUCCESS {
        return context.error;
    }
    let answer = body(context, handles, used);
    *faulted = context.error == ILLEGAL_ADDRESS;
    answer
}

impl Context {
    /// Returns whether host memory is page-locked.
    pub(crate) fn is_locked(&self, address: usize, len: usize) -> bool {
        let range = self.locked.range(..=address as u64).next_back();
        range.is_some_and(|(start, bytes)| address + len <= *start as usize + bytes)
    }

    /// Records an operation on ranges of memory: start, size in bytes, and true if written.
    pub(crate) fn operate(&mut self, stream: usize, ranges: &[(u64, usize, bool)]) {
        if !self.order.operate(stream, ranges) { misused("work of two streams on the same memory that nothing orders"); }
    }

    /// Completes all copies.
    pub(crate) fn finish(&mut self) -> c_int {
        if self.failing_waits > 0 {
            self.failing_waits -= 1;
            self.has_failed = true;
            return UNKNOWN;
        }
        for (to, bytes) in self.arriving.drain(..) {
            // SAFETY: the copy's caller keeps the memory until it is waited for.
            unsafe { (to as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        SUCCESS
    }
}

/// Returns the bytes of a range inside one allocation.
pub(crate) fn bytes(context: &mut Context, address: u64, len: usize) -> &mut [u8] {
    let block = context.blocks.range_mut(..=address).next_back();
    let (start, words) = block.unwrap_or_else(|| misused("an address that was never allocated"));
    let offset = (address - start) as usize;
    if offset + len > words.len() * 4 {
        misused("a range outside its allocation");
    }
    // SAFETY: the words are borrowed mutably, and any byte of them may be written.
    let all = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 4) };
    &mut all[offset..offset + len]
}
