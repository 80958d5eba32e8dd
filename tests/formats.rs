//! Padded formats, coordinates and row orders: there and back, and their products on every device.

use evenpath::generate::{Kind, generate};
use evenpath::{
    Coo, Csr, Device, DeviceError, DeviceVec, Duplicates, Ell, Hyb, HybOptions, HybWidth, MatrixError,
    Offset, OpError, PaddingLimit, RowOrder, SlicedEll, SlicedEllOptions, SpmvOptions, Value,
};
use evenpath_kernels::{coo, ell};
use evenpath_simt::kernel::Kernel;
use evenpath_tests::{DeviceUnderTest, devices, spmv as oracle, tile_len};
use proptest::prelude::*;

const PADDING: u32 = Ell::<f64>::PADDING;

/// Padding may take what it wants.
const UNLIMITED: PaddingLimit = PaddingLimit::Bytes(u64::MAX);

/// A vector of numbers that are not round, the same for the same length.
fn vector<V: Value>(len: usize) -> Vec<V> {
    (0..len).map(|i| V::from_f64(((i * 7919 + 13) % 1009) as f64 / 504.0 - 1.0)).collect()
}

/// A matrix with rows of the given lengths: columns in no order, some twice, some values zero.
fn with_row_lengths<V: Value, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let mut offsets = vec![O::ZERO];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for (row, &len) in lengths.iter().enumerate() {
        columns.extend((0..len).map(|i| ((row * 17 + i * 7919) % cols) as u32));
        values.extend((0..len).map(|i| V::from_f64(((row * 31 + i * 17) % 101) as f64 / 50.0 - 1.0)));
        offsets.push(O::try_from_usize(columns.len()).expect("few nonzeros"));
    }
    Csr::try_new(lengths.len(), cols, offsets, columns, values).expect("a valid matrix")
}

fn sliced(slice_height: u32, sorting_scope: usize) -> SlicedEllOptions {
    SlicedEllOptions { slice_height, sorting_scope, limit: UNLIMITED }
}

const HYB_WIDTHS: [HybWidth; 4] =
    [HybWidth::Typical, HybWidth::Slots(0), HybWidth::Slots(3), HybWidth::Slots(usize::MAX)];

/// Every format gives the matrix back as it was: pattern, order, zeros and duplicates.
fn check_round_trips<V: Value, O: Offset>(a: &Csr<V, O>) {
    let ell = a.to_ell(UNLIMITED).expect("ELL");
    assert_eq!(&ell.to_csr::<O>().expect("CSR"), a, "{ell:?}");
    assert_eq!(ell.nnz(), a.nnz());
    let (columns, values) = ell.clone().into_parts();
    assert_eq!(Ell::try_new(a.rows(), a.cols(), ell.width(), columns, values).expect("its own arrays"), ell);
    for options in [sliced(32, 1), sliced(32, 128), sliced(1, 1), sliced(5, 7), sliced(64, usize::MAX)] {
        let sliced = a.to_sliced_ell(options).expect("sliced ELL");
        assert_eq!(&sliced.to_csr::<O>().expect("CSR"), a, "{sliced:?}");
        assert_eq!(sliced.nnz(), a.nnz());
        let (height, (offsets, columns, values, order)) =
            (sliced.slice_height(), sliced.clone().into_parts());
        let again = SlicedEll::try_new(a.rows(), a.cols(), height, offsets, columns, values, order);
        assert_eq!(again.expect("its own arrays"), sliced);
    }
    for width in HYB_WIDTHS {
        let hyb = a.to_hyb(HybOptions { width, limit: UNLIMITED }).expect("HYB");
        assert_eq!(&hyb.to_csr::<O>().expect("CSR"), a, "{hyb:?}");
        assert_eq!(hyb.nnz(), a.nnz());
    }
    assert_eq!(&a.to_coo().to_csr::<O>(Duplicates::Keep).expect("CSR"), a);
    let (sorted, order) = a.sort_rows_by_length();
    let inverse = RowOrder::try_new(order.inverse().to_vec()).expect("a permutation");
    assert_eq!(&sorted.permute_rows(&inverse).expect("as many rows"), a);
}

/// y = αAx + βy in one format.
type Product<'a, V> =
    (&'static str, Box<dyn Fn(V, &DeviceVec<V>, V, &mut DeviceVec<V>) -> Result<(), OpError> + 'a>);

/// Every format in which a device multiplies the matrix; HYB and COO first, whose sums are cut.
fn products<'a, V: Value, O: Offset>(device: &Device, a: &Csr<V, O>) -> Vec<Product<'a, V>> {
    let coo = device.upload_coo(&a.to_coo()).expect("upload");
    let mut products: Vec<Product<'a, V>> =
        vec![("COO", Box::new(move |alpha, x, beta, y| coo.spmv(alpha, x, beta, y)))];
    for width in HYB_WIDTHS {
        let hyb = a.to_hyb(HybOptions { width, limit: UNLIMITED }).expect("HYB");
        let hyb = device.upload_hyb(&hyb).expect("upload");
        products.push(("HYB", Box::new(move |alpha, x, beta, y| hyb.spmv(alpha, x, beta, y))));
    }
    let ell = a.to_ell(UNLIMITED).expect("ELL");
    let (ell, ell_r) = (device.upload_ell(&ell).expect("upload"), device.upload_ell_r(&ell).expect("upload"));
    products.push(("ELL", Box::new(move |alpha, x, beta, y| ell.spmv(alpha, x, beta, y))));
    products.push(("ELL-R", Box::new(move |alpha, x, beta, y| ell_r.spmv(alpha, x, beta, y))));
    for options in [sliced(32, 1), sliced(32, 256), sliced(7, 3)] {
        let sliced = a.to_sliced_ell(options).expect("sliced ELL");
        let sliced = device.upload_sliced_ell(&sliced).expect("upload");
        products.push(("sliced ELL", Box::new(move |alpha, x, beta, y| sliced.spmv(alpha, x, beta, y))));
    }
    let (sorted, order) = a.sort_rows_by_length();
    let order = device.upload_row_order(&order).expect("upload");
    let ell_r = device.upload_ell_r(&sorted.to_ell(UNLIMITED).expect("ELL")).expect("upload");
    let ell_r = ell_r.with_row_order(&order).expect("as many rows");
    products.push(("sorted ELL-R", Box::new(move |alpha, x, beta, y| ell_r.spmv(alpha, x, beta, y))));
    let plan = device.upload(&sorted).expect("upload").plan_spmv(SpmvOptions::default()).expect("plan");
    products.push((
        "sorted CSR",
        Box::new(move |alpha, x, beta, y| {
            let mut permuted = y.device().zeros(y.len())?;
            plan.run(alpha, x, V::ZERO, &mut permuted)?;
            order.restore(V::ONE, &permuted, beta, y)
        }),
    ));
    products
}

/// Runs y = αAx + βy in every format, y filled with NaN where β is zero, and checks it against the oracle.
fn check_products<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, alpha: f64, beta: f64) {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(a.cols());
    let mut y: Vec<V> = vector(a.rows());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let expected = oracle(a, alpha, &x, beta, &y);
    let x = device.upload_slice(&x).expect("upload");
    for (format, product) in products(device, a) {
        let mut result = device.upload_slice(&y).expect("upload");
        product(alpha, &x, beta, &mut result).expect("product");
        if let Err(difference) = expected.check(&result.to_vec().expect("download")) {
            panic!("{device}, {a:?} in {format}, alpha {alpha}, beta {beta}: {difference}");
        }
    }
}

fn check_types(device: &Device, cols: usize, lengths: &[usize]) {
    check_round_trips(&with_row_lengths::<f32, u64>(cols, lengths));
    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (2.0, -0.25)] {
        check_products(device, &with_row_lengths::<f32, u32>(cols, lengths), alpha, beta);
        check_products(device, &with_row_lengths::<f64, u32>(cols, lengths), alpha, beta);
    }
    check_products(device, &with_row_lengths::<f64, u64>(cols, lengths), 0.0, 3.0);
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        check_types(&device, 0, &[]);
        check_types(&device, 5, &[]);
        check_types(&device, 0, &[0; 7]);
        check_types(&device, 5, &[0; 300]);
        check_types(&device, 1, &[1]);
        check_types(&device, 4, &[0, 3, 0, 0, 9, 1, 0]);
        check_types(&device, 3000, &[3000]);
        check_types(&device, 1, &[1; 600]);
        check_types(&device, 700, &[1, 700, 0, 2, 650]);
    }
}

/// Rows around a block's, a warp's and a slice's; slots around what a thread loads at once.
#[test]
fn rows_and_slots_around_edges() {
    let (padded, sliced) =
        (ell::Ell::<f64>::first().expect("f64"), ell::SlicedEll::<f64>::first().expect("f64"));
    let block = padded.block_size as usize;
    let items = [padded, sliced].map(|info| info.items_per_thread as usize);
    for DeviceUnderTest { device, .. } in devices() {
        for rows in [31, 32, 33, block - 1, block, block + 1, 2 * block + 1] {
            let lengths: Vec<usize> = (0..rows).map(|row| row % 5).collect();
            check_products(&device, &with_row_lengths::<f64, u32>(50, &lengths), 1.0, 0.0);
        }
        for width in
            items.iter().flat_map(|items| [1, items - 1, *items, items + 1, 2 * items, 2 * items + 1])
        {
            let lengths = [width, 0, width - 1, 1, width, width / 2, width.min(2)];
            check_products(&device, &with_row_lengths::<f64, u32>(50, &lengths), 1.0, 0.5);
            check_products(&device, &with_row_lengths::<f32, u32>(50, &lengths), 1.0, 0.5);
        }
    }
}

/// Entries around what a lane, a warp and an interval have; rows that end with them, or go on over many.
#[test]
fn coordinates_around_edges() {
    let step = tile_len::<coo::CooInterval<f64>>() / 8; // of a warp
    let interval = evenpath::policy::COO_INTERVAL as usize;
    for DeviceUnderTest { device, fast } in devices() {
        let check = |a: &Csr<f64>| {
            let (alpha, x, y) = (1.5, vector(a.cols()), vector(a.rows()));
            let expected = oracle(a, alpha, &x, 0.5, &y);
            let coo = device.upload_coo(&a.to_coo()).expect("upload");
            let (x, mut y) =
                (device.upload_slice(&x).expect("upload"), device.upload_slice(&y).expect("upload"));
            coo.spmv(alpha, &x, 0.5, &mut y).expect("product");
            if let Err(difference) = expected.check(&y.to_vec().expect("download")) {
                panic!("{device}, {a:?}: {difference}");
            }
        };
        for edge in [4, 128, step, interval, 8 * interval, 256 * interval] {
            if edge > 8 * interval && !fast {
                continue;
            }
            for len in [edge - 1, edge, edge + 1] {
                check(&with_row_lengths(100, &[len]));
                check(&with_row_lengths(100, &[len, len, 0, 1]));
                check(&with_row_lengths(100, &[1, len, 2]));
                check(&with_row_lengths(100, &vec![1; len]));
                check(&with_row_lengths(100, &vec![2; len / 2]));
            }
        }
        // Runs of carries that one thread sums, and those that its block does.
        for intervals in [15, 16, 17, 18, 40] {
            let long = intervals * interval;
            check(&with_row_lengths(100, &[3, long, 2, long, 0]));
            check(&with_row_lengths(100, &[interval, long, interval, long]));
        }
        if fast {
            check(&with_row_lengths(1000, &[5, 3_000_000, 1]));
        }
    }
}

#[test]
fn generated_matrices() {
    for DeviceUnderTest { device, fast } in devices() {
        let kinds = if fast {
            ["stencil5:300", "power-law:20000", "uniform:20000", "empty-rows:100000", "rmat:13", "fem:3000"]
        } else {
            ["stencil5:30", "power-law:600", "uniform:700", "empty-rows:2000", "rmat:7", "fem:200"]
        };
        for kind in kinds {
            let kind: Kind = kind.parse().expect("a kind");
            let a: Csr<f64> = generate(kind, 1).expect("a matrix");
            check_products(&device, &a, 1.0, 0.0);
            check_products(&device, &a.clone().into_values::<f32>(), -1.5, 2.0);
            check_round_trips(&a);
        }
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    let a: Csr<f32> = generate("power-law:700".parse().expect("a kind"), 3).expect("a matrix");
    let mut of_devices: Vec<Vec<Vec<u32>>> = Vec::new();
    for DeviceUnderTest { device, .. } in devices() {
        let x = device.upload_slice(&vector::<f32>(a.cols())).expect("upload");
        let mut results = Vec::new();
        for (format, product) in products(&device, &a) {
            let runs: Vec<Vec<u32>> = (0..3)
                .map(|_| {
                    let mut y = device.zeros(a.rows()).expect("zeros");
                    product(1.25, &x, 0.0, &mut y).expect("product");
                    y.to_vec().expect("download").into_iter().map(f32::to_bits).collect()
                })
                .collect();
            assert!(runs.iter().all(|run| run == &runs[0]), "{format} on {device}");
            results.extend(runs.into_iter().next());
        }
        if device.kind() != evenpath::DeviceKind::Cpu {
            of_devices.push(results);
        }
    }
    assert!(of_devices.iter().all(|results| results == &of_devices[0]), "kernels are the same everywhere");
}

/// Padding is no nonzero: it meets no infinity. A zero that is stored does.
#[test]
fn padding_counts_nothing_and_stored_zeros_count() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> =
            Csr::try_new(3, 2, vec![0_u32, 3, 4, 5], vec![0, 0, 0, 0, 1], vec![1.0, 1.0, 1.0, 2.0, 0.0])
                .expect("a matrix");
        let x = device.upload_slice(&[2.0, f64::INFINITY]).expect("upload");
        for (format, product) in products(&device, &a) {
            let mut y = device.upload_slice(&[f64::NAN; 3]).expect("upload");
            product(1.0, &x, 0.0, &mut y).expect("product");
            let y = y.to_vec().expect("download");
            assert_eq!(y[..2], [6.0, 4.0], "{format} on {device}");
            assert!(y[2].is_nan(), "{format} on {device}: 0 times infinity");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused_and_nothing_is_written() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let x = device.upload_slice(&[1.0; 5]).expect("upload");
        let short = device.upload_slice(&[1.0; 4]).expect("upload");
        let other = Device::simulated(evenpath::SimulatedOptions::default());
        let elsewhere = other.upload_slice(&[1.0; 5]).expect("upload");
        for (format, product) in products(&device, &a) {
            let mut y = device.upload_slice(&[7.0; 3]).expect("upload");
            let error = product(1.0, &short, 0.0, &mut y).expect_err("x is short");
            assert!(
                matches!(error, OpError::VectorLength { operand: "x", len: 4, needed: 5, rows: 3, cols: 5 }),
                "{format}: {error}"
            );
            let error = product(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
            assert_eq!(y.to_vec().expect("download"), [7.0; 3], "{format}");
            let mut long = device.upload_slice(&[7.0; 4]).expect("upload");
            product(1.0, &x, 0.0, &mut long).expect_err("y is long");
            assert_eq!(long.to_vec().expect("download"), [7.0; 4], "{format}");
        }
        let order =
            device.upload_row_order(&RowOrder::try_new(vec![1, 0]).expect("an order")).expect("upload");
        let ell_r = device.upload_ell_r(&a.to_ell(UNLIMITED).expect("ELL")).expect("upload");
        let error = ell_r.with_row_order(&order).expect_err("two rows for three");
        assert!(matches!(error, OpError::Lengths { left: 3, right: 2, .. }), "{error}");
    }
}

/// The limit is looked at before anything is allocated: these would take terabytes.
#[test]
fn padding_above_the_limit_is_refused() {
    const ROWS: usize = 10_000_000;
    let mut offsets = vec![1_000_000_u32; ROWS + 1];
    offsets[0] = 0;
    let a: Csr<f64> =
        Csr::try_new(ROWS, 1, offsets, vec![0; 1_000_000], vec![1.0; 1_000_000]).expect("a matrix");
    let bytes = 12 * 10_000_000 * 1_000_000;
    let refused = MatrixError::PaddingTooLarge { rows: ROWS, width: 1_000_000, bytes, limit: 36_000_000 };
    assert_eq!(a.to_ell(PaddingLimit::default()).expect_err("terabytes"), refused);
    let all = HybOptions { width: HybWidth::Slots(usize::MAX), ..HybOptions::default() };
    assert_eq!(a.to_hyb(all).expect_err("terabytes"), refused);
    let text = refused.to_string();
    for part in ["10000000 rows", "1000000 nonzeros", "120000000000000 bytes", "36000000"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    // As one slice it is refused, cut into slices it is small.
    let one_slice = SlicedEllOptions { slice_height: ROWS as u32, ..SlicedEllOptions::default() };
    assert_eq!(a.to_sliced_ell(one_slice).expect_err("terabytes"), refused);
    let slices = a.to_sliced_ell(SlicedEllOptions { limit: UNLIMITED, ..SlicedEllOptions::default() });
    assert_eq!(slices.expect("384 MB").values().len(), 32_000_000);

    // At the limit, and one byte below. Relative limits begin to count at 2²⁰ slots.
    let small: Csr<f32> = with_row_lengths(9, &[9, 0, 1]);
    assert_eq!(small.to_ell(PaddingLimit::Bytes(27 * 8)).expect("just enough").bytes(), 216);
    let refused = small.to_ell(PaddingLimit::Bytes(27 * 8 - 1)).expect_err("one byte less");
    assert_eq!(refused, MatrixError::PaddingTooLarge { rows: 3, width: 9, bytes: 216, limit: 215 });
    small.to_ell(PaddingLimit::Times(1)).expect("small matrices may be padded");
}

/// Bell and Garland: a K-th slot where at least max(4096, rows / 3) rows have it.
#[test]
fn typical_width_is_that_of_the_paper() {
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
fn refused_ell_arrays_come_back() {
    type Case = (usize, usize, usize, Vec<u32>, usize, &'static str);
    let cases: [Case; 6] = [
        (2, 3, 2, vec![0, 1, 2], 3, "2 rows of 2 slots"),
        (2, 3, 1, vec![0, 1], 3, "values has length 3"),
        (2, 3, 1, vec![0, 3], 2, "column 3 at position 1, in row 1"),
        (2, 3, 2, vec![0, PADDING, 1, 2], 4, "row 1 has a column in slot 1, behind its padding"),
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
fn refused_sliced_ell_arrays_come_back() {
    type Case = (usize, u32, Vec<u64>, Vec<u32>, Option<Vec<u32>>, &'static str);
    let cases: [Case; 10] = [
        (3, 0, vec![0], vec![], None, "slices of 0 rows"),
        (3, 2, vec![], vec![], None, "slice_offsets has length 0"),
        (3, 2, vec![0, 2], vec![0, 0], None, "2 slices need 2 + 1"),
        (3, 2, vec![0, 2, 4], vec![0, 0], None, "from 0 to 4 instead of from 0 to 2"),
        (3, 2, vec![0, 1, 2], vec![0, 0], None, "slice 0 goes from 0 to 1"),
        (3, 2, vec![0, 4, 2], vec![0, 0], None, "slice 1 goes from 4 to 2"),
        (3, 2, vec![0, 2, 4], vec![0, 0, 0, 0], None, "row 3 has a column, and the matrix has 3 rows"),
        (3, 2, vec![0, 2, 4], vec![0, 9, 0, PADDING], None, "column 9 at position 1, in row 1"),
        (
            3,
            2,
            vec![0, 2, 4],
            vec![0, 9, 0, PADDING],
            Some(vec![1, 2, 0]),
            "column 9 at position 1, in row 2",
        ),
        (3, 2, vec![0, 0, 0], vec![], Some(vec![1, 0]), "a row order of 2 rows for a matrix of 3"),
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
    // A height without end costs no time.
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

/// Values of padding that a caller leaves behind do not count, and entries of both parts of a HYB may share a place.
#[test]
fn arrays_of_callers() {
    for DeviceUnderTest { device, .. } in devices() {
        let ell =
            Ell::try_new(2, 2, 2, vec![0, 1, 1, PADDING], vec![1.0, 2.0, 4.0, f64::NAN]).expect("valid");
        assert_eq!(ell.values(), [1.0, 2.0, 4.0, 0.0]);
        let entries = Coo::from_triplets(2, 2, [(1, 1, 16.0), (0, 1, 8.0)]).expect("valid");
        assert!(!entries.is_sorted_by_row());
        let hyb = Hyb::try_new(ell, entries).expect("one shape");
        let csr: Csr<f64> = hyb.to_csr().expect("few nonzeros");
        assert_eq!(
            (csr.column_indices(), csr.values()),
            (&[0, 1, 1, 1, 1][..], &[1.0, 4.0, 8.0, 2.0, 16.0][..])
        );
        let hyb = device.upload_hyb(&hyb).expect("upload");
        let x = device.upload_slice(&[1.0, 100.0]).expect("upload");
        let mut y = device.upload_slice(&[f64::NAN; 2]).expect("upload");
        hyb.spmv(1.0, &x, 0.0, &mut y).expect("product");
        assert_eq!(y.to_vec().expect("download"), [1201.0, 1800.0], "{device}");
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
    // Two warps of 32 rows and one of 6: longest rows 40, 3, 40 before; after sorting 40, 3, 2.
    let mut lengths = [vec![3; 32], vec![2; 38]].concat();
    (lengths[10], lengths[69]) = (40, 40);
    let a: Csr<f64> = with_row_lengths(40, &lengths);
    let longest = a.sort_rows_by_length().1.longest_rows(&a).expect("its own order");
    assert_eq!((longest.before.as_slice(), longest.after.as_slice()), (&[40, 2, 40][..], &[40, 3, 2][..]));
    assert!((longest.ratio() - 45.0 / 82.0).abs() < 1e-15, "{}", longest.ratio());
    let error = RowOrder::try_new(vec![0]).expect("an order").longest_rows(&a).expect_err("one row for 70");
    assert_eq!(error, MatrixError::RowOrderLength { rows: 70, found: 1 });
}

#[test]
fn entries_are_sorted_by_row_and_stable() {
    let entries = [(2, 0, 1.0), (0, 1, 2.0), (2, 1, 3.0), (0, 0, 4.0), (0, 1, 5.0)];
    let mut coo = Coo::from_triplets(3, 2, entries).expect("valid");
    coo.sort_by_row();
    assert!(coo.is_sorted_by_row());
    assert_eq!((coo.row_indices(), coo.values()), (&[0, 0, 0, 2, 2][..], &[2.0, 4.0, 5.0, 1.0, 3.0][..]));
}

/// The variant that measures: x in sequence, whatever the columns.
#[test]
fn x_in_sequence() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f64> =
            Csr::from_triplets(3, 9, [(0, 8, 1.0), (2, 3, 10.0), (2, 5, 100.0), (2, 8, 1000.0)])
                .expect("a matrix");
        let ell_r = device.upload_ell_r(&a.to_ell(UNLIMITED).expect("ELL")).expect("upload");
        let x: Vec<f64> = (1..10).map(f64::from).collect();
        let x = device.upload_slice(&x).expect("upload");
        let mut y = device.zeros(3).expect("zeros");
        ell_r.spmv_with_x_in_sequence(1.0, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.to_vec().expect("download"), [1.0, 0.0, 3210.0], "{device}");
    }
}

/// Rows of many lengths: mostly short, some empty, some longer than an interval.
fn row_lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![3 => Just(0_usize), 6 => 1..6_usize, 2 => 6..60_usize, 1 => 200..1500_usize];
    prop::collection::vec(length, 0..90)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_rows(lengths in row_lengths(), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        check_round_trips(&with_row_lengths::<f64, u64>(2000, &lengths));
        for DeviceUnderTest { device, .. } in devices() {
            check_products(&device, &with_row_lengths::<f64, u32>(2000, &lengths), alpha, beta);
            check_products(&device, &with_row_lengths::<f32, u64>(2000, &lengths), alpha, beta);
        }
    }
}
