//! Global memory is as weak as a GPU's: some launch sees unordered accesses in the wrong order, and no launch
//! sees ordered ones so.
#![allow(missing_docs)]

use evenpath_simt::atomic::{fence, Ordering, Scope};
use evenpath_simt::host::{
    AccessKind, BlockOrder, Fault, FaultKind, MemoryOrder, SimulatedGpu, SimulatedOptions,
};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut};

/// Maximum number of launches in which a mistake must be found.
const LAUNCHES: u32 = 64;

const RELAXED: u32 = 0;
const ORDERED: u32 = 1;
const FENCED: u32 = 2;

fn store(view: GlobalMut<u32>, index: usize, value: u32, how: u32) {
    if how == FENCED {
        fence(Scope::Device);
    }
    let ordering = if how == ORDERED { Ordering::Release } else { Ordering::Relaxed };
    view.atomic_store(index, value, ordering, Scope::Device);
}

fn await_value(view: GlobalMut<u32>, index: usize, value: u32, how: u32) {
    let ordering = if how == ORDERED { Ordering::Acquire } else { Ordering::Relaxed };
    while view.atomic_load(index, ordering, Scope::Device) != value {
        thread::spin_hint();
    }
    if how == FENCED {
        fence(Scope::Device);
    }
}

kernel! {
    /// Block 0 stores a message and then a flag. Each later block waits for the previous block's flag, writes
    /// the message that it sees, and sets its own flag.
    pub struct PassMessage {
        pub message: GlobalMut<u32>,
        pub flags: GlobalMut<u32>,
        pub seen: GlobalMut<u32>,
        pub release: u32,
        pub acquire: u32,
        pub plain: u32,
    }
    shared: 0;
    body: |PassMessage { message, flags, seen, release, acquire, plain }: PassMessage, _: Arena| {
        let block = thread::block() as usize;
        if thread::index() != 0 {
            return;
        }
        if block == 0 {
            if plain == 1 { message.store(0, 7); } else { message.atomic_store(0, 7, Ordering::Relaxed, Scope::Device); }
        } else {
            await_value(flags, block - 1, 1, acquire);
            seen.store(block, if plain == 1 {
                message.load(0)
            } else {
                message.atomic_load(0, Ordering::Relaxed, Scope::Device)
            });
        }
        store(flags, block, 1, release);
    };
    entry: pass_message in weak: 32 x 1;
}

struct Messages {
    gpu: SimulatedGpu,
    message: u64,
    flags: u64,
    seen: u64,
}

const BLOCKS: u32 = 3;

impl Messages {
    fn new(options: SimulatedOptions) -> Self {
        let gpu = SimulatedGpu::new(options);
        let [message, flags, seen] =
            [0; 3].map(|_: u64| gpu.allocate(4 * u64::from(BLOCKS)).expect("memory"));
        Self { gpu, message, flags, seen }
    }

    /// The message seen by the last two blocks.
    fn pass(&self, release: u32, acquire: u32, plain: u32) -> Result<[u32; 2], Fault> {
        for address in [self.message, self.flags, self.seen] {
            self.gpu.fill(address, 4 * u64::from(BLOCKS), 0).expect("live");
        }
        let view = |address| GlobalMut::from_device(address, u64::from(BLOCKS));
        let kernel = PassMessage {
            message: view(self.message),
            flags: view(self.flags),
            seen: view(self.seen),
            release,
            acquire,
            plain,
        };
        self.gpu.run(kernel, BLOCKS)?;
        Ok(read(&self.gpu, self.seen, BLOCKS as usize)[1..].try_into().expect("two"))
    }

    /// The messages seen by the blocks in many launches.
    fn pass_often(&self, release: u32, acquire: u32) -> Vec<[u32; 2]> {
        (0..LAUNCHES).map(|_| self.pass(release, acquire, 0).expect("no race")).collect()
    }
}

fn read(gpu: &SimulatedGpu, address: u64, len: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * len];
    gpu.read(address, &mut bytes).expect("written");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
}

fn every_option() -> impl Iterator<Item = SimulatedOptions> {
    [(1, 16), (2, 16), (1, 1)].into_iter().flat_map(|(threads, resident_blocks)| {
        (0..3).map(move |seed| {
            // If one block is resident, none may wait for a later one.
            let block_order =
                if resident_blocks == 1 { BlockOrder::Ascending } else { BlockOrder::Seeded(seed) };
            SimulatedOptions::default()
                .with_threads(threads)
                .with_resident_blocks(resident_blocks)
                .with_block_order(block_order)
                .with_memory_order(MemoryOrder::Weak(seed))
        })
    })
}

#[test]
fn released_and_acquired_values_arrive() {
    for options in every_option() {
        let messages = Messages::new(options);
        for (release, acquire) in [(ORDERED, ORDERED), (FENCED, FENCED), (ORDERED, FENCED), (FENCED, ORDERED)]
        {
            assert!(messages.pass_often(release, acquire).iter().all(|&seen| seen == [7; 2]), "{options:?}");
            messages.pass(release, acquire, 1).expect("in order");
        }
    }
}

#[test]
fn a_message_without_its_release_is_late() {
    for seed in 0..3 {
        let messages = Messages::new(SimulatedOptions::default().with_memory_order(MemoryOrder::Weak(seed)));
        for acquire in [ORDERED, FENCED, RELAXED] {
            let seen = messages.pass_often(RELAXED, acquire);
            assert!(seen.iter().any(|seen| seen[0] == 0), "{seen:?}");
            assert!(seen.contains(&[7; 2]), "{seen:?}");
        }
    }
}

#[test]
fn a_message_without_its_acquire_is_missed() {
    for seed in 0..3 {
        let messages = Messages::new(SimulatedOptions::default().with_memory_order(MemoryOrder::Weak(seed)));
        for release in [ORDERED, FENCED] {
            let seen = messages.pass_often(release, RELAXED);
            assert!(seen.iter().any(|seen| seen[0] == 0), "{seen:?}");
        }
    }
}

#[test]
fn a_plain_message_without_order_is_a_race() {
    let messages = Messages::new(SimulatedOptions::default());
    for (release, acquire) in [(RELAXED, ORDERED), (ORDERED, RELAXED), (FENCED, RELAXED), (RELAXED, RELAXED)]
    {
        let fault = messages.pass(release, acquire, 1).expect_err("found");
        assert!(
            matches!(fault.kind, FaultKind::GlobalRace { this: AccessKind::Read, other: 0, .. }),
            "{fault}"
        );
    }
}

#[test]
fn sequential_memory_is_in_order() {
    let messages = Messages::new(SimulatedOptions::default().with_memory_order(MemoryOrder::Sequential));
    assert!(messages.pass_often(RELAXED, RELAXED).iter().all(|&seen| seen == [7; 2]));
}

#[test]
fn on_one_thread_a_seed_determines_the_values() {
    let run = |seed| {
        let memory_order = MemoryOrder::Weak(seed);
        Messages::new(SimulatedOptions::default().with_threads(1).with_memory_order(memory_order))
            .pass_often(RELAXED, RELAXED)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

kernel! {
    /// Block 0 counts up at index 0 by stores; the others poll until they see the end. Every block draws
    /// tickets.
    pub struct CountUp {
        pub words: GlobalMut<u32>,
        pub went_back: GlobalMut<u32>,
    }
    shared: 0;
    body: |CountUp { words, went_back }: CountUp, _: Arena| {
        if thread::index() == 0 {
            let mut last = 0;
            for count in 1..=20 {
                if thread::block() == 0 {
                    words.atomic_store(0, count, Ordering::Relaxed, Scope::Device);
                }
                words.fetch_add(1, 1, Ordering::Relaxed, Scope::Device);
                let now = words.atomic_load(0, Ordering::Relaxed, Scope::Device);
                let own = thread::block() == 0 && (now != count || words.load(0) != count);
                if now < last || own {
                    went_back.atomic_store(0, 1, Ordering::Relaxed, Scope::Device);
                }
                last = now;
            }
            await_value(words, 0, 20, RELAXED);
        }
    };
    entry: count_up in weak: 32 x 1;
}

#[test]
fn no_block_goes_back_and_updates_are_never_lost() {
    for options in every_option() {
        let gpu = SimulatedGpu::new(options);
        let address = gpu.allocate(12).expect("memory");
        for _ in 0..LAUNCHES {
            gpu.fill(address, 12, 0).expect("live");
            let (words, went_back) =
                (GlobalMut::from_device(address, 2), GlobalMut::from_device(address + 8, 1));
            let kernel = CountUp { words, went_back };
            gpu.run(kernel, 4).expect("no race");
            assert_eq!(read(&gpu, address, 3), [20, 80, 0], "{options:?}");
        }
    }
}

kernel! {
    /// Waits for another block, with one of the two sides not atomic.
    pub struct HalfAtomic {
        pub flag: GlobalMut<u32>,
        pub plain_store: u32,
    }
    shared: 0;
    body: |HalfAtomic { flag, plain_store }: HalfAtomic, _: Arena| {
        if thread::index() != 0 {
            return;
        }
        if thread::block() == 0 {
            if plain_store == 1 { flag.store(0, 1); } else { flag.atomic_store(0, 1, Ordering::Relaxed, Scope::Device); }
        } else if plain_store == 1 {
            await_value(flag, 0, 1, ORDERED);
        } else {
            while flag.load(0) == 0 { thread::spin_hint(); }
        }
    };
    entry: half_atomic in weak: 32 x 1;
}

#[test]
fn waiting_by_plain_accesses_is_a_race() {
    for plain_store in [0, 1] {
        let gpu = SimulatedGpu::new(SimulatedOptions::default());
        let address = gpu.allocate(4).expect("memory");
        gpu.fill(address, 4, 0).expect("live");
        let kernel = HalfAtomic { flag: GlobalMut::from_device(address, 1), plain_store };
        let fault = gpu.run(kernel, 2).expect_err("found");
        assert!(matches!(fault.kind, FaultKind::GlobalRace { block: 1, other: 0, .. }), "{fault}");
    }
}

kernel! {
    /// Whole warps wait for the previous block, and vote on its arrival.
    pub struct VoteWhileWaiting {
        pub flags: GlobalMut<u32>,
    }
    shared: 0;
    body: |VoteWhileWaiting { flags }: VoteWhileWaiting, _: Arena| {
        let block = thread::block() as usize;
        let is_there = || block == 0 || flags.atomic_load(block - 1, Ordering::Relaxed, Scope::Device) == 1;
        while !warp::all(warp::FULL, is_there()) {
            thread::spin_hint();
        }
        if thread::index() == 0 {
            store(flags, block, 1, RELAXED);
        }
    };
    entry: vote_while_waiting in weak: 64 x 1;
}

#[test]
fn stores_reach_blocks_that_vote_while_waiting() {
    for options in every_option() {
        let gpu = SimulatedGpu::new(options);
        let address = gpu.allocate(32).expect("memory");
        for _ in 0..LAUNCHES {
            gpu.fill(address, 32, 0).expect("live");
            let kernel = VoteWhileWaiting { flags: GlobalMut::from_device(address, 8) };
            gpu.run(kernel, 8).expect("no mistake");
            assert_eq!(read(&gpu, address, 8), [1; 8]);
        }
    }
}
