//! Products of distributed trees.

use evenpath::{Value, hisparse};

use crate::error::Result;
use crate::hisparse::{Strips, build_tree};
use crate::memory::{reserved, zeros};
use crate::op::panels::cut_panels;
use crate::rows::{TripletArrays, exchange_entries};
use crate::{DistributedHiSparse, Rank};

/// Options of [`DistributedHiSparse::spgemm`].
///
/// ```
/// use evenpath_distributed::DistributedHiSparseSpgemmOptions;
///
/// let options = DistributedHiSparseSpgemmOptions::default().with_panel_bytes(1 << 30); // at most 1 GiB of B at once
/// assert_eq!(options.panel_bytes, Some(1 << 30));
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DistributedHiSparseSpgemmOptions {
    /// Maximum bytes of B's rows that a rank holds at once: 8 per row, and 8 and a value per nonzero.
    /// Unlimited by default.
    pub panel_bytes: Option<u64>,
    /// Options of the products on each device.
    pub device: hisparse::SpgemmOptions,
}

impl DistributedHiSparseSpgemmOptions {
    /// Limits the bytes of B's rows that a rank holds at once.
    #[must_use]
    pub fn with_panel_bytes(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { panel_bytes: bytes.into(), ..self }
    }

    /// Sets the options of the products on each device.
    #[must_use]
    pub fn with_device(self, device: hisparse::SpgemmOptions) -> Self {
        Self { device, ..self }
    }
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Returns the product A·B, m x k, of A, m x n, and B, n x k. Vectors of C are divided by rows like those of
    /// A, and by columns like those of B. C has an entry wherever entries of A and B are multiplied, even if
    /// their sum is 0.
    ///
    /// Each rank receives the entries of B in the rows that its columns of A need, from the ranks that have
    /// them, and multiplies both trees on its device. With a limit on their bytes it receives them in panels of
    /// consecutive rows. Columns of A and rows of B are numbered alike, so that their leaves meet as in the whole
    /// trees. Entries of the products are then sent to the owners of C's leaves, which add those of several
    /// ranks in the order of the ranks, and those of panels in their order. C is divided evenly by the entries
    /// before this sum. Entries are sent through host memory. Results are the same to the last bit in every run
    /// with the same number of ranks, partitions, options and devices. A collective operation.
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
    /// If the elements of vectors for B's rows are not divided like those for A's columns;
    /// [`Error::PanelMemory`](crate::Error::PanelMemory) if one row of B exceeds the limit; if there is too little
    /// memory, a rank's share of C or of B's rows is too large (as for
    /// [`to_hisparse`](crate::DistributedCsr::to_hisparse)), or a rank failed.
    pub fn spgemm(&self, b: &Self, options: DistributedHiSparseSpgemmOptions) -> Result<Self> {
        let rank = self.rank();
        rank.check_run("B", b.rank())?;
        self.col_partition().check_same("B", b.row_partition())?;
        let (a, b_rows) = (self.entries()?, SortedEntries::new(&b.entries()?));
        let needed: Strips<D> = Strips::of(a.columns.clone())?;
        let needed = needed.indices();
        let panels = match options.panel_bytes {
            None => vec![0, needed.len()],
            Some(limit) => cut_panels::<V>(needed, &b_rows.lengths(rank, needed)?, limit)?,
        };
        // Every rank takes part in as many exchanges as the one with the most panels.
        let rounds = rank.all_reduce(&[panels.len() - 1], usize::max)?[0];
        let mut product = TripletArrays::default();
        for round in 0..rounds {
            let is_own = round + 1 < panels.len();
            let rows = if is_own { &needed[panels[round]..panels[round + 1]] } else { &[] };
            let panel = b_rows.fetch(rank, rows)?;
            multiply::<V, D>(rank, &a, (rows, &panel), options.device, &mut product)?;
        }
        drop((a, b_rows));
        let ([rows, _], [_, cols]) = (self.partitions(), b.partitions());
        Self::divide(rank, [rows, cols], product, hisparse::Options::default())
    }
}

/// A rank's entries of B by row and column.
struct SortedEntries<V>(Vec<(u64, u64, V)>);

impl<V: Value> SortedEntries<V> {
    fn new(entries: &TripletArrays<V>) -> Self {
        let mut entries: Vec<(u64, u64, V)> = entries.iter().collect();
        entries.sort_unstable_by_key(|&(row, column, _)| (row, column));
        Self(entries)
    }

    /// Calls `entry` with the entries in ascending rows, and with the position of each one's row in `rows`.
    fn select(&self, rows: &[u64], mut entry: impl FnMut(usize, (u64, u64, V))) {
        let mut at = 0;
        for &(row, column, value) in &self.0 {
            while rows.get(at).is_some_and(|&requested| requested < row) {
                at += 1;
            }
            if rows.get(at) == Some(&row) {
                entry(at, (row, column, value));
            }
        }
    }

    /// Returns the numbers of entries in ascending rows on all ranks together. A collective operation.
    fn lengths(&self, rank: &Rank, rows: &[u64]) -> Result<Vec<u64>> {
        let requested = rank.all_gather(rows)?;
        let mut answers: Vec<Vec<u64>> = reserved(requested.len())?;
        for rows in &requested {
            let mut lengths = zeros(rows.len())?;
            self.select(rows, |at, _| lengths[at] += 1);
            answers.push(lengths);
        }
        let mut sums: Vec<u64> = zeros(rows.len())?;
        for lengths in rank.all_to_all(&answers)? {
            sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += length);
        }
        Ok(sums)
    }

    /// Returns the entries in ascending rows that any rank has. A collective operation.
    fn fetch(&self, rank: &Rank, rows: &[u64]) -> Result<TripletArrays<V>> {
        let answer = |rows: &Vec<u64>| {
            let mut answer = TripletArrays::default();
            self.select(rows, |_, (row, column, value)| answer.push(row, column, value));
            answer
        };
        let answers = rank.all_gather(rows)?.iter().map(answer).collect();
        let mut fetched = TripletArrays::default();
        for part in exchange_entries(rank, answers)? {
            part.iter().for_each(|(row, column, value)| fetched.push(row, column, value));
        }
        Ok(fetched)
    }
}

/// Multiplies a rank's columns of A of the given ascending numbers by B's rows of these numbers, on its device,
/// and appends the entries of the product.
fn multiply<V: Value, const D: usize>(
    rank: &Rank,
    a: &TripletArrays<V>,
    (numbers, b): (&[u64], &TripletArrays<V>),
    options: hisparse::SpgemmOptions,
    product: &mut TripletArrays<V>,
) -> Result<()> {
    if b.rows.is_empty() {
        return Ok(());
    }
    let inner: Strips<D> = Strips::of(numbers.to_vec())?;
    let (rows, cols): (Strips<D>, Strips<D>) = (Strips::of(a.rows.clone())?, Strips::of(b.columns.clone())?);
    let left = a.iter().filter(|&(_, column, _)| numbers.binary_search(&column).is_ok());
    let left = left.map(|(row, column, value)| (rows.place(row), inner.place(column), value));
    let right = b.iter().map(|(row, column, value)| (inner.place(row), cols.place(column), value));
    let left = build_tree::<V, D>(rank, (rows.len(), inner.len()), left, hisparse::Options::default())?;
    let right = build_tree::<V, D>(rank, (inner.len(), cols.len()), right, hisparse::Options::default())?;
    for (row, column, value) in &left.spgemm(&right, options)?.download()? {
        product.push(rows.index(row), cols.index(column), value);
    }
    Ok(())
}
