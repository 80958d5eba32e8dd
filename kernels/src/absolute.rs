//! Absolute values of real and complex numbers, the same to the last bit on the host and on a GPU.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, Float, Global, GlobalMut};

use crate::elementary::Elementary;

/// Numbers with an absolute value.
pub trait Absolute: Element {
    /// Type of absolute values.
    type Magnitude: Elementary;

    /// Returns the absolute value, with an error of one unit in the last place at most. It overflows only beyond the range of
    /// [`Magnitude`](Self::Magnitude), and is zero for zero alone. A complex number with an infinite part has an infinite one, and other NaN
    /// have [`NOT_A_NUMBER`](Elementary::NOT_A_NUMBER).
    #[must_use]
    fn absolute(self) -> Self::Magnitude;
}

macro_rules! absolute_of_real {
    ($($type:ident)*) => {$(
        impl Absolute for $type {
            type Magnitude = Self;

            #[device]
            fn absolute(self) -> Self {
                self.magnitude()
            }
        }
    )*};
}
absolute_of_real!(f32 f64);

impl Absolute for Complex<f32> {
    type Magnitude = f32;

    /// The squares are exact in `f64`, and in its range.
    #[device]
    fn absolute(self) -> f32 {
        let (re, im) = (f64::from(self.re), f64::from(self.im));
        if self.re.magnitude() == f32::INFINITY || self.im.magnitude() == f32::INFINITY {
            return f32::INFINITY;
        }
        let root = Float::sqrt(re * re + im * im);
        if root.is_nan() {
            f32::NOT_A_NUMBER
        } else {
            root as f32
        }
    }
}

impl Absolute for Complex<f64> {
    type Magnitude = f64;

    #[device]
    fn absolute(self) -> f64 {
        /// Powers of two by which large and small parts are multiplied before they are squared.
        const SMALLER: f64 = f64::from_bits((1023 - 600) << 52);
        const LARGER: f64 = f64::from_bits((1023 + 600) << 52);
        let (re, im) = (self.re.magnitude(), self.im.magnitude());
        if re == f64::INFINITY || im == f64::INFINITY {
            return f64::INFINITY;
        }
        if re.is_nan() || im.is_nan() {
            return f64::NOT_A_NUMBER;
        }
        let larger = if re < im { im } else { re };
        let (scale, inverse) = if larger > 1e150 {
            (SMALLER, LARGER)
        } else if larger < 1e-140 {
            (LARGER, SMALLER)
        } else {
            (1.0, 1.0)
        };
        let (re, im) = (re * scale, im * scale);
        Float::sqrt(Arithmetic::fma(re, re, im * im)) * inverse
    }
}

kernel! {
    /// `result[i] = |x[i]|`: one thread per element.
    pub struct AbsoluteValues<V: Absolute> {
        /// The vector.
        pub x: Global<V>,
        /// Output: its absolute values.
        pub result: GlobalMut<<V as Absolute>::Magnitude>,
        /// Elements of the vector.
        pub len: u64,
    }
    shared: 0;
    body: AbsoluteValues::absolute_values::<BLOCK>;
    entry: absolute_values_{V} in absolute: V in [f32, f64, Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
}

impl<V: Absolute> AbsoluteValues<V> {
    #[device]
    fn absolute_values<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.result.store(index, self.x.load(index).absolute());
        }
    }
}
