//! SpMV, SpAdd and SpGEMM over Table II.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::spgemm::SpgemmMethod;
use evenpath::spgemm::SpgemmOptions;
use evenpath::spmv::SpmvMethod;
use serde::{Deserialize, Serialize};

use super::series::Series;
use super::sums::sum;
use super::tables;
use crate::measure::{Times, median, single_times_ms};
use crate::operations::spgemm::{self, Check, Factors, PHASE};
use crate::operations::threads::on_threads;
use crate::operations::{Bench, spadd};
use crate::results::Figures;
use crate::statistics::spread;
use crate::study::figures::{
    cusparse_ms, gflops, measure_spmv, method_ms, quotient, right_ms, spread_note, spreads, widest_percent,
};
use crate::study::table::{Cell, Part, Table};

/// The methods of SpMV to measure. `Flat` is the publication's own.
const METHODS: [SpmvMethod; 5] = [
    SpmvMethod::Flat,
    SpmvMethod::MergePath,
    SpmvMethod::Vector { lanes: None },
    SpmvMethod::Warp,
    SpmvMethod::Auto,
];

/// The methods of SpGEMM to measure: the publication's own, the one that it compares with, and the choice.
const PRODUCTS: [SpgemmMethod; 3] =
    [SpgemmMethod::TwoLevelSort, SpgemmMethod::GlobalSort, SpgemmMethod::Auto];

/// Milliseconds for the products of one CPU thread. What takes ten times as long is timed once.
const SEQUENTIAL_MS: f64 = 100.0;

/// The tables over Table II.
pub(super) struct Operations {
    spmv: Table,
    spadd: Table,
    spgemm: Table,
    phases: Table,
    series: Series,
}

/// Rows that a matrix adds to the tables.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OfMatrix {
    spmv: Part,
    spadd: Part,
    spgemm: Part,
    phases: Part,
    series: Series,
}

impl From<Operations> for OfMatrix {
    fn from(Operations { spmv, spadd, spgemm, phases, series }: Operations) -> Self {
        Self { spmv: spmv.into(), spadd: spadd.into(), spgemm: spgemm.into(), phases: phases.into(), series }
    }
}

impl Operations {
    pub(super) fn new() -> Self {
        Self {
            spmv: tables::spmv(),
            spadd: tables::spadd(),
            spgemm: tables::spgemm(),
            phases: tables::phases(),
            series: Series::default(),
        }
    }

    /// Measures every operation with a matrix.
    pub(super) fn measure(
        bench: &Bench<'_>,
        name: &str,
        matrix: &Csr<f64>,
    ) -> Result<OfMatrix, Box<dyn Error>> {
        let mut operations = Self::new();
        operations.multiply_vector(bench, name, matrix)?;
        operations.add(bench, name, matrix)?;
        operations.multiply(bench, name, matrix)?;
        Ok(operations.into())
    }

    /// Adds what was measured with a matrix.
    pub(super) fn take(&mut self, OfMatrix { spmv, spadd, spgemm, phases, series }: OfMatrix) {
        self.spmv.extend(spmv);
        self.spadd.extend(spadd);
        self.spgemm.extend(spgemm);
        self.phases.extend(phases);
        self.series.extend(series);
    }

    fn multiply_vector(
        &mut self,
        bench: &Bench<'_>,
        name: &str,
        matrix: &Csr<f64>,
    ) -> Result<(), Box<dyn Error>> {
        let nnz = matrix.nnz();
        let figures = measure_spmv(bench, matrix, &METHODS)?;
        let [flat, merge_path, vector, warp, auto] =
            METHODS.map(|method| method_ms(&figures, method, name, &mut self.spmv));
        let peer = cusparse_ms(&figures);
        self.series.spmv.take(nnz as f64, flat, peer);
        self.series.spmv_by_merge_path.take(nnz as f64, merge_path, peer);
        self.spmv.row([
            name.into(),
            nnz.into(),
            flat.into(),
            gflops(nnz, flat).into(),
            merge_path.into(),
            gflops(nnz, merge_path).into(),
            vector.into(),
            gflops(nnz, vector).into(),
            warp.into(),
            auto.into(),
            peer.into(),
            gflops(nnz, peer).into(),
            quotient(vector, flat).into(),
            quotient(peer, flat).into(),
            widest_percent(spreads(&figures)).into(),
        ]);
        Ok(())
    }

    fn add(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let sum = sum(bench, name, matrix, &mut self.spadd)?;
        let (operand, repetitions) = ((1.0, matrix), bench.repetitions);
        let (sequential, _) =
            on_threads(1, |device| spadd::measure_on(device, operand, operand, repetitions))?;
        let sequential_ms = right_ms(&sequential, &format!("{name}, one CPU thread"), &mut self.spadd);
        if sum.ms.is_none() || sequential_ms.is_none() {
            return Ok(());
        }
        let (own, peer) = (sum.ms, sum.cusparse_ms);
        let work = 2 * matrix.nnz();
        self.series.spadd.take(work as f64, own, peer);
        self.spadd.row([
            name.into(),
            work.into(),
            own.into(),
            peer.into(),
            sequential_ms.into(),
            quotient(sequential_ms, own).into(),
            quotient(sequential_ms, peer).into(),
            quotient(peer, own).into(),
            widest_percent([sum.own, sequential].into_iter().filter_map(|one| Some(one.timing?.spread)))
                .into(),
        ]);
        Ok(())
    }

    fn multiply(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let (_, b) = Factors::SquareOrOuter.of(matrix)?;
        let products = spgemm::products(matrix, &b);
        if products > bench.most_products {
            self.spgemm.note(format!("{name} was left out: {products} products"));
            return Ok(());
        }
        let figures = spgemm::measure(bench, (matrix, &b), &PRODUCTS, None)?;
        for own in figures.ours.iter().filter(|own| own.ms.is_none()) {
            let error = own.error.as_deref().unwrap_or_default();
            self.spgemm.notes.push(format!("{name}, {}: {error}", own.name));
        }
        let mut times = figures.ours.iter().map(|own| right_ms(own, name, &mut self.spgemm));
        let [own, global, auto] = PRODUCTS.map(|_| times.next().flatten());
        let peer = figures.best_peer("cusparse").map(|(_, ms)| ms);
        let sequential = self.sequential_product(bench, name, (matrix, &b))?;
        let sequential_ms = sequential.as_deref().map(median);
        let spreads = spreads(&figures).chain(sequential.as_deref().map(spread));
        self.series.spgemm.take(products as f64, own, peer);
        self.spgemm.row([
            name.into(),
            products.into(),
            own.into(),
            global.into(),
            auto.into(),
            peer.into(),
            sequential_ms.into(),
            quotient(sequential_ms, own).into(),
            quotient(sequential_ms, global).into(),
            quotient(sequential_ms, auto).into(),
            quotient(sequential_ms, peer).into(),
            quotient(global, own).into(),
            quotient(peer, own).into(),
            quotient(peer, auto).into(),
            widest_percent(spreads).into(),
        ]);
        self.phases.rows.extend(phase_cells(name, &figures));
        Ok(())
    }

    /// Milliseconds of products on one CPU thread; `None` if the result is wrong.
    fn sequential_product(
        &mut self,
        bench: &Bench<'_>,
        name: &str,
        (a, b): (&Csr<f64>, &Csr<f64>),
    ) -> Result<Option<Times>, Box<dyn Error>> {
        let repetitions = bench.repetitions.within(SEQUENTIAL_MS);
        let (times, product) = on_threads(1, |device| {
            let (a, b) = (device.upload(a)?, device.upload(b)?);
            let mut product = None;
            let times = single_times_ms(device, repetitions, || {
                a.spgemm(&b, SpgemmOptions::default()).map(|c| product = Some(c))
            })?;
            Ok((times, product.map(|c| c.download()).transpose()?))
        })?;
        let check = Check::new(a, b);
        match product.map(|c| check.check(c.row_offsets(), c.column_indices(), c.values())) {
            Some(Ok(())) => Ok(Some(times)),
            Some(Err(difference)) => {
                self.spgemm.wrong.push(format!("{name}, one CPU thread: {difference}"));
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The finished tables.
    pub(super) fn finish(self, bench: &Bench<'_>) -> Vec<Table> {
        let Self { mut spmv, mut spadd, mut spgemm, mut phases, series } = self;
        let mut correlations = series.table("Correlation of time with work over Table II");
        if bench.device.kind() == DeviceKind::Cpu {
            spmv.note("the CPU has neither the flat nor the vectorized division");
            correlations.note("the CPU has no flat division");
        }
        if phases.rows.is_empty() {
            phases.note("phases are timed on GPUs only");
        }
        for table in [&mut spmv, &mut spadd, &mut spgemm] {
            table.note(spread_note());
        }
        for table in [&mut spadd, &mut spgemm] {
            table.note("the sequential CPU is evenpath's CPU device on one thread; its products of more than a second are timed once");
        }
        vec![spmv, spadd, spgemm, phases, correlations]
    }
}

/// The phases, in the order of the table.
const PHASES: [&str; 7] =
    ["setup", "block sort", "global sort", "placement", "product compute", "reduce by key", "other"];

/// Percent of the whole product for each phase, if they were timed.
fn phase_cells(name: &str, figures: &Figures) -> Option<Vec<Cell>> {
    let ms = |phase: &str| figures.more.get(&format!("{PHASE}{phase}")).copied();
    let parts = PHASES.into_iter().map(ms).collect::<Option<Vec<f64>>>()?;
    let total: f64 = parts.iter().sum();
    let percent = parts.into_iter().map(|part| Cell::from(100.0 * part / total));
    Some([Cell::from(name), total.into()].into_iter().chain(percent).collect())
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::peers::Peers;

    #[test]
    fn a_gpu_has_every_method_and_phase() {
        let device = Device::simulated(SimulatedOptions::default());
        let peers = Peers::default();
        let bench = Bench::unlimited(&device, &peers, 2);
        let matrix = generate(Kind::Stencil5 { side: 20 }, 1).unwrap();
        let mut operations = Operations::new();
        operations.take(Operations::measure(&bench, "a", &matrix).unwrap());
        let tables = operations.finish(&bench);
        for table in &tables[..4] {
            assert_eq!((table.rows.len(), &table.wrong), (1, &Vec::new()), "{table:?}");
            for (heading, cell) in table.columns.iter().zip(&table.rows[0]) {
                let is_there = *cell != Cell::None;
                assert_eq!(is_there, !heading.contains("cuSPARSE"), "{heading} in {table:?}");
            }
        }
        let number = |cell: &Cell| if let Cell::Number(number) = cell { *number } else { f64::NAN };
        let percent: Vec<f64> = tables[3].rows[0][2..].iter().map(number).collect();
        assert!(percent.iter().all(|&percent| percent >= 0.0), "{percent:?}");
        assert!((percent.iter().sum::<f64>() - 100.0).abs() < 1e-9, "{percent:?}");
        let products = &tables[2];
        let of = |heading: &str| {
            let place = products.columns.iter().position(|column| column == heading);
            number(&products.rows[0][place.expect("a column")])
        };
        for method in ["two-level sort", "global sort", "automatic"] {
            let speed_up = of("one CPU thread, ms") / of(&format!("{method}, ms"));
            let printed = of(&format!("speed-up, {method}"));
            assert!((speed_up / printed - 1.0).abs() < 1e-12, "{method}: {speed_up}, not {printed}");
        }
    }
}
