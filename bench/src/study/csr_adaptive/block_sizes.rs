//! CSR-Adaptive and LightSpMV by threads per block.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::spmv::{SpmvMethod, SpmvOptions};

use crate::operations::Bench;
use crate::operations::spmv::{self, Product, Way, work};
use crate::peers::{PeerValue, Peers};
use crate::study::figures::{SPREAD, nonzeros_per_row, quotient, right_ms, spreads, widest_percent};
use crate::study::name::Study;
use crate::study::published::ADAPTIVE;
use crate::study::table::{Cell, Table};

/// Threads per block, as in the source.
const BLOCK_SIZES: [u32; 4] = [128, 256, 512, 1024];
/// Choice of the source for its other results.
const CHOSEN: usize = 2;

/// A method with a number of threads per block, and the name in the source.
type Method = (fn(Option<u32>) -> SpmvMethod, &'static str);

const METHODS: [Method; 2] = [
    (|block_size| SpmvMethod::CsrAdaptive { block_size }, "CSR-Adaptive"),
    (|block_size| SpmvMethod::Light { lanes: None, block_size }, "LightSpMV"),
];

pub(super) fn table(value: &str) -> Table {
    let rates = METHODS.iter().flat_map(|(_, name)| BLOCK_SIZES.map(|threads| format!("{name}, {threads}")));
    let chosen = BLOCK_SIZES[CHOSEN];
    let ratios = METHODS.map(|(_, name)| format!("{name}, 1024 over {chosen}"));
    let published = METHODS.map(|(_, name)| format!("published {name}, {chosen}"));
    let first = ["matrix", "nonzeros per row"].map(str::to_owned);
    let columns: Vec<String> =
        first.into_iter().chain(rates).chain(ratios).chain(published).chain([SPREAD.to_owned()]).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(
        Study::CsrAdaptive,
        &format!("Both methods by threads per block, GB/s, {value}"),
        "Figures 1 and 2, 128 to 1024 threads; the source has only plots, in which both methods are slower with 1024 threads \
         than with 512. Its rates with 512 follow from Table 2.",
        &columns,
    );
    table.note("as in the source, a row block of CSR-Adaptive has as many nonzeros as the block has threads");
    table.note("rates count every array once, as the source does");
    table
}

/// GB/s by threads per block. `index` is that of the type in the published tables: f32, f64.
pub(super) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<V>,
    index: usize,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    if bench.device.kind() == DeviceKind::Cpu {
        return Ok(());
    }
    let way = |(method, title): Method, threads| {
        let options = SpmvOptions::default().with_method(method(Some(threads)));
        Way::direct(format!("{title}, {threads} threads"), options)
    };
    let ways = METHODS.into_iter().flat_map(|method| BLOCK_SIZES.map(|threads| way(method, threads)));
    let alone = Bench { peers: &Peers::default(), ..*bench };
    let figures = spmv::measure(&alone, matrix, &Product::direct(ways.collect()))?;
    let mut rates = [[None; BLOCK_SIZES.len()]; METHODS.len()];
    for (rate, own) in rates.iter_mut().flatten().zip(&figures.ours) {
        *rate = right_ms(own, name, table).map(|ms| figures.bytes as f64 / ms / 1e6);
    }
    let cells = rates.iter().flatten().map(|&rate| Cell::from(rate));
    let ratios = rates.map(|rates| Cell::from(quotient(rates[BLOCK_SIZES.len() - 1], rates[CHOSEN])));
    table.row(
        [Cell::from(name), nonzeros_per_row(matrix)]
            .into_iter()
            .chain(cells)
            .chain(ratios)
            .chain(published(name, index, work(matrix).bytes))
            .chain([widest_percent(spreads(&figures)).into()]),
    );
    Ok(())
}

/// The published rates of both methods: `bytes` by the times of Table 2. Empty for other matrices.
fn published(name: &str, index: usize, bytes: u64) -> [Cell; METHODS.len()] {
    let Some(matrix) = ADAPTIVE.iter().find(|matrix| matrix.name == name) else {
        return [Cell::None, Cell::None];
    };
    [matrix.over_adaptive, matrix.over_light]
        .map(|over| (bytes as f64 * over[index] / matrix.cpu_seconds[index] / 1e9).into())
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::{Kind, generate};

    use super::*;

    fn measured<V: PeerValue>(device: &Device, kind: Kind) -> Table {
        let peers = Peers::default();
        let bench = Bench::unlimited(device, &peers, 1);
        let matrix: Csr<V> = generate::<f64, u32>(kind, 1).unwrap().into_values();
        let mut table = table(V::NAME);
        measure(&bench, "a", &matrix, 0, &mut table).unwrap();
        assert_eq!(table.wrong, Vec::<String>::new());
        table
    }

    #[test]
    fn every_block_size_gives_the_product() {
        let device = Device::simulated(SimulatedOptions::default());
        for kind in [Kind::Stencil5 { side: 30 }, Kind::Dense { rows: 3, cols: 3000 }] {
            for table in [measured::<f32>(&device, kind), measured::<f64>(&device, kind)] {
                assert_eq!(table.rows.len(), 1);
                for cell in &table.rows[0][2..12] {
                    assert!(matches!(cell, Cell::Number(rate) if *rate > 0.0), "{:?}", table.rows);
                }
            }
        }
        assert_eq!(measured::<f32>(&Device::cpu(), Kind::Stencil5 { side: 3 }).rows.len(), 0);
    }

    #[test]
    fn published_rates_are_those_of_the_text() {
        // "49.628232 and 90.792728" GB/s with 17.96 nonzeros per row, double precision; ratios have two digits.
        let (rows, nonzeros) = (1_508_065, 27_090_195);
        let rates = published("af_shell10", 1, 12 * nonzeros + 20 * rows);
        for (cell, text) in rates.iter().zip([49.63, 90.79]) {
            assert!(matches!(cell, Cell::Number(rate) if (rate / text - 1.0).abs() < 0.01), "{cell}");
        }
        assert_eq!(published("a", 0, 1), [Cell::None, Cell::None]);
    }
}
