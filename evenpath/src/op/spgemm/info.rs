use std::fmt;

use super::method::SpgemmMethod;
use super::options::SpgemmOptions;

/// Size of a product and costs of its [`SpgemmPlan`](super::SpgemmPlan).
///
/// ```
/// use evenpath::spgemm::SpgemmOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// let info = a.plan_spgemm(&a, SpgemmOptions::default())?.info()?;
/// assert_eq!((info.products, info.nnz), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpgemmPlanInfo {
    /// The method.
    pub method: SpgemmMethod,
    /// Multiplications.
    pub products: u64,
    /// Rows of the result whose products [`SpgemmMethod::Mixed`] sorts; it computes the others row by row. Zero with other methods.
    pub sorted_rows: u64,
    /// Multiplications of these rows.
    pub sorted_products: u64,
    /// Entries of the result.
    pub nnz: u64,
    /// Bytes of device memory that were taken at once at most, without operands and result.
    pub workspace_bytes: u64,
    /// Bytes of device memory that the plan keeps between runs, beside the pattern of the result; they grow with the first
    /// two runs.
    pub kept_bytes: u64,
    /// Milliseconds that the analysis took.
    pub analysis_ms: f64,
}

impl SpgemmPlanInfo {
    /// The options that ask for the method that the plan chose. Where it is [`SpgemmMethod::TwoLevelSort`] or
    /// [`SpgemmMethod::Mixed`], the same bits on another device also take the same [`memory_limit`](SpgemmOptions::memory_limit).
    pub fn options(&self) -> SpgemmOptions {
        SpgemmOptions::default().with_method(self.method)
    }
}

impl fmt::Display for SpgemmPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} products, ", self.method, self.products)?;
        if self.sorted_rows > 0 {
            write!(f, "{} of them sorted, of {} rows, ", self.sorted_products, self.sorted_rows)?;
        }
        write!(
            f,
            "{} nonzeros, workspace {} bytes, {} kept, analysis {:.4} ms",
            self.nnz, self.workspace_bytes, self.kept_bytes, self.analysis_ms
        )
    }
}
