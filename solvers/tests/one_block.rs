//! Conjugate gradients by one block, beside the graph of launches and a dense reference.

use evenpath::{Csr, Device, Offset, Value};
use evenpath_solvers::{
    Breakdown, Cg, CsrOperator, Error, Identity, IncompleteCholesky, Jacobi, LinearOperator, Outcome,
    Preconditioner, Report, SolverOptions,
};
use evenpath_tests::{device_of_each_kind, devices};

use crate::support::{
    UserOperator, check_solution, dense, grid, indefinite, run_from, solve_dense, spd, vector,
};

fn solve<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    b: &[V],
    options: SolverOptions,
    has_jacobi: bool,
) -> (Report, Vec<V>) {
    let a = device.upload(a).unwrap();
    let (operator, jacobi) = (CsrOperator::new(&a).unwrap(), has_jacobi.then(|| Jacobi::new(&a).unwrap()));
    let preconditioner = jacobi.as_ref().map_or(&Identity as &dyn Preconditioner<V>, |jacobi| jacobi);
    let mut solver = Cg::new(&operator, preconditioner, options).unwrap();
    let (b, mut x) = (device.upload(b).unwrap(), device.zeros(b.len()).unwrap());
    let report = solver.solve(&b, &mut x).unwrap();
    (report, x.download().unwrap())
}

/// A star: one row with an entry in each column, for lanes that have much to do and others that have nothing.
fn star<V: Value>(n: usize) -> Csr<V> {
    let edges = (1..n).flat_map(|at| [(0, at, -1.0), (at, 0, -1.0)]);
    let diagonal = (0..n).map(|at| (at, at, if at == 0 { n as f64 } else { 2.0 }));
    let entries = edges.chain(diagonal).map(|(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(n, n, entries).unwrap()
}

fn check<V: Value>(device: &Device, a: &Csr<V>, tolerance: f64) {
    let b = vector(a.nrows());
    let expected = solve_dense(dense(a), &b.iter().map(|b: &V| b.to_f64()).collect::<Vec<_>>());
    let scale = expected.iter().fold(1e-300_f64, |scale, x| scale.max(x.abs()));
    for has_jacobi in [false, true] {
        let options = SolverOptions::default().with_tolerance(tolerance).with_one_block(true);
        let (report, x) = solve(device, a, &b, options, has_jacobi);
        assert_eq!(report.outcome, Outcome::Converged, "{device}, {}: {report}", a.nrows());
        for (x, expected) in x.iter().zip(&expected) {
            assert!(
                (x.to_f64() - expected).abs() <= 100.0 * tolerance * scale,
                "{device}: {x} for {expected}"
            );
        }
        // The same bits again, however often the host looks, and with offsets of 64 bits.
        let (again, same) = solve(device, a, &b, options.with_check_steps(3), has_jacobi);
        assert_eq!((&again.history, &same), (&report.history, &x), "{device}, {}", a.nrows());
        let wide = solve(device, &a.clone().try_into_offsets::<u64>().unwrap(), &b, options, has_jacobi);
        assert_eq!((&wide.0.history, &wide.1), (&report.history, &x), "{device}, {}", a.nrows());
        // The same method as by many launches.
        let (other, _) = solve(device, a, &b, options.with_one_block(false), has_jacobi);
        assert!(other.steps.abs_diff(report.steps) <= 1 + report.steps / 10, "{device}: {other}, {report}");
    }
}

#[test]
fn finds_the_solution_of_elimination() {
    for under_test in devices() {
        let device = &under_test.device;
        for side in [1, 2, 7, 12] {
            check::<f64>(device, &grid(side), 1e-11);
            check::<f32>(device, &grid(side), 1e-5);
        }
        for rows in [1, 33, 150] {
            check::<f64>(device, &star(rows), 1e-11);
            check::<f64>(device, &spd(rows), 1e-11);
        }
    }
}

#[test]
fn a_block_has_more_rows_than_threads() {
    for under_test in devices() {
        let (a, b): (Csr<f64>, Vec<f64>) = (grid(47), vector(47 * 47));
        let options = SolverOptions::default().with_tolerance(1e-9).with_one_block(true);
        let (report, x) = solve(&under_test.device, &a, &b, options, true);
        assert!(report.is_converged(), "{report}");
        check_solution(&a, &x, &b, 1e-8);
    }
}

#[test]
fn outcomes_have_the_same_names() {
    for under_test in devices() {
        let device = &under_test.device;
        for is_one_block in [true, false] {
            let options = SolverOptions::default().with_tolerance(1e-10).with_one_block(is_one_block);
            let b: Vec<f64> = vector(40);
            let outcome = |a: &Csr<f64>, options| solve(device, a, &b, options, true).0;
            let report = outcome(&spd(40), options.with_max_steps(5).with_check_steps(2));
            assert_eq!((report.outcome, report.steps), (Outcome::MaxSteps, 5), "{device}");
            let report = outcome(&indefinite(40), options);
            assert!(matches!(report.outcome, Outcome::Breakdown(_)), "{device}: {report}");
            let report = solve(device, &indefinite(40), &b, options, false).0;
            assert_eq!(report.outcome, Outcome::Breakdown(Breakdown::IndefiniteMatrix), "{device}");
            let mut with_nan = spd(40);
            with_nan.map_values(|value| if value > 5.5 { f64::NAN } else { value });
            let report = solve(device, &with_nan, &b, options, false).0;
            assert_eq!(report.outcome, Outcome::NotANumber, "{device}");
            let zero = solve(device, &spd(40), &[0.0; 40], options, true);
            assert_eq!((zero.0.outcome, zero.0.steps, zero.1), (Outcome::Converged, 0, vec![0.0; 40]));
        }
    }
}

#[test]
fn what_one_block_cannot_do_is_refused() {
    for device in device_of_each_kind() {
        let (a, options) = (device.upload(&grid::<f64>(3)).unwrap(), SolverOptions::default());
        let asked = options.with_one_block(true);
        let operator = CsrOperator::new(&a).unwrap();
        let factors = IncompleteCholesky::new(&a).unwrap();
        let own = UserOperator { device: device.clone(), len: 9 };
        let refused =
            |operator: &dyn LinearOperator<f64>, preconditioner: &dyn Preconditioner<f64>, options| {
                matches!(Cg::new(operator, preconditioner, options), Err(Error::NoOneBlock))
            };
        assert!(refused(&operator, &factors, asked) && refused(&own, &Identity, asked));
        assert!(refused(&operator, &Identity, asked.with_profile(true)));
        assert!(refused(&operator, &Identity, asked.with_flexible(true)));
        assert!(!refused(&operator, &Identity, asked) && !refused(&operator, &factors, options));
        assert!(!refused(&own, &Identity, options));
        // Complex matrices are not real ones.
        let complex = crate::support::complex::definite::<evenpath::Complex<f64>>(9);
        let complex = device.upload(&complex).unwrap();
        let complex = CsrOperator::new(&complex).unwrap();
        assert!(matches!(Cg::new(&complex, &Identity, asked), Err(Error::NoOneBlock)));
    }
}

#[test]
fn small_systems_are_solved_by_one_block_on_gpus() {
    use evenpath::device::DeviceKind;
    for device in device_of_each_kind() {
        let (a, b): (Csr<f64>, Vec<f64>) = (grid(20), vector(400));
        let of = |choice: Option<bool>| {
            let options = SolverOptions::default().with_tolerance(1e-10).with_one_block(choice);
            let method = evenpath_solvers::Method::Cg;
            run_from(&device, method, (&a, &b, &vec![0.0; 400]), options, &Identity)
        };
        let (default, one, many) = (of(None), of(Some(true)), of(Some(false)));
        let expected = if device.kind() == DeviceKind::Cpu { &many } else { &one };
        assert_eq!((&default.0.history, &default.1), (&expected.0.history, &expected.1), "{device}");
        assert!(device.kind() == DeviceKind::Cpu || one.1 != many.1, "{device}: the ways have the same bits");
    }
}

#[test]
fn operands_of_other_sizes_are_refused() {
    use evenpath::cg::{CgSteps, CgVectors};
    for device in device_of_each_kind() {
        let a = device.upload(&grid::<f64>(2)).unwrap();
        let wide = device.upload(&Csr::from_triplets(4, 5, [(0, 0, 1.0)]).unwrap()).unwrap();
        let mut steps = CgSteps::new(&device, 2).unwrap();
        steps.begin(1.0, 1.0, 0.0, 1.0).unwrap();
        let short = device.upload(&[1.0; 3]).unwrap();
        let mut run = |count: usize, a: &evenpath::DeviceCsr<f64>, inverse: bool, lens: [usize; 4]| {
            let [mut x, mut r, mut p, mut q] = lens.map(|len| device.upload(&vec![1.0; len]).unwrap());
            let vectors = CgVectors { x: &mut x, r: &mut r, p: &mut p, q: &mut q };
            let result = steps.run_in_one_block(count, a, inverse.then_some(&*short), vectors);
            if result.is_err() {
                assert_eq!(x.download().unwrap(), vec![1.0; lens[0]], "{device}");
            }
            result
        };
        for at in 0..4 {
            let mut lens = [4; 4];
            lens[at] = 3;
            let error = run(1, &a, false, lens).unwrap_err().to_string();
            assert!(error.contains("has length 3, but 4 is needed"), "{error}");
        }
        assert!(run(1, &a, true, [4; 4]).unwrap_err().to_string().contains("the diagonal has length 3"));
        assert!(run(3, &a, false, [4; 4]).unwrap_err().to_string().contains("the list of steps"));
        assert!(run(1, &wide, false, [4; 4]).is_err());
        run(0, &a, false, [4; 4]).unwrap();
        run(2, &a, false, [4; 4]).unwrap();
    }
}
