//! Sums of distributed trees, and products with dense matrices and with each other, compared with one device.

use evenpath::{Csr, Device, Value, hisparse};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedDense, DistributedHiSparse, DistributedHiSparseSpgemmOptions, Error,
    Rank, Result, RowPartition, generate,
};
use proptest::prelude::*;

use crate::faults::{fail_calls, fail_each_call};
use crate::matrices::triples_of;
use crate::support::{
    Matrix, any_partition, check_same_bits, expected, matrices_of, number, on_cpu, rough, simulated,
};

type Tree<V> = DistributedHiSparse<V, 32>;

/// A matrix of rank 0, with these partitions of vectors.
fn tree<V: Value>(rank: &Rank, a: &Csr<V>, rows: &RowPartition, cols: &RowPartition) -> Result<Tree<V>> {
    DistributedCsr::scatter_on(rank, 0, Some(a), rows, cols)?.to_hisparse(hisparse::Options::default())
}

/// The whole matrix, made by all ranks together.
fn gathered<V: Value>(cluster: &mut Cluster, make: impl Fn(&Rank) -> Result<Tree<V>> + Sync) -> Csr<V, u64> {
    let mut results = cluster.run(|rank| {
        let tree = make(rank)?;
        let csr = tree.to_csr()?;
        assert_eq!(tree.nnz()?, csr.nnz()?, "entries are on one rank each");
        csr.gather(0)
    });
    results.as_mut().unwrap().swap_remove(0).expect("the root has it")
}

fn wide<V: Value>(a: Csr<V>) -> Csr<V, u64> {
    a.try_into_offsets().unwrap()
}

/// Products with dense matrices of several widths.
pub(crate) fn check_dense<V: Value>(mut cluster: Cluster, matrix: &Matrix, cuts: &[u64]) {
    let ranks = cluster.size();
    let a: Csr<V> = matrix.csr();
    let rows = any_partition(a.nrows(), ranks, cuts);
    let cols = any_partition(a.ncols(), ranks, &cuts[1..]);
    let (alpha, beta) = (V::from_f64(2.0), V::from_f64(-3.0));
    let element = |row: u64, col: usize| number::<V>(row + 5 * col as u64);
    for (columns, method) in [(3, hisparse::SpmvMethod::Auto), (1, hisparse::SpmvMethod::Leaves)] {
        let found = cluster.run(|rank| {
            let tree = tree(rank, &a, &rows, &cols)?;
            let b = DistributedDense::from_fn(rank, &cols, columns, element)?;
            let plan = tree.plan_spmm(columns, hisparse::SpmmOptions::default().with_method(method))?;
            let mut over = DistributedDense::from_fn(rank, &rows, columns, |_, _| V::from_f64(f64::NAN))?;
            plan.run(alpha, &b, V::ZERO, &mut over)?;
            let mut c = DistributedDense::from_fn(rank, &rows, columns, element)?;
            plan.run(alpha, &b, beta, &mut c)?;
            Ok::<_, Error>([over.gather(0)?, c.gather(0)?])
        });
        let found = found.unwrap().swap_remove(0);
        for (found, beta) in found.into_iter().zip([V::ZERO, beta]) {
            let found = found.unwrap();
            for col in 0..columns {
                let column = |len: usize| (0..len as u64).map(|row| element(row, col)).collect::<Vec<V>>();
                let found: Vec<V> = found.iter().skip(col).step_by(columns).copied().collect();
                let expected = expected(&a, alpha, &column(a.ncols()), beta, &column(a.nrows()));
                assert_eq!(found, expected, "column {col} of {columns}");
            }
        }
    }
}

/// Sums and products of three matrices, for which αA + βB and AC exist.
pub(crate) fn check<V: Value>(mut cluster: Cluster, [a, b, c]: [&Matrix; 3], cuts: &[u64]) {
    let ranks = cluster.size();
    let (a, b, c): (Csr<V>, Csr<V>, Csr<V>) = (a.csr(), b.csr(), c.csr());
    let rows = any_partition(a.nrows(), ranks, cuts);
    let inner = any_partition(a.ncols(), ranks, &[cuts[1], cuts[3], 1]);
    let cols = any_partition(c.ncols(), ranks, &cuts[1..]);
    let (two, minus) = (V::from_f64(2.0), V::from_f64(-3.0));
    for method in [hisparse::SpaddMethod::Levels, hisparse::SpaddMethod::Queues] {
        let options = hisparse::SpaddOptions::default().with_method(method);
        let found = gathered(&mut cluster, |rank| {
            tree(rank, &a, &rows, &inner)?.spadd(two, &tree(rank, &b, &rows, &inner)?, minus, options)
        });
        assert_eq!(found, wide(a.spadd(two, &b, minus).unwrap()));
        // Divided alike: a matrix and itself, and one whose entries are in the same leaves, on few ranks.
        let found = gathered(&mut cluster, |rank| {
            let a = tree(rank, &a, &rows, &inner)?;
            a.spadd(two, &a, minus, options)?.spadd(V::ONE, &a, V::ONE, options)
        });
        assert_eq!(found, wide(a.spadd(V::ZERO, &a, V::ZERO).unwrap()));
    }
    for (method, limit) in
        [(hisparse::SpgemmMethod::Auto, None), (hisparse::SpgemmMethod::Leaves, Some(8 + 200 * 16))]
    {
        let device = hisparse::SpgemmOptions::default().with_method(method);
        let options = DistributedHiSparseSpgemmOptions::default().with_device(device).with_panel_bytes(limit);
        let found = gathered(&mut cluster, |rank| {
            tree(rank, &a, &rows, &inner)?.spgemm(&tree(rank, &c, &inner, &cols)?, options)
        });
        assert_eq!(found, wide(a.spgemm(&c).unwrap()), "{limit:?}");
    }
}

/// Several leaves of 32 rows and columns, and sides of less than one.
fn side() -> impl Strategy<Value = usize> {
    prop_oneof![1..40_usize, 60..200_usize]
}

fn cuts() -> impl Strategy<Value = [u64; 4]> {
    proptest::array::uniform4(0..200_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_with_dense_matrices_match_one_device(matrix in matrices_of(side(), side()), ranks in 1..8_usize, cuts in cuts()) {
        needs!("cpu");
        check_dense::<f64>(on_cpu(ranks), &matrix, &cuts);
        check_dense::<f32>(on_cpu(ranks), &matrix, &cuts);
    }

    #[test]
    fn sums_and_products_match_one_device((a, b, c) in triples_of(side(), side(), side()), ranks in 1..8_usize, cuts in cuts()) {
        needs!("cpu");
        check::<f64>(on_cpu(ranks), [&a, &b, &c], &cuts);
        check::<f32>(on_cpu(ranks), [&a, &b, &c], &cuts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn match_one_device_simulated((a, b, c) in triples_of(side(), side(), side()), cuts in cuts()) {
        needs!("simulated");
        check::<f64>(simulated(4), [&a, &b, &c], &cuts);
        check::<f32>(simulated(3), [&a, &b, &c], &cuts);
        check_dense::<f64>(simulated(4), &c, &cuts);
        check_dense::<f32>(simulated(3), &a, &cuts);
    }
}

/// More ranks than leaves, and matrices without rows, columns or entries.
#[test]
fn tiny_shapes() {
    needs!("cpu", "simulated");
    for (rows, inner, cols) in [(1, 1, 1), (2, 5, 3), (33, 1, 40), (0, 4, 2), (4, 0, 2), (3, 2, 0), (0, 0, 0)]
    {
        let of = |rows: usize, cols: usize, count: usize| Matrix {
            rows,
            cols,
            entries: if rows * cols == 0 { vec![] } else { vec![(rows - 1, cols / 2, 3); count] },
        };
        let matrices = [of(rows, inner, 1), of(rows, inner, 0), of(inner, cols, 2)];
        let [a, b, c] = &matrices;
        for ranks in [1, 2, 3, 4, 7] {
            check::<f64>(on_cpu(ranks), [a, b, c], &[1, 0, 2, 1]);
            check_dense::<f64>(on_cpu(ranks), a, &[1, 0, 2, 1]);
        }
        check::<f64>(simulated(4), [a, b, c], &[1, 0, 2, 1]);
        check_dense::<f64>(simulated(4), a, &[1, 0, 2, 1]);
    }
}

/// A dense row and a dense column of A: each rank has a part of both, and all ranks have parts of C's leaves.
#[test]
fn leaves_of_a_product_have_parts_of_several_ranks() {
    needs!("cpu");
    let entries: Vec<_> = (0..300).flat_map(|at| [(17, at, (at % 7) as i8 - 3), (at, 40, 2)]).collect();
    let a = Matrix { rows: 300, cols: 300, entries };
    let expected = {
        let a: Csr<f64> = a.csr();
        wide(a.spgemm(&a).unwrap())
    };
    for ranks in [1, 2, 3, 4, 7] {
        let a: Csr<f64> = a.csr();
        let found = gathered(&mut on_cpu(ranks), |rank| {
            let a: Tree<f64> = DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
            if ranks > 1 {
                assert!(a.local_nnz() < 450, "{a:?} of 600");
            }
            let product = a.spgemm(&a, DistributedHiSparseSpgemmOptions::default())?;
            assert_eq!(product.row_partition(), a.row_partition());
            let most = rank.all_reduce(&[product.local_nnz()], usize::max)?[0];
            assert!(ranks == 1 || (most as u64) < product.nnz()? * 3 / 4, "{most} on one of {ranks} ranks");
            Ok(product)
        });
        assert_eq!(found, expected, "{ranks} ranks");
    }
}

/// A row of B has entries on several ranks, and its length is that of all of them.
#[test]
fn a_row_beyond_the_limit_is_named() {
    needs!("cpu");
    let entries = (0..100).flat_map(|at| [(0, at, 1.0), (at, at, 1.0)]);
    let a: Csr<f64> = Csr::from_triplets(100, 100, entries).unwrap();
    for (limit, is_refused) in [(8 + 99 * 16, true), (8 + 100 * 16, false)] {
        let found = on_cpu(3).run(|rank| {
            let a: Tree<f64> = DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
            let options = DistributedHiSparseSpgemmOptions::default().with_panel_bytes(limit);
            a.spgemm(&a, options)?.nnz()
        });
        match found {
            Ok(nnz) => assert!(!is_refused && nnz == [199; 3], "{nnz:?}"),
            Err(Error::PanelMemory { row: 0, needed: 1608, .. }) => assert!(is_refused),
            Err(error) => panic!("{error}"),
        }
    }
}

/// αA + βB on one device.
fn sum_on_one_device(a: &Csr<f64>, (alpha, beta): (f64, f64), b: &Csr<f64>) -> Csr<f64, u64> {
    let tree = |a: &Csr<f64>, factor: f64| {
        let tree = Device::cpu().upload(a).unwrap().to_hisparse::<32>(hisparse::Options::default());
        tree.unwrap().scaled(factor)
    };
    let sum = tree(a, alpha).spadd(&tree(b, beta), hisparse::SpaddOptions::default()).unwrap();
    wide(sum.download().unwrap().to_csr().unwrap())
}

/// Values whose products are rounded. Operands with entries at the same places, with as many in the same
/// leaves but in other rows and columns, and in other leaves.
#[test]
fn sums_have_the_bits_of_one_device() {
    needs!("cpu", "simulated");
    let matrix = |count: u64, seed: u64, place: fn(u64) -> (u64, u64)| -> Csr<f64> {
        let entries = (0..count).map(|at| (place(at).0 as usize, place(at).1 as usize, rough(at + seed)));
        Csr::from_triplets(160, 192, entries).unwrap()
    };
    let place = |at| (at * at % 157, at * 11 % 191);
    let moved = |at| {
        let (row, column) = (at * at % 157, at * 11 % 191);
        ((row / 32 * 32 + (row + 13) % 32), (column / 32 * 32 + (column + 17) % 32))
    };
    let (alpha, beta) = (1.1, -0.3);
    for (a, b) in [
        (matrix(700, 0, place), matrix(700, 5000, place)),
        (matrix(40, 0, place), matrix(40, 5000, moved)),
        (matrix(700, 0, place), matrix(200, 5000, |at| (at * 7 % 160, at * at % 189))),
    ] {
        let expected = sum_on_one_device(&a, (alpha, beta), &b);
        for mut cluster in [on_cpu(1), on_cpu(2), on_cpu(5), simulated(3)] {
            let ranks = cluster.size();
            let rows = any_partition(160, ranks, &[17, 50, 55, 140]);
            let cols = any_partition(192, ranks, &[20, 90, 150, 155]);
            let found = gathered(&mut cluster, |rank| {
                let (a, b) = (tree(rank, &a, &rows, &cols)?, tree(rank, &b, &rows, &cols)?);
                a.spadd(alpha, &b, beta, hisparse::SpaddOptions::default())
            });
            assert_eq!(found, expected, "{ranks} ranks");
        }
    }
}

/// Bits of a product with a dense matrix, and of a product of trees, with values whose sums depend on their
/// order.
pub(crate) fn bits(cluster: &mut Cluster) -> Vec<u64> {
    let found = cluster.run(|rank| {
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            let columns = (0..150).filter(|col| row == 3 || (row * 7 + col).is_multiple_of(9));
            entries.extend(columns.map(|col| (col, rough(row + 31 * col))));
        };
        let a = DistributedCsr::from_fn(rank, 150, 150, row)?;
        let a: Tree<f64> = a.to_hisparse(hisparse::Options::default())?;
        let b =
            DistributedDense::from_fn(rank, a.col_partition(), 2, |row, col| rough(row * 2 + col as u64))?;
        let mut c = DistributedDense::zeros(rank, a.row_partition(), 2)?;
        a.plan_spmm(2, hisparse::SpmmOptions::default())?.run(1.1, &b, 0.0, &mut c)?;
        let square = a.spgemm(&a, DistributedHiSparseSpgemmOptions::default())?;
        let square = square.spadd(0.9, &a, 1.3, hisparse::SpaddOptions::default())?.to_csr()?.gather(0)?;
        let square = square.map_or(vec![], |square| square.values().to_vec());
        Ok::<_, Error>([c.gather(0)?.unwrap_or_default(), square].concat())
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
        let a: Tree<f64> = DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
        let transposed = a.to_csr()?.transpose()?.to_hisparse(hisparse::Options::default())?;
        let plan = a.plan_spmm(2, hisparse::SpmmOptions::default())?;
        let b = DistributedDense::zeros(rank, a.col_partition(), 2)?;
        let mut c = DistributedDense::from_fn(rank, a.row_partition(), 2, |row, _| row as f64)?;
        let before = c.local().download()?;
        let errors = [
            a.spadd(1.0, &transposed, 1.0, hisparse::SpaddOptions::default()).map(|_| ()),
            a.spgemm(&a, DistributedHiSparseSpgemmOptions::default()).map(|_| ()),
            plan.run(1.0, &DistributedDense::zeros(rank, a.row_partition(), 2)?, 0.0, &mut c),
            plan.run(1.0, &DistributedDense::zeros(rank, a.col_partition(), 3)?, 0.0, &mut c),
            plan.run(&rank.device().upload(&[1.0, 2.0])?, &b, 0.0, &mut c),
        ];
        assert_eq!(c.local().download()?, before);
        plan.run(1.0, &b, 1.0, &mut c)?; // all ranks are still in step
        Ok::<_, Error>(errors.map(|error| error.unwrap_err().to_string()))
    });
    for errors in errors.unwrap() {
        assert!(errors[0].starts_with("the rows of B is divided as 4 rows"), "{}", errors[0]);
        assert!(errors[1].starts_with("B is divided as 6 rows"), "{}", errors[1]);
        assert!(errors[2].starts_with("B is divided as 6 rows"), "{}", errors[2]);
        assert!(errors[3].contains("x 3"), "{}", errors[3]);
        assert!(errors[4].contains("alpha"), "{}", errors[4]);
    }
}

/// Each call to a rank's device fails in turn, in the middle of each operation; of the many of a product of
/// trees, some.
#[test]
fn a_device_that_fails() {
    needs!("simulated");
    let prepare = |rank: &Rank| {
        let grid = generate::Stencil::five_point(8);
        let a = DistributedCsr::from_fn(rank, 64, 64, |row, entries| grid.row(row, entries))?;
        a.to_hisparse::<32>(hisparse::Options::default())
    };
    fail_each_call(40, |rank, start| {
        let a: Tree<f64> = prepare(rank)?;
        let b = DistributedDense::from_fn(rank, a.col_partition(), 2, |_, _| 1.0)?;
        let mut c = DistributedDense::zeros(rank, a.row_partition(), 2)?;
        let plan = a.plan_spmm(2, hisparse::SpmmOptions::default())?;
        start()?;
        plan.run(1.0, &b, 0.0, &mut c)?;
        c.gather(0)?;
        rank.barrier()
    });
    fail_each_call(40, |rank, start| {
        let a: Tree<f64> = prepare(rank)?;
        start()?;
        a.spadd(1.0, &a, 2.0, hisparse::SpaddOptions::default())?.nnz().map(|_| ())
    });
    fail_calls((0..900).step_by(31), |rank, start| {
        let a: Tree<f64> = prepare(rank)?;
        start()?;
        a.spgemm(&a, DistributedHiSparseSpgemmOptions::default())?.nnz().map(|_| ())
    });
}
