//! Constructors of distributed matrices.

use std::sync::Arc;

use evenpath::{Csr, Offset, Value};

use super::divide::{Divided, DividedCsr, Sizes, divide};
use super::matrix::{CutRow, DistributedCsr, NonLocal};
use crate::error::{Error, Result};
use crate::halo::Halo;
use crate::memory::zeros;
use crate::rows::{RowBlock, assemble, redistribute};
use crate::{Rank, RowPartition, parallel};

/// Number of rows per task when computing their lengths.
const ROWS_OF_A_TASK: usize = 256;

impl<V: Value> DistributedCsr<V> {
    /// Creates a matrix from rows that each rank provides according to the first partition. The second
    /// divides the columns, and thus the elements of x in y = Ax. A collective operation.
    ///
    /// # Errors
    ///
    /// If a partition has a different number of ranks, or a rank provides a different number of rows, a
    /// column outside the matrix, or 2³² or more nonzeros, rows, columns of its own or columns of others. If
    /// there is too little memory, or a rank failed.
    pub fn from_rows(
        rank: &Rank,
        rows: &RowPartition,
        cols: &RowPartition,
        block: RowBlock<V>,
    ) -> Result<Self> {
        rows.check_ranks(rank)?;
        cols.check_ranks(rank)?;
        check_provided(rank, rows, &block)?;
        Self::from_block(rank, Arc::new(rows.clone()), Arc::new(cols.clone()), block)
    }

    /// Creates a matrix from the rank's rows.
    pub(super) fn from_block(
        rank: &Rank,
        rows: Arc<RowPartition>,
        cols: Arc<RowPartition>,
        block: RowBlock<V>,
    ) -> Result<Self> {
        let first = rows.range(rank.index()).start;
        let row = move |row: u64, entries: &mut Vec<(u64, V)>| {
            entries.extend(block.entries((row - first) as usize));
        };
        Self::build(rank, rows, cols, row)
    }

    /// Creates a matrix from rows that are computed one by one.
    fn build(
        rank: &Rank,
        rows: Arc<RowPartition>,
        cols: Arc<RowPartition>,
        row: impl Fn(u64, &mut Vec<(u64, V)>) + Sync,
    ) -> Result<Self> {
        let own = cols.range(rank.index());
        for (what, found) in [("rows", rows.len(rank.index())), ("columns", own.end - own.start)] {
            check_count(what, found)?;
        }
        let made = divide(rows.range(rank.index()), &own, cols.nrows(), Sizes::DEFAULT, row)?;
        Self::from_divided(rank, rows, cols, made, None)
    }

    /// Creates a matrix from the rank's rows and, if rows are cut between ranks, from its part of a row that
    /// begins on an earlier rank: one row, or none.
    pub(super) fn from_divided(
        rank: &Rank,
        rows: Arc<RowPartition>,
        cols: Arc<RowPartition>,
        made: Divided<V>,
        cut: Option<Divided<V>>,
    ) -> Result<Self> {
        let own = cols.range(rank.index());
        let own_cols = (own.end - own.start) as usize;
        let Divided { local, other, boundary, mut needed } = made;
        if let Some(cut) = &cut {
            needed.extend_from_slice(&cut.needed);
            needed.sort_unstable();
            needed.dedup();
        }
        check_count("columns", needed.len() as u64)?;
        let number = |column: u64| needed.partition_point(|&other| other < column) as u32;
        let local = upload(rank, own_cols, local)?;
        let matrix = upload(rank, needed.len(), other.with_columns(number)?)?;
        let non_local = NonLocal { rows: Arc::new(boundary), matrix };
        let mut cut_row = None;
        if let Some(Divided { local, mut other, .. }) = cut {
            let row = rows.range(rank.index()).start.saturating_sub(1);
            let is_here = local.row_offsets.len() > 1;
            if is_here && other.row_offsets.len() == 1 {
                // Without columns of other ranks the row was omitted.
                other.row_offsets.push(0);
            }
            cut_row = Some(CutRow {
                local: upload(rank, own_cols, local)?,
                non_local: upload(rank, needed.len(), other.with_columns(number)?)?,
                halo: Arc::new(Halo::new(rank, &rows, if is_here { vec![row] } else { vec![] })?),
            });
        }
        let halo = Arc::new(Halo::new(rank, &cols, needed)?);
        Ok(Self { rank: rank.clone(), rows, cols, local, non_local, halo, cut_row })
    }

    /// Creates a matrix from two parts on the rank's device and their halo.
    pub(crate) fn from_parts(
        like: &Self,
        local: evenpath::DeviceCsr<V>,
        non_local: NonLocal<V>,
        halo: Halo,
    ) -> Self {
        let (rank, rows, cols) = (like.rank.clone(), Arc::clone(&like.rows), Arc::clone(&like.cols));
        Self { rank, rows, cols, local, non_local, halo: Arc::new(halo), cut_row: None }
    }

    /// Creates a matrix from a function: `row(i, entries)` appends the columns and values of row `i`, in any
    /// order. Rows are partitioned by a merge path, which balances rows plus nonzeros and calls the function
    /// twice for each row. The columns of a square matrix are divided like the rows, those of others evenly.
    /// A collective operation.
    ///
    /// Each rank computes and stores only its own rows, so the matrix may be larger than the memory of one
    /// device. Threads of rayon share the rows of a rank. Host memory holds the rank's entries in device
    /// format, with 64-bit columns for those of other ranks, and a few million more.
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn from_fn(
        rank: &Rank,
        rows: u64,
        cols: u64,
        row: impl Fn(u64, &mut Vec<(u64, V)>) + Sync,
    ) -> Result<Self> {
        let even = RowPartition::even(rows, rank.size())?;
        let own = even.range(rank.index());
        check_count("rows", own.end - own.start)?;
        let mut lengths: Vec<u64> = zeros((own.end - own.start) as usize)?;
        let tasks = lengths.chunks_mut(ROWS_OF_A_TASK).enumerate().collect();
        parallel::for_each(tasks, |(task, lengths): (usize, &mut [u64])| {
            let mut entries = Vec::new();
            for (number, length) in (own.start + (task * ROWS_OF_A_TASK) as u64..).zip(lengths) {
                entries.clear();
                row(number, &mut entries);
                *length = entries.len() as u64;
            }
        });
        let rows = RowPartition::by_merge_path_of(rank, &even, &lengths)?;
        drop(lengths);
        Self::from_fn_on(rank, &rows, &default_columns(rank, &rows, cols)?, row)
    }

    /// Like [`from_fn`](Self::from_fn), with given partitions. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`from_rows`](Self::from_rows).
    pub fn from_fn_on(
        rank: &Rank,
        rows: &RowPartition,
        cols: &RowPartition,
        row: impl Fn(u64, &mut Vec<(u64, V)>) + Sync,
    ) -> Result<Self> {
        rows.check_ranks(rank)?;
        cols.check_ranks(rank)?;
        Self::build(rank, Arc::new(rows.clone()), Arc::new(cols.clone()), row)
    }

    /// Distributes a matrix that rank `root` has; the others pass `None`. Rows are partitioned by a merge
    /// path, which balances rows plus nonzeros; the columns of a square matrix are divided like the rows,
    /// those of others evenly. A collective operation.
    ///
    /// # Errors
    ///
    /// If the root passes no matrix; also the errors of [`from_rows`](Self::from_rows).
    pub fn scatter<O: Offset>(rank: &Rank, root: usize, matrix: Option<&Csr<V, O>>) -> Result<Self> {
        let matrix = matrix.filter(|_| rank.index() == root);
        if matrix.is_none() && rank.index() == root {
            return Err(Error::NothingGiven { rank: root, what: "matrix to scatter" });
        }
        let mut numbers = Vec::new();
        if let Some(matrix) = matrix {
            numbers = RowPartition::by_merge_path(matrix.row_offsets(), rank.size())?.boundaries().to_vec();
            numbers.push(matrix.ncols() as u64);
        }
        let mut boundaries = rank.broadcast(root, &numbers)?;
        let cols = boundaries.pop().unwrap_or_default();
        let rows = RowPartition::from_boundaries(boundaries)?;
        Self::scatter_on(rank, root, matrix, &rows, &default_columns(rank, &rows, cols)?)
    }

    /// Like [`scatter`](Self::scatter), with given partitions. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`scatter`](Self::scatter).
    pub fn scatter_on<O: Offset>(
        rank: &Rank,
        root: usize,
        matrix: Option<&Csr<V, O>>,
        rows: &RowPartition,
        cols: &RowPartition,
    ) -> Result<Self> {
        rows.check_ranks(rank)?;
        let all = RowPartition::all_on(root, rows.nrows(), rank.size())?;
        let mut block = RowBlock::empty();
        if let Some(matrix) = matrix.filter(|_| rank.index() == root) {
            for row in matrix.iter_rows() {
                block.push(row.iter().map(|(column, value)| (u64::from(column), value)));
            }
        }
        if block.nrows() as u64 != all.len(rank.index()) {
            let reason = format!("it has {} rows, but the matrix has {}", rows.nrows(), block.nrows());
            return Err(Error::Partition { reason });
        }
        Self::from_rows(rank, rows, cols, redistribute(rank, &block, &all, rows)?)
    }

    /// Creates a matrix from entries that any rank provides: row, column and value. Duplicates are summed in
    /// the order of the ranks, and in each rank's order. A collective operation.
    ///
    /// # Errors
    ///
    /// If a row is outside the matrix; also the errors of [`from_rows`](Self::from_rows).
    pub fn from_entries(
        rank: &Rank,
        rows: &RowPartition,
        cols: &RowPartition,
        entries: impl IntoIterator<Item = (u64, u64, V)>,
    ) -> Result<Self> {
        rows.check_ranks(rank)?;
        check_count("rows", rows.len(rank.index()))?;
        Self::from_rows(rank, rows, cols, assemble(rank, rows, entries)?)
    }
}

/// Returns an error unless a rank provides the rows that a partition assigns to it.
pub(super) fn check_provided<V: Value>(rank: &Rank, rows: &RowPartition, block: &RowBlock<V>) -> Result<()> {
    let (assigned, given) = (rows.len(rank.index()), block.nrows());
    if given as u64 == assigned {
        return Ok(());
    }
    let reason = format!("it assigns {assigned} rows to this rank, but {given} were given");
    Err(Error::Partition { reason })
}

/// Default partition of columns: the rows' for a square matrix, otherwise even.
pub(super) fn default_columns(rank: &Rank, rows: &RowPartition, cols: u64) -> Result<RowPartition> {
    if rows.nrows() == cols { Ok(rows.clone()) } else { RowPartition::even(cols, rank.size()) }
}

/// Returns an error if a count on this rank does not fit into 32 bits.
pub(super) fn check_count(what: &'static str, found: u64) -> Result<()> {
    let limit = evenpath::csr::MAX_DIMENSION as u64;
    if found > limit { Err(Error::TooLarge { what, found, limit }) } else { Ok(()) }
}

/// Uploads rows.
fn upload<V: Value>(rank: &Rank, cols: usize, rows: DividedCsr<u32, V>) -> Result<evenpath::DeviceCsr<V>> {
    let DividedCsr { row_offsets, columns, values, .. } = rows;
    let matrix: Csr<V> = Csr::try_new(row_offsets.len() - 1, cols, row_offsets, columns, values)?;
    Ok(rank.device().upload(&matrix)?)
}
