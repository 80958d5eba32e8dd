//! A simulated block: its lanes as coroutines, and the rules of their scheduling.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe, Location};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use parking_lot::Mutex;

use super::conflicts::Observer;
use super::fault::{list_threads, Fault, FaultKind, Place};
use super::memory::Memory;
use super::read_only::ReadOnlyMemory;
use super::shared::{SharedMemory, Stamp};
use super::streams::StreamOperation;
use super::warp::{self, Collective};
use super::weak::WeakMemory;
use crate::element::Packet;
use crate::kernel::{Argument, KernelInfo, Simulation};
use crate::operation::WARP_SIZE;

/// Maximum number of consecutive atomic operations that change nothing. After more, the lane is treated as
/// polling memory in a loop that lacks its [`spin_hint`](crate::thread::spin_hint).
const MAX_IDLE_ATOMICS: u32 = 10_000;
/// Stack of a lane in bytes; only touched pages take memory.
const STACK_BYTES: usize = 256 * 1024;
/// Maximum number of stacks of all simulated GPUs. Each takes two mappings with its guard page, and Linux
/// gives a process 65530.
const MAX_STACKS: usize = 24 * 1024;

/// State that all blocks of a launch share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a KernelInfo,
    pub(crate) simulation: Simulation,
    pub(crate) arguments: &'a [Argument],
    pub(crate) memory: &'a Memory,
    pub(crate) read_only: &'a ReadOnlyMemory,
    pub(crate) weak: &'a WeakMemory<'a>,
    /// The launch, among the operations of all streams.
    pub(crate) operation: &'a StreamOperation,
    /// Seed of random choices.
    pub(crate) seed: u64,
    pub(crate) grid: u32,
    pub(crate) dynamic_shared: u32,
    /// Counts the steps of all warps of all blocks.
    pub(crate) progress: &'a AtomicU64,
}

/// State that the lanes of a block share.
pub(crate) struct BlockContext<'a> {
    pub(crate) launch: Launch<'a>,
    pub(crate) index: u32,
    pub(crate) observer: Observer,
    pub(crate) shared: RefCell<SharedMemory>,
}

/// State of a lane.
pub(crate) struct LaneContext<'a> {
    pub(crate) block: &'a BlockContext<'a>,
    pub(crate) thread: u32,
    /// Counts warp barriers, see [`SharedMemory`].
    pub(crate) clock: Cell<u32>,
    /// Copies to shared memory that the lane has not waited for.
    pub(crate) copies: RefCell<Vec<Copy16>>,
    /// Number of consecutive atomic operations that changed nothing.
    idle_atomics: Cell<u32>,
    /// Set by the lane where it stops, and by the block. It is never moved: most of the time of a switch was in copies.
    state: Cell<LaneState>,
    /// The mistake that ends the lane.
    fault: Cell<Option<Box<Fault>>>,
    yielder: Cell<*const Yielder<u64, ()>>,
}

/// 16 bytes in transit to shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy16 {
    pub(crate) address: u32,
    /// Size of an element in bytes.
    pub(crate) size: usize,
    pub(crate) packet: Packet,
    pub(crate) line: &'static Location<'static>,
}

/// State of a lane: ready, or the reason for its wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LaneState {
    /// Continues with this answer to its request.
    Ready(u64),
    /// Polls memory; continues in the next round.
    Spinning,
    AtBarrier(&'static Location<'static>),
    InCollective(Collective),
    Exited,
}

type LaneCoroutine = Coroutine<u64, (), (), DefaultStack>;

/// Progress of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockProgress {
    /// All lanes have exited.
    Done,
    /// Some lanes continued.
    Some,
    /// Some lanes continued, if only to poll memory together.
    Polling,
    /// All lanes that could continue poll memory, and found no change.
    None,
}

/// A block in flight. Its lanes point to their contexts, and those to the block's: each is dropped after its
/// users, and is in an `Rc` because, unlike a `Box`, that may be moved meanwhile.
pub(crate) struct Block<'a> {
    coroutines: Vec<LaneCoroutine>,
    lanes: Rc<[LaneContext<'a>]>,
    shared_context: Rc<BlockContext<'a>>,
}

thread_local! {
    static CURRENT: Cell<*const LaneContext<'static>> = const { Cell::new(std::ptr::null()) };
}

/// The unused stacks, and the total number of stacks.
static STACKS: Mutex<(Vec<DefaultStack>, usize)> = Mutex::new((Vec::new(), 0));

/// Takes the stacks of a block, unless so many are in use that it must wait.
fn take_stacks(count: usize) -> Option<Vec<DefaultStack>> {
    let mut stacks = STACKS.lock();
    let (unused, all) = &mut *stacks;
    while unused.len() < count {
        if *all >= MAX_STACKS {
            return None;
        }
        unused.push(DefaultStack::new(STACK_BYTES).ok()?);
        *all += 1;
    }
    let rest = unused.len() - count;
    Some(unused.split_off(rest))
}

/// Returns the lane that runs on this CPU thread.
///
/// # Panics
///
/// Outside a launch: kernels must not be called directly.
#[inline]
pub(crate) fn with_lane<R>(operation: impl FnOnce(&LaneContext<'_>) -> R) -> R {
    let lane = CURRENT.get();
    assert!(!lane.is_null(), "kernel code runs only in a launch");
    // Safety: `Block::resume` sets the pointer for exactly as long as the lane runs, and the context
    // outlives the lane.
    operation(unsafe { &*lane })
}

impl LaneContext<'_> {
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp { thread: self.thread, clock: self.clock.get() }
    }

    /// Stops this lane until the block answers. A lane that is abandoned is unwound from here.
    pub(crate) fn stop(&self, state: LaneState) -> u64 {
        self.state.set(state);
        // Safety: the lane runs, so its coroutine has set the yielder, which lives as long as it.
        unsafe { &*self.yielder.get() }.suspend(())
    }

    /// Records an atomic operation, so that a loop of them alone lets other lanes continue.
    pub(crate) fn note_atomic(&self, changed: bool) {
        let idle = if changed { 0 } else { self.idle_atomics.get() + 1 };
        self.idle_atomics.set(idle % MAX_IDLE_ATOMICS);
        if idle == MAX_IDLE_ATOMICS {
            self.stop(LaneState::Spinning);
        }
    }

    /// Ends this lane and the launch.
    pub(crate) fn fault(&self, kind: FaultKind, line: &'static Location<'static>) -> ! {
        let place = self.block.place(Some(self.thread), Some(line));
        self.fault.set(Some(Box::new(Fault { place: Some(place), kind })));
        self.stop(LaneState::Exited);
        unreachable!("a lane that made a mistake does not go on")
    }
}

impl BlockContext<'_> {
    fn place(&self, thread: Option<u32>, line: Option<&'static Location<'static>>) -> Place {
        Place { kernel: self.launch.kernel.name, block: Some(self.index), thread, line }
    }
}

impl<'a> Block<'a> {
    /// Creates a block; `None` if other blocks use all the stacks.
    pub(crate) fn new(launch: Launch<'a>, index: u32) -> Option<Self> {
        let size = launch.kernel.block_size;
        let stacks = take_stacks(size as usize)?;
        let shared_bytes = launch.kernel.shared_bytes.next_multiple_of(16) + launch.dynamic_shared;
        let block = Rc::new(BlockContext {
            launch,
            index,
            observer: Observer::new(launch.operation.clone(), index, launch.seed),
            shared: RefCell::new(SharedMemory::new(shared_bytes)),
        });
        // Safety: the block keeps the context, and drops it after everything that points to it.
        let context: &'a BlockContext<'a> = unsafe { &*Rc::as_ptr(&block) };
        let lanes: Rc<[LaneContext<'a>]> = (0..size)
            .map(|thread| LaneContext {
                block: context,
                thread,
                clock: Cell::new(0),
                copies: RefCell::default(),
                idle_atomics: Cell::new(0),
                state: Cell::new(LaneState::Ready(0)),
                fault: Cell::new(None),
                yielder: Cell::new(std::ptr::null()),
            })
            .collect();
        let coroutines = lanes.iter().zip(stacks).map(|(lane, stack)| start(lane, stack)).collect();
        Some(Self { coroutines, lanes, shared_context: block })
    }

    /// Runs the block until it is done, or a lane polls memory and all others wait or poll too.
    pub(crate) fn advance(&mut self) -> Result<BlockProgress, Fault> {
        let mut progress = BlockProgress::None;
        loop {
            let mut moved = false;
            for first in (0..self.lanes.len()).step_by(WARP_SIZE as usize) {
                moved |= self.run_warp(first)?;
            }
            // Lanes that poll together also meet in collectives, and would run forever.
            let is_polling = self.lanes.iter().any(|lane| matches!(lane.state.get(), LaneState::Spinning));
            moved |= self.release_barrier()?;
            if self.lanes.iter().all(|lane| matches!(lane.state.get(), LaneState::Exited)) {
                return Ok(BlockProgress::Done);
            }
            if !moved {
                return Ok(progress);
            }
            self.shared_context.launch.progress.fetch_add(1, Relaxed);
            if is_polling {
                return Ok(BlockProgress::Polling);
            }
            progress = BlockProgress::Some;
        }
    }

    /// Runs the lanes of one warp until none is ready. Returns whether any did more than poll.
    fn run_warp(&mut self, first: usize) -> Result<bool, Fault> {
        let last = (first + WARP_SIZE as usize).min(self.lanes.len());
        let mut moved = false;
        for lane in &self.lanes[first..last] {
            if matches!(lane.state.get(), LaneState::Spinning) {
                lane.state.set(LaneState::Ready(0));
            }
        }
        loop {
            for lane in first..last {
                if let LaneState::Ready(answer) = self.lanes[lane].state.get() {
                    moved |= self.resume(lane, answer)?;
                }
            }
            if !self.resolve_collectives(first, last)? {
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// Runs one lane until it stops. Returns whether it did more than poll.
    fn resume(&mut self, lane: usize, answer: u64) -> Result<bool, Fault> {
        let context = &self.lanes[lane];
        CURRENT.set(std::ptr::from_ref(context).cast());
        let coroutine = &mut self.coroutines[lane];
        let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(answer)));
        CURRENT.set(std::ptr::null());
        match result {
            Ok(CoroutineResult::Yield(())) => {}
            Ok(CoroutineResult::Return(())) => context.state.set(LaneState::Exited),
            Err(panic) => {
                context.state.set(LaneState::Exited);
                let message = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                    .unwrap_or_default();
                let place = self.shared_context.place(Some(lane as u32), None);
                return Err(Fault { place: Some(place), kind: FaultKind::Panic(message) });
            }
        }
        match context.fault.take() {
            Some(fault) => Err(*fault),
            None => Ok(!matches!(context.state.get(), LaneState::Spinning)),
        }
    }

    /// Answers every collective that all its lanes have reached. Returns whether there was one.
    fn resolve_collectives(&mut self, first: usize, last: usize) -> Result<bool, Fault> {
        let mut resolved = false;
        for lane in first..last {
            let LaneState::InCollective(collective) = self.lanes[lane].state.get() else { continue };
            let arrived =
                |other: u32| match self.lanes.get(first + other as usize).map(|lane| lane.state.get()) {
                    Some(LaneState::InCollective(theirs)) => {
                        theirs.matches(&collective).then_some(theirs.input)
                    }
                    _ => None,
                };
            match collective.gather(arrived) {
                Ok(inputs) => {
                    self.answer(first, &collective, &inputs).map_err(|(thread, kind)| {
                        let place = self.shared_context.place(Some(thread), Some(collective.line));
                        Fault { place: Some(place), kind }
                    })?;
                    resolved = true;
                }
                Err(missing) => self.check_reachable(first, lane, &collective, missing)?,
            }
        }
        Ok(resolved)
    }

    /// Gives every lane of a complete collective its answer.
    fn answer(
        &mut self,
        first: usize,
        collective: &Collective,
        inputs: &[u64; 32],
    ) -> Result<(), (u32, FaultKind)> {
        if collective.is_barrier() {
            let lanes = warp::lanes(collective.mask).map(|lane| &self.lanes[first + lane as usize].clock);
            let latest = lanes.clone().map(Cell::get).max().unwrap_or(0);
            lanes.for_each(|clock| clock.set(latest + 1));
        }
        for lane in warp::lanes(collective.mask) {
            let thread = first + lane as usize;
            let LaneState::InCollective(own) = self.lanes[thread].state.get() else {
                unreachable!("gathered before")
            };
            let answer = own.answer(lane, inputs).map_err(|kind| (thread as u32, kind))?;
            self.lanes[thread].state.set(LaneState::Ready(answer));
        }
        Ok(())
    }

    /// Reports a collective that one of its lanes can no longer reach: the lane has exited, waits
    /// elsewhere, or does not exist.
    fn check_reachable(
        &self,
        first: usize,
        lane: usize,
        collective: &Collective,
        missing: u32,
    ) -> Result<(), Fault> {
        let mut why = Vec::new();
        for other in warp::lanes(missing) {
            match self.lanes.get(first + other as usize).map(|lane| lane.state.get()) {
                None => why.push(format!("lane {other} does not exist")),
                Some(LaneState::Exited) => why.push(format!("lane {other} has exited")),
                Some(LaneState::AtBarrier(at)) => {
                    why.push(format!("lane {other} waits at the barrier at {at}"));
                }
                Some(LaneState::InCollective(theirs)) => {
                    why.push(format!("lane {other} waits in {} at {}", theirs.what(), theirs.line));
                }
                Some(LaneState::Ready(_) | LaneState::Spinning) => {}
            }
        }
        if why.is_empty() {
            return Ok(());
        }
        let kind = FaultKind::DivergentCollective {
            what: collective.what(),
            mask: collective.mask,
            missing: why.join(", "),
        };
        let place = self.shared_context.place(Some(lane as u32), Some(collective.line));
        Err(Fault { place: Some(place), kind })
    }

    /// Releases all lanes once all wait at one barrier. Returns whether it did.
    fn release_barrier(&mut self) -> Result<bool, Fault> {
        let Some((first, line)) =
            self.lanes.iter().enumerate().find_map(|(thread, lane)| match lane.state.get() {
                LaneState::AtBarrier(line) => Some((thread, line)),
                _ => None,
            })
        else {
            return Ok(false);
        };
        let threads = |wanted: &dyn Fn(LaneState) -> bool| {
            let lanes = self.lanes.iter().enumerate().filter(|(_, lane)| wanted(lane.state.get()));
            list_threads(lanes.map(|(thread, _)| thread as u32))
        };
        let here = |state| matches!(state, LaneState::AtBarrier(at) if at == line);
        if self.lanes.iter().all(|lane| here(lane.state.get())) {
            for lane in &*self.lanes {
                lane.state.set(LaneState::Ready(0));
            }
            self.shared_context.shared.borrow_mut().barrier();
            return Ok(true);
        }
        let exited = threads(&|state| matches!(state, LaneState::Exited));
        let elsewhere = threads(&|state| matches!(state, LaneState::AtBarrier(at) if at != line));
        let missing = match (exited.is_empty(), elsewhere.is_empty()) {
            (false, _) => format!("threads {exited} have exited"),
            (_, false) => format!("threads {elsewhere} wait at another barrier"),
            // The others still run, poll memory, or wait in a collective that checks itself.
            _ => return Ok(false),
        };
        let waiting = format!("threads {}", threads(&here));
        let kind = FaultKind::DivergentBarrier { waiting, at: line.to_string(), missing };
        Err(Fault { place: Some(self.shared_context.place(Some(first as u32), Some(line))), kind })
    }
}

/// Prepares a lane's coroutine on its stack.
fn start(lane: &LaneContext<'_>, stack: DefaultStack) -> LaneCoroutine {
    let lane: *const LaneContext<'static> = std::ptr::from_ref(lane).cast();
    Coroutine::with_stack(stack, move |yielder, _| {
        // Safety: the context outlives the coroutine, see `Block`.
        let lane = unsafe { &*lane };
        lane.yielder.set(yielder);
        let launch = &lane.block.launch;
        (launch.simulation)(launch.arguments);
    })
}

impl Drop for Block<'_> {
    /// Returns the stacks and the shared memory. A lane that is abandoned is unwound, so that borrows of its stack end; if panics
    /// abort, this is impossible, and its stack is leaked.
    fn drop(&mut self) {
        let stacks = self.coroutines.drain(..).filter_map(|mut coroutine| {
            if !coroutine.done() {
                if cfg!(not(panic = "unwind")) {
                    std::mem::forget(coroutine);
                    return None;
                }
                coroutine.force_unwind();
            }
            Some(coroutine.into_stack())
        });
        let stacks: Vec<_> = stacks.collect();
        STACKS.lock().0.extend(stacks);
        self.shared_context.shared.take().spare();
    }
}
