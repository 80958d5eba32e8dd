//! Threads that wait forever: at barriers, in collectives, in polling loops. And panics.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::host::{FaultKind, SimulatedGpu, SimulatedOptions};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut};

use super::{device, launch, report, BLOCK_INDEX, THREAD};

planted! {
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

#[test]
fn incomplete_barriers_are_reported() {
    found!(ExitBeforeBarrier, exit_before_barrier, FaultKind::DivergentBarrier { waiting, missing, .. }
        if waiting == "threads 0-36, 38-63" && missing == "threads 37 have exited");
    found!(TwoBarriers, two_barriers, FaultKind::DivergentBarrier { missing, .. } if missing == "threads 37 wait at another barrier");
}

#[test]
fn incomplete_collectives_are_reported() {
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
    /// Polls without a spin hint.
    pub struct PollsWithoutHint {
        pub data: GlobalMut<u32>,
    }
    shared: 0;
    body: |PollsWithoutHint { data }: PollsWithoutHint, _: Arena| {
        // Every block except the last waits for the next.
        let (block, last) = (thread::block() as usize, thread::grid_size() as usize - 1);
        while block < last && data.compare_exchange(block + 1, 1, 1, Ordering::Acquire, Scope::Device) == 0 {}
        if thread::index() == 0 { data.atomic_store(block, 1, Ordering::Release, Scope::Device); }
    };
    entry: polls_without_hint in planted: 32 x 1;
}

#[test]
fn polling_without_a_hint_lets_others_continue() {
    for threads in [1, 2] {
        let gpu = SimulatedGpu::new(
            SimulatedOptions::default()
                .with_threads(threads)
                .with_resident_blocks(4)
                .with_patience_seconds(1),
        );
        let address = gpu.allocate(40).expect("memory");
        gpu.fill(address, 40, 0).expect("live");
        let kernel = PollsWithoutHint { data: GlobalMut::from_device(address, 10) };
        gpu.run(kernel, 4).expect("all four are in flight");
        // More blocks than can be in flight: the first ones wait forever.
        gpu.fill(address, 40, 0).expect("live");
        let fault = gpu.run(kernel, 10).expect_err("blocks wait forever");
        assert!(matches!(fault.kind, FaultKind::NoProgress { .. }), "{fault}");
    }
}
