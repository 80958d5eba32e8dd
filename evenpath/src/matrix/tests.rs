//! Formats, compared with dense sums of triplets.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Triplet = (usize, usize, f64);

/// A matrix shape and entries inside it, including duplicates and empty rows. Values are small integers,
/// so that sums are exact in any order.
fn triplets() -> impl Strategy<Value = (usize, usize, Vec<Triplet>)> {
    (0..40usize, 0..40usize).prop_flat_map(|(rows, cols)| {
        let most = if rows * cols == 0 { 0 } else { 200 };
        let entry = (0..rows.max(1), 0..cols.max(1), -8..8i32);
        let entry = entry.prop_map(|(row, col, value)| (row, col, f64::from(value)));
        (Just(rows), Just(cols), prop::collection::vec(entry, 0..=most))
    })
}

/// The sum at every position that has an entry.
fn sums(triplets: &[Triplet]) -> BTreeMap<(usize, usize), f64> {
    let mut sums = BTreeMap::new();
    for &(row, col, value) in triplets {
        *sums.entry((row, col)).or_default() += value;
    }
    sums
}

fn entries<O: crate::Offset>(csr: &Csr<f64, O>) -> Vec<((usize, usize), f64)> {
    csr.iter().map(|(row, col, value)| ((row, col), value)).collect()
}

proptest! {
    #[test]
    fn from_triplets_sums_duplicates((rows, cols, triplets) in triplets()) {
        let csr = Csr::from_triplets(rows, cols, triplets.clone()).unwrap();
        prop_assert!(csr.is_canonical());
        prop_assert_eq!(entries(&csr), sums(&triplets).into_iter().collect::<Vec<_>>());
        for row in 0..rows {
            for col in 0..cols {
                prop_assert_eq!(csr.get(row, col), sums(&triplets).get(&(row, col)).copied());
            }
        }
    }

    #[test]
    fn kept_duplicates_stay_in_order((rows, cols, triplets) in triplets()) {
        let coo = Coo::from_triplets(rows, cols, triplets.clone()).unwrap();
        let mut csr: Csr<f64> = coo.to_csr(Duplicates::Keep).unwrap();
        let mut sorted = triplets.clone();
        sorted.sort_by_key(|&(row, _, _)| row);
        prop_assert_eq!(csr.iter().collect::<Vec<_>>(), sorted);
        csr.canonicalize();
        prop_assert_eq!(&csr, &coo.to_csr(Duplicates::Sum).unwrap());
        prop_assert_eq!(csr.to_coo().unwrap().to_csr(Duplicates::Refuse).unwrap(), csr);
    }

    #[test]
    fn refused_duplicates_are_named((rows, cols, triplets) in triplets()) {
        let coo = Coo::from_triplets(rows, cols, triplets.clone()).unwrap();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for &(row, col, _) in &triplets {
            *counts.entry((row, col)).or_default() += 1;
        }
        let first = counts.into_iter().find(|&(_, count)| count > 1).map(|(place, _)| place);
        match (coo.to_csr(Duplicates::Refuse), first) {
            (Ok(csr), None) => prop_assert!(csr.is_canonical()),
            (Err(MatrixError::Duplicate { row, column }), Some(place)) => {
                prop_assert_eq!((row, column as usize), place);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn transpose_swaps_rows_and_columns((rows, cols, triplets) in triplets()) {
        let csr = Csr::<f64>::from_triplets(rows, cols, triplets.clone()).unwrap();
        let swapped = triplets.iter().map(|&(row, col, value)| (col, row, value));
        let expected = Csr::from_triplets(cols, rows, swapped).unwrap();
        prop_assert_eq!(csr.transpose().unwrap(), expected);
        prop_assert_eq!(csr.transpose().unwrap().transpose().unwrap(), csr);
    }

    #[test]
    fn dense_holds_every_sum((rows, cols, triplets) in triplets()) {
        let coo = Coo::from_triplets(rows, cols, triplets.clone()).unwrap();
        let dense = coo.to_csr(Duplicates::Keep).unwrap().to_dense().unwrap();
        let mut expected = vec![0.0; rows * cols];
        for (row, col, value) in triplets {
            expected[row * cols + col] += value;
        }
        prop_assert_eq!(dense, expected);
    }

    #[test]
    fn try_new_accepts_the_parts_of_a_matrix((rows, cols, triplets) in triplets()) {
        let csr = Csr::<f64>::from_triplets(rows, cols, triplets).unwrap();
        let (row_offsets, column_indices, values) = csr.clone().into_parts();
        prop_assert_eq!(Csr::try_new(rows, cols, row_offsets, column_indices, values).unwrap(), csr);
    }

    #[test]
    fn every_format_gives_the_matrix_back((rows, cols, triplets) in triplets()) {
        let coo = Coo::from_triplets(rows, cols, triplets).unwrap();
        let csr: Csr<f64> = coo.to_csr(Duplicates::Keep).unwrap();
        let ell = csr.to_ell(PaddingLimit::default()).unwrap();
        prop_assert_eq!(ell.to_csr().unwrap(), csr.clone());
        let sliced = SlicedEllOptions::default().with_slice_height(4).with_sorting_scope(16);
        prop_assert_eq!(csr.to_sliced_ell(sliced).unwrap().to_csr().unwrap(), csr.clone());
        for width in [HybWidth::Slots(0), HybWidth::Slots(3)] {
            let hyb = csr.to_hyb(HybOptions::default().with_width(width)).unwrap();
            prop_assert_eq!(hyb.to_csr().unwrap(), csr.clone());
        }
        let summed: Csr<f64> = coo.to_csr(Duplicates::Sum).unwrap();
        let tree = csr.to_hisparse::<32>(hisparse::Options::default().with_share(true)).unwrap();
        prop_assert_eq!(tree.to_csr().unwrap(), summed);
        let (pool, root) = (tree.pool(), tree.root_reference());
        let again = HiSparse::<f64, 32>::try_from_pool(rows, cols, pool, root).unwrap();
        prop_assert_eq!(again.to_csr().unwrap(), tree.to_csr().unwrap());
    }

    #[test]
    fn statistics_match_the_lengths((rows, cols, triplets) in triplets()) {
        let csr = Csr::<f64>::from_triplets(rows, cols, triplets).unwrap();
        let lengths: Vec<usize> = csr.iter_rows().map(|row| row.len()).collect();
        let statistics = csr.statistics();
        prop_assert_eq!(statistics.row_length_max, lengths.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(statistics.empty_rows, lengths.iter().filter(|&&length| length == 0).count());
        let counted: usize = statistics.degree_histogram.iter().sum();
        prop_assert_eq!(counted + statistics.empty_rows, rows);
        prop_assert_ne!(statistics.degree_histogram.last(), Some(&0));
    }
}

/// Enough entries for several chunks and buckets.
#[test]
#[cfg_attr(miri, ignore = "large")]
fn large_conversions_are_stable() {
    let (rows, cols, count) = (50_000, 300, 700_000);
    let mut state = 1u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let triplets: Vec<Triplet> = (0..count).map(|at| (next(rows), next(cols), f64::from(at))).collect();
    let coo = Coo::from_triplets(rows, cols, triplets.iter().copied()).unwrap();

    let kept: Csr<f64, u64> = coo.to_csr_with_offsets(Duplicates::Keep).unwrap();
    let mut sorted = triplets.clone();
    sorted.sort_by_key(|&(row, _, _)| row);
    assert!(kept.iter().eq(sorted.iter().copied()));

    let summed: Csr<f64> = coo.to_csr(Duplicates::Sum).unwrap();
    assert!(summed.is_canonical() && summed.nnz() < count as usize);
    assert_eq!(entries(&summed), sums(&triplets).into_iter().collect::<Vec<_>>());

    let transpose = summed.transpose().unwrap();
    assert!(transpose.is_canonical());
    let mut columns: Vec<_> = summed.iter().map(|(row, col, value)| (col, row, value)).collect();
    columns.sort_by_key(|&(col, row, _)| (col, row));
    assert!(transpose.iter().eq(columns));
}

#[test]
fn errors_of_bad_arrays_return_them() {
    type Case = (usize, usize, Vec<u32>, Vec<u32>, Vec<f64>, &'static str);
    let cases: [Case; 10] = [
        (2, 2, vec![], vec![], vec![], "row_offsets has length 0: 2 rows need 2 + 1"),
        (2, 2, vec![0, 1], vec![0], vec![1.0], "row_offsets has length 2: 2 rows need 2 + 1"),
        (1, 2, vec![1, 1], vec![0], vec![1.0], "row_offsets starts with 1 instead of 0"),
        (2, 2, vec![0, 3, 1], vec![0], vec![1.0], "row_offsets decreases from 3 to 1 at row 1"),
        (1, 2, vec![0, 2], vec![0], vec![1.0], "row_offsets ends with 2, but there are 1 nonzeros"),
        (1, 2, vec![0, 0], vec![0], vec![1.0], "row_offsets ends with 0, but there are 1 nonzeros"),
        (1, 2, vec![0, 1], vec![0], vec![], "column_indices has length 1, but values has length 0"),
        (
            3,
            2,
            vec![0, 1, 1, 3],
            vec![0, 1, 2],
            vec![1.0; 3],
            "column 2 at position 2, in row 2, is out of range: the matrix has 2 columns",
        ),
        (
            1,
            0,
            vec![0, 1],
            vec![0],
            vec![1.0],
            "column 0 at position 0, in row 0, is out of range: the matrix has 0 columns",
        ),
        (1, 1 << 32, vec![0, 0], vec![], vec![], "4294967296 columns: a matrix has at most 4294967295"),
    ];
    for (rows, cols, row_offsets, columns, values, message) in cases {
        let view = CsrView::try_new(rows, cols, &row_offsets, &columns, &values).unwrap_err();
        assert_eq!(view.to_string(), message);
        let parts = (row_offsets.clone(), columns.clone(), values.clone());
        let refused = Csr::try_new(rows, cols, row_offsets, columns, values).unwrap_err();
        assert_eq!(refused.kind(), &view);
        assert_eq!(refused.to_string(), message);
        assert_eq!(refused.into_parts(), parts);
    }
}

#[test]
#[cfg_attr(miri, ignore = "large")]
fn far_faults_are_found_by_every_task() {
    // The error lies beyond the first chunk of the parallel checks.
    let rows = 100_000;
    let offsets: Vec<u32> = (0..=rows as u32).collect();
    let mut columns = vec![0; rows];
    columns[77_777] = 9;
    let values = vec![1.0; rows];
    let error = CsrView::try_new(rows, 9, &offsets, &columns, &values).unwrap_err();
    assert_eq!(error, MatrixError::ColumnOutOfRange { row: 77_777, position: 77_777, column: 9, cols: 9 });
    let mut decreasing = offsets.clone();
    decreasing[77_778] = 0;
    let error = CsrView::try_new(rows, 10, &decreasing, &columns, &values).unwrap_err();
    assert_eq!(error, MatrixError::RowOffsetsDecrease { row: 77_777, start: 77_777, end: 0 });
}

#[test]
fn errors_of_bad_coordinates_return_them() {
    let error = Coo::try_new(2, 3, vec![0, 2], vec![0, 0], vec![1.0f32; 2]).unwrap_err();
    assert_eq!(error.kind(), &MatrixError::RowOutOfRange { position: 1, row: 2, rows: 2 });
    assert_eq!(error.into_parts(), (vec![0, 2], vec![0, 0], vec![1.0; 2]));
    let error = Coo::try_new(2, 3, vec![0, 1], vec![0, 3], vec![1.0f32; 2]).unwrap_err();
    assert_eq!(error.kind(), &MatrixError::ColumnOutOfRange { row: 1, position: 1, column: 3, cols: 3 });
    let error = Coo::try_new(2, 3, vec![0], vec![0, 1], vec![1.0f32; 2]).unwrap_err();
    assert_eq!(error.kind(), &MatrixError::IndicesLength { rows: 1, columns: 2 });
    let error = Coo::try_new(2, 3, vec![0], vec![0], vec![1.0f32; 2]).unwrap_err();
    assert_eq!(error.kind(), &MatrixError::ValuesLength { columns: 1, values: 2 });
    let error = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (1, 5_000_000_000, 1.0)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 5000000000 at position 1, in row 1, is out of range: the matrix has 2 columns"
    );
}

#[test]
fn canonical_check_names_the_first_bad_row() {
    let check = |columns: [u32; 4]| {
        CsrView::try_new(3, 9, &[0u32, 2, 2, 4], &columns, &[1.0; 4]).unwrap().check_canonical()
    };
    assert_eq!(check([0, 1, 0, 1]), Ok(()));
    assert_eq!(check([0, 1, 4, 3]), Err(MatrixError::NotCanonical { row: 2, previous: 4, column: 3 }));
    assert_eq!(check([5, 5, 4, 3]), Err(MatrixError::NotCanonical { row: 0, previous: 5, column: 5 }));
}

#[test]
fn empty_shapes_are_ordinary() {
    for (rows, cols) in [(0, 0), (0, 7), (7, 0), (3, 4)] {
        let empty = Csr::<f32, u64>::empty(rows, cols).unwrap();
        assert!(empty.is_canonical());
        assert_eq!((empty.nrows(), empty.ncols(), empty.nnz()), (rows, cols, 0));
        assert_eq!(empty.transpose().unwrap(), Csr::empty(cols, rows).unwrap());
        assert_eq!(empty.to_dense().unwrap(), vec![0.0; rows * cols]);
        assert_eq!(empty.iter_rows().len(), rows);
        assert_eq!(empty.to_coo().unwrap().to_csr_with_offsets(Duplicates::Sum).unwrap(), empty);
        assert!(empty.row(rows).is_none() && empty.get(rows, 0).is_none());
        assert_eq!(empty.statistics().row_length_skewness.to_bits(), 0);
    }
}

#[test]
fn conversions_keep_or_refuse() {
    let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1e300), (1, 1, 0.1)]).unwrap();
    let wide: Csr<f64, u64> = a.clone().try_into_offsets().unwrap();
    assert_eq!(wide.row_offsets(), [0, 1, 2]);
    assert_eq!(wide.clone().try_into_offsets::<u32>().unwrap(), a);
    let single = a.clone().into_values::<f32>();
    assert_eq!(single.values(), [f32::INFINITY, 0.1]);
    assert_eq!(single.into_values::<f64>().values()[1].to_bits(), f64::from(0.1f32).to_bits());
}

#[test]
fn debug_prints_the_shape_only() {
    let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0)]).unwrap();
    assert_eq!(format!("{a:?}"), "Csr<f64, u32> 2 x 3, 1 nonzeros");
    assert_eq!(format!("{:?}", a.view()), "CsrView<f64, u32> 2 x 3, 1 nonzeros");
    assert_eq!(format!("{:?}", a.to_coo().unwrap()), "Coo<f64> 2 x 3, 1 entries");
}

#[test]
#[cfg_attr(miri, ignore = "large")]
fn dense_beyond_memory_is_an_error() {
    let huge = Csr::<f64>::try_new(1 << 20, u32::MAX as usize, vec![0; (1 << 20) + 1], vec![], vec![]);
    let error = huge.unwrap().to_dense().unwrap_err();
    assert_eq!(error, MatrixError::DenseTooLarge { rows: 1 << 20, cols: u32::MAX as usize });
}

#[test]
fn statistics_print_like_merge_spmv() {
    let lengths = [1, 14, 0, 2, 3];
    let entries = lengths.iter().enumerate().flat_map(|(row, &len)| (0..len).map(move |col| (row, col, 1.0)));
    let text = Csr::<f64>::from_triplets(5, 20, entries).unwrap().statistics().to_string();
    // Mean 4; deltas -3, 10, -4, -2, -1: squares sum to 130, cubes to 1000 - 27 - 64 - 8 - 1 = 900.
    let expected = "\t num_rows: 5\n\
        \t num_cols: 20\n\
        \t num_nonzeros: 20\n\
        \t row_length_mean: 4.00000\n\
        \t row_length_std_dev: 5.09902\n\
        \t row_length_variation: 1.27475\n\
        \t row_length_skewness: 1.35773\n\
        \n\
        CSR matrix (5 rows, 20 columns, 20 non-zeros, max-length 14):\n\
        \tDegree 1e-1: \t1 (20.00%)\n\
        \tDegree 1e0: \t3 (60.00%)\n\
        \tDegree 1e1: \t1 (20.00%)\n";
    assert_eq!(text, expected);
}

/// Four billion rows without slots take no memory: nothing is written per row.
#[test]
#[cfg_attr(miri, ignore = "large")]
fn rows_without_slots_take_no_time() {
    let rows = MAX_DIMENSION;
    let start = std::time::Instant::now();
    let shapes = [
        Ell::<f64>::try_new(rows, 2, 0, vec![], vec![])
            .map(|a| (a.nrows(), a.nnz()))
            .map_err(MatrixError::from),
        SlicedEll::<f64>::try_new(rows, 2, u32::MAX, vec![0, 0], vec![], vec![], None)
            .map(|a| (a.nrows(), a.nnz()))
            .map_err(MatrixError::from),
    ];
    // A machine that does not overcommit memory returns an error instead.
    for shape in shapes {
        assert!(
            shape == Ok((rows, 0)) || shape == Err(MatrixError::OutOfMemory { rows, nnz: 0 }),
            "{shape:?}"
        );
    }
    assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
    // Empty slices next to one with slots.
    let columns = vec![0, 1, 0, Ell::<f64>::PADDING];
    let sliced = SlicedEll::try_new(6, 2, 2, vec![0, 0, 4, 4], columns, vec![1.0; 4], None).unwrap();
    assert_eq!((sliced.nnz(), sliced.to_csr().unwrap().row_offsets()), (3, &[0, 0, 0, 2, 3, 3, 3][..]));
}
