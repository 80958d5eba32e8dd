//! CSR-Adaptive by nonzeros per row block.

use std::collections::BTreeMap;
use std::error::Error;

use evenpath::{Csr, DeviceVec};
use evenpath_kernels::GlobalCsr;
use evenpath_kernels::spmv::{AdaptiveRows, SpmvArguments};
use evenpath_kernels::update::Update;
use evenpath_simt::kernel::Kernel;

use crate::input::random_vector;
use crate::measure::times_ms;
use crate::operations::spmv::{Reference, work};
use crate::operations::{Bench, Measured};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// The limits on the nonzeros of a row block to measure, up to what fits in the memory of a block.
pub(super) const LIMITS: [usize; 4] = [128, 256, 512, 1024];

/// The name of a contender.
pub(super) fn name(limit: usize) -> String {
    format!("row blocks of {limit}")
}

/// Measures CSR-Adaptive by the limit on nonzeros per row block.
pub(super) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>) -> Measured {
    let host_x = random_vector::<V>(matrix.ncols(), 1);
    let problem = Problem {
        bench,
        matrix,
        reference: Reference::new(matrix, &host_x)?,
        x: bench.device.upload(&host_x)?,
        row_offsets: bench.device.upload(matrix.row_offsets())?,
        column_indices: bench.device.upload(matrix.column_indices())?,
        values: bench.device.upload(matrix.values())?,
    };
    let ours = LIMITS.iter().map(|&limit| problem.run(limit)).collect::<Result<Vec<_>, _>>()?;
    let work = work(matrix);
    let work = (matrix.nnz() as u64, work.operations, work.bytes);
    Ok(Figures::new(work, ours.into_iter().flatten().collect(), Vec::new(), BTreeMap::new()))
}

/// A matrix and x on the device.
struct Problem<'b, V: PeerValue> {
    bench: &'b Bench<'b>,
    matrix: &'b Csr<V>,
    reference: Reference,
    x: DeviceVec<V>,
    row_offsets: DeviceVec<u32>,
    column_indices: DeviceVec<u32>,
    values: DeviceVec<V>,
}

impl<V: PeerValue> Problem<'_, V> {
    /// Runs with row blocks of at most `limit` nonzeros; `None` if they do not fit in the memory of a block.
    fn run(&self, limit: usize) -> Result<Option<Contender>, Box<dyn Error>> {
        let Self { bench, matrix, .. } = self;
        let Some(kernel) = AdaptiveRows::<V, u32>::first() else { return Ok(None) };
        if limit > (kernel.block_size * kernel.items_per_thread) as usize {
            return Ok(None);
        }
        let block_rows = cut_rows(matrix.row_offsets(), limit);
        let blocks = u32::try_from(block_rows.len() - 1)?;
        let block_rows = bench.device.upload(&block_rows)?;
        let mut y = bench.device.upload(&vec![V::from_f64(f64::NAN); matrix.nrows()])?;
        let times = times_ms(bench.device, bench.repetitions, || {
            let matrix = GlobalCsr {
                row_offsets: self.row_offsets.as_global(),
                column_indices: self.column_indices.as_aligned(),
                values: self.values.as_aligned(),
                nonzeros: self.values.len() as u64,
                rows: y.len() as u32,
            };
            let update = Update { y: y.as_global_mut(), alpha: V::ONE, beta: V::ZERO };
            let product = SpmvArguments { matrix, x: self.x.as_global(), update };
            let arguments = AdaptiveRows { product, block_rows: block_rows.as_global() };
            // SAFETY: the arrays are those of a valid matrix, x has one element per column, y one per row; there is one
            // more row block than the grid has blocks, each with rows whose nonzeros fit in the memory of a block, or with
            // a single row.
            unsafe { bench.device.launch(arguments, kernel, blocks, 0) }
        })?;
        let checked = self.reference.check(&y.download()?);
        Ok(Some(Contender::ran(OWN_NAME, name(limit), &times, checked)))
    }
}

/// The first row of each row block, followed by the number of rows. A row block has at most `limit` rows with at most
/// `limit` nonzeros together, or a single longer row.
fn cut_rows(row_offsets: &[u32], limit: usize) -> Vec<u32> {
    let rows = row_offsets.len() - 1;
    let mut block_rows = vec![0];
    let mut first = 0;
    for row in 0..rows {
        let nonzeros = (row_offsets[row + 1] - row_offsets[first]) as usize;
        if row > first && (nonzeros > limit || row - first == limit) {
            block_rows.push(row as u32);
            first = row;
        }
    }
    if rows > 0 {
        block_rows.push(rows as u32);
    }
    block_rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_blocks_hold_what_they_may() {
        // Rows of 1, 1, 5, 0, 2 nonzeros.
        let offsets = [0, 1, 2, 7, 7, 9];
        assert_eq!(cut_rows(&offsets, 2), [0, 2, 3, 5]);
        assert_eq!(cut_rows(&offsets, 7), [0, 4, 5]);
        assert_eq!(cut_rows(&offsets, 9), [0, 5]);
        assert_eq!(cut_rows(&[0], 4), [0]);
    }
}
