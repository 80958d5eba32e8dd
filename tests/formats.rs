//! Padded formats, COO and row orders: round trips, limits and errors.

use approx::assert_relative_eq;
use evenpath::coo::Duplicates;
use evenpath::ell::{Ell, PaddingLimit, SlicedEll, SlicedEllOptions};
use evenpath::error::MatrixError;
use evenpath::generate::{Kind, generate};
use evenpath::hyb::{Hyb, HybOptions, HybWidth};
use evenpath::row_order::RowOrder;
use evenpath::{Coo, Csr, Offset, Value};
use evenpath_tests::{UNLIMITED, hyb_widths, with_row_lengths};
use proptest::prelude::*;

const PADDING: u32 = Ell::<f64>::PADDING;

fn sliced(slice_height: u32, sorting_scope: usize) -> SlicedEllOptions {
    SlicedEllOptions::default()
        .with_slice_height(slice_height)
        .with_sorting_scope(sorting_scope)
        .with_limit(UNLIMITED)
}

/// Every format preserves the matrix: pattern, order, zeros and duplicates.
fn check_round_trips<V: Value, O: Offset>(a: &Csr<V, O>) {
    let ell = a.to_ell(UNLIMITED).expect("ELL");
    assert_eq!(&ell.to_csr_with_offsets::<O>().expect("CSR"), a, "{ell:?}");
    assert_eq!(ell.nnz(), a.nnz());
    let (columns, values) = ell.clone().into_parts();
    assert_eq!(
        Ell::try_new(a.nrows(), a.ncols(), ell.width(), columns, values).expect("its own arrays"),
        ell
    );
    for options in [sliced(32, 1), sliced(32, 128), sliced(1, 1), sliced(5, 7), sliced(64, usize::MAX)] {
        let sliced = a.to_sliced_ell(options).expect("sliced ELL");
        assert_eq!(&sliced.to_csr_with_offsets::<O>().expect("CSR"), a, "{sliced:?}");
        assert_eq!(sliced.nnz(), a.nnz());
        let (height, (offsets, columns, values, order)) =
            (sliced.slice_height(), sliced.clone().into_parts());
        let again = SlicedEll::try_new(a.nrows(), a.ncols(), height, offsets, columns, values, order);
        assert_eq!(again.expect("its own arrays"), sliced);
    }
    for width in hyb_widths() {
        let hyb = a.to_hyb(HybOptions::default().with_width(width).with_limit(UNLIMITED)).expect("HYB");
        assert_eq!(&hyb.to_csr_with_offsets::<O>().expect("CSR"), a, "{hyb:?}");
        assert_eq!(hyb.nnz(), a.nnz());
    }
    assert_eq!(&a.to_coo().expect("memory").to_csr_with_offsets::<O>(Duplicates::Keep).expect("CSR"), a);
    let (sorted, order) = a.sort_rows_by_length();
    let inverse = RowOrder::try_new(order.inverse().to_vec()).expect("a permutation");
    assert_eq!(&sorted.permute_rows(&inverse).expect("as many rows"), a);
}

#[test]
fn conversions_round_trip() {
    for (cols, lengths) in evenpath_tests::odd_row_lengths() {
        check_round_trips(&with_row_lengths::<f32, u64>(cols, &lengths));
    }
    for kind in ["stencil5:30", "power-law:600", "uniform:700", "empty-rows:2000", "rmat:7", "fem:200"] {
        check_round_trips(&generate::<f64, u32>(kind.parse().expect("a kind"), 1).expect("a matrix"));
    }
}

/// The limit is checked before anything is allocated: these matrices would take terabytes.
#[test]
fn padding_above_the_limit_is_refused() {
    const ROWS: usize = 1_000_000;
    let mut offsets = vec![400_000_u32; ROWS + 1];
    offsets[0] = 0;
    let a: Csr<f64> = Csr::try_new(ROWS, 1, offsets, vec![0; 400_000], vec![1.0; 400_000]).expect("a matrix");
    let bytes = 12 * 1_000_000 * 400_000;
    let refused = MatrixError::PaddingTooLarge { rows: ROWS, width: 400_000, bytes, limit: 14_400_000 };
    assert_eq!(a.to_ell(PaddingLimit::default()).expect_err("terabytes"), refused);
    let all = HybOptions::default().with_width(HybWidth::Slots(usize::MAX));
    assert_eq!(a.to_hyb(all).expect_err("terabytes"), refused);
    let text = refused.to_string();
    for part in ["1000000 rows", "400000 nonzeros", "4800000000000 bytes", "14400000"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    // A single slice is refused; slices of normal height are small.
    let one_slice = SlicedEllOptions::default().with_slice_height(ROWS as u32);
    assert_eq!(a.to_sliced_ell(one_slice).expect_err("terabytes"), refused);
    let slices = a.to_sliced_ell(SlicedEllOptions::default().with_limit(UNLIMITED));
    assert_eq!(slices.expect("154 MB").values().len(), 12_800_000);

    // At the limit, and one byte below. Relative limits apply to 2²⁰ slots or more.
    let small: Csr<f32> = with_row_lengths(9, &[9, 0, 1]);
    assert_eq!(small.to_ell(PaddingLimit::Bytes(27 * 8)).expect("just enough").bytes(), 216);
    let refused = small.to_ell(PaddingLimit::Bytes(27 * 8 - 1)).expect_err("one byte less");
    assert_eq!(refused, MatrixError::PaddingTooLarge { rows: 3, width: 9, bytes: 216, limit: 215 });
    small.to_ell(PaddingLimit::Times(1)).expect("small matrices may be padded");
}

/// Bell and Garland: a K-th slot if at least max(4096, rows / 3) rows use it.
#[test]
fn typical_width_follows_the_paper() {
    let width = |lengths: &[usize]| {
        let a: Csr<f32> = with_row_lengths(9, lengths);
        a.to_hyb(HybOptions::default()).expect("never refused").ell().width()
    };
    assert_eq!(width(&[]), 0);
    assert_eq!(width(&vec![3; 4095]), 0, "too few rows for ELL");
    assert_eq!(width(&vec![3; 4096]), 3);
    let long_and_short = |long, short| [vec![7; long], vec![2; short]].concat();
    assert_eq!(width(&long_and_short(4095, 2000)), 2, "4095 rows are too few");
    assert_eq!(width(&long_and_short(4096, 2000)), 7);
    assert_eq!(width(&long_and_short(5000, 10_000)), 7, "a third");
    assert_eq!(width(&long_and_short(5000, 10_001)), 2, "less than a third");
}

#[test]
fn refused_ell_arrays_are_returned() {
    type Case = (usize, usize, usize, Vec<u32>, usize, &'static str);
    let cases: [Case; 6] = [
        (2, 3, 2, vec![0, 1, 2], 3, "2 rows of 2 slots"),
        (2, 3, 1, vec![0, 1], 3, "values has length 3"),
        (2, 3, 1, vec![0, 3], 2, "column 3 at position 1, in row 1"),
        (2, 3, 2, vec![0, PADDING, 1, 2], 4, "row 1 has a column in slot 1, after padding"),
        (1 << 33, 3, 0, vec![], 0, "8589934592 rows"),
        (1, 1 << 33, 0, vec![], 0, "8589934592 columns"),
    ];
    for (rows, cols, width, columns, values, part) in cases {
        let refused = Ell::try_new(rows, cols, width, columns.clone(), vec![1.0; values]).expect_err(part);
        assert!(refused.to_string().contains(part), "{refused}");
        assert_eq!(refused.into_parts(), (columns, vec![1.0; values]));
    }
}

#[test]
fn refused_sliced_ell_arrays_are_returned() {
    type Case = (usize, u32, Vec<u64>, Vec<u32>, Option<Vec<u32>>, &'static str);
    let cases: [Case; 10] = [
        (3, 0, vec![0], vec![], None, "the slice height is 0"),
        (3, 2, vec![], vec![], None, "slice_offsets has length 0"),
        (3, 2, vec![0, 2], vec![0, 0], None, "2 slices need 2 + 1"),
        (3, 2, vec![0, 2, 4], vec![0, 0], None, "from 0 to 4 instead of from 0 to 2"),
        (3, 2, vec![0, 1, 2], vec![0, 0], None, "slice 0 runs from 0 to 1"),
        (3, 2, vec![0, 4, 2], vec![0, 0], None, "slice 1 runs from 4 to 2"),
        (3, 2, vec![0, 2, 4], vec![0, 0, 0, 0], None, "row 3 has a column, but the matrix has 3 rows"),
        (3, 2, vec![0, 2, 4], vec![0, 9, 0, PADDING], None, "column 9 at position 1, in row 1"),
        (
            3,
            2,
            vec![0, 2, 4],
            vec![0, 9, 0, PADDING],
            Some(vec![1, 2, 0]),
            "column 9 at position 1, in row 2",
        ),
        (3, 2, vec![0, 0, 0], vec![], Some(vec![1, 0]), "the row order has 2 rows, but the matrix has 3"),
    ];
    for (rows, height, offsets, columns, order, part) in cases {
        let values = vec![1.0; columns.len()];
        let order = order.map(|order| RowOrder::try_new(order).expect("a permutation"));
        let parts = (offsets, columns, values, order);
        let (offsets, columns, values, order) = parts.clone();
        let refused = SlicedEll::try_new(rows, 5, height, offsets, columns, values, order).expect_err(part);
        assert!(refused.to_string().contains(part), "{refused}");
        assert_eq!(refused.into_parts(), parts);
    }
    // A huge height does not cost time.
    SlicedEll::<f64>::try_new(1, 1, u32::MAX, vec![0, 0], vec![], vec![], None).expect("an empty row");
}

#[test]
fn parts_and_orders_that_do_not_fit_are_refused() {
    let ell = with_row_lengths::<f64, u32>(3, &[1, 2]).to_ell(UNLIMITED).expect("ELL");
    let entries = Coo::from_triplets(2, 4, [(1, 3, 1.0)]).expect("COO");
    let refused = Hyb::try_new(ell.clone(), entries.clone()).expect_err("another shape");
    assert_eq!(refused.to_string(), "the ELL part is 2 x 3, the COO part 2 x 4");
    assert!(refused.into_parts() == (ell, entries));
    for (order, part) in [(vec![0, 2], "row 2 at position 1"), (vec![0, 1, 1], "row 1 at position 2")] {
        assert!(RowOrder::try_new(order).expect_err(part).to_string().contains(part));
    }
}

#[test]
fn rows_are_sorted_by_length_and_stable() {
    let a: Csr<f64> = with_row_lengths(40, &[2, 5, 0, 5, 2, 40]);
    let (sorted, order) = a.sort_rows_by_length();
    assert_eq!(order.order(), [5, 1, 3, 0, 4, 2]);
    assert_eq!(order.inverse(), [3, 1, 5, 2, 4, 0]);
    for (position, &row) in order.order().iter().enumerate() {
        assert_eq!(sorted.row(position), a.row(row as usize));
    }
    // Two warps of 32 rows and one of 6: longest rows 40, 3, 40 before sorting, 40, 3, 2 after.
    let mut lengths = [vec![3; 32], vec![2; 38]].concat();
    (lengths[10], lengths[69]) = (40, 40);
    let a: Csr<f64> = with_row_lengths(40, &lengths);
    let longest = a.sort_rows_by_length().1.longest_rows(&a).expect("its own order");
    assert_eq!((longest.before.as_slice(), longest.after.as_slice()), (&[40, 2, 40][..], &[40, 3, 2][..]));
    assert_relative_eq!(longest.ratio(), 45.0 / 82.0);
    let error = RowOrder::try_new(vec![0]).expect("an order").longest_rows(&a).expect_err("one row for 70");
    assert_eq!(error, MatrixError::RowOrderLength { rows: 70, found: 1 });
}

/// Counts slots and sectors of x of each warp anew, one lane after the other.
fn count_loads<V: Value>(a: &Csr<V>, order: &[u32]) -> (u64, u64) {
    let mut counts = (0, 0);
    for rows in order.chunks(32) {
        let mut sectors = std::collections::BTreeSet::new();
        let mut longest = 0;
        for &row in rows {
            let row = a.row(row as usize).expect("a row");
            sectors.extend(row.columns().iter().map(|&col| col as usize * size_of::<V>() / 32));
            longest = longest.max(row.columns().len() as u64);
        }
        counts = (counts.0 + 32 * longest, counts.1 + sectors.len() as u64);
    }
    counts
}

fn check_orders_for_warps<V: Value>(a: &Csr<V>) {
    let identity: Vec<u32> = (0..a.nrows() as u32).collect();
    let (chosen, chosen_order) = a.sort_rows_for_warps();
    assert_eq!(chosen, a.permute_rows(&chosen_order).expect("its own order"));
    let loads = |order: &RowOrder| order.warp_loads(a).expect("its own order");
    let fewest = loads(&chosen_order).after.bytes();
    for window in [0, 1, 64, 256, 1024, usize::MAX] {
        let (_, order) = a.sort_rows_within(window);
        let counted = loads(&order);
        assert_eq!((counted.before.slots, counted.before.sectors), count_loads(a, &identity));
        assert_eq!((counted.after.slots, counted.after.sectors), count_loads(a, order.order()), "{window}");
        let slot = 4 + size_of::<V>() as u64;
        assert_eq!(counted.after.bytes(), counted.after.slots * slot + 32 * counted.after.sectors);
        assert!(fewest <= counted.after.bytes(), "{window}");
    }
}

#[test]
fn rows_are_sorted_where_warps_load_less() {
    check_orders_for_warps::<f32>(&Csr::from_triplets(0, 3, []).expect("no rows"));
    check_orders_for_warps::<f64>(&with_row_lengths(9, &[0, 0, 0]));
    let lengths: Vec<usize> = (0..1500).map(|row| 1 + row * 7 % 40 + row / 300).collect();
    check_orders_for_warps::<f32>(&with_row_lengths(80, &lengths));
    check_orders_for_warps::<f64>(&generate(Kind::PowerLaw { rows: 2000 }, 3).expect("small"));
    // Rows of 8 and 9 nonzeros alternate, and neighbors share sectors of x: sorted, warps read twice as many for few idle lanes less.
    let near = (0..2048).flat_map(|row| (row..row + 8 + row % 2).map(move |col| (row, col, 1.0_f64)));
    let near = Csr::from_triplets(2048, 2057, near).expect("valid");
    assert!(near.sort_rows_for_warps().1.order().is_sorted());
    assert!(near.sort_rows_by_length().1.warp_loads(&near).expect("its own order").ratio() > 1.0);
    // Long rows at every fourth place of a window, the same columns in all: sorted, a quarter of the warps is long.
    let lengths: Vec<usize> = (0..4096).map(|row| if row % 4 == 0 { 64 } else { 1 }).collect();
    let mixed: Csr<f32> = with_row_lengths(64, &lengths);
    assert!(mixed.sort_rows_for_warps().1.warp_loads(&mixed).expect("its own order").ratio() < 0.3);
    let error = RowOrder::try_new(vec![0]).expect("an order").warp_loads(&mixed).expect_err("one row");
    assert_eq!(error, MatrixError::RowOrderLength { rows: 4096, found: 1 });
}

#[test]
fn entries_are_sorted_by_row_and_stable() {
    let entries = [(2, 0, 1.0), (0, 1, 2.0), (2, 1, 3.0), (0, 0, 4.0), (0, 1, 5.0)];
    let mut coo = Coo::from_triplets(3, 2, entries).expect("valid");
    coo.sort_by_row();
    assert!(coo.is_sorted_by_row());
    assert_eq!((coo.row_indices(), coo.values()), (&[0, 0, 0, 2, 2][..], &[2.0, 4.0, 5.0, 1.0, 3.0][..]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rows_round_trip(lengths in evenpath_tests::row_lengths(1500, 90)) {
        check_round_trips(&with_row_lengths::<f64, u64>(2000, &lengths));
    }
}
