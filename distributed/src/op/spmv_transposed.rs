//! Transposed sparse matrix times vector.

use std::fmt;

use evenpath::spmv::{self, SpmvTransposedOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceVec, Factor, Value};

use super::cut_row;
use super::info::{Costs, DistributedSpmvTransposedPlanInfo};
use super::run::{Exclusive, factors};
use crate::error::Result;
use crate::halo::{ExchangeInfo, HaloExchange};
use crate::{DistributedCsr, DistributedVec};

/// Plan of y = αAᵀx + βy for one matrix, which can run any number of times. Created by
/// [`DistributedCsr::plan_spmv_transposed`].
///
/// The halo is exchanged in reverse: each rank computes its contributions to other ranks' elements of y, and
/// sends them. If rows are cut between ranks, a run first sends the elements of x for their parts. A rank adds the
/// contributions of others to its own in the order of the ranks, so results are
/// the same to the last bit in every run with the same partitions, options and devices, unless the method is
/// an unordered one.
pub struct DistributedSpmvTransposedPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvTransposedPlan<V>,
    non_local: spmv::SpmvTransposedPlan<V>,
    cut_row: Option<[spmv::SpmvTransposedPlan<V>; 2]>,
    /// Positions in x of the non-local matrix's rows.
    boundary: Positions,
    buffers: Exclusive<SpmvTransposedBuffers<V>>,
    costs: Costs,
}

struct SpmvTransposedBuffers<V: Value> {
    /// Elements of x in the rows of the non-local matrix.
    gathered: DeviceVec<V>,
    exchange: HaloExchange<V>,
    /// Exchange of the elements of x for cut rows.
    elements: Option<HaloExchange<V>>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product of the transpose with vectors: both local matrices with the given options, and
    /// memory for the exchange.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv_transposed`](evenpath::DeviceCsr::plan_spmv_transposed) on one device.
    pub fn plan_spmv_transposed(
        &self,
        options: SpmvTransposedOptions,
    ) -> Result<DistributedSpmvTransposedPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        let start = device.record()?;
        let local = self.local().plan_spmv_transposed(options)?;
        let non_local = parts.matrix.plan_spmv_transposed(options)?;
        let boundary = Positions::new(device, &parts.rows, self.local().nrows())?;
        let gathered = device.zeros(parts.rows.len())?;
        let exchange = HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), 1, true)?;
        let cut_row = cut_row::plans(self, |a| a.plan_spmv_transposed(options))?;
        let elements = cut_row::exchange(self, 1, false)?;
        let (cut_bytes, cut_pinned) = cut_row::bytes(elements.as_ref());
        let (bytes, pinned) = exchange.bytes();
        let buffer_bytes = bytes + cut_bytes + boundary.bytes() + (gathered.len() * size_of::<V>()) as u64;
        Ok(DistributedSpmvTransposedPlan {
            matrix: self.clone(),
            local,
            non_local,
            cut_row,
            boundary,
            buffers: Exclusive::new(SpmvTransposedBuffers { gathered, exchange, elements }),
            costs: Costs::new(rank, start, (buffer_bytes, pinned + cut_pinned))?,
        })
    }
}

impl<V: Value> DistributedSpmvTransposedPlan<V> {
    /// Computes y = `alpha`·Aᵀ·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation: factors must be equal on all ranks, each on the rank's own device if it is in
    /// device memory.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's rows, or `y` like its columns, a factor is not one element on
    /// the rank's device, or another thread of the rank is running the plan; then nothing is written on this
    /// rank. If a rank failed.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DistributedVec<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DistributedVec<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.row_partition())?;
        y.check_operand("y", rank, self.matrix.col_partition())?;
        let (alpha, beta) = factors(rank, alpha, beta)?;
        let SpmvTransposedBuffers { gathered, exchange, elements } = &mut *self.buffers.take(rank)?;
        // The element of x for this rank's part of a cut row, with the plans for it.
        let (mut cut_row, mut elements_sent) = (None, None);
        if let (Some(elements), Some(plans)) = (elements.as_mut(), &self.cut_row) {
            elements.pack(x.local())?;
            let sent = elements_sent.insert(elements.send()?);
            cut_row = Some((elements.receive(sent)?.as_vec(), plans));
        }
        exchange.contribute(|contributions| {
            let contributions = contributions.as_mut_slice();
            self.boundary.gather(x.local(), gathered)?;
            self.non_local.run(alpha, gathered, V::ZERO, contributions)?;
            if let Some((element, [_, non_local])) = cut_row {
                non_local.run(alpha, element, V::ONE, contributions)?;
            }
            Ok(())
        })?;
        let sent = exchange.beside(HaloExchange::send_back, || {
            self.local.run(alpha, x.local(), beta, y.local_mut())?;
            if let Some((element, [local, _])) = cut_row {
                local.run(alpha, element, V::ONE, y.local_mut())?;
            }
            Ok(())
        })?;
        exchange.add_contributions(&sent, y.local_mut())?;
        if let (Some(elements), Some(sent)) = (elements, &elements_sent) {
            elements.finish(sent)?;
        }
        exchange.finish(&sent)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedSpmvTransposedPlanInfo> {
        let exchange = ExchangeInfo::reverse::<V>(self.matrix.rank(), self.matrix.halo(), 1);
        let info = |plan: &spmv::SpmvTransposedPlan<V>| plan.info().map(|info| (info.workspace_bytes, info));
        let parts = [info(&self.local)?, info(&self.non_local)?];
        let cut_row = match (&self.cut_row, self.matrix.cut_row()) {
            (Some([local, non_local]), Some(cut)) => {
                let exchange = ExchangeInfo::forward::<V>(self.matrix.rank(), &cut.halo, 1);
                Some((exchange, [info(local)?, info(non_local)?]))
            }
            _ => None,
        };
        self.costs.info(&self.matrix, (exchange, parts), cut_row)
    }
}

impl<V: Value> fmt::Debug for DistributedSpmvTransposedPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedSpmvTransposedPlan({:?})", self.matrix)
    }
}
