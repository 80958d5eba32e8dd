//! Notes that several tables have.

use std::error::Error;

use evenpath::ell::PaddingLimit;

/// More slots per nonzero than this are not stored; circuit has 63.
pub(super) const PADDING: PaddingLimit = PaddingLimit::Times(64);

/// About the kernels for ELL, in every table that has them without options.
pub(super) const BLOCK_SIZE_NOTE: &str = "ELL has blocks of 256 threads; tables of their own have 32 to 512";

/// About the CPU.
pub(super) const CPU_NOTE: &str =
    "the CPU is evenpath's CPU device on one thread, with CSR; sorting runs on the host";

/// A value, or a note why a matrix has none.
pub(super) fn noted<T>(value: Result<T, Box<dyn Error>>, matrix: &str, notes: &mut Vec<String>) -> Option<T> {
    value.map_err(|error| notes.push(format!("{matrix}: {error}"))).ok()
}
