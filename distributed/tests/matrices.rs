//! Sums, products, transposes and other partitions of matrices, compared with one device.

use evenpath::{Csr, Value};
use evenpath_distributed::{Cluster, DistributedCsr, DistributedSpgemmOptions, Error};
use proptest::prelude::*;

use crate::support::{Matrix, any_partition, matrices, matrices_of, on_cpu, simulated};

fn gathered<V: Value>(
    cluster: &mut Cluster,
    make: impl Fn(&evenpath_distributed::Rank) -> Result<DistributedCsr<V>, Error> + Sync,
) -> Csr<V, u64> {
    let root = cluster.size() - 1;
    let mut results = cluster.run(|rank| make(rank)?.gather(root)).unwrap();
    results.pop().flatten().expect("the root has it")
}

fn wide<V: Value>(a: Csr<V>) -> Csr<V, u64> {
    a.try_into_offsets().unwrap()
}

pub(crate) fn check<V: Value>(mut cluster: Cluster, a: &Matrix, b: &Matrix, c: &Matrix, cuts: &[u64]) {
    let ranks = cluster.size();
    let (a, b, c): (Csr<V>, Csr<V>, Csr<V>) = (a.csr(), b.csr(), c.csr());
    let rows = any_partition(a.nrows(), ranks, cuts);
    let inner = any_partition(a.ncols(), ranks, &[cuts[1], cuts[3], 1]);
    let cols = any_partition(c.ncols(), ranks, &cuts[1..]);
    let (two, minus) = (V::from_f64(2.0), V::from_f64(-3.0));

    let found = gathered(&mut cluster, |rank| DistributedCsr::scatter(rank, 0, Some(&a)));
    assert_eq!(found, wide(a.clone()));
    let found = gathered(&mut cluster, |rank| DistributedCsr::scatter(rank, 0, Some(&a))?.transpose());
    assert_eq!(found, wide(a.transpose().unwrap()));
    let found = gathered(&mut cluster, |rank| {
        DistributedCsr::scatter(rank, 0, Some(&a))?.repartition(&rows, &inner)?.transpose()?.transpose()
    });
    assert_eq!(found, wide(a.clone()));
    let found = gathered(&mut cluster, |rank| {
        let a = DistributedCsr::scatter_on(rank, 0, Some(&a), &rows, &inner)?;
        let b = DistributedCsr::scatter_on(rank, ranks - 1, Some(&b), &rows, &inner)?;
        a.spadd(two, &b, minus)
    });
    assert_eq!(found, wide(a.spadd(two, &b, minus).unwrap()));
    for limit in [None, Some(8 + 40 * 16)] {
        let found = gathered(&mut cluster, |rank| {
            let a = DistributedCsr::scatter_on(rank, 0, Some(&a), &rows, &inner)?;
            let c = DistributedCsr::scatter_on(rank, 0, Some(&c), &inner, &cols)?;
            a.spgemm(&c, DistributedSpgemmOptions::default().with_panel_bytes(limit))
        });
        assert_eq!(found, wide(a.spgemm(&c).unwrap()), "{limit:?}");
    }
}

pub(crate) fn triples() -> impl Strategy<Value = (Matrix, Matrix, Matrix)> {
    triples_of(1..30_usize, 1..30_usize, 1..30_usize)
}

/// Two matrices of the same shape, and one with as many rows as they have columns.
pub(crate) fn triples_of(
    rows: impl Strategy<Value = usize>,
    inner: impl Strategy<Value = usize>,
    cols: impl Strategy<Value = usize>,
) -> impl Strategy<Value = (Matrix, Matrix, Matrix)> {
    (rows, inner, cols).prop_flat_map(|(rows, inner, cols)| {
        (
            matrices_of(Just(rows), Just(inner)),
            matrices_of(Just(rows), Just(inner)),
            matrices_of(Just(inner), Just(cols)),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn matches_one_device((a, b, c) in triples(), ranks in 1..8_usize, cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("cpu");
        check::<f64>(on_cpu(ranks), &a, &b, &c, &cuts);
        check::<f32>(on_cpu(ranks), &a, &b, &c, &cuts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]
    #[test]
    fn matches_one_device_simulated((a, b, c) in triples(), cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("simulated");
        check::<f64>(simulated(4), &a, &b, &c, &cuts);
        check::<f32>(simulated(4), &a, &b, &c, &cuts);
    }
}

proptest! {
    /// The halo lists each required column once, and both sides agree on the exchanged elements.
    #[test]
    fn halos_agree(matrix in matrices(), ranks in 1..8_usize) {
        needs!("cpu");
        let a: Csr<f64> = matrix.csr();
        let halos = on_cpu(ranks).run(|rank| {
            let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
            let counts: Vec<_> = (0..ranks).map(|other| (a.halo().sent_to(other), a.halo().received_from(other))).collect();
            Ok::<_, Error>((counts, a.halo().columns().to_vec(), a.row_partition().clone(), a.col_partition().clone()))
        }).unwrap();
        for (rank, (counts, columns, rows, cols)) in halos.iter().enumerate() {
            let own = cols.range(rank);
            let mut needed: Vec<u64> = rows.range(rank)
                .flat_map(|row| a.row(row as usize).unwrap().columns().to_vec())
                .map(u64::from).filter(|column| !own.contains(column)).collect();
            needed.sort_unstable();
            needed.dedup();
            prop_assert_eq!(columns, &needed);
            for (other, count) in counts.iter().enumerate() {
                prop_assert_eq!(count.0, halos[other].0[rank].1);
                prop_assert_eq!(count.1, columns.iter().filter(|&&column| cols.owner(column) == other).count());
            }
        }
    }
}

/// Values whose sums depend on their order: without a limit on panels, the product equals that of one device
/// for any number of ranks.
#[test]
fn products_have_the_bits_of_one_device() {
    needs!("cpu");
    let entries = (0..900).map(|at: usize| (at * 7 % 40, at * 11 % 37, ((at * at) as f64).sin()));
    let a: Csr<f64> = Csr::from_triplets(40, 37, entries).unwrap();
    let b = a.transpose().unwrap();
    let one = wide(a.spgemm(&b).unwrap());
    for ranks in [1, 2, 3, 5] {
        let found = gathered(&mut on_cpu(ranks), |rank| {
            let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
            a.spgemm(&a.transpose()?, DistributedSpgemmOptions::default())
        });
        assert_eq!(found, one, "{ranks} ranks");
    }
}

#[test]
fn a_row_beyond_the_limit_is_named() {
    needs!("cpu");
    let a: Csr<f64> = Csr::from_triplets(3, 3, (0..3).flat_map(|i| [(i, 1, 1.0), (1, i, 1.0)])).unwrap();
    let error = on_cpu(2).run(|rank| {
        let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
        a.spgemm(&a, DistributedSpgemmOptions::default().with_panel_bytes(50))
    });
    let error = error.unwrap_err();
    assert!(matches!(error, Error::PanelMemory { row: 1, needed: 56, limit: 50 }), "{error}");
}
