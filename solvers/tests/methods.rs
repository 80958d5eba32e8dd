//! Each method on the systems that it is for, against dense references.

use evenpath::{Csr, Device, Value};
use evenpath_solvers::{Identity, Jacobi, Method, Outcome, Preconditioner, SolverOptions};
use evenpath_tests::devices;

use crate::support::{
    UserOperator, check_solution, convection, cycle, dense, indefinite, neumann, run, run_from, scaled,
    solve_dense, spd, vector, zero_mean,
};

/// The tolerance, and the limit of the error of x.
fn tolerance<V: Value>() -> f64 {
    if size_of::<V>() == 4 { 2e-6 } else { 1e-11 }
}

fn options<V: Value>() -> SolverOptions {
    SolverOptions::default().with_tolerance(tolerance::<V>()).with_stagnation_steps(200)
}

/// Methods for any square matrix.
const GENERAL: [Method; 3] = [Method::BiCgStab, Method::Gmres, Method::Fgmres];

/// Checks that a method converges, and finds the solution of Gaussian elimination.
fn check<V: Value>(device: &Device, method: Method, a: &Csr<V>, preconditioner: &dyn Preconditioner<V>) {
    let b: Vec<V> = vector(a.nrows());
    let guess = vec![V::ZERO; a.ncols()];
    let (report, x) = run_from(device, method, (a, &b, &guess), options::<V>(), preconditioner);
    assert_eq!(report.outcome, Outcome::Converged, "{device}, {}: {report}", a.nrows());
    check_solution(a, &x, &b, 1.5 * tolerance::<V>());
    let b: Vec<f64> = b.iter().map(|value| value.to_f64()).collect();
    let expected = solve_dense(dense(a), &b);
    let largest = expected.iter().fold(0.0_f64, |largest, element| largest.max(element.abs()));
    for (x, expected) in x.iter().zip(&expected) {
        assert!((x.to_f64() - expected).abs() <= 50.0 * tolerance::<V>() * largest, "{device}, {method}");
    }
}

fn check_all<V: Value>(methods: &[Method], sizes: &[usize], matrix: fn(usize) -> Csr<V>, with_jacobi: bool) {
    for under_test in devices() {
        let device = &under_test.device;
        for &size in sizes {
            let a = matrix(size);
            let jacobi = Jacobi::new(&device.upload(&a).unwrap()).unwrap();
            for &method in methods {
                check(device, method, &a, &Identity);
                if with_jacobi {
                    check(device, method, &a, &jacobi);
                }
            }
        }
    }
}

#[test]
fn every_method_solves_positive_definite_systems() {
    check_all::<f64>(&Method::ALL, &[1, 2, 3, 22], spd, true);
    check_all::<f32>(&Method::ALL, &[17], spd, true);
}

#[test]
fn general_methods_solve_systems_without_symmetry() {
    check_all::<f64>(&GENERAL, &[2, 5, 24], convection, true);
    check_all::<f32>(&GENERAL, &[15], convection, true);
}

#[test]
fn minres_and_general_methods_solve_indefinite_systems() {
    check_all::<f64>(&[Method::Minres, Method::Gmres, Method::Fgmres], &[2, 3, 20], indefinite, false);
    check_all::<f32>(&[Method::Minres, Method::Gmres], &[15], indefinite, false);
}

#[test]
fn a_full_space_holds_every_solution() {
    for under_test in devices() {
        let a: Csr<f64> = cycle(12);
        let mut b = vec![0.0; 12];
        b[0] = 1.0;
        let device = &under_test.device;
        for method in [Method::Gmres, Method::Fgmres] {
            let (report, x) = run(device, method, (&a, &b), options::<f64>());
            assert_eq!((report.outcome, report.steps), (Outcome::Converged, 12), "{device}: {report}");
            check_solution(&a, &x, &b, 1e-12);
            // Shorter restarts make no progress at all.
            let short = options::<f64>().with_restart(5).with_stagnation_steps(9);
            let (report, x) = run(device, method, (&a, &b), short);
            assert_eq!(report.outcome, Outcome::Stagnation, "{device}: {report}");
            assert!(x.iter().all(|element| element.abs() < 1e-12));
        }
    }
}

#[test]
fn singular_systems_with_a_solution_are_solved() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = neumann(14);
        let b = zero_mean(14);
        let options = SolverOptions::default().with_tolerance(1e-9);
        for method in [Method::Cg, Method::Minres, Method::Gmres, Method::Fgmres] {
            let (report, x) = run(device, method, (&a, &b), options);
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            check_solution(&a, &x, &b, 1e-9);
        }
    }
}

#[test]
fn scale_does_not_matter() {
    for under_test in devices() {
        let device = &under_test.device;
        for by in [1e150, 1e-150] {
            let (a, b) = (scaled(&spd::<f64>(9), by), vector(9));
            for method in Method::ALL {
                let (report, x) = run(device, method, (&a, &b), options::<f64>());
                assert_eq!(report.outcome, Outcome::Converged, "{device}, A·{by}: {report}");
                check_solution(&a, &x, &b, 1e-10);
            }
            let (a, b) = (spd(9), vector::<f64>(9).iter().map(|element| element * by).collect::<Vec<_>>());
            for method in Method::ALL.into_iter().filter(|&method| method != Method::Cg) {
                let (report, _) = run(device, method, (&a, &b), options::<f64>());
                assert_eq!(report.outcome, Outcome::Converged, "{device}, b·{by}: {report}");
            }
        }
        for by in [1e15_f64, 1e-15] {
            let (a, b) = (scaled(&spd::<f32>(9), by), vector::<f32>(9));
            for method in Method::ALL {
                let (report, _) = run(device, method, (&a, &b), options::<f32>());
                assert_eq!(report.outcome, Outcome::Converged, "{device}, f32, A·{by}: {report}");
            }
        }
        // Subnormal numbers, whose reciprocals are infinite.
        let (a, b) = (spd(9), vec![1e-310; 9]);
        let (report, _) = run(device, Method::Gmres, (&a, &b), options::<f64>().with_tolerance(1e-6));
        assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
    }
}

#[test]
fn rows_of_very_different_scale_need_a_preconditioner() {
    for under_test in devices() {
        let device = &under_test.device;
        let mut a: Csr<f64> = spd(9);
        let offsets: Vec<usize> = a.row_offsets().iter().map(|&offset| offset as usize).collect();
        let mut b = vector::<f64>(9);
        for row in 0..9 {
            let scale = 10_f64.powi(15 * (row as i32 % 5) - 30);
            a.values_mut()[offsets[row]..offsets[row + 1]].iter_mut().for_each(|value| *value *= scale);
            b[row] *= scale;
        }
        let jacobi = Jacobi::new(&device.upload(&a).unwrap()).unwrap();
        for method in GENERAL {
            let (report, x) = run_from(device, method, (&a, &b, &[0.0; 9]), options::<f64>(), &jacobi);
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            check_solution(&a, &x, &b, 1e-10);
        }
    }
}

#[test]
fn two_runs_give_the_same_bits() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (spd::<f64>(15), vector::<f64>(15));
        for method in Method::ALL {
            let runs = [(); 2].map(|()| run(device, method, (&a, &b), options::<f64>()));
            assert_eq!(runs[0].1, runs[1].1, "{device}, {method}");
            assert_eq!(runs[0].0.history, runs[1].0.history, "{device}, {method}");
        }
    }
}

#[test]
fn solvers_are_used_again() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = spd(9);
        let operator = evenpath_solvers::CsrOperator::new(&device.upload(&a).unwrap())
            .unwrap()
            .with_transpose()
            .unwrap();
        for method in Method::ALL {
            let mut solver = method.solver(&operator, &Identity, options::<f64>()).unwrap();
            // After a system that ends as not a number, its vectors hold NaN.
            for factor in [1.0, f64::NAN, -3.0] {
                let b: Vec<f64> = vector(9).iter().map(|element: &f64| element * factor).collect();
                let mut x = device.zeros(9).unwrap();
                let report = solver.solve(&device.upload(&b).unwrap(), &mut x).unwrap();
                if factor.is_nan() {
                    assert_eq!(report.outcome, Outcome::NotANumber, "{device}: {report}");
                } else {
                    assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
                    check_solution(&a, &x.download().unwrap(), &b, 1e-10);
                }
            }
        }
    }
}

#[test]
fn operators_need_no_matrix() {
    for under_test in devices() {
        let device = &under_test.device;
        let operator = UserOperator { device: device.clone(), len: 9 };
        for method in Method::ALL {
            let mut solver = method.solver::<f64>(&operator, &Identity, options::<f64>()).unwrap();
            let b = vector::<f64>(9);
            let mut x = device.zeros(9).unwrap();
            let report = solver.solve(&device.upload(&b).unwrap(), &mut x).unwrap();
            assert_eq!((report.outcome, report.steps), (Outcome::Converged, 1), "{device}: {report}");
            for (x, b) in x.download().unwrap().iter().zip(&b) {
                assert!((2.0 * x - b).abs() < 1e-14, "{device}, {method}");
            }
        }
    }
}
