//! The sums of a strip, and how those of its parts are added up.

use evenpath_simt::{thread, warp, Arena, Float, Packet, Shared};

use super::schedule::TEAM;
use crate::block::tagged_sums::{Seen, TaggedSums};

/// The number of parts whose sums are added up at once. With more parts, groups of this size are added first.
const GROUP: u32 = 32;

/// A warp's sums of the D elements of a strip, in `1 << copies_log2` copies. Lanes with the same index modulo that number
/// share a copy.
#[derive(Clone, Copy)]
pub(super) struct Sums<V> {
    /// The sums of all warps of the block, one after another.
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
        let memory = arena.take::<V>(warps * len);
        let own_sums = memory.skip(thread::warp() as usize * len);
        let zeros: Packet = [0; 2];
        let mut index = thread::lane() as usize * (16 / V::SIZE);
        while index < len {
            own_sums.store_16(index, zeros);
            index += thread::WARP_SIZE as usize * (16 / V::SIZE);
        }
        warp::sync(warp::FULL);
        Self { memory, d_log2, copies_log2 }
    }

    /// Calls `turn` with a copy for each lane: at any time for lanes with different copies. The sum of an element is at
    /// `element << copies_log2`.
    #[inline(always)]
    pub(super) fn in_turns(self, mut turn: impl FnMut(Shared<V>)) {
        let copies = 1 << self.copies_log2;
        let warp_sums = self.memory.skip((thread::warp() as usize) << (self.d_log2 + self.copies_log2));
        let own_sums = warp_sums.skip((thread::lane() & (copies - 1)) as usize);
        let mut lanes = 0;
        while lanes < thread::WARP_SIZE >> self.copies_log2 {
            if thread::lane() >> self.copies_log2 == lanes {
                turn(own_sums);
            }
            warp::sync(warp::FULL);
            lanes += 1;
        }
    }

    /// The sums of this warp, or of all warps of its block, which add to those of one strip.
    #[inline(always)]
    pub(super) fn totals(self, is_team: bool) -> Totals<V> {
        let Self { memory, d_log2, copies_log2 } = self;
        if is_team {
            thread::barrier();
            let (lane, lanes) = (thread::index(), TEAM * thread::WARP_SIZE);
            return Totals { memory, d_log2, copies_log2, warps: TEAM, lane, lanes };
        }
        let memory = memory.skip((thread::warp() as usize) << (d_log2 + copies_log2));
        let (lane, lanes) = (thread::lane(), thread::WARP_SIZE);
        Totals { memory, d_log2, copies_log2, warps: 1, lane, lanes }
    }
}

/// The sums of the D elements of a strip, of one warp or of the warps of a block, and the threads that add them up.
#[derive(Clone, Copy)]
pub(super) struct Totals<V> {
    /// The first warp's sums; those of the others follow.
    memory: Shared<V>,
    d_log2: u32,
    copies_log2: u32,
    /// The number of warps.
    warps: u32,
    /// This thread's number among theirs.
    lane: u32,
    /// The number of their threads.
    lanes: u32,
}

impl<V: Float> Totals<V> {
    /// Waits for the other threads.
    #[inline(always)]
    fn sync(self) {
        if self.warps > 1 {
            thread::barrier();
        } else {
            warp::sync(warp::FULL);
        }
    }

    /// The sum of an element over all warps and copies. Threads with neighboring elements access different banks.
    #[inline(always)]
    fn total(self, element: u32) -> V {
        let mut total = self.warp_total(0, element);
        for warp in 1..self.warps {
            total += self.warp_total(warp, element);
        }
        total
    }

    /// The sum of an element over all copies of a warp.
    #[inline(always)]
    fn warp_total(self, warp: u32, element: u32) -> V {
        let in_packet = 16 / V::SIZE as u32;
        let packets = (1 << self.copies_log2) / in_packet;
        let shift = thread::lane() * packets / 8;
        let row = self.memory.skip(((warp << self.d_log2 | element) << self.copies_log2) as usize);
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

    /// Calls `each` with every element, one per thread at a time.
    #[inline(always)]
    fn for_each(self, mut each: impl FnMut(u32)) {
        let mut element = self.lane;
        while element < 1 << self.d_log2 {
            each(element);
            element += self.lanes;
        }
    }

    /// Passes the sums of part `part` to `store`, element by element, if the strip has no other part. Otherwise leaves them in
    /// `sums`; the last of the strip's parts adds up those of all in order, and passes the results to `store`. `sums` has
    /// room for D sums per part, twice, and two counters per part.
    #[inline(always)]
    pub(super) fn finish(self, strip: StripParts, part: u32, sums: TaggedSums<V>, store: impl Fn(u32, V)) {
        let StripParts { first, count, all } = strip;
        if count == 1 {
            self.for_each(|element| store(element, self.total(element)));
            return;
        }
        let place = |part: u32, element: u32| (part as usize) << self.d_log2 | element as usize;
        self.for_each(|element| sums.put(place(part, element), self.total(element)));
        let group = (part - first) / GROUP;
        let group_first = first + group * GROUP;
        let group_parts = (count - group * GROUP).min(GROUP);
        let group_place = |element: u32| move |part: u32| place(group_first + part, element);
        // Where strips are few, what other parts have left is loaded while this one is counted, in case it is the last.
        let is_ahead = self.warps > 1 && self.lane < 1 << self.d_log2;
        let ahead = if is_ahead { look(sums, group_parts, 0, group_place(self.lane)) } else { NOTHING_SEEN };
        if !self.is_last(sums, group_first, group_parts) {
            return;
        }
        let add_parts = |element| {
            let is_seen = is_ahead && element == self.lane;
            let seen = if is_seen { ahead } else { look(sums, group_parts, 0, group_place(element)) };
            add(sums, group_parts, seen, group_place(element))
        };
        if count <= GROUP {
            self.for_each(|element| store(element, add_parts(element)));
            return;
        }
        self.for_each(|element| sums.put(place(all + group_first, element), add_parts(element)));
        let groups = count.div_ceil(GROUP);
        if self.is_last(sums, all + first, groups) {
            let add_groups = |element| {
                let group_place = |group: u32| place(all + first + group * GROUP, element);
                add(sums, groups, look(sums, groups, 0, group_place), group_place)
            };
            self.for_each(|element| store(element, add_groups(element)));
        }
    }

    /// Counts this part, whose sums are written, at `counter`; whether it is the last of `count`.
    #[inline(always)]
    fn is_last(self, sums: TaggedSums<V>, counter: u32, count: u32) -> bool {
        self.sync();
        let is_last = self.lane == 0 && sums.arrive(counter as usize, count);
        if self.warps == 1 {
            return warp::any(warp::FULL, is_last);
        }
        // The sums were read before the barrier.
        if self.lane == 0 {
            self.memory.store(0, V::from_bits(u64::from(is_last)));
        }
        thread::barrier();
        self.memory.load(0).to_bits() != 0
    }
}

/// The parts of a strip, or its teams of parts.
#[derive(Clone, Copy)]
pub(super) struct StripParts {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Those of all strips.
    pub(super) all: u32,
}

/// Parts that are loaded at once.
const AHEAD: usize = 8;

/// Words of no run.
const NOTHING_SEEN: [Seen; AHEAD] = [[0; 2]; AHEAD];

/// The words of some of `count` parts from `first` on, as they are now.
#[inline(always)]
fn look<V: Float>(
    sums: TaggedSums<V>,
    count: u32,
    first: u32,
    place: impl Fn(u32) -> usize,
) -> [Seen; AHEAD] {
    let mut seen = NOTHING_SEEN;
    for (ahead, seen) in seen.iter_mut().enumerate() {
        *seen = sums.look(place((first + ahead as u32).min(count - 1)));
    }
    seen
}

/// The sum of `count` parts, in order, of which the first are loaded.
#[inline(always)]
fn add<V: Float>(
    sums: TaggedSums<V>,
    count: u32,
    mut seen: [Seen; AHEAD],
    place: impl Fn(u32) -> usize,
) -> V {
    let mut total = V::ZERO;
    let mut part = 0;
    loop {
        for (ahead, seen) in seen.iter().enumerate() {
            if part + (ahead as u32) < count {
                total += sums.part(place(part + ahead as u32), *seen);
            }
        }
        part += AHEAD as u32;
        if part >= count {
            return total;
        }
        seen = look(sums, count, part, &place);
    }
}
