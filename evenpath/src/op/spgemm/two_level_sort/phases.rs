//! Times of the phases of a product.

use super::recorder::{Mark, Recorder};
use crate::device::DeviceError;

/// Milliseconds that a device took for the phases of a product by two-level sorting (Dalton, Baxter, Merrill, Olson,
/// Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015, figure 11).
///
/// ```
/// use evenpath::device::SimulatedOptions;
/// use evenpath::spgemm::SpgemmOptions;
/// use evenpath::{Csr, Device};
/// use evenpath_lab::two_level_sort_phases;
///
/// let device = Device::simulated(SimulatedOptions::default()); // or a GPU
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let a = device.upload(&a)?;
/// let phases = two_level_sort_phases(&a, &a, SpgemmOptions::default())?;
/// assert!(phases.numeric() <= phases.total()); // milliseconds
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct SpgemmPhases {
    /// Counting the products of A's entries, and cutting them into tiles.
    pub setup: f64,
    /// Sorting each tile's products.
    pub block_sort: f64,
    /// Sorting what tiles have of the rows that they cut.
    pub global_sort: f64,
    /// The row offsets and columns of the result.
    pub placement: f64,
    /// Computing products and adding up those of each tile.
    pub product_compute: f64,
    /// Adding up what tiles have of the same entry.
    pub reduce_by_key: f64,
}

impl SpgemmPhases {
    /// All of them.
    pub fn total(&self) -> f64 {
        let Self { setup, block_sort, global_sort, placement, product_compute, reduce_by_key } = self;
        setup + block_sort + global_sort + placement + product_compute + reduce_by_key
    }

    /// Time of the phases that depend on values, which new values would take again.
    pub fn numeric(&self) -> f64 {
        self.product_compute + self.reduce_by_key
    }
}

impl Recorder {
    /// One that takes times.
    pub(in crate::op::spgemm) fn recording() -> Self {
        Self { events: Some(Vec::new()) }
    }

    /// The times; waits for the device.
    pub(in crate::op::spgemm) fn phases(&self) -> Result<SpgemmPhases, DeviceError> {
        let mut phases = SpgemmPhases::default();
        for pair in self.events.as_deref().unwrap_or_default().windows(2) {
            let [(_, from), (mark, to)] = pair else { continue };
            let phase = match mark {
                Mark::Begin => continue,
                Mark::Setup => &mut phases.setup,
                Mark::BlockSort => &mut phases.block_sort,
                Mark::GlobalSort => &mut phases.global_sort,
                Mark::Placement => &mut phases.placement,
                Mark::ProductCompute => &mut phases.product_compute,
                Mark::ReduceByKey => &mut phases.reduce_by_key,
            };
            *phase += to.elapsed_since(from)?;
        }
        Ok(phases)
    }
}
