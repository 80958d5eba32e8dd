//! Sparse matrix times sparse matrix.

use evenpath::{Csr, Value, spgemm};

use super::panels::cut_panels;
use crate::error::{Error, Operation, Result};
use crate::rows::{RowBlock, fetch};
use crate::{DistributedCsr, Rank, RowPartition};

/// Options of [`DistributedCsr::spgemm`].
///
/// ```
/// use evenpath_distributed::DistributedSpgemmOptions;
///
/// let options = DistributedSpgemmOptions::default().with_panel_bytes(1 << 30); // at most 1 GiB of B at once
/// assert_eq!(options.panel_bytes, Some(1 << 30));
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DistributedSpgemmOptions {
    /// Maximum bytes of B's rows that a rank holds at once: 8 per row, and 8 and a value per nonzero.
    /// Unlimited by default.
    pub panel_bytes: Option<u64>,
    /// Options of the products on each device.
    pub device: spgemm::SpgemmOptions,
}

impl DistributedSpgemmOptions {
    /// Limits the bytes of B's rows that a rank holds at once.
    #[must_use]
    pub fn with_panel_bytes(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { panel_bytes: bytes.into(), ..self }
    }

    /// Sets the options of the products on each device.
    #[must_use]
    pub fn with_device(self, device: spgemm::SpgemmOptions) -> Self {
        Self { device, ..self }
    }
}

impl<V: Value> DistributedCsr<V> {
    /// Returns the product A·B. Its rows are divided like A's, its columns like B's.
    ///
    /// Each rank receives the rows of B for its columns of A, once each, and multiplies on its device. With a
    /// limit on their bytes it receives them in panels of consecutive rows, and adds the products of the
    /// panels in order: then the limit affects rounding. Without a limit, a product is the same to the last
    /// bit for any number of ranks, to the extent that a product on one device is. A collective operation.
    ///
    /// # Errors
    ///
    /// If B's rows are not divided like A's columns, or rows of one are cut between ranks; [`Error::PanelMemory`] if one row of B exceeds the
    /// limit; if there is too little memory, or a rank failed.
    pub fn spgemm(&self, b: &Self, options: DistributedSpgemmOptions) -> Result<Self> {
        let rank = self.rank();
        rank.check_run("B", b.rank())?;
        self.col_partition().check_same("B", b.row_partition())?;
        self.check_whole_rows("A")?;
        b.check_whole_rows("B")?;
        let (a, b_rows) = (self.download()?, b.download()?);
        let mut needed = a.columns().to_vec();
        needed.sort_unstable();
        needed.dedup();
        let panels = match options.panel_bytes {
            None => vec![0, needed.len()],
            Some(limit) => cut_panels::<V>(&needed, &row_lengths(rank, b, &b_rows, &needed)?, limit)?,
        };
        // Every rank takes part in as many exchanges as the one with the most panels.
        let rounds = rank.all_reduce(&[panels.len() - 1], usize::max)?[0];
        let mut product: Option<RowBlock<V>> = None;
        for round in 0..rounds {
            let is_own = round + 1 < panels.len();
            let numbers = if is_own { &needed[panels[round]..panels[round + 1]] } else { &[] };
            let panel = fetch(rank, &b_rows, b.row_partition(), numbers)?;
            if !is_own {
                continue;
            }
            let part = multiply_panel(rank, &a, numbers, &panel, options.device)?;
            product = Some(product.map_or_else(|| part.clone(), |sum| sum.joined(&part)));
        }
        let product = product.unwrap_or_else(RowBlock::empty);
        Self::from_rows(rank, self.row_partition(), b.col_partition(), product)
    }
}

/// Lengths of B's rows with the given ascending numbers.
fn row_lengths<V: Value>(
    rank: &Rank,
    b: &DistributedCsr<V>,
    rows: &RowBlock<V>,
    numbers: &[u64],
) -> Result<Vec<u64>> {
    let partition: &RowPartition = b.row_partition();
    let first = partition.range(rank.index()).start;
    let requests = crate::rows::by_owner(partition, numbers);
    let lengths = |numbers: &Vec<u64>| -> Vec<u64> {
        numbers.iter().map(|&row| rows.row((row - first) as usize).0.len() as u64).collect()
    };
    let answers: Vec<Vec<u64>> = rank.all_to_all(&requests)?.iter().map(lengths).collect();
    let exchange = rank.begin(Operation::AllToAll);
    for to in rank.others() {
        rank.send(exchange, to, &answers[to])?;
    }
    let mut all = Vec::new();
    for (from, request) in requests.iter().enumerate() {
        if from == rank.index() {
            all.extend_from_slice(&answers[from]);
        } else {
            all.extend(rank.receive_exactly::<u64>(exchange, from, request.len())?);
        }
    }
    Ok(all)
}

/// Multiplies A's columns of the given ascending numbers by B's rows of these numbers.
fn multiply_panel<V: Value>(
    rank: &Rank,
    a: &RowBlock<V>,
    numbers: &[u64],
    b: &RowBlock<V>,
    options: spgemm::SpgemmOptions,
) -> Result<RowBlock<V>> {
    let mut columns = b.columns().to_vec();
    columns.sort_unstable();
    columns.dedup();
    let left = compress(a, numbers)?;
    let right = compress(b, &columns)?;
    let device = rank.device();
    let product =
        device.upload(&left)?.spgemm_with_offsets::<u64>(&device.upload(&right)?, options)?.download()?;
    let row_offsets = product.row_offsets().iter().map(|&offset| offset as usize).collect();
    let product_columns = product.column_indices().iter().map(|&column| columns[column as usize]).collect();
    RowBlock::new(row_offsets, product_columns, product.values().to_vec())
}

/// Selects the entries in the given ascending columns, and renumbers the columns by their positions.
fn compress<V: Value>(block: &RowBlock<V>, columns: &[u64]) -> Result<Csr<V>> {
    let (mut row_offsets, mut column_indices, mut values) = (vec![0_u32], Vec::new(), Vec::new());
    for row in 0..block.nrows() {
        for (column, value) in block.entries(row) {
            if let Ok(number) = columns.binary_search(&column) {
                column_indices.push(number as u32);
                values.push(value);
            }
        }
        let found = values.len() as u64;
        let limit = u64::from(u32::MAX);
        let offset = u32::try_from(found).map_err(|_| Error::TooLarge { what: "nonzeros", found, limit })?;
        row_offsets.push(offset);
    }
    Ok(Csr::try_new(block.nrows(), columns.len(), row_offsets, column_indices, values)?)
}
