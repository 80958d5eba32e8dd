//! Vectors of complex numbers: filled, scaled, conjugated, and put into another order.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, Global, GlobalMut};

kernel! {
    /// Sets every element to one number: one thread per element.
    pub struct FillElements<V: Element> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// The number.
        pub value: V,
        /// Elements of the vector.
        pub len: u64,
    }
    shared: 0;
    body: FillElements::fill::<BLOCK>;
    entry: vector_fill_{V} in vector_fill: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Element> FillElements<V> {
    #[device]
    fn fill<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.len {
            self.y.store(index, self.value);
        }
    }
}

kernel! {
    /// y = βy: one thread per element.
    pub struct ScaleComplex<V: Arithmetic> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// Its factor.
        pub beta: V,
        /// Its elements.
        pub len: u64,
    }
    shared: 0;
    body: ScaleComplex::scale::<BLOCK>;
    entry: vector_scale_{V} in vector_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Arithmetic> ScaleComplex<V> {
    #[device]
    fn scale<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.len {
            self.y.store(index, self.beta * self.y.load(index));
        }
    }
}

kernel! {
    /// Replaces every element by its complex conjugate: one thread per element.
    pub struct Conjugate<V: Arithmetic> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// Its elements.
        pub len: u64,
    }
    shared: 0;
    body: Conjugate::conjugate::<BLOCK>;
    entry: vector_conjugate_{V} in vector_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Arithmetic> Conjugate<V> {
    #[device]
    fn conjugate<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.len {
            self.y.store(index, self.y.load(index).conjugate());
        }
    }
}

kernel! {
    /// `result[i] = source[positions[i]]`: one thread per element.
    pub struct GatherElements<V: Element> {
        /// The vector that is read.
        pub source: Global<V>,
        /// Index in the source for each element of the result.
        pub positions: Global<u32>,
        /// The vector that is written.
        pub result: GlobalMut<V>,
        /// Elements of the result.
        pub len: u64,
    }
    shared: 0;
    body: GatherElements::gather::<BLOCK>;
    entry: vector_gather_{V} in vector_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Element> GatherElements<V> {
    #[device]
    fn gather<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.len {
            let position = self.positions.load_streaming(index) as usize;
            self.result.store(index, self.source.load(position));
        }
    }
}
