//! α and β in the ranks' device memory: results equal those with the same numbers, to the last bit.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::hisparse;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, Factor, Value};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedDense, DistributedHiSparse, DistributedHiSparseSpmmPlan,
    DistributedHiSparseSpmvPlan, DistributedHiSparseSpmvTransposedPlan, DistributedSpmmPlan,
    DistributedSpmvPlan, DistributedSpmvTransposedPlan, DistributedVec, Error, Rank, Result,
};

use crate::support::{Matrix, number, on_cpu, simulated};

const COLUMNS: usize = 3;

/// Every plan of a matrix.
struct Plans<V: Value> {
    matrix: DistributedCsr<V>,
    even_rows: DistributedCsr<V>,
    spmv: DistributedSpmvPlan<V>,
    transposed: Vec<DistributedSpmvTransposedPlan<V>>,
    spmm: DistributedSpmmPlan<V>,
    tree: DistributedHiSparseSpmvPlan<V, 32>,
    tree_transposed: DistributedHiSparseSpmvTransposedPlan<V, 32>,
    tree_spmm: DistributedHiSparseSpmmPlan<V, 32>,
    cut_rows: DistributedSpmvPlan<V>,
}

/// Threads may share plans.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Plans<f64>>();
};

impl<V: Value> Plans<V> {
    fn new(rank: &Rank, a: &Csr<V>) -> Result<Self> {
        let matrix = DistributedCsr::scatter(rank, 0, Some(a))?;
        let tree: DistributedHiSparse<V, 32> = matrix.to_hisparse(hisparse::Options::default())?;
        let even_rows = matrix.divide_evenly()?;
        let transposed = SpmvTransposedMethod::ALL
            .map(|method| matrix.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method)));
        Ok(Self {
            spmv: matrix.plan_spmv(SpmvOptions::default())?,
            transposed: transposed.into_iter().collect::<Result<_>>()?,
            spmm: matrix.plan_spmm(SpmmOptions::default().with_columns(COLUMNS))?,
            tree: tree.plan_spmv(hisparse::SpmvOptions::default())?,
            tree_transposed: tree.plan_spmv_transposed(hisparse::SpmvOptions::default())?,
            tree_spmm: tree.plan_spmm(COLUMNS, hisparse::SpmmOptions::default())?,
            cut_rows: even_rows.plan_spmv(SpmvOptions::default())?,
            even_rows,
            matrix,
        })
    }

    /// Runs every plan twice, and `axpby`, on elements that are `old` before. Returns this rank's results.
    fn run(&self, alpha: Factor<'_, V>, beta: Factor<'_, V>, old: fn(u64) -> V) -> Result<Vec<V>> {
        let (a, rank) = (&self.matrix, self.matrix.rank());
        let (rows, cols) = (a.row_partition(), a.col_partition());
        let (x, z) =
            (DistributedVec::from_fn(rank, cols, number)?, DistributedVec::from_fn(rank, rows, number)?);
        let b = DistributedDense::from_fn(rank, cols, COLUMNS, |row, col| number(row + 5 * col as u64))?;
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut y = DistributedVec::from_fn(rank, rows, old)?;
            self.spmv.run(alpha, &x, beta, &mut y)?;
            results.extend(y.local().download()?);
            for plan in &self.transposed {
                let mut y = DistributedVec::from_fn(rank, cols, old)?;
                plan.run(alpha, &z, beta, &mut y)?;
                results.extend(y.local().download()?);
            }
            let mut c = DistributedDense::from_fn(rank, rows, COLUMNS, |row, _| old(row))?;
            self.spmm.run(alpha, &b, beta, &mut c)?;
            results.extend(c.local().download()?);
            let mut c = DistributedDense::from_fn(rank, rows, COLUMNS, |row, _| old(row))?;
            self.tree_spmm.run(alpha, &b, beta, &mut c)?;
            results.extend(c.local().download()?);
            let mut y = DistributedVec::from_fn(rank, self.even_rows.row_partition(), old)?;
            self.cut_rows.run(alpha, &x.repartition(self.even_rows.col_partition())?, beta, &mut y)?;
            results.extend(y.local().download()?);
            let mut y = DistributedVec::from_fn(rank, rows, old)?;
            self.tree.run(alpha, &x, beta, &mut y)?;
            results.extend(y.local().download()?);
            let mut y = DistributedVec::from_fn(rank, cols, old)?;
            self.tree_transposed.run(alpha, &z, beta, &mut y)?;
            results.extend(y.local().download()?);
            let mut y = DistributedVec::from_fn(rank, rows, old)?;
            y.axpby(alpha, &z, beta)?;
            results.extend(y.local().download()?);
        }
        Ok(results)
    }
}

/// Compares factors on the device, passed in several ways, with numbers. Sums of small integers are exact.
pub(crate) fn check<V: Value>(mut cluster: Cluster, matrix: &Matrix) {
    let a: Csr<V> = matrix.csr();
    let checked = cluster.run(|rank| {
        let plans = Plans::new(rank, &a)?;
        for (alpha, beta) in [(2.0, 0.0), (-1.0, 3.0), (0.5, -2.0), (0.0, 1.0)] {
            let old = if beta == 0.0 { |_| V::from_f64(f64::NAN) } else { |index| number(index + 3) };
            let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
            let expected = plans.run(alpha.into(), beta.into(), old)?;
            assert!(expected.iter().all(|value| value.is_finite()), "{alpha} and {beta} on {rank:?}");
            let (one_alpha, one_beta) = (rank.device().upload(&[alpha])?, rank.device().upload(&[beta])?);
            // Parts of one vector, one of them negated and one halved.
            let both = rank.device().upload(&[V::ONE, -alpha, beta + beta])?;
            let (negated, doubled) = (both.slice(1..2)?, both.slice(2..)?);
            let halved = Factor::from(&doubled).scaled(V::from_f64(0.5));
            for (name, alpha, beta) in [
                ("both", (&one_alpha).into(), (&one_beta).into()),
                ("alpha", (&one_alpha).into(), beta.into()),
                ("beta", alpha.into(), (&one_beta).into()),
                ("parts", -Factor::from(&negated), halved),
            ] {
                let found = plans.run(alpha, beta, old)?;
                let (found, expected) =
                    (bytemuck::cast_slice::<V, u8>(&found), bytemuck::cast_slice::<V, u8>(&expected));
                assert_eq!(found, expected, "{name}, {alpha:?} and {beta:?} on {rank:?}");
            }
        }
        Ok::<_, Error>(())
    });
    checked.unwrap();
}

/// A matrix with entries of all ranks in most rows, a dense row, and rows without entries.
pub(crate) fn matrix(rows: usize, cols: usize) -> Matrix {
    let mut entries: Vec<_> =
        (0..3 * rows).map(|at| (at * 5 % rows, at * 11 % cols, (at % 7) as i8 - 3)).collect();
    entries.retain(|&(row, ..)| row % 4 != 1);
    entries.extend((0..cols).map(|col| (rows / 2, col, 1)));
    Matrix { rows, cols, entries }
}

#[test]
fn factors_on_the_device_give_the_bits_of_numbers() {
    needs!("cpu");
    for ranks in 1..=4 {
        check::<f64>(on_cpu(ranks), &matrix(70, 90));
        check::<f32>(on_cpu(ranks), &matrix(90, 70));
    }
    check::<f64>(on_cpu(4), &Matrix { rows: 2, cols: 3, entries: vec![(1, 0, 5)] });
}

#[test]
fn factors_on_the_device_give_the_bits_of_numbers_simulated() {
    needs!("simulated");
    for ranks in 1..=4 {
        check::<f64>(simulated(ranks), &matrix(40, 50));
    }
    check::<f32>(simulated(3), &matrix(50, 40));
}

/// Factors of a wrong length or on another device are refused before anything is sent: the ranks stay in
/// step, and y keeps its elements.
#[test]
fn factors_that_do_not_fit_are_refused() {
    needs!("cpu", "simulated");
    let a: Csr<f64> = matrix(12, 12).csr();
    for mut cluster in [on_cpu(3), simulated(3)] {
        let refused = cluster.run(|rank| {
            let plans = Plans::new(rank, &a)?;
            let two = rank.device().upload(&[1.0, 2.0])?;
            let foreign = match rank.device().kind() {
                DeviceKind::Cpu => Device::simulated(SimulatedOptions::default()),
                _ => Device::cpu(),
            };
            let foreign = foreign.upload(&[1.0])?;
            let x = DistributedVec::from_fn(rank, plans.matrix.col_partition(), number)?;
            let mut y = DistributedVec::from_fn(rank, plans.matrix.row_partition(), number::<f64>)?;
            let before = y.local().download()?;
            let errors = [
                plans.spmv.run(&two, &x, 0.0, &mut y),
                plans.spmv.run(1.0, &x, &foreign, &mut y),
                plans.transposed[0].run(1.0, &x, &two, &mut y),
                plans.tree.run(&two, &x, 0.0, &mut y),
                plans.tree_transposed.run(&two, &x, 1.0, &mut y),
                y.axpby(&two, &x, 1.0),
            ];
            assert_eq!(y.local().download()?, before);
            plans.run(2.0.into(), 1.0.into(), number)?;
            Ok::<_, Error>(errors)
        });
        for errors in refused.unwrap() {
            let names = ["alpha", "the other device", "beta", "alpha", "alpha", "alpha"];
            for (name, error) in names.into_iter().zip(errors) {
                let error = error.unwrap_err();
                match &error {
                    Error::Op(OpError::Length { operand, len: 2, needed: 1 }) => assert_eq!(*operand, name),
                    other => assert_eq!(name, "the other device", "{other}"),
                }
            }
        }
    }
}
