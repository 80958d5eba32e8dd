//! The sums of a strip, and how those of its parts are added up.

use evenpath_simt::{thread, warp, Arena, Float, Packet, Shared};

use crate::block::tagged_sums::TaggedSums;

/// The number of parts whose sums one warp adds up. With more parts, groups of this size are added first.
const GROUP: u32 = 32;

/// A warp's sums of the D elements of a strip, in `1 << copies_log2` copies. Lanes with the same index modulo that number
/// share a copy.
#[derive(Clone, Copy)]
pub(super) struct Sums<V> {
    memory: Shared<V>,
    d_log2: u32,
    copies_log2: u32,
}

/// Bytes of launch-sized shared memory for a warp's sums.
pub const fn sums_bytes(d_log2: u32, copies_log2: u32, size: u32) -> u32 {
    size << (d_log2 + copies_log2)
}

impl<V: Float> Sums<V> {
    /// The sums of this warp, all zero. The launch-sized shared memory of a block of `BLOCK` threads holds nothing else.
    #[inline(always)]
    pub(super) fn take<const BLOCK: usize>(d_log2: u32, copies_log2: u32) -> Self {
        let warps = BLOCK / thread::WARP_SIZE as usize;
        let len = 1 << (d_log2 + copies_log2);
        let mut arena = Arena::dynamic(warps as u32 * sums_bytes(d_log2, copies_log2, V::SIZE as u32));
        let sums = arena.take::<V>(warps * len).skip(thread::warp() as usize * len);
        let zeros: Packet = [0; 2];
        let mut index = thread::lane() as usize * (16 / V::SIZE);
        while index < len {
            sums.store_16(index, zeros);
            index += thread::WARP_SIZE as usize * (16 / V::SIZE);
        }
        warp::sync(warp::FULL);
        Self { memory: sums, d_log2, copies_log2 }
    }

    /// Calls `turn` with a copy for each lane: at any time for lanes with different copies. The sum of an element is at
    /// `element << copies_log2`.
    #[inline(always)]
    pub(super) fn in_turns(self, mut turn: impl FnMut(Shared<V>)) {
        let copies = 1 << self.copies_log2;
        let own_sums = self.memory.skip((thread::lane() & (copies - 1)) as usize);
        let mut lanes = 0;
        while lanes < thread::WARP_SIZE >> self.copies_log2 {
            if thread::lane() >> self.copies_log2 == lanes {
                turn(own_sums);
            }
            warp::sync(warp::FULL);
            lanes += 1;
        }
    }

    /// The sum of an element over all copies. Lanes with neighboring elements access different banks.
    #[inline(always)]
    fn total(self, element: u32) -> V {
        let in_packet = 16 / V::SIZE as u32;
        let packets = (1 << self.copies_log2) / in_packet;
        let shift = thread::lane() * packets / 8;
        let row = self.memory.skip((element << self.copies_log2) as usize);
        let mut totals = [V::ZERO; 4];
        let mut index = 0;
        while index < packets {
            let packet = row.load_16((((index + shift) & (packets - 1)) * in_packet) as usize);
            if V::SIZE == 8 {
                totals[0] += V::from_bits(packet[0]);
                totals[1] += V::from_bits(packet[1]);
            } else {
                totals[0] += V::from_bits(packet[0]);
                totals[1] += V::from_bits(packet[0] >> 32);
                totals[2] += V::from_bits(packet[1]);
                totals[3] += V::from_bits(packet[1] >> 32);
            }
            index += 1;
        }
        (totals[0] + totals[1]) + (totals[2] + totals[3])
    }

    /// Calls `each` with every element and its sum, one element per lane.
    #[inline(always)]
    fn for_each(self, each: impl Fn(u32, V)) {
        let mut element = thread::lane();
        while element < 1 << self.d_log2 {
            each(element, self.total(element));
            element += thread::WARP_SIZE;
        }
    }

    /// Passes the sums of part `part` to `store`, element by element, if the strip has no other part. Otherwise leaves them in
    /// `sums`; the last warp of the strip adds up those of all parts in order, and passes the results to `store`. `sums` has
    /// room for D sums per part, twice, and two counters per part.
    #[inline(always)]
    pub(super) fn finish(self, strip: StripParts, part: u32, sums: TaggedSums<V>, store: impl Fn(u32, V)) {
        let StripParts { first, count, all } = strip;
        if count == 1 {
            self.for_each(store);
            return;
        }
        let place = |part: u32, element: u32| (part as usize) << self.d_log2 | element as usize;
        self.for_each(|element, sum| sums.put(place(part, element), sum));
        let group = (part - first) / GROUP;
        let group_first = first + group * GROUP;
        let group_parts = (count - group * GROUP).min(GROUP);
        if !is_last(sums, group_first, group_parts) {
            return;
        }
        let elements = 1 << self.d_log2;
        let add_parts = |element| add(sums, group_parts, |part| place(group_first + part, element));
        let mut element = thread::lane();
        if count <= GROUP {
            while element < elements {
                store(element, add_parts(element));
                element += thread::WARP_SIZE;
            }
            return;
        }
        while element < elements {
            sums.put(place(all + group_first, element), add_parts(element));
            element += thread::WARP_SIZE;
        }
        let groups = count.div_ceil(GROUP);
        if is_last(sums, all + first, groups) {
            let mut element = thread::lane();
            while element < elements {
                store(element, add(sums, groups, |group| place(all + first + group * GROUP, element)));
                element += thread::WARP_SIZE;
            }
        }
    }
}

/// The parts of a strip.
#[derive(Clone, Copy)]
pub(super) struct StripParts {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Parts of all strips.
    pub(super) all: u32,
}

/// Counts this warp, which has written its sums, at `counter`; whether it is the last of `count`.
#[inline(always)]
fn is_last<V: Float>(sums: TaggedSums<V>, counter: u32, count: u32) -> bool {
    warp::sync(warp::FULL);
    warp::any(warp::FULL, thread::lane() == 0 && sums.arrive(counter as usize, count))
}

/// The sum of `count` parts, in order.
#[inline(always)]
fn add<V: Float>(sums: TaggedSums<V>, count: u32, place: impl Fn(u32) -> usize) -> V {
    const AHEAD: usize = 4;
    let mut total = V::ZERO;
    let mut part = 0;
    while part < count {
        let mut seen = [[0; 2]; AHEAD];
        for (ahead, seen) in seen.iter_mut().enumerate() {
            *seen = sums.look(place((part + ahead as u32).min(count - 1)));
        }
        for (ahead, seen) in seen.iter().enumerate() {
            if part + (ahead as u32) < count {
                total += sums.part(place(part + ahead as u32), *seen);
            }
        }
        part += AHEAD as u32;
    }
    total
}
