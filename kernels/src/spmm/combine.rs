//! The rest of `C = αAB + βC` if a factor is in device memory: the kernels of the product take numbers.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Global, GlobalMut, Stored};

use super::update::DenseUpdate;
use crate::factor::Factor;

kernel! {
    /// C = αP + βC: one thread per element.
    pub struct SpmmCombine<T: Stored> {
        /// P, whose lines, rows or columns as those of C, lie one behind the other.
        pub product: Global<T>,
        /// The elements of C; read only where β is not zero.
        pub c: GlobalMut<T, Aligned16>,
        /// Factor of P.
        pub alpha: Factor<<T as Stored>::Compute>,
        /// Factor of C.
        pub beta: Factor<<T as Stored>::Compute>,
        /// Elements of a line.
        pub line: u64,
        /// Elements from a line of C to the next.
        pub c_stride: u64,
        /// Elements of P.
        pub len: u64,
    }
    shared: 0;
    body: SpmmCombine::combine::<BLOCK>;
    entries: {
        spmm_combine_{T} in spmm_{T}: T in [f32, f64, f16, bf16], 256 x 1;
        spmm_combine_{T} in spmm_{T}: T in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<T: Stored> SpmmCombine<T> {
    #[device]
    fn combine<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>() as u64;
        if index < self.len {
            let line = index / self.line;
            let at = (line * self.c_stride + (index - line * self.line)) as usize;
            let update = DenseUpdate { c: self.c, alpha: self.alpha.get(), beta: self.beta.get() };
            let old = update.load(at);
            self.c.store(at, update.combine(self.product.load(index as usize).widen(), old));
        }
    }
}
