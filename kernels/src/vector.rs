//! Vectors, element by element.

use evenpath_simt::{kernel, thread, Arena, Element, Float, Global, GlobalMut};

/// The number of this thread in the grid.
#[inline(always)]
fn own<const BLOCK: usize>() -> usize {
    thread::block() as usize * BLOCK + thread::index() as usize
}

kernel! {
    /// Multiplies each element: a thread an element.
    pub struct Scale<V: Float> {
        /// The vector, `len` elements.
        pub vector: GlobalMut<V>,
        /// Elements.
        pub len: u64,
        /// The factor.
        pub factor: V,
    }
    shared: 0;
    body: scale::<V, BLOCK>;
    entries: {
        vector_scale_f32 in vector: <V = f32>, 256 x 1;
        vector_scale_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn scale<V: Float, const BLOCK: usize>(_: Arena, vector: GlobalMut<V>, len: u64, factor: V) {
    let index = own::<BLOCK>();
    if (index as u64) < len {
        vector.store(index, factor * vector.load(index));
    }
}

kernel! {
    /// Adds to elements at distinct places: a thread an addend.
    pub struct AddAt<V: Float> {
        /// The vector.
        pub vector: GlobalMut<V>,
        /// Places in the vector, no two the same.
        pub places: Global<u32>,
        /// What is added to each.
        pub addends: Global<V>,
        /// One element: how many places there are.
        pub count: Global<u64>,
    }
    shared: 0;
    body: add_at::<V, BLOCK>;
    entries: {
        vector_add_at_f32 in vector: <V = f32>, 256 x 1;
        vector_add_at_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn add_at<V: Float, const BLOCK: usize>(
    _: Arena,
    vector: GlobalMut<V>,
    places: Global<u32>,
    addends: Global<V>,
    count: Global<u64>,
) {
    let index = own::<BLOCK>();
    if (index as u64) < count.load(0) {
        let place = places.load_streaming(index) as usize;
        vector.store(place, vector.load(place) + addends.load_streaming(index));
    }
}

kernel! {
    /// Brings elements into another order: a thread an element.
    pub struct Gather<T: Element> {
        /// What is gathered from.
        pub source: Global<T>,
        /// For each element of the result, its place in the source; `len`.
        pub places: Global<u32>,
        /// Output: the elements at those places; `len`.
        pub result: GlobalMut<T>,
        /// Elements of the result.
        pub len: u64,
    }
    shared: 0;
    body: gather::<T, BLOCK>;
    entries: {
        vector_gather_u32 in vector: <T = u32>, 256 x 1;
        vector_gather_f32 in vector: <T = f32>, 256 x 1;
        vector_gather_f64 in vector: <T = f64>, 256 x 1;
    }
}

#[inline(always)]
fn gather<T: Element, const BLOCK: usize>(
    _: Arena,
    source: Global<T>,
    places: Global<u32>,
    result: GlobalMut<T>,
    len: u64,
) {
    let index = own::<BLOCK>();
    if (index as u64) < len {
        result.store(index, source.load(places.load_streaming(index) as usize));
    }
}

kernel! {
    /// Writes 0, 1, 2, …: a thread an element.
    pub struct Iota {
        /// Output, `len` elements.
        pub vector: GlobalMut<u32>,
        /// Elements, at most 2³².
        pub len: u64,
    }
    shared: 0;
    body: iota::<BLOCK>;
    entries: {
        vector_iota in vector: 256 x 1;
    }
}

#[inline(always)]
fn iota<const BLOCK: usize>(_: Arena, vector: GlobalMut<u32>, len: u64) {
    let index = own::<BLOCK>();
    if (index as u64) < len {
        vector.store(index, index as u32);
    }
}
