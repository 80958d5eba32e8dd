//! Races of a block's threads on shared memory, and of blocks on global memory.

use evenpath_simt::atomic::{fence, Ordering, Scope};
use evenpath_simt::host::{FaultKind, SimulatedGpu, SimulatedOptions};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut, Shared};

use super::{report, BLOCK_INDEX, THREAD};

planted! {
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
        // The barrier between the two is missing, in one block only.
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
        // Thread 0 of the other warp reads first; later accesses of the culprit's warp do not hide it.
        if thread::index() == 0 || culprit { shared.load(63); }
        if thread::warp() == 1 { warp::sync(warp::FULL); }
        if culprit { shared.load(63); shared.store(63, 2); }
    }
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

kernel! {
    /// Block 1 passes an element to block 2, in the way given by `how`.
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
            // Four blocks write one word, each its own byte.
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
    entry: hand_over in planted: 64 x 1;
}

#[test]
fn unordered_blocks_on_global_memory_are_reported() {
    use evenpath_simt::host::AccessKind::{Read, Write};
    for threads in [1, 2] {
        let gpu = SimulatedGpu::new(SimulatedOptions::default().with_threads(threads));
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
        // Release and acquire; relaxed with fences; a write that is passed on; all write the same.
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
            assert!(place.line.is_some_and(|line| line.file().ends_with("races.rs")));
        }
        let fault = run(6).expect_err("found");
        let FaultKind::GlobalRace { address, this: Write, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!(address, data + 16);
    }
}
