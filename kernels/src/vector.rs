//! Dense vectors: scaled, added, multiplied, and put into another order.

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, GlobalMut, Shared};

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

kernel! {
    /// `y[positions[i]] += addends[i]`, no two positions the same: one thread an addend.
    pub struct AddAt<V: Float> {
        /// Which element of y each addend belongs to.
        pub positions: Global<u32>,
        /// What is added.
        pub addends: Global<V>,
        /// One element: how many addends there are.
        pub count: Global<u64>,
        /// The vector that is added to.
        pub y: GlobalMut<V>,
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
    positions: Global<u32>,
    addends: Global<V>,
    count: Global<u64>,
    y: GlobalMut<V>,
) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if (index as u64) < count.load(0) {
        let position = positions.load_streaming(index) as usize;
        y.store(position, y.load(position) + addends.load_streaming(index));
    }
}

kernel! {
    /// `result[i] = source[positions[i]]`: one thread an element.
    pub struct GatherIndices {
        /// The indices that are read.
        pub source: Global<u32>,
        /// Which of them each element of the result takes.
        pub positions: Global<u32>,
        /// Output: those indices.
        pub result: GlobalMut<u32>,
        /// Elements of the result.
        pub len: u32,
    }
    shared: 0;
    body: gather_indices::<BLOCK>;
    entries: {
        vector_gather_indices in vector: 256 x 1;
    }
}

#[inline(always)]
fn gather_indices<const BLOCK: usize>(
    _: Arena,
    source: Global<u32>,
    positions: Global<u32>,
    result: GlobalMut<u32>,
    len: u32,
) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        result.store(index, source.load(positions.load_streaming(index) as usize));
    }
}

kernel! {
    /// Writes 0, 1, 2, …: one thread an element.
    pub struct Iota {
        /// Output.
        pub vector: GlobalMut<u32>,
        /// Its elements.
        pub len: u32,
    }
    shared: 0;
    body: iota::<BLOCK>;
    entries: {
        vector_iota in vector: 256 x 1;
    }
}

#[inline(always)]
fn iota<const BLOCK: usize>(_: Arena, vector: GlobalMut<u32>, len: u32) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        vector.store(index, index as u32);
    }
}

kernel! {
    /// y = αx + βy: one thread an element.
    pub struct Axpby<V: Float> {
        /// The vector that is read.
        pub x: Global<V>,
        /// The vector that is written; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Elements of each.
        pub len: u64,
        /// Factor of x.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: axpby::<V, BLOCK>;
    entries: {
        vector_axpby_f32 in vector: <V = f32>, 256 x 1;
        vector_axpby_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn axpby<V: Float, const BLOCK: usize>(_: Arena, x: Global<V>, y: GlobalMut<V>, len: u64, alpha: V, beta: V) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        update(y, index, alpha, x.load(index), beta);
    }
}

kernel! {
    /// `z[i] = x[i] * y[i]`: one thread an element.
    pub struct MultiplyElements<V: Float> {
        /// A factor of each element.
        pub x: Global<V>,
        /// The other.
        pub y: Global<V>,
        /// Output.
        pub z: GlobalMut<V>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: multiply_elements::<V, BLOCK>;
    entries: {
        vector_multiply_f32 in vector: <V = f32>, 256 x 1;
        vector_multiply_f64 in vector: <V = f64>, 256 x 1;
    }
}

#[inline(always)]
fn multiply_elements<V: Float, const BLOCK: usize>(
    _: Arena,
    x: Global<V>,
    y: Global<V>,
    z: GlobalMut<V>,
    len: u64,
) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if index < len as usize {
        z.store(index, x.load(index) * y.load(index));
    }
}

/// Products that a thread of [`Dot`] loads before it adds any.
const IN_FLIGHT: usize = 4;

kernel! {
    /// Parts of the inner product of x and y: each block takes every so many-th tile of them, as many as there are blocks.
    pub struct Dot<V: Float> {
        /// A vector.
        pub x: Global<V>,
        /// Another.
        pub y: Global<V>,
        /// Output: a sum a block.
        pub sums: GlobalMut<V>,
        /// Elements of each vector.
        pub len: u64,
    }
    shared: BLOCK / thread::WARP_SIZE as usize * V::SIZE;
    body: dot::<V, BLOCK>;
    entries: {
        vector_dot_f32 in vector: <V = f32>, 256 x 4;
        vector_dot_f64 in vector: <V = f64>, 256 x 4;
    }
}

#[inline(always)]
fn dot<V: Float, const BLOCK: usize>(
    mut arena: Arena,
    x: Global<V>,
    y: Global<V>,
    sums: GlobalMut<V>,
    len: u64,
) {
    let warps = BLOCK / thread::WARP_SIZE as usize;
    let of_warps: Shared<V> = arena.take(warps);
    let (len, stride) = (len as usize, thread::grid_size() as usize * BLOCK * IN_FLIGHT);
    let mut first = thread::block() as usize * BLOCK * IN_FLIGHT + thread::index() as usize;
    let mut sum = V::ZERO;
    while first < len {
        let (mut left, mut right) = ([V::ZERO; IN_FLIGHT], [V::ZERO; IN_FLIGHT]);
        for item in 0..IN_FLIGHT {
            let index = first + item * BLOCK;
            left[item] = x.load_if(index, index < len);
            right[item] = y.load_if(index, index < len);
        }
        for item in 0..IN_FLIGHT {
            sum = left[item].fma(right[item], sum);
        }
        first += stride;
    }
    let sum = warp::reduce_add(sum);
    if thread::lane() == 0 {
        of_warps.store(thread::index() as usize / thread::WARP_SIZE as usize, sum);
    }
    thread::barrier();
    if thread::index() == 0 {
        let mut sum = of_warps.load(0);
        for warp in 1..warps {
            sum += of_warps.load(warp);
        }
        sums.store(thread::block() as usize, sum);
    }
}
