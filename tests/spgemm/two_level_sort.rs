//! SpGEMM by two-level sort and by one sort of all products, on every device: products around the edges of tiles, keys of
//! all widths, and memory limits.

use std::collections::BTreeMap;

use approx::abs_diff_eq;
use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spgemm::two_level_sort::SortProducts;
use evenpath_lab::two_level_sort_phases;
use evenpath_tests::{devices, kernel_devices, tile_len};
use proptest::prelude::*;

/// For each entry of A·B, its sum in f64, the sum of the magnitudes of its products, and their number.
fn oracle<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> BTreeMap<(usize, usize), (f64, f64, u32)> {
    let mut c = BTreeMap::new();
    for (row, k, left) in a.iter() {
        for (column, right) in b.row(k).expect("a row of B").iter() {
            let product = left.to_f64() * right.to_f64();
            let (sum, magnitude, count) = c.entry((row, column as usize)).or_insert((0.0, 0.0, 0));
            *sum += product;
            *magnitude += product.abs();
            *count += 1;
        }
    }
    c
}

/// The methods that sort.
fn by_sorting() -> [SpgemmOptions; 3] {
    [SpgemmMethod::TwoLevelSort, SpgemmMethod::ColumnSort, SpgemmMethod::GlobalSort]
        .map(|method| SpgemmOptions::default().with_method(method))
}

/// Checks that C is A·B: the pattern exactly, each value within rounding.
fn assert_product<V: Value, O: Offset>(what: &Device, a: &Csr<V, O>, b: &Csr<V, O>, c: &Csr<V, O>) {
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    c.check_canonical().expect("rows are sorted");
    let expected = oracle(a, b);
    assert_eq!(c.nnz(), expected.len(), "{what}: nonzeros");
    for ((row, column, value), (place, (sum, magnitude, count))) in c.iter().zip(expected) {
        assert_eq!((row, column), place, "{what}");
        let bound = f64::from(count + 1) * epsilon * magnitude;
        assert!(abs_diff_eq!(value.to_f64(), sum, epsilon = bound), "{what}: {value} for {sum} at {place:?}");
    }
}

fn check_on<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>) {
    let (left, right) = (device.upload(a).expect("A"), device.upload(b).expect("B"));
    for options in by_sorting() {
        let c = left.spgemm(&right, options).expect("a product").download().expect("C");
        assert_product(device, a, b, &c);
    }
}

fn check<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) {
    for under_test in devices() {
        check_on(&under_test.device, a, b);
    }
}

/// A `rows` x `cols` matrix with the given columns per row, and values that distinguish products.
fn matrix(rows: usize, cols: usize, columns: impl Fn(usize) -> Vec<u32>) -> Csr<f64> {
    let entries =
        (0..rows).flat_map(|row| columns(row).into_iter().map(move |column| (row, column as usize)));
    let entries = entries.map(|(row, column)| (row, column, 1.0 + (row * 31 + column * 17) as f64 / 64.0));
    Csr::from_triplets(rows, cols, entries.collect::<Vec<_>>()).expect("a valid matrix")
}

fn up_to(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

fn tile() -> usize {
    tile_len::<SortProducts<u32>>()
}

/// The example of the source: sections III and III-C, Figure 3.
#[test]
fn the_example_of_the_publication() {
    let a = [(0, 0, 10.0), (1, 1, 20.0), (1, 2, 30.0), (1, 3, 40.0), (2, 3, 50.0), (3, 1, 60.0)];
    let b = [(0, 0, 1.0), (1, 1, 2.0), (1, 3, 3.0), (2, 0, 4.0), (2, 1, 5.0), (3, 1, 6.0), (3, 3, 7.0)];
    let [a, b] =
        [&a[..], &b[..]].map(|entries| Csr::<f64>::from_triplets(4, 4, entries.to_vec()).expect("valid"));
    let c = [
        (0, 0, 10.0),
        (1, 0, 120.0),
        (1, 1, 430.0),
        (1, 3, 340.0),
        (2, 1, 300.0),
        (2, 3, 350.0),
        (3, 1, 120.0),
        (3, 3, 180.0),
    ];
    for under_test in devices() {
        let device = &under_test.device;
        let (left, right) = (device.upload(&a).expect("A"), device.upload(&b).expect("B"));
        for method in SpgemmMethod::ALL {
            let options = SpgemmOptions::default().with_method(method);
            let product = left.spgemm(&right, options).expect("a product").download().expect("C");
            assert_eq!(product.iter().collect::<Vec<_>>(), c, "{device}, {method}");
        }
        let sum = left.spadd(1.0, &right, 1.0).expect("a sum").download().expect("C");
        assert_eq!(sum.values(), [11.0, 22.0, 30.0, 43.0, 4.0, 5.0, 50.0, 66.0, 7.0], "{device}");
    }
}

#[test]
fn nothing_to_multiply() {
    let none = |_: usize| Vec::new();
    let diagonal = |row: usize| vec![row as u32];
    check(&matrix(0, 3, none), &matrix(3, 4, diagonal));
    check(&matrix(5, 0, none), &matrix(0, 4, none));
    check(&matrix(5, 4, none), &matrix(4, 4, diagonal));
    check(&matrix(4, 4, diagonal), &matrix(4, 0, none));
    // Entries of A that select empty rows of B.
    let odd = |row: usize| if row.is_multiple_of(2) { vec![] } else { vec![1] };
    check(&matrix(6, 6, |_| vec![0, 2]), &matrix(6, 6, odd));
    check(&matrix(6, 6, |row| vec![0, row.clamp(1, 4) as u32]), &matrix(6, 6, odd));
}

#[test]
fn one_row_of_products_around_a_tile() {
    for products in [1, 31, tile() - 1, tile(), tile() + 1, 2 * tile()] {
        let b = matrix(1, products, |_| up_to(products));
        check(&matrix(1, 1, |_| vec![0]), &b);
        check(&matrix(3, 1, |row| if row == 1 { vec![0] } else { vec![] }), &b);
    }
}

#[test]
fn one_entry_of_products_around_a_tile() {
    // All products of a row belong to one entry, which is shared by all of their tiles.
    for products in [1, tile() - 1, tile(), tile() + 1, 2 * tile() + 5] {
        check(&matrix(2, products, |_| up_to(products)), &matrix(products, 9, |_| vec![7]));
    }
    // No bits to sort by: one row, one column.
    check(&matrix(1, tile() + 1, |_| up_to(tile() + 1)), &matrix(tile() + 1, 1, |_| vec![0]));
}

#[test]
fn rows_end_where_tiles_do() {
    for per_row in [tile() / 4, tile() * 3 / 2, 1] {
        let rows = 5 * tile() / (2 * per_row);
        check(&matrix(rows, 4, |row| vec![row as u32 % 4]), &matrix(4, per_row, |_| up_to(per_row)));
    }
}

#[test]
fn columns_that_take_all_bits() {
    let cols = u32::MAX as usize;
    // Many rows in a tile, with columns as far apart as possible: wide keys in the block sort.
    let far = matrix(3, cols, |row| vec![0, 5 + row as u32, u32::MAX - 1]);
    let by_kernels = |a: &Csr<f64>, b: &Csr<f64>| {
        for under_test in kernel_devices() {
            check_on(&under_test.device, a, b);
        }
    };
    by_kernels(&matrix(tile() / 3, 3, |row| vec![row as u32 % 3]), &far);
    // A row that is cut by tiles, alone and among others: both key widths in the global sort.
    let rows = tile();
    let far = matrix(rows, cols, |row| vec![row as u32 / 2, u32::MAX - 1 - row as u32 / 2]);
    by_kernels(&matrix(1, rows, |_| up_to(rows)), &far);
    by_kernels(&matrix(2, rows, |_| up_to(rows)), &far);
    let near = matrix(rows, 65536, |row| vec![row as u32 / 2, 65535 - row as u32 / 2]);
    by_kernels(&matrix(2, rows, |_| up_to(rows)), &near);
}

#[test]
fn other_types() {
    let a = matrix(40, 40, |row| (0..40).filter(|column| (row + 3 * *column as usize) % 7 < 3).collect());
    let offsets = a.row_offsets().iter().map(|&offset| u64::from(offset)).collect();
    let (columns, values) = (a.column_indices().to_vec(), a.values().to_vec());
    let wide = Csr::<f64, u64>::try_new(40, 40, offsets, columns, values).expect("a valid matrix");
    check(&wide, &wide);
    let single = a.into_values::<f32>();
    check(&single, &single);
}

#[test]
fn cancelled_entries_stay() {
    let a: Csr<f64> = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, -1.0)]).expect("a valid matrix");
    let b = Csr::from_triplets(2, 3, [(0, 1, 2.0), (1, 1, 2.0), (1, 2, 3.0)]).expect("a valid matrix");
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (device.upload(&a).expect("A"), device.upload(&b).expect("B"));
        for options in by_sorting() {
            let c = a.spgemm(&b, options).expect("a product").download().expect("C");
            let found = (c.column_indices(), c.values());
            assert_eq!(found, ([1, 2].as_slice(), [0.0, -3.0].as_slice()), "{device}, {options:?}");
        }
    }
}

/// Rows of very different lengths, some of them cut by tiles.
fn skewed() -> Csr<f64> {
    let is_entry = |row: usize, column: u32| (row * column as usize).is_multiple_of(2 + row % 9);
    matrix(100, 100, |row| (0..100).filter(|&column| is_entry(row, column)).collect())
}

#[test]
fn sums_do_not_depend_on_the_order_of_blocks() {
    let a = skewed();
    let bits = |device: &Device| {
        let a = device.upload(&a).expect("A");
        by_sorting().map(|options| {
            let c = a.spgemm(&a, options).expect("a product").download().expect("C");
            c.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        })
    };
    let all: Vec<_> = kernel_devices().iter().map(|under_test| bits(&under_test.device)).collect();
    for (other, under_test) in all.iter().zip(kernel_devices()) {
        assert_eq!(other, &all[0], "{}", under_test.device);
    }
}

#[test]
fn limits_on_memory_are_kept() {
    for under_test in kernel_devices() {
        for options in by_sorting() {
            check_limits(&under_test.device, options);
        }
    }
}

/// Multiplies under limits that allow nothing, and increasingly more.
fn check_limits(device: &Device, options: SpgemmOptions) {
    let a = skewed();
    let left = device.upload(&a).expect("A");
    let before = device.memory().expect("memory").in_use;
    let (mut whole, mut refused, mut products) = (0, 0, 0);
    for limit in (10..26).map(|log| 1_u64 << log) {
        device.reset_peak_memory();
        match left.spgemm(&left, options.with_memory_limit(limit)) {
            Ok(c) => {
                let peak = device.memory().expect("memory").peak - before;
                assert!(peak <= limit, "{device}, {options:?}: {peak} bytes under a limit of {limit}");
                assert_product(device, &a, &a, &c.download().expect("C"));
                products += 1;
                whole = peak;
            }
            Err(OpError::ProductMemory { needed, limit: told, .. }) => {
                assert!(told == limit && needed > limit, "{device}, {options:?}: {needed} bytes, {told}");
                refused += 1;
            }
            Err(error) => panic!("{device}, {options:?}: {error}"),
        }
    }
    let counts = format!("{refused} refused, {products} made");
    assert!(refused > 0 && products > 1 && whole > 0, "{device}, {options:?}: {counts}");
}

#[test]
fn phases_are_timed() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&skewed()).expect("A");
        let phases = two_level_sort_phases(&a, &a, SpgemmOptions::default()).expect("phases");
        if device.kind() == DeviceKind::Cpu {
            assert_eq!(phases.total().to_bits(), 0, "{device}");
        } else {
            assert!(phases.block_sort > 0.0 && phases.global_sort > 0.0, "{device}: {phases:?}");
            assert!(phases.numeric() > 0.0 && phases.numeric() < phases.total(), "{device}: {phases:?}");
        }
    }
}

fn entries(rows: usize, cols: usize, most: usize) -> impl Strategy<Value = Csr<f64>> {
    let entry = (0.0..1.0, 0..cols, -2.0..2.0).prop_map(move |(place, column, value): (f64, usize, f64)| {
        // The cube of a uniform number gives rows of all lengths.
        ((place.powi(3) * rows as f64) as usize, column, value)
    });
    prop::collection::vec(entry, 0..most).prop_map(move |entries| {
        let unique: BTreeMap<(usize, usize), f64> =
            entries.into_iter().map(|(row, column, value)| ((row, column), value)).collect();
        let triplets = unique.into_iter().map(|((row, column), value)| (row, column, value));
        Csr::from_triplets(rows, cols, triplets.collect::<Vec<_>>()).expect("a valid matrix")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_structure(
        (a, b) in (1_usize..60, 1_usize..60, 1_usize..300).prop_flat_map(|(rows, inner, cols)| {
            (entries(rows, inner, 400), entries(inner, cols, 1500))
        }),
    ) {
        check(&a, &b);
    }
}
