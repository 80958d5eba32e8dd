//! Loads of threads whose elements are a fixed distance apart. Several are in flight at a time.

use evenpath_simt::{device, thread, Element, Global};

/// Returns the place of item `item` of this thread.
#[device]
pub fn place<const BLOCK: usize>(item: usize) -> u32 {
    thread::index() + (item * BLOCK) as u32
}

/// Loads the thread's items of the first `len` elements, which are not none. Items beyond them repeat the last element, which
/// is cheaper than a branch around each load.
#[device]
pub fn load_repeating<T: Element, const BLOCK: usize, const ITEMS: usize>(
    elements: Global<T>,
    len: u32,
) -> [T; ITEMS] {
    let mut own = [T::ZERO; ITEMS];
    for item in 0..ITEMS {
        own[item] = elements.load_streaming(place::<BLOCK>(item).min(len - 1) as usize);
    }
    own
}

/// Calls `visit` with every `stride`-th number below `len`, starting at `first`, and with what `load` returns for it. `N` loads
/// are issued before the first of them is used; for numbers beyond `len`, `load` gets false.
#[device(track_caller)]
pub fn each_loaded<T: Copy, const N: usize>(
    (first, stride, len): (u32, u32, u32),
    load: impl Fn(usize, bool) -> T,
    mut visit: impl FnMut(u32, T),
) {
    let mut first = first;
    while first < len {
        let mut loaded = [load(first as usize, true); N];
        for item in 1..N {
            let place = first + item as u32 * stride;
            loaded[item] = load(place as usize, place < len);
        }
        for item in 0..N {
            let place = first + item as u32 * stride;
            if place < len {
                visit(place, loaded[item]);
            }
        }
        first += N as u32 * stride;
    }
}
