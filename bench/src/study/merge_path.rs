use std::collections::BTreeMap;
use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::generate::{Kind, Published};
use evenpath::spgemm::SpgemmMethod;
use evenpath::spmv::SpmvMethod;

use super::published::MERGE_PATH_CORRELATION;
use super::{Bench, Cell, Report, Study, Table, correlation, cusparse_ms, gflops, method_ms, quotient};
use crate::measure::median;
use crate::primitives::{self, Case, Figures, Outcome, Selection};
use crate::spadd;
use crate::spgemm::{self, other_factor};

const STUDY: Study = Study::MergePath;

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    report(unions(bench)?)?;
    report(block_sorts(bench)?)?;
    let mut operations = Operations::new();
    let mut notes = Vec::new();
    let matrices = Published::table2().map(|matrix| Kind::Like { matrix });
    bench.each_matrix(matrices, &mut notes, |name, matrix| operations.measure(bench, name, &matrix))?;
    for mut table in operations.finish() {
        table.notes.extend(notes.iter().cloned());
        report(table)?;
    }
    Ok(())
}

fn primitives(
    bench: &Bench<'_>,
    op: &str,
    table: &mut Table,
) -> Result<Vec<(Case, Figures)>, Box<dyn Error>> {
    let selection = Selection { log2: None, ops: vec![op.into()], repetitions: 11 };
    let mut found = Vec::new();
    primitives::measure(bench.device, bench.copy_gbps, &selection, &mut |outcome| match outcome {
        Outcome::LeftOut(reason) => table.note(reason),
        Outcome::Measured(measurement) => match measurement.difference {
            Some(difference) => table.wrong.push(format!("{op}: {difference}")),
            None => found.push((measurement.case, measurement.figures)),
        },
    })?;
    Ok(found)
}

/// Union of sorted sets, by size and type.
fn unions(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        STUDY,
        "Union of sorted sets, 10⁹ elements per second",
        "Figure 2; the source has only a plot.",
        &["elements of both sets"],
    );
    let mut kinds: Vec<(String, String)> = Vec::new();
    let mut sizes: BTreeMap<u64, BTreeMap<usize, f64>> = BTreeMap::new();
    for (case, figures) in primitives(bench, "set_union", &mut table)? {
        let (Case::Sequence { op, key, value, n }, Figures::Sequence { gkeys_s, .. }) = (case, figures)
        else {
            continue;
        };
        if !["set_union", "set_union_by_key"].contains(&op.as_str()) {
            continue;
        }
        let kind = kinds.iter().position(|kind| *kind == (key.clone(), value.clone()));
        let kind = kind.unwrap_or_else(|| {
            table.columns.push(if value == "-" { key.clone() } else { format!("{key} with {value}") });
            kinds.push((key, value));
            kinds.len() - 1
        });
        sizes.entry(n).or_default().insert(kind, gkeys_s);
    }
    for (n, rates) in sizes {
        let rates = (0..kinds.len()).map(|kind| Cell::from(rates.get(&kind).copied()));
        table.row([Cell::from(n)].into_iter().chain(rates));
    }
    Ok(table)
}

/// Clock cycles of a block's radix sort, by number of bits.
fn block_sorts(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        STUDY,
        "Clock cycles of a block's radix sort",
        "Figure 4, blocks of 128 threads with 11 entries each; the source has only a plot. It says that one pass \
         over pairs takes about half of two, and that keys with their permutation in the upper bits are faster still.",
        &["bits", "pairs", "keys", "keys with permutation", "ratio to pairs"],
    );
    let mut bits: BTreeMap<u32, [Option<f64>; 3]> = BTreeMap::new();
    for (case, figures) in primitives(bench, "cta_radix_sort", &mut table)? {
        if let (Case::Tile { op, bits: count }, Figures::Tile { cycles_full, .. }) = (case, figures) {
            let names = ["pairs", "keys", "permutation"];
            if let Some(kind) = names.iter().position(|name| op.ends_with(name)) {
                bits.entry(count).or_default()[kind] = Some(f64::from(cycles_full));
            }
        }
    }
    for (bits, [pairs, keys, permutation]) in bits {
        let over = quotient(permutation, pairs);
        table.row([u64::from(bits).into(), pairs.into(), keys.into(), permutation.into(), over.into()]);
    }
    if bench.device.kind() == DeviceKind::Cpu {
        table.note("the CPU has no blocks");
    }
    Ok(table)
}

/// The tables over Table II.
struct Operations {
    spmv: Table,
    spadd: Table,
    spgemm: Table,
    phases: Table,
    /// Work and time of each operation, for evenpath and cuSPARSE.
    times: [[Vec<(f64, f64)>; 2]; 3],
}

impl Operations {
    fn new() -> Self {
        Self {
            spmv: Table::new(
                STUDY,
                "SpMV over Table II, f64",
                "Figure 5; the source has only a plot.",
                &[
                    "matrix",
                    "nonzeros",
                    "merge path, ms",
                    "GFLOP/s",
                    "automatic, ms",
                    "cuSPARSE CSR, ms",
                    "over merge path",
                ],
            ),
            spadd: Table::new(
                STUDY,
                "SpAdd over Table II, A + A, f64",
                "Figure 7; the source has only a plot.",
                &["matrix", "nonzeros of both", "merge path, ms", "cuSPARSE, ms", "over merge path"],
            ),
            spgemm: Table::new(
                STUDY,
                "SpGEMM over Table II, AA (lp: AAᵀ), f64",
                "Figure 9; the source has only a plot. Its GPU did not have enough memory for the dense matrix.",
                &[
                    "matrix",
                    "products",
                    "two-level sort, ms",
                    "automatic, ms",
                    "cuSPARSE, ms",
                    "over two-level sort",
                    "over automatic",
                ],
            ),
            phases: Table::new(
                STUDY,
                "Two-level sort by phase, percent of the time",
                "Figure 11; the source has only a plot: the two sorts and the product are the bulk.",
                &[
                    "matrix",
                    "ms",
                    "setup",
                    "block sort",
                    "global sort",
                    "placement",
                    "product compute",
                    "reduce by key",
                ],
            ),
            times: Default::default(),
        }
    }

    fn take(&mut self, operation: usize, work: f64, own_ms: Option<f64>, peer_ms: Option<f64>) {
        let [own, peer] = &mut self.times[operation];
        own.extend(own_ms.map(|ms| (work, ms)));
        peer.extend(peer_ms.map(|ms| (work, ms)));
    }

    fn measure(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let nnz = matrix.nnz();
        let record = bench.spmv(name, matrix, &[SpmvMethod::MergePath, SpmvMethod::Auto])?;
        let own = method_ms(&record, SpmvMethod::MergePath, &mut self.spmv);
        let auto = method_ms(&record, SpmvMethod::Auto, &mut self.spmv);
        let peer = cusparse_ms(&record);
        self.take(0, nnz as f64, own, peer);
        self.spmv.row([
            name.into(),
            nnz.into(),
            own.into(),
            gflops(nnz, own).into(),
            auto.into(),
            peer.into(),
            quotient(peer, own).into(),
        ]);
        self.add(bench, name, matrix)?;
        self.multiply(bench, name, matrix)
    }

    fn add(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let operand = (1.0, matrix);
        let sum = spadd::measure(bench.device, operand, operand, bench.repetitions)?;
        if let Err(difference) = spadd::check(operand, operand, &sum.result) {
            self.spadd.wrong.push(format!("{name}: {difference}"));
            return Ok(());
        }
        let own = Some(sum.whole.ms);
        let peer = bench.peers.cusparse().map(|library| {
            let peer = library.measure_spadd(operand, operand, bench.repetitions)?;
            Ok::<_, Box<dyn Error>>(median(&peer.whole_ms))
        });
        let peer = peer.transpose()?;
        let work = 2 * matrix.nnz();
        self.take(1, work as f64, own, peer);
        self.spadd.row([name.into(), work.into(), own.into(), peer.into(), quotient(peer, own).into()]);
        Ok(())
    }

    fn multiply(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let b = other_factor(matrix);
        let products = spgemm::products(matrix, &b);
        if products > bench.most_products {
            self.spgemm.note(format!("{name} was left out: {products} products"));
            return Ok(());
        }
        let case = spgemm::Case {
            device: bench.device,
            methods: &[SpgemmMethod::TwoLevelSort, SpgemmMethod::Auto],
            cusparse: bench.peers.cusparse(),
            memory_limit: None,
            repetitions: bench.repetitions,
            suite: "-",
            matrix: name,
        };
        let record = spgemm::measure(&case, matrix, &b)?;
        let mut times = record.methods.iter().map(|method| {
            if let spgemm::Outcome::Failed { error } = &method.outcome {
                self.spgemm.notes.push(format!("{name}, {}: {error}", method.method));
            } else if method.outcome.right().is_none() {
                self.spgemm.wrong.push(format!("{name}, {}", method.method));
            }
            method.outcome.right().map(|figures| figures.ms)
        });
        let (own, auto) = (times.next().flatten(), times.next().flatten());
        let peer = record.best_peer().map(|(_, figures)| figures.ms);
        self.take(2, products as f64, own, peer);
        self.spgemm.row([
            name.into(),
            products.into(),
            own.into(),
            auto.into(),
            peer.into(),
            quotient(peer, own).into(),
            quotient(peer, auto).into(),
        ]);
        if let Some(phases) = record.phases {
            let parts = [
                phases.setup,
                phases.block_sort,
                phases.global_sort,
                phases.placement,
                phases.product_compute,
                phases.reduce_by_key,
            ];
            let total: f64 = parts.iter().sum();
            let shares = parts.map(|part| Cell::from(100.0 * part / total));
            self.phases.row([Cell::from(name), total.into()].into_iter().chain(shares));
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Table> {
        let mut correlations = Table::new(
            STUDY,
            "Correlation of time with work over Table II",
            "Figures 6, 8 and 10: merge path on a GTX Titan.",
            &["operation", "evenpath", "published", "cuSPARSE, beside"],
        );
        for ((operation, published), [own, peer]) in MERGE_PATH_CORRELATION.into_iter().zip(&self.times) {
            correlations.row([
                operation.into(),
                correlation(own).into(),
                published.into(),
                correlation(peer).into(),
            ]);
        }
        correlations
            .note("SpMV and SpAdd by merge path, SpGEMM by two-level sort, even if other methods are faster");
        if self.phases.rows.is_empty() {
            self.phases.note("phases are timed on GPUs only");
        }
        vec![self.spmv, self.spadd, self.spgemm, self.phases, correlations]
    }
}
