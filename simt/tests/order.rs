//! Block order, memory limits, and communication between lanes of correct kernels.
#![allow(missing_docs)]

use std::collections::BTreeSet;

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::host::{BlockOrder, SimulatedGpu, SimulatedOptions};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut, Shared};

kernel! {
    /// Records the order in which blocks run.
    pub struct Record {
        pub count: GlobalMut<u32>,
        pub order: GlobalMut<u32>,
    }
    shared: 0;
    body: |Record { count, order }: Record, _: Arena| {
        if thread::index() == 0 {
            let place = count.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
            order.store(place as usize, thread::block());
        }
    };
    entry: record in order: 32 x 1;
}

fn order_of(blocks: u32, options: SimulatedOptions) -> Vec<u32> {
    let gpu = SimulatedGpu::new(options);
    let count = gpu.allocate(4).expect("memory");
    gpu.fill(count, 4, 0).expect("live");
    let order = gpu.allocate(u64::from(blocks) * 4).expect("memory");
    let kernel = Record {
        count: GlobalMut::from_device(count, 1),
        order: GlobalMut::from_device(order, u64::from(blocks)),
    };
    gpu.run(kernel, blocks).expect("no mistake");
    let mut bytes = vec![0; blocks as usize * 4];
    gpu.read(order, &mut bytes).expect("written");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
}

/// More threads than any machine has: only as many start as can be used.
#[test]
fn absurdly_many_threads_are_not_started() {
    for threads in [1 << 29, usize::MAX] {
        let options = SimulatedOptions::default().with_threads(threads);
        assert_eq!(SimulatedGpu::new(options).cpu_threads(), 1024);
        let order = order_of(5000, options);
        assert!(order.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..5000));
    }
}

#[test]
fn every_block_runs_once_in_every_order() {
    for blocks in [1, 2, 3, 31, 100, 1000] {
        let ascending = order_of(blocks, SimulatedOptions::default().with_threads(1));
        assert!(ascending.iter().copied().eq(0..blocks));
        for seed in 0..3 {
            let block_order = BlockOrder::Seeded(seed);
            let options = SimulatedOptions::default().with_threads(1).with_block_order(block_order);
            let shuffled = order_of(blocks, options);
            assert_eq!(shuffled, order_of(blocks, options), "the seed determines the order");
            assert!(shuffled.iter().copied().collect::<BTreeSet<_>>().into_iter().eq(0..blocks));
            assert!(blocks < 100 || shuffled != ascending);
            let parallel = order_of(blocks, options.with_threads(3));
            assert!(parallel.into_iter().collect::<BTreeSet<_>>().into_iter().eq(0..blocks));
        }
    }
}

kernel! {
    /// Lanes exchange values through shared memory, ordered by a barrier of a part of the warp.
    pub struct PartialWarps {
        pub data: GlobalMut<u32>,
    }
    shared: 256;
    body: |PartialWarps { data }: PartialWarps, mut arena: Arena| {
        let shared: Shared<u32> = arena.take(64);
        let half = if thread::lane() < 16 { 0x0000_ffff } else { 0xffff_0000 };
        for round in 0..4 {
            shared.store(thread::index() as usize, thread::index() + round);
            warp::sync(half);
            let other = shared.load((thread::index() ^ 15) as usize);
            warp::sync(half);
            data.store(thread::index() as usize, other);
        }
        // A barrier of the whole warp orders lanes that passed different numbers of barriers before it.
        if thread::lane() < 16 { warp::sync(half); warp::sync(half); }
        shared.store(thread::index() as usize, 0);
        warp::sync(warp::FULL);
        shared.load((thread::index() ^ 31) as usize);
    };
    entry: partial_warps in order: 64 x 1;
}

#[test]
fn warp_barriers_of_half_a_warp_order_its_lanes() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default());
    let address = gpu.allocate(256).expect("memory");
    let kernel = PartialWarps { data: GlobalMut::from_device(address, 64) };
    gpu.run(kernel, 1).expect("no race");
    let mut bytes = [0; 256];
    gpu.read(address, &mut bytes).expect("written");
    for (thread, word) in bytes.chunks_exact(4).enumerate() {
        assert_eq!(u32::from_le_bytes(word.try_into().expect("4 bytes")), (thread as u32 ^ 15) + 3);
    }
}

kernel! {
    /// A barrier of the whole grid.
    pub struct GridBarrier {
        pub arrived: GlobalMut<u32>,
    }
    shared: 0;
    body: |GridBarrier { arrived }: GridBarrier, _: Arena| {
        if thread::index() == 0 {
            arrived.fetch_add(0, 1, Ordering::AcquireRelease, Scope::Device);
            while arrived.atomic_load(0, Ordering::Acquire, Scope::Device) < thread::grid_size() {
                thread::spin_hint();
            }
        }
        thread::barrier();
    };
    entry: grid_barrier in order: 1024 x 1;
}

/// Blocks in flight need stacks for their threads, and the memory for stacks is limited.
#[test]
fn blocks_wait_for_room() {
    let options =
        SimulatedOptions::default().with_threads(3).with_resident_blocks(16).with_patience_seconds(1);
    let gpu = SimulatedGpu::new(options);
    let address = gpu.allocate(4).expect("memory");
    let kernel = GridBarrier { arrived: GlobalMut::from_device(address, 1) };
    for (blocks, fit) in [(16, true), (48, false), (16, true)] {
        gpu.fill(address, 4, 0).expect("live");
        assert_eq!(gpu.run(kernel, blocks).is_ok(), fit, "{blocks} blocks");
    }
}

#[test]
fn memory_is_limited_and_reused() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default().with_memory_bytes(1000));
    let all = gpu.allocate(1000).expect("all of it");
    let refused = gpu.allocate(1).expect_err("nothing is left");
    assert_eq!((refused.asked, refused.free, refused.total), (1, 0, 1000));
    gpu.free(all).expect("live");
    assert_eq!(gpu.memory(), (1000, 1000));
    let first = gpu.allocate(600).expect("free again");
    let empty = gpu.allocate(0).expect("nothing is always there");
    assert!(first != empty && first != 0 && empty != 0 && first.is_multiple_of(256));
    gpu.write(first, &[7; 600]).expect("live");
    let second = gpu.allocate(400).expect("the rest");
    gpu.copy(first + 3, second + 5, 300).expect("live");
    let mut bytes = [0; 300];
    gpu.read(second + 5, &mut bytes).expect("copied");
    assert_eq!(bytes, [7; 300]);
    assert!(gpu.read(second + 4, &mut bytes).is_err(), "the byte before was never written");
    assert!(gpu.copy(first, second, 500).is_err(), "too long");
    assert!(gpu.write(first + 599, &[1, 2]).is_err(), "too long");
}
