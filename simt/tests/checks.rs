//! Every check of the simulated GPU, with a kernel that makes just that mistake.
#![allow(missing_docs, clippy::if_same_then_else)]

use evenpath_simt::atomic::{fence, Ordering, Scope};
use evenpath_simt::host::{Fault, FaultKind, Options, SimulatedGpu};
use evenpath_simt::kernel::{Argument, Kernel};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut, Shared};

/// The kernels below have one parameter list and do what `mistake` says, in thread 37 of block 2,
/// in blocks of 64.
const THREAD: u32 = 37;
const BLOCK_INDEX: u32 = 2;

macro_rules! planted {
    ($($kernel:ident, $entry:ident, $shared:expr, |$arena:ident, $data:ident, $culprit:ident| $body:block)*) => {$(
        kernel! {
            /// A kernel with a mistake.
            pub struct $kernel {
                pub data: GlobalMut<u32>,
            }
            shared: $shared;
            body: |$kernel { data: $data }: $kernel, mut $arena: Arena| {
                let $culprit = thread::block() == BLOCK_INDEX && thread::index() == THREAD;
                let _ = (&mut $arena, $data);
                $body
            };
            entries: {
                $entry in planted: 64 x 1;
            }
        }
    )*};
}

planted! {
    OutsideView, outside_view, 0, |arena, data, culprit| {
        if culprit { data.store(100, 1); }
    }
    UnwrittenGlobal, unwritten_global, 0, |arena, data, culprit| {
        if culprit { data.load(7); }
    }
    UnwrittenShared, unwritten_shared, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        if thread::index() != THREAD || thread::block() != BLOCK_INDEX { shared.store(thread::index() as usize, 1); }
        if culprit { shared.load(THREAD as usize); }
    }
    UnawaitedCopy, unawaited_copy, 1024, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(256);
        let first = 4 * thread::index() as usize;
        shared.copy_16(first, Global::from_device(data.address(), data.len()), 0);
        if !culprit { thread::await_copies(); }
        shared.load(first);
    }
    OutsideShared, outside_shared, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        if culprit { shared.store(64, 1); }
    }
    ArenaExhausted, arena_exhausted, 256, |arena, data, culprit| {
        let len = if culprit { 65 } else { 64 };
        let _: Shared<u32> = arena.take(len);
    }
    ArenaOverflow, arena_overflow, 256, |arena, data, culprit| {
        let _: Shared<u32> = arena.take(if culprit { 1 << 30 } else { 64 });
    }
    RaceWriteWrite, race_write_write, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        shared.store(if culprit { 0 } else { thread::index() as usize }, 1);
    }
    RaceWriteRead, race_write_read, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        shared.store(thread::index() as usize, 1);
        if culprit { shared.load(0); }
    }
    RaceReadWrite, race_read_write, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        shared.store(thread::index() as usize, 1);
        thread::barrier();
        shared.load(0);
        if culprit { shared.store(0, 2); }
    }
    RaceAtomicRead, race_atomic_read, 4, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(1);
        if thread::index() == 0 { shared.store(0, 0); }
        thread::barrier();
        shared.fetch_add(0, 1);
        if culprit { shared.load(0); }
    }
    RaceInWarp, race_in_warp, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        shared.store(thread::index() as usize, 1);
        // A shuffle orders registers, not memory.
        warp::shuffle_up(warp::FULL, 1u32, 1);
        if culprit { shared.load(THREAD as usize - 1); }
    }
    RaceSetThenUpdate, race_set_then_update, 4, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(1);
        let _ = culprit;
        // The barrier that should be between is forgotten, in a block alone.
        if thread::block() == BLOCK_INDEX {
            if thread::index() == 0 { shared.store(0, 0); }
            shared.fetch_add(0, 1);
        }
    }
    RaceOnBytes, race_on_bytes, 64, |arena, data, culprit| {
        let shared: Shared<u8> = arena.take(64);
        shared.store(thread::index() as usize, 1);
        if culprit { shared.load(THREAD as usize - 3); }
    }
    RaceOfByteAndWord, race_of_byte_and_word, 64, |arena, data, culprit| {
        let bytes: Shared<u8> = arena.clone().take(64);
        let words: Shared<u32> = arena.take(16);
        bytes.store(thread::index() as usize, 1);
        if culprit { words.store(5, 1); }
    }
    RaceWithAnEarlyReader, race_with_an_early_reader, 256, |arena, data, culprit| {
        let shared: Shared<u32> = arena.take(64);
        shared.store(thread::index() as usize, 1);
        thread::barrier();
        // Thread 0 of the other warp reads first; what the culprit's warp does after does not hide it.
        if thread::index() == 0 || culprit { shared.load(63); }
        if thread::warp() == 1 { warp::sync(warp::FULL); }
        if culprit { shared.load(63); shared.store(63, 2); }
    }
    ExitBeforeBarrier, exit_before_barrier, 0, |arena, data, culprit| {
        if culprit { return; }
        thread::barrier();
    }
    TwoBarriers, two_barriers, 0, |arena, data, culprit| {
        if culprit { thread::barrier() } else { thread::barrier() }
    }
    ExitBeforeShuffle, exit_before_shuffle, 0, |arena, data, culprit| {
        if culprit { return; }
        warp::shuffle(warp::FULL, 1u32, 0);
    }
    BarrierAgainstVote, barrier_against_vote, 0, |arena, data, culprit| {
        if culprit { thread::barrier(); } else { warp::ballot(warp::FULL, true); }
    }
    TwoVotes, two_votes, 0, |arena, data, culprit| {
        if culprit { warp::ballot(warp::FULL, true); } else { warp::ballot(warp::FULL, true); }
    }
    TwoMasks, two_masks, 0, |arena, data, culprit| {
        warp::ballot(if culprit { 0xf0 } else { warp::FULL }, true);
    }
    NotInMask, not_in_mask, 0, |arena, data, culprit| {
        if culprit { warp::ballot(1, true); }
    }
    ShuffleFromOutside, shuffle_from_outside, 0, |arena, data, culprit| {
        let _ = culprit;
        if thread::lane() < 8 { warp::shuffle(0xff, 1u32, 9); }
    }
    Overflow, overflow, 0, |arena, data, culprit| {
        assert!(!culprit, "deliberate");
    }
    WaitsForever, waits_forever, 0, |arena, data, culprit| {
        while culprit && data.atomic_load(0, Ordering::Acquire, Scope::Device) == 0 { thread::spin_hint(); }
    }
}

fn launch<K: Kernel>(gpu: &SimulatedGpu, kernel: K) -> Result<(), Fault> {
    gpu.run(kernel, 4)
}

fn device() -> SimulatedGpu {
    SimulatedGpu::new(Options { patience_seconds: 1, ..Options::default() })
}

/// Runs a kernel on ten elements of which nothing wrote any, and returns its report, whose place
/// must be that of the mistake.
fn report<K: Kernel>(make: fn(GlobalMut<u32>) -> K, name: &str) -> FaultKind {
    let gpu = device();
    let address = gpu.allocate(400).expect("memory");
    let fault = launch(&gpu, make(GlobalMut::from_device(address, 10))).expect_err("the mistake is found");
    let text = fault.to_string();
    let place = fault.place.expect("a place");
    assert_eq!(place.kernel, name);
    assert!(text.contains(&format!("kernel `{name}`, block {BLOCK_INDEX}, thread")), "{text}");
    assert_eq!(place.block, Some(BLOCK_INDEX), "{text}");
    fault.kind
}

macro_rules! found {
    ($kernel:ident, $entry:ident, $pattern:pat $(if $guard:expr)?) => {
        let kind = report(|data| $kernel { data }, stringify!($entry));
        assert!(matches!(&kind, $pattern $(if $guard)?), "{kind:?}");
    };
}

#[test]
fn an_access_outside_its_view() {
    found!(OutsideView, outside_view, FaultKind::OutsideView { index: 100, len: 10, address, .. } if address & 0xffff == 400);
    found!(
        OutsideShared,
        outside_shared,
        FaultKind::OutsideSharedView { index: 64, len: 64, address: 256, .. }
    );
    found!(ArenaExhausted, arena_exhausted, FaultKind::ArenaExhausted { asked: 260, left: 256 });
    found!(ArenaOverflow, arena_overflow, FaultKind::ArenaExhausted { asked: 0x1_0000_0000, left: 256 });
}

#[test]
fn an_access_outside_the_allocation_behind_a_view() {
    let gpu = device();
    let address = gpu.allocate(40).expect("memory");
    let fault = launch(&gpu, OutsideView { data: GlobalMut::from_device(address, 1000) }).expect_err("found");
    assert!(matches!(fault.kind, FaultKind::OutsideAllocation { allocated: 40, bytes: 4, .. }), "{fault}");
}

#[test]
fn a_use_after_free() {
    let gpu = device();
    let address = gpu.allocate(4000).expect("memory");
    gpu.free(address).expect("live");
    let data = GlobalMut::from_device(address, 1000);
    let fault = launch(&gpu, OutsideView { data }).expect_err("found");
    assert_eq!(fault.kind, FaultKind::UseAfterFree { address: address + 400, bytes: 4 });
    // What takes its place is another allocation.
    let other = gpu.allocate(4000).expect("memory");
    assert_ne!(other, address);
    assert!(launch(&gpu, OutsideView { data }).is_err());
    assert!(gpu.free(address).is_err(), "a second free");
    // No address comes back soon, not even when its slot does.
    for _ in 0..3000 {
        let next = gpu.allocate(4000).expect("memory");
        assert_ne!(next, address);
        gpu.free(next).expect("live");
    }
    let fault = launch(&gpu, OutsideView { data: GlobalMut::from_device(0, 1000) }).expect_err("found");
    assert!(matches!(fault.kind, FaultKind::NotAllocated { .. }), "{fault}");
}

#[test]
fn a_misaligned_access() {
    let gpu = device();
    let address = gpu.allocate(4000).expect("memory");
    let data = GlobalMut::from_device(address + 2, 500);
    let fault = launch(&gpu, OutsideView { data }).expect_err("found");
    assert!(matches!(fault.kind, FaultKind::Misaligned { bytes: 4, .. }), "{fault}");
}

#[test]
fn a_read_of_what_nothing_wrote() {
    found!(UnwrittenGlobal, unwritten_global, FaultKind::UninitialisedGlobal { bytes: 4, address } if address & 0xffff == 28);
    // One byte is missing.
    let gpu = device();
    let address = gpu.allocate(40).expect("memory");
    gpu.write(address + 28, &[1; 3]).expect("live");
    let kernel = UnwrittenGlobal { data: GlobalMut::from_device(address, 10) };
    assert!(launch(&gpu, kernel).is_err());
    gpu.write(address + 31, &[1]).expect("live");
    launch(&gpu, kernel).expect("all written");
    found!(UnwrittenShared, unwritten_shared, FaultKind::UninitialisedShared { bytes: 4, address: 148 });
}

#[test]
fn a_read_of_what_is_still_being_copied() {
    let gpu = device();
    let address = gpu.allocate(16).expect("memory");
    gpu.write(address, &[1; 16]).expect("live");
    let kernel = UnawaitedCopy { data: GlobalMut::from_device(address, 4) };
    let fault = launch(&gpu, kernel).expect_err("found");
    assert_eq!(fault.kind, FaultKind::UninitialisedShared { bytes: 4, address: 16 * THREAD });
}

#[test]
fn races_on_shared_memory() {
    use evenpath_simt::host::AccessKind::{Atomic, Read, Write};
    found!(
        RaceWriteWrite,
        race_write_write,
        FaultKind::SharedRace { address: 0, thread: THREAD, this: Write, other: 0, that: Write }
    );
    found!(
        RaceWriteRead,
        race_write_read,
        FaultKind::SharedRace { address: 0, thread: THREAD, this: Read, other: 0, that: Write }
    );
    found!(RaceReadWrite, race_read_write, FaultKind::SharedRace { address: 0, this: Write | Read, .. });
    found!(RaceAtomicRead, race_atomic_read, FaultKind::SharedRace { address: 0, this: Read | Atomic, .. });
    found!(
        RaceInWarp,
        race_in_warp,
        FaultKind::SharedRace { address: 144, thread: THREAD, this: Read, other: 36, that: Write }
    );
}

#[test]
fn races_that_other_accesses_must_not_hide() {
    use evenpath_simt::host::AccessKind::{Atomic, Read, Write};
    found!(
        RaceSetThenUpdate,
        race_set_then_update,
        FaultKind::SharedRace { thread: 1, this: Atomic, other: 0, that: Write, .. }
    );
    found!(
        RaceOnBytes,
        race_on_bytes,
        FaultKind::SharedRace { address: 34, thread: THREAD, this: Read, other: 34, that: Write }
    );
    found!(
        RaceOfByteAndWord,
        race_of_byte_and_word,
        FaultKind::SharedRace { address: 20, this: Write, that: Write, .. }
    );
    found!(
        RaceWithAnEarlyReader,
        race_with_an_early_reader,
        FaultKind::SharedRace { address: 252, thread: THREAD, this: Write, other: 0, that: Read }
    );
}

#[test]
fn barriers_that_not_all_threads_reach() {
    found!(ExitBeforeBarrier, exit_before_barrier, FaultKind::DivergentBarrier { waiting, missing, .. }
        if waiting == "threads 0-36, 38-63" && missing == "threads 37 have exited");
    found!(TwoBarriers, two_barriers, FaultKind::DivergentBarrier { missing, .. } if missing == "threads 37 wait at another barrier");
}

#[test]
fn collectives_that_not_all_lanes_reach() {
    found!(ExitBeforeShuffle, exit_before_shuffle, FaultKind::DivergentCollective { what: "a shuffle", missing, .. }
        if missing == "lane 5 has exited");
    found!(BarrierAgainstVote, barrier_against_vote, FaultKind::DivergentCollective { what: "a vote", missing, .. }
        if missing.starts_with("lane 5 waits at the barrier at"));
    found!(TwoVotes, two_votes, FaultKind::DivergentCollective { what: "a vote", missing, .. }
        if missing.contains("lane 5 waits in a vote at"));
    found!(TwoMasks, two_masks, FaultKind::DivergentCollective { what: "a vote", missing, .. }
        if missing.contains("lane 5 waits in a vote at"));
    found!(NotInMask, not_in_mask, FaultKind::NotInMask { mask: 1, lane: 5, .. });
}

#[test]
fn a_shuffle_from_a_lane_outside_its_mask() {
    let gpu = device();
    let address = gpu.allocate(40).expect("memory");
    let data = GlobalMut::from_device(address, 10);
    let fault = launch(&gpu, ShuffleFromOutside { data }).expect_err("found");
    assert_eq!(fault.kind, FaultKind::ShuffleSource { source_lane: 9, mask: 0xff });
}

#[test]
fn a_panic_in_the_kernel() {
    found!(Overflow, overflow, FaultKind::Panic(message) if message == "deliberate");
}

#[test]
fn blocks_that_wait_forever() {
    let gpu = device();
    let address = gpu.allocate(40).expect("memory");
    gpu.fill(address, 40, 0).expect("live");
    let fault = launch(&gpu, WaitsForever { data: GlobalMut::from_device(address, 10) }).expect_err("found");
    assert_eq!(fault.kind, FaultKind::NoProgress { seconds: 1, waiting: 1 });
}

kernel! {
    /// Polls with no hint that it does.
    pub struct PollsWithoutHint {
        pub data: GlobalMut<u32>,
    }
    shared: 0;
    body: |PollsWithoutHint { data }: PollsWithoutHint, _: Arena| {
        // Every block but the last waits for the next.
        let (block, last) = (thread::block() as usize, thread::grid_size() as usize - 1);
        while block < last && data.compare_exchange(block + 1, 1, 1, Ordering::Acquire, Scope::Device) == 0 {}
        if thread::index() == 0 { data.atomic_store(block, 1, Ordering::Release, Scope::Device); }
    };
    entries: {
        polls_without_hint in planted: 32 x 1;
    }
}

#[test]
fn loops_that_poll_without_saying_so_let_others_go_on() {
    for threads in [1, 2] {
        let gpu = SimulatedGpu::new(Options {
            threads,
            resident_blocks: 4,
            patience_seconds: 1,
            ..Options::default()
        });
        let address = gpu.allocate(40).expect("memory");
        gpu.fill(address, 40, 0).expect("live");
        let kernel = PollsWithoutHint { data: GlobalMut::from_device(address, 10) };
        gpu.run(kernel, 4).expect("all four are in flight");
        // More than can be in flight, so that the first wait in vain.
        gpu.fill(address, 40, 0).expect("live");
        let fault = gpu.run(kernel, 10).expect_err("blocks wait forever");
        assert!(matches!(fault.kind, FaultKind::NoProgress { .. }), "{fault}");
    }
}

kernel! {
    /// Copies an element to the place that it is told.
    pub struct CopyOne {
        pub from: Global<u32>,
        pub to: GlobalMut<u32>,
        pub index: u32,
        pub write_first: u32,
    }
    shared: 0;
    body: |CopyOne { from, to, index, write_first }: CopyOne, _: Arena| {
        if thread::block() == BLOCK_INDEX && thread::index() == THREAD {
            if write_first == 1 { to.store(index as usize, 1); }
            let value = from.load(5);
            if write_first == 0 { to.fetch_add(index as usize, value, Ordering::Relaxed, Scope::Device); }
        }
    };
    entries: {
        copy_one in planted: 64 x 1;
    }
}

#[test]
fn a_write_to_what_the_launch_loads_as_read_only() {
    let gpu = device();
    let address = gpu.allocate(80).expect("memory");
    gpu.fill(address, 80, 0).expect("live");
    // The writable view begins four elements after the read-only one.
    let (from, to) = (Global::from_device(address, 10), GlobalMut::from_device(address + 16, 10));
    for write_first in [0, 1] {
        for index in [0, 2, 9] {
            launch(&gpu, CopyOne { from, to, index, write_first }).expect("another element");
        }
        let fault = launch(&gpu, CopyOne { from, to, index: 1, write_first }).expect_err("found");
        assert_eq!(fault.kind, FaultKind::ReadOnlyWritten { address: address + 20 });
        let place = fault.place.expect("a place");
        assert_eq!((place.kernel, place.block, place.thread), ("copy_one", Some(BLOCK_INDEX), Some(THREAD)));
        assert!(place.line.is_some_and(|line| line.file().ends_with("checks.rs")));
    }
}

kernel! {
    /// Block 1 hands an element to block 2, in the way that `how` says.
    pub struct HandOver {
        pub data: GlobalMut<u32>,
        pub bytes: GlobalMut<u8>,
        pub flag: GlobalMut<u32>,
        pub how: u32,
    }
    shared: 0;
    body: |HandOver { data, bytes, flag, how }: HandOver, _: Arena| {
        let (release, acquire) = if how == 1 || how == 2 {
            (Ordering::Relaxed, Ordering::Relaxed)
        } else {
            (Ordering::Release, Ordering::Acquire)
        };
        let scope = if how == 3 { Scope::Block } else { Scope::Device };
        if thread::index() == 5 {
            data.store(thread::block() as usize, 7);
            // Four blocks write one word, but nobody anybody else's byte.
            bytes.store(thread::block() as usize, 7);
            bytes.load(thread::block() as usize);
        }
        thread::barrier();
        if thread::block() == 1 && thread::index() == 0 {
            if how == 2 { fence(Scope::Device); }
            flag.atomic_store(0, 1, release, scope);
        }
        if thread::block() == BLOCK_INDEX && thread::index() == THREAD {
            while flag.atomic_load(0, acquire, scope) == 0 { thread::spin_hint(); }
            if how == 2 { fence(Scope::Device); }
            if how == 4 { data.store(1, 8); } else { data.load(1); }
        }
        if how == 5 { data.store(4, 1); }
        if how == 6 { data.store(4, thread::block()); }
    };
    entries: {
        hand_over in planted: 64 x 1;
    }
}

#[test]
fn blocks_that_meet_in_global_memory_in_no_order() {
    use evenpath_simt::host::AccessKind::{Read, Write};
    for threads in [1, 2] {
        let gpu = SimulatedGpu::new(Options { threads, ..Options::default() });
        let data = gpu.allocate(40).expect("memory");
        let bytes = gpu.allocate(4).expect("memory");
        let flag = gpu.allocate(4).expect("memory");
        let run = |how| {
            gpu.fill(flag, 4, 0).expect("live");
            let data = GlobalMut::from_device(data, 10);
            let (bytes, flag) = (GlobalMut::from_device(bytes, 4), GlobalMut::from_device(flag, 1));
            let kernel = HandOver { data, bytes, flag, how };
            gpu.run(kernel, 4)
        };
        // Release and acquire; relaxed with fences; a write that is handed over; all write the same.
        for how in [0, 2, 4, 5] {
            run(how).expect("in order");
        }
        for how in [1, 3] {
            let fault = run(how).expect_err("found");
            assert_eq!(
                fault.kind,
                FaultKind::GlobalRace { address: data + 4, block: BLOCK_INDEX, this: Read, other: 1 }
            );
            let place = fault.place.expect("a place");
            assert_eq!((place.block, place.thread), (Some(BLOCK_INDEX), Some(THREAD)));
            assert!(place.line.is_some_and(|line| line.file().ends_with("checks.rs")));
        }
        let fault = run(6).expect_err("found");
        let FaultKind::GlobalRace { address, this: Write, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!(address, data + 16);
    }
}

kernel! {
    /// Too much of everything.
    pub struct TooLarge {
        pub data: Global<u32>,
    }
    shared: 49 * 1024;
    body: |TooLarge { .. }: TooLarge, _: Arena| {};
    entries: {
        too_large_shared in planted: 64 x 1;
        too_large_block in planted: 2048 x 1;
    }
}

#[test]
fn launches_beyond_the_limits() {
    let gpu = device();
    let kernel = TooLarge { data: Global::from_device(0, 0) };
    let shared = TooLarge::instance(64, 1).expect("instance");
    let block = TooLarge::instance(2048, 1).expect("instance");
    let small = OutsideView::first().expect("instance");
    let simulation = OutsideView::simulation(small).expect("its own instance");
    let launch = |info, grid, dynamic, arguments: &[Argument]| {
        gpu.launch(info, simulation, grid, dynamic, arguments).expect_err("refused")
    };
    let refused = |info, grid, dynamic| launch(info, grid, dynamic, &kernel.pack()).kind;
    assert!(matches!(
        refused(shared, 1, 0),
        FaultKind::SharedMemory { what: "statically sized", limit: 49152, .. }
    ));
    assert!(matches!(refused(block, 1, 0), FaultKind::BlockSize { threads: 2048, limit: 1024 }));
    assert!(matches!(refused(small, 0, 0), FaultKind::GridSize { blocks: 0, .. }));
    assert!(matches!(refused(small, 1 << 31, 0), FaultKind::GridSize { .. }));
    assert!(matches!(refused(small, 1, 300 * 1024), FaultKind::SharedMemory { what: "in all", .. }));
    let fault = launch(small, 1, 0, &[]);
    assert_eq!(fault.kind, FaultKind::Arguments { given: 0, declared: 1 });
    assert!(fault.to_string().starts_with("kernel `outside_view`"), "{fault}");
}

#[test]
fn a_device_survives_every_report() {
    let gpu = device();
    let address = gpu.allocate(4000).expect("memory");
    for _ in 0..3 {
        assert!(launch(&gpu, ExitBeforeBarrier { data: GlobalMut::from_device(address, 10) }).is_err());
        launch(&gpu, OutsideView { data: GlobalMut::from_device(address, 1000) }).expect("no mistake here");
    }
    let mut word = [0; 4];
    gpu.read(address + 400, &mut word).expect("written");
    assert_eq!(word, [1, 0, 0, 0]);
    assert!(gpu.read(address, &mut word).is_err(), "never written");
}
