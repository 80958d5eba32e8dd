//! The sums of a strip, of which each thread of a block has one, and how those of its parts are added up.

use evenpath_simt::{thread, Float, Shared};

use crate::block::tagged_sums::{Seen, TaggedSums};

/// The number of parts whose sums are added up at once. With more parts, groups of this size are added first.
const GROUP: u32 = 32;

/// The element of the strip that this thread has the sum of; D or more if it has none. Neighbors belong to different warps,
/// because they often have about as many products.
#[inline(always)]
pub(super) fn own_element(d_log2: u32) -> u32 {
    let warps = (1 << d_log2) / thread::WARP_SIZE;
    if thread::warp() < warps {
        thread::lane() * warps + thread::warp()
    } else {
        1 << d_log2
    }
}

/// The parts of a strip.
#[derive(Clone, Copy)]
pub(super) struct StripParts {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Those of all strips.
    pub(super) all: u32,
}

/// Passes the block's sums, the `total` of each thread's [`own_element`], to `store` if the strip has no other part. Otherwise
/// leaves them in `sums`; the last of the strip's parts adds up those of all in order, and passes the results to `store`. `sums`
/// has room for D sums per part, twice, and two counters per part. All threads of the block call it together.
#[inline(always)]
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
    let element = own_element(d_log2);
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
    // What other parts have left is loaded while this one is counted, in case it is the last.
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

/// Counts this part, whose sums are written, at `counter`; whether it is the last of `count`.
#[inline(always)]
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
