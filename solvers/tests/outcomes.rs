//! The outcome that is named when a system is not solved, or is already.

use evenpath::Csr;
use evenpath::device::SimulatedOptions;
use evenpath_solvers::{Breakdown, Error, Identity, Jacobi, Method, Outcome, SolverOptions};
use evenpath_tests::devices;

use crate::support::checks::assert_without_solution;
use crate::support::{
    check_solution, dense_matrix, indefinite, neumann, relative_residual, run, run_from, scaled, spd, vector,
};

fn options() -> SolverOptions {
    SolverOptions::default().with_tolerance(1e-10).with_max_steps(300).with_stagnation_steps(60)
}

#[test]
fn empty_systems_are_solved() {
    for under_test in devices() {
        for method in Method::ALL {
            let a = Csr::<f64>::empty(0, 0).unwrap();
            let (report, x) = run(&under_test.device, method, (&a, &[]), options());
            assert_eq!((report.outcome, report.steps), (Outcome::Converged, 0), "{report}");
            assert!(x.is_empty() && report.residual == 0.0);
        }
    }
}

#[test]
fn zero_solves_a_system_without_a_right_hand_side() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = spd(8);
        for method in Method::ALL {
            let guess = vector::<f64>(8);
            let (report, x) = run_from(device, method, (&a, &[0.0; 8], &guess), options(), &Identity);
            assert_eq!((report.outcome, report.steps), (Outcome::Converged, 0), "{device}: {report}");
            assert_eq!(x, [0.0; 8]);
        }
    }
}

#[test]
fn a_solution_as_guess_is_kept() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = spd(8);
        let guess = [1.0; 8];
        let b: Vec<f64> = a.iter_rows().map(|row| row.values().iter().sum()).collect();
        for method in Method::ALL {
            let (report, x) = run_from(device, method, (&a, &b, &guess), options(), &Identity);
            assert_eq!((report.outcome, report.steps), (Outcome::Converged, 0), "{device}: {report}");
            assert_eq!(x, guess);
        }
    }
}

#[test]
fn the_limit_of_steps_is_kept() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b): (Csr<f64>, _) = (spd(40), vector(40));
        for method in Method::ALL {
            for most in [0, 1, 2, 3] {
                let (report, x) = run(device, method, (&a, &b), options().with_max_steps(most));
                assert_eq!((report.outcome, report.steps), (Outcome::MaxSteps, most), "{device}: {report}");
                let residual = relative_residual(&a, &x, &b);
                assert!((report.residual - residual).abs() <= 1e-12, "{device}: {report}");
                assert!(
                    most == 0 || (report.history[most] - residual).abs() < 1e-12,
                    "{device}, {:?}, {residual}: {report}",
                    report.history
                );
            }
        }
    }
}

#[test]
fn infinities_and_nan_are_not_numbers() {
    for under_test in devices() {
        let device = &under_test.device;
        for method in Method::ALL {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut a: Csr<f64> = spd(9);
                let mut b = vector::<f64>(9);
                b[4] = bad;
                let (report, _) = run(device, method, (&a, &b), options());
                assert_eq!((report.outcome, report.steps), (Outcome::NotANumber, 0), "{device}: {report}");
                b[4] = 1.0;
                a.values_mut()[5] = bad;
                let (report, _) = run(device, method, (&a, &b), options());
                assert_eq!(report.outcome, Outcome::NotANumber, "{device}, {bad} in A: {report}");
            }
        }
    }
}

#[test]
fn singular_systems_without_a_solution_are_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = neumann(20);
        let b = vector::<f64>(20); // its mean is not 0
        for method in Method::ALL {
            let (report, _) = run(device, method, (&a, &b), options());
            assert_without_solution(device, method, &report);
        }
        // Minimal residuals are those of the mean, which no x can change.
        let mean = b.iter().sum::<f64>() / 20.0;
        let least = mean.abs() * (20.0_f64 / b.iter().map(|element| element * element).sum::<f64>()).sqrt();
        for method in [Method::Minres, Method::Gmres] {
            let (report, x) = run(device, method, (&a, &b), options());
            assert!((report.residual - least).abs() < 1e-8, "{device}, {least}: {report}");
            assert!(x.iter().all(|element| element.abs() < 1e3), "{device}, {method}");
        }
        let (a, b) = (neumann::<f32>(13), vector::<f32>(13));
        for method in [Method::Minres, Method::Gmres] {
            let (report, _) = run(device, method, (&a, &b), options());
            let expected = Outcome::Breakdown(Breakdown::Singular);
            assert_eq!(report.outcome, expected, "{device}, f32: {report}");
        }
        let zero = Csr::<f64>::empty(3, 3).unwrap();
        for method in Method::ALL {
            let (report, x) = run(device, method, (&zero, &[1.0, 2.0, 3.0]), options());
            let expected = match method {
                Method::Cg | Method::PipelinedCg => Outcome::Breakdown(Breakdown::IndefiniteMatrix),
                Method::Lsqr => Outcome::LeastSquares,
                _ => Outcome::Breakdown(Breakdown::Singular),
            };
            assert_eq!(report.outcome, expected, "{device}: {report}");
            assert_eq!(x, [0.0; 3]);
        }
    }
}

#[test]
fn an_indefinite_matrix_is_named_by_conjugate_gradients() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b): (Csr<f64>, _) = (indefinite(30), vector(30));
        for method in [Method::Cg, Method::PipelinedCg] {
            let (report, _) = run(device, method, (&a, &b), options());
            let expected = Outcome::Breakdown(Breakdown::IndefiniteMatrix);
            assert_eq!(report.outcome, expected, "{device}: {report}");
            assert!(report.advice().unwrap().contains("MINRES"));
        }
    }
}

#[test]
fn an_indefinite_preconditioner_is_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b): (Csr<f64>, _) = (spd(30), vector(30));
        let jacobi = Jacobi::new(&device.upload(&scaled(&a, -1.0)).unwrap()).unwrap();
        for method in [Method::Cg, Method::PipelinedCg, Method::Minres] {
            let (report, _) = run_from(device, method, (&a, &b, &[0.0; 30]), options(), &jacobi);
            let expected = Outcome::Breakdown(Breakdown::IndefinitePreconditioner);
            assert_eq!(report.outcome, expected, "{device}: {report}");
        }
    }
}

#[test]
fn breakdowns_of_bicgstab_are_named() {
    for under_test in devices() {
        let device = &under_test.device;
        // rᵀAr is zero for every r: the stabilizing step has no length.
        let skew: Csr<f64> = dense_matrix(&[&[0.0, 1.0], &[-1.0, 0.0]]);
        let (report, _) = run(device, Method::BiCgStab, (&skew, &[1.0, 2.0]), options());
        assert_eq!(report.outcome, Outcome::Breakdown(Breakdown::ZeroOmega), "{device}: {report}");
        // rᵀAr is zero for the first r alone: another shadow residual helps.
        let a: Csr<f64> = dense_matrix(&[&[1.0, 2.0, 0.0], &[2.0, -1.0, 0.5], &[0.0, 0.5, 3.0]]);
        let b = [1.0, 2.0 + 5.0_f64.sqrt(), 0.0]; // 1 + 4t − t² = 0
        let (report, x) = run(device, Method::BiCgStab, (&a, &b), options());
        assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
        check_solution(&a, &x, &b, 1e-9);
    }
}

#[test]
fn bad_operands_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&spd::<f64>(5)).unwrap();
        let operator = evenpath_solvers::CsrOperator::new(&a).unwrap().with_transpose().unwrap();
        for method in Method::ALL {
            let mut solver = method.solver(&operator, &Identity, options()).unwrap();
            let (mut x, mut long) = (device.zeros(5).unwrap(), device.zeros(6).unwrap());
            assert!(matches!(solver.solve(&long, &mut x), Err(Error::Length { operand: "b", .. })));
            assert!(matches!(solver.solve(&x, &mut long), Err(Error::Length { operand: "x", .. })));
            let elsewhere = evenpath::Device::simulated(SimulatedOptions::default()).zeros(5).unwrap();
            assert!(solver.solve(&elsewhere, &mut x).is_err());
            for options in [
                options().with_tolerance(f64::NAN),
                options().with_tolerance(-1.0),
                options().with_absolute_tolerance(f64::INFINITY),
                options().with_restart(0),
                options().with_check_steps(0),
                options().with_stagnation_steps(0),
            ] {
                let refused = method.solver(&operator, &Identity, options).err();
                assert!(matches!(refused, Some(Error::Option { .. })), "{refused:?}");
            }
        }
        let wide = device.upload(&dense_matrix::<f64>(&[&[1.0, 2.0]])).unwrap();
        let wide = evenpath_solvers::CsrOperator::new(&wide).unwrap();
        for method in Method::ALL.into_iter().filter(|&method| method != Method::Lsqr) {
            let refused = method.solver(&wide, &Identity, options()).err();
            assert!(matches!(refused, Some(Error::NotSquare { rows: 1, cols: 2 })), "{refused:?}");
        }
    }
}

#[test]
fn methods_have_names() {
    for method in Method::ALL {
        assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
    }
    let error = "jacobi".parse::<Method>().unwrap_err().to_string();
    assert!(
        error.starts_with("unknown method `jacobi`; known names are cg, pipelined-cg, minres"),
        "{error}"
    );
}
