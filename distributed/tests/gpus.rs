//! Tests of products, sums, transposes and vectors on a cluster of all GPUs, with exchanges by the host and
//! by NCCL.
//!
//! Creating a communicator takes half a second, so there are few cases; the CPU runs many.

use evenpath::Csr;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error, RowPartition};
use proptest::prelude::*;

use crate::support::{Matrix, everywhere, gpus, matrices_of, number, numbers};
use crate::{cut_rows, factors, hisparse, hisparse_matrices, matrices, products};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 4, ..ProptestConfig::default() })]

    #[test]
    fn products_match_one_device(matrix in matrices_of(30..90_usize, 30..90_usize), cuts in proptest::option::of(proptest::array::uniform4(0..60_u64))) {
        let everywhere = everywhere();
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        for cluster in everywhere.clusters(1) {
            products::check::<f64>(cluster, &matrix, cuts);
        }
        for cluster in everywhere.clusters(1) {
            products::check::<f32>(cluster, &matrix, cuts);
        }
        for cluster in everywhere.clusters(1) {
            cut_rows::check::<f64>(cluster, &matrix, cuts);
        }
    }

    #[test]
    fn trees_match_one_device(matrix in matrices_of(60..200_usize, 1100..1300_usize), cuts in proptest::option::of(proptest::array::uniform4(0..200_u64))) {
        let everywhere = everywhere();
        let cuts = cuts.as_ref().map(|cuts| &cuts[..]);
        for cluster in everywhere.clusters(1) {
            hisparse::check::<f64>(cluster, &matrix, cuts);
        }
        for cluster in everywhere.clusters(1) {
            hisparse_matrices::check_dense::<f64>(cluster, &matrix, cuts.unwrap_or(&[30, 100, 7]));
        }
    }

    /// These use the host, whatever the engine.
    #[test]
    fn sums_products_and_transposes_match_one_device((a, b, c) in matrices::triples(), cuts in proptest::array::uniform4(0..60_u64)) {
        let Some(gpus) = gpus() else { return Ok(()) };
        matrices::check::<f64>(gpus.by_host(), &a, &b, &c, &cuts);
        matrices::check::<f32>(gpus.by_host(), &a, &b, &c, &cuts);
        hisparse_matrices::check::<f64>(gpus.by_host(), [&a, &b, &c], &cuts);
        hisparse_matrices::check::<f32>(gpus.by_host(), [&a, &b, &c], &cuts);
    }
}

#[test]
fn sums_products_and_transposes_in_a_run_with_nccl() {
    let Some(gpus) = gpus() else { return };
    let Some(cluster) = gpus.by_nccl() else { return };
    let of = |rows, cols, step: usize| Matrix {
        rows,
        cols,
        entries: (0..90).map(|at| (at * 7 % rows, at * step % cols, (at % 9) as i8 - 4)).collect(),
    };
    matrices::check::<f64>(cluster, &of(20, 31, 11), &of(20, 31, 5), &of(31, 17, 3), &[7, 30, 11, 19]);
}

/// Matrices without rows, columns or entries, and with fewer rows than GPUs.
#[test]
fn tiny_shapes() {
    let Some(gpus) = gpus() else { return };
    for (rows, cols, entries) in [(1, 1, vec![(0, 0, 3)]), (2, 5, vec![]), (0, 4, vec![]), (4, 0, vec![])] {
        products::check::<f64>(gpus.by_host(), &Matrix { rows, cols, entries }, None);
    }
    if let Some(cluster) = gpus.by_nccl() {
        products::check::<f64>(cluster, &Matrix { rows: 3, cols: 1, entries: vec![(2, 0, 1)] }, None);
    }
}

/// Factors in the GPUs' memory, with exchanges by the host and by NCCL.
#[test]
fn factors_on_the_device_give_the_bits_of_numbers() {
    let everywhere = everywhere();
    for cluster in everywhere.clusters(1) {
        factors::check::<f64>(cluster, &factors::matrix(300, 400));
    }
    for cluster in everywhere.clusters(1) {
        factors::check::<f32>(cluster, &factors::matrix(400, 300));
    }
}

/// One GPU is a cluster too.
#[test]
fn one_rank() {
    let Some(gpus) = gpus() else { return };
    let matrix = Matrix { rows: 5, cols: 5, entries: vec![(0, 4, 2), (3, 1, -3), (3, 1, 1)] };
    products::check::<f64>(gpus.first_alone(), &matrix, None);
}

/// Products whose sums depend on their order have the bits of the host's exchange, in every run.
#[test]
fn every_engine_gives_the_same_bits() {
    let Some(gpus) = gpus() else { return };
    for bits in [
        products::bits as fn(&mut Cluster) -> Vec<u64>,
        hisparse::bits,
        hisparse_matrices::bits,
        cut_rows::bits,
    ] {
        let mut by_host = gpus.by_host();
        let first = bits(&mut by_host);
        assert_eq!(bits(&mut by_host), first);
        if let Some(mut by_nccl) = gpus.by_nccl() {
            assert_eq!(bits(&mut by_nccl), first);
            assert_eq!(bits(&mut by_nccl), first);
        }
    }
}

/// Runs 500 products, each of which needs the exchange of the previous one: sums of small integers are exact.
#[test]
fn many_products_in_one_run() {
    let everywhere = everywhere();
    let grid = Stencil::seven_point(20);
    let steps = 500;
    let run = |mut cluster: Cluster| {
        let sums = cluster.run(|rank| {
            // Rows are shifted by half of the matrix, so every element is sent to another rank, and none
            // changes.
            let rows = grid.nrows();
            let a = DistributedCsr::from_fn(rank, rows, rows, |row, entries| {
                entries.push(((row + rows / 2) % rows, 1.0));
            })?;
            let plan = a.plan_spmv(SpmvOptions::default())?;
            let mut x = DistributedVec::from_fn(rank, a.col_partition(), number::<f64>)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;
            for _ in 0..steps / 2 {
                plan.run(1.0, &x, 0.0, &mut y)?;
                plan.run(1.0, &y, 0.0, &mut x)?;
            }
            x.gather(0)
        });
        sums.unwrap().swap_remove(0).unwrap()
    };
    for cluster in everywhere.clusters(1) {
        assert_eq!(run(cluster), numbers::<f64>(grid.nrows() as usize));
    }
}

/// Rows and vectors built rank by rank, and redistributed vectors.
#[test]
fn builders_and_vectors() {
    let everywhere = everywhere();
    let grid = Stencil::twenty_seven_point(7);
    let rows = grid.nrows();
    let mut entries = Vec::new();
    let triplets: Vec<(usize, usize, f64)> = (0..rows)
        .flat_map(|row| {
            entries.clear();
            grid.row(row, &mut entries);
            let triplet = |&(column, value): &(u64, f64)| (row as usize, column as usize, value);
            entries.iter().map(triplet).collect::<Vec<_>>()
        })
        .collect();
    let expected = Csr::from_triplets(rows as usize, rows as usize, triplets).unwrap();
    let expected: Csr<f64, u64> = expected.try_into_offsets().unwrap();
    let values: Vec<f64> = numbers(rows as usize);
    let squares: f64 = values.iter().map(|value| value * value).sum();
    for mut cluster in everywhere.clusters(1) {
        let results = cluster.run(|rank| {
            let a = DistributedCsr::from_fn(rank, rows, rows, |row, entries| grid.row(row, entries))?;
            let x = DistributedVec::scatter(rank, a.col_partition(), rank.size() - 1, &values)?;
            let mut y = x.repartition(&RowPartition::even(rows, rank.size())?)?;
            let like_y = DistributedVec::from_fn(rank, &RowPartition::even(rows, rank.size())?, number)?;
            y.axpby(2.0, &like_y, -1.0)?;
            Ok::<_, Error>((a.gather(0)?, a.nnz()?, x.dot(&x)?, y.gather(0)?))
        });
        let (found, nnz, dot, y) = results.unwrap().swap_remove(0);
        assert_eq!(found.as_ref(), Some(&expected));
        assert_eq!((nnz, dot.to_bits()), (expected.nnz() as u64, squares.to_bits()));
        assert_eq!(y.as_ref(), Some(&values));
    }
}
