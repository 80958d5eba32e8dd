//! Products with diagonal matrices, in place.

use evenpath::Value;
use evenpath::vector::Positions;

use crate::error::Result;
use crate::halo::HaloExchange;
use crate::{DistributedCsr, DistributedVec};

impl<V: Value> DistributedCsr<V> {
    /// Multiplies every row by its element of `factors`: A becomes DA, for D with these elements on the diagonal. Clones and plans of the
    /// matrix share its values, and follow. Each rank scales its rows, without messages.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error};
    ///
    /// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
    /// let scaled = cluster.run(|rank| {
    ///     let a = DistributedCsr::from_fn(rank, 4, 4, |row, entries| entries.extend([(row, 2.0), (3 - row, 1.0)]))?;
    ///     let factors = DistributedVec::from_fn(rank, a.row_partition(), |row| row as f64)?;
    ///     a.scale_rows(&factors)?;
    ///     a.scale_columns(&factors)?;
    ///     a.gather(0)
    /// })?;
    /// let entries: Vec<_> = scaled[0].as_ref().unwrap().iter().collect();
    /// assert_eq!(entries[4..], [(2, 1, 2.0), (2, 2, 8.0), (3, 0, 0.0), (3, 3, 18.0)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `factors` are not divided like the rows, or rows are cut between ranks; then nothing is written. If there is too little memory, or
    /// the device was lost.
    pub fn scale_rows(&self, factors: &DistributedVec<V>) -> Result<()> {
        factors.check_operand("the vector of factors", self.rank(), self.row_partition())?;
        self.check_whole_rows("A")?;
        let (device, parts) = (self.rank().device(), self.non_local_parts());
        let mut of_boundary = device.uninitialized(parts.rows.len())?;
        Positions::new(device, &parts.rows, self.local().nrows())?
            .gather(factors.local(), &mut of_boundary)?;
        self.local().scale_rows(factors.local())?;
        Ok(parts.matrix.scale_rows(&of_boundary)?)
    }

    /// Multiplies every column by its element of `factors`: A becomes AD, for D with these elements on the diagonal. Clones and plans of
    /// the matrix share its values, and follow. A collective operation, which exchanges the factors as a product does the elements of x.
    ///
    /// # Errors
    ///
    /// If `factors` are not divided like the columns, or rows are cut between ranks; then nothing is written. If there is too little
    /// memory, or a rank failed.
    pub fn scale_columns(&self, factors: &DistributedVec<V>) -> Result<()> {
        factors.check_operand("the vector of factors", self.rank(), self.col_partition())?;
        self.check_whole_rows("A")?;
        let own = factors.local();
        let mut exchange = HaloExchange::new(self.rank(), self.shared_halo(), own.len(), 1, false)?;
        exchange.pack(own)?;
        let sent = exchange.beside(HaloExchange::send, || Ok(self.local().scale_columns(own)?))?;
        self.non_local().scale_columns(exchange.receive(&sent)?.as_vec())?;
        exchange.finish(&sent)
    }
}
