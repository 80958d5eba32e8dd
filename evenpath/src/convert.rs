//! Conversions of values to other types.

use crate::{Complex, RealStorage, Storage};

/// A type of values that converts to `W`: real types to all types, complex ones to complex ones. Sealed.
///
/// Numbers are rounded to the nearest, ties to even, and become infinite if they are out of range. The imaginary part of a real
/// number is 0.
///
/// ```
/// use evenpath::{Complex, Csr};
///
/// let a: Csr<f64> = Csr::from_triplets(1, 1, [(0, 0, 0.5)])?;
/// let a: Csr<Complex<f32>> = a.into_values();
/// assert_eq!(a.values(), [Complex::new(0.5, 0.0)]);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
pub trait ConvertTo<W: Storage>: Storage {
    /// Returns the nearest number of the other type.
    fn convert(self) -> W;
}

impl<S: RealStorage, W: RealStorage> ConvertTo<W> for S {
    fn convert(self) -> W {
        W::from_f64(self.to_f64())
    }
}

macro_rules! convert_to_complex {
    ($($part:ident from $other:ident;)*) => {$(
        impl<S: RealStorage> ConvertTo<Complex<$part>> for S {
            fn convert(self) -> Complex<$part> {
                Complex::new($part::from_f64(self.to_f64()), 0.0)
            }
        }

        impl ConvertTo<Complex<$part>> for Complex<$part> {
            fn convert(self) -> Self {
                self
            }
        }

        impl ConvertTo<Complex<$part>> for Complex<$other> {
            fn convert(self) -> Complex<$part> {
                Complex::new($part::from_f64(self.re.to_f64()), $part::from_f64(self.im.to_f64()))
            }
        }
    )*};
}
convert_to_complex! {
    f32 from f64;
    f64 from f32;
}
