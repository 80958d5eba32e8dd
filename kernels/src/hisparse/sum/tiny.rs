//! Pairs of nodes with a few entries, merged by a thread, which compares each entry with all others.
use evenpath_simt::{device, Word};

use super::side::{NodeHandle, NodePair, SumTree};
use super::sink::{Sink, SumPlace};
use crate::hisparse::layout;
use crate::unroll::unroll;

/// The largest number of entries of a tiny node: all coordinates are in its first unit.
const LIMIT: usize = 4;
/// The coordinates of absent entries of A and of B: greater than all valid ones.
const NONE: [u32; 2] = [1 << 16, 1 << 17];

/// Returns whether a thread merges this node.
#[device]
pub(super) fn takes(handle: NodeHandle) -> bool {
    handle.len <= LIMIT as u32
        && (handle.reference == layout::NULL || layout::kind(handle.reference) != layout::DENSE)
}

#[device]
fn coordinates<T: Word>(side: SumTree<T>, handle: NodeHandle, none: u32) -> [u32; LIMIT] {
    let mut all = [none; LIMIT];
    for entry in 0..LIMIT {
        // After the two half words of the count.
        let (word, shift) = ((entry + 2) / 4, (entry + 2) % 4 * 16);
        if (entry as u32) < handle.len {
            all[entry] = side.oriented((handle.head[word] >> shift) as u32 & 0xffff);
        }
    }
    all
}

/// Returns the number of entries of the union.
#[device]
pub(super) fn count<T: Word>(a: SumTree<T>, b: SumTree<T>, pair: NodePair) -> u32 {
    let (of_a, of_b) = (coordinates(a, pair.a, NONE[0]), coordinates(b, pair.b, NONE[1]));
    let mut count = pair.a.len + pair.b.len;
    for i in 0..LIMIT {
        for j in 0..LIMIT {
            count -= u32::from(of_a[i] == of_b[j]);
        }
    }
    count
}

/// Passes all entries to the sink.
#[device(track_caller)]
pub(super) fn merge<T: Word>(a: SumTree<T>, b: SumTree<T>, pair: NodePair, sink: &impl Sink<T>) {
    let nodes = (a.node(pair.a), b.node(pair.b));
    let (mut slots_a, mut slots_b) = ([T::ZERO; LIMIT], [T::ZERO; LIMIT]);
    for entry in 0..LIMIT {
        slots_a[entry] = nodes.0.slots.load_if(entry, (entry as u32) < pair.a.len);
        slots_b[entry] = nodes.1.slots.load_if(entry, (entry as u32) < pair.b.len);
    }
    let (of_a, of_b) = (coordinates(a, pair.a, NONE[0]), coordinates(b, pair.b, NONE[1]));
    // The entries of B that A lacks; the others are passed on with A's.
    let mut new = of_b;
    for i in 0..LIMIT {
        for j in 0..LIMIT {
            if of_a[i] == of_b[j] {
                new[j] = NONE[1];
            }
        }
    }
    // The position of coordinates in the union.
    let place = |coordinates: u32| {
        let mut index = 0;
        for other in 0..LIMIT {
            index += u32::from(of_a[other] < coordinates) + u32::from(new[other] < coordinates);
        }
        SumPlace { index, coordinates }
    };
    unroll!(for index in 0..LIMIT {
        if of_a[index] != NONE[0] {
            let mut partner = None;
            for other in 0..LIMIT {
                if of_b[other] == of_a[index] {
                    partner = Some(slots_b[other]);
                }
            }
            sink.put(place(of_a[index]), Some(slots_a[index]), partner);
        }
        if new[index] != NONE[1] {
            sink.put(place(new[index]), None, Some(slots_b[index]));
        }
    });
}
