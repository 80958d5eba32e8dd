//! How a plan of SpMM is made.

use crate::format::Layout;

/// How [`DeviceCsr::plan_spmm`](crate::DeviceCsr::plan_spmm) plans.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::Layout;
///
/// let options = SpmmOptions::default().with_columns(16).with_layout(Layout::ColumnMajor); // of B and C
/// assert_eq!((options.columns, options.layout), (16, Layout::ColumnMajor));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpmmOptions {
    /// Columns of B that the plan has a workspace for; 32 by default. Wider products are done in passes of so many columns.
    pub columns: usize,
    /// The layout of B that the plan has a workspace for. One by columns is copied to one by rows first, unless few elements of
    /// it are read; if the plan does not know beforehand, the memory is allocated in the first run.
    pub layout: Layout,
    /// Multiprocessors that the work is divided for, which decides in which order sums are added; by default those of the
    /// device ([`SpmmPlanInfo::multiprocessors`](crate::spmm::SpmmPlanInfo::multiprocessors)). With the same number given, GPUs, real and simulated, agree to the last bit.
    pub multiprocessors: Option<u32>,
}

impl SpmmOptions {
    /// The same for products of so many columns.
    #[must_use]
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// The same for work that is divided for so many multiprocessors.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }

    /// The same with another layout of B.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }
}

impl Default for SpmmOptions {
    fn default() -> Self {
        Self { columns: 32, layout: Layout::RowMajor, multiprocessors: None }
    }
}
