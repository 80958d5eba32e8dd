//! SpMV with hot columns: rows around chunks and tiles, and the choice of hot columns.

use evenpath::device::SimulatedOptions;
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spmv::HOT_TILE;
use evenpath_tests::{DeviceUnderTest, check_spmv, kernel_devices, vector, with_row_lengths};
use proptest::prelude::*;

const METHOD: SpmvMethod = SpmvMethod::HotColumns;

/// Number of hot columns of the plan, and of their nonzeros.
fn hot_columns<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>) -> (u64, u64) {
    let a = device.upload(a).expect("upload");
    let plan = a.plan_spmv(SpmvOptions::default().with_method(METHOD)).expect("a plan");
    match plan.info().expect("figures").details {
        Some(SpmvDetails::HotColumns { columns, nonzeros }) => (columns, nonzeros),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_around_chunks() {
    let chunk = HOT_TILE as usize;
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for lengths in [
            vec![chunk],
            vec![chunk - 1, 1, chunk, chunk + 1],
            vec![chunk, 0, 0, chunk, 3],
            vec![0, 5 * chunk, 0, 1, 7],
            vec![1, 3 * chunk - 1],
            vec![2, 2 * chunk - 1, chunk / 2, 3, 1, 0],
            // More chunks than a warp has lanes, and than it examines twice.
            vec![5, 33 * chunk, 1, 70 * chunk + 9],
            // More rows than nonzeros of a tile, and rows that fill tiles and lanes.
            vec![1; 3 * chunk + 5],
            [128, 0, 127, 1, 4, 4, 4].repeat(40),
        ] {
            check_spmv(&device, &with_row_lengths::<f64, u32>(700, &lengths), METHOD, 1.0, 0.0);
            check_spmv(&device, &with_row_lengths::<f32, u64>(700, &lengths), METHOD, -0.5, 2.0);
            check_spmv(&device, &with_row_lengths::<f64, u64>(9, &lengths), METHOD, 1.5, -1.0);
            check_spmv(&device, &with_row_lengths::<f32, u32>(30_000, &lengths), METHOD, 1.0, 0.0);
        }
    }
}

/// Chunks of several tiles.
#[test]
fn chunks_of_many_nonzeros() {
    let rows = [1, 0, 900, 3, 17, 300, 0, 0, 5];
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for times in [450, 1000] {
            let a = with_row_lengths::<f64, u32>(5000, &rows.repeat(times));
            check_spmv(&device, &a, METHOD, 1.0, 0.0);
        }
        check_spmv(
            &device,
            &with_row_lengths::<f32, u64>(700, &[1, 600_000, 0, 400_000, 1]),
            METHOD,
            1.0,
            0.5,
        );
    }
}

/// A matrix of the given columns, three to a row, and values that differ.
fn three_to_a_row(cols: usize, columns: Vec<u32>) -> Csr<f64> {
    let offsets = (0..=columns.len() / 3).map(|row| 3 * row as u32).collect();
    let values = (0..columns.len()).map(|index| (index % 23) as f64 - 7.5).collect();
    Csr::try_new(columns.len() / 3, cols, offsets, columns, values).expect("a matrix")
}

/// The columns with the most nonzeros are hot, as many as fit, and only those worth a copy to every block.
#[test]
fn columns_with_the_most_nonzeros_are_hot() {
    // Column 40 has 90 nonzeros, 900 has 60, 7 has 30, and 120 others have one.
    let few = [vec![40; 90], vec![900; 60], vec![7; 30], (100..220).collect()].concat();
    // Every column has two, and the last hundred have three.
    let many: Vec<u32> = (0..6000).chain(0..6000).chain(5900..6000).chain([0, 1]).collect();
    let shared = 48 << 10;
    let fit = shared / 7 * 5 / 8;
    for (columns, multiprocessors, hot, covered) in [
        (&few, 4, 3, 180), // 32 bytes are copied for an element: as much is gathered for one nonzero
        (&few, 8, 3, 180),
        (&few, 200, 2, 150),
        (&few, 1000, 1, 90), // at least one
        (&many, 4, fit, 2 * fit + 102),
        (&many, 8, 102, 306),
    ] {
        let mut columns = columns.clone();
        columns.sort_by_key(|column| column * 7919 % 6007);
        let a = three_to_a_row(6000, columns);
        let options = SimulatedOptions::default().with_multiprocessors(multiprocessors);
        let device = Device::simulated(options.with_max_shared_bytes(shared));
        let found = hot_columns(&device, &a);
        assert!(
            found == (u64::from(hot), u64::from(covered)),
            "{multiprocessors} multiprocessors, {hot} of {}: {found:?}",
            a.nnz(),
        );
        check_spmv(&device, &a, METHOD, 1.0, 0.0);
    }
}

/// More hot columns than each block gathers by itself, with and without empty rows.
#[test]
fn hot_columns_that_another_launch_gathers() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for lengths in [[20, 0, 300, 3], [20, 1, 300, 3]] {
            let a = with_row_lengths::<f32, u32>(9000, &lengths.repeat(560));
            let found = hot_columns(&device, &a);
            assert!(matches!(found, (8193..=9000, _)), "{device}: {found:?}");
            check_spmv(&device, &a, METHOD, 1.0, 0.0);
            check_spmv(&device, &a, METHOD, -0.5, 2.0);
        }
    }
}

/// Neither the number of hot columns nor that of blocks changes a bit.
#[test]
fn bits_do_not_depend_on_the_hot_columns() {
    let a: Csr<f64> = generate(Kind::Rmat { scale: 11 }, 3).expect("a matrix");
    let product = |options| check_spmv(&Device::simulated(options), &a, METHOD, 1.5, 0.5);
    let expected = product(SimulatedOptions::default());
    for (multiprocessors, shared) in [(1, 40 << 10), (3, 48 << 10), (80, 100 << 10)] {
        let options =
            SimulatedOptions::default().with_multiprocessors(multiprocessors).with_max_shared_bytes(shared);
        assert!(product(options) == expected, "{multiprocessors} multiprocessors, {shared} bytes");
    }
}

/// Elements read by lanes without a nonzero have no effect.
#[test]
fn infinite_elements_stay_in_their_rows() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let mut columns = vec![3; 300];
        columns.extend((0..1300).map(|index| 4 + index % 90));
        columns.truncate(columns.len() / 3 * 3);
        let a = three_to_a_row(100, columns);
        let matrix = device.upload(&a).expect("upload");
        let mut x = vec![1.0; 100];
        for infinite in [0, 3, 50] {
            x.fill(1.0);
            x[infinite] = f64::INFINITY;
            let mut y = device.upload(&vec![f64::NAN; a.nrows()]).expect("upload");
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(METHOD)).expect("a plan");
            plan.run(1.0, &device.upload(&x).expect("upload"), 0.0, &mut y).expect("a product");
            let y = y.download().expect("download");
            for (row, sum) in y.iter().enumerate() {
                let has_it = a.column_indices()[3 * row..3 * row + 3].contains(&(infinite as u32));
                assert_eq!(sum.is_finite(), !has_it, "{device}, column {infinite}, row {row}: {sum}");
            }
        }
    }
}

/// A plan reads the values in place, and two plans of one matrix do not disturb each other.
#[test]
fn values_and_vectors_may_change() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let a: Csr<f64> = with_row_lengths(500, &[3, 0, 1200, 1, 40].repeat(7));
        let twice: Vec<f64> = a.values().iter().map(|value| 2.0 * value).collect();
        let matrix = device.upload(&a).expect("upload");
        let options = SpmvOptions::default().with_method(METHOD);
        let plans = [matrix.plan_spmv(options).expect("a plan"), matrix.plan_spmv(options).expect("a plan")];
        let x: Vec<f64> = vector(500);
        let x = device.upload(&x).expect("upload");
        let negative = device.upload(&x.download().expect("download").iter().map(|x| -x).collect::<Vec<_>>());
        let negative = negative.expect("upload");
        let product = |plan: usize, x| {
            let mut y = device.zeros(35).expect("memory");
            plans[plan].run(1.0, x, 0.0, &mut y).expect("a product");
            y.download().expect("download")
        };
        let expected = product(0, &x);
        let opposite: Vec<f64> = expected.iter().map(|sum| -sum).collect();
        assert!(product(1, &negative) == opposite, "{device}");
        assert!(product(0, &x) == expected, "{device}");
        matrix.set_values(&twice).expect("new values");
        let expected: Vec<f64> = expected.iter().map(|sum| 2.0 * sum).collect();
        assert!(product(0, &x) == expected && product(1, &x) == expected, "{device}");
    }
}

/// Rows of 70 nonzeros and a long one, whose columns follow from the row and the position in it.
fn with_columns(cols: usize, column: impl Fn(usize, usize) -> usize) -> Csr<f32> {
    let rows = 31_000;
    let mut offsets = vec![0];
    let mut columns = Vec::new();
    for row in 0..rows {
        let len = if row == 777 { 4000 } else { 70 };
        columns.extend((0..len).map(|place| column(row, place) as u32));
        offsets.push(columns.len() as u32);
    }
    let values = vec![1.0; columns.len()];
    Csr::try_new(rows, cols, offsets, columns, values).expect("a matrix")
}

#[test]
fn it_is_chosen_if_scattered_columns_are_hot() {
    const COLS: usize = 400_000;
    let device = Device::simulated(SimulatedOptions::default());
    let method = |a: &Csr<f32>, options: SpmvOptions| {
        let a = device.upload(a).expect("upload");
        a.plan_spmv(options).expect("a plan").info().expect("figures").method
    };
    let mixed = |row: usize, place: usize| (row * 70 + place) * 2_654_435_761 % 1_000_003;
    let may_copy = SpmvOptions::default().with_may_copy(true);
    let hot = with_columns(COLS, |row, place| mixed(row, place) % 10_000 * 40);
    assert_eq!(method(&hot, may_copy), METHOD);
    assert_ne!(method(&hot, SpmvOptions::default()), METHOD);
    // Millions of nonzeros, but a fourth of them in hot columns.
    let others = with_columns(COLS, |row, place| {
        if place % 4 == 0 { mixed(row, place) % 10_000 * 40 } else { mixed(row, place) % COLS }
    });
    assert_ne!(method(&others, may_copy), METHOD);
    // The same numbers of nonzeros and columns, but 64 rows share columns.
    let near = with_columns(COLS, |row, place| (row / 64 * 70 + place) % 10_000 * 40);
    assert_ne!(method(&near, may_copy), METHOD);
    // The same numbers of nonzeros and columns, but x fits in a cache.
    let small = with_columns(10_000, |row, place| mixed(row, place) % 10_000);
    assert_ne!(method(&small, may_copy), METHOD);
}

/// Codes have one bit less than columns.
#[test]
fn columns_without_a_code() {
    const COLS: usize = 1 << 31;
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let a: Csr<f32> = Csr::from_triplets(2, COLS, [(0, COLS - 1, 1.0)]).expect("a matrix");
        let refused =
            device.upload(&a).expect("upload").plan_spmv(SpmvOptions::default().with_method(METHOD));
        let expected =
            format!("with the method hot-columns, an x of {COLS} elements exceeds the limit of {COLS}");
        match refused {
            Err(error @ OpError::TooLong { .. }) => assert_eq!(error.to_string(), expected, "{device}"),
            other => panic!("{device}: {other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_rows(
        lengths in prop::collection::vec(prop_oneof![6 => 0..6_usize, 3 => 0..80_usize, 1 => 0..1500_usize], 0..300),
        cols in prop_oneof![Just(1_usize), 2..50_usize, 1000..20_000_usize],
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        for DeviceUnderTest { device, .. } in kernel_devices() {
            check_spmv(&device, &with_row_lengths::<f64, u32>(cols, &lengths), METHOD, 1.5, beta);
            check_spmv(&device, &with_row_lengths::<f32, u64>(cols, &lengths), METHOD, 1.5, beta);
        }
    }
}
