//! Kernels that test the machine: code that compilers have got wrong, one use of every operation, and a deliberate
//! mistake.

mod bits;

pub use bits::{BitCounts, BIT_COUNTS};

use evenpath_simt::atomic::{fence, AtomicElement, AtomicInteger, Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Aligned16, Arena, Element, Float, Global, GlobalMut, Shared};

kernel! {
    /// Rotates `data` by one place, in one block. Two branches on one condition with a barrier
    /// between: a compiler that threads the jump makes two barriers of it.
    pub struct ConditionalBarrier {
        /// `len` elements.
        pub data: GlobalMut<u32>,
        /// Length of `data`, at most 128.
        pub len: u32,
    }
    shared: BLOCK * 4;
    body: ConditionalBarrier::conditional_barrier::<BLOCK>;
    entry: testing_conditional_barrier in testing: 128 x 1;
}

impl ConditionalBarrier {
    fn conditional_barrier<const BLOCK: usize>(self, mut arena: Arena) {
        let shared: Shared<u32> = arena.take(BLOCK);
        let thread = thread::index();
        if thread < self.len {
            shared.store(thread as usize, self.data.load(thread as usize));
        }
        thread::barrier();
        if thread < self.len {
            let next = if thread + 1 == self.len { 0 } else { thread + 1 };
            self.data.store(thread as usize, shared.load(next as usize));
        }
    }
}

kernel! {
    /// Writes one element wherever it is told to, inside `data` or not.
    pub struct FaultOutOfBounds {
        /// Any buffer.
        pub data: GlobalMut<u32>,
        /// The element to write.
        pub index: u64,
    }
    shared: 0;
    body: FaultOutOfBounds::fault_out_of_bounds;
    entry: testing_fault_out_of_bounds in testing: 32 x 1;
}

impl FaultOutOfBounds {
    fn fault_out_of_bounds(self, _: Arena) {
        if thread::index() == 0 {
            self.data.store(self.index as usize, 1);
        }
    }
}

/// Results that [`WarpCollectives`] writes for each lane.
pub const WARP_RESULTS: usize = 9;

kernel! {
    /// Every collective of one warp, on `values`.
    pub struct WarpCollectives {
        /// 32 values.
        pub values: Global<u64>,
        /// Output: [`WARP_RESULTS`] results a lane: shuffles up and down by 3, xor 5, from lane 7;
        /// ballot of odd values; match of the values' low two bits; any and all of zero values; sum.
        pub results: GlobalMut<u64>,
    }
    shared: 32 * 8;
    body: WarpCollectives::warp_collectives;
    entry: testing_warp_collectives in testing: 32 x 1;
}

impl WarpCollectives {
    fn warp_collectives(self, mut arena: Arena) {
        let lane = thread::lane() as usize;
        let value = self.values.load(lane);
        let low = value as u32;
        let any_or_all =
            u64::from(warp::any(warp::FULL, low == 0)) | u64::from(warp::all(warp::FULL, low == 0)) << 1;
        // The upper half of the warp reads the lower half's values through shared memory.
        let shared: Shared<u64> = arena.take(32);
        shared.store(lane, value);
        warp::sync(warp::FULL);
        let exchanged = shared.load(31 - lane);
        let all = [
            warp::shuffle_up(warp::FULL, value, 3),
            warp::shuffle_down(warp::FULL, value, 3),
            warp::shuffle_xor(warp::FULL, value, 5),
            warp::shuffle(warp::FULL, value, 7),
            u64::from(warp::ballot(warp::FULL, low % 2 == 1)),
            u64::from(warp::match_any(warp::FULL, low & 3)),
            any_or_all,
            warp::reduce_add(value),
            exchanged,
        ];
        for (i, result) in all.into_iter().enumerate() {
            self.results.store(lane * WARP_RESULTS + i, result);
        }
    }
}

kernel! {
    /// Copies elements 16 bytes at a time, through shared memory, where lanes read them singly too.
    pub struct Packets<T: Element> {
        /// One packet per thread.
        pub source: Global<T, Aligned16>,
        /// Output: the packets, in reverse order.
        pub reversed: GlobalMut<T, Aligned16>,
        /// Output: each packet's last element, read singly.
        pub last: GlobalMut<T>,
        /// Output: the packets in reverse order again, which went past the registers.
        pub copied: GlobalMut<T, Aligned16>,
    }
    shared: 2 * 64 * 16;
    body: Packets::packets;
    entry: testing_packets_{T} in testing: T in [u32, f64], 64 x 1;
}

impl<T: Element> Packets<T> {
    fn packets(self, mut arena: Arena) {
        let each = 16 / T::SIZE;
        let thread = thread::index() as usize;
        let shared: Shared<T> = arena.take(64 * each);
        let copies: Shared<T> = arena.take(64 * each);
        copies.copy_16(thread * each, self.source, thread * each);
        shared.store_16(thread * each, self.source.load_streaming_16(thread * each));
        thread::await_copies();
        thread::barrier();
        let other = 63 - thread;
        self.reversed.store_streaming_16(thread * each, shared.load_16(other * each));
        self.last.store(thread, shared.load(thread * each + each - 1));
        self.copied.store_streaming_16(thread * each, copies.load_16(other * each));
    }
}

kernel! {
    /// Every thread of every block updates the same few words.
    pub struct Atomics {
        /// Sum of all threads' global indices; their minimum plus one; their maximum; a word that is
        /// exchanged; a word that counts by compare-exchange.
        pub words: GlobalMut<u32>,
        /// The same sum, in 64 bits.
        pub wide: GlobalMut<u64>,
        /// The number of threads, by floating-point additions.
        pub float: GlobalMut<f64>,
    }
    shared: 4;
    body: Atomics::atomics;
    entry: testing_atomics in testing: 64 x 1;
}

impl Atomics {
    fn atomics(self, mut arena: Arena) {
        let relaxed = (Ordering::Relaxed, Scope::Device);
        let index = thread::block() * thread::block_size() + thread::index();
        self.words.fetch_add(0, index, relaxed.0, relaxed.1);
        self.words.fetch_min(1, index + 1, relaxed.0, relaxed.1);
        self.words.fetch_max(2, index, relaxed.0, relaxed.1);
        self.words.exchange(3, index, Ordering::AcquireRelease, Scope::Device);
        let mut seen = self.words.atomic_load(4, Ordering::Relaxed, Scope::Device);
        loop {
            let found = self.words.compare_exchange(4, seen, seen + 1, Ordering::Relaxed, Scope::Device);
            if found == seen {
                break;
            }
            seen = found;
        }
        // A block counts its threads in shared memory; its first thread adds the count.
        let count: Shared<u32> = arena.take(1);
        if thread::index() == 0 {
            count.store(0, 0);
        }
        thread::barrier();
        count.fetch_add(0, 1);
        thread::barrier();
        if thread::index() == 0 {
            self.float.fetch_add(0, f64::from(count.load(0)), relaxed.0, relaxed.1);
        }
        self.wide.fetch_add(0, u64::from(index), relaxed.0, relaxed.1);
    }
}

kernel! {
    /// The sum of each block's share of `values`, through launch-sized shared memory.
    pub struct BlockSum<V: Float> {
        /// One value a thread of the grid.
        pub values: Global<V>,
        /// Output: one sum per block.
        pub sums: GlobalMut<V>,
    }
    shared: 0;
    body: BlockSum::block_sum::<BLOCK>;
    entry: testing_block_sum_{V} in testing: V in [f32, f64], 128 x 1;
}

impl<V: Float> BlockSum<V> {
    fn block_sum<const BLOCK: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic((BLOCK * V::SIZE) as u32);
        let shared: Shared<V> = arena.take(BLOCK);
        let thread = thread::index() as usize;
        shared.store(thread, self.values.load_streaming(thread::block() as usize * BLOCK + thread));
        let mut half = BLOCK / 2;
        while half > 0 {
            thread::barrier();
            if thread < half {
                shared.store(thread, shared.load(thread) + shared.load(thread + half));
            }
            half /= 2;
        }
        if thread == 0 {
            self.sums.store(thread::block() as usize, shared.load(0));
        }
    }
}

kernel! {
    /// Copies in accesses of four elements, and then of two.
    pub struct VectorCopy<V: Element> {
        /// Six elements per thread of the grid.
        pub source: Global<V, Aligned16>,
        /// Output: as many.
        pub target: GlobalMut<V, Aligned16>,
    }
    shared: 0;
    body: VectorCopy::vector_copy;
    entry: testing_vector_copy_{V} in testing: V in [u16, f32, u64], 32 x 1;
}

impl<V: Element> VectorCopy<V> {
    fn vector_copy(self, _: Arena) {
        let index = (thread::block() * thread::block_size() + thread::index()) as usize;
        self.target.store_streaming_4(4 * index, self.source.load_streaming_4(4 * index));
        let index = 2 * ((thread::grid_size() * thread::block_size()) as usize * 2 + index);
        self.target.store_streaming_2(index, self.source.load_streaming_2(index));
    }
}

kernel! {
    /// Blocks in a chain: each waits for the one that drew the ticket before, and adds its own.
    pub struct MessagePassing {
        /// One word, zero before: the next ticket.
        pub ticket: GlobalMut<u32>,
        /// One word per block, and one zero: set when the block's `sums` is there.
        pub flags: GlobalMut<u32>,
        /// Output, one element per block: the sum of all tickets up to the block's.
        pub sums: GlobalMut<u64>,
    }
    shared: 4;
    body: MessagePassing::message_passing;
    entry: testing_message_passing in testing: 32 x 1;
}

impl MessagePassing {
    fn message_passing(self, mut arena: Arena) {
        let shared: Shared<u32> = arena.take(1);
        if thread::index() == 0 {
            shared.store(0, self.ticket.fetch_add(0, 1, Ordering::Relaxed, Scope::Device));
        }
        thread::barrier();
        if thread::index() != 0 {
            return;
        }
        let own = shared.load(0) as usize;
        let mut sum = own as u64;
        if own > 0 {
            while self.flags.atomic_load(own - 1, Ordering::Acquire, Scope::Device) == 0 {
                thread::spin_hint();
            }
            sum += self.sums.load(own - 1);
        }
        self.sums.store(own, sum);
        self.flags.atomic_store(own, 1, Ordering::Release, Scope::Device);
    }
}

/// Results that [`MemoryAccesses`] writes for each lane.
pub const ACCESS_RESULTS: usize = 11;

kernel! {
    /// Every load and store of one element type, and a shuffle, by one warp.
    pub struct MemoryAccesses<T: Element> {
        /// 128 values.
        pub values: Global<T, Aligned16>,
        /// Output, [`ACCESS_RESULTS`] a lane: value `lane` loaded in two ways, values 2·`lane` and on by two,
        /// values 4·`lane` and on by four, value 31 − `lane` through shared memory, value `lane` ⊕ 1 by a shuffle,
        /// and the first result read back.
        pub results: GlobalMut<T>,
    }
    shared: 32 * T::SIZE;
    body: MemoryAccesses::memory_accesses;
    entry: testing_memory_{T} in testing_types: T in [u8, u16, u32, u64, i32, i64, f32, f64], 32 x 1;
}

impl<T: Element> MemoryAccesses<T> {
    fn memory_accesses(self, mut arena: Arena) {
        let Self { results, .. } = self;
        let lane = thread::lane() as usize;
        let value = self.values.load(lane);
        let shared: Shared<T> = arena.take(32);
        shared.store(lane, value);
        thread::barrier();
        let results = results.skip(lane * ACCESS_RESULTS);
        let two = self.values.load_streaming_2(lane * 2);
        let four = self.values.load_streaming_4(lane * 4);
        results.store(0, value);
        results.store_streaming(1, self.values.load_streaming(lane));
        let [a, b] = two;
        results.store(2, a);
        results.store(3, b);
        let [a, b, c, d] = four;
        results.store(4, a);
        results.store(5, b);
        results.store(6, c);
        results.store(7, d);
        results.store(8, shared.load(31 - lane));
        results.store(9, warp::shuffle_xor(warp::FULL, value, 1));
        results.store(10, results.load(0));
    }
}

kernel! {
    /// Every atomic operation of an element type, by one thread, in several orderings and scopes.
    pub struct AtomicElements<T: AtomicElement> {
        /// One element.
        pub word: GlobalMut<T>,
        /// Three operands, a, b and c.
        pub operands: Global<T>,
        /// Output, 7 elements: the element before adding a, before adding b, and before exchanging it for c; loaded
        /// then, and loaded after storing a; and in shared memory, before and after adding b to a.
        pub results: GlobalMut<T>,
    }
    shared: T::SIZE;
    body: AtomicElements::atomic_elements;
    entry: testing_atomic_{T} in testing_types: T in [u32, u64, i32, i64, f32, f64], 32 x 1;
}

impl<T: AtomicElement> AtomicElements<T> {
    fn atomic_elements(self, mut arena: Arena) {
        let shared: Shared<T> = arena.take(1);
        if thread::index() != 0 {
            return;
        }
        let (a, b, c) = (self.operands.load(0), self.operands.load(1), self.operands.load(2));
        self.results.store(0, self.word.fetch_add(0, a, Ordering::AcquireRelease, Scope::Block));
        self.results.store(1, self.word.fetch_add(0, b, Ordering::Release, Scope::Device));
        self.results.store(2, self.word.exchange(0, c, Ordering::Acquire, Scope::Block));
        self.results.store(3, self.word.atomic_load(0, Ordering::Acquire, Scope::Block));
        self.word.atomic_store(0, a, Ordering::Relaxed, Scope::Block);
        self.results.store(4, self.word.atomic_load(0, Ordering::Relaxed, Scope::Block));
        shared.store(0, a);
        self.results.store(5, shared.fetch_add(0, b));
        self.results.store(6, shared.atomic_load(0));
    }
}

kernel! {
    /// The atomic operations that only integers have, by one thread.
    pub struct AtomicIntegers<T: AtomicInteger> {
        /// One element.
        pub word: GlobalMut<T>,
        /// Three operands, a, b and c.
        pub operands: Global<T>,
        /// Output, 10 elements: the element before the minimum with a, the maximum with b, the exchange of b for c, and
        /// that of b for a; and in the end. Then in shared memory, which holds b: the element before the exchange of b
        /// for c, and that of b for a; after that; and before and after the disjunction with a.
        pub results: GlobalMut<T>,
    }
    shared: T::SIZE;
    body: AtomicIntegers::atomic_integers;
    entry: testing_integer_{T} in testing_types: T in [u32, u64, i32, i64], 32 x 1;
}

impl<T: AtomicInteger> AtomicIntegers<T> {
    fn atomic_integers(self, mut arena: Arena) {
        let shared: Shared<T> = arena.take(1);
        if thread::index() != 0 {
            return;
        }
        let (a, b, c) = (self.operands.load(0), self.operands.load(1), self.operands.load(2));
        self.results.store(0, self.word.fetch_min(0, a, Ordering::AcquireRelease, Scope::Device));
        self.results.store(1, self.word.fetch_max(0, b, Ordering::Relaxed, Scope::Block));
        self.results.store(2, self.word.compare_exchange(0, b, c, Ordering::Acquire, Scope::Device));
        self.results.store(3, self.word.compare_exchange(0, b, a, Ordering::Release, Scope::Block));
        fence(Scope::Block);
        fence(Scope::Device);
        self.results.store(4, self.word.load(0));
        shared.store(0, b);
        self.results.store(5, shared.compare_exchange(0, b, c));
        self.results.store(6, shared.compare_exchange(0, b, a));
        self.results.store(7, shared.load(0));
        self.results.store(8, shared.fetch_or(0, a));
        self.results.store(9, shared.load(0));
    }
}

kernel! {
    /// The clock before and after a barrier, and a number that the compiler does not know.
    pub struct Clock {
        /// Output: two readings per thread.
        pub readings: GlobalMut<u64>,
        /// Output: each thread's index plus one.
        pub numbers: GlobalMut<u32>,
    }
    shared: 0;
    body: Clock::clock;
    entry: testing_clock in testing: 64 x 1;
}

impl Clock {
    fn clock(self, _: Arena) {
        let index = thread::index() as usize;
        self.readings.store(2 * index, thread::clock());
        thread::barrier();
        self.readings.store(2 * index + 1, thread::clock());
        self.numbers.store(index, thread::opaque(thread::index()) + 1);
    }
}
