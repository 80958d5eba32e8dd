use evenpath::{Csr, Device, DeviceVec, Value, vector as on_device};
use evenpath_solvers::{
    AmgCycle, AmgOptions, AmgSmoother, Cg, CsrOperator, Error, Method, MultiCg, Preconditioner, Report,
    SinglePrecision, SmoothedAggregation, SolverOptions,
};
use evenpath_tests::{device_of_each_kind, devices, kernel_devices};

use crate::support::problems::{diffusion, plate, poisson};
use crate::support::{check_solution, relative_residual, vector};

/// Coarsens small matrices too.
fn deep() -> AmgOptions {
    AmgOptions::default().with_max_coarse(12)
}

/// Solves by CG.
fn solve<V: Value>(
    device: &Device,
    a: &Csr<V>,
    multigrid: &SmoothedAggregation<V>,
    (b, tolerance): (&[V], f64),
) -> (Report, Vec<V>) {
    let operator = CsrOperator::new(&device.upload(a).unwrap()).unwrap();
    let options = SolverOptions::default().with_tolerance(tolerance);
    let mut solver = Cg::new(&operator, multigrid, options).unwrap();
    let (b, mut x) = (device.upload(b).unwrap(), device.zeros(a.nrows()).unwrap());
    let report = solver.solve(&b, &mut x).unwrap();
    assert!(report.is_converged(), "{device}: {report}\n{}", multigrid.info().unwrap());
    (report, x.download().unwrap())
}

/// Sets up, solves, checks the solution, and returns the number of steps.
fn steps<V: Value>(device: &Device, a: &Csr<V>, options: AmgOptions, tolerance: f64) -> usize {
    let multigrid = SmoothedAggregation::new(&device.upload(a).unwrap(), options).unwrap();
    let b = vector(a.nrows());
    let (report, x) = solve(device, a, &multigrid, (&b, tolerance));
    check_solution(a, &x, &b, 2.0 * tolerance);
    report.steps
}

/// M⁻¹r.
fn applied<V: Value>(device: &Device, multigrid: &SmoothedAggregation<V>, r: &[V]) -> Vec<V> {
    let (r, mut z) = (device.upload(r).unwrap(), device.zeros(r.len()).unwrap());
    multigrid.apply(&r, &mut z).unwrap();
    z.download().unwrap()
}

#[test]
fn poisson_problems_take_few_steps() {
    for under_test in devices() {
        let device = &under_test.device;
        assert!(steps::<f64>(device, &poisson(&[40, 40], &[1.0; 2]), deep(), 1e-8) <= 12);
        assert!(steps::<f32>(device, &poisson(&[24, 24], &[1.0; 2]), deep(), 1e-4) <= 8);
        assert!(steps::<f64>(device, &poisson(&[9, 10, 11], &[1.0; 3]), deep(), 1e-8) <= 10);
    }
}

#[test]
fn every_smoother_and_cycle_converges() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[20, 19], &[1.0; 2]);
        for smoother in [
            AmgSmoother::Jacobi { steps: 1 },
            AmgSmoother::Jacobi { steps: 2 },
            AmgSmoother::Chebyshev { degree: 1 },
            AmgSmoother::Chebyshev { degree: 4 },
            AmgSmoother::GaussSeidel { sweeps: 1 },
            AmgSmoother::GaussSeidel { sweeps: 2 },
        ] {
            for cycle in [AmgCycle::V, AmgCycle::W] {
                let options = deep().with_smoother(smoother).with_cycle(cycle);
                assert!(steps(&device, &a, options, 1e-8) <= 20, "{device}, {smoother:?}, {cycle:?}");
            }
        }
        assert!(steps(&device, &a, deep().with_max_levels(2), 1e-8) < 40);
    }
}

#[test]
fn coefficients_with_jumps_and_anisotropy_converge() {
    for under_test in devices() {
        let device = &under_test.device;
        // A square of 10⁶ in the middle, with the harmonic mean at its border.
        let is_inside = |at: usize| (5..15).contains(&(at % 20)) && (5..15).contains(&(at / 20));
        let of = |at: usize| if is_inside(at) { 1e6 } else { 1.0 };
        let jumps = |one, other, _| 2.0 / (1.0 / of(one) + 1.0 / of(other));
        assert!(steps::<f64>(device, &diffusion(&[20, 20], jumps, &[true; 2]), deep(), 1e-8) <= 14);

        let layers = poisson::<f64>(&[20, 20], &[1.0, 1e-3]);
        let strong_only = deep().with_strength(0.1);
        let filtered = steps(device, &layers, strong_only, 1e-8);
        let unfiltered = steps(device, &layers, strong_only.with_filtered_prolongation(false), 1e-8);
        let all = steps(device, &layers, deep().with_strength(0.0), 1e-8);
        assert!(steps(device, &layers, deep(), 1e-8) <= 14);
        assert!(filtered <= 12 && unfiltered <= 12 && all > 15, "{filtered}, {unfiltered}, {all}");
    }
}

#[test]
fn elastic_plates_need_their_rigid_motions() {
    for device in device_of_each_kind() {
        let (a, motions) = plate::<f64>(16, 8);
        let on_device = device.upload(&a).unwrap();
        let motions = motions.map(|motion| device.upload(&motion).unwrap());
        let options = AmgOptions::default().with_max_coarse(30).with_block_size(2);
        let b = vector(a.nrows());
        let steps = |options, motions: &[DeviceVec<f64>]| {
            let multigrid = SmoothedAggregation::with_near_null(&on_device, motions, options).unwrap();
            let (report, x) = solve(&device, &a, &multigrid, (&b, 1e-8));
            check_solution(&a, &x, &b, 1e-7);
            report.steps
        };
        let (with, without) = (steps(options, &motions), steps(options, &motions[..2]));
        assert!(with <= 20 && with < without, "{with}, {without}");
        assert!(steps(options.with_strength(0.05), &motions) <= 25);
        let by_default = SmoothedAggregation::new(&on_device, options).unwrap();
        assert_eq!(solve(&device, &a, &by_default, (&b, 1e-8)).0.steps, without);
    }
}

#[test]
fn tiny_diagonal_and_disconnected_matrices_are_solved() {
    for under_test in devices() {
        let device = &under_test.device;
        for rows in [1, 2, 3] {
            assert!(steps::<f64>(device, &poisson(&[rows], &[1.0]), AmgOptions::default(), 1e-12) <= 2);
        }
        let empty: Csr<f64> = Csr::from_triplets(0, 0, []).unwrap();
        let multigrid = SmoothedAggregation::new(&device.upload(&empty).unwrap(), deep()).unwrap();
        assert_eq!(applied(device, &multigrid, &[]), Vec::<f64>::new());
        assert!((multigrid.info().unwrap().operator_complexity() - 1.0).abs() < 1e-15);

        let diagonal = Csr::from_triplets(50, 50, (0..50).map(|at| (at, at, 1.0 + at as f64))).unwrap();
        assert!(steps::<f64>(device, &diagonal, deep(), 1e-10) <= 2);
        let path = poisson::<f64>(&[30], &[1.0]);
        let parts = Csr::block_diagonal(&[&path, &diagonal, &poisson(&[9, 9], &[1e4; 2]), &path]).unwrap();
        assert!(steps(device, &parts, deep(), 1e-8) <= 16);
    }
}

#[test]
fn fixed_unknowns_are_solved_whether_their_zeros_are_stored_or_not() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[18, 18], &[1.0; 2]);
        let is_fixed = |at: usize| at.is_multiple_of(18) || at / 18 == 7;
        let is_eliminated = |row, column| row != column && (is_fixed(row) || is_fixed(column));
        let eliminated = a.filter(|row, column, _| !is_eliminated(row, column));
        let stored = a
            .iter()
            .map(|(row, column, value)| (row, column, if is_eliminated(row, column) { 0.0 } else { value }));
        let stored = Csr::from_triplets(a.nrows(), a.nrows(), stored).unwrap();
        let steps = [eliminated, stored].map(|a| steps(&device, &a, deep(), 1e-8));
        assert!(steps[0] <= 12 && steps[0] == steps[1], "{steps:?}");
    }
}

#[test]
fn singular_problems_are_solved_where_they_have_a_solution() {
    for under_test in devices() {
        let device = &under_test.device;
        let one = diffusion::<f64>(&[17, 16], |_, _, _| 1.0, &[false; 2]);
        let small = diffusion::<f64>(&[3], |_, _, _| 1.0, &[false]);
        let parts = Csr::block_diagonal(&[&one, &small, &one, &poisson(&[20], &[1.0])]).unwrap();
        for (a, options) in [(&one, deep()), (&parts, deep()), (&small, AmgOptions::default())] {
            let multigrid = SmoothedAggregation::new(&device.upload(a).unwrap(), options).unwrap();
            let mut b = vec![0.0; a.nrows()];
            a.spmv(1.0, &vector(a.nrows()), 0.0, &mut b).unwrap();
            let (report, x) = solve(device, a, &multigrid, (&b, 1e-8));
            assert!(report.steps <= 16 && relative_residual(a, &x, &b) <= 2e-8, "{report}");
        }
    }
}

/// Options of K-cycles.
fn k_cycle(steps: usize) -> AmgOptions {
    deep().with_cycle(AmgCycle::K { steps })
}

#[test]
fn k_cycles_take_fewer_steps_than_v_cycles() {
    // The next test compares devices.
    let device = Device::cpu();
    let a = poisson::<f64>(&[48, 44], &[1.0, 0.001]);
    let b = vector(a.nrows());
    let (on_device, of_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
    let operator = CsrOperator::new(&on_device).unwrap();
    let options = SolverOptions::default().with_tolerance(1e-8).with_flexible(true);
    let solve = |options_of_amg, method: Method| {
        let multigrid = SmoothedAggregation::new(&on_device, options_of_amg).unwrap();
        assert!(multigrid.info().unwrap().levels.len() >= 3);
        let mut solver = method.solver(&operator, &multigrid, options).unwrap();
        let mut x = device.zeros(a.nrows()).unwrap();
        let report = solver.solve(&of_b, &mut x).unwrap();
        let x = x.download().unwrap();
        assert!(report.is_converged(), "{device}: {report}");
        check_solution(&a, &x, &b, 2e-8);
        (report.steps, x)
    };
    let [v, one, two] = [deep(), k_cycle(1), k_cycle(2)].map(|options| solve(options, Method::Cg).0);
    assert!(two < v && two <= one && one <= v + 1, "{device}: V {v}, K of one step {one}, of two {two}");
    assert!(solve(k_cycle(2), Method::Fgmres).0 <= two + 1);
    assert_eq!(solve(k_cycle(2), Method::Cg), solve(k_cycle(2), Method::Cg), "{device}");
}

#[test]
fn k_cycles_agree_on_all_devices_and_in_graphs() {
    let a = poisson::<f64>(&[24, 13], &[1.0, 0.3]);
    let r = vector(a.nrows());
    for steps in [1, 2] {
        let results: Vec<Vec<f64>> = device_of_each_kind()
            .into_iter()
            .map(|device| {
                let a = device.upload(&a).unwrap();
                let multigrid = SmoothedAggregation::new(&a, k_cycle(steps)).unwrap();
                let z = applied(&device, &multigrid, &r);
                let vectors = (device.upload(&r).unwrap(), device.zeros(r.len()).unwrap());
                let mut graph = device.capture(vectors, |(r, z)| multigrid.apply(r, z)).unwrap();
                graph.launch().unwrap();
                assert_eq!(graph.state().1.download().unwrap(), z, "{device}");
                // A residual of zero gives zero, and no quotient of zeros.
                let zeros = vec![0.0; r.len()];
                assert_eq!(applied(&device, &multigrid, &zeros), zeros, "{device}");
                z
            })
            .collect();
        let largest = results[0].iter().fold(0.0_f64, |largest, z| largest.max(z.abs()));
        for result in &results {
            assert!(result.iter().zip(&results[0]).all(|(z, other)| (z - other).abs() < 1e-12 * largest));
        }
    }
}

#[test]
fn k_cycles_need_a_flexible_method() {
    let device = Device::cpu();
    let a = device.upload(&poisson::<f64>(&[20, 20], &[1.0; 2])).unwrap();
    let operator = CsrOperator::new(&a).unwrap();
    let multigrid = SmoothedAggregation::new(&a, k_cycle(2)).unwrap();
    let options = SolverOptions::default();
    let refused = |method: Method| method.solver(&operator, &multigrid, options).err();
    for method in [Method::Cg, Method::PipelinedCg, Method::Minres, Method::BiCgStab, Method::Gmres] {
        assert!(matches!(refused(method), Some(Error::NotLinear { .. })), "{method}");
    }
    assert!(refused(Method::Fgmres).is_none());
    assert!(Cg::new(&operator, &multigrid, options.with_flexible(true)).is_ok());
    let message = refused(Method::Cg).unwrap().to_string();
    assert_eq!(
        message,
        "CG needs a preconditioner that is linear, such as a V-cycle; take FGMRES, or CG with the option `flexible`"
    );
    assert!(matches!(MultiCg::new(&operator, &multigrid, 2, options), Err(Error::NotLinear { .. })));
    let single = SmoothedAggregation::new(&a.narrow().unwrap(), k_cycle(2)).unwrap();
    let single = SinglePrecision::new(&device, 400, single).unwrap();
    assert!(!single.is_linear() && Cg::new(&operator, &single, options).is_err());
    for steps in [0, 3] {
        let message = SmoothedAggregation::new(&a, k_cycle(steps)).map(drop).unwrap_err().to_string();
        assert_eq!(message, format!("the number of steps of a K-cycle is {steps}, but must be 1 or 2"));
    }
}

#[test]
fn a_cycle_is_symmetric_and_positive() {
    for device in device_of_each_kind() {
        let a = device.upload(&poisson::<f64>(&[15, 17], &[1.0, 0.3])).unwrap();
        for options in [
            deep(),
            deep().with_cycle(AmgCycle::W).with_strength(0.25),
            deep().with_smoother(AmgSmoother::Jacobi { steps: 1 }),
            deep().with_smoother(AmgSmoother::GaussSeidel { sweeps: 1 }),
            deep().with_max_coarse(0),
        ] {
            let multigrid = SmoothedAggregation::new(&a, options).unwrap();
            let x = vector::<f64>(a.nrows());
            let y: Vec<f64> = x.iter().map(|x| (17.0 * x).sin()).collect();
            let [mx, my] = [&x, &y].map(|x| applied(&device, &multigrid, x));
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            assert!((dot(&y, &mx) - dot(&x, &my)).abs() < 1e-12 * dot(&x, &mx));
            assert!(dot(&x, &mx) > 0.0 && dot(&y, &my) > 0.0);
        }
    }
}

#[test]
fn a_captured_cycle_gives_the_same_bits() {
    for device in device_of_each_kind() {
        let a = device.upload(&poisson::<f32>(&[14, 13], &[1.0; 2])).unwrap();
        for options in [deep(), deep().with_smoother(AmgSmoother::GaussSeidel { sweeps: 1 })] {
            let multigrid = SmoothedAggregation::new(&a, options).unwrap();
            assert!(multigrid.can_capture());
            let r = vector(a.nrows());
            let vectors = (device.upload(&r).unwrap(), device.zeros(r.len()).unwrap());
            let mut graph = device.capture(vectors, |(r, z)| multigrid.apply(r, z)).unwrap();
            graph.launch().unwrap();
            assert_eq!(graph.state().1.download().unwrap(), applied(&device, &multigrid, &r));
        }
    }
}

#[test]
fn new_values_give_the_bits_of_a_new_set_up() {
    for device in device_of_each_kind() {
        let (one, two) = (poisson::<f64>(&[16, 15], &[1.0, 1e-3]), poisson(&[16, 15], &[3.0, 1e-2]));
        let (one, two) = (device.upload(&one).unwrap(), device.upload(&two).unwrap());
        // Both have the same strong couplings, for the second options on the finest level.
        let all_strong = deep().with_strength(0.0);
        let colored = all_strong.with_smoother(AmgSmoother::GaussSeidel { sweeps: 1 });
        for options in [all_strong, colored, deep().with_strength(0.1).with_max_levels(2)] {
            let mut multigrid = SmoothedAggregation::new(&one, options).unwrap();
            let r = vector(one.nrows());
            let before = applied(&device, &multigrid, &r);
            for (a, is_other) in [(&two, true), (&one, false)] {
                multigrid.update(a).unwrap();
                let fresh = SmoothedAggregation::new(a, options).unwrap();
                let found = applied(&device, &multigrid, &r);
                assert!(found == applied(&device, &fresh, &r), "{device}, {options:?}");
                assert_eq!(found != before, is_other);
                assert_eq!(multigrid.info().unwrap().levels, fresh.info().unwrap().levels);
            }
        }
    }
}

#[test]
fn all_devices_have_the_same_levels_and_every_run_the_same_bits() {
    let a = poisson::<f64>(&[25, 12], &[1.0, 0.7]);
    let r = vector(a.nrows());
    let mut sizes = Vec::new();
    for under_test in devices() {
        let device = &under_test.device;
        let a = device.upload(&a).unwrap();
        let runs = [(); 2].map(|()| {
            let multigrid = SmoothedAggregation::new(&a, deep().with_strength(0.02)).unwrap();
            let levels = multigrid.info().unwrap().levels;
            sizes.push(levels.iter().map(|level| (level.rows, level.nonzeros)).collect::<Vec<_>>());
            (levels, applied(device, &multigrid, &r))
        });
        assert_eq!(runs[0], runs[1]);
    }
    assert!(sizes[0].len() >= 3 && sizes.iter().all(|of_device| *of_device == sizes[0]), "{sizes:?}");
}

#[test]
fn later_changes_of_the_matrix_change_nothing() {
    let device = Device::cpu();
    let a = device.upload(&poisson::<f64>(&[8, 8], &[1.0; 2])).unwrap();
    let multigrid = SmoothedAggregation::new(&a, deep()).unwrap();
    let r = vector(a.nrows());
    let before = applied(&device, &multigrid, &r);
    a.scale(7.0).unwrap();
    assert_eq!(applied(&device, &multigrid, &r), before);
}

#[test]
fn invalid_matrices_and_options_are_refused() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[8, 8], &[1.0; 2]);
        let new =
            |a: &Csr<f64>, options| SmoothedAggregation::new(&device.upload(a).unwrap(), options).map(drop);
        let refused = |a: &Csr<f64>| new(a, deep()).unwrap_err().to_string();
        let wide = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 1, 1.0)]).unwrap();
        assert_eq!(refused(&wide), "the matrix is 2 x 3, but must be square");
        let with = |row, new| {
            let mut changed = a.clone();
            let at = a.iter().position(|(at, column, _)| (at, column) == (row, row)).unwrap();
            changed.values_mut()[at] = new;
            changed
        };
        for value in [0.0, -4.0] {
            assert_eq!(refused(&with(5, value)), "row 5 has no positive entry on the diagonal");
        }
        let hole = a.filter(|row, column, _| row != column || row != 9);
        assert_eq!(refused(&hole), "row 9 has no positive entry on the diagonal");
        for value in [f64::NAN, f64::INFINITY] {
            assert_eq!(refused(&with(60, value)), "the matrix has values that are not finite");
        }
        for (options, message) in [
            (
                deep().with_strength(1.0),
                "the threshold of strong couplings is 1, but must be from 0 to less than 1",
            ),
            (deep().with_block_size(3), "block_size is 3, but must be a divisor of the number of rows"),
            (deep().with_block_size(0), "block_size is 0, but must be a divisor of the number of rows"),
            (deep().with_max_levels(0), "max_levels is 0, but must be at least 1"),
            (deep().with_max_coarse(5000), "max_coarse is 5000, but must be 2000 at most"),
            (
                deep().with_smoother(AmgSmoother::GaussSeidel { sweeps: 0 }),
                "the number of Gauss–Seidel sweeps is 0, but must be at least 1",
            ),
            (
                deep().with_smoother(AmgSmoother::Chebyshev { degree: 0 }),
                "the Chebyshev degree is 0, but must be at least 1",
            ),
        ] {
            assert_eq!(new(&a, options).unwrap_err().to_string(), message);
        }
    }
}

#[test]
fn invalid_operands_are_refused() {
    for device in device_of_each_kind() {
        let a = device.upload(&poisson::<f64>(&[8, 8], &[1.0; 2])).unwrap();
        let short = [device.zeros(63).unwrap()];
        let error = SmoothedAggregation::with_near_null(&a, &short, deep()).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "a near-null vector has 63 elements, but must have 64");
        let elsewhere = [Device::cpu().zeros(64).unwrap()];
        let result = SmoothedAggregation::with_near_null(&a, &elsewhere, deep());
        assert_eq!(result.is_err(), !device.is_same(elsewhere[0].device()));
        let error = SmoothedAggregation::with_near_null(&a, &[], deep()).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "the number of near-null vectors is 0, but must be at least 1");

        let mut multigrid = SmoothedAggregation::new(&a, deep()).unwrap();
        let error = multigrid.apply(&short[0], &mut device.zeros(64).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "r has 63 elements, but must have 64");
        let r = vector(64);
        let before = applied(&device, &multigrid, &r);
        for other in [poisson(&[16, 4], &[1.0; 2]), poisson(&[7], &[1.0])] {
            let error = multigrid.update(&device.upload(&other).unwrap()).unwrap_err();
            assert!(matches!(error, Error::OtherPattern), "{error}");
        }
        let infinite = a.copy().unwrap();
        infinite.update_values(|values| on_device::fill(f64::INFINITY, values)).unwrap();
        assert!(matches!(multigrid.update(&infinite), Err(Error::NotFinite { .. })));
        assert_eq!(applied(&device, &multigrid, &r), before); // refused values change nothing
    }
}

#[test]
fn too_little_memory_is_an_error_after_which_an_update_recovers() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let a = device.upload(&poisson::<f64>(&[12, 12], &[1.0; 2])).unwrap();
        let options = deep().with_strength(0.1);
        let mut multigrid = SmoothedAggregation::new(&a, options).unwrap();
        let r = vector(a.nrows());
        let expected = applied(device, &multigrid, &r);
        let in_use = || device.memory().unwrap().in_use;
        let before = in_use();
        device.reset_peak_memory();
        drop(SmoothedAggregation::new(&a, options).unwrap());
        let most = device.memory().unwrap().peak - before;
        let mut failures = 0;
        for part in 0..10 {
            device.set_memory_limit(Some(before + most * part / 10));
            assert!(SmoothedAggregation::new(&a, options).is_err(), "{device}, {part} tenths");
            assert_eq!(in_use(), before, "{device}, {part} tenths");
            failures += u32::from(multigrid.update(&a).is_err());
            device.set_memory_limit(None);
            multigrid.update(&a).unwrap();
            assert!(applied(device, &multigrid, &r) == expected, "{device}, {part} tenths");
        }
        assert!(failures > 1, "{device}");
    }
}
