//! Options of a plan of SpMM.

use crate::format::Layout;

/// Options of [`DeviceCsr::plan_spmm`](crate::DeviceCsr::plan_spmm) and
/// [`plan_spmm_mixed`](crate::DeviceCsr::plan_spmm_mixed).
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
    /// Number of columns of B for which the plan has workspace; 32 by default. Wider products are computed in
    /// passes of this many columns.
    pub columns: usize,
    /// Layout of B for which the plan has workspace. A column-major B is first copied to rows, unless few of
    /// its elements are read; if the plan does not know this beforehand, the memory is allocated in the first
    /// run.
    pub layout: Layout,
    /// Number of multiprocessors for which the work is divided, which determines the order of sums; by
    /// default that of the device
    /// ([`SpmmPlanInfo::multiprocessors`](crate::spmm::SpmmPlanInfo::multiprocessors)). With the same number,
    /// all GPUs, real and simulated, agree to the last bit.
    pub multiprocessors: Option<u32>,
}

impl SpmmOptions {
    /// Sets the number of columns.
    #[must_use]
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// Sets the number of multiprocessors for which the work is divided.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }

    /// Sets the layout of B.
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
