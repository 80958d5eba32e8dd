//! Correlation of time with work where caches do not hold the matrices.

use std::error::Error;

use evenpath::Csr;
use evenpath::generate::Kind;
use evenpath::spmv::SpmvMethod;
use serde::{Deserialize, Serialize};

use super::series::Series;
use super::sums::sum;
use crate::operations::Bench;
use crate::operations::spmv::work;
use crate::study::figures::{
    SPREAD, cusparse_ms, measure_spmv, method_ms, spread_note, spreads, widest_percent,
};
use crate::study::name::Study;
use crate::study::report::Report;
use crate::study::source::Source;
use crate::study::table::{Part, Table};

/// The least bytes of values and columns of each structure's matrices, in multiples of the second-level cache.
const MULTIPLES: [u64; 3] = [3, 6, 12];

const METHODS: [SpmvMethod; 2] = [SpmvMethod::Flat, SpmvMethod::MergePath];

/// Matrices of several structures and sizes, whose values and columns alone are larger than a cache of `l2_bytes`.
fn kinds(l2_bytes: u64) -> impl Iterator<Item = Kind> {
    MULTIPLES.into_iter().flat_map(move |multiple| {
        let nonzeros = multiple * l2_bytes / (size_of::<f64>() + size_of::<u32>()) as u64 + 1;
        let rows = |mean: u64| nonzeros.div_ceil(mean) as usize;
        // Borders take 4 √rows entries of a 5-point stencil; a 27-point one has (3 side - 2)³.
        let square = (rows(5) as f64).sqrt() as usize + 2;
        let cube = ((nonzeros as f64).cbrt() / 3.0) as usize + 2;
        [
            Kind::Stencil5 { side: square },
            Kind::Stencil27 { side: cube },
            Kind::Fem { rows: rows(40) },
            Kind::Uniform { rows: rows(16) },
            Kind::PowerLaw { rows: rows(10) },
        ]
    })
}

/// Rows that a matrix adds to the tables.
#[derive(Serialize, Deserialize)]
struct OfMatrix {
    times: Part,
    series: Series,
}

/// The times, and their correlation with work. Both tables have only a note if the device does not report its cache.
pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<[Table; 2], Box<dyn Error>> {
    let (mut times, mut series) = (times_table(), Series::default());
    match bench.device.properties().l2_bytes {
        None => times.note("the device does not report the size of its second-level cache"),
        Some(l2_bytes) => {
            let (measured, notes) =
                bench.each_case(kinds(l2_bytes).map(Source::from), report, |name, matrix| {
                    measure(bench, (name, &matrix), l2_bytes)
                })?;
            for of_matrix in measured {
                times.extend(of_matrix.times);
                series.extend(of_matrix.series);
            }
            times.notes.extend(notes);
            times.note(spread_note());
        }
    }
    let mut correlations =
        series.table("Correlation of time with work, matrices larger than the second-level cache");
    correlations.note(
        "many matrices of Table II fit in the cache of a newer GPU, where the time depends on what stays there from run to \
         run, too; these do not",
    );
    correlations
        .note("SpGEMM is not measured here: its products take far more memory than a cache has anyway");
    Ok([times, correlations])
}

fn measure(
    bench: &Bench<'_>,
    (name, matrix): (&str, &Csr<f64>),
    l2_bytes: u64,
) -> Result<OfMatrix, Box<dyn Error>> {
    let (mut times, mut series) = (times_table(), Series::default());
    let nonzeros = matrix.nnz();
    let figures = measure_spmv(bench, matrix, &METHODS)?;
    let [flat, merge_path] = METHODS.map(|method| method_ms(&figures, method, name, &mut times));
    let peer = cusparse_ms(&figures);
    series.spmv.take(nonzeros as f64, flat, peer);
    series.spmv_by_merge_path.take(nonzeros as f64, merge_path, peer);
    let sum = sum(bench, name, matrix, &mut times)?;
    series.spadd.take(2.0 * nonzeros as f64, sum.ms, sum.cusparse_ms);
    times.row([
        name.into(),
        nonzeros.into(),
        (work(matrix).bytes as f64 / l2_bytes as f64).into(),
        flat.into(),
        merge_path.into(),
        peer.into(),
        sum.ms.into(),
        sum.cusparse_ms.into(),
        widest_percent(spreads(&figures).chain(sum.own.timing.map(|timing| timing.spread))).into(),
    ]);
    Ok(OfMatrix { times: times.into(), series })
}

fn times_table() -> Table {
    Table::new(
        Study::MergePath,
        "SpMV and SpAdd of matrices larger than the second-level cache, milliseconds, f64",
        "Not in the source, whose GPU has 1.5 MB of this cache: beside Figures 5 to 8.",
        &[
            "matrix",
            "nonzeros",
            "SpMV's bytes over the cache's",
            "SpMV, flat",
            "SpMV, merge path",
            "SpMV, cuSPARSE CSR",
            "A + A, merge path",
            "A + A, cuSPARSE",
            SPREAD,
        ],
    )
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::generate;

    use super::*;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::table::Cell;

    #[test]
    fn every_matrix_is_larger_than_the_cache() {
        for l2_bytes in [24_000, 100_000, 1 << 20] {
            assert_eq!(kinds(l2_bytes).count(), 15);
            for (kind, index) in kinds(l2_bytes).zip(0..) {
                let mut matrix: Csr<f64> = generate(kind, 1).unwrap();
                matrix.canonicalize();
                let bytes = 12 * matrix.nnz() as u64;
                assert!(bytes > MULTIPLES[index / 5] * l2_bytes, "{kind}: {bytes} bytes for {l2_bytes}");
            }
        }
    }

    fn tables_of(device: &Device) -> [Table; 2] {
        let peers = Peers::default();
        let setting = Setting::new(device, 1.0, &[], String::new());
        let mut print = |_: &Table| Ok(());
        let mut report = Report::new(Study::MergePath, setting, &mut print);
        let tables = run(&Bench::unlimited(device, &peers, 1), &mut report).unwrap();
        let again = run(&Bench::unlimited(device, &peers, 1), &mut report).unwrap();
        assert_eq!(again, tables, "nothing is measured again");
        tables
    }

    #[test]
    fn sizes_follow_the_cache() {
        let options = SimulatedOptions::default().with_l2_bytes(24_000);
        let [times, correlations] = tables_of(&Device::simulated(options));
        assert_eq!((times.rows.len(), &times.wrong), (15, &Vec::new()));
        for row in &times.rows {
            assert!(matches!(row[2], Cell::Number(times) if times > 3.0), "{row:?}");
            assert!(matches!((&row[3], &row[6]), (Cell::Number(_), Cell::Number(_))), "{row:?}");
        }
        assert!(matches!(correlations.rows[0][2], Cell::Number(_)), "{correlations:?}");
        let [times, _] = tables_of(&Device::cpu());
        assert!(times.rows.is_empty() && times.notes[0].contains("second-level cache"), "{times:?}");
    }
}
