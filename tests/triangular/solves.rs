use evenpath::device::DeviceKind;
use evenpath::triangular::{Triangle, TriangularMethod, TriangularOptions};
use evenpath::{Csr, Device, Offset, Value, vector as vectors};
use evenpath_tests::{DeviceUnderTest, devices, unlike_devices, vector, while_values_change};
use proptest::prelude::*;

use super::matrices::{LongRows, scattered, shapes, with_entries};
use super::oracle::{all_options, check};

/// Solves a system, checks it, and returns the bits of the solution.
fn solve<V: Value, O: Offset>(
    device: &Device,
    name: &str,
    a: &Csr<V, O>,
    options: TriangularOptions,
) -> Vec<u64> {
    let b: Vec<V> = vector(a.nrows());
    let alpha = V::from_f64(-1.5);
    let plan = device.upload(a).expect("upload").plan_triangular_solve(options).expect("a plan");
    let on_device = device.upload(&b).expect("upload");
    let mut x = device.upload(&vec![V::from_f64(f64::NAN); a.nrows()]).expect("upload");
    plan.solve(alpha, &on_device, &mut x).expect("a solution");
    let x = x.download().expect("download");
    let method = plan.info().expect("info");
    if let Err(difference) = check(a, options, alpha, &b, &x) {
        panic!("{name}, {options:?}, {method}, {device}: {difference}");
    }
    x.into_iter().map(|element| element.to_f64().to_bits()).collect()
}

/// Solves by every method on every device, and on the host, and compares the bits.
fn solve_by_all<V: Value, O: Offset>(name: &str, a: &Csr<V, O>, options: TriangularOptions) {
    let (b, mut x) = (vector(a.nrows()), vec![V::ZERO; a.nrows()]);
    a.view().solve_triangular(options, V::from_f64(-1.5), &b, &mut x).expect("a solution");
    let expected: Vec<u64> = x.into_iter().map(|element| element.to_f64().to_bits()).collect();
    for DeviceUnderTest { device, .. } in devices() {
        for method in TriangularMethod::ALL {
            let found = solve(&device, name, a, options.with_method(method));
            assert!(found == expected, "{name}, {options:?}, {method}, {device}: other bits");
        }
    }
}

#[test]
fn shapes_of_all_kinds() {
    for options in all_options() {
        for (name, a) in shapes::<f64, u32>() {
            solve_by_all(name, &a, options);
        }
    }
}

#[test]
fn other_types() {
    for options in [TriangularOptions::default(), TriangularOptions::default().with_triangle(Triangle::Upper)]
    {
        for (name, a) in shapes::<f32, u64>() {
            solve_by_all(name, &a, options.with_transposed(name == "blocks"));
        }
        solve_by_all("scattered", &with_entries::<f32, u32>(70, scattered(70, 900)), options);
        solve_by_all("scattered", &with_entries::<f64, u64>(70, scattered(70, 900)), options);
    }
}

/// Rows over several pieces, with one lane for each row and with more.
#[test]
fn long_rows_are_cut() {
    let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
    for lanes in [1, 2, 8] {
        let long = LongRows::new(lanes);
        let a = long.lower::<f64, u32>();
        solve_by_all("long rows", &a, TriangularOptions::default());
        solve_by_all("long rows", &long.upper::<f32, u64>(), upper);
        for DeviceUnderTest { device, .. } in devices() {
            let plan = device.upload(&a).expect("upload").plan_triangular_solve(TriangularOptions::default());
            let info = plan.expect("a plan").info().expect("info");
            let pieces = if device.kind() == DeviceKind::Cpu { 0 } else { long.pieces };
            assert_eq!((info.lanes, info.pieces), (lanes, pieces), "{info}");
        }
    }
    let transpose = LongRows::new(1).lower::<f64, u32>().transpose().expect("a transpose");
    solve_by_all("long rows", &transpose, upper.with_transposed(true));
    let transpose = LongRows::new(1).upper::<f64, u32>().transpose().expect("a transpose");
    solve_by_all("long rows", &transpose, TriangularOptions::default().with_transposed(true));
}

#[test]
fn levels_are_those_of_the_pattern() {
    for DeviceUnderTest { device, .. } in devices() {
        for (name, a) in shapes::<f64, u32>() {
            let expected = match name {
                "empty" => 0,
                "of one row" | "diagonal" => 1,
                "two rows" => 2,
                "a chain" => 90,
                "an arrow" => 3,
                "dense" => 45,
                "a grid" => 23,
                _ => continue,
            };
            let a = device.upload(&a).expect("upload");
            for method in TriangularMethod::ALL {
                let options = TriangularOptions::default().with_method(method);
                let info = a.plan_triangular_solve(options).expect("a plan").info().expect("info");
                assert_eq!(info.levels, expected, "{name}, {device}");
            }
        }
    }
}

#[test]
fn new_values_need_no_new_plan() {
    let a = with_entries::<f64, u32>(120, scattered(120, 700));
    let other: Vec<f64> = a.values().iter().map(|value| value * 0.75).collect();
    let changed =
        Csr::try_new(120, 120, a.row_offsets().to_vec(), a.column_indices().to_vec(), other.clone())
            .expect("valid");
    let b: Vec<f64> = vector(120);
    for DeviceUnderTest { device, .. } in devices() {
        for options in all_options() {
            let matrix = device.upload(&a).expect("upload");
            let plan = matrix.plan_triangular_solve(options).expect("a plan");
            let (on_device, mut x) = (device.upload(&b).expect("upload"), device.zeros(120).expect("zeros"));
            plan.solve(1.0, &on_device, &mut x).expect("a solution");
            check(&a, options, 1.0, &b, &x.download().expect("download")).expect("the solution");
            matrix.set_values(&other).expect("as many");
            plan.solve(1.0, &on_device, &mut x).expect("a solution");
            check(&changed, options, 1.0, &b, &x.download().expect("download")).expect("the solution");
        }
    }
}

#[test]
fn values_change_in_another_thread() {
    let a = with_entries::<f64, u32>(60, scattered(60, 300));
    for DeviceUnderTest { device, .. } in devices() {
        for transposed in [false, true] {
            let matrix = device.upload(&a).expect("upload");
            let options = TriangularOptions::default().with_transposed(transposed);
            let plan = matrix.plan_triangular_solve(options).expect("a plan");
            let values = device.upload(a.values()).expect("upload");
            let b: Vec<f64> = vector(60);
            let (on_device, mut x) = (device.upload(&b).expect("upload"), device.zeros(60).expect("zeros"));
            while_values_change(&matrix, &values, || {
                for _ in 0..5 {
                    plan.solve(1.0, &on_device, &mut x).expect("a solution");
                    check(&a, options, 1.0, &b, &x.download().expect("download")).expect("the solution");
                }
            });
        }
    }
}

#[test]
fn vectors_may_be_parts_and_the_solution_in_place() {
    let a = with_entries::<f32, u32>(37, scattered(37, 150));
    let b: Vec<f32> = vector(37);
    for DeviceUnderTest { device, .. } in devices() {
        for method in TriangularMethod::ALL {
            let options = TriangularOptions::default().with_method(method);
            let plan = device.upload(&a).expect("upload").plan_triangular_solve(options).expect("a plan");
            let padded = device.upload(&[&[9.0; 3], &b[..]].concat()).expect("upload");
            let mut x = device.zeros(38).expect("zeros");
            let part = padded.slice(3..).expect("inside");
            plan.solve(2.0, &part, &mut x.slice_mut(1..).expect("inside")).expect("a solution");
            let x = x.download().expect("download");
            assert_eq!(x[..1], [0.0]);
            check(&a, options, 2.0, &b, &x[1..]).expect("the solution");

            let mut in_place = padded;
            let two = device.upload(&[2.0_f32]).expect("upload");
            plan.solve_in_place(&two, &mut in_place.slice_mut(3..).expect("inside")).expect("a solution");
            let found = in_place.download().expect("download");
            assert_eq!((&found[..3], &found[3..]), (&[9.0; 3][..], &x[1..]), "{method}, {device}");
        }
    }
}

/// NaN and infinity reach the rows that need them, and no others. A NaN of ones alone is like others.
#[test]
fn nan_propagates() {
    let a = with_entries::<f64, u32>(6, [(2, 1), (3, 2), (5, 0)]);
    for DeviceUnderTest { device, .. } in devices() {
        for method in TriangularMethod::ALL {
            let options = TriangularOptions::default().with_method(method);
            let plan = device.upload(&a).expect("upload").plan_triangular_solve(options).expect("a plan");
            let mut x = device
                .upload(&[f64::INFINITY, f64::from_bits(u64::MAX), 1.0, 1.0, 1.0, 1.0])
                .expect("upload");
            plan.solve_in_place(1.0, &mut x).expect("a solution");
            let x = x.download().expect("download");
            assert_eq!(
                x.iter().map(|x| x.is_nan()).collect::<Vec<_>>(),
                [false, true, true, true, false, false]
            );
            assert!(x[0].is_infinite() && x[5].is_infinite() && x[4].is_finite(), "{x:?}");
        }
    }
}

#[test]
fn results_are_the_same_on_unlike_devices() {
    let a = with_entries::<f32, u32>(200, scattered(200, 1500));
    let all: Vec<_> = unlike_devices()
        .iter()
        .map(|under_test| solve(&under_test.device, "scattered", &a, TriangularOptions::default()))
        .collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The factors of a matrix give it back: L(Ux) = b.
#[test]
fn two_solves_follow_each_other() {
    let a = with_entries::<f64, u32>(100, scattered(100, 400));
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let lower = matrix.plan_triangular_solve(TriangularOptions::default()).expect("a plan");
        let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
        let upper = matrix.plan_triangular_solve(upper).expect("a plan");
        let b = device.upload(&vector::<f64>(100)).expect("upload");
        let mut runs = (0..2).map(|_| {
            let mut x = device.zeros(100).expect("zeros");
            lower.solve(1.0, &b, &mut x).expect("a solution");
            let mut y = device.zeros(100).expect("zeros");
            vectors::axpby(1.0, &x, 0.0, &mut y).expect("a copy");
            upper.solve_in_place(1.0, &mut y).expect("a solution");
            (x.download().expect("download"), y.download().expect("download"))
        });
        let (x, y) = runs.next().expect("a run");
        let options = TriangularOptions::default();
        check(&a, options, 1.0, &vector(100), &x).expect("the solution");
        check(&a, options.with_triangle(Triangle::Upper), 1.0, &x, &y).expect("the solution");
        assert_eq!(runs.next(), Some((x, y)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_pattern(
        n in 1..60_usize,
        entries in prop::collection::vec((0..60_usize, 0..60_usize), 0..400),
        is_upper: bool,
        transposed: bool,
    ) {
        let a = with_entries::<f64, u32>(n, entries.into_iter().map(|(row, column)| (row % n, column % n)));
        let triangle = if is_upper { Triangle::Upper } else { Triangle::Lower };
        let options = TriangularOptions::default().with_triangle(triangle).with_transposed(transposed);
        solve_by_all("any", &a, options);
    }
}
