//! Memory mistakes of one thread: out of bounds, after freeing, before writing.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::host::FaultKind;
use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut, Shared};

use super::{device, launch, report, BLOCK_INDEX, THREAD};

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
        shared.copy_16(first, Global::from_aligned_device(data.address(), data.len()), 0);
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
    // The next allocation has another address.
    let other = gpu.allocate(4000).expect("memory");
    assert_ne!(other, address);
    assert!(launch(&gpu, OutsideView { data }).is_err());
    assert!(gpu.free(address).is_err(), "a second free");
    // Addresses are not reused soon, even if their slots are.
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
fn reads_before_writes_are_reported() {
    found!(UnwrittenGlobal, unwritten_global, FaultKind::UninitializedGlobal { bytes: 4, address } if address & 0xffff == 28);
    // One byte is missing.
    let gpu = device();
    let address = gpu.allocate(40).expect("memory");
    gpu.write(address + 28, &[1; 3]).expect("live");
    let kernel = UnwrittenGlobal { data: GlobalMut::from_device(address, 10) };
    assert!(launch(&gpu, kernel).is_err());
    gpu.write(address + 31, &[1]).expect("live");
    launch(&gpu, kernel).expect("all written");
    found!(UnwrittenShared, unwritten_shared, FaultKind::UninitializedShared { bytes: 4, address: 148 });
}

#[test]
fn reads_during_a_copy_are_reported() {
    let gpu = device();
    let address = gpu.allocate(16).expect("memory");
    gpu.write(address, &[1; 16]).expect("live");
    let kernel = UnawaitedCopy { data: GlobalMut::from_device(address, 4) };
    let fault = launch(&gpu, kernel).expect_err("found");
    assert_eq!(fault.kind, FaultKind::UninitializedShared { bytes: 4, address: 16 * THREAD });
}

kernel! {
    /// Copies element 5 to `index`.
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
    entry: copy_one in planted: 64 x 1;
}

#[test]
fn writes_to_read_only_memory_are_reported() {
    let gpu = device();
    let address = gpu.allocate(80).expect("memory");
    gpu.fill(address, 80, 0).expect("live");
    // The writable view starts four elements after the read-only one.
    let (from, to) = (Global::from_device(address, 10), GlobalMut::from_device(address + 16, 10));
    for write_first in [0, 1] {
        for index in [0, 2, 9] {
            launch(&gpu, CopyOne { from, to, index, write_first }).expect("another element");
        }
        let fault = launch(&gpu, CopyOne { from, to, index: 1, write_first }).expect_err("found");
        assert_eq!(fault.kind, FaultKind::ReadOnlyWritten { address: address + 20 });
        let place = fault.place.expect("a place");
        assert_eq!((place.kernel, place.block, place.thread), ("copy_one", Some(BLOCK_INDEX), Some(THREAD)));
        assert!(place.line.is_some_and(|line| line.file().ends_with("memory.rs")));
    }
}
