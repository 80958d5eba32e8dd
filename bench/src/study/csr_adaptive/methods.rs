//! The methods beside each other, and beside the CPU.

use std::error::Error;

use evenpath::Csr;
use evenpath::ell::PaddingLimit;
use evenpath::spmv::SpmvMethod;

use crate::operations::Bench;
use crate::operations::spmv::{self, Product, Way};
use crate::operations::threads::spmv_on_threads;
use crate::peers::PeerValue;
use crate::results::Figures;
use crate::study::figures::{
    SPREAD, cusparse_ms, method_ms, nonzeros_per_row, quotient, right_ms, spreads, widest_percent,
};
use crate::study::name::Study;
use crate::study::table::{Cell, Table};

const ADAPTIVE_METHOD: SpmvMethod = SpmvMethod::CsrAdaptive { block_size: None };
const LIGHT: SpmvMethod = SpmvMethod::Light { lanes: None, block_size: None };
const METHODS: [SpmvMethod; 5] =
    [ADAPTIVE_METHOD, LIGHT, SpmvMethod::Vector { lanes: None }, SpmvMethod::Scalar, SpmvMethod::Auto];

pub(super) fn table(value: &str) -> Table {
    Table::new(
        Study::CsrAdaptive,
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
    let methods = METHODS.into_iter().filter(|method| method.runs_on(bench.device.kind())).map(Way::method);
    let ways = methods.chain([Way::ell(PaddingLimit::default())]).collect();
    let figures = spmv::measure(bench, matrix, &Product::direct(ways))?;
    let [adaptive, light, vector, scalar, auto] =
        METHODS.map(|method| method_ms(&figures, method, name, table));
    let ell = figures.own("ELL").and_then(|own| right_ms(own, name, table));
    if let Some(own) = figures.own("ELL").filter(|own| own.ms.is_none()) {
        table.note(format!("{name}: {}", own.error.as_deref().unwrap_or_default()));
    }
    let threads = std::thread::available_parallelism()?.get();
    let on_cpu = spmv_on_threads(threads, matrix, SpmvMethod::Auto, bench.repetitions)?;
    let cpu = right_ms(&on_cpu, &format!("{name}, CPU"), table);
    let spread = widest_percent(spreads(&figures).chain(on_cpu.timing.map(|timing| timing.spread)));
    table.row([
        name.into(),
        nonzeros_per_row(matrix),
        adaptive.into(),
        light.into(),
        quotient(adaptive, light).into(),
        cpu.into(),
        quotient(cpu, adaptive).into(),
        quotient(cpu, light).into(),
        largest_difference(&figures, ADAPTIVE_METHOD),
        largest_difference(&figures, LIGHT),
        vector.into(),
        scalar.into(),
        ell.into(),
        auto.into(),
        cusparse_ms(&figures).into(),
        spread.into(),
    ]);
    Ok(())
}

/// The largest difference of a method's result to the product in f64; empty if the device does not have the method.
fn largest_difference(figures: &Figures, method: SpmvMethod) -> Cell {
    match figures.own(&method.to_string()).filter(|own| own.ms.is_some()) {
        None => Cell::None,
        Some(own) => own.largest_difference.map_or_else(|| "infinite".into(), Cell::from),
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;
    use crate::peers::Peers;

    /// The table of a small matrix, whose results are right.
    fn measured<V: PeerValue>(device: &Device, kind: Kind) -> Table {
        let peers = Peers::default();
        let bench = Bench::unlimited(device, &peers, 2);
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
