//! Conversions to and from the types of other crates, each behind a feature with the name of the crate.
//!
//! Arrays are moved if both sides use the same representation, and copied otherwise; each conversion
//! documents which.

#[cfg(feature = "cudarc")]
pub(crate) mod cudarc;
#[cfg(feature = "faer")]
mod faer;
#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
mod indices;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "serde")]
mod serde_values;
#[cfg(feature = "sprs")]
mod sprs;
