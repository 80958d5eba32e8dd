//! Dense vectors: scaled, and put into another order.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut};

use crate::update::update;

kernel! {
    /// y = βy: one thread an element.
    pub struct Scale<V: Float> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// Its elements.
        pub len: u32,
        /// Its factor.
        pub beta: V,
    }
    shared: 0;
    body: scale::<V, BLOCK>;
    entries: {
        vector_scale_f32 in vector: <V = f32>, 256 x 1;
        vector_scale_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn scale<V: Float, const BLOCK: usize>(_: Arena, y: GlobalMut<V>, len: u32, beta: V) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        y.store(index, beta * y.load(index));
    }
}

kernel! {
    /// `y[i] = alpha * source[positions[i]] + beta * y[i]`: one thread an element.
    pub struct Gather<V: Float> {
        /// The vector that is read.
        pub source: Global<V>,
        /// Which of its elements each element of y takes.
        pub positions: Global<u32>,
        /// The vector that is written; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Elements of y.
        pub len: u32,
        /// Factor of the source.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: gather::<V, BLOCK>;
    entries: {
        vector_gather_f32 in vector: <V = f32>, 256 x 1;
        vector_gather_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn gather<V: Float, const BLOCK: usize>(
    _: Arena,
    source: Global<V>,
    positions: Global<u32>,
    y: GlobalMut<V>,
    len: u32,
    alpha: V,
    beta: V,
) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        let position = positions.load_streaming(index) as usize;
        update(y, index, alpha, source.load(position), beta);
    }
}
