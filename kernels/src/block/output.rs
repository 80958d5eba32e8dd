//! Copies from shared memory to the output, with coalesced stores.

use evenpath_simt::{device, thread, Aligned16, Element, GlobalMut, Shared};

/// Writes the first `count` elements, at most `BLOCK` × `ITEMS`, to the output starting at `start`.
#[device]
pub fn store<T: Element, const BLOCK: usize, const ITEMS: usize>(
    elements: Shared<T>,
    output: GlobalMut<T>,
    start: usize,
    count: u32,
) {
    let output = output.skip(start);
    for item in 0..ITEMS {
        let place = thread::index() + (item * BLOCK) as u32;
        if place < count {
            output.store_streaming(place as usize, elements.load(place as usize));
        }
    }
}

/// [`store`] for a `start` that is a multiple of 16 bytes: whole tiles are stored 16 bytes per access.
#[device]
pub fn store_aligned<T: Element, const BLOCK: usize, const ITEMS: usize>(
    elements: Shared<T>,
    output: GlobalMut<T, Aligned16>,
    start: usize,
    count: u32,
) {
    let packet = 16 / T::SIZE;
    let packets = BLOCK * ITEMS / packet;
    if count as usize == BLOCK * ITEMS && (BLOCK * ITEMS).is_multiple_of(packet) {
        let output = output.skip_aligned(start);
        for round in 0..packets.div_ceil(BLOCK) {
            let number = thread::index() as usize + round * BLOCK;
            if number < packets {
                output.store_streaming_16(number * packet, elements.load_16(number * packet));
            }
        }
    } else {
        store::<T, BLOCK, ITEMS>(elements, output.natural(), start, count);
    }
}
