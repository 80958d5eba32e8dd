//! The methods beside each other, and beside the CPU.

use std::error::Error;

use evenpath::ell::PaddingLimit;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};

use super::{STUDY, nonzeros_per_row};
use crate::input::random_vector;
use crate::measure::{Measurement, times_ms};
use crate::peers::PeerValue;
use crate::operations::spmv::{Reference, work};
use crate::study::cpu::on_threads;
use crate::study::{Bench, Cell, SPREAD, Table, cusparse_ms, method_ms, quotient, spreads, widest_percent};

const METHODS: [SpmvMethod; 5] =
    [SpmvMethod::CsrAdaptive, SpmvMethod::Light, SpmvMethod::Vector, SpmvMethod::Scalar, SpmvMethod::Auto];

pub(super) fn table(value: &str) -> Table {
    Table::new(
        STUDY,
        &format!("Methods, milliseconds, {value}"),
        "Table 2, on a GTX 1050 Ti beside 8 threads; its figures are above.",
        &[
            "matrix",
            "nonzeros per row",
            "CSR-Adaptive",
            "LightSpMV",
            "CSR-Adaptive over LightSpMV",
            "CPU, all threads",
            "CPU over CSR-Adaptive",
            "CPU over LightSpMV",
            "largest difference, CSR-Adaptive",
            "largest difference, LightSpMV",
            "vector",
            "scalar",
            "ELL",
            "automatic",
            "cuSPARSE CSR",
            SPREAD,
        ],
    )
}

pub(super) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let record = bench.spmv(name, matrix, &METHODS)?;
    let [adaptive, light, vector, scalar, auto] = METHODS.map(|method| method_ms(&record, method, table));
    let x = random_vector::<V>(matrix.cols(), 1);
    let reference = Reference::new(matrix, &x)?;
    let differs = |method| largest_difference(bench, matrix, &x, &reference, method);
    let (adaptive_differs, light_differs) = (differs(SpmvMethod::CsrAdaptive)?, differs(SpmvMethod::Light)?);
    let case = Case { bench, name, matrix, x: &x, reference: &reference };
    let (cpu, ell) = (case.cpu(table)?, case.ell(table)?);
    let own_spreads = [Some(&cpu), ell.as_ref()].into_iter().flatten().map(|measured| measured.timing.spread);
    let spread = widest_percent(spreads(&record).chain(own_spreads));
    let cpu = Some(cpu.ms);
    table.row([
        name.into(),
        nonzeros_per_row(matrix),
        adaptive.into(),
        light.into(),
        quotient(adaptive, light).into(),
        cpu.into(),
        quotient(cpu, adaptive).into(),
        quotient(cpu, light).into(),
        adaptive_differs,
        light_differs,
        vector.into(),
        scalar.into(),
        ell.map(|measured| measured.ms).into(),
        auto.into(),
        cusparse_ms(&record).into(),
        spread.into(),
    ]);
    Ok(())
}

/// The largest difference of a method's result to the product in f64; empty if the device does not have the method.
fn largest_difference<V: PeerValue>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    x: &[V],
    reference: &Reference,
    method: SpmvMethod,
) -> Result<Cell, Box<dyn Error>> {
    if !method.runs_on(bench.device.kind()) {
        return Ok(Cell::None);
    }
    let plan = bench.device.upload(matrix)?.plan_spmv(SpmvOptions::default().with_method(method))?;
    let mut y: DeviceVec<V> = bench.device.zeros(matrix.rows())?;
    plan.run(V::ONE, &bench.device.upload(x)?, V::ZERO, &mut y)?;
    let difference = reference.largest_difference(&y.download()?);
    Ok(if difference.is_finite() { difference.into() } else { "infinite".into() })
}

/// A product, with what its results are compared with.
struct Case<'c, V: PeerValue> {
    bench: &'c Bench<'c>,
    name: &'c str,
    matrix: &'c Csr<V>,
    x: &'c [V],
    reference: &'c Reference,
}

impl<V: PeerValue> Case<'_, V> {
    fn check(&self, what: &str, y: &[V], table: &mut Table) {
        if let Err(difference) = self.reference.check(y) {
            table.wrong.push(format!("{}, {what}: {difference}", self.name));
        }
    }

    /// CSR on all threads of the CPU.
    fn cpu(&self, table: &mut Table) -> Result<Measurement, Box<dyn Error>> {
        let (matrix, x, repetitions) = (self.matrix, self.x, self.bench.repetitions);
        let threads = std::thread::available_parallelism()?.get();
        let (times, y) = on_threads(threads, |device| {
            let plan = device.upload(matrix)?.plan_spmv(SpmvOptions::default())?;
            let (x, mut y) = (device.upload(x)?, device.zeros::<V>(matrix.rows())?);
            let times = times_ms(device, repetitions, || plan.run(V::ONE, &x, V::ZERO, &mut y))?;
            Ok((times, y.download()?))
        })?;
        self.check("CPU", &y, table);
        Ok(Measurement::new(work(matrix), &times))
    }

    /// ELL; `None`, with a note, if padding exceeds the limit.
    fn ell(&self, table: &mut Table) -> Result<Option<Measurement>, Box<dyn Error>> {
        let device = self.bench.device;
        let ell = match self.matrix.to_ell(PaddingLimit::default()) {
            Ok(ell) => device.upload(&ell)?,
            Err(error) => {
                table.note(format!("{}: {error}", self.name));
                return Ok(None);
            }
        };
        let (x, mut y) = (device.upload(self.x)?, device.zeros::<V>(self.matrix.rows())?);
        let times = times_ms(device, self.bench.repetitions, || ell.spmv(V::ONE, &x, V::ZERO, &mut y))?;
        self.check("ELL", &y.download()?, table);
        Ok(Some(Measurement::new(work(self.matrix), &times)))
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::operations::spmv::Peers;

    /// The table of a small matrix, whose results are right.
    fn measured<V: PeerValue>(device: &Device, kind: Kind) -> Table {
        let peers = Peers::default();
        let bench = Bench::small(device, &peers, 2);
        let matrix: Csr<V> = generate::<f64, u32>(kind, 1).unwrap().into_values();
        let mut table = table(V::NAME);
        measure(&bench, "a", &matrix, &mut table).unwrap();
        assert_eq!((table.rows.len(), &table.wrong), (1, &Vec::new()), "{table:?}");
        table
    }

    fn every_column_is_measured<V: PeerValue>(device: &Device, missing: &[&str]) {
        let table = measured::<V>(device, Kind::Stencil5 { side: 30 });
        for (heading, cell) in table.columns.iter().zip(&table.rows[0]) {
            let is_missing = missing.iter().any(|part| heading.contains(part));
            assert_eq!(*cell == Cell::None, is_missing, "{heading}: {table:?}");
            if let (true, Cell::Number(difference)) = (heading.starts_with("largest"), cell) {
                // Five terms of at most 1.
                assert!(*difference < if V::NAME == "f32" { 4e-6 } else { 8e-15 }, "{table:?}");
            }
        }
    }

    #[test]
    fn rows_have_what_the_device_has() {
        let gpu = Device::simulated(SimulatedOptions::default());
        every_column_is_measured::<f32>(&gpu, &["cuSPARSE"]);
        every_column_is_measured::<f64>(&gpu, &["cuSPARSE"]);
        let missing = ["cuSPARSE", "CSR-Adaptive", "LightSpMV", "vector", "scalar"];
        every_column_is_measured::<f64>(&Device::cpu(), &missing);
    }

    #[test]
    fn other_shapes_are_right_too() {
        let gpu = Device::simulated(SimulatedOptions::default());
        for kind in [Kind::PowerLaw { rows: 500 }, Kind::Dense { rows: 3, cols: 3000 }] {
            measured::<f32>(&gpu, kind);
            measured::<f64>(&gpu, kind);
        }
    }
}
