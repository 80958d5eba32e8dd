//! Krylov methods on complex matrices, against dense references.

use evenpath::{Csr, Scalar};
use evenpath_solvers::{
    Breakdown, CsrOperator, Error, Identity, IncompleteCholesky, IncompleteLu, Jacobi, Lsqr, Method, Outcome,
    Preconditioner, SolverOptions,
};
use evenpath_tests::devices;

use crate::support::checks::{GENERAL, assert_without_solution, check, check_all, options};
use crate::support::complex::{
    C64, I, assert_near, definite, dense, general, helmholtz, indefinite, matrix, phase, singular, times,
    vector,
};
use crate::support::{UserOperator, convection, neumann, run, run_from, solve_dense, spd, zero_mean};

type C32 = evenpath::Complex<f32>;

#[test]
fn every_method_solves_hermitian_definite_systems() {
    check_all(&Method::ALL, &[1, 2, 3, 22], (definite::<C64>, vector), true);
    check_all(&Method::ALL, &[17], (definite::<C32>, vector), true);
}

#[test]
fn general_methods_solve_systems_without_symmetry() {
    check_all(&GENERAL, &[2, 5, 24], (general::<C64>, vector), true);
    check_all(&GENERAL, &[15], (general::<C32>, vector), true);
}

#[test]
fn minres_and_general_methods_solve_indefinite_systems() {
    check_all(
        &[Method::Minres, Method::Gmres, Method::Fgmres],
        &[2, 3, 20],
        (indefinite::<C64>, vector),
        false,
    );
    check_all(&[Method::Minres, Method::Gmres], &[15], (indefinite::<C32>, vector), false);
}

#[test]
fn waves_are_solved_with_and_without_factorizations() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = helmholtz::<C64>(5);
        let factorization = IncompleteLu::new(&device.upload(&a).unwrap()).unwrap();
        for method in GENERAL {
            check(device, method, (&a, &vector(a.nrows())), &Identity);
            check(device, method, (&a, &vector(a.nrows())), &factorization);
        }
        let a = definite::<C64>(16);
        let factorization = IncompleteCholesky::new(&device.upload(&a).unwrap()).unwrap();
        for method in [Method::Cg, Method::PipelinedCg, Method::Minres] {
            check(device, method, (&a, &vector(a.nrows())), &factorization);
        }
    }
}

/// A restart, and 64-bit offsets.
#[test]
fn short_restarts_converge() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (general::<C64>(24), vector::<C64>(24));
        let operator = device.upload(&a.clone().try_into_offsets::<u64>().unwrap()).unwrap();
        let operator = CsrOperator::new(&operator).unwrap();
        for method in [Method::Gmres, Method::Fgmres] {
            let options = options::<C64>().with_restart(4);
            let mut x = device.zeros(24).unwrap();
            let mut solver = method.solver(&operator, &Identity, options).unwrap();
            let report = solver.solve(&device.upload(&b).unwrap(), &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            assert_near(method.name(), &x.download().unwrap(), &solve_dense(dense(&a), &b), 1e-9);
        }
    }
}

/// Also through the graphs of CG, and its steps without them.
#[test]
fn a_real_system_in_complex_numbers_takes_the_same_steps() {
    for under_test in devices() {
        let device = &under_test.device;
        let complex = |a: &Csr<f64>| a.clone().convert_values(|value| C64::new(value, 0.0));
        for method in Method::ALL {
            for a in if GENERAL.contains(&method) { vec![spd(22), convection(22)] } else { vec![spd(22)] } {
                let b: Vec<f64> = crate::support::vector(22);
                let complex_b: Vec<C64> = b.iter().map(|&b| b.into()).collect();
                for is_profiled in [false, true] {
                    let options = options::<f64>().with_tolerance(1e-9).with_profile(is_profiled);
                    let (real, x) = run(device, method, (&a, &b), options);
                    let (report, found) = run(device, method, (&complex(&a), &complex_b), options);
                    assert_eq!(
                        (report.outcome, report.steps),
                        (real.outcome, real.steps),
                        "{device}: {report}"
                    );
                    let expected: Vec<C64> = x.into_iter().map(C64::from).collect();
                    assert_near(&format!("{device}, {method}"), &found, &expected, 1e-10);
                    assert!(found.iter().all(|element| element.im == 0.0), "{device}, {method}");
                }
            }
        }
    }
}

#[test]
fn singular_systems_are_solved_or_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let options = SolverOptions::default().with_tolerance(1e-9).with_stagnation_steps(60);
        let a = singular::<C64>(14);
        let mean: Vec<f64> = zero_mean(14);
        let b: Vec<C64> = mean.iter().enumerate().map(|(at, &b)| b * phase(at)).collect();
        let ax = |x: &[C64]| times(&dense(&a), x);
        for method in [Method::Cg, Method::Minres, Method::Gmres, Method::Fgmres] {
            let (report, x) = run(device, method, (&a, &b), options);
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            assert_near(&format!("{device}, {method}"), &ax(&x), &b, 1e-8);
        }
        let b = vector::<C64>(14); // not in the range
        for method in Method::ALL {
            let (report, x) = run(device, method, (&a, &b), options.with_max_steps(300));
            assert_without_solution(device, method, &report);
            if matches!(method, Method::Minres | Method::Gmres | Method::Lsqr) {
                // The part along the null space is left.
                let part: C64 = b.iter().enumerate().map(|(at, b)| phase(at).conj() * b / 14.0).sum();
                let expected: Vec<C64> = b.iter().enumerate().map(|(at, b)| b - part * phase(at)).collect();
                assert_near(&format!("{device}, {method}"), &ax(&x), &expected, 1e-6);
            }
        }
        let zero = Csr::<C64>::empty(3, 3).unwrap();
        let (report, x) = run(device, Method::Gmres, (&zero, &[I; 3]), options);
        assert_eq!(report.outcome, Outcome::Breakdown(Breakdown::Singular), "{device}: {report}");
        assert_eq!(x, [C64::ZERO; 3]);
    }
}

#[test]
fn what_is_not_definite_is_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let b = vector::<C64>(30);
        for method in [Method::Cg, Method::PipelinedCg] {
            let (report, _) = run(device, method, (&indefinite::<C64>(30), &b), options::<C64>());
            let expected = Outcome::Breakdown(Breakdown::IndefiniteMatrix);
            assert_eq!(report.outcome, expected, "{device}: {report}");
        }
        let (a, guess) = (definite::<C64>(30), vec![C64::ZERO; 30]);
        let negative = a.clone().convert_values(|value: C64| -value);
        let jacobi = Jacobi::new(&device.upload(&negative).unwrap()).unwrap();
        for method in [Method::Cg, Method::PipelinedCg, Method::Minres] {
            let (report, _) = run_from(device, method, (&a, &b, &guess), options::<C64>(), &jacobi);
            let expected = Outcome::Breakdown(Breakdown::IndefinitePreconditioner);
            assert_eq!(report.outcome, expected, "{device}: {report}");
        }
        // rᴴAr is zero for every real r: the stabilizing step has no length.
        let skew = matrix::<C64>((2, 2), |row, col| C64::new(col as f64 - row as f64, 0.0));
        let (report, _) = run(device, Method::BiCgStab, (&skew, &[1.0.into(), 2.0.into()]), options::<C64>());
        assert_eq!(report.outcome, Outcome::Breakdown(Breakdown::ZeroOmega), "{device}: {report}");
    }
}

#[test]
fn infinities_and_nan_are_not_numbers() {
    for under_test in devices() {
        let device = &under_test.device;
        for method in Method::ALL {
            for bad in [f64::NAN * I, f64::INFINITY * I] {
                let mut a = definite::<C64>(9);
                let mut b = vector::<C64>(9);
                b[4] = C64::new(1.0, bad.im);
                let (report, _) = run(device, method, (&a, &b), options::<C64>());
                assert_eq!((report.outcome, report.steps), (Outcome::NotANumber, 0), "{device}: {report}");
                b[4] = I;
                a.values_mut()[5] = C64::new(1.0, bad.im);
                let (report, _) = run(device, method, (&a, &b), options::<C64>());
                assert_eq!(report.outcome, Outcome::NotANumber, "{device}, {bad} in A: {report}");
            }
        }
    }
}

#[test]
fn scale_does_not_matter() {
    for under_test in devices() {
        let device = &under_test.device;
        let b = vector::<C64>(9);
        for by in [1e150, 1e-150] {
            // Also a phase, which makes the matrix neither Hermitian nor definite.
            let a = definite::<C64>(9).convert_values(|value: C64| value * by * phase(1));
            for method in GENERAL {
                let (report, x) = run(device, method, (&a, &b), options::<C64>());
                assert_eq!(report.outcome, Outcome::Converged, "{device}, A·{by}: {report}");
                let expected: Vec<C64> = solve_dense(dense(&definite::<C64>(9)), &b)
                    .iter()
                    .map(|x| x / by * phase(1).conj())
                    .collect();
                assert_near(&format!("{device}, {method}"), &x, &expected, 1e-9);
            }
            let a = definite::<C64>(9).convert_values(|value: C64| value * by);
            for method in Method::ALL {
                let (report, _) = run(device, method, (&a, &b), options::<C64>());
                assert_eq!(report.outcome, Outcome::Converged, "{device}, A·{by}: {report}");
            }
        }
    }
}

#[test]
fn two_runs_give_the_same_bits() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (definite::<C64>(15), vector::<C64>(15));
        for method in Method::ALL {
            let runs = [(); 2].map(|()| run(device, method, (&a, &b), options::<C64>()));
            assert_eq!(runs[0].1, runs[1].1, "{device}, {method}");
            assert_eq!(runs[0].0.history, runs[1].0.history, "{device}, {method}");
        }
    }
}

#[test]
fn preconditioners_are_the_inverses_of_dense_matrices() {
    for under_test in devices() {
        let device = &under_test.device;
        // Without fill beside the diagonals, factorizations are complete.
        let tridiagonal = |scale: f64| {
            matrix::<C64>((12, 12), |row, col| match row.abs_diff(col) {
                0 => C64::new(scale * (4.0 + (row % 3) as f64), 0.0),
                1 if row < col => scale * C64::new(-1.0, 0.5),
                1 => scale * C64::new(-1.0, -0.5),
                _ => C64::ZERO,
            })
        };
        let (a, r) = (tridiagonal(1.0), vector::<C64>(12));
        let on_device = device.upload(&a).unwrap();
        let apply = |preconditioner: &dyn Preconditioner<C64>| {
            let mut z = device.upload(&vec![f64::NAN * I; 12]).unwrap();
            preconditioner.apply(&device.upload(&r).unwrap(), &mut z).unwrap();
            z.download().unwrap()
        };
        let mut lu = IncompleteLu::new(&on_device).unwrap();
        let mut cholesky = IncompleteCholesky::new(&on_device).unwrap();
        let expected = solve_dense(dense(&a), &r);
        assert_near("ILU(0)", &apply(&lu), &expected, 1e-13);
        assert_near("IC(0)", &apply(&cholesky), &expected, 1e-13);
        on_device.set_values(tridiagonal(0.25).values()).unwrap();
        lu.update(&on_device).unwrap();
        cholesky.update(&on_device).unwrap();
        let four_times: Vec<C64> = expected.iter().map(|value| 4.0 * value).collect();
        assert_near("ILU(0)", &apply(&lu), &four_times, 1e-13);
        assert_near("IC(0)", &apply(&cholesky), &four_times, 1e-13);

        let diagonal = |row: usize| C64::new(row as f64 - 5.0, 1e-200) * [1.0, 1e180, 1e-180][row % 3];
        let a = matrix::<C64>((12, 12), |row, col| if row == col { diagonal(row) } else { C64::ZERO });
        let jacobi = Jacobi::new(&device.upload(&a).unwrap());
        assert!(matches!(jacobi.err(), Some(Error::Diagonal { row: 5, .. })), "{device}");
        let diagonal = |row: usize| C64::new(row as f64 - 4.5, 2.0) * [1.0, 1e180, 1e-180][row % 3];
        let a = matrix::<C64>((12, 12), |row, col| if row == col { diagonal(row) } else { C64::ZERO });
        let jacobi = Jacobi::new(&device.upload(&a).unwrap()).unwrap();
        for (row, (z, r)) in apply(&jacobi).into_iter().zip(&r).enumerate() {
            assert!((z * diagonal(row) - r).norm() <= 1e-14, "{device}, row {row}");
        }
    }
}

#[test]
fn least_squares_are_the_solution_of_the_normal_equations() {
    for under_test in devices() {
        let device = &under_test.device;
        for (rows, cols) in [(2, 1), (7, 3), (20, 12)] {
            let a = matrix::<C64>((rows, cols), |row, col| match (row + rows - col) % rows {
                0 => C64::new(2.0, (row % 5) as f64),
                1 => C64::new(-1.0, 0.1 * (col % 3) as f64),
                _ => C64::ZERO,
            });
            let b = vector::<C64>(rows);
            let (report, x) = run(device, Method::Lsqr, (&a, &b), options::<C64>());
            assert_eq!(report.outcome, Outcome::LeastSquares, "{device}: {report}");
            let a = dense(&a);
            let adjoint: Vec<Vec<C64>> =
                (0..cols).map(|col| a.iter().map(|row| row[col].conj()).collect()).collect();
            let column = |col: usize| -> Vec<C64> { a.iter().map(|row| row[col]).collect() };
            let products: Vec<Vec<C64>> = (0..cols).map(|col| times(&adjoint, &column(col))).collect();
            let normal = (0..cols).map(|row| products.iter().map(|column| column[row]).collect()).collect();
            assert_near(&format!("{device}"), &x, &solve_dense(normal, &times(&adjoint, &b)), 1e-9);
        }
        let operator = UserOperator { device: device.clone(), len: 3 };
        let mut solver = Lsqr::<C64>::new(&operator, options::<C64>()).unwrap();
        let error = solver.solve(&device.upload(&[I; 3]).unwrap(), &mut device.zeros(3).unwrap());
        assert!(matches!(error, Err(Error::NoTranspose)), "{error:?}");
        // Constants are the null space of a real singular matrix, in complex numbers too.
        let a = neumann::<f64>(6).convert_values(|value| C64::new(value, 0.0));
        let b: Vec<C64> = zero_mean::<f64>(6).iter().map(|&b| b * I).collect();
        let (report, x) = run(device, Method::Lsqr, (&a, &b), options::<C64>());
        assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
        assert_near(&format!("{device}"), &times(&dense(&a), &x), &b, 1e-9);
    }
}
