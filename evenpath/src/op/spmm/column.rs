//! Products with vectors, as dense matrices of one column.

use evenpath_kernels::spmm::DenseView;
use evenpath_simt::WidenTo;

use super::info::SpmmPlanInfo;
use super::kernels::{SpmmOutput, SpmmPass, Strides};
use super::options::SpmmOptions;
use super::schedule::SpmmSchedule;
use crate::device::DeviceError;
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::OpError;
use crate::policy::Tile;
use crate::{Compute, Offset, Storage, cpu};

/// A matrix, analyzed for products with vectors of `T`, which are read and written where they are.
pub(in crate::op) struct Column<T: Storage> {
    schedule: SpmmSchedule<T>,
    /// Tile of a block, on devices that run kernels.
    pub(in crate::op) tile: Option<Tile>,
    /// Number of blocks, or of the CPU's tasks.
    pub(in crate::op) tiles: u64,
}

impl<T: Storage> Column<T> {
    /// Finds the long rows. `multiprocessors` is that of [`SpmmOptions`].
    pub(in crate::op) fn analyze<S: Storage + WidenTo<Compute<T>>, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        multiprocessors: Option<u32>,
    ) -> Result<Self, OpError> {
        let options = SpmmOptions::default().with_columns(1).with_multiprocessors(multiprocessors);
        let schedule = SpmmSchedule::analyze(matrix, options)?;
        let (tile, tiles) = match &schedule {
            SpmmSchedule::Cpu => {
                let values = matrix.values_now();
                let view = matrix.pattern().host_view(&values);
                (None, view.map_or(0, |view| cpu::spmm_tasks(view, 1)) as u64)
            }
            SpmmSchedule::Kernels(kernels) => {
                let strides = Strides { b_row: 1, b_column: 1, c: 1, c_by_columns: false };
                let launch = kernels.cut(matrix, &(0..1), strides)?.launch;
                (Some(Tile::of(launch.info())), u64::from(launch.grid()))
            }
        };
        Ok(Self { schedule, tile, tiles })
    }

    /// Launches the product.
    pub(in crate::op) fn run<S: Storage + WidenTo<Compute<T>>, O: Offset>(
        &self,
        product: SpmvCall<'_, S, O, T>,
    ) -> Result<(), DeviceError> {
        let SpmvCall { matrix, alpha, x, beta, y, .. } = product;
        match &self.schedule {
            SpmmSchedule::Cpu => {
                let values = matrix.values_now();
                let view = matrix.pattern().host_view(&values);
                if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
                    let x = cpu::Dense { values: x, strides: (1, 1) };
                    let y = cpu::DenseMut { values: y, columns: 1, by_columns: false, leading_dimension: 1 };
                    cpu::spmm(view, alpha, x, beta, y);
                }
                Ok(())
            }
            SpmmSchedule::Kernels(kernels) => {
                let b = DenseView { values: x.as_part_of_aligned(), row_stride: 1, column_stride: 1 };
                let c = SpmmOutput { values: y.as_part_of_aligned_mut(), stride: 1, by_columns: false };
                kernels.pass(SpmmPass { matrix, alpha, b, beta, c, columns: 0..1 })
            }
        }
    }

    /// The choices and the workspace.
    pub(in crate::op) fn info(&self) -> SpmmPlanInfo {
        self.schedule.info()
    }
}
