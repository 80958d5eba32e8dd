//! Products of distributed trees and vectors.

use std::fmt;

use evenpath::vector::{self, Positions};
use evenpath::{DeviceSlice, DeviceVec, Value, hisparse};

use crate::error::Result;
use crate::halo::{HaloExchange, Sent};
use crate::hisparse::Side;
use crate::{DistributedHiSparse, DistributedVec, Rank};

/// Plan of y = αAx + βy for one distributed tree, which can run any number of times. Created by
/// [`DistributedHiSparse::plan_spmv`].
///
/// A run sends the elements of x that other ranks need, and multiplies the local tree while they are in
/// transit, then the other tree with the received elements. It then sends the sums for other ranks' rows. A
/// rank adds the sums of others to its own in the order of the ranks, so results are the same to the last bit
/// in every run with the same partitions, options and devices.
pub struct HiSparseSpmvPlan<V: Value, const D: usize = 128> {
    matrix: DistributedHiSparse<V, D>,
    local: hisparse::SpmvPlan<V, D>,
    non_local: hisparse::SpmvPlan<V, D>,
    x: Operand<V>,
    y: Sums<V>,
}

/// Plan of y = αAᵀx + βy for one distributed tree, which can run any number of times. Created by
/// [`DistributedHiSparse::plan_spmv_transposed`].
///
/// A run sends the elements of x that other ranks need, and waits for its own. It then multiplies the tree
/// with columns of other ranks and sends them their sums, while it multiplies the local tree. Reproducible
/// like [`HiSparseSpmvPlan`].
pub struct HiSparseSpmvTransposedPlan<V: Value, const D: usize = 128> {
    matrix: DistributedHiSparse<V, D>,
    local: hisparse::SpmvPlan<V, D>,
    non_local: hisparse::SpmvPlan<V, D>,
    x: Operand<V>,
    y: Sums<V>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Plans the product with vectors: both trees with the given options, and memory for the exchanges.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](hisparse::DeviceHiSparse::plan_spmv) on one device.
    pub fn plan_spmv(&self, options: hisparse::SpmvOptions) -> Result<HiSparseSpmvPlan<V, D>> {
        Ok(HiSparseSpmvPlan {
            local: self.local().plan_spmv(options)?,
            non_local: self.non_local().plan_spmv(options)?,
            x: Operand::new(self.rank(), self.col_side())?,
            y: Sums::new(self.rank(), self.row_side())?,
            matrix: self.clone(),
        })
    }

    /// Plans the product of the transpose with vectors, otherwise like [`plan_spmv`](Self::plan_spmv).
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](Self::plan_spmv).
    pub fn plan_spmv_transposed(
        &self,
        options: hisparse::SpmvOptions,
    ) -> Result<HiSparseSpmvTransposedPlan<V, D>> {
        Ok(HiSparseSpmvTransposedPlan {
            local: self.local().transpose().plan_spmv(options)?,
            non_local: self.non_local().transpose().plan_spmv(options)?,
            x: Operand::new(self.rank(), self.row_side())?,
            y: Sums::new(self.rank(), self.col_side())?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value, const D: usize> HiSparseSpmvPlan<V, D> {
    /// Computes y = `alpha`·A·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's columns, or `y` like its rows; then nothing is written on this
    /// rank. If a rank failed.
    pub fn run(&mut self, alpha: V, x: &DistributedVec<V>, beta: V, y: &mut DistributedVec<V>) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.col_partition())?;
        y.check_operand("y", rank, self.matrix.row_partition())?;
        let rows = self.y.own + self.y.others;
        let mut sums = self.y.elements.slice_mut(..rows)?;
        let (own, others) = (self.x.own, self.x.others);
        let fetched = self.x.fetch(x.local(), |elements| {
            Ok(self.local.run(alpha, &*elements.slice(..own)?, V::ZERO, &mut sums)?)
        })?;
        if others > 0 {
            let operand = self.x.elements.slice(own..)?;
            self.non_local.run(alpha, &operand, V::ONE, &mut sums)?;
        }
        self.y.exchange.contribute(|contributions| {
            Ok(self.y.gather_contributions.gather(&self.y.elements, contributions)?)
        })?;
        self.y.finish(beta, y.local_mut(), |_| Ok(()))?;
        self.x.exchange.finish(&fetched)
    }
}

impl<V: Value, const D: usize> HiSparseSpmvTransposedPlan<V, D> {
    /// Computes y = `alpha`·Aᵀ·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's rows, or `y` like its columns; then nothing is written on this
    /// rank. If a rank failed.
    pub fn run(&mut self, alpha: V, x: &DistributedVec<V>, beta: V, y: &mut DistributedVec<V>) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.row_partition())?;
        y.check_operand("y", rank, self.matrix.col_partition())?;
        let fetched = self.x.fetch(x.local(), |_| Ok(()))?;
        let Self { local, non_local, x, y: sums, .. } = self;
        let (own, end) = (sums.own, sums.own + sums.others);
        let Sums { elements, gather_contributions, exchange, .. } = sums;
        exchange.contribute(|contributions| {
            non_local.run(alpha, &x.elements, V::ZERO, &mut *elements.slice_mut(own..end)?)?;
            Ok(gather_contributions.gather(elements, contributions)?)
        })?;
        sums.finish(beta, y.local_mut(), |elements| {
            Ok(local.run(alpha, &x.elements, V::ZERO, &mut *elements.slice_mut(..own)?)?)
        })?;
        x.exchange.finish(&fetched)
    }
}

/// The elements of a vector that a rank's trees need.
struct Operand<V: Value> {
    /// Elements for the trees' rows, or columns: those of this rank, then those of others.
    elements: DeviceVec<V>,
    own: usize,
    others: usize,
    gather_own: Positions,
    gather_others: Positions,
    exchange: HaloExchange<V>,
}

impl<V: Value> Operand<V> {
    fn new<const D: usize>(rank: &Rank, side: &Side<D>) -> Result<Self> {
        let (own, others) = (side.own.len(), side.others.len());
        Ok(Self {
            elements: rank.device().zeros(own + others)?,
            own,
            others,
            gather_own: side.gather_own(rank)?,
            gather_others: side.gather_others(rank)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), 1, false)?,
        })
    }

    /// Exchanges elements with other ranks. Meanwhile `product` computes what it can with the rank's own
    /// elements, which come first.
    fn fetch(
        &mut self,
        x: &DeviceSlice<V>,
        product: impl FnOnce(&DeviceSlice<V>) -> Result<()>,
    ) -> Result<Sent> {
        let Self { elements, own, gather_own, gather_others, exchange, .. } = self;
        exchange.pack(x)?;
        let sent = exchange.beside(HaloExchange::send, || {
            gather_own.gather(x, &mut *elements.slice_mut(..*own)?)?;
            product(elements)
        })?;
        let halo = exchange.receive(&sent)?;
        gather_others.gather(halo.as_vec(), &mut *elements.slice_mut(*own..)?)?;
        Ok(sent)
    }
}

/// Sums computed by a rank's trees.
struct Sums<V: Value> {
    /// Sums for the trees' rows, or columns: those of this rank, those of others, and a zero.
    elements: DeviceVec<V>,
    own: usize,
    others: usize,
    spread: Positions,
    /// Sums for each of the rank's elements of the result.
    product: DeviceVec<V>,
    gather_contributions: Positions,
    exchange: HaloExchange<V>,
}

impl<V: Value> Sums<V> {
    fn new<const D: usize>(rank: &Rank, side: &Side<D>) -> Result<Self> {
        let (own, others) = (side.own.len(), side.others.len());
        Ok(Self {
            elements: rank.device().zeros(own + others + 1)?,
            own,
            others,
            spread: side.spread(rank)?,
            product: rank.device().zeros(side.vector_len())?,
            gather_contributions: side.gather_contributions(rank)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), 1, true)?,
        })
    }

    /// Sends the contributions. Meanwhile `product` computes the rank's own sums, if still to be done, which
    /// are added to `beta`·y; then the contributions of others are added.
    fn finish(
        &mut self,
        beta: V,
        y: &mut DeviceSlice<V>,
        product: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { elements, spread, product: own_product, exchange, .. } = self;
        let sent = exchange.beside(HaloExchange::send_back, || {
            product(elements)?;
            spread.gather(elements, own_product)?;
            Ok(vector::axpby(V::ONE, own_product, beta, y)?)
        })?;
        exchange.add_contributions(&sent, y)?;
        exchange.finish(&sent)
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseSpmvPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiSparseSpmvPlan({:?})", self.matrix)
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseSpmvTransposedPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiSparseSpmvTransposedPlan({:?})", self.matrix)
    }
}
