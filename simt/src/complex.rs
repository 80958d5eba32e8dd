//! Arithmetic on complex numbers: elements of two parts, which memory holds side by side and a vector access moves together.

use evenpath_simt_macros::device;
use num_complex::Complex;

use crate::arithmetic::Arithmetic;
use crate::machine;

macro_rules! complex_elements {
    ($($part:ident),*) => {$(
        impl Arithmetic for Complex<$part> {
            const NEUTRAL: Self = Self::new(-0.0, -0.0);

            /// Each part is rounded twice: once for each of its two products.
            #[device]
            fn fma(self, factor: Self, addend: Self) -> Self {
                let re = (-self.im).fma(factor.im, addend.re);
                let im = self.im.fma(factor.re, addend.im);
                Self::new(self.re.fma(factor.re, re), self.re.fma(factor.im, im))
            }

            #[device]
            fn conjugate(self) -> Self {
                Self { re: self.re, im: -self.im }
            }

            #[device(track_caller)]
            fn times_element_at(self, address: u64) -> Self {
                let is_stored = address != 0;
                let stored = machine::load_read_only_if::<Self>(address, is_stored);
                if is_stored { self * stored } else { self }
            }
        }
    )*};
}
complex_elements!(f32, f64);
