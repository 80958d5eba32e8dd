//! Dense vectors: scaled, added, multiplied, divided, and put into another order.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Float, Global, GlobalMut};

use crate::block::reduce::BlockReduce;
use crate::factor::Factor;
use crate::update::Update;

kernel! {
    /// y = βy: one thread per element.
    pub struct Scale<V: Arithmetic> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// Its elements.
        pub len: u32,
        /// Its factor.
        pub beta: V,
    }
    shared: 0;
    body: Scale::scale::<BLOCK>;
    entry: vector_scale_{V} in vector: V in [f32, f64], 256 x 1;
}

impl<V: Arithmetic> Scale<V> {
    #[device]
    fn scale<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, self.beta * self.y.load(index));
        }
    }
}

kernel! {
    /// `y[i] = alpha * source[positions[i]] + beta * y[i]`: one thread per element.
    pub struct Gather<V: Arithmetic> {
        /// The vector that is read.
        pub source: Global<V>,
        /// Index in the source for each element of y.
        pub positions: Global<u32>,
        /// The vector that is written.
        pub update: Update<V>,
        /// Elements of y.
        pub len: u32,
    }
    shared: 0;
    body: Gather::gather::<BLOCK>;
    entry: vector_gather_{V} in vector: V in [f32, f64], 256 x 1;
}

impl<V: Arithmetic> Gather<V> {
    #[device]
    fn gather<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let position = self.positions.load_streaming(index) as usize;
            self.update.store(index, self.source.load(position));
        }
    }
}

kernel! {
    /// `y[positions[i]] += addends[i]`, no two positions the same: one thread per addend.
    pub struct AddAt<V: Arithmetic> {
        /// Index in y for each addend.
        pub positions: Global<u32>,
        /// Addends.
        pub addends: Global<V>,
        /// One element: the number of addends.
        pub count: Global<u64>,
        /// The vector that is added to.
        pub y: GlobalMut<V>,
    }
    shared: 0;
    body: AddAt::add_at::<BLOCK>;
    entry: vector_add_at_{V} in vector: V in [f32, f64], 256 x 1;
}

impl<V: Arithmetic> AddAt<V> {
    #[device]
    fn add_at<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.count.load(0) {
            let position = self.positions.load_streaming(index) as usize;
            self.y.store(position, self.y.load(position) + self.addends.load_streaming(index));
        }
    }
}

kernel! {
    /// `result[i] = source[positions[i]]`: one thread per element.
    pub struct GatherIndices {
        /// The indices that are read.
        pub source: Global<u32>,
        /// Index in the source for each element of the result.
        pub positions: Global<u32>,
        /// Output: those indices.
        pub result: GlobalMut<u32>,
        /// Elements of the result.
        pub len: u32,
    }
    shared: 0;
    body: GatherIndices::gather_indices::<BLOCK>;
    entry: vector_gather_indices in vector: 256 x 1;
}

impl GatherIndices {
    #[device]
    fn gather_indices<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.result.store(index, self.source.load(self.positions.load_streaming(index) as usize));
        }
    }
}

kernel! {
    /// Writes 0, 1, 2, …: one thread per element.
    pub struct Iota {
        /// Output.
        pub vector: GlobalMut<u32>,
        /// Its elements.
        pub len: u32,
    }
    shared: 0;
    body: Iota::iota::<BLOCK>;
    entry: vector_iota in vector: 256 x 1;
}

impl Iota {
    #[device]
    fn iota<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.vector.store(index, index as u32);
        }
    }
}

kernel! {
    /// y = αx + βy: one thread per element.
    pub struct Axpby<V: Arithmetic> {
        /// The vector that is read.
        pub x: Global<V>,
        /// The vector that is written.
        pub y: GlobalMut<V>,
        /// Factor of x.
        pub alpha: Factor<V>,
        /// Factor of y.
        pub beta: Factor<V>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: Axpby::axpby::<BLOCK>;
    entries: {
        vector_axpby_{V} in vector: V in [f32, f64], 256 x 1;
        vector_axpby_{V} in vector_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> Axpby<V> {
    #[device]
    fn axpby<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let update = Update { y: self.y, alpha: self.alpha.get(), beta: self.beta.get() };
            update.store(index, self.x.load(index));
        }
    }
}

kernel! {
    /// `z[i] = x[i] * y[i]`: one thread per element.
    pub struct MultiplyElements<V: Arithmetic> {
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
    body: MultiplyElements::multiply_elements::<BLOCK>;
    entries: {
        vector_multiply_{V} in vector: V in [f32, f64], 256 x 1;
        vector_multiply_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> MultiplyElements<V> {
    #[device]
    fn multiply_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.z.store(index, self.x.load(index) * self.y.load(index));
        }
    }
}

kernel! {
    /// `z[i] = x[i] / y[i]`: one thread per element.
    pub struct DivideElements<V: Float> {
        /// The dividends.
        pub x: Global<V>,
        /// The divisors.
        pub y: Global<V>,
        /// Output.
        pub z: GlobalMut<V>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: DivideElements::divide_elements::<BLOCK>;
    entry: vector_divide_{V} in vector: V in [f32, f64], 256 x 1;
}

impl<V: Float> DivideElements<V> {
    #[device]
    fn divide_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.z.store(index, self.x.load(index) / self.y.load(index));
        }
    }
}

kernel! {
    /// `y[i] = x[i] * y[i]`: one thread per element.
    pub struct MultiplyInPlace<V: Arithmetic> {
        /// The factors.
        pub x: Global<V>,
        /// The vector that is multiplied.
        pub y: GlobalMut<V>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: MultiplyInPlace::multiply_in_place::<BLOCK>;
    entry: vector_multiply_in_place_{V} in vector_in_place:
        V in [f32, f64, Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Arithmetic> MultiplyInPlace<V> {
    #[device]
    fn multiply_in_place<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, self.x.load(index) * self.y.load(index));
        }
    }
}

kernel! {
    /// `y[i] = y[i] / x[i]`: one thread per element.
    pub struct DivideInPlace<V: Float> {
        /// The divisors.
        pub x: Global<V>,
        /// The vector that is divided.
        pub y: GlobalMut<V>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: DivideInPlace::divide_in_place::<BLOCK>;
    entry: vector_divide_in_place_{V} in vector_in_place: V in [f32, f64], 256 x 1;
}

impl<V: Float> DivideInPlace<V> {
    #[device]
    fn divide_in_place<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, self.y.load(index) / self.x.load(index));
        }
    }
}

/// Elements of each vector that a thread of [`Dot`] loads before it multiplies any.
const IN_FLIGHT: usize = 4;

kernel! {
    /// Partial sums of the inner product of x and y: block b adds up tiles b, b + grid, b + 2 × grid, …
    pub struct Dot<V: Arithmetic> {
        /// A vector.
        pub x: Global<V>,
        /// Another.
        pub y: Global<V>,
        /// Output: one sum per block.
        pub sums: GlobalMut<V>,
        /// Elements of each vector.
        pub len: u64,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: Dot::dot::<BLOCK>;
    entry: vector_dot_{V} in vector: V in [f32, f64], 256 x 4;
}

impl<V: Arithmetic> Dot<V> {
    #[device]
    fn dot<const BLOCK: usize>(self, arena: Arena) {
        self.add_up::<BLOCK, IN_FLIGHT>(arena, |element| element);
    }

    /// Adds up the products of `left` of the elements of x with those of y. A thread has `ITEMS` of each in flight.
    #[device]
    pub(crate) fn add_up<const BLOCK: usize, const ITEMS: usize>(
        self,
        mut arena: Arena,
        left: impl Fn(V) -> V,
    ) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * ITEMS);
        let mut first = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let mut sum = V::ZERO;
        while first < len {
            let (mut x, mut y) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS]);
            for item in 0..ITEMS {
                let index = first + item * BLOCK;
                x[item] = self.x.load_if(index, index < len);
                y[item] = self.y.load_if(index, index < len);
            }
            for item in 0..ITEMS {
                sum = left(x[item]).fma(y[item], sum);
            }
            first += stride;
        }
        reduce.share(sum, |a, b| a + b);
        if thread::index() == 0 {
            self.sums.store(thread::block() as usize, reduce.total(|a, b| a + b));
        }
    }
}

kernel! {
    /// Adds up the sums of the blocks of [`Dot`], in an order that depends only on their number: one block.
    pub struct FinishDot<V: Arithmetic> {
        /// The sums of the blocks.
        pub sums: Global<V>,
        /// Number of sums.
        pub count: u32,
        /// Output: one element.
        pub result: GlobalMut<V>,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: FinishDot::finish::<BLOCK, ITEMS>;
    entries: {
        vector_finish_dot_{V} in vector: V in [f32, f64], 256 x 4;
        vector_finish_dot_{V} in dot_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 4;
    }
}

impl<V: Arithmetic> FinishDot<V> {
    #[device]
    fn finish<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        share_sums::<V, BLOCK, ITEMS>(reduce, self.sums, self.count);
        if thread::index() == 0 {
            self.result.store(0, reduce.total(|a, b| a + b));
        }
    }
}

/// Adds up the sums of `count` blocks, at most `BLOCK` times `ITEMS`, in an order that depends only on their number. Then the reduction's
/// total is their sum. Every thread of a block calls it.
#[device(track_caller)]
pub(crate) fn share_sums<V: Arithmetic, const BLOCK: usize, const ITEMS: usize>(
    reduce: BlockReduce<V, BLOCK>,
    sums: Global<V>,
    count: u32,
) {
    let mut parts = [V::ZERO; ITEMS];
    for item in 0..ITEMS {
        let index = item * BLOCK + thread::index() as usize;
        parts[item] = sums.load_if(index, index < count as usize);
    }
    let mut sum = parts[0];
    for part in &parts[1..] {
        sum += *part;
    }
    reduce.share(sum, |a, b| a + b);
}
