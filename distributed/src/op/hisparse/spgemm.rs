//! Products of distributed trees.

use evenpath::{Value, hisparse};

use crate::error::Result;
use crate::hisparse::{Strips, build_tree};
use crate::rows::{TripletArrays, exchange_entries};
use crate::{DistributedHiSparse, Rank};

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Returns the product A·B, m x k, of A, m x n, and B, n x k. Vectors of C are divided by rows like those of
    /// A, and by columns like those of B. C has an entry wherever entries of A and B are multiplied, even if
    /// their sum is 0.
    ///
    /// Each rank receives the entries of B in the rows that its columns of A need, from the ranks that have
    /// them, all at once, and multiplies both trees on its device. Columns of A and rows of B are numbered alike
    /// for this, so that their leaves meet as in the whole trees. Entries of the products are then sent to the
    /// owners of C's leaves, which add those of several ranks in the order of the ranks. C is divided evenly by
    /// the entries before this sum. Entries are sent through host memory. Results are the same to the last bit
    /// in every run with the same number of ranks, partitions, options and devices. A collective operation.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath_distributed::{Cluster, DistributedCsr, DistributedHiSparse, Error};
    ///
    /// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
    /// let squares = cluster.run(|rank| {
    ///     // Each row's entry is in the next column.
    ///     let a = DistributedCsr::from_fn(rank, 100, 100, |row, entries| entries.push(((row + 1) % 100, 2.0)))?;
    ///     let a: DistributedHiSparse<f64, 32> = a.to_hisparse(Default::default())?;
    ///     a.spgemm(&a, Default::default())?.to_csr()?.gather(0)
    /// })?;
    /// let square = squares[0].as_ref().unwrap();
    /// assert_eq!((square.row(0).unwrap().columns(), square.values()[0]), (&[2][..], 4.0));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the elements of vectors for B's rows are not divided like those for A's columns; if there is too little
    /// memory, a rank's share of C or of B's rows is too large (as for
    /// [`to_hisparse`](crate::DistributedCsr::to_hisparse)), or a rank failed.
    pub fn spgemm(&self, b: &Self, options: hisparse::SpgemmOptions) -> Result<Self> {
        let rank = self.rank();
        rank.check_run("B", b.rank())?;
        self.col_partition().check_same("B", b.row_partition())?;
        let a = self.entries()?;
        let inner: Strips<D> = Strips::of(a.columns.clone())?;
        let b_rows = fetch_rows(rank, b.entries()?, inner.indices())?;
        let product = multiply(rank, &a, &inner, &b_rows, options)?;
        drop((a, b_rows));
        let ([rows, _], [_, cols]) = (self.partitions(), b.partitions());
        Self::divide(rank, [rows, cols], product, hisparse::Options::default())
    }
}

/// Returns the entries in the given ascending rows that any rank has. A collective operation.
fn fetch_rows<V: Value>(rank: &Rank, entries: TripletArrays<V>, rows: &[u64]) -> Result<TripletArrays<V>> {
    let mut entries: Vec<(u64, u64, V)> = entries.iter().collect();
    entries.sort_unstable_by_key(|&(row, column, _)| (row, column));
    let requested = rank.all_gather(rows)?;
    let answer = |rows: &Vec<u64>| {
        let mut answer = TripletArrays::default();
        // Both ascend.
        let mut rows = rows.iter().peekable();
        for &(row, column, value) in &entries {
            while rows.next_if(|&&requested| requested < row).is_some() {}
            if rows.peek() == Some(&&row) {
                answer.push(row, column, value);
            }
        }
        answer
    };
    let mut fetched = TripletArrays::default();
    for part in exchange_entries(rank, requested.iter().map(answer).collect())? {
        part.iter().for_each(|(row, column, value)| fetched.push(row, column, value));
    }
    Ok(fetched)
}

/// Multiplies a rank's entries of A by the rows of B for its columns, on its device.
fn multiply<V: Value, const D: usize>(
    rank: &Rank,
    a: &TripletArrays<V>,
    inner: &Strips<D>,
    b: &TripletArrays<V>,
    options: hisparse::SpgemmOptions,
) -> Result<TripletArrays<V>> {
    let mut product = TripletArrays::default();
    if a.rows.is_empty() || b.rows.is_empty() {
        return Ok(product);
    }
    let (rows, cols): (Strips<D>, Strips<D>) = (Strips::of(a.rows.clone())?, Strips::of(b.columns.clone())?);
    let left = a.iter().map(|(row, column, value)| (rows.place(row), inner.place(column), value));
    let right = b.iter().map(|(row, column, value)| (inner.place(row), cols.place(column), value));
    let left = build_tree::<V, D>(rank, (rows.len(), inner.len()), left, hisparse::Options::default())?;
    let right = build_tree::<V, D>(rank, (inner.len(), cols.len()), right, hisparse::Options::default())?;
    for (row, column, value) in left.spgemm(&right, options)?.download()?.iter() {
        product.push(rows.index(row), cols.index(column), value);
    }
    Ok(product)
}
