//! Products with a matrix and with its transpose.

use evenpath::error::OpError;
use evenpath::hisparse::{
    HiSparseQueuedOptions, HiSparseSpmmOptions, HiSparseSpmvMethod, HiSparseSpmvOptions,
};
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};
use evenpath::{Csr, Device, DeviceDense, DeviceVec, Layout};

use super::record::{Product, Way};
use super::{Measured, Tree};
use crate::input::random_vector;
use crate::measure::{Repetitions, median, times_ms};
use crate::peers::{Operation, PeerValue};
use crate::operations::spmv::{self, Peers, Reference};

/// How much of a matrix to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// What the figures of the thesis show: no conversion, no product with several columns, no sum by queues.
    Figures,
}

/// What to measure, and how.
pub(crate) struct Case<'c> {
    /// The device.
    pub(crate) device: &'c Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The libraries to compare with.
    pub(crate) peers: &'c Peers,
    /// How many runs to time.
    pub(crate) repetitions: Repetitions,
    /// The name of the suite.
    pub(crate) suite: &'c str,
    /// The name of the matrix.
    pub(crate) matrix: &'c str,
    /// Whether the matrix is generated.
    pub(crate) generated: bool,
    /// How much to measure.
    pub(crate) extent: Extent,
}

impl Case<'_> {
    /// Whether to measure everything.
    pub(super) fn is_whole(&self) -> bool {
        self.extent == Extent::Whole
    }

    /// Measures products with a matrix and with its transpose, in both formats and by the peers.
    pub(super) fn products<V: PeerValue, const D: usize>(
        &self,
        matrix: &Csr<V>,
        tree: &Tree<V, D>,
    ) -> Measured<Vec<Product>> {
        [Operation::Direct, Operation::Transposed]
            .into_iter()
            .map(|operation| self.product(operation, matrix, tree))
            .collect()
    }

    fn product<V: PeerValue, const D: usize>(
        &self,
        operation: Operation,
        matrix: &Csr<V>,
        tree: &Tree<V, D>,
    ) -> Measured<Product> {
        let is_transposed = operation == Operation::Transposed;
        let ways: &[spmv::Way] = if is_transposed {
            &[
                spmv::Way::Transposed(SpmvTransposedMethod::Copied),
                spmv::Way::Transposed(SpmvTransposedMethod::Unordered),
            ]
        } else {
            &[spmv::Way::Direct(SpmvMethod::Auto)]
        };
        let csr = spmv::measure(
            &spmv::Case {
                structure: None,
                device: self.device,
                copy_gbps: self.copy_gbps,
                ways,
                peers: self.peers,
                operation,
                repetitions: self.repetitions,
                suite: self.suite,
                matrix: self.matrix,
                generated: self.generated,
            },
            matrix,
        )?;
        let transpose = is_transposed.then(|| matrix.transpose()).transpose()?;
        let matrix = transpose.as_ref().unwrap_or(matrix);
        let tree = if is_transposed { tree.transpose() } else { tree.clone() };
        let x: Vec<V> = random_vector(matrix.cols(), 1);
        let Ok(reference) = Reference::new(matrix, &x) else { unreachable!("x has one element per column") };
        let operands = Operands { case: self, tree, x: self.device.upload(&x)?, reference };
        Ok(Product { op: csr.op, ways: operands.measure()?, csr })
    }
}

/// Columns of the dense matrices that a tree is multiplied with.
const DENSE_COLUMNS: usize = 8;

struct Operands<'c, V: PeerValue, const D: usize> {
    case: &'c Case<'c>,
    tree: Tree<V, D>,
    x: DeviceVec<V>,
    reference: Reference,
}

impl<V: PeerValue, const D: usize> Operands<'_, V, D> {
    fn measure(&self) -> Measured<Vec<Way>> {
        let mut ways = Vec::new();
        for (name, method) in [("frozen", HiSparseSpmvMethod::Leaves), ("copied", HiSparseSpmvMethod::Copied)]
        {
            let plan = self.tree.plan_spmv(HiSparseSpmvOptions::default().with_method(method))?;
            let plan_bytes = plan.info()?.workspace_bytes;
            ways.push(self.way(name, plan_bytes, |y| plan.run(V::ONE, &self.x, V::ZERO, y))?);
        }
        let queues = self.tree.plan_spmv_queued(HiSparseQueuedOptions::default())?;
        let queue_bytes = queues.info()?.workspace_bytes;
        ways.push(self.way("queue", queue_bytes, |y| queues.run(V::ONE, &self.x, V::ZERO, y))?);
        if self.case.is_whole() {
            ways.push(self.dense_way()?);
        }
        Ok(ways)
    }

    /// The product with a dense matrix all of whose columns are x.
    fn dense_way(&self) -> Measured<Way> {
        let device = self.case.device;
        let (rows, cols) = (self.tree.rows(), self.tree.cols());
        let dense = |values: &[V], rows| -> Measured<_> {
            match DeviceDense::try_new(device.upload(values)?, rows, DENSE_COLUMNS, Layout::RowMajor) {
                Ok(dense) => Ok(dense),
                Err(_) => unreachable!("there are {DENSE_COLUMNS} elements per row"),
            }
        };
        let b: Vec<V> = self.x.download()?.into_iter().flat_map(|x| [x; DENSE_COLUMNS]).collect();
        let b = dense(&b, cols)?;
        let mut c = dense(&vec![V::from_f64(f64::NAN); rows * DENSE_COLUMNS], rows)?;
        let plan = self.tree.plan_spmm(HiSparseSpmmOptions::default())?;
        let times = times_ms(device, self.case.repetitions, || plan.run(V::ONE, &b, V::ZERO, &mut c))?;
        let result = c.as_vec().download()?;
        let check = |column: usize| {
            let of_column: Vec<V> = result.iter().skip(column).step_by(DENSE_COLUMNS).copied().collect();
            self.reference.check(&of_column).err()
        };
        let difference = (0..DENSE_COLUMNS).find_map(check);
        Ok(self.figures("spmm, 8", plan.info()?.workspace_bytes, DENSE_COLUMNS, &times, difference))
    }

    fn way(
        &self,
        name: &'static str,
        workspace_bytes: u64,
        mut run: impl FnMut(&mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Measured<Way> {
        let Case { device, repetitions, .. } = *self.case;
        // Filled with NaN, which must not remain in the result.
        let mut y = device.upload(&vec![V::from_f64(f64::NAN); self.tree.rows()])?;
        let times = times_ms(device, repetitions, || run(&mut y))?;
        let difference = self.reference.check(&y.download()?).err();
        Ok(self.figures(name, workspace_bytes, 1, &times, difference))
    }

    /// The figures for the times of a product with this many columns.
    fn figures(
        &self,
        schedule: &'static str,
        workspace_bytes: u64,
        columns: usize,
        times: &[f64],
        difference: Option<String>,
    ) -> Way {
        let ms = median(times);
        let vectors = columns * (self.tree.rows() + self.tree.cols()) * size_of::<V>();
        let bytes = self.tree.pool_bytes() + vectors as u64;
        Way {
            schedule,
            ms,
            shortest_ms: times.iter().copied().fold(f64::INFINITY, f64::min),
            copy_share: bytes as f64 / ms / 1e6 / self.case.copy_gbps,
            workspace_bytes,
            difference,
        }
    }
}
