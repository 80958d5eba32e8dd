//! Distributed trees: products compared with one device, the partition of leaves, and faults.

use evenpath::{Csr, Value, hisparse};
use evenpath_distributed::error::{Cause, Failure};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedHiSparse, DistributedVec, Error, Rank, Result, RowPartition, generate,
};
use proptest::prelude::*;

use crate::faults::{fail_each_call, results};
use crate::support::{
    Matrix, any_partition, check_same_bits, expected, matrices_of, number, numbers, on_cpu, rough, simulated,
};

/// Several leaves of 32 rows and columns, and more than two levels.
fn matrices() -> impl Strategy<Value = Matrix> {
    let sides = || prop_oneof![1..40_usize, 60..200_usize, 1100..1300_usize];
    matrices_of(sides(), sides())
}

fn plan_options() -> [hisparse::SpmvOptions; 2] {
    [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied]
        .map(|method| hisparse::SpmvOptions::default().with_method(method))
}

/// Both products with a distributed tree, on this rank's device; y is NaN where `beta` is zero.
fn products<V: Value>(
    rank: &Rank,
    a: &DistributedHiSparse<V, 32>,
    (alpha, beta): (V, V),
    options: hisparse::SpmvOptions,
) -> Result<[Option<Vec<V>>; 2]> {
    let x = DistributedVec::from_fn(rank, a.col_partition(), number::<V>)?;
    let z = DistributedVec::from_fn(rank, a.row_partition(), number::<V>)?;
    let before = |index| if beta == V::ZERO { V::from_f64(f64::NAN) } else { number(index) };
    let mut y = DistributedVec::from_fn(rank, a.row_partition(), before)?;
    let mut w = DistributedVec::from_fn(rank, a.col_partition(), before)?;
    let plan = a.plan_spmv(options)?;
    let transposed = a.plan_spmv_transposed(options)?;
    plan.run(alpha, &x, V::ZERO, &mut DistributedVec::zeros(rank, a.row_partition())?)?;
    plan.run(alpha, &x, beta, &mut y)?;
    transposed.run(alpha, &z, beta, &mut w)?;
    Ok([y.gather(0)?, w.gather(0)?])
}

pub(crate) fn check<V: Value>(mut cluster: Cluster, matrix: &Matrix, cuts: Option<&[u64]>) {
    let ranks = cluster.size();
    let a: Csr<V> = matrix.csr();
    let factors = [(2.0, 0.0), (-1.0, 3.0)].map(|(alpha, beta)| (V::from_f64(alpha), V::from_f64(beta)));
    let found = cluster.run(|rank| {
        let a: DistributedHiSparse<V, 32> = match cuts {
            None => DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?,
            Some(cuts) => {
                let rows = any_partition(a.nrows(), ranks, cuts);
                let cols = any_partition(a.ncols(), ranks, &cuts[1..]);
                DistributedCsr::scatter_on(rank, ranks - 1, Some(&a), &rows, &cols)?
                    .to_hisparse(hisparse::Options::default())?
            }
        };
        let mut all = Vec::new();
        for (factors, options) in factors.into_iter().zip(plan_options()) {
            all.push(products(rank, &a, factors, options)?);
        }
        Ok::<_, Error>((all, a.to_csr()?.gather(0)?, a.nnz()?))
    });
    let (found, back, nnz) = found.unwrap().swap_remove(0);
    let wide: Csr<V, u64> = a.clone().try_into_offsets().unwrap();
    assert_eq!((back, nnz), (Some(wide), a.nnz() as u64));
    let (x, z) = (numbers(a.ncols()), numbers(a.nrows()));
    for ((alpha, beta), [y, w]) in factors.into_iter().zip(found) {
        assert_eq!(y, Some(expected(&a, alpha, &x, beta, &z)), "A, beta {beta}");
        assert_eq!(
            w,
            Some(expected(&a.transpose().unwrap(), alpha, &z, beta, &x)),
            "the transpose, beta {beta}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn matches_one_device(matrix in matrices(), ranks in 1..8_usize, cuts in proptest::option::of(proptest::array::uniform4(0..1300_u64))) {
        needs!("cpu");
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        check::<f64>(on_cpu(ranks), &matrix, cuts);
        check::<f32>(on_cpu(ranks), &matrix, cuts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]
    #[test]
    fn matches_one_device_simulated(matrix in matrices_of(60..200_usize, 60..200_usize), cuts in proptest::option::of(proptest::array::uniform4(0..200_u64))) {
        needs!("simulated");
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        check::<f64>(simulated(4), &matrix, cuts);
        check::<f32>(simulated(4), &matrix, cuts);
    }
}

/// More ranks than leaves, and matrices without rows, columns or entries.
#[test]
fn tiny_shapes() {
    needs!("cpu", "simulated");
    for (rows, cols, entries) in [
        (1, 1, vec![(0, 0, 3)]),
        (2, 5, vec![]),
        (33, 1, vec![(2, 0, 1), (32, 0, 2)]),
        (0, 4, vec![]),
        (4, 0, vec![]),
        (0, 0, vec![]),
    ] {
        let matrix = Matrix { rows, cols, entries };
        for ranks in [1, 4, 7] {
            check::<f64>(on_cpu(ranks), &matrix, None);
        }
        check::<f64>(simulated(4), &matrix, None);
    }
}

/// One dense row or column, whose leaves are on all ranks, which no partition by rows could do.
#[test]
fn one_dense_row_and_one_dense_column() {
    needs!("cpu", "simulated");
    let entries: Vec<_> = (0..400).map(|at| (17, at, (at % 7) as i8 + 1)).collect();
    let row = Matrix { rows: 20, cols: 400, entries };
    let entries = row.entries.iter().map(|&(row, col, value)| (col, row, value)).collect();
    let column = Matrix { rows: 400, cols: 20, entries };
    for matrix in [&row, &column] {
        check::<f64>(simulated(4), matrix, None);
        let a: Csr<f64> = matrix.csr();
        let counts = on_cpu(4).run(|rank| {
            let a: DistributedHiSparse<f64, 32> =
                DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
            Ok::<_, Error>((a.local_nnz(), a.row_halo().columns().len(), a.col_halo().columns().len()))
        });
        for (nnz, rows, cols) in counts.unwrap() {
            assert!((84..=116).contains(&nnz), "{nnz} of 400 entries");
            assert!(rows.min(cols) <= 1 && rows.max(cols) <= 116, "{rows} rows and {cols} columns of others");
        }
    }
}

/// More columns than 32 bits can count: leaves that are far apart are adjacent on their ranks.
#[test]
fn large_matrices() {
    needs!("cpu");
    let side = 3_u64 << 31;
    let sums = on_cpu(3).run(|rank| {
        let rows = RowPartition::from_boundaries(vec![0, 0, 5, 5])?;
        let cols = RowPartition::even(side, 3).unwrap();
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            entries.extend([(row, 1.0), (side / 2 + row * 1000, 10.0), (side - 1, 100.0)]);
        };
        let a = DistributedCsr::from_fn_on(rank, &rows, &cols, row)?;
        let a: DistributedHiSparse<f64, 256> = a.to_hisparse(hisparse::Options::default())?;
        assert!(a.local().ncols() + a.non_local().ncols() <= 7 * 256, "{a:?}");
        let back = a.to_csr()?.download()?;
        Ok::<_, Error>((a.nnz()?, back.row(4).0.to_vec()))
    });
    let sums = sums.unwrap();
    assert_eq!(sums[1], (15, vec![4, side / 2 + 4000, side - 1]));
}

/// Elements of x without entries are not used in any product, even if they are NaN and their strip has
/// entries.
#[test]
fn unused_elements_do_not_matter() {
    needs!("cpu", "simulated");
    let entries = [(0, 1, 1.0), (0, 40, 2.0), (70, 1, 4.0), (70, 95, 8.0)];
    let a: Csr<f64> = Csr::from_triplets(96, 96, entries).unwrap();
    for mut cluster in [on_cpu(3), simulated(3)] {
        for options in plan_options() {
            let found = cluster.run(|rank| {
                let a: DistributedHiSparse<f64, 32> =
                    DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
                let value = |index| if [1, 40, 95].contains(&index) { 1.0 } else { f64::NAN };
                let x = DistributedVec::from_fn(rank, a.col_partition(), value)?;
                let mut y = DistributedVec::zeros(rank, a.row_partition())?;
                a.plan_spmv(options)?.run(1.0, &x, 0.0, &mut y)?;
                y.gather(0)
            });
            let y = found.unwrap().swap_remove(0).unwrap();
            assert_eq!((y[0], y[70], y.iter().sum::<f64>()), (3.0, 12.0, 15.0));
        }
    }
}

/// Bits of both products with a tree whose rows are on several ranks, with values whose sums depend on their
/// order.
pub(crate) fn bits(cluster: &mut Cluster) -> Vec<u64> {
    let found = cluster.run(|rank| {
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            entries.extend(
                (0..300)
                    .filter(|col| (row * 7 + col).is_multiple_of(5))
                    .map(|col| (col, rough(row + 31 * col))),
            );
        };
        let a = DistributedCsr::from_fn(rank, 40, 300, row)?;
        let a: DistributedHiSparse<f64, 32> = a.to_hisparse(hisparse::Options::default())?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), rough)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let mut z = DistributedVec::zeros(rank, a.col_partition())?;
        a.plan_spmv(hisparse::SpmvOptions::default())?.run(1.1, &x, 0.0, &mut y)?;
        a.plan_spmv_transposed(hisparse::SpmvOptions::default())?.run(0.9, &y, 0.0, &mut z)?;
        Ok::<_, Error>([y.gather(0)?.unwrap_or_default(), z.gather(0)?.unwrap_or_default()].concat())
    });
    found.unwrap()[0].iter().map(|value| value.to_bits()).collect()
}

#[test]
fn the_same_bits_in_every_run() {
    needs!("cpu", "simulated");
    check_same_bits(bits);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    needs!("cpu");
    let a: Csr<f64> = Csr::from_triplets(6, 4, [(0, 3, 1.0), (5, 0, 2.0)]).unwrap();
    let errors = on_cpu(3).run(|rank| {
        let a: DistributedHiSparse<f64, 32> =
            DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), number::<f64>)?;
        let mut y = DistributedVec::from_fn(rank, a.row_partition(), number::<f64>)?;
        let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
        let transposed = a.plan_spmv_transposed(hisparse::SpmvOptions::default())?;
        let before = y.local().download()?;
        let mut like_x = DistributedVec::zeros(rank, a.col_partition())?;
        let errors = [
            plan.run(1.0, &like_x, 0.0, &mut DistributedVec::zeros(rank, a.col_partition())?),
            transposed.run(1.0, &x, 0.0, &mut like_x),
            transposed.run(1.0, &DistributedVec::zeros(rank, a.row_partition())?, 0.0, &mut y),
        ];
        assert_eq!(y.local().download()?, before);
        plan.run(1.0, &x, 1.0, &mut y)?; // all ranks are still in step
        Ok::<_, Error>(errors.map(|error| error.unwrap_err().to_string()))
    });
    for errors in errors.unwrap() {
        assert!(errors[0].starts_with("y is divided as 4 rows"), "{}", errors[0]);
        assert!(errors[1].starts_with("x is divided as 4 rows"), "{}", errors[1]);
        assert!(errors[2].starts_with("y is divided as 6 rows"), "{}", errors[2]);
    }
    let nothing = on_cpu(2)
        .run(|rank| DistributedHiSparse::<f64>::scatter::<u32>(rank, 1, None, hisparse::Options::default()));
    assert!(matches!(nothing, Err(Error::NothingGiven { rank: 1, .. })), "{nothing:?}");
}

#[test]
fn a_failing_rank_ends_a_product() {
    needs!("cpu");
    let results = results(on_cpu(4), |rank| {
        let grid = generate::Stencil::five_point(16);
        let a = DistributedCsr::from_fn(rank, 256, 256, |row, entries| grid.row(row, entries))?;
        let a: DistributedHiSparse<f64, 32> = a.to_hisparse(hisparse::Options::default())?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
        if rank.index() == 2 {
            return Err(Error::Empty);
        }
        plan.run(1.0, &x, 0.0, &mut y)?;
        rank.barrier()
    });
    assert!(matches!(results[2], Err(Error::Empty)));
    for rank in [0, 1, 3] {
        let Err(Error::Failed(Failure { rank: 2, cause: Cause::Error(_) })) = &results[rank] else {
            panic!("{:?}", results[rank]);
        };
    }
}

/// Each call to a rank's device fails in turn, in the middle of either product.
#[test]
fn a_device_that_fails() {
    needs!("simulated");
    let prepare = |rank: &Rank| {
        let grid = generate::Stencil::five_point(8);
        let a = DistributedCsr::from_fn(rank, 64, 64, |row, entries| grid.row(row, entries))?;
        a.to_hisparse::<32>(hisparse::Options::default())
    };
    fail_each_call(40, |rank, start| {
        let a = prepare(rank)?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0_f64)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let plan = a.plan_spmv(hisparse::SpmvOptions::default())?;
        start()?;
        plan.run(1.0, &x, 0.0, &mut y)?;
        y.dot(&x).map(|_| ())
    });
    fail_each_call(40, |rank, start| {
        let a = prepare(rank)?;
        let x = DistributedVec::from_fn(rank, a.row_partition(), |_| 1.0_f64)?;
        let mut y = DistributedVec::zeros(rank, a.col_partition())?;
        let plan = a.plan_spmv_transposed(hisparse::SpmvOptions::default())?;
        start()?;
        plan.run(1.0, &x, 0.0, &mut y)?;
        y.dot(&x).map(|_| ())
    });
}
