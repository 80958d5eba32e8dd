//! The sums of a strip, one per thread of a block, and the addition of the sums of its parts.

use evenpath_simt::{device, thread, warp, Float, Shared};

use crate::block::tagged_sums::{SeenWord, TaggedSums};

/// The number of parts whose sums are added up at once. With more parts, groups of this size are added first.
const GROUP: u32 = 32;

/// log2 of the threads of a block, which has one for each element of the largest strip.
pub(super) const BLOCK_LOG2: u32 = 8;

/// log2 of the lanes that add up the products of one element.
#[device]
fn lanes_log2(d_log2: u32) -> u32 {
    BLOCK_LOG2 - d_log2
}

/// Returns the number of this lane among those of its element.
#[device]
fn lane_of_element(d_log2: u32) -> u32 {
    thread::lane() & ((1 << lanes_log2(d_log2)) - 1)
}

/// Returns the element of the strip whose products this lane adds up, with the lanes beside it. Neighbors belong to
/// different warps, because they often have about as many products.
#[device]
pub(super) fn element(d_log2: u32) -> u32 {
    let warps = 1 << (BLOCK_LOG2 - thread::WARP_SIZE.ilog2());
    (thread::lane() >> lanes_log2(d_log2)) * warps + thread::warp()
}

/// Returns this lane's share of the products of its element.
#[device]
pub(super) fn share_of((start, end): (u32, u32), d_log2: u32) -> (u32, u32) {
    let lanes_log2 = lanes_log2(d_log2);
    let share = (end - start + (1 << lanes_log2) - 1) >> lanes_log2;
    let first = end.min(start + lane_of_element(d_log2) * share);
    (first, end.min(first + share))
}

/// Exchanges sums: each lane has added up some of the products of its [`element`], and gets the sum of the element
/// whose number is that of the thread; zero if there is none. So neighbors are stored side by side. The threads of a
/// block call it together, when none uses `memory` any more; it has room for D sums.
#[device]
pub(super) fn exchange<V: Float>(memory: Shared<V>, d_log2: u32, sum: V) -> V {
    let sum = warp::reduce_groups(sum, 1 << lanes_log2(d_log2), |a, b| a + b);
    if lane_of_element(d_log2) == 0 {
        memory.store(element(d_log2) as usize, sum);
    }
    thread::barrier();
    if thread::index() < 1 << d_log2 {
        memory.load(thread::index() as usize)
    } else {
        V::ZERO
    }
}

/// The parts of a strip.
#[derive(Clone, Copy)]
pub(super) struct StripParts {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Number of the parts of all strips.
    pub(super) all: u32,
}

/// Passes the block's sums, of which each thread has that of the element of its number in `total`, to `store` if the strip has no
/// other part. Otherwise leaves them in `sums`; the last of the strip's parts adds up those of all in order, and passes the results
/// to `store`. `sums` has room for D sums per part, twice, and two counters per part. All threads of the block call it together.
#[device]
pub(super) fn finish<V: Float>(
    strip: StripParts,
    part: u32,
    sums: TaggedSums<V>,
    flag: Shared<u32>,
    d_log2: u32,
    total: V,
    store: impl Fn(u32, V),
) {
    let StripParts { first, count, all } = strip;
    let element = thread::index();
    let has_element = element < 1 << d_log2;
    if count == 1 {
        if has_element {
            store(element, total);
        }
        return;
    }
    let place = |part: u32| (part as usize) << d_log2 | element as usize;
    if has_element {
        sums.put(place(part), total);
    }
    let group = (part - first) / GROUP;
    let group_first = first + group * GROUP;
    let group_parts = (count - group * GROUP).min(GROUP);
    // The sums of other parts are loaded while this one is counted, in case it is the last.
    let group_place = |part: u32| place(group_first + part);
    let seen = if has_element { look(sums, group_parts, 0, group_place) } else { NOTHING_SEEN };
    if !is_last(sums, flag, group_first, group_parts) {
        return;
    }
    let total = if has_element { add(sums, group_parts, seen, group_place) } else { V::ZERO };
    if count <= GROUP {
        if has_element {
            store(element, total);
        }
        return;
    }
    if has_element {
        sums.put(place(all + group_first), total);
    }
    let groups = count.div_ceil(GROUP);
    if is_last(sums, flag, all + first, groups) && has_element {
        let group_place = |group: u32| place(all + first + group * GROUP);
        store(element, add(sums, groups, look(sums, groups, 0, group_place), group_place));
    }
}

/// Counts this part, whose sums are written, at `counter`. Returns whether it is the last of `count`.
#[device]
fn is_last<V: Float>(sums: TaggedSums<V>, flag: Shared<u32>, counter: u32, count: u32) -> bool {
    thread::barrier();
    if thread::index() == 0 {
        flag.store(0, u32::from(sums.arrive(counter as usize, count)));
    }
    thread::barrier();
    flag.load(0) != 0
}

/// Parts that are loaded at once.
const AHEAD: usize = 8;

/// Words of no run.
const NOTHING_SEEN: [SeenWord; AHEAD] = [[0; 2]; AHEAD];

/// Returns the words of some of `count` parts starting at `first`, as they are now.
#[device]
fn look<V: Float>(
    sums: TaggedSums<V>,
    count: u32,
    first: u32,
    place: impl Fn(u32) -> usize,
) -> [SeenWord; AHEAD] {
    let mut seen = NOTHING_SEEN;
    for (ahead, seen) in seen.iter_mut().enumerate() {
        *seen = sums.look(place((first + ahead as u32).min(count - 1)));
    }
    seen
}

/// Returns the sum of `count` parts, in order, of which the first are loaded.
#[device]
fn add<V: Float>(
    sums: TaggedSums<V>,
    count: u32,
    mut seen: [SeenWord; AHEAD],
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
