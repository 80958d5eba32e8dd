//! Parts of complex matrices, matrices of others, and their entries, on the host and on every device: against lists of triplets.

use evenpath::csr::Filter;
use evenpath::device::DeviceKind;
use evenpath::row_order::RowOrder;
use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Complex, Csr, Device, DeviceCsr, Offset};
use evenpath_tests::{
    ComplexValue, DeviceUnderTest, complex, complex_rows, complex_spmv, complex_vector, devices, exact,
};

type C32 = Complex<f32>;
type C64 = Complex<f64>;
type Triplets<V> = Vec<(usize, usize, V)>;

/// Rows that are empty, single, unsorted, repeated, and longer than a tile.
const LENGTHS: [usize; 8] = [3, 0, 1, 2500, 0, 40, 7, 0];

fn matrices<V: ComplexValue, O: Offset>() -> Vec<Csr<V, O>> {
    let mut all = vec![complex_rows::<V, O>(37, &LENGTHS), complex_rows(0, &[0; 3]), complex_rows(5, &[])];
    // A product with 1 is no copy of an infinite part.
    all[0].values_mut()[1] = complex(f64::INFINITY, -0.0);
    all
}

/// A square matrix with all entries of `lengths`.
fn square<V: ComplexValue, O: Offset>(rows: usize, length: usize) -> Csr<V, O> {
    complex_rows(rows, &vec![length; rows])
}

/// Checks a result with entries of `expected`, in the order of the rows; those of one row and column keep their order.
fn check<V: ComplexValue, O: Offset>(
    found: &Csr<V, O>,
    shape: (usize, usize),
    expected: &Triplets<V>,
    is_sorted: bool,
) {
    assert_eq!(found.shape(), shape);
    let mut all: Triplets<V> = found.iter().collect();
    let mut expected = expected.clone();
    if !is_sorted {
        all.sort_by_key(|&(row, column, _)| (row, column));
    }
    expected.sort_by_key(|&(row, column, _)| (row, column));
    assert!(all == expected, "{all:?}, not {expected:?}");
}

/// Checks an operation on the host and on each device.
fn check_both<V: ComplexValue, O: Offset>(
    a: &Csr<V, O>,
    (on_host, on_device): (
        impl Fn(&Csr<V, O>) -> Csr<V, O>,
        impl Fn(&Device, &DeviceCsr<V, O>) -> DeviceCsr<V, O>,
    ),
    shape: (usize, usize),
    expected: &Triplets<V>,
    is_sorted: bool,
) {
    check(&on_host(a), shape, expected, is_sorted);
    for DeviceUnderTest { device, .. } in devices() {
        let there = device.upload(a).expect("upload");
        check(&on_device(&device, &there).download().expect("download"), shape, expected, is_sorted);
    }
}

fn check_parts<V: ComplexValue, O: Offset>() {
    for a in matrices::<V, O>() {
        let (rows, cols) = a.shape();
        for list in [vec![0_u32, 0, 3, 36], vec![5, 36, 5, 0], vec![]] {
            let list: Vec<u32> = list.into_iter().filter(|&column| (column as usize) < cols).collect();
            let expected = a.iter().flat_map(|(row, column, value)| {
                let places = list.iter().enumerate().filter(move |&(_, &listed)| listed as usize == column);
                places.map(move |(place, _)| (row, place, value))
            });
            let select = |device: &Device, a: &DeviceCsr<V, O>| {
                a.select_columns(&device.upload(&list).expect("upload")).expect("columns that exist")
            };
            let on_host = |a: &Csr<V, O>| a.select_columns(&list).expect("columns that exist");
            let is_sorted = !list.is_sorted();
            check_both(&a, (on_host, select), (rows, list.len()), &expected.collect(), is_sorted);
        }
        for (of_rows, of_columns) in
            [(0..rows, 0..cols), (rows / 4..rows, cols / 3..cols), (0..rows / 2, 0..0)]
        {
            let kept =
                a.iter().filter(|(row, column, _)| of_rows.contains(row) && of_columns.contains(column));
            let expected =
                kept.map(|(row, column, value)| (row - of_rows.start, column - of_columns.start, value));
            let block = |_: &Device, a: &DeviceCsr<V, O>| {
                a.submatrix(of_rows.clone(), of_columns.clone()).expect("a block")
            };
            let on_host = |a: &Csr<V, O>| a.submatrix(of_rows.clone(), of_columns.clone()).expect("a block");
            let shape = (of_rows.len(), of_columns.len());
            check_both(&a, (on_host, block), shape, &expected.collect(), false);
        }
        let sorted = |_: &Device, a: &DeviceCsr<V, O>| a.sort_rows().expect("memory");
        let on_host = |a: &Csr<V, O>| {
            let mut sorted = a.clone();
            sorted.sort_rows();
            sorted
        };
        check_both(&a, (on_host, sorted), (rows, cols), &a.iter().collect(), true);
    }
}

#[test]
fn parts() {
    check_parts::<C32, u32>();
    check_parts::<C64, u32>();
    check_parts::<C64, u64>();
}

fn check_blocks<V: ComplexValue, O: Offset>() {
    for a in matrices::<V, O>() {
        let (rows, cols) = a.shape();
        let moved = |down: usize, right: usize| {
            a.iter().map(move |(row, column, value)| (row + down, column + right, value))
        };
        let below = moved(0, 0).chain(moved(rows, 0)).collect();
        let vstack = (
            |a: &Csr<V, O>| Csr::vstack(&[a, a]).expect("memory"),
            |_: &Device, a: &DeviceCsr<V, O>| DeviceCsr::vstack(&[a, a]).expect("memory"),
        );
        check_both(&a, vstack, (2 * rows, cols), &below, false);
        let beside = moved(0, 0).chain(moved(0, cols)).collect();
        let hstack = (
            |a: &Csr<V, O>| Csr::hstack(&[a, a]).expect("memory"),
            |_: &Device, a: &DeviceCsr<V, O>| DeviceCsr::hstack(&[a, a]).expect("memory"),
        );
        check_both(&a, hstack, (rows, 2 * cols), &beside, false);
        let grid = moved(0, cols).chain(moved(rows, 0)).chain(moved(rows, cols)).collect();
        let from_blocks = (
            |a: &Csr<V, O>| Csr::from_blocks(&[&[None, Some(a)], &[Some(a), Some(a)]]).expect("memory"),
            |_: &Device, a: &DeviceCsr<V, O>| {
                DeviceCsr::from_blocks(&[&[None, Some(a)], &[Some(a), Some(a)]]).expect("memory")
            },
        );
        check_both(&a, from_blocks, (2 * rows, 2 * cols), &grid, false);
        let diagonal = moved(0, 0).chain(moved(rows, cols)).collect();
        let block_diagonal = (
            |a: &Csr<V, O>| Csr::block_diagonal(&[a, a]).expect("memory"),
            |_: &Device, a: &DeviceCsr<V, O>| DeviceCsr::block_diagonal(&[a, a]).expect("memory"),
        );
        check_both(&a, block_diagonal, (2 * rows, 2 * cols), &diagonal, false);
    }
}

#[test]
fn matrices_of_blocks() {
    check_blocks::<C32, u32>();
    check_blocks::<C64, u32>();
    check_blocks::<C64, u64>();
}

fn check_orders_and_products<V: ComplexValue, O: Offset>() {
    let a = square::<V, O>(41, 9);
    let order = RowOrder::try_new((0..41).map(|row| row * 7 % 41).collect()).expect("a permutation");
    let place = |index: usize| order.inverse()[index] as usize;
    let expected = a.iter().map(|(row, column, value)| (place(row), place(column), value)).collect();
    let permute = (
        |a: &Csr<V, O>| a.permute(&order).expect("memory"),
        |device: &Device, a: &DeviceCsr<V, O>| {
            a.permute(&device.upload(&order).expect("upload")).expect("memory")
        },
    );
    check_both(&a, permute, (41, 41), &expected, true);

    let b = complex_rows::<V, O>(2, &[2, 0, 1]);
    let pairs = a.iter().flat_map(|of_a| b.iter().map(move |of_b| (of_a, of_b)));
    let product =
        |((row, column, left), (b_row, b_column, right)): ((usize, usize, V), (usize, usize, V))| {
            (row * 3 + b_row, column * 2 + b_column, left * right)
        };
    let kronecker = (
        |a: &Csr<V, O>| a.kronecker(&b).expect("memory"),
        |device: &Device, a: &DeviceCsr<V, O>| {
            a.kronecker(&device.upload(&b).expect("upload")).expect("memory")
        },
    );
    check_both(&a, kronecker, (123, 82), &pairs.map(product).collect(), false);
}

#[test]
fn orders_and_kronecker_products() {
    check_orders_and_products::<C32, u32>();
    check_orders_and_products::<C64, u32>();
    check_orders_and_products::<C64, u64>();
}

/// Returns whether a filter keeps an entry, from its row, its column and its value.
type Keep<'k, V> = &'k dyn Fn(usize, usize, V) -> bool;

/// The absolute value by the standard library.
fn magnitude<V: ComplexValue>(value: V) -> f64 {
    exact(value).norm()
}

fn check_filters<V: ComplexValue, O: Offset>() {
    let mut a = complex_rows::<V, O>(37, &LENGTHS);
    // Squares of the parts overflow, vanish, or are no numbers.
    let great = if size_of::<V>() == 8 { 1e30 } else { 1e300 };
    let special =
        [(great, great), (1.0 / great, 0.0), (0.0, f64::NAN), (0.0, -0.0), (f64::NEG_INFINITY, f64::NAN)];
    for (value, (re, im)) in a.values_mut()[100..].iter_mut().zip(special) {
        *value = complex(re, im);
    }
    let real = |value: f64| complex::<V>(value, 0.0).parts().0;
    let shape = a.shape();
    let all: Triplets<V> = a.iter().collect();
    let limit = 0.4;
    let filters: [(Filter<V::Real>, Keep<'_, V>); 4] = [
        (Filter::AbsAbove(real(limit)), &|_, _, value| {
            let absolute = magnitude(value);
            absolute.is_nan() || absolute > limit
        }),
        (Filter::Nonzero, &|_, _, value| magnitude(value) != 0.0),
        (Filter::Lower(3), &|row, column, _| column <= row + 3),
        (Filter::Band { lower: 1, upper: 9 }, &|row, column, _| (row + 1..=row + 9).contains(&column)),
    ];
    for DeviceUnderTest { device, .. } in devices() {
        let there = device.upload(&a).expect("upload");
        let of = |filter| there.filter(filter).expect("memory").download().expect("download");
        for (filter, keep) in &filters {
            let expected = all.iter().copied().filter(|&(row, column, value)| keep(row, column, value));
            let (found, expected): (Triplets<V>, Triplets<V>) =
                (of(*filter).iter().collect(), expected.collect());
            // NaN is not equal to itself.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{filter:?} on {device}");
        }
        // Of the row of 2500 entries the three that are greatest: NaN, and the infinite and the finite ones.
        let largest = of(Filter::LargestOfRow(3));
        assert_eq!(largest.shape(), shape);
        let row = largest.row(3).expect("a row");
        let text: Vec<String> = row.values().iter().map(|value| format!("{value:?}")).collect();
        let expected = [0, 2, 4].map(|at| format!("{:?}", a.values()[100 + at]));
        assert_eq!(text, expected, "{device}");
    }
}

#[test]
fn filters_by_absolute_value() {
    check_filters::<C32, u32>();
    check_filters::<C64, u64>();
}

fn check_entries<V: ComplexValue, O: Offset>() {
    for a in matrices::<V, O>() {
        let (rows, cols) = a.shape();
        let (of_rows, of_columns) = (complex_vector::<V>(rows, 3), complex_vector::<V>(cols, 4));
        let expected =
            a.iter().map(|(row, column, value)| (row, column, of_columns[column] * (of_rows[row] * value)));
        let mut on_host = a.clone();
        on_host.scale_rows(&of_rows).expect("a factor per row");
        on_host.scale_columns(&of_columns).expect("a factor per column");
        let expected: Triplets<V> = expected.collect();
        let text = |found: &Csr<V, O>| format!("{:?}", found.iter().collect::<Triplets<V>>());
        assert_eq!(text(&on_host), format!("{expected:?}"));
        let mut diagonal = vec![complex::<V>(0.0, 0.0); rows.min(cols)];
        for (row, column, value) in a.iter().filter(|&(row, column, _)| row == column) {
            diagonal[row] = diagonal[column] + value;
        }
        assert_eq!(a.diagonal(), diagonal);
        for DeviceUnderTest { device, .. } in devices() {
            let there = device.upload(&a).expect("upload");
            assert_eq!(there.diagonal().expect("memory").download().expect("download"), diagonal, "{device}");
            there.scale_rows(&device.upload(&of_rows).expect("upload")).expect("a factor per row");
            there.scale_columns(&device.upload(&of_columns).expect("upload")).expect("a factor per column");
            assert_eq!(text(&there.download().expect("download")), format!("{expected:?}"), "{device}");
        }
    }
}

#[test]
fn entries_are_scaled_and_found() {
    check_entries::<C32, u32>();
    check_entries::<C64, u32>();
    check_entries::<C64, u64>();
}

#[test]
fn matrices_of_a_diagonal() {
    for DeviceUnderTest { device, .. } in devices() {
        let diagonal = complex_vector::<C64>(300, 5);
        let there = device.upload(&diagonal).expect("upload");
        let found = DeviceCsr::from_diagonal(&there).expect("memory").download().expect("download");
        assert_eq!(found, Csr::from_diagonal(&diagonal).expect("memory"), "{device}");
        assert!(found.iter().eq(diagonal.iter().enumerate().map(|(at, &value)| (at, at, value))), "{device}");
        let identity =
            DeviceCsr::<C32>::identity(&device, 300).expect("memory").download().expect("download");
        assert!(identity.iter().eq((0..300).map(|at| (at, at, C32::new(1.0, 0.0)))), "{device}");
    }
}

fn check_transposed_products<V: ComplexValue, O: Offset>() {
    for lengths in [&[3, 0, 1, 2500, 0, 40, 7, 0][..], &[0; 3], &[]] {
        let a = complex_rows::<V, O>(if lengths.len() == 8 { 37 } else { 2 }, lengths);
        let (x, y) = (complex_vector::<V>(a.nrows(), 6), complex_vector::<V>(a.ncols(), 7));
        let (alpha, beta) = (complex(0.5, -1.0), complex(-0.25, 2.0));
        let expected = complex_spmv(&a.transpose().expect("memory"), (alpha, &x), (beta, &y));
        for DeviceUnderTest { device, .. } in devices() {
            let there = device.upload(&a).expect("upload");
            let x = device.upload(&x).expect("upload");
            for method in SpmvTransposedMethod::ALL {
                let options = SpmvTransposedOptions::default().with_method(method);
                let plan = there.plan_spmv_transposed(options);
                if device.kind() != DeviceKind::Cpu && method != SpmvTransposedMethod::Copied {
                    let message = plan.map(drop).expect_err("no such method").to_string();
                    assert!(message.contains(V::NAME) && message.ends_with("`copied` does"), "{message}");
                    continue;
                }
                let mut found = device.upload(&y).expect("upload");
                plan.expect("a plan").run(alpha, &x, beta, &mut found).expect("a run");
                expected
                    .check(&found.download().expect("download"))
                    .unwrap_or_else(|why| panic!("{device}: {why}"));
            }
        }
    }
}

#[test]
fn products_with_the_transpose() {
    check_transposed_products::<C32, u32>();
    check_transposed_products::<C64, u64>();
}
