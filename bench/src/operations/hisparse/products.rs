//! Products with a matrix and with its transpose.

use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};
use evenpath::{Csr, DeviceDense, DeviceVec, Layout};

use super::extent::Extent;
use super::ways::{BY_ROW, COPIED, FROZEN, QUEUE, has_methods};
use crate::input::random_vector;
use crate::measure::{Times, times_ms};
use crate::operations::bench::Bench;
use crate::operations::spmv::{self, Reference, Way};
use crate::peers::{Operation, PeerValue};
use crate::results::{Contender, Figures, OWN_NAME};

/// Columns of the dense matrices that a tree is multiplied with.
const DENSE_COLUMNS: usize = 8;

/// Products with a matrix, or with its transpose.
pub(super) struct Product {
    /// Products with the tree, by their [names](super::ways); `spmm, 8`: with 8 columns, as a plan multiplies by default.
    pub(super) ways: Vec<Contender>,
    /// Products in CSR and by the peers.
    pub(super) csr: Figures,
}

/// Measures a product, in both formats and by the peers.
pub(super) fn product<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    operation: Operation,
    (matrix, tree): (&Csr<V>, &DeviceHiSparse<V, D>),
    extent: Extent,
) -> Result<Product, Box<dyn std::error::Error>> {
    let is_transposed = operation == Operation::Transposed;
    let modes = [SpmvTransposedMethod::Copied, SpmvTransposedMethod::Unordered];
    let in_csr = if is_transposed {
        spmv::Product::transposed(modes.map(Way::transposed).to_vec())
    } else {
        spmv::Product::direct(vec![Way::method(SpmvMethod::Auto)])
    };
    let csr = spmv::measure(bench, matrix, &in_csr)?;
    let transpose = is_transposed.then(|| matrix.transpose()).transpose()?;
    let matrix = transpose.as_ref().unwrap_or(matrix);
    let tree = if is_transposed { tree.transpose() } else { tree.clone() };
    let x: Vec<V> = random_vector(matrix.ncols(), 1);
    let reference = Reference::new(matrix, &x)?;
    let operands = Operands { bench, tree, x: bench.device.upload(&x)?, reference };
    let mut ways = operands.ways()?;
    if extent == Extent::Whole {
        ways.push(operands.dense_way()?);
    }
    Ok(Product { ways, csr })
}

/// Measures y = Ax by the queue scheduler, or on the CPU in its own way.
pub(super) fn thesis_product<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    tree: &DeviceHiSparse<V, D>,
) -> Result<Contender, Box<dyn std::error::Error>> {
    let x: Vec<V> = random_vector(matrix.ncols(), 1);
    let reference = Reference::new(matrix, &x)?;
    let operands = Operands { bench, tree: tree.clone(), x: bench.device.upload(&x)?, reference };
    let measured = if has_methods(bench.device) { operands.by_queue() } else { operands.by_row() };
    Ok(measured?)
}

struct Operands<'c, V: PeerValue, const D: usize> {
    bench: &'c Bench<'c>,
    tree: DeviceHiSparse<V, D>,
    x: DeviceVec<V>,
    reference: Reference,
}

impl<V: PeerValue, const D: usize> Operands<'_, V, D> {
    fn ways(&self) -> Result<Vec<Contender>, OpError> {
        if !has_methods(self.bench.device) {
            return Ok(vec![self.by_row()?]);
        }
        let planned = [(FROZEN, hisparse::SpmvMethod::Leaves), (COPIED, hisparse::SpmvMethod::Copied)];
        let planned = planned.into_iter().map(|(name, method)| self.planned(name, method));
        planned.chain(std::iter::once_with(|| self.by_queue())).collect()
    }

    fn planned(&self, name: &str, method: hisparse::SpmvMethod) -> Result<Contender, OpError> {
        let plan = self.tree.plan_spmv(hisparse::SpmvOptions::default().with_method(method))?;
        let plan_bytes = plan.info()?.workspace_bytes;
        self.way(name, plan_bytes, |y| plan.run(V::ONE, &self.x, V::ZERO, y))
    }

    /// On the CPU, where every plan is the same.
    fn by_row(&self) -> Result<Contender, OpError> {
        self.planned(BY_ROW, hisparse::SpmvMethod::Leaves)
    }

    fn by_queue(&self) -> Result<Contender, OpError> {
        let queues = self.tree.plan_spmv_queued(hisparse::QueuedOptions::default())?;
        let queue_bytes = queues.info()?.workspace_bytes;
        self.way(QUEUE, queue_bytes, |y| queues.run(V::ONE, &self.x, V::ZERO, y))
    }

    /// The product with a dense matrix all of whose columns are x.
    fn dense_way(&self) -> Result<Contender, OpError> {
        let device = self.bench.device;
        let (rows, cols) = self.tree.shape();
        let dense = |values: &[V], rows| -> Result<_, OpError> {
            let dense = DeviceDense::try_new(device.upload(values)?, rows, DENSE_COLUMNS, Layout::RowMajor);
            Ok(dense.unwrap_or_else(|_| unreachable!("there are {DENSE_COLUMNS} elements per row")))
        };
        let b: Vec<V> = self.x.download()?.into_iter().flat_map(|x| [x; DENSE_COLUMNS]).collect();
        let b = dense(&b, cols)?;
        let mut c = dense(&vec![V::from_f64(f64::NAN); rows * DENSE_COLUMNS], rows)?;
        let plan = self.tree.plan_spmm(hisparse::SpmmOptions::default())?;
        let times = times_ms(device, self.bench.repetitions, || plan.run(V::ONE, &b, V::ZERO, &mut c))?;
        let result = c.as_vec().download()?;
        let checked = (0..DENSE_COLUMNS).try_for_each(|column| {
            let of_column: Vec<V> = result.iter().skip(column).step_by(DENSE_COLUMNS).copied().collect();
            self.reference.check(&of_column)
        });
        Ok(self.contender("spmm, 8", plan.info()?.workspace_bytes, &times, checked))
    }

    fn way(
        &self,
        name: &str,
        workspace_bytes: u64,
        mut run: impl FnMut(&mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Result<Contender, OpError> {
        let device = self.bench.device;
        // Filled with NaN, which must not remain in the result.
        let mut y = device.upload(&vec![V::from_f64(f64::NAN); self.tree.nrows()])?;
        let times = times_ms(device, self.bench.repetitions, || run(&mut y))?;
        Ok(self.contender(name, workspace_bytes, &times, self.reference.check(&y.download()?)))
    }

    fn contender(
        &self,
        name: &str,
        workspace_bytes: u64,
        times: &Times,
        checked: Result<(), String>,
    ) -> Contender {
        Contender {
            bytes: Some(workspace_bytes),
            matrix_bytes: Some(self.tree.pool_bytes()),
            ..Contender::ran(OWN_NAME, name, times, checked)
        }
    }
}
