//! Sums by queues: one kernel for all levels.

use std::sync::{Arc, OnceLock};

use evenpath_kernels::hisparse::sum::{
    ENTRIES, HiSparseQueuedSum, ROOT, SUM_RESULTS, SumPool, SumQueues, SumTrees, UNITS, queued_shared_bytes,
};

use super::add::DeviceTreeSum;
use super::device::{Nodes, pool_view_mut};
use super::queues::{QueueMemory, UNITS_PER_LEAF, capacity, grid};
use super::{QueuedOptions, tree};
use crate::Value;
use crate::device::DeviceSlice;
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self, Reference, Unit};
use crate::operand::OpError;

impl<V: Value, const D: usize> DeviceTreeSum<'_, V, D> {
    /// Returns the sum as a `rows` x `cols` matrix. Waits for the device.
    ///
    /// A node of the sum takes at most as many units as the nodes that it is merged from, so a pool as large
    /// as both operands' suffices, unless operands share subtrees and the sum does not. Then the kernel is
    /// repeated with a larger pool.
    pub(super) fn run_queued(
        &self,
        rows: usize,
        cols: usize,
        options: QueuedOptions,
    ) -> Result<Nodes, OpError> {
        if self.a.root.is_null() && self.b.root.is_null() {
            return tree::empty(self.device, rows, cols);
        }
        let operands = self.a.pool.len() + self.b.pool.len();
        let mut units = operands.min(MAX_UNITS);
        let mut queues = QueueMemory::new(self.device, capacity(options, operands, UNITS_PER_LEAF))?;
        loop {
            let mut pool = self.device.zeros::<Unit>(units)?;
            let results = self.fill_pool(rows, cols, options, &mut queues, &mut pool)?;
            // The first unit belongs to no node.
            let used = 1 + results[UNITS];
            if used <= units as u64 {
                let (entries, root) = (results[ENTRIES], results[ROOT]);
                pool.truncate(used as usize);
                pool.shrink_to_fit()?;
                let (nnz, root) = (entries as usize, Reference(root as u32));
                return Ok(Nodes {
                    rows,
                    cols,
                    nnz,
                    pool: Arc::new(pool),
                    root,
                    level_sizes: OnceLock::new(),
                });
            }
            if units == MAX_UNITS {
                return Err(too_large().into());
            }
            units = (2 * units).min(MAX_UNITS);
        }
    }

    /// Writes the sum's nodes, as far as the pool, which is zero, has room. Returns the kernel's results.
    fn fill_pool(
        &self,
        rows: usize,
        cols: usize,
        options: QueuedOptions,
        queues: &mut QueueMemory<SumQueues>,
        pool: &mut DeviceSlice<Unit>,
    ) -> Result<[u64; SUM_RESULTS], OpError> {
        let d_log2 = D.ilog2();
        let mut results = self.device.zeros(SUM_RESULTS)?;
        let launcher = self.device.kernel::<HiSparseQueuedSum<V>>();
        let launcher = launcher.shared_bytes(queued_shared_bytes(d_log2));
        let launch = grid(launcher, options, self.a.nnz + self.b.nnz)?;
        let kernel = HiSparseQueuedSum {
            trees: SumTrees {
                a: self.a.view(),
                b: self.b.view(),
                a_root: self.a.root.0,
                b_root: self.b.root.0,
                a_scale: self.scales.0,
                b_scale: self.scales.1,
                state: self.state,
                height: hisparse::depth(rows, cols, D) as u32 - 1,
                d_log2,
            },
            sum: SumPool {
                units: pool.len() as u32,
                pool: pool_view_mut(pool),
                results: results.as_global_mut(),
            },
            queues: queues.next_run()?,
        };
        // SAFETY: both trees are valid, of this height, and one has a root. The sum's pool is zero, and its size is given. The
        // queues are used by one run at a time. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let words = results.first::<SUM_RESULTS>()?;
        Ok(words)
    }
}
