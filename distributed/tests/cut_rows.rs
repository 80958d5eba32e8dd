//! Rows that are cut between ranks: products compared with one device, the evenness of the division, operations
//! that are refused, and faults.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvOptions, SpmvTransposedOptions};
use evenpath::{Csr, Value, hisparse};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedDense, DistributedSpgemmOptions, DistributedVec, Error, Rank, Result,
    RowBlock, RowPartition,
};
use proptest::prelude::*;

use crate::faults::fail_each_call;
use crate::support::{
    Matrix, any_partition, check_same_bits, expected, matrices, number, numbers, on_cpu, rough, simulated,
};

/// Products with vectors, the transpose and dense matrices of two columns; y is NaN where `beta` is zero.
fn products<V: Value>(a: &DistributedCsr<V>, (alpha, beta): (V, V)) -> Result<[Option<Vec<V>>; 3]> {
    let rank = a.rank();
    let (rows, cols) = (a.row_partition(), a.col_partition());
    let before = |index| if beta == V::ZERO { V::from_f64(f64::NAN) } else { number(index) };
    let (x, z) = (DistributedVec::from_fn(rank, cols, number)?, DistributedVec::from_fn(rank, rows, number)?);
    let mut y = DistributedVec::from_fn(rank, rows, before)?;
    let mut w = DistributedVec::from_fn(rank, cols, before)?;
    let b = DistributedDense::from_fn(rank, cols, 2, |row, col| number(row + 5 * col as u64))?;
    let mut c = DistributedDense::from_fn(rank, rows, 2, |row, col| before(row + 5 * col as u64))?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    plan.run(alpha, &x, V::ZERO, &mut DistributedVec::zeros(rank, rows)?)?;
    plan.run(alpha, &x, beta, &mut y)?;
    a.plan_spmv_transposed(SpmvTransposedOptions::default())?.run(alpha, &z, beta, &mut w)?;
    a.plan_spmm(SpmmOptions::default().with_columns(2))?.run(alpha, &b, beta, &mut c)?;
    Ok([y.gather(0)?, w.gather(0)?, c.gather(0)?])
}

/// Rows plus nonzeros of each rank differ from an even share by one, at most.
fn check_evenness<V: Value>(rank: &Rank, a: &DistributedCsr<V>, nnz: u64) -> Result<()> {
    let info = a.plan_spmv(SpmvOptions::default())?.info()?;
    assert_eq!(info.nonzeros(), a.local_nnz() as u64);
    assert_eq!(info.cut_row.is_some(), a.has_cut_rows());
    let work = info.nonzeros() + a.row_partition().len(rank.index());
    let even = (nnz + a.nrows()) / rank.size() as u64;
    // The end of a cut row is on its last rank, but the row is of its first.
    assert!(work.abs_diff(even) <= 2, "{work} of {even} on {rank:?}");
    assert_eq!(a.nnz()?, nnz);
    Ok(())
}

pub(crate) fn check<V: Value>(mut cluster: Cluster, matrix: &Matrix, cuts: Option<&[u64]>) {
    let ranks = cluster.size();
    let a: Csr<V> = matrix.csr();
    let factors = [(2.0, 0.0), (-1.0, 3.0)].map(|(alpha, beta)| (V::from_f64(alpha), V::from_f64(beta)));
    let found = cluster.run(|rank| {
        let whole = match cuts {
            None => DistributedCsr::scatter(rank, 0, Some(&a))?,
            Some(cuts) => {
                let rows = any_partition(a.nrows(), ranks, cuts);
                let cols = any_partition(a.ncols(), ranks, &cuts[1..]);
                DistributedCsr::scatter_on(rank, ranks - 1, Some(&a), &rows, &cols)?
            }
        };
        let even = whole.divide_evenly()?;
        if whole.row_partition() == whole.col_partition() {
            assert_eq!(even.row_partition(), even.col_partition());
        } else {
            assert_eq!(even.col_partition(), whole.col_partition());
        }
        check_evenness(rank, &even, a.nnz() as u64)?;
        let same =
            DistributedCsr::from_rows_evenly(rank, whole.row_partition(), whole.ncols(), whole.download()?)?;
        check_evenness(rank, &same, a.nnz() as u64)?;
        assert_eq!(same.row_partition(), even.row_partition());
        let again = even.divide_evenly()?;
        assert_eq!(again.local_nnz(), even.local_nnz());
        let back = even.whole_rows()?;
        assert!(!back.has_cut_rows() && back.row_partition() == even.row_partition());
        let mut all = Vec::new();
        for matrix in [&even, &same] {
            for factors in factors {
                all.push(products(matrix, factors)?);
            }
        }
        Ok::<_, Error>((all, back.gather(0)?))
    });
    let (found, back) = found.unwrap().swap_remove(0);
    let wide: Csr<V, u64> = a.clone().try_into_offsets().unwrap();
    assert_eq!(back, Some(wide));
    let (x, z) = (numbers(a.ncols()), numbers(a.nrows()));
    for ((alpha, beta), [y, w, c]) in factors.into_iter().cycle().zip(found) {
        assert_eq!(y, Some(expected(&a, alpha, &x, beta, &z)), "A, beta {beta}");
        let transposed = expected(&a.transpose().unwrap(), alpha, &z, beta, &x);
        assert_eq!(w, Some(transposed), "the transpose, beta {beta}");
        let c = c.unwrap();
        for col in 0..2 {
            let column =
                |len: usize| -> Vec<V> { (0..len as u64).map(|row| number(row + 5 * col as u64)).collect() };
            let found: Vec<V> = c.iter().skip(col).step_by(2).copied().collect();
            let expected = expected(&a, alpha, &column(a.ncols()), beta, &column(a.nrows()));
            assert_eq!(found, expected, "column {col}");
        }
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
    #![proptest_config(ProptestConfig::with_cases(3))]
    #[test]
    fn matches_one_device_simulated(matrix in matrices(), cuts in proptest::option::of(proptest::array::uniform4(0..60_u64))) {
        needs!("simulated");
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        check::<f64>(simulated(4), &matrix, cuts);
        check::<f32>(simulated(4), &matrix, cuts);
    }
}

/// One row has all nonzeros: every rank has a part of it, and some have nothing else.
#[test]
fn one_row_of_all_nonzeros() {
    needs!("cpu", "simulated");
    for (rows, row) in [(1, 0), (20, 0), (20, 13), (20, 19)] {
        let entries = (0..400).map(|at| (row, at, (at % 7) as i8 - 3)).collect();
        let matrix = Matrix { rows, cols: 400, entries };
        for ranks in [1, 2, 3, 4, 7] {
            check::<f64>(on_cpu(ranks), &matrix, None);
        }
        check::<f32>(simulated(4), &matrix, None);
        let a: Csr<f64> = matrix.csr();
        let counts = on_cpu(4).run(|rank| {
            let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
            let even = a.divide_evenly()?;
            assert!(even.has_cut_rows() && !a.has_cut_rows());
            let info = even.plan_spmv(SpmvOptions::default())?.info()?;
            assert!(info.to_string().contains("part of a cut row"), "{info}");
            Ok::<_, Error>((a.local_nnz(), info.nonzeros()))
        });
        let counts = counts.unwrap();
        assert!(counts.iter().any(|count| count.0 == 400), "without cuts one rank has all");
        assert!(counts.iter().all(|count| (80..=105).contains(&count.1)), "{counts:?}");
    }
}

/// More ranks than entries, and matrices without rows, columns or entries. If no row is cut, the matrix is an
/// ordinary one.
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
        let matrix = Matrix { rows, cols, entries };
        for ranks in [1, 4, 7] {
            check::<f64>(on_cpu(ranks), &matrix, None);
        }
        check::<f64>(simulated(4), &matrix, None);
    }
    let diagonal: Csr<f64> = Csr::from_triplets(8, 8, (0..8).map(|at| (at, at, 1.0))).unwrap();
    let found = on_cpu(4).run(|rank| {
        let a = DistributedCsr::scatter(rank, 0, Some(&diagonal))?.divide_evenly()?;
        Ok::<_, Error>((a.has_cut_rows(), a.local_nnz(), a.transpose()?.nnz()?))
    });
    assert_eq!(found.unwrap(), [(false, 2, 8); 4]);
}

/// Duplicates are summed before rows are cut.
#[test]
fn duplicates_are_on_one_rank() {
    needs!("cpu");
    let found = on_cpu(3).run(|rank| {
        let rows = RowPartition::all_on(1, 2, 3)?;
        let block = if rank.index() == 1 {
            let columns = (0..30).map(|at| at % 10).chain([4]).collect();
            RowBlock::new(vec![0, 30, 31], columns, vec![1.0; 31])?
        } else {
            RowBlock::new(vec![0], vec![], vec![])?
        };
        let a = DistributedCsr::from_rows_evenly(rank, &rows, 10, block)?;
        Ok::<_, Error>((a.nnz()?, a.whole_rows()?.gather(0)?))
    });
    let (nnz, whole) = found.unwrap().swap_remove(0);
    assert_eq!((nnz, whole.unwrap().values()[..10].to_vec()), (11, vec![3.0; 10]));
}

/// A dense row among short ones, with values whose sums depend on their order.
fn uneven(rank: &Rank) -> Result<DistributedCsr<f64>> {
    let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
        let columns = if row == 21 { 0..200 } else { row..row + 2 };
        entries.extend(columns.map(|col| (col, rough(row + 31 * col))));
    };
    DistributedCsr::from_fn(rank, 60, 200, row)?.divide_evenly()
}

pub(crate) fn bits(cluster: &mut Cluster) -> Vec<u64> {
    let found = cluster.run(|rank| {
        let a = uneven(rank)?;
        assert_eq!(a.has_cut_rows(), rank.size() > 1);
        let x = DistributedVec::from_fn(rank, a.col_partition(), rough)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let mut z = DistributedVec::zeros(rank, a.col_partition())?;
        a.plan_spmv(SpmvOptions::default())?.run(1.1, &x, 0.0, &mut y)?;
        a.plan_spmv_transposed(SpmvTransposedOptions::default())?.run(0.9, &y, 0.0, &mut z)?;
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
fn operations_on_whole_rows_are_refused() {
    needs!("cpu");
    let errors = on_cpu(3).run(|rank| {
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            entries.extend((0..if row == 5 { 40 } else { 1 }).map(|col| (col, 1.0)));
        };
        let whole = DistributedCsr::from_fn(rank, 40, 40, row)?;
        let a = whole.divide_evenly()?;
        let whole = whole.repartition(a.row_partition(), a.col_partition())?;
        let options = DistributedSpgemmOptions::default();
        let errors = [
            a.download().map(|_| ()),
            a.gather(0).map(|_| ()),
            a.transpose().map(|_| ()),
            a.repartition(a.row_partition(), a.col_partition()).map(|_| ()),
            a.to_hisparse::<32>(hisparse::Options::default()).map(|_| ()),
            a.spadd(1.0, &whole, 1.0).map(|_| ()),
            a.spgemm(&whole, options).map(|_| ()),
            whole.spadd(1.0, &a, 1.0).map(|_| ()),
            whole.spgemm(&a, options).map(|_| ()),
        ];
        a.whole_rows()?.spadd(1.0, &whole, 1.0)?.nnz()?; // all ranks are still in step
        Ok::<_, Error>(errors)
    });
    for errors in errors.unwrap() {
        for (at, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_err();
            let Error::CutRows { operand } = error else { panic!("{at}: {error}") };
            assert_eq!(operand, ["the matrix", "A", "B"][(at.saturating_sub(3)) / 2], "{at}");
        }
    }
}

/// Each call to a rank's device fails in turn, in the middle of each product.
#[test]
fn a_device_that_fails() {
    needs!("simulated");
    fail_each_call(60, |rank, start| {
        let a = uneven(rank)?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let plan = a.plan_spmv(SpmvOptions::default())?;
        start()?;
        plan.run(1.0, &x, 0.0, &mut y)?;
        y.norm2().map(|_| ())
    });
    fail_each_call(60, |rank, start| {
        let a = uneven(rank)?;
        let x = DistributedVec::from_fn(rank, a.row_partition(), |_| 1.0)?;
        let mut y = DistributedVec::zeros(rank, a.col_partition())?;
        let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default())?;
        start()?;
        plan.run(1.0, &x, 0.0, &mut y)?;
        y.norm2().map(|_| ())
    });
}
