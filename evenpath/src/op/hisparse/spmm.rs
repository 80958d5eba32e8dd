//! Products with dense matrices, by a copy or by the frozen schedule.

use std::fmt;

use evenpath_kernels::hisparse::{HiSparseSpmm, Strided, StridedMut, spmm_sums_bytes};
use evenpath_simt::thread::WARP_SIZE;

use super::DeviceHiSparse;
use super::device::{Content, Nodes};
use super::frozen::Frozen;
use super::spmv::HiSparseSpmvOptions;
use crate::op::{DeviceCsr, DeviceDense, OpError, SpmmOptions, SpmmPlan};
use crate::{DeviceError, Value, cpu};

/// `C = αAB + βC` for one matrix, transposed and scaled as it is, and dense B and C of any number of columns: by a CSR copy
/// that the plan makes, or by the leaves, which are found once, and which each run goes through once for 32 columns.
///
/// The result is bitwise the same from run to run; [`HiSparseSpmvOptions::multiprocessors`] says what a copy takes for that on
/// different GPUs.
///
/// ```
/// use evenpath::{Csr, Device, DeviceDense, HiSparse, HiSparseOptions, HiSparseSpmvOptions, Layout};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
/// let device = Device::cpu();
/// let b = device.upload_slice(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
/// let b = DeviceDense::try_new(b, 3, 2, Layout::RowMajor)?;
/// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
/// let plan = device.upload_hisparse(&a)?.plan_spmm(HiSparseSpmvOptions::default())?;
/// plan.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.as_vec().to_vec()?, [201.0, 402.0, 30.0, 60.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HiSparseSpmmPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    schedule: Schedule<V>,
}

/// How a device does it.
enum Schedule<V: Value> {
    Cpu,
    Leaves(Frozen),
    /// With the copy's bytes.
    Copied(SpmmPlan<V, V>, u64),
}

/// Columns that a copy has workspace for; more are processed in passes.
const PASS_COLUMNS: usize = 32;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Copies the matrix, or finds its leaves, for [`HiSparseSpmmPlan::run`]; the modes are those of
    /// [`plan_spmv`](Self::plan_spmv), and by leaves products are slow. Waits for the device once a level of the tree, and a
    /// few times more.
    ///
    /// # Errors
    ///
    /// If there is no memory for a copy (what [`to_csr`](Self::to_csr) takes) or for the list of leaves (16 bytes each; while
    /// they are sorted, 40), the matrix is too large for one launch, a copy is asked for and there are 2³² nonzeros or more,
    /// or the device was lost.
    pub fn plan_spmm(&self, options: HiSparseSpmvOptions) -> Result<HiSparseSpmmPlan<V, D>, OpError> {
        let schedule = match self.content() {
            Content::Host(_) => Schedule::Cpu,
            // A strip is the work of one warp, however many parts it has.
            Content::Machine(nodes) if self.is_by_leaves(options.mode) => {
                Schedule::Leaves(Frozen::new::<D>(nodes, self.is_transposed(), 1)?)
            }
            Content::Machine(_) => {
                let copy: DeviceCsr<V> = self.to_csr()?;
                let bytes = copy.bytes();
                let spmm = SpmmOptions {
                    multiprocessors: options.multiprocessors,
                    ..SpmmOptions::new(PASS_COLUMNS)
                };
                Schedule::Copied(copy.plan_spmm(spmm)?, bytes)
            }
        };
        Ok(HiSparseSpmmPlan { matrix: self.clone(), schedule })
    }
}

impl<V: Value, const D: usize> HiSparseSpmmPlan<V, D> {
    /// C = `alpha`·A·B + `beta`·C, ordered on the device's stream; the call does not wait for it. B and C are in any
    /// layout, each in its own; B by rows is fastest. With `beta` zero, C is overwritten, whatever it held. With `alpha` zero
    /// the product is computed all the same: what is infinite or no number in A or B makes C no number.
    ///
    /// # Errors
    ///
    /// If B has not a row for each column of A, or C not the rows of A and the columns of B, or either is on another device;
    /// or there are too many columns for one launch. Then nothing is written. If the device was lost.
    pub fn run(&self, alpha: V, b: &DeviceDense<V>, beta: V, c: &mut DeviceDense<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        for (operand, dense, needed_rows) in [("B", b, matrix.cols()), ("C", &*c, matrix.rows())] {
            matrix.device().check_same(dense.device())?;
            let (rows, cols, needed_cols) = (dense.rows(), dense.cols(), b.cols());
            if (rows, cols) != (needed_rows, needed_cols) {
                return Err(OpError::DenseShape { operand, rows, cols, needed_rows, needed_cols });
            }
        }
        if c.rows() == 0 || c.cols() == 0 {
            return Ok(());
        }
        match (&self.schedule, matrix.content()) {
            (Schedule::Copied(plan, _), _) => plan.run(alpha, b, beta, c)?,
            (Schedule::Leaves(frozen), Content::Machine(nodes)) => {
                self.launch(nodes, frozen, alpha, b, beta, c)?;
            }
            _ => self.run_on_cpu(alpha, b, beta, c)?,
        }
        Ok(())
    }

    fn launch(
        &self,
        nodes: &Nodes,
        frozen: &Frozen,
        alpha: V,
        b: &DeviceDense<V>,
        beta: V,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let matrix = &self.matrix;
        let blocks = frozen.strips as usize * b.cols().div_ceil(WARP_SIZE as usize);
        let shared = spmm_sums_bytes(D.ilog2(), V::SIZE as u32);
        let launch = matrix.device().kernel().shared_bytes(shared).blocks(blocks)?;
        let ((b_row_stride, b_column_stride), (c_row_stride, c_column_stride)) = (b.strides(), c.strides());
        let kernel = HiSparseSpmm {
            pool: nodes.view(),
            schedule: frozen.view(),
            b: Strided {
                values: b.as_vec().as_global(),
                row_stride: b_row_stride as u64,
                column_stride: b_column_stride as u64,
            },
            c: StridedMut {
                values: c.vec_mut().as_global_mut(),
                row_stride: c_row_stride as u64,
                column_stride: c_column_stride as u64,
            },
            rows: matrix.rows() as u64,
            columns: b.cols() as u32,
            d_log2: D.ilog2(),
            is_transposed: u32::from(matrix.is_transposed()),
            alpha: alpha * matrix.scale(),
            beta,
        };
        // SAFETY: the tree is valid and the schedule is of it, so that leaves are nodes of the pool and their entries are
        // inside the matrix, whose shape B and C fit, with their own strides. A grid within the limit has fewer than 2³²
        // columns. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    fn run_on_cpu(
        &self,
        alpha: V,
        b: &DeviceDense<V>,
        beta: V,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let (b_strides, c_strides, columns) = (b.strides(), c.strides(), b.cols());
        let (b_rows, c_rows) = (b.rows(), c.rows());
        let (host, b) = (self.matrix.host(), b.as_vec().host_slice());
        if let (Some(host), Some(b), Some(c)) = (host, b, c.vec_mut().host_slice_mut()) {
            let places = |rows: usize, (row_stride, column_stride): (usize, usize)| {
                (0..rows).flat_map(move |row| {
                    (0..columns).map(move |column| row * row_stride + column * column_stride)
                })
            };
            let by_rows: Vec<V> = places(b_rows, b_strides).map(|place| b[place]).collect();
            let mut result: Vec<V> = places(c_rows, c_strides).map(|place| c[place]).collect();
            cpu::hisparse::multiply(&host, columns, alpha, &by_rows, beta, &mut result)?;
            places(c_rows, c_strides).zip(result).for_each(|(place, value)| c[place] = value);
        }
        Ok(())
    }

    /// Bytes of device memory that the plan holds beside the matrix. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn workspace_bytes(&self) -> Result<u64, DeviceError> {
        Ok(match &self.schedule {
            Schedule::Cpu => 0,
            Schedule::Leaves(frozen) => frozen.bytes(),
            Schedule::Copied(plan, bytes) => bytes + plan.info()?.workspace_bytes,
        })
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseSpmmPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiSparseSpmmPlan({:?})", self.matrix)
    }
}
