//! Errors. Each area has an error type of its own; [`Error`] is any of them.
//!
//! | error | of |
//! |---|---|
//! | [`MatrixError`] | matrices in host memory: what they are made of, and conversions |
//! | [`DeviceError`] | devices and their memory |
//! | [`OpError`] | operations: operands that do not fit together, and what the two above say |
//! | [`MatrixMarketError`] | files |
//! | [`DlpackError`] | tensors of other libraries |
//! | [`ParseNameError`], [`ParseKindError`] | names of methods and of generated matrices |
//!
//! A call that is refused has written nothing. Constructors that take buffers return them in errors of their
//! own, such as [`InvalidCsr`].

use thiserror::Error as ThisError;

pub use crate::device::DeviceError;
pub use crate::dlpack::DlpackError;
pub use crate::generate::ParseKindError;
pub use crate::io::MatrixMarketError;
pub use crate::matrix::MatrixError;
pub use crate::names::ParseNameError;
pub use crate::operand::OpError;

use crate::Storage;
use crate::dense::InvalidDense;
use crate::matrix::{InvalidBsr, InvalidCoo, InvalidCsr, InvalidEll, InvalidHyb, InvalidSlicedEll};

/// Any error of this crate, for functions that meet several. Each converts to it, so that `?` works.
///
/// ```
/// use evenpath::prelude::*;
///
/// fn product(text: &[u8], x: &[f64]) -> evenpath::Result<Vec<f64>> {
///     let a: Csr<f64> = evenpath::io::parse_matrix_market(text)?; // a MatrixMarketError
///     let device = Device::best()?; // a DeviceError
///     let (x, mut y) = (device.upload(x)?, device.zeros(a.nrows())?);
///     device.upload(&a)?.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?; // an OpError
///     Ok(y.download()?)
/// }
///
/// let text = b"%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 3.0\n";
/// assert_eq!(product(text, &[1.0, 2.0])?, [6.0]);
/// assert!(matches!(product(text, &[1.0]), Err(evenpath::Error::Op(_))));
/// assert!(matches!(product(b"", &[]), Err(evenpath::Error::MatrixMarket(_))));
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A device failed, or has too little memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An operation was refused or failed.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A file could not be read or written.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// A tensor could not be exported or imported.
    #[error(transparent)]
    Dlpack(#[from] DlpackError),
    /// A name is unknown.
    #[error(transparent)]
    ParseName(#[from] ParseNameError),
    /// A description of a generated matrix is invalid.
    #[error(transparent)]
    ParseKind(#[from] ParseKindError),
}

evenpath_simt::debug_as_message!(Error);

/// A result whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<T: Storage> From<InvalidDense<T>> for Error {
    fn from(refused: InvalidDense<T>) -> Self {
        Self::Matrix(refused.into())
    }
}

macro_rules! from_refused {
    ($($type:ident<$($parameter:ident),+>)*) => {$(
        impl<$($parameter),+> From<$type<$($parameter),+>> for Error {
            fn from(refused: $type<$($parameter),+>) -> Self {
                Self::Matrix(refused.into())
            }
        }
    )*};
}

from_refused!(InvalidCsr<V, O> InvalidBsr<V, O> InvalidCoo<V> InvalidEll<V> InvalidSlicedEll<V> InvalidHyb<V>);
