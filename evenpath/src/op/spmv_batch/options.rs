use crate::names::named;

/// Methods of products of a batch, on devices with kernels. Each has a [name](Self::name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvBatchMethod {
    /// `auto`: together for small matrices, one by one for large ones.
    #[default]
    Auto,
    /// `together`: one launch or two, which read the pattern once for four matrices. Work is divided evenly, whatever the lengths of rows.
    /// All GPUs, real and simulated, give the same bits.
    Together,
    /// `one-by-one`: a product for each matrix, by the method that [`plan_spmv`](crate::DeviceCsr::plan_spmv) chooses for the pattern. Values
    /// of a matrix that do not begin at a multiple of 16 bytes are copied first.
    OneByOne,
}

named! {
    SpmvBatchMethod, "method of batches":
    Auto = "auto",
    Together = "together",
    OneByOne = "one-by-one",
}

/// Options of [`plan_spmv_batch`](crate::DeviceCsr::plan_spmv_batch).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpmvBatchOptions {
    pub(super) method: SpmvBatchMethod,
}

impl SpmvBatchOptions {
    /// Sets the method. The CPU has one of its own.
    #[must_use]
    pub fn with_method(self, method: SpmvBatchMethod) -> Self {
        Self { method }
    }
}
