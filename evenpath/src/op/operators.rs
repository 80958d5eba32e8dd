//! `*`, `+` and `-` of matrices in host memory. Operands may not match, so the result is a [`Result`].

use std::ops::{Add, Mul, Sub};

use crate::device::host_zeros;
use crate::operand::OpError;
use crate::{Csr, HiSparse, Offset, Scalar, Value};

impl<V: Scalar, O: Offset> Mul<&[V]> for &Csr<V, O> {
    type Output = Result<Vec<V>, OpError>;

    /// A·x: see [`Csr::spmv`].
    fn mul(self, x: &[V]) -> Self::Output {
        let mut y = host_zeros(self.nrows())?;
        self.spmv(V::ONE, x, V::ZERO, &mut y)?;
        Ok(y)
    }
}

impl<V: Scalar, O: Offset> Mul for &Csr<V, O> {
    type Output = Result<Csr<V, O>, OpError>;

    /// A·B: see [`Csr::spgemm`].
    fn mul(self, b: Self) -> Self::Output {
        self.spgemm(b)
    }
}

impl<V: Scalar, O: Offset> Add for &Csr<V, O> {
    type Output = Result<Csr<V, O>, OpError>;

    /// A + B: see [`Csr::spadd`].
    fn add(self, b: Self) -> Self::Output {
        self.spadd(V::ONE, b, V::ONE)
    }
}

impl<V: Scalar, O: Offset> Sub for &Csr<V, O> {
    type Output = Result<Csr<V, O>, OpError>;

    /// A − B: see [`Csr::spadd`].
    fn sub(self, b: Self) -> Self::Output {
        self.spadd(V::ONE, b, -V::ONE)
    }
}

impl<V: Value, const D: usize> Mul<&[V]> for &HiSparse<V, D> {
    type Output = Result<Vec<V>, OpError>;

    /// A·x: see [`HiSparse::spmv`].
    fn mul(self, x: &[V]) -> Self::Output {
        let mut y = host_zeros(self.nrows())?;
        self.spmv(V::ONE, x, V::ZERO, &mut y)?;
        Ok(y)
    }
}

impl<V: Value, const D: usize> Mul for &HiSparse<V, D> {
    type Output = Result<HiSparse<V, D>, OpError>;

    /// A·B: see [`HiSparse::spgemm`].
    fn mul(self, b: Self) -> Self::Output {
        self.spgemm(b)
    }
}

impl<V: Value, const D: usize> Add for &HiSparse<V, D> {
    type Output = Result<HiSparse<V, D>, OpError>;

    /// A + B: see [`HiSparse::spadd`].
    fn add(self, b: Self) -> Self::Output {
        self.spadd(b)
    }
}

impl<V: Value, const D: usize> Sub for &HiSparse<V, D> {
    type Output = Result<HiSparse<V, D>, OpError>;

    /// A − B: see [`HiSparse::spadd`].
    fn sub(self, b: Self) -> Self::Output {
        self.spadd(&b.scaled(-V::ONE))
    }
}

/// Accepts everything that dereferences to a slice.
macro_rules! vectors {
    ($([$($parameters:tt)*] $matrix:ty, $vector:ty;)*) => {$(
        impl<$($parameters)*> Mul<&$vector> for &$matrix {
            type Output = Result<Vec<V>, OpError>;

            fn mul(self, x: &$vector) -> Self::Output {
                self * x.as_slice()
            }
        }
    )*};
}

vectors! {
    [V: Scalar, O: Offset] Csr<V, O>, Vec<V>;
    [V: Scalar, O: Offset, const N: usize] Csr<V, O>, [V; N];
    [V: Value, const D: usize] HiSparse<V, D>, Vec<V>;
    [V: Value, const D: usize, const N: usize] HiSparse<V, D>, [V; N];
}
