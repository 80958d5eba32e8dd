use evenpath::device::DeviceKind;
use evenpath::{Csr, Device, DeviceDense, Layout, Offset};
use evenpath_solvers::{
    Cg, CsrOperator, DirectBackend, DirectOptions, DirectSolver, DirectValue, Error, Factorization,
    Preconditioner, SolverOptions,
};
use evenpath_tests::{device_of_each_kind, devices};

use crate::support::{
    check_solution, convection, cycle, dense, dense_matrix, grid, indefinite, neumann, scaled, solve_dense,
    spd, vector,
};

const ALL: [Factorization; 3] = [Factorization::Lu, Factorization::Cholesky, Factorization::Ldlt];

/// Options that work on a GPU without cuDSS too.
fn options(factorization: Factorization) -> DirectOptions {
    DirectOptions::default().with_factorization(factorization).with_host_fallback(true)
}

fn solver<V: DirectValue, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    factorization: Factorization,
) -> Result<DirectSolver<V, O>, Error> {
    DirectSolver::new(&device.upload(a).unwrap(), options(factorization))
}

fn solution<V: DirectValue, O: Offset>(device: &Device, solver: &DirectSolver<V, O>, b: &[V]) -> Vec<V> {
    let (b, mut x) =
        (device.upload(b).unwrap(), device.upload(&vec![V::from_f64(f64::NAN); b.len()]).unwrap());
    solver.solve(&b, &mut x).unwrap();
    x.download().unwrap()
}

/// Factorizes, solves, and compares the solution with that of Gaussian elimination in f64.
fn check<V: DirectValue>(device: &Device, a: &Csr<V>, factorization: Factorization, tolerance: f64) {
    let b: Vec<V> = vector(a.nrows());
    let solver =
        solver(device, a, factorization).unwrap_or_else(|error| panic!("{device}, {factorization}: {error}"));
    let info = solver.info().unwrap();
    assert!(info.residual <= tolerance && info.correction <= tolerance, "{device}: {info}");
    let x = solution(device, &solver, &b);
    let wide: Vec<f64> = b.iter().map(|element| element.to_f64()).collect();
    let expected = solve_dense(dense(a), &wide);
    let largest = expected.iter().fold(0.0, |largest: f64, element| largest.max(element.abs()));
    for (row, (x, expected)) in x.iter().zip(&expected).enumerate() {
        let error = (x.to_f64() - expected).abs();
        assert!(error <= tolerance * largest, "{device}, {factorization}, row {row}: {x} for {expected}");
    }
}

#[test]
fn solutions_are_those_of_dense_elimination() {
    for under_test in devices() {
        let device = &under_test.device;
        for n in [1, 2, 3, 40, 201] {
            for factorization in ALL {
                check::<f64>(device, &spd(n), factorization, 1e-12);
                check::<f32>(device, &spd(n), factorization, 1e-4);
            }
            check::<f64>(device, &convection(n), Factorization::Lu, 1e-12);
            check::<f32>(device, &convection(n), Factorization::Lu, 1e-4);
            check::<f64>(device, &cycle(n), Factorization::Lu, 1e-14);
            check::<f64>(device, &indefinite(n), Factorization::Ldlt, 1e-12);
            check::<f32>(device, &indefinite(n), Factorization::Lu, 1e-3);
        }
    }
}

/// Dense parts are factorized by supernodes, and in parallel.
#[test]
fn matrices_with_much_fill_are_solved_with_the_same_bits_again() {
    let device = Device::cpu();
    let a = grid::<f64>(48);
    let b = vector(a.nrows());
    for factorization in ALL {
        let [one, two] =
            [(); 2].map(|()| solution(&device, &solver(&device, &a, factorization).unwrap(), &b));
        check_solution(&a, &one, &b, 1e-13);
        assert_eq!(one, two);
    }
    let full: Vec<Vec<f64>> = (0..150)
        .map(|i| (0..150).map(|j| if i == j { 300.0 } else { f64::from((i * j) % 7) - 3.0 }).collect())
        .collect();
    let rows: Vec<&[f64]> = full.iter().map(Vec::as_slice).collect();
    for factorization in ALL {
        check::<f64>(&device, &dense_matrix(&rows), factorization, 1e-12);
    }
}

#[test]
fn no_rows_and_no_columns_are_solved() {
    for device in device_of_each_kind() {
        for factorization in ALL {
            let solver = solver(&device, &spd::<f64>(0), factorization).unwrap();
            assert_eq!(solution(&device, &solver, &[]), Vec::<f64>::new());
            assert_eq!(solver.info().unwrap().factor_nonzeros, Some(0));
        }
        let solver = solver(&device, &spd::<f64>(3), Factorization::Lu).unwrap();
        let none = || device.zeros_dense(3, 0, Layout::ColumnMajor).unwrap();
        solver.solve_many(&none(), &mut none()).unwrap();
    }
}

#[test]
fn saddle_points_have_zeros_on_the_diagonal() {
    // Pairs of unknowns and multipliers.
    let mut entries = Vec::new();
    for row in 0..30 {
        entries.extend([(row, row, 2.0), (row, 30 + row, 1.0), (30 + row, row, 1.0)]);
        if row > 0 {
            entries.extend([(row, row - 1, -1.0), (row - 1, row, -1.0)]);
        }
    }
    let a = Csr::from_triplets(60, 60, entries).unwrap();
    for device in device_of_each_kind() {
        check::<f64>(&device, &a, Factorization::Lu, 1e-12);
        let solver = solver(&device, &a, Factorization::Ldlt);
        // Where no pivot is close enough, the error says so.
        match solver {
            Ok(solver) => check_solution(&a, &solution(&device, &solver, &vector(60)), &vector(60), 1e-10),
            Err(error) => assert!(matches!(error, Error::Singular { .. }), "{error}"),
        }
        let exchange = dense_matrix::<f64>(&[&[0.0, 1.0], &[1.0, 0.0]]);
        check(&device, &exchange, Factorization::Lu, 1e-15);
    }
}

#[test]
fn badly_scaled_systems_are_solved_by_rows() {
    // Units of rows and columns from 1e-9 to 1e9.
    let unit = |at: usize| 10_f64.powi((at * 7 % 19) as i32 - 9);
    let a = convection::<f64>(60);
    let entries: Vec<_> =
        a.iter().map(|(row, col, value)| (row, col, value * unit(row) * unit(col))).collect();
    let a = Csr::from_triplets(60, 60, entries).unwrap();
    let b: Vec<f64> = vector::<f64>(60).iter().enumerate().map(|(row, b)| b * unit(row)).collect();
    for under_test in devices() {
        let device = &under_test.device;
        let solver = solver(device, &a, Factorization::Lu).unwrap();
        let x = solution(device, &solver, &b);
        for (row, (entries, b)) in a.iter_rows().zip(&b).enumerate() {
            let ax: f64 = entries.iter().map(|(col, value)| value * x[col as usize]).sum();
            let size: f64 = entries.iter().map(|(col, value)| (value * x[col as usize]).abs()).sum();
            assert!((ax - b).abs() <= 1e-9 * (size + b.abs()), "{device}, row {row}");
        }
    }
}

#[test]
fn singular_matrices_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let empty_row = dense_matrix::<f64>(&[&[1.0, 2.0, 0.0], &[0.0, 0.0, 0.0], &[0.0, 1.0, 3.0]]);
        let empty_column = dense_matrix::<f64>(&[&[1.0, 0.0, 2.0], &[3.0, 0.0, 1.0], &[2.0, 0.0, 3.0]]);
        let equal = dense_matrix::<f64>(&[&[1.0, 2.0], &[1.0, 2.0]]);
        // Row 3 is the sum of the others, with rounding.
        let dependent = dense_matrix::<f64>(&[&[0.1, 0.7, 0.3], &[0.3, 0.1, 0.6], &[0.4, 0.8, 0.9]]);
        for a in [&empty_row, &empty_column, &equal, &dependent] {
            let Err(error) = solver(device, a, Factorization::Lu) else { panic!("{device}: {a:?}") };
            assert!(matches!(error, Error::Singular { .. } | Error::ZeroPivot { .. }), "{device}: {error}");
        }
        let none = Csr::<f64>::from_triplets(1, 1, []).unwrap();
        let zero = Csr::from_triplets(1, 1, [(0, 0, 0.0)]).unwrap();
        for (a, factorization) in
            [&none, &zero, &neumann(30)].into_iter().flat_map(|a| ALL.map(|kind| (a, kind)))
        {
            let Err(error) = solver(device, a, factorization) else {
                panic!("{device}, {factorization}: {a:?}")
            };
            let is_named = matches!(
                error,
                Error::Singular { .. } | Error::ZeroPivot { .. } | Error::NotPositiveDefinite { .. }
            );
            assert!(is_named, "{device}, {factorization}: {error}");
        }
    }
}

#[test]
fn the_row_without_a_pivot_is_named() {
    let device = Device::cpu();
    let empty_row = dense_matrix::<f64>(&[&[1.0, 2.0, 0.0], &[0.0, 0.0, 0.0], &[0.0, 1.0, 3.0]]);
    let error = solver(&device, &empty_row, Factorization::Lu).err().unwrap();
    assert_eq!(error.to_string(), "row 1 has no pivot: the matrix is singular");
    // A diagonal is not changed by elimination.
    for bad in [0, 5, 11] {
        let entries = (0..12).map(|at| (at, at, if at == bad { -1.0 } else { 2.0 }));
        let diagonal = Csr::<f64>::from_triplets(12, 12, entries).unwrap();
        let error = solver(&device, &diagonal, Factorization::Cholesky).err().unwrap();
        assert!(matches!(error, Error::NotPositiveDefinite { row: Some(row) } if row == bad), "{error}");
    }
    // A dense part, by supernodes: it is decoupled from the row at fault.
    let mut entries: Vec<_> = (0..160).flat_map(|i| (0..160).map(move |j| (i, j, 1.0))).collect();
    entries.extend((0..160).map(|i| (i, i, 200.0)));
    entries.push((160, 160, -1.0));
    let mut a = Csr::<f64>::from_triplets(161, 161, entries).unwrap();
    a.canonicalize();
    let error = solver(&device, &a, Factorization::Cholesky).err().unwrap();
    assert!(matches!(error, Error::NotPositiveDefinite { row: Some(160) }), "{error}");
}

#[test]
fn matrices_of_the_wrong_kind_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let error = solver(device, &indefinite::<f64>(20), Factorization::Cholesky).err().unwrap();
        assert!(
            matches!(error, Error::NotPositiveDefinite { .. } | Error::Singular { .. }),
            "{device}: {error}"
        );
        let triangle = dense_matrix::<f64>(&[&[4.0, 0.0, 0.0], &[1.0, 4.0, 0.0], &[3.9, 1.0, 4.0]]);
        for factorization in [Factorization::Cholesky, Factorization::Ldlt] {
            let error = solver(device, &triangle, factorization).err().unwrap();
            assert!(matches!(error, Error::NotSymmetric { row: 1, col: 0 }), "{device}: {error}");
        }
        let wide = device.upload(&dense_matrix::<f64>(&[&[1.0, 2.0]])).unwrap();
        let error = DirectSolver::new(&wide, options(Factorization::Lu)).err().unwrap();
        assert!(matches!(error, Error::NotSquare { rows: 1, cols: 2 }));
        for value in [f64::NAN, f64::INFINITY] {
            let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, value)]).unwrap();
            let error = solver(device, &a, Factorization::Lu).err().unwrap();
            assert!(matches!(error, Error::NotFinite { .. }), "{device}: {error}");
        }
    }
}

#[test]
fn entries_in_any_order_and_twice_and_wide_offsets_are_taken() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = Csr::try_new(2, 2, vec![0_u64, 3, 5], vec![1, 0, 1, 1, 0], vec![1.0, 4.0, 2.0, 1.0, 8.0])
            .unwrap();
        let solver = solver(device, &a, Factorization::Lu).unwrap();
        // [4 3; 8 1]
        let x = solution(device, &solver, &[10.0, 10.0]);
        assert!((x[0] - 1.0_f64).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14, "{device}: {x:?}");
        assert_eq!(solver.matrix().nnz(), 4);
    }
}

#[test]
fn many_right_hand_sides_are_solved_beside_gaps() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = convection::<f64>(30);
        for steps in [0, 1] {
            let on_device = device.upload(&a).unwrap();
            let solver =
                DirectSolver::new(&on_device, options(Factorization::Lu).with_refinement(steps)).unwrap();
            let (columns, of_b, of_x) = (4, 33, 31);
            let b: Vec<f64> = vector(columns * of_b);
            let dense = |values: &[f64], stride| {
                let values = device.upload(values).unwrap();
                DeviceDense::try_with_leading_dimension(values, 30, columns, Layout::ColumnMajor, stride)
                    .unwrap()
            };
            let mut x = dense(&vec![7.0; columns * of_x], of_x);
            solver.solve_many(&dense(&b, of_b), &mut x).unwrap();
            let x = x.download().unwrap();
            for column in 0..columns {
                let b = &b[column * of_b..][..30];
                check_solution(&a, &x[column * of_x..][..30], b, 1e-13);
                assert_eq!(x[column * of_x + 30].to_bits(), 7.0_f64.to_bits());
            }
        }
    }
}

#[test]
fn new_values_are_factorized_and_other_patterns_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b) = (spd::<f64>(40), vector::<f64>(40));
        for factorization in ALL {
            let on_device = device.upload(&a).unwrap();
            let mut solver = DirectSolver::new(&on_device, options(factorization)).unwrap();
            // The user's matrix, whose old factors stay until the update.
            let other = scaled(&a, 3.0);
            on_device.set_values(other.values()).unwrap();
            check_solution(&a, &solution(device, &solver, &b), &b, 1e-13);
            solver.update(&on_device).unwrap();
            check_solution(&other, &solution(device, &solver, &b), &b, 1e-13);
            // A matrix with a pattern of its own, which is the same.
            let third = scaled(&a, -0.5);
            let updated = solver.update(&device.upload(&third).unwrap());
            if factorization == Factorization::Cholesky {
                let error = updated.unwrap_err();
                assert!(
                    matches!(error, Error::NotPositiveDefinite { .. } | Error::Singular { .. }),
                    "{error}"
                );
                assert!(matches!(solver.info(), Err(Error::NotFactorized)));
                let (b, mut x) = (device.upload(&b).unwrap(), device.zeros(40).unwrap());
                assert!(matches!(solver.solve(&b, &mut x), Err(Error::NotFactorized)));
            } else {
                updated.unwrap();
                check_solution(&third, &solution(device, &solver, &b), &b, 1e-13);
            }
            solver.update(&device.upload(&a).unwrap()).unwrap();
            for different in [spd(41), cycle(40), grid(6)] {
                let error = solver.update(&device.upload(&different).unwrap()).unwrap_err();
                assert!(matches!(error, Error::OtherPattern), "{error}");
            }
            check_solution(&a, &solution(device, &solver, &b), &b, 1e-13);
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for device in device_of_each_kind() {
        let solver = solver(&device, &spd::<f64>(3), Factorization::Lu).unwrap();
        let [three, mut two] = [3, 2].map(|len| device.zeros::<f64>(len).unwrap());
        let error = solver.solve(&three, &mut two).unwrap_err();
        assert_eq!(error.to_string(), "x has 2 elements, but must have 3");
        let matrix = |cols, layout| device.zeros_dense::<f64>(3, cols, layout).unwrap();
        let (by_columns, by_rows) = (Layout::ColumnMajor, Layout::RowMajor);
        let error = solver.solve_many(&matrix(2, by_columns), &mut matrix(1, by_columns)).unwrap_err();
        assert_eq!(error.to_string(), "each row of X has 1 elements, but must have 2");
        let error = solver.solve_many(&matrix(2, by_columns), &mut matrix(2, by_rows)).unwrap_err();
        assert_eq!(error.to_string(), "X is row-major, but must be column-major");
        let other = Device::cpu();
        let (b, mut x) = (other.zeros::<f64>(3).unwrap(), device.zeros(3).unwrap());
        if !other.is_same(&device) {
            assert!(solver.solve(&b, &mut x).is_err());
        }
        let captured = device.capture((three, device.zeros(3).unwrap()), |(b, x)| {
            solver.solve(b, x).map_err(|error| match error {
                Error::Device(error) => error,
                other => panic!("{other}"),
            })
        });
        // On the CPU nothing is captured, and launches run the calls.
        assert_eq!(captured.is_err(), device.kind() != DeviceKind::Cpu, "{device}");
    }
}

#[test]
fn factors_precondition_nearby_matrices() {
    for device in device_of_each_kind() {
        let a = grid::<f64>(12);
        let solver = solver(&device, &a, Factorization::Cholesky).unwrap();
        assert!(!solver.can_capture());
        let entries =
            a.iter().map(|(row, col, value)| (row, col, if row == col { value * 1.05 } else { value }));
        let nearby = Csr::from_triplets(144, 144, entries.collect::<Vec<_>>()).unwrap();
        let operator = CsrOperator::new(&device.upload(&nearby).unwrap()).unwrap();
        let options = SolverOptions::default().with_tolerance(1e-10);
        let mut cg = Cg::new(&operator, &solver, options).unwrap();
        let (b, mut x) = (vector(144), device.zeros(144).unwrap());
        let report = cg.solve(&device.upload(&b).unwrap(), &mut x).unwrap();
        assert!(report.is_converged() && report.steps <= 14, "{report}");
        check_solution(&nearby, &x.download().unwrap(), &b, 2e-10);
    }
}

#[test]
fn the_report_names_the_library_and_sizes() {
    let device = Device::cpu();
    let solver = solver(&device, &grid::<f64>(10), Factorization::Cholesky).unwrap();
    let info = solver.info().unwrap();
    assert_eq!((info.backend, info.factorization), (DirectBackend::Faer, Factorization::Cholesky));
    assert!(info.factor_nonzeros.unwrap() >= 280 && info.analysis_ms > 0.0 && info.factorization_ms > 0.0);
    assert!(info.to_string().starts_with("Cholesky by faer, "), "{info}");
}

#[test]
fn a_gpu_uses_cudss_or_names_it() {
    for under_test in devices() {
        let device = &under_test.device;
        if !matches!(device.kind(), DeviceKind::Cuda(_)) {
            continue;
        }
        let a = device.upload(&grid::<f64>(10)).unwrap();
        match DirectSolver::new(&a, DirectOptions::default()) {
            Ok(solver) => {
                let info = solver.info().unwrap();
                assert!(matches!(info.backend, DirectBackend::Cudss { .. }), "{info}");
                assert!(info.factor_nonzeros.is_some_and(|nonzeros| nonzeros >= a.nnz()), "{info}");
            }
            Err(error @ Error::NoLibrary { .. }) => {
                assert!(error.to_string().contains("pip install nvidia-cudss-cu13"), "{error}");
                println!("SKIPPED: {error}");
                let solver = DirectSolver::new(&a, options(Factorization::Lu)).unwrap();
                assert_eq!(solver.info().unwrap().backend, DirectBackend::Faer);
            }
            Err(other) => panic!("{other}"),
        }
    }
}
