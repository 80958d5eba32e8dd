//! Systems of complex numbers, also with the conjugate transpose.

use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::triangular::{Diagonal, Triangle, TriangularMethod, TriangularOptions};
use evenpath::{Complex, Csr, Device, DeviceDense, Layout, Offset, Scalar};
use evenpath_tests::{ComplexValue, DeviceUnderTest, complex, complex_vector, devices, exact};

use super::matrices::{LongRows, scattered, shapes, with_entries};
use super::oracle::all_options;

/// A matrix of the same pattern, whose values have other imaginary parts.
fn complex_of<V: Scalar, O: Offset>(a: &Csr<f64, O>) -> Csr<V, O> {
    let parts: Vec<Complex<f64>> = complex_vector(a.nnz(), 3);
    let values = a.values().iter().zip(parts).map(|(&re, part)| complex(re, 0.4 * re * part.im)).collect();
    let (offsets, columns) = (a.row_offsets().to_vec(), a.column_indices().to_vec());
    Csr::try_new(a.nrows(), a.ncols(), offsets, columns, values).expect("the same pattern")
}

/// All options, and those of conjugate transposes.
fn options() -> Vec<TriangularOptions> {
    let all = all_options().into_iter();
    all.flat_map(|options| {
        let conjugated = options.transposed.then(|| options.with_conjugate_transposed(true));
        [Some(options), conjugated]
    })
    .flatten()
    .collect()
}

/// Checks op(T)·x = αb row by row: the residual is that of an exact solution for entries that differ by some roundings for each term.
fn check<V: ComplexValue, O: Offset>(
    a: &Csr<V, O>,
    options: TriangularOptions,
    (alpha, b): (V, &[V]),
    x: &[V],
) -> Result<(), String> {
    let mut residual: Vec<Complex<f64>> = b.iter().map(|&b| exact(alpha) * exact(b)).collect();
    let mut magnitudes: Vec<f64> = residual.iter().map(|number| number.norm()).collect();
    let mut terms = vec![8.0; b.len()];
    let mut subtract = |row: usize, product: Complex<f64>| {
        residual[row] -= product;
        magnitudes[row] += product.norm();
        terms[row] += 1.0;
    };
    for (row, column, value) in a.iter() {
        let is_inside = if options.triangle == Triangle::Lower { row > column } else { row < column };
        if is_inside || (row == column && options.diagonal == Diagonal::NonUnit) {
            let value = if options.conjugated { exact(value).conj() } else { exact(value) };
            let (row, column) = if options.transposed { (column, row) } else { (row, column) };
            subtract(row, value * exact(x[column]));
        }
    }
    if options.diagonal == Diagonal::Unit {
        (0..b.len()).for_each(|row| subtract(row, exact(x[row])));
    }
    for row in 0..b.len() {
        let bound = 6.0 * terms[row] * V::EPSILON * magnitudes[row];
        // Not `>`, because NaN must fail.
        let is_close = residual[row].norm() <= bound;
        if !is_close {
            return Err(format!("row {row}: the residual is {}, beyond {bound:e}", residual[row]));
        }
    }
    Ok(())
}

/// The bits of complex numbers.
fn bits<V: Scalar>(numbers: &[V]) -> Vec<[u64; 2]> {
    numbers.iter().map(|&number| [exact(number).re.to_bits(), exact(number).im.to_bits()]).collect()
}

/// Solves by every method on every device, and on the host, checks the solutions, and compares their bits.
fn solve_by_all<V: ComplexValue, O: Offset>(name: &str, a: &Csr<V, O>, options: TriangularOptions) {
    let alpha = complex(-1.5, 0.5);
    let (b, mut x) = (complex_vector(a.nrows(), 1), vec![V::ZERO; a.nrows()]);
    a.view().solve_triangular(options, alpha, &b, &mut x).expect("a solution");
    check(a, options, (alpha, &b), &x).unwrap_or_else(|error| panic!("{name}, {options:?}: {error}"));
    for DeviceUnderTest { device, .. } in devices() {
        for method in [TriangularMethod::Tickets, TriangularMethod::Levels] {
            let plan = device.upload(a).expect("upload").plan_triangular_solve(options.with_method(method));
            let plan = plan.expect("a plan");
            let mut found = device.upload(&b).expect("upload");
            plan.solve_in_place(alpha, &mut found).expect("a solution");
            let found = found.download().expect("download");
            assert!(bits(&found) == bits(&x), "{name}, {options:?}, {method}, {device}: other bits");
        }
    }
}

#[test]
fn shapes_of_all_kinds() {
    for options in options() {
        for (name, a) in shapes::<f64, u32>() {
            if ["empty", "two rows", "an arrow", "blocks", "scattered"].contains(&name) {
                solve_by_all::<Complex<f64>, u32>(name, &complex_of(&a), options);
            }
        }
        let a = complex_of::<Complex<f32>, u64>(&with_entries(70, scattered(70, 900)));
        solve_by_all("scattered", &a, options);
    }
    let long = LongRows::new(1);
    solve_by_all("long rows", &complex_of::<Complex<f64>, u32>(&long.lower()), TriangularOptions::default());
    let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
    solve_by_all("long rows", &complex_of::<Complex<f64>, u32>(&long.upper()), upper);
}

/// The conjugate transpose follows the values of its matrix, in a graph too.
#[test]
fn new_values_are_conjugated() {
    let a = complex_of::<Complex<f64>, u32>(&with_entries(60, scattered(60, 300)));
    let (b, options): (Vec<Complex<f64>>, _) =
        (complex_vector(60, 1), TriangularOptions::default().with_conjugate_transposed(true));
    let mut other = a.clone();
    other.values_mut().iter_mut().for_each(|value| *value *= Complex::new(0.5, 0.75));
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_triangular_solve(options).expect("a plan");
        let state = (device.upload(&b).expect("upload"), device.zeros(60).expect("zeros"));
        let mut graph = device.capture(state, |(b, x)| plan.solve(Complex::ONE, b, x)).expect("a graph");
        for values in [&a, &other, &a] {
            matrix.set_values(values.values()).expect("as many");
            graph.launch().expect("a launch");
            let x = graph.state().1.download().expect("download");
            check(values, options, (Complex::ONE, &b), &x)
                .unwrap_or_else(|error| panic!("{device}: {error}"));
        }
        assert!(format!("{plan:?}").contains("conjugate transposed"));
    }
}

#[test]
fn several_systems() {
    let a = complex_of::<Complex<f32>, u32>(&with_entries(40, scattered(40, 200)));
    for DeviceUnderTest { device, .. } in devices() {
        let plan = device.upload(&a).expect("upload").plan_triangular_solve(TriangularOptions::default());
        let plan = plan.expect("a plan");
        for columns in [1, 2, 5] {
            let values: Vec<Complex<f32>> = complex_vector(40 * columns, 2);
            let b = device.upload(&values).expect("upload");
            let b = DeviceDense::try_new(b, 40, columns, Layout::ColumnMajor).expect("a matrix");
            let mut x = device.zeros_dense(40, columns, Layout::ColumnMajor).expect("zeros");
            plan.solve_many(Complex::ONE, &b, &mut x).expect("solutions");
            let x = x.download().expect("download");
            for (b, found) in values.chunks(40).zip(x.chunks(40)) {
                let mut x = device.upload(b).expect("upload");
                plan.solve_in_place(Complex::ONE, &mut x).expect("a solution");
                assert_eq!(bits(found), bits(&x.download().expect("download")), "{columns}, {device}");
            }
        }
    }
}

/// A row goes on when both parts of an element are there, in whatever order they arrive.
#[test]
fn parts_arrive_in_any_order() {
    let n = 200;
    let chain = with_entries::<f64, u32>(n, (1..n).map(|row| (row, row - 1)));
    let a = complex_of::<Complex<f64>, u32>(&chain);
    let b: Vec<Complex<f64>> = complex_vector(n, 1);
    for seed in 0..6 {
        let (block_order, memory_order) = (BlockOrder::Seeded(seed), MemoryOrder::Weak(seed));
        let options =
            SimulatedOptions::default().with_block_order(block_order).with_memory_order(memory_order);
        let device = Device::simulated(options.with_threads(1).with_resident_blocks(2));
        let options = TriangularOptions::default().with_method(TriangularMethod::Tickets);
        let plan = device.upload(&a).expect("upload").plan_triangular_solve(options).expect("a plan");
        for _ in 0..2 {
            let mut x = device.upload(&b).expect("upload");
            plan.solve_in_place(Complex::ONE, &mut x).expect("a solution");
            check(&a, options, (Complex::ONE, &b), &x.download().expect("download"))
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
}

/// Quotients do not overflow where the squares of their parts do.
#[test]
fn pivots_may_be_large_or_small() {
    for power in [-120, -70, 0, 70, 120] {
        let pivot = Complex::new(3.0_f32, -4.0) * 2.0_f32.powi(power);
        let a = Csr::from_triplets(1, 1, [(0, 0, pivot)]).expect("inside");
        for DeviceUnderTest { device, .. } in devices() {
            let plan = device.upload(&a).expect("upload").plan_triangular_solve(TriangularOptions::default());
            let plan = plan.expect("a plan");
            let mut x = device.upload(&[pivot * Complex::new(0.5, 0.25)]).expect("upload");
            plan.solve_in_place(Complex::ONE, &mut x).expect("a solution");
            let error = x.get(0).expect("an element") - Complex::new(0.5, 0.25);
            assert!(error.norm() < 1e-6, "{power}: {error}");
            plan.check_pivots().expect("not zero");
        }
    }
}

#[test]
fn zero_pivots_have_no_part() {
    let i = Complex::new(0.0, 1.0);
    let a = Csr::from_triplets(3, 3, [(0, 0, i), (1, 1, 0.0 * i), (2, 2, i)]).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&a).expect("upload");
        let plan = a.plan_triangular_solve(TriangularOptions::default()).expect("a plan");
        let error = plan.check_pivots().expect_err("a zero");
        assert_eq!(error.to_string(), "the entry of A on the diagonal is zero in row 1");
    }
}
