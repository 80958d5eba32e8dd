//! Options of building a tree.

/// Options of [`Csr::to_hisparse`](crate::Csr::to_hisparse).
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// // Two equal diagonal blocks are stored as one node.
/// let a = Csr::from_triplets(256, 256, [(0, 0, 1.0), (128, 128, 1.0)])?;
/// let shared: HiSparse<f64> = a.to_hisparse(hisparse::Options::default().with_share(true))?;
/// let plain: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// assert!(shared.pool().len() < plain.pool().len());
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Options {
    /// True to store equal subtrees once; off by default.
    /// [`Statistics::saved_bytes`](crate::hisparse::Statistics::saved_bytes) reports the savings.
    pub share: bool,
}

impl Options {
    /// Sets if equal subtrees are stored once.
    #[must_use]
    pub fn with_share(self, share: bool) -> Self {
        Self { share }
    }
}
