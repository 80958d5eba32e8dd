//! CSR-Adaptive by nonzeros per row block.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath_kernels::CsrView;
use evenpath_kernels::spmv::{AdaptiveRows, Product};
use evenpath_kernels::update::Update;
use evenpath_simt::kernel::Kernel;

use crate::input::random_vector;
use crate::measure::{Measurement, Times, times_ms};
use crate::operations::Bench;
use crate::operations::spmv::{Reference, work};
use crate::peers::PeerValue;
use crate::study::figures::{SPREAD, nonzeros_per_row, widest_percent};
use crate::study::name::Study;
use crate::study::table::{Cell, Table};

/// The limits on the nonzeros of a row block to measure, up to what fits in the memory of a block.
const LIMITS: [usize; 4] = [128, 256, 512, 1024];

pub(super) fn table(value: &str) -> Table {
    let limits = LIMITS.map(|limit| limit.to_string());
    let columns = ["matrix", "nonzeros per row"].into_iter().chain(limits.iter().map(String::as_str));
    let columns: Vec<&str> = columns.chain([SPREAD]).collect();
    Table::new(
        Study::CsrAdaptive,
        &format!("CSR-Adaptive by nonzeros per row block, GB/s, {value}"),
        "With 128 threads per block. In the source, a block has as many threads as its row block has nonzeros: see the \
         table by threads per block.",
        &columns,
    )
}

/// GB/s by the limit on nonzeros per row block.
pub(super) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    if bench.device.kind() == DeviceKind::Cpu {
        return Ok(());
    }
    let (mut cells, mut spreads) = (vec![Cell::from(name), nonzeros_per_row(matrix)], Vec::new());
    for limit in LIMITS {
        let times = row_blocks_ms(bench, name, matrix, limit, table)?;
        let measured = times.map(|times| Measurement::new(work(matrix), &times));
        spreads.extend(measured.as_ref().map(|measured| measured.timing.spread));
        cells.push(measured.map(|measured| measured.effective_gbps).into());
    }
    cells.push(widest_percent(spreads).into());
    table.row(cells);
    Ok(())
}

/// Milliseconds of runs with row blocks of at most `limit` nonzeros; `None` if they do not fit in the memory of a block.
fn row_blocks_ms<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    limit: usize,
    table: &mut Table,
) -> Result<Option<Times>, Box<dyn Error>> {
    let Some(kernel) = AdaptiveRows::<V, u32>::first() else { return Ok(None) };
    if limit > (kernel.block_size * kernel.items_per_thread) as usize {
        return Ok(None);
    }
    let block_rows = cut_rows(matrix.row_offsets(), limit);
    let blocks = u32::try_from(block_rows.len() - 1)?;
    let block_rows = bench.device.upload(&block_rows)?;
    let host_x = random_vector::<V>(matrix.ncols(), 1);
    let x = bench.device.upload(&host_x)?;
    let mut y = bench.device.upload(&vec![V::from_f64(f64::NAN); matrix.nrows()])?;
    let row_offsets = bench.device.upload(matrix.row_offsets())?;
    let column_indices = bench.device.upload(matrix.column_indices())?;
    let values = bench.device.upload(matrix.values())?;
    let times = times_ms(bench.device, bench.repetitions, || {
        let matrix = CsrView {
            row_offsets: row_offsets.as_global(),
            column_indices: column_indices.as_aligned(),
            values: values.as_aligned(),
            nonzeros: values.len() as u64,
            rows: y.len() as u32,
        };
        let update = Update { y: y.as_global_mut(), alpha: V::ONE, beta: V::ZERO };
        let product = Product { matrix, x: x.as_global(), update };
        let arguments = AdaptiveRows { product, block_rows: block_rows.as_global() };
        // SAFETY: the arrays are those of a valid matrix, x has one element per column, y one per row; there is one more
        // row block than the grid has blocks, each with rows whose nonzeros fit in the memory of a block, or with a single
        // row.
        unsafe { bench.device.launch(arguments, kernel, blocks, 0) }
    })?;
    let reference = Reference::new(matrix, &host_x)?;
    if let Err(difference) = reference.check(&y.download()?) {
        table.wrong.push(format!("{name}, row blocks of {limit}: {difference}"));
    }
    Ok(Some(times))
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
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::peers::Peers;

    #[test]
    fn row_blocks_hold_what_they_may() {
        // Rows of 1, 1, 5, 0, 2 nonzeros.
        let offsets = [0, 1, 2, 7, 7, 9];
        assert_eq!(cut_rows(&offsets, 2), [0, 2, 3, 5]);
        assert_eq!(cut_rows(&offsets, 7), [0, 4, 5]);
        assert_eq!(cut_rows(&offsets, 9), [0, 5]);
        assert_eq!(cut_rows(&[0], 4), [0]);
    }

    fn every_limit_is_measured<V: PeerValue>(kind: Kind) {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 1);
        let matrix: Csr<V> = generate::<f64, u32>(kind, 1).unwrap().into_values();
        let mut table = table(V::NAME);
        measure(&bench, "a", &matrix, &mut table).unwrap();
        assert_eq!(table.wrong, Vec::<String>::new());
        assert_eq!(table.rows.len(), 1);
        for cell in &table.rows[0][2..2 + LIMITS.len()] {
            assert!(matches!(cell, Cell::Number(rate) if *rate > 0.0), "{:?}", table.rows);
        }
    }

    #[test]
    fn every_size_of_row_blocks_gives_the_product() {
        for kind in
            [Kind::Stencil5 { side: 30 }, Kind::PowerLaw { rows: 500 }, Kind::Dense { rows: 3, cols: 3000 }]
        {
            every_limit_is_measured::<f32>(kind);
            every_limit_is_measured::<f64>(kind);
        }
    }
}
