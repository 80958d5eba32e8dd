//! Matrices and vectors made rank by rank.

use evenpath::{Csr, Value};
use evenpath_distributed::{
    DistributedCsr, DistributedSpgemmOptions, DistributedVec, Error, RowBlock, RowPartition, generate,
};
use proptest::prelude::*;

use crate::support::{any_partition, matrices, numbers, on_cpu, rough};

proptest! {
    /// Entries in any order, from any rank, with duplicates.
    #[test]
    fn entries_go_to_their_ranks(matrix in matrices(), ranks in 1..8_usize, cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("cpu");
        let a: Csr<f64> = matrix.csr();
        let (rows, cols) = (any_partition(a.nrows(), ranks, &cuts), any_partition(a.ncols(), ranks, &cuts[2..]));
        let found = on_cpu(ranks).run(|rank| {
            let own = matrix.entries.iter().enumerate().filter(|(at, _)| at % ranks == rank.index());
            let own = own.map(|(_, &(row, col, value))| (row as u64, col as u64, f64::from(value)));
            DistributedCsr::from_entries(rank, &rows, &cols, own)?.gather(0)
        }).unwrap().swap_remove(0).unwrap();
        prop_assert_eq!(found, a.try_into_offsets().unwrap());
    }

    /// Rows in any order, with duplicates whose sums depend on their order: compares the bits with those on
    /// one device.
    #[test]
    fn rows_are_made_in_parallel(matrix in matrices(), ranks in 1..8_usize, cuts in proptest::option::of(proptest::array::uniform4(0..60_u64))) {
        needs!("cpu");
        let entries: Vec<(usize, usize, f64)> = matrix.entries.iter().enumerate()
            .map(|(at, &(row, col, _))| (row, col, rough(at as u64))).collect();
        let expected: Csr<f64> = Csr::from_triplets(matrix.rows, matrix.cols, entries.iter().copied()).unwrap();
        let make = |row: u64, found: &mut Vec<(u64, f64)>| {
            let own = entries.iter().filter(|entry| entry.0 as u64 == row);
            found.extend(own.map(|&(_, col, value)| (col as u64, value)));
        };
        let found = on_cpu(ranks).run(|rank| match &cuts {
            None => DistributedCsr::from_fn(rank, matrix.rows as u64, matrix.cols as u64, make)?.gather(0),
            Some(cuts) => {
                let (rows, cols) = (any_partition(matrix.rows, ranks, cuts), any_partition(matrix.cols, ranks, &cuts[2..]));
                DistributedCsr::from_fn_on(rank, &rows, &cols, make)?.gather(0)
            }
        }).unwrap().swap_remove(0).unwrap();
        prop_assert_eq!(found, expected.try_into_offsets().unwrap());
    }

    #[test]
    fn vectors_are_redistributed(len in 0..50_usize, ranks in 1..8_usize, cuts in proptest::array::uniform4(0..60_u64)) {
        needs!("cpu");
        let values: Vec<f32> = numbers(len);
        let (from, to) = (any_partition(len, ranks, &cuts), any_partition(len, ranks, &cuts[2..]));
        let results = on_cpu(ranks).run(|rank| {
            let x = DistributedVec::scatter(rank, &from, ranks - 1, &values)?;
            let other = x.repartition(&to)?;
            let sum = x.norm2()?;
            Ok::<_, Error>((x.gather(0)?, other.local().len() as u64, other.gather(0)?, sum))
        }).unwrap();
        let squares: f32 = values.iter().map(|value| value * value).sum();
        for (rank, result) in results.into_iter().enumerate() {
            prop_assert_eq!(result.1, to.len(rank));
            prop_assert!((result.3 - squares.sqrt()).abs() <= 1e-6 * squares);
            if rank == 0 {
                prop_assert_eq!(result.0.as_ref(), Some(&values));
                prop_assert_eq!(result.2.as_ref(), Some(&values));
            }
        }
    }
}

fn stencil<V: Value>(grid: generate::Stencil) -> Csr<V> {
    let rows = grid.nrows() as usize;
    let mut entries = Vec::new();
    let triplets = (0..rows).flat_map(|row| {
        entries.clear();
        grid.row(row as u64, &mut entries);
        entries.iter().map(|&(column, value)| (row, column as usize, value)).collect::<Vec<_>>()
    });
    Csr::from_triplets(rows, rows, triplets).unwrap()
}

#[test]
fn generators_give_one_matrix_for_any_number_of_ranks() {
    needs!("cpu");
    for grid in [
        generate::Stencil::five_point(9),
        generate::Stencil::seven_point(5),
        generate::Stencil::twenty_seven_point(4),
    ] {
        let expected: Csr<f64, u64> = stencil::<f64>(grid).try_into_offsets().unwrap();
        for ranks in [1, 3, 4] {
            let results = on_cpu(ranks).run(|rank| {
                let a = DistributedCsr::from_fn(rank, grid.nrows(), grid.nrows(), |row, entries| {
                    grid.row(row, entries);
                })?;
                let works: Vec<_> =
                    rank.all_gather(&[a.local_nnz() as u64 + a.row_partition().len(rank.index())])?.concat();
                Ok::<_, Error>((a.gather(0)?, works))
            });
            let (found, works) = results.unwrap().swap_remove(0);
            assert_eq!(found.unwrap(), expected);
            let (least, most) = (works.iter().min().unwrap(), works.iter().max().unwrap());
            assert!(most - least <= 28, "rows and nonzeros of each rank: {works:?}");
        }
    }
}

/// 2³³ columns, of which each rank owns fewer than 2³².
#[test]
fn global_indices_have_64_bits() {
    needs!("cpu");
    let cols = 1_u64 << 33;
    let results = on_cpu(3).run(|rank| {
        let (rows, columns) = (RowPartition::even(6, 3).unwrap(), RowPartition::even(cols, 3).unwrap());
        let b = DistributedCsr::from_fn_on(rank, &rows, &columns, |row, entries| {
            entries.extend([(cols - 1 - row, 2.0), (row, 1.0)]);
        })?;
        let a = DistributedCsr::from_fn_on(rank, &rows, &rows, |row, entries| entries.push((5 - row, 1.0)))?;
        let c = a.spgemm(&b, DistributedSpgemmOptions::default())?;
        let sum = c.spadd(1.0, &b, 1.0)?;
        Ok::<_, Error>((rows.range(rank.index()), c.download()?, sum.download()?))
    });
    for (own, c, sum) in results.unwrap() {
        for (at, row) in own.enumerate() {
            assert_eq!(c.row(at), (&[5 - row, cols - 6 + row][..], &[1.0, 2.0][..]));
            let mut columns = [row, 5 - row, cols - 6 + row, cols - 1 - row];
            columns.sort_unstable();
            assert_eq!(sum.row(at), (&columns[..], &[1.0, 1.0, 2.0, 2.0][..]));
        }
    }
}

/// Counts that exceed the memory of any machine: each rank gets an error, and the process goes on.
#[test]
fn counts_beyond_memory_are_refused() {
    needs!("cpu");
    for rows in [1 << 40, 1 << 60, u64::MAX] {
        let results = on_cpu(2).run_each(|rank| {
            let partition = RowPartition::even(rows, 2)?;
            let errors = [
                DistributedCsr::<f64>::from_fn(rank, rows, 1, |_, _| {}).err(),
                DistributedCsr::<f64>::from_fn_on(rank, &partition, &partition, |_, _| {}).err(),
                DistributedCsr::<f64>::from_entries(rank, &partition, &partition, []).err(),
                DistributedVec::<f64>::zeros(rank, &partition).err(),
            ];
            let vector = if rows > 1 << 50 {
                DistributedVec::<f64>::from_fn(rank, &partition, |_| 1.0).err()
            } else {
                Some(Error::Empty)
            };
            Ok::<_, Error>((errors, vector))
        });
        for result in results {
            let (errors, vector) = result.unwrap();
            for (number, error) in errors.into_iter().chain([vector]).enumerate() {
                let text =
                    error.unwrap_or_else(|| panic!("{rows} rows are accepted by call {number}")).to_string();
                let is_named = [
                    "at most",
                    "the limit is",
                    "memory",
                    "exceeds the address space",
                    "at least one rank",
                    "limited",
                ];
                assert!(is_named.iter().any(|reason| text.contains(reason)), "{rows} rows: {text}");
            }
        }
    }
}

#[test]
fn norms_neither_overflow_nor_underflow() {
    needs!("cpu");
    for unit in [1e200, 1e-200, 1.0] {
        let norms = on_cpu(3).run(|rank| {
            let values = |index: u64| [3.0, 0.0, -4.0, 0.0][index as usize] * unit;
            DistributedVec::from_fn(rank, &RowPartition::even(4, 3)?, values)?.norm2()
        });
        for norm in norms.unwrap() {
            assert!((norm / unit - 5.0).abs() < 1e-14, "{norm}");
        }
    }
    for (special, expected) in [(f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN), (0.0, 0.0), (-0.0, 0.0)]
    {
        let norms = on_cpu(3).run(|rank| {
            let values = |index: u64| if index == 2 { special } else { 0.0 };
            DistributedVec::from_fn(rank, &RowPartition::even(4, 3)?, values)?.norm2()
        });
        assert!(
            norms
                .unwrap()
                .iter()
                .all(|norm| norm.total_cmp(&expected).is_eq() || norm.is_nan() && expected.is_nan())
        );
    }
}

#[test]
fn shares_too_large_for_a_rank_are_refused() {
    needs!("cpu");
    let columns = RowPartition::even(1 << 40, 3).unwrap();
    let error = on_cpu(3).run(|rank| {
        DistributedCsr::<f64>::from_fn_on(rank, &RowPartition::even(6, 3).unwrap(), &columns, |_, _| {})
            .map(|_| ())
    });
    assert!(matches!(error.unwrap_err(), Error::TooLarge { what: "columns", .. }));
    let error = on_cpu(2).run(|rank| DistributedCsr::<f64>::scatter(rank, 1, None::<&Csr<f64>>).map(|_| ()));
    assert_eq!(error.unwrap_err().to_string(), "rank 1 passed no matrix to scatter");
}

#[test]
fn invalid_rows_are_reported_on_all_ranks() {
    needs!("cpu");
    let partition = RowPartition::even(6, 3).unwrap();
    let attempt = |block: fn(usize) -> RowBlock<f64>| {
        let results = on_cpu(3).run_each(|rank| {
            DistributedCsr::from_rows(rank, &partition, &partition, block(rank.index())).map(|_| ())
        });
        results.into_iter().map(|result| result.unwrap_err().to_string()).collect::<Vec<_>>()
    };
    let from_fn = on_cpu(3).run_each(|rank| {
        DistributedCsr::from_fn(rank, 6, 6, |row, entries| {
            entries.push((if row == 3 { 7 } else { row }, 1.0));
            entries.extend((row > 3).then_some((9, 1.0)));
        })
        .map(|_| ())
    });
    // Two ranks have such rows; the first may be the only one that the others learn of.
    let is_own = |result: &Result<(), Error>| matches!(result, Err(Error::ColumnOutOfRange { cols: 6, .. }));
    assert!(from_fn[1..].iter().any(is_own), "{from_fn:?}");
    for result in from_fn {
        let text = result.unwrap_err().to_string();
        let names = |row: &str| text.contains(row);
        assert!(names("row 3 has column 7") || names("has column 9"), "{text}");
    }
    // A panic in a task is a panic of the rank.
    let panics = on_cpu(3).run_each(|rank| {
        let row = |row: u64, entries: &mut Vec<(u64, f64)>| {
            assert!(row != 4, "deliberately, in row {row}");
            entries.push((row, 1.0));
        };
        DistributedCsr::from_fn_on(rank, &partition, &partition, row).map(|_| ())
    });
    for result in panics {
        let text = result.unwrap_err().to_string();
        assert_eq!(text, "rank 2 failed: it panicked: deliberately, in row 4");
    }
    let outside =
        |rank| RowBlock::new(vec![0, 1, 1], vec![if rank == 1 { 6 } else { 0 }], vec![1.0]).unwrap();
    let errors = attempt(outside);
    assert_eq!(errors[1], "row 2 has column 6, but the matrix has 6 columns");
    assert_eq!(errors[0], format!("rank 1 failed: {}", errors[1]));
    assert_eq!(errors[2], errors[0]);
    let short = |rank| RowBlock::new(vec![0; if rank == 2 { 2 } else { 3 }], vec![], vec![]).unwrap();
    let errors = attempt(short);
    assert!(
        errors[0].starts_with("rank 2 failed: ") && errors[0].contains("but 1 were given"),
        "{}",
        errors[0]
    );

    let errors: Vec<Result<(), Error>> = on_cpu(2).run_each(|rank| {
        let rows = RowPartition::even(4, 2).unwrap();
        DistributedCsr::from_entries(rank, &rows, &rows, [(4 * rank.index() as u64, 0, 1.0)]).map(|_| ())
    });
    assert!(matches!(errors[1], Err(Error::RowOutOfRange { row: 4, .. })));
    assert!(errors[0].as_ref().unwrap_err().to_string().starts_with("rank 1 failed: row 4"));
}
