//! Preconditioners: their products with dense matrices, and their effect on methods.

use evenpath::factorization::FactorizationOptions;
use evenpath::{Csr, Device, Offset, Value, graph};
use evenpath_solvers::{
    Chebyshev, CsrOperator, Error, Identity, IncompleteCholesky, IncompleteLu, Jacobi, Method,
    MulticolorGaussSeidel, Outcome, Preconditioner, SinglePrecision, SolverOptions, SymmetricGaussSeidel,
};
use evenpath_tests::devices;

use crate::support::{
    check_solution, convection, dense, dense_matrix, grid, run_from, scaled, solve_dense, spd, vector,
};

type Dense = Vec<Vec<f64>>;

/// z = M⁻¹r, applied twice.
fn apply<V: Value>(device: &Device, preconditioner: &dyn Preconditioner<V>, r: &[V]) -> Vec<f64> {
    let r = device.upload(r).unwrap();
    let mut z = device.upload(&vec![V::from_f64(f64::NAN); r.len()]).unwrap();
    preconditioner.apply(&r, &mut z).unwrap();
    let first = z.download().unwrap();
    preconditioner.apply(&r, &mut z).unwrap();
    assert_eq!(z.download().unwrap(), first, "{device}: two runs differ");
    first.iter().map(|value| value.to_f64()).collect()
}

fn assert_near(device: &Device, found: &[f64], expected: &[f64], tolerance: f64) {
    let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance * largest, "{device}: {found}, expected {expected}");
    }
}

/// The dense M of symmetric successive over-relaxation.
fn ssor(a: &Dense, omega: f64) -> Dense {
    let n = a.len();
    let lower = |i: usize, k: usize| match i.cmp(&k) {
        std::cmp::Ordering::Greater => omega * a[i][k],
        std::cmp::Ordering::Equal => a[i][i],
        std::cmp::Ordering::Less => 0.0,
    };
    let upper = |k: usize, j: usize| match j.cmp(&k) {
        std::cmp::Ordering::Greater => omega * a[k][j],
        std::cmp::Ordering::Equal => a[k][k],
        std::cmp::Ordering::Less => 0.0,
    };
    let element = |i, j| (0..n).map(|k| lower(i, k) * upper(k, j) / a[k][k]).sum::<f64>();
    (0..n).map(|i| (0..n).map(|j| element(i, j) / (omega * (2.0 - omega))).collect()).collect()
}

fn check_ssor<V: Value>(tolerance: f64) {
    for under_test in devices() {
        let device = &under_test.device;
        for (a, omega) in [(convection::<V>(13), 1.0), (spd(13), 1.0), (spd(10), 1.4), (spd(1), 0.3)] {
            let (on_device, r) = (device.upload(&a).unwrap(), vector::<V>(a.nrows()));
            let mut sweeps = SymmetricGaussSeidel::with_relaxation(&on_device, omega).unwrap();
            let r_f64: Vec<f64> = r.iter().map(|value| value.to_f64()).collect();
            let expected = solve_dense(ssor(&dense(&a), omega), &r_f64);
            assert_near(device, &apply(device, &sweeps, &r), &expected, tolerance);
            // New values.
            on_device.set_values(scaled(&a, 4.0).values()).unwrap();
            sweeps.update().unwrap();
            let quarter: Vec<f64> = expected.iter().map(|value| value / 4.0).collect();
            assert_near(device, &apply(device, &sweeps, &r), &quarter, tolerance);
        }
    }
}

#[test]
fn gauss_seidel_is_the_product_of_triangles() {
    check_ssor::<f64>(1e-12);
    check_ssor::<f32>(1e-5);
}

/// The rows of a matrix by color, each color's in order.
fn by_color<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>) -> Vec<usize> {
    let both = a.iter().flat_map(|(row, col, _)| [(row, col, 1.0_f32), (col, row, 1.0)]);
    let both: Csr<f32> = Csr::from_triplets(a.nrows(), a.nrows(), both).unwrap();
    let colors = graph::color(&device.upload(&both).unwrap()).unwrap().colors.download().unwrap();
    let mut order: Vec<usize> = (0..a.nrows()).collect();
    order.sort_by_key(|&row| colors[row]);
    order
}

/// One-sided couplings, rows without neighbors, and a row that is coupled to all others.
fn skewed<V: Value>(n: usize) -> Csr<V> {
    let diagonal = (0..n).map(|row| (row, row, 2.0 + (row % 5) as f64));
    let beside = (0..n).filter(|row| row % 4 == 1).map(|row| (row, (7 * row + 3) % n, -0.75));
    let star = (0..n).filter(|row| row % 3 == 0 && *row != 6).map(|row| (6, row, 0.125));
    let entries = diagonal.chain(beside.filter(|(row, col, _)| row != col)).chain(star);
    Csr::from_triplets(n, n, entries.map(|(row, col, value)| (row, col, V::from_f64(value)))).unwrap()
}

fn check_multicolor<V: Value, O: Offset>(tolerance: f64) {
    let diagonal = Csr::from_triplets(5, 5, (0..5).map(|at| (at, at, V::from_f64(1.0 + at as f64)))).unwrap();
    let one = Csr::from_triplets(1, 1, [(0, 0, V::from_f64(-4.0))]).unwrap();
    let cases = [
        (convection::<V>(13), 1.0),
        (spd(13), 1.4),
        (grid(5), 1.0),
        (skewed(23), 0.7),
        (diagonal, 1.2),
        (one, 1.0),
    ];
    for under_test in devices() {
        let device = &under_test.device;
        for (a, omega) in cases.clone() {
            let a: Csr<V, O> = a.try_into_offsets().unwrap();
            let (on_device, order) = (device.upload(&a).unwrap(), by_color(device, &a));
            let r = vector::<V>(a.nrows());
            let mut sweeps = MulticolorGaussSeidel::with_relaxation(&on_device, omega).unwrap();
            assert!(sweeps.can_capture());
            let mut rows = vec![vec![0.0; order.len()]; order.len()];
            for (row, col, value) in a.iter() {
                rows[row][col] += value.to_f64();
            }
            let ordered: Dense = order.iter().map(|&i| order.iter().map(|&j| rows[i][j]).collect()).collect();
            let of_r: Vec<f64> = order.iter().map(|&row| r[row].to_f64()).collect();
            let solved = solve_dense(ssor(&ordered, omega), &of_r);
            let mut expected = vec![0.0; order.len()];
            for (&row, value) in order.iter().zip(solved) {
                expected[row] = value;
            }
            assert_near(device, &apply(device, &sweeps, &r), &expected, tolerance);
            // New values.
            let quarters: Vec<V> = a.values().iter().map(|&value| value * V::from_f64(4.0)).collect();
            on_device.set_values(&quarters).unwrap();
            sweeps.update().unwrap();
            let quarter: Vec<f64> = expected.iter().map(|value| value / 4.0).collect();
            assert_near(device, &apply(device, &sweeps, &r), &quarter, tolerance);
        }
    }
}

#[test]
fn multicolor_gauss_seidel_is_the_product_of_triangles_in_the_order_of_colors() {
    check_multicolor::<f64, u32>(1e-12);
    check_multicolor::<f32, u64>(1e-5);
}

#[test]
fn multicolor_gauss_seidel_counts_its_colors_and_runs_in_graphs() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&grid::<f64>(6)).unwrap();
        let sweeps = MulticolorGaussSeidel::new(&a).unwrap();
        assert!((2..=5).contains(&sweeps.colors()), "{}", sweeps.colors());
        let r = vector::<f64>(36);
        let expected = apply(device, &sweeps, &r);
        let vectors = (device.upload(&r).unwrap(), device.zeros(36).unwrap());
        let mut graph = device.capture(vectors, |(r, z)| sweeps.apply(r, z)).unwrap();
        graph.launch().unwrap();
        assert_eq!(graph.state().1.download().unwrap(), expected);
        let (short, mut z) = (device.zeros(35).unwrap(), device.zeros(36).unwrap());
        assert!(matches!(sweeps.apply(&short, &mut z), Err(Error::Length { found: 35, .. })));
    }
}

#[test]
fn factorizations_of_tridiagonal_matrices_are_complete() {
    for under_test in devices() {
        let device = &under_test.device;
        // Without fill beside the diagonals, LU is A itself.
        let rows: Vec<Vec<f64>> = (0..12_usize)
            .map(|i| {
                let element = |j: usize| match i.abs_diff(j) {
                    0 => 4.0 + (i % 3) as f64,
                    1 => -1.0,
                    _ => 0.0,
                };
                (0..12).map(element).collect()
            })
            .collect();
        let borrowed: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let (a, r): (Csr<f64>, _) = (dense_matrix(&borrowed), vector(12));
        let on_device = device.upload(&a).unwrap();
        let mut lu = IncompleteLu::new(&on_device).unwrap();
        let mut cholesky = IncompleteCholesky::new(&on_device).unwrap();
        let expected = solve_dense(dense(&a), &r);
        assert_near(device, &apply(device, &lu, &r), &expected, 1e-13);
        assert_near(device, &apply(device, &cholesky, &r), &expected, 1e-13);
        on_device.set_values(scaled(&a, 0.25).values()).unwrap();
        lu.update(&on_device).unwrap();
        cholesky.update(&on_device).unwrap();
        let four_times: Vec<f64> = expected.iter().map(|value| 4.0 * value).collect();
        assert_near(device, &apply(device, &lu, &r), &four_times, 1e-13);
        assert_near(device, &apply(device, &cholesky, &r), &four_times, 1e-13);
        assert_eq!(lu.factors().nnz(), a.nnz());
        assert_eq!(cholesky.factor().nnz(), usize::midpoint(a.nnz(), 12));
    }
}

/// The Chebyshev polynomial by its three-term recurrence: T(σ − t/δ) / T(σ) is what it leaves of an eigenvector of eigenvalue t.
fn left(degree: usize, (low, high): (f64, f64), eigenvalue: f64) -> f64 {
    let (center, half_width) = (f64::midpoint(high, low), (high - low) / 2.0);
    let polynomial = |t: f64| {
        let (mut last, mut value) = (1.0, t);
        for _ in 1..degree {
            (last, value) = (value, 2.0 * t * value - last);
        }
        value
    };
    polynomial((center - eigenvalue) / half_width) / polynomial(center / half_width)
}

#[test]
fn chebyshev_polynomials_have_their_values_at_eigenvalues() {
    for under_test in devices() {
        let device = &under_test.device;
        let eigenvalues = [0.05, 0.5, 1.0, 1.7, 2.0, 3.1];
        let entries = eigenvalues.iter().enumerate().map(|(at, &value)| (at, at, value));
        let a = device.upload(&Csr::<f64>::from_triplets(6, 6, entries).unwrap()).unwrap();
        let operator = CsrOperator::new(&a).unwrap();
        for degree in [1, 2, 3, 6] {
            let bounds = (0.4, 3.2);
            let polynomial = Chebyshev::with_bounds(&operator, &Identity, degree, bounds).unwrap();
            let expected = eigenvalues.map(|value| (1.0 - left(degree, bounds, value)) / value);
            assert_near(device, &apply(device, &polynomial, &[1.0; 6]), &expected, 1e-12);
        }
        let estimated = Chebyshev::new(&operator, &Identity, 2).unwrap();
        let (low, high) = estimated.bounds();
        assert!(high > 3.1 && high < 1.11 * 3.1 && (high / low - 30.0).abs() < 1e-9, "{low} to {high}");
        // Divided by the diagonal, all eigenvalues are 1.
        let jacobi = Jacobi::new(&a).unwrap();
        let (_, high) = Chebyshev::new(&operator, &jacobi, 2).unwrap().bounds();
        assert!((high - 1.1).abs() < 1e-12, "{high}");
    }
}

#[test]
fn preconditioners_save_steps() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b): (Csr<f64>, _) = (grid(9), vector(81));
        let on_device = device.upload(&a).unwrap();
        let operator = CsrOperator::new(&on_device).unwrap();
        let jacobi = Jacobi::new(&on_device).unwrap();
        let options = SolverOptions::default().with_tolerance(1e-10);
        let steps = |method: Method, preconditioner: &dyn Preconditioner<f64>| {
            let (report, x) = run_from(device, method, (&a, &b, &[0.0; 81]), options, preconditioner);
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            check_solution(&a, &x, &b, 1e-10);
            report.steps
        };
        let lu = IncompleteLu::new(&on_device).unwrap();
        let cholesky = IncompleteCholesky::new(&on_device).unwrap();
        let sweeps = SymmetricGaussSeidel::new(&on_device).unwrap();
        let colored = MulticolorGaussSeidel::new(&on_device).unwrap();
        let polynomial = Chebyshev::new(&operator, &jacobi, 3).unwrap();
        let strong: [&dyn Preconditioner<f64>; 5] = [&lu, &cholesky, &sweeps, &colored, &polynomial];
        for method in [Method::Cg, Method::Minres, Method::BiCgStab] {
            let without = steps(method, &Identity);
            for preconditioner in strong {
                let with = steps(method, preconditioner);
                assert!(4 * with < 3 * without, "{device}, {method}: {with} of {without}");
                assert!(preconditioner.can_capture());
            }
        }
        assert!(steps(Method::Fgmres, &lu) < 20);
    }
}

#[test]
fn single_precision_suffices_for_a_preconditioner() {
    for under_test in devices() {
        let device = &under_test.device;
        let (a, b): (Csr<f64>, _) = (convection(20), vector(20));
        let single = device.upload(&a.clone().into_values::<f32>()).unwrap();
        let lu = SinglePrecision::new(device, 20, IncompleteLu::new(&single).unwrap()).unwrap();
        let r: Vec<f32> = vector(20);
        let expected = apply(device, lu.get(), &r);
        assert_eq!(apply(device, &lu, &r.iter().map(|&r| f64::from(r)).collect::<Vec<_>>()), expected);
        let options = SolverOptions::default().with_tolerance(1e-13);
        for by in [1.0, 1e-60] {
            let b: Vec<f64> = b.iter().map(|b: &f64| b * by).collect();
            let (report, x) = run_from(device, Method::Gmres, (&a, &b, &[0.0; 20]), options, &lu);
            assert_eq!(report.outcome, Outcome::Converged, "{device}: {report}");
            check_solution(&a, &x, &b, 1e-13);
            assert!(report.steps < 20 && lu.can_capture(), "{report}");
        }
    }
}

#[test]
fn what_they_cannot_take_is_named() {
    for under_test in devices() {
        let device = &under_test.device;
        let upload = |rows: &[&[f64]]| device.upload(&dense_matrix::<f64>(rows)).unwrap();
        let wide = upload(&[&[1.0, 2.0]]);
        assert!(IncompleteLu::new(&wide).is_err() && IncompleteCholesky::new(&wide).is_err());
        assert!(matches!(SymmetricGaussSeidel::new(&wide), Err(Error::NotSquare { .. })));
        assert!(matches!(MulticolorGaussSeidel::new(&wide), Err(Error::NotSquare { .. })));
        let operator = CsrOperator::new(&wide).unwrap();
        assert!(matches!(Chebyshev::new(&operator, &Identity, 2), Err(Error::NotSquare { .. })));

        let no_diagonal = upload(&[&[1.0, 2.0], &[3.0, 0.0]]);
        assert!(matches!(SymmetricGaussSeidel::new(&no_diagonal), Err(Error::Diagonal { row: 1, .. })));
        assert!(matches!(MulticolorGaussSeidel::new(&no_diagonal), Err(Error::Diagonal { row: 1, .. })));
        let refused = IncompleteLu::new(&no_diagonal).err().unwrap().to_string();
        assert!(refused.contains("row 1"), "{refused}");

        let indefinite = upload(&[&[1.0, 2.0], &[2.0, 1.0]]);
        assert!(IncompleteCholesky::new(&indefinite).is_err());
        let shifted = FactorizationOptions::default().with_shift(3.0);
        IncompleteCholesky::with_options(&indefinite, shifted).unwrap();
        for omega in [0.0, 2.0, f64::NAN] {
            assert!(SymmetricGaussSeidel::with_relaxation(&indefinite, omega).is_err());
            assert!(MulticolorGaussSeidel::with_relaxation(&indefinite, omega).is_err());
        }
        let operator = CsrOperator::new(&indefinite).unwrap();
        for (degree, bounds) in [(0, (1.0, 2.0)), (1, (0.0, 2.0)), (1, (2.0, 1.0)), (1, (1.0, f64::INFINITY))]
        {
            let refused = Chebyshev::with_bounds(&operator, &Identity, degree, bounds).err();
            assert!(matches!(refused, Some(Error::Option { .. })), "{refused:?}");
        }
        let zero = device.upload(&Csr::<f64>::empty(2, 2).unwrap()).unwrap();
        let operator = CsrOperator::new(&zero).unwrap();
        assert!(matches!(Chebyshev::new(&operator, &Identity, 2), Err(Error::Option { .. })));

        // Old values stay, and another matrix is refused.
        let a = device.upload(&spd::<f64>(4)).unwrap();
        let (mut lu, mut sweeps) = (IncompleteLu::new(&a).unwrap(), SymmetricGaussSeidel::new(&a).unwrap());
        let mut colored = MulticolorGaussSeidel::new(&a).unwrap();
        let before = [apply(device, &lu, &[1.0; 4]), apply(device, &sweeps, &[1.0; 4])];
        let of_colors = apply(device, &colored, &[1.0; 4]);
        assert!(lu.update(&device.upload(&spd::<f64>(4)).unwrap()).is_err());
        a.set_values(&vec![0.0; a.nnz()]).unwrap();
        assert!(sweeps.update().is_err());
        assert!(matches!(colored.update(), Err(Error::Diagonal { row: 0, .. })));
        assert_eq!(apply(device, &colored, &[1.0; 4]), of_colors);
        assert_eq!([apply(device, &lu, &[1.0; 4]), apply(device, &sweeps, &[1.0; 4])], before);
        assert!(lu.update(&a).unwrap_err().to_string().contains("row 0"));
    }
}

#[test]
fn empty_matrices_are_taken() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&Csr::<f64>::empty(0, 0).unwrap()).unwrap();
        let operator = CsrOperator::new(&a).unwrap();
        let (lu, cholesky) = (IncompleteLu::new(&a).unwrap(), IncompleteCholesky::new(&a).unwrap());
        let sweeps = SymmetricGaussSeidel::new(&a).unwrap();
        let polynomial = Chebyshev::new(&operator, &Identity, 3).unwrap();
        let colored = MulticolorGaussSeidel::new(&a).unwrap();
        let all: [&dyn Preconditioner<f64>; 5] = [&lu, &cholesky, &sweeps, &colored, &polynomial];
        for preconditioner in all {
            assert!(apply(device, preconditioner, &[]).is_empty());
        }
    }
}
