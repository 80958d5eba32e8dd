//! SpMV, SpAdd and SpGEMM over Table II.

use std::collections::BTreeMap;
use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmv::SpmvMethod;
use serde::{Deserialize, Serialize};

use super::correlations::{self, Operations};
use super::measure::{BALANCED, GLOBAL, control, sum_to_measure};
use crate::measure::single_times_ms;
use crate::operations::spadd::{self, MERGE_PATH};
use crate::operations::spgemm::{self, Check, Factors};
use crate::operations::spmv::{Product, Way};
use crate::operations::threads::on_threads;
use crate::operations::{Bench, Case, SparseProduct};
use crate::results::{Contender, Figures, OWN_NAME, Row};
use crate::study::each::Measured;
use crate::study::figures::{
    SPREAD, best_cusparse_ms, cusparse_ms, gflops, method_ms, quotient, spread_note, widest,
};
use crate::study::name::Study;
use crate::study::report::Report;
use crate::study::source::{Source, of_suite};
use crate::study::table::Table;
use crate::suite::Suite;

/// The methods of SpMV to measure. `Flat` is the publication's own.
const METHODS: [SpmvMethod; 5] = [
    SpmvMethod::Flat,
    SpmvMethod::MergePath,
    SpmvMethod::Vector { lanes: None },
    SpmvMethod::Warp,
    SpmvMethod::Auto,
];

/// The methods of SpGEMM to measure: the publication's own, ours after it, the one that it compares with, and the choice.
const PRODUCTS: [SpgemmMethod; 4] =
    [SpgemmMethod::ColumnSort, SpgemmMethod::TwoLevelSort, SpgemmMethod::GlobalSort, SpgemmMethod::Auto];

/// The methods whose phases are measured.
const PHASED: [SpgemmMethod; 2] = [SpgemmMethod::ColumnSort, SpgemmMethod::TwoLevelSort];

/// Milliseconds for the products of one CPU thread. A product that takes ten times as long is timed once.
const SEQUENTIAL_MS: f64 = 100.0;

/// The name of the CPU's contender, and the heading of its column.
const SEQUENTIAL: &str = "one CPU thread, ms";

/// The phases of a two-level sort.
const PHASES: [&str; 7] =
    ["setup", "block sort", "global sort", "placement", "product compute", "reduce by key", "other"];

/// The results with a matrix.
#[derive(Debug, Serialize, Deserialize)]
struct Results {
    spmv: Row,
    spadd: Row,
    /// SpMV without scattered loads of x.
    control: Row,
    spgemm: Row,
    /// A sum, and a product if the device has one, on one thread of the CPU.
    sequential: (Contender, Option<Contender>),
}

impl Results {
    fn new(bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<Self, Box<dyn Error>> {
        let (factors, methods) = (Factors::SquareOrOuter, PRODUCTS.to_vec());
        let product = Case::Spgemm(SparseProduct { factors, methods, memory_limit: None });
        let operand = (1.0, matrix);
        let mut sum = on_threads(1, bench.repetitions, |bench| spadd::measure(bench, operand, operand, &[]))?;
        let sum = Contender { name: SEQUENTIAL.into(), ..sum.ours.pop().ok_or("a sum has one way")? };
        let spgemm = bench.row(&product, name, matrix);
        let sequential = spgemm.figures().map(|_| sequential_product(bench, matrix)).transpose()?;
        Ok(Self {
            spmv: spmv_row(bench, name, matrix),
            spadd: bench.row(&sum_to_measure(), name, matrix),
            control: control(bench, name, matrix)?,
            spgemm,
            sequential: (sum, sequential),
        })
    }

    fn product_ms(&self, method: SpgemmMethod) -> Option<f64> {
        self.spgemm.own_ms(&method.to_string())
    }

    fn sequential_ms(&self) -> Option<f64> {
        self.sequential.1.as_ref()?.right_ms()
    }

    /// The milliseconds of a method's phase.
    fn phase(&self, method: SpgemmMethod, phase: &str) -> Option<f64> {
        self.spgemm.more(&spgemm::phase(method, phase))
    }

    /// The milliseconds of all phases of a method.
    fn phases(&self, method: SpgemmMethod) -> Option<f64> {
        PHASES.iter().map(|phase| self.phase(method, phase)).sum()
    }
}

/// y = Ax by the methods that the device has, and by the publication's own with its partition.
fn spmv_row(bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Row {
    let runs = |method: &SpmvMethod| method.runs_on(bench.device.kind());
    let mut ways: Vec<_> = METHODS.iter().copied().filter(runs).map(Way::method).collect();
    ways.extend(Some(SpmvMethod::Flat).filter(runs).map(Way::anew));
    bench.row(&Case::Spmv(Product::direct(ways)), name, matrix)
}

/// A product on one thread of the CPU.
fn sequential_product(bench: &Bench<'_>, matrix: &Csr<f64>) -> Result<Contender, Box<dyn Error>> {
    let (a, b) = Factors::SquareOrOuter.of(matrix)?;
    let mut figures = on_threads(1, bench.repetitions.within(SEQUENTIAL_MS), |bench| {
        let (on_a, on_b) = (bench.device.upload(&a)?, bench.device.upload(&b)?);
        let mut product = None;
        let multiply = || on_a.spgemm(&on_b, SpgemmOptions::default()).map(|c| product = Some(c));
        let times = single_times_ms(bench.device, bench.repetitions, multiply)?;
        let c = product.ok_or("there is at least one product")?.download()?;
        let checked = Check::new(&a, &b).check(c.row_offsets(), c.column_indices(), c.values());
        let own = Contender::ran(OWN_NAME, SEQUENTIAL, &times, checked);
        Ok(Figures::new((0, 0, 0), vec![own], Vec::new(), BTreeMap::new()))
    })?;
    Ok(figures.ours.pop().ok_or("there is one contender")?)
}

type All = [Measured<Results>];

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<Vec<Table>, Box<dyn Error>> {
    run_over(of_suite(Suite::Table2)?, bench, report)
}

fn run_over(
    sources: Vec<Source>,
    bench: &Bench<'_>,
    report: &mut Report<'_>,
) -> Result<Vec<Table>, Box<dyn Error>> {
    let (all, notes) =
        bench.each("Table II", sources, report, |name, matrix| Results::new(bench, name, &matrix))?;
    let has_product = |results: &&Measured<Results>| results.spgemm.figures().is_some();
    let products: Vec<_> = all.iter().filter(has_product).collect();
    let mut tables = vec![spmv(&all), spadd(&all), sparse_products(&all, &products), correlation_table(&all)];
    tables.extend(PHASED.map(|method| phase_table(&products, method)));
    if bench.device.kind() == DeviceKind::Cpu {
        tables[0].note("the CPU has neither the flat nor the vectorized division");
        tables[3].note("the CPU has no flat division");
    }
    for table in &mut tables[..3] {
        table.note(spread_note());
    }
    for table in &mut tables[1..3] {
        table.note("the sequential CPU is evenpath's CPU device on one thread; its products of more than a second are timed once");
    }
    for table in &mut tables {
        table.notes.extend(notes.iter().cloned());
    }
    Ok(tables)
}

fn spmv(all: &All) -> Table {
    let [flat, merge_path, vector, warp, auto] =
        METHODS.map(|method| move |results: &Measured<Results>| method_ms(&results.spmv, method));
    let rate = |results: &Measured<Results>, ms| gflops(results.spmv.nonzeros(), ms);
    let peer = |results: &Measured<Results>| cusparse_ms(&results.spmv);
    let mut table = Table::over(
        Study::MergePath,
        "SpMV over Table II, f64",
        "Figure 5; the source has only a plot. Its own SpMV (section III-A) is the method flat; Cusp's is vectorized CSR.",
        all,
    )
    .column("matrix", |results| results.name.as_str())
    .column("nonzeros", |results| results.spmv.nonzeros())
    .column("flat, ms", flat)
    .column("flat, GFLOP/s", |results| rate(results, flat(results)))
    .column("merge path, ms", merge_path)
    .column("merge path, GFLOP/s", |results| rate(results, merge_path(results)))
    .column("vector, ms", vector)
    .column("vector, GFLOP/s", |results| rate(results, vector(results)))
    .column("warp, ms", warp)
    .column("automatic, ms", auto)
    .column("flat with its partition, ms", |results| results.spmv.own_ms(Way::anew(SpmvMethod::Flat).name()))
    .column("flat, columns in sequence, ms", |results| method_ms(&results.control, SpmvMethod::Flat))
    .column("cuSPARSE CSR, ms", peer)
    .column("cuSPARSE CSR, GFLOP/s", |results| rate(results, peer(results)))
    .column("vector over flat", |results| quotient(vector(results), flat(results)))
    .column("cuSPARSE over flat", |results| quotient(peer(results), flat(results)))
    .column(SPREAD, |results| widest(results.spmv.ours()))
    .done();
    table.check(all.iter().map(|results| &results.spmv));
    table.note("the source partitions in every product, and removes empty rows where there are any; here a plan does so once, and `with its partition` has both, with the allocation of what a plan holds");
    table.note("columns in sequence: the same row lengths, with column k mod n in place of each nonzero k's, so that no load of x is scattered");
    table.note("merge path also divides row ends evenly; it is a later publication's (SC 2016)");
    table
        .note("vectorized CSR: vector has 2 to 32 lanes per row, by the mean row length; warp always has 32");
    table
}

fn spadd(all: &All) -> Table {
    let [own, balanced, global] = [MERGE_PATH, BALANCED, GLOBAL]
        .map(|method| move |results: &Measured<Results>| results.spadd.own_ms(method));
    let peer = |results: &Measured<Results>| best_cusparse_ms(&results.spadd);
    let sequential = |results: &Measured<Results>| results.sequential.0.right_ms();
    let mut table = Table::over(
        Study::MergePath,
        "SpAdd over Table II, A + A, f64",
        "Figure 7, speed-up over a sequential CPU; the source has only a plot. Its own sum is the balanced path, in COO; Cusp's, also in \
         COO, is the global sort; cuSPARSE's is of CSR.",
        all,
    )
    .column("matrix", |results| results.name.as_str())
    .column("nonzeros of both", |results| 2 * results.spadd.nonzeros())
    .column("balanced path, COO, ms", balanced)
    .column("global sort, COO, ms", global)
    .column("merge path, CSR, ms", own)
    .column("cuSPARSE, ms", peer)
    .column(SEQUENTIAL, sequential)
    .column("speed-up, balanced path", |results| quotient(sequential(results), balanced(results)))
    .column("speed-up, global sort", |results| quotient(sequential(results), global(results)))
    .column("speed-up, merge path", |results| quotient(sequential(results), own(results)))
    .column("speed-up, cuSPARSE", |results| quotient(sequential(results), peer(results)))
    .column("cuSPARSE over merge path", |results| quotient(peer(results), own(results)))
    .column(SPREAD, |results| widest(results.spadd.ours().iter().chain([&results.sequential.0])))
    .done();
    table.check(all.iter().map(|results| &results.spadd));
    table.check_contenders(all.iter().map(|results| (results.name.as_str(), &results.sequential.0)));
    table
}

fn sparse_products(all: &All, products: &[&Measured<Results>]) -> Table {
    let [own, by_row, global, auto] =
        PRODUCTS.map(|method| move |results: &&Measured<Results>| results.product_ms(method));
    let peer = |results: &&Measured<Results>| best_cusparse_ms(&results.spgemm);
    let sequential = |results: &&Measured<Results>| results.sequential_ms();
    let mut table = Table::over(
        Study::MergePath,
        "SpGEMM over Table II, AA (lp: AAᵀ), f64",
        "Figure 9, speed-up over a sequential CPU; the source has only a plot. Its own is the column sort; Cusp's, the global sort. Its GPU \
         did not have enough memory for the dense matrix.",
        products,
    )
    .column("matrix", |results| results.name.as_str())
    .column("products", |results| results.spgemm.figures().map(|figures| figures.work))
    .column("column sort, ms", own)
    .column("two-level sort, ms", by_row)
    .column("global sort, ms", global)
    .column("automatic, ms", auto)
    .column("cuSPARSE, ms", peer)
    .column(SEQUENTIAL, sequential)
    .column("speed-up, column sort", |results| quotient(sequential(results), own(results)))
    .column("speed-up, two-level sort", |results| quotient(sequential(results), by_row(results)))
    .column("speed-up, global sort", |results| quotient(sequential(results), global(results)))
    .column("speed-up, automatic", |results| quotient(sequential(results), auto(results)))
    .column("speed-up, cuSPARSE", |results| quotient(sequential(results), peer(results)))
    .column("column over two-level sort", |results| quotient(own(results), by_row(results)))
    .column("global over column sort", |results| quotient(global(results), own(results)))
    .column("cuSPARSE over column sort", |results| quotient(peer(results), own(results)))
    .column("cuSPARSE over two-level sort", |results| quotient(peer(results), by_row(results)))
    .column("cuSPARSE over automatic", |results| quotient(peer(results), auto(results)))
    .column(SPREAD, |results| widest(results.spgemm.ours().iter().chain(&results.sequential.1)))
    .done();
    table.check(all.iter().map(|results| &results.spgemm));
    let sequential =
        products.iter().filter_map(|results| Some((results.name.as_str(), results.sequential.1.as_ref()?)));
    table.check_contenders(sequential);
    table
}

fn phase_table(products: &[&Measured<Results>], method: SpgemmMethod) -> Table {
    let timed: Vec<_> = products.iter().copied().filter(|results| results.phases(method).is_some()).collect();
    let (title, source) = match method {
        SpgemmMethod::ColumnSort => (
            "Column sort by phase, percent of the time",
            "Figure 11; the source has only a plot: the two sorts and the product are the bulk.",
        ),
        _ => (
            "Two-level sort by phase, percent of the time",
            "Beside Figure 11: tiles are sorted by row and column.",
        ),
    };
    let mut table = Table::over(Study::MergePath, title, source, &timed)
        .column("matrix", |results| results.name.as_str())
        .column("ms", |results| results.phases(method));
    for phase in PHASES {
        table = table
            .column(phase, |results| Some(100.0 * results.phase(method, phase)? / results.phases(method)?));
    }
    let mut table = table.done();
    table.note("of the fastest product; other is the whole product less its phases, mostly allocation");
    if timed.is_empty() {
        table.note("phases are timed on GPUs only");
    }
    table
}

fn correlation_table(all: &All) -> Table {
    let operations = Operations {
        spmv: all.iter().map(|results| &results.spmv).collect(),
        control: all.iter().map(|results| &results.control).collect(),
        spadd: all.iter().map(|results| &results.spadd).collect(),
        spgemm: all.iter().map(|results| &results.spgemm).collect(),
    };
    correlations::table("Correlation of time with work over Table II", &operations)
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::*;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::table::Cell;

    #[test]
    fn a_gpu_has_every_method_and_phase() {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 2);
        let mut print = |_: &Table| Ok(());
        let setting = Setting::new(&device, 1.0, &[], String::new());
        let mut report = Report::new(Study::MergePath, setting, &mut print);
        let sources = || vec![Source::from(Kind::Stencil5 { side: 20 })];
        let tables = run_over(sources(), &bench, &mut report).unwrap();
        let again = run_over(sources(), &bench, &mut report).unwrap();
        assert_eq!(again, tables, "nothing is measured again");
        for table in tables[..3].iter().chain(&tables[4..]) {
            assert_eq!((table.rows.len(), &table.wrong), (1, &Vec::new()), "{table:?}");
            for (heading, cell) in table.columns.iter().zip(&table.rows[0]) {
                let is_there = *cell != Cell::None;
                assert_eq!(is_there, !heading.contains("cuSPARSE"), "{heading} in {table:?}");
            }
        }
        let number = |cell: &Cell| if let Cell::Number(number) = cell { *number } else { f64::NAN };
        for table in &tables[4..] {
            let percent: Vec<f64> = table.rows[0][2..].iter().map(number).collect();
            assert!(percent.iter().all(|&percent| percent >= 0.0), "{percent:?}");
            assert!((percent.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{percent:?}");
        }
    }
}
