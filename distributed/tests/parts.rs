//! Scaled rows and columns, copies, blocks of ranks and patterns, compared with one device.

// Products of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Value};
use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error, Rank, Result, RowPartition};
use proptest::prelude::*;

use crate::support::{Matrix, any_partition, matrices, number, on_cpu, simulated};

/// The matrix with each value times a factor of its row and one of its column.
fn scaled<V: Value>(a: &Csr<V>) -> Csr<V, u64> {
    let scaled = a
        .iter()
        .map(|(row, col, value)| (row, col, number::<V>(row as u64) * value * number(col as u64 + 3)));
    let scaled: Csr<V> = Csr::from_triplets(a.nrows(), a.ncols(), scaled).unwrap();
    scaled.try_into_offsets().unwrap()
}

fn check<V: Value>(mut cluster: Cluster, matrix: &Matrix, cuts: &[u64]) {
    let a: Csr<V> = matrix.csr();
    let ranks = cluster.size();
    let (rows, cols) =
        (any_partition(a.nrows(), ranks, cuts), any_partition(a.ncols(), ranks, &[cuts[1], cuts[0], 3]));
    let results = cluster.run(|rank| {
        let a = DistributedCsr::scatter_on(rank, 0, Some(&a), &rows, &cols)?;
        let changed = a.copy()?;
        changed.scale_rows(&DistributedVec::from_fn(rank, &rows, number)?)?;
        changed.clone().scale_columns(&DistributedVec::from_fn(rank, &cols, |col| number(col + 3))?)?;
        assert!(a.has_pattern_of(&changed)? && changed.has_pattern_of(&a)?);
        let mixed = changed.with_local(a.local().clone())?;
        assert_eq!(mixed.non_local().values().download()?, changed.non_local().values().download()?);
        Ok::<_, Error>((a.all_gather()?, changed.all_gather()?, mixed.gather(0)?.map(|mixed| mixed.nnz())))
    });
    let all: Csr<V, u64> = a.clone().try_into_offsets().unwrap();
    for (rank, (same, changed, nnz)) in results.unwrap().into_iter().enumerate() {
        assert_eq!((same, changed), (all.clone(), scaled(&a)), "rank {rank}");
        assert_eq!(nnz, (rank == 0).then_some(a.nnz()));
    }
}

proptest! {
    #[test]
    fn scaled_copies_are_those_of_one_device(matrix in matrices(), ranks in 1..8_usize, cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("cpu");
        check::<f64>(on_cpu(ranks), &matrix, &cuts);
        check::<f32>(on_cpu(ranks), &matrix, &cuts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn scaled_copies_are_those_of_one_device_simulated(matrix in matrices(), cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("simulated");
        check::<f64>(simulated(4), &matrix, &cuts);
    }
}

/// A block of a rank: `rank` rows, none on the first.
fn block(rank: &Rank) -> Result<Csr<f64>> {
    let (rows, cols) = (rank.index(), 2 * rank.index());
    let entries = (0..rows).flat_map(|row| [(row, row, 1.0 + row as f64), (row, cols - 1, -1.0)]);
    Ok(Csr::from_triplets(rows, cols, entries)?)
}

#[test]
fn blocks_of_ranks_are_on_the_diagonal() {
    needs!("cpu", "simulated");
    for mut cluster in [on_cpu(4), simulated(4), on_cpu(1)] {
        let blocks = cluster.run(block).unwrap();
        let expected = Csr::block_diagonal(&blocks.iter().collect::<Vec<_>>()).unwrap();
        let expected: Csr<f64, u64> = expected.try_into_offsets().unwrap();
        let found = cluster.run(|rank| {
            let a = DistributedCsr::block_diagonal(rank, rank.device().upload(&block(rank)?)?)?;
            assert_eq!((a.non_local().nnz(), a.halo().columns()), (0, &[][..]));
            assert_eq!(a.local_nnz(), block(rank)?.nnz());
            // Products use it as any other.
            let x = DistributedVec::from_fn(rank, a.col_partition(), number)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;
            a.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
            Ok::<_, Error>((a.all_gather()?, y.gather(0)?))
        });
        let x: Vec<f64> = (0..expected.ncols() as u64).map(number).collect();
        let mut y = vec![0.0; expected.nrows()];
        expected.spmv(1.0, &x, 0.0, &mut y).unwrap();
        let found = found.unwrap();
        assert!(found.iter().all(|(all, _)| *all == expected));
        assert_eq!(found[0].1.as_ref(), Some(&y));
    }
}

#[test]
fn patterns_differ_in_places_and_partitions() {
    needs!("cpu");
    let a: Csr<f64> =
        Csr::from_triplets(6, 6, (0..6).flat_map(|row| [(row, row, 1.0), (row, 5 - row, 2.0)])).unwrap();
    // The second has the entries of other ranks in other rows, but in the same columns and as many.
    let moved: Csr<f64> = Csr::from_triplets(
        6,
        6,
        a.iter()
            .map(|(row, col, value)| if (row, col) == (0, 5) { (1, 5, value) } else { (row, col, value) }),
    )
    .unwrap();
    let less = a.filter(|row, col, _| (row, col) != (4, 4));
    let found = on_cpu(3).run(|rank| {
        let on = |a: &Csr<f64>, boundaries: [u64; 4]| {
            let rows = RowPartition::from_boundaries(boundaries.to_vec())?;
            DistributedCsr::scatter_on(rank, 0, Some(a), &rows, &rows)
        };
        let first = on(&a, [0, 2, 4, 6])?;
        let others = [
            on(&a, [0, 2, 4, 6])?,
            on(&moved, [0, 2, 4, 6])?,
            on(&less, [0, 2, 4, 6])?,
            on(&a, [0, 1, 4, 6])?,
        ];
        others.iter().map(|other| first.has_pattern_of(other)).collect::<Result<Vec<_>>>()
    });
    assert_eq!(found.unwrap(), vec![vec![true, false, false, false]; 3]);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    needs!("cpu", "simulated");
    let found = on_cpu(2).run(|rank| {
        let a =
            DistributedCsr::from_fn(rank, 4, 4, |row, entries| entries.extend([(row, 2.0), (3 - row, 1.0)]))?;
        let uneven = RowPartition::from_boundaries(vec![0, 1, 4])?;
        let factors = DistributedVec::from_fn(rank, &uneven, |_| 3.0)?;
        let elsewhere = simulated(1).run(|rank| Ok::<_, Error>(rank.device().clone())).unwrap().remove(0);
        let unsorted = Csr::try_new(2, 2, vec![0, 2, 2], vec![1, 0], vec![1.0, 1.0])?;
        let refused = [
            a.scale_rows(&factors).unwrap_err(),
            a.scale_columns(&factors).unwrap_err(),
            a.with_local(rank.device().upload(&block(rank)?)?).unwrap_err(),
            a.with_local(elsewhere.upload(&a.local().download()?)?).unwrap_err(),
            a.with_local(rank.device().upload(&unsorted)?).unwrap_err(),
            DistributedCsr::block_diagonal(rank, elsewhere.upload(&unsorted)?).unwrap_err(),
            DistributedCsr::block_diagonal(rank, rank.device().upload(&unsorted)?).unwrap_err(),
        ];
        // Nothing was written, and the ranks are in step.
        let all: Csr<f64, u64> = a.all_gather()?;
        assert_eq!(all.values(), [2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0]);
        Ok::<_, Error>(refused.map(|error| error.to_string()))
    });
    let found = found.unwrap().remove(1);
    for (message, part) in found.iter().zip([
        "the vector of factors is divided as",
        "the vector of factors is divided as",
        "the local matrix is 1 x 2",
        "different devices",
        "row 0",
        "different devices",
        "row 0",
    ]) {
        assert!(message.contains(part), "{message}");
    }
}
