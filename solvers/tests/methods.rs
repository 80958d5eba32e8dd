//! Each method on the systems that it is for, against dense references.

use evenpath::Csr;
use evenpath_solvers::{Identity, Jacobi, Method, Outcome, SolverOptions};
use evenpath_tests::devices;

use crate::support::checks::{GENERAL, check_all, options};
use crate::support::{
    UserOperator, check_solution, convection, cycle, indefinite, neumann, run, run_from, scaled, spd, vector,
    zero_mean,
};

#[test]
fn every_method_solves_positive_definite_systems() {
    check_all(&Method::ALL, &[1, 2, 3, 22], (spd::<f64>, vector), true);
    check_all(&Method::ALL, &[17], (spd::<f32>, vector), true);
}

#[test]
fn general_methods_solve_systems_without_symmetry() {
    check_all(&GENERAL, &[2, 5, 24], (convection::<f64>, vector), true);
    check_all(&GENERAL, &[15], (convection::<f32>, vector), true);
}

#[test]
fn minres_and_general_methods_solve_indefinite_systems() {
    check_all(
        &[Method::Minres, Method::Gmres, Method::Fgmres],
        &[2, 3, 20],
        (indefinite::<f64>, vector),
        false,
    );
    check_all(&[Method::Minres, Method::Gmres], &[15], (indefinite::<f32>, vector), false);
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
