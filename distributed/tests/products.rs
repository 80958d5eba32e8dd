//! Products with vectors and dense matrices, compared with one device.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvOptions, SpmvTransposedOptions};
use evenpath::{Csr, Value};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedDense, DistributedSpgemmOptions, DistributedVec, Error, Result,
};
use proptest::prelude::*;

use crate::support::{
    Matrix, any_partition, check_same_bits, expected, matrices, number, numbers, on_cpu, rough, simulated,
};

pub(crate) fn check<V: Value>(mut cluster: Cluster, matrix: &Matrix, cuts: Option<&[u64]>) {
    let a: Csr<V> = matrix.csr();
    let ranks = cluster.size();
    let (alpha, beta) = (V::from_f64(2.0), V::from_f64(-3.0));
    let results = cluster.run(|rank| {
        let given = Some(&a);
        let distributed = match cuts {
            None => DistributedCsr::scatter(rank, ranks / 2, given)?,
            Some(cuts) => {
                let rows = any_partition(a.nrows(), ranks, cuts);
                let cols = any_partition(a.ncols(), ranks, &[cuts[1], cuts[0], 3]);
                DistributedCsr::scatter_on(rank, 0, given, &rows, &cols)?
            }
        };
        let x = DistributedVec::from_fn(rank, distributed.col_partition(), number)?;
        let mut y = DistributedVec::from_fn(rank, distributed.row_partition(), |_| V::from_f64(f64::NAN))?;
        let plan = distributed.plan_spmv(SpmvOptions::default())?;
        plan.run(alpha, &x, V::ZERO, &mut y)?;
        let first = y.gather(0)?;
        let mut y = DistributedVec::from_fn(rank, distributed.row_partition(), number)?;
        plan.run(alpha, &x, beta, &mut y)?;
        let second = y.gather(0)?;

        let x = DistributedVec::from_fn(rank, distributed.row_partition(), number)?;
        let mut y = DistributedVec::from_fn(rank, distributed.col_partition(), number)?;
        distributed.plan_spmv_transposed(SpmvTransposedOptions::default())?.run(alpha, &x, beta, &mut y)?;
        let transposed = y.gather(0)?;

        let columns = 3;
        let element = |row: u64, col: usize| number(row + 5 * col as u64);
        let b = DistributedDense::from_fn(rank, distributed.col_partition(), columns, element)?;
        let mut c = DistributedDense::from_fn(rank, distributed.row_partition(), columns, element)?;
        let options = SpmmOptions::default().with_columns(columns);
        distributed.plan_spmm(options)?.run(alpha, &b, beta, &mut c)?;
        Ok::<_, Error>((first, second, transposed, c.gather(0)?))
    });
    let (first, second, transposed, c) = results.unwrap().swap_remove(0);
    let (x, y) = (numbers(a.ncols()), numbers(a.nrows()));
    assert_eq!(first.unwrap(), expected(&a, alpha, &x, V::ZERO, &y));
    assert_eq!(second.unwrap(), expected(&a, alpha, &x, beta, &y));
    assert_eq!(transposed.unwrap(), expected(&a.transpose().unwrap(), alpha, &y, beta, &x));
    let c = c.unwrap();
    for col in 0..3 {
        let column =
            |rows: usize| -> Vec<V> { (0..rows as u64).map(|row| number(row + 5 * col as u64)).collect() };
        let found: Vec<V> = c.iter().skip(col).step_by(3).copied().collect();
        assert_eq!(found, expected(&a, alpha, &column(a.ncols()), beta, &column(a.nrows())), "column {col}");
    }
}

proptest! {
    #[test]
    fn matches_one_device(matrix in matrices(), ranks in 1..8_usize, cuts in proptest::option::of(proptest::array::uniform4(0..60_u64))) {
        needs!("cpu");
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        check::<f64>(on_cpu(ranks), &matrix, cuts);
        check::<f32>(on_cpu(ranks), &matrix, cuts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn matches_one_device_simulated(matrix in matrices(), cuts in proptest::option::of(proptest::array::uniform4(0..60_u64))) {
        needs!("simulated");
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        check::<f64>(simulated(4), &matrix, cuts);
        check::<f32>(simulated(4), &matrix, cuts);
    }
}

/// More ranks than rows, and matrices without rows, columns or entries.
#[test]
fn tiny_shapes() {
    needs!("cpu", "simulated");
    for (rows, cols, entries) in [
        (1, 1, vec![(0, 0, 3)]),
        (2, 5, vec![]),
        (3, 1, vec![(2, 0, 1)]),
        (0, 4, vec![]),
        (4, 0, vec![]),
        (0, 0, vec![]),
    ] {
        for ranks in [1, 4, 7] {
            check::<f64>(on_cpu(ranks), &Matrix { rows, cols, entries: entries.clone() }, None);
        }
        check::<f64>(simulated(4), &Matrix { rows, cols, entries }, None);
    }
}

pub(crate) fn bits(cluster: &mut Cluster) -> Vec<u64> {
    let side = 12;
    let run = |rank: &evenpath_distributed::Rank| -> Result<Vec<f64>> {
        let grid = evenpath_distributed::generate::Stencil::five_point(side);
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            grid.row(row, entries);
            for entry in entries.iter_mut() {
                entry.1 *= rough(row + 31 * entry.0);
            }
        };
        let a = DistributedCsr::from_fn(rank, grid.nrows(), grid.nrows(), row)?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), rough)?;
        let (mut y, mut z) = (
            DistributedVec::zeros(rank, a.row_partition())?,
            DistributedVec::zeros(rank, a.col_partition())?,
        );
        a.plan_spmv(SpmvOptions::default())?.run(1.1, &x, 0.0, &mut y)?;
        a.plan_spmv_transposed(SpmvTransposedOptions::default())?.run(0.9, &y, 0.0, &mut z)?;
        let mut all = vec![z.dot(&x)?, y.norm2()?];
        all.extend(z.gather(0)?.unwrap_or_default());
        Ok(all)
    };
    cluster.run(run).unwrap()[0].iter().map(|value| value.to_bits()).collect()
}

#[test]
fn the_same_bits_in_every_run() {
    needs!("cpu", "simulated");
    check_same_bits(bits);
}

/// Sums whose bits depend on the order.
#[test]
fn sums_are_the_same_on_all_ranks() {
    needs!("cpu");
    let values = [1e16, 1.0, -1e16, 1.0];
    let sums = on_cpu(4).run(|rank| rank.sum(values[rank.index()])).unwrap();
    assert_eq!(sums, [((1e16 + 1.0) - 1e16) + 1.0; 4]);
    assert_ne!(sums[0], ((1.0 - 1e16) + 1.0) + 1e16, "another order gives other bits");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    needs!("cpu");
    let mut cluster = on_cpu(3);
    let a: Csr<f64> = Csr::from_triplets(6, 4, [(0, 3, 1.0), (5, 0, 2.0)]).unwrap();
    let errors = cluster.run(|rank| {
        let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), number::<f64>)?;
        let mut y = DistributedVec::from_fn(rank, a.row_partition(), number::<f64>)?;
        let plan = a.plan_spmv(SpmvOptions::default())?;
        let before = y.local().download()?;
        let errors = [
            plan.run(1.0, &y, 0.0, &mut DistributedVec::zeros(rank, a.row_partition())?)
                .unwrap_err()
                .to_string(),
            plan.run(1.0, &x, 0.0, &mut DistributedVec::zeros(rank, a.col_partition())?)
                .unwrap_err()
                .to_string(),
            y.axpby(1.0, &x, 1.0).unwrap_err().to_string(),
            a.spadd(1.0, &a.transpose()?, 1.0).unwrap_err().to_string(),
            a.spgemm(&a, DistributedSpgemmOptions::default()).unwrap_err().to_string(),
            rank.broadcast(3, &[1_u8]).unwrap_err().to_string(),
        ];
        assert_eq!(y.local().download()?, before);
        plan.run(1.0, &x, 1.0, &mut y)?; // all ranks are still in step
        Ok::<_, Error>(errors)
    });
    for errors in errors.unwrap() {
        assert!(errors[0].starts_with("x is divided as 6 rows"), "{}", errors[0]);
        assert!(errors[1].starts_with("y is divided as 4 rows"), "{}", errors[1]);
        assert!(errors[2].starts_with("x is divided as"), "{}", errors[2]);
        assert!(
            errors[3].starts_with("the rows of B is divided") || errors[3].starts_with("the rows of B"),
            "{}",
            errors[3]
        );
        assert!(errors[4].starts_with("B is divided"), "{}", errors[4]);
        assert_eq!(errors[5], "rank 3 does not exist: the cluster has 3 ranks");
    }
}

#[test]
fn operands_of_another_run_are_refused() {
    needs!("cpu");
    let mut cluster = on_cpu(1);
    let partition = evenpath_distributed::RowPartition::even(3, 1).unwrap();
    let old = cluster.run(|rank| DistributedVec::<f64>::zeros(rank, &partition)).unwrap().swap_remove(0);
    let error = cluster.run(|rank| DistributedVec::zeros(rank, &partition)?.dot(&old)).unwrap_err();
    assert!(matches!(error, Error::OtherRun { .. }), "{error}");
}
