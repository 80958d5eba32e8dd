use std::error::Error;

use evenpath::device::DeviceKind;
use evenpath::ell::PaddingLimit;
use evenpath::generate::{Kind, Published};
use evenpath::spmv::SpmvMethod;
use evenpath::{Csr, DeviceVec};
use evenpath_kernels::CsrView;
use evenpath_kernels::spmv::{AdaptiveRows, Product};
use evenpath_kernels::update::Update;
use evenpath_simt::kernel::Kernel;

use super::published::ADAPTIVE;
use super::{Bench, Cell, Report, Study, Table, cusparse_ms, method_ms, quotient};
use crate::input::random_vector;
use crate::measure::{Measurement, median, times_ms};
use crate::peers::PeerValue;
use crate::spmv::{Reference, work};

const STUDY: Study = Study::CsrAdaptive;

/// Matrices of the same sizes as in the publication, which cannot be generated: 27, 16, 16, 7 and 5 nonzeros per row.
fn matrices() -> impl Iterator<Item = Kind> {
    let like = ["cage12", "parabolic-fem"];
    let published = Published::all().filter(move |matrix| like.contains(&matrix.name()));
    [Kind::Stencil27 { side: 100 }, Kind::Uniform { rows: 1_000_000 }, Kind::Stencil5 { side: 1200 }]
        .into_iter()
        .chain(published.map(|matrix| Kind::Like { matrix }))
}

/// The limits on the nonzeros of a row block to measure.
const LIMITS: [usize; 5] = [128, 256, 512, 1024, 2048];

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    report(published())?;
    let columns = ["matrix", "nonzeros per row"];
    let limits = LIMITS.map(|limit| limit.to_string());
    let sweep_columns: Vec<&str> = columns.into_iter().chain(limits.iter().map(String::as_str)).collect();
    let mut tables = Vec::new();
    for value in ["f32", "f64"] {
        tables.push((
            Table::new(
                STUDY,
                &format!("CSR-Adaptive by nonzeros per row block, GB/s, {value}"),
                "Figures 1 and 2, where the block has as many threads as nonzeros: the source finds a peak at 512 of 1024 that \
                 varies with the matrix, but gives no numbers.",
                &sweep_columns,
            ),
            Table::new(
                STUDY,
                &format!("Methods, milliseconds, {value}"),
                "Table 2 has other matrices; its ratios are above.",
                &[
                    "matrix",
                    "nonzeros per row",
                    "CSR-Adaptive",
                    "LightSpMV",
                    "CSR-Adaptive over LightSpMV",
                    "vector",
                    "scalar",
                    "ELL",
                    "automatic",
                    "cuSPARSE CSR",
                ],
            ),
        ));
    }
    let mut notes = Vec::new();
    bench.each_matrix(matrices(), &mut notes, |name, matrix| {
        let [(single_sweep, single), (double_sweep, double)] = &mut tables[..] else {
            unreachable!("two types")
        };
        methods(bench, name, &matrix, double)?;
        sweep(bench, name, &matrix, double_sweep)?;
        let matrix = matrix.into_values::<f32>();
        methods(bench, name, &matrix, single)?;
        sweep(bench, name, &matrix, single_sweep)
    })?;
    for (mut sweep, mut methods) in tables {
        if bench.device.kind() == DeviceKind::Cpu {
            let note =
                "the CPU has no row blocks: neither CSR-Adaptive nor the other methods of GPUs run there";
            sweep.note(note);
            methods.note(note);
        }
        methods.notes.extend(notes.iter().cloned());
        report(sweep)?;
        report(methods)?;
    }
    Ok(())
}

/// Table 2, and values derived from it.
fn published() -> Table {
    let mut table = Table::new(
        STUDY,
        "Published: CSR-Adaptive and LightSpMV on a GTX 1050 Ti",
        "Tables 1 and 2; milliseconds are the CPU's time by the published ratios.",
        &[
            "matrix",
            "rows",
            "nonzeros per row",
            "type",
            "CPU, 8 threads, ms",
            "CSR-Adaptive, ms",
            "LightSpMV, ms",
            "CSR-Adaptive over LightSpMV",
        ],
    );
    for matrix in ADAPTIVE {
        for (index, value) in ["f32", "f64"].into_iter().enumerate() {
            let cpu_ms = 1e3 * matrix.cpu_seconds[index];
            let (adaptive, light) = (matrix.over_adaptive[index], matrix.over_light[index]);
            table.row([
                matrix.name.into(),
                matrix.rows.into(),
                matrix.nonzeros_a_row.into(),
                value.into(),
                cpu_ms.into(),
                (cpu_ms / adaptive).into(),
                (cpu_ms / light).into(),
                (light / adaptive).into(),
            ]);
        }
    }
    table.note(
        "by its own account, the source's LightSpMV is wrong in single precision for two of the matrices",
    );
    table
}

fn nonzeros_a_row<V: PeerValue>(matrix: &Csr<V>) -> Cell {
    (matrix.nnz() as f64 / matrix.rows().max(1) as f64).into()
}

fn methods<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let methods = [
        SpmvMethod::CsrAdaptive,
        SpmvMethod::Light,
        SpmvMethod::Vector,
        SpmvMethod::Scalar,
        SpmvMethod::Auto,
    ];
    let record = bench.spmv(name, matrix, &methods)?;
    let [adaptive, light, vector, scalar, auto] = methods.map(|method| method_ms(&record, method, table));
    let ell = match matrix.to_ell(PaddingLimit::default()) {
        Err(error) => {
            table.note(format!("{name}: {error}"));
            None
        }
        Ok(ell) => {
            let ell = bench.device.upload(&ell)?;
            let x = bench.device.upload(&random_vector::<V>(matrix.cols(), 1))?;
            let mut y = bench.device.zeros::<V>(matrix.rows())?;
            let times = times_ms(bench.device, bench.repetitions, || ell.spmv(V::ONE, &x, V::ZERO, &mut y))?;
            check(name, "ELL", matrix, &y, table)?;
            Some(median(&times))
        }
    };
    table.row([
        name.into(),
        nonzeros_a_row(matrix),
        adaptive.into(),
        light.into(),
        quotient(adaptive, light).into(),
        vector.into(),
        scalar.into(),
        ell.into(),
        auto.into(),
        cusparse_ms(&record).into(),
    ]);
    Ok(())
}

fn check<V: PeerValue>(
    name: &str,
    what: &str,
    matrix: &Csr<V>,
    y: &DeviceVec<V>,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let reference = Reference::new(matrix, &random_vector::<V>(matrix.cols(), 1))?;
    if let Err(difference) = reference.check(&y.download()?) {
        table.wrong.push(format!("{name}, {what}: {difference}"));
    }
    Ok(())
}

/// GB/s by the limit on nonzeros per row block.
fn sweep<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    if bench.device.kind() == DeviceKind::Cpu {
        return Ok(());
    }
    let mut cells = vec![Cell::from(name), nonzeros_a_row(matrix)];
    for limit in LIMITS {
        cells.push(match row_blocks_ms(bench, name, matrix, limit, table)? {
            None => Cell::None,
            Some(times) => Measurement::new(work(matrix), &times).effective_gbps.into(),
        });
    }
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
) -> Result<Option<Vec<f64>>, Box<dyn Error>> {
    let Some(kernel) = AdaptiveRows::<V, u32>::first() else { return Ok(None) };
    if limit > (kernel.block_size * kernel.items_per_thread) as usize {
        return Ok(None);
    }
    let block_rows = cut_rows(matrix.row_offsets(), limit);
    let blocks = u32::try_from(block_rows.len() - 1)?;
    let block_rows = bench.device.upload(&block_rows)?;
    let x = bench.device.upload(&random_vector::<V>(matrix.cols(), 1))?;
    let mut y = bench.device.upload(&vec![V::from_f64(f64::NAN); matrix.rows()])?;
    let row_offsets = bench.device.upload(matrix.row_offsets())?;
    let column_indices = bench.device.upload(matrix.column_indices())?;
    let values = bench.device.upload(matrix.values())?;
    let times = times_ms(bench.device, bench.repetitions, || {
        let matrix = CsrView {
            row_offsets: row_offsets.as_global(),
            column_indices: column_indices.as_global(),
            values: values.as_global(),
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
    check(name, &format!("row blocks of {limit}"), matrix, &y, table)?;
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
    use evenpath::generate::generate;

    use super::*;
    use crate::spmv::Peers;

    #[test]
    fn row_blocks_hold_what_they_may() {
        // Rows of 1, 1, 5, 0, 2 nonzeros.
        let offsets = [0, 1, 2, 7, 7, 9];
        assert_eq!(cut_rows(&offsets, 2), [0, 2, 3, 5]);
        assert_eq!(cut_rows(&offsets, 7), [0, 4, 5]);
        assert_eq!(cut_rows(&offsets, 9), [0, 5]);
        assert_eq!(cut_rows(&[0], 4), [0]);
    }

    fn is_right<V: PeerValue>(kind: Kind) {
        let device = Device::simulated(SimulatedOptions::default());
        let bench = Bench {
            device: &device,
            copy_gbps: 1.0,
            peers: &Peers::default(),
            repetitions: 1.into(),
            most_nonzeros: usize::MAX,
            most_products: u64::MAX,
        };
        let matrix: Csr<V> = generate::<f64, u32>(kind, 1).unwrap().into_values();
        let mut table = Table::new(STUDY, "", "", &["", "", "128", "256", "512", "1024", "2048"]);
        sweep(&bench, "a", &matrix, &mut table).unwrap();
        assert_eq!(table.wrong, Vec::<String>::new());
        let rates =
            table.rows[0][2..].iter().filter(|cell| matches!(cell, Cell::Number(rate) if *rate > 0.0));
        assert!(rates.count() >= 2, "{:?}", table.rows);
        let mut table = Table::new(STUDY, "", "", &[""; 10]);
        methods(&bench, "a", &matrix, &mut table).unwrap();
        assert_eq!((table.rows.len(), table.wrong.len()), (1, 0), "{table:?}");
    }

    #[test]
    fn every_size_of_row_blocks_gives_the_product() {
        for kind in
            [Kind::Stencil5 { side: 30 }, Kind::PowerLaw { rows: 500 }, Kind::Dense { rows: 3, cols: 3000 }]
        {
            is_right::<f32>(kind);
            is_right::<f64>(kind);
        }
    }
}
