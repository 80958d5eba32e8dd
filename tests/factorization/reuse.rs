//! New values, graphs, and blocks in any order.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::factorization::{Ic0Plan, Ilu0Plan};
use evenpath::triangular::{Triangle, TriangularOptions};
use evenpath::{Csr, Device};
use evenpath_tests::{DeviceUnderTest, devices};

use super::matrices::{shapes, with_entries};

fn matrix(name: &str) -> Csr<f64> {
    shapes(true).into_iter().find(|(other, _)| *other == name).expect("a shape").1
}

/// Values times a power of two, of which the factors are known.
fn scaled(a: &Csr<f64>, factor: f64) -> Vec<f64> {
    a.values().iter().map(|value| value * factor).collect()
}

#[test]
fn new_values_need_no_new_plan() {
    let a = matrix("scattered");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let (lu, cholesky) =
            (Ilu0Plan::new(&matrix).expect("a plan"), Ic0Plan::new(&matrix).expect("a plan"));
        let factors = lu.factorize(&matrix).expect("factors");
        let factor = cholesky.factorize(&matrix).expect("a factor");
        let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
        let solve = factors.plan_triangular_solve(upper).expect("a plan");
        let lower = factor.download().expect("download");
        let mut x = device.upload(&vec![1.0; a.nrows()]).expect("upload");
        solve.solve_in_place(1.0, &mut x).expect("a solution");
        let x = x.download().expect("download");
        for power in [2_i32, -4, 6] {
            let scale = 2.0_f64.powi(power);
            matrix.set_values(&scaled(&a, scale)).expect("as many");
            lu.factorize_into(&matrix, &factors).expect("factors");
            cholesky.factorize_into(&matrix, &factor).expect("a factor");
            let expected: Vec<f64> = lower.values().iter().map(|value| value * scale.sqrt()).collect();
            assert_eq!(factor.download().expect("download").values(), expected, "{device}");
            // U has the factor.
            let mut other = device.upload(&vec![scale; a.nrows()]).expect("upload");
            solve.solve_in_place(1.0, &mut other).expect("a solution");
            assert_eq!(other.download().expect("download"), x, "{device}");
        }
    }
}

#[test]
fn a_graph_factorizes_the_values_of_each_launch() {
    let a = matrix("a grid");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let lu = Ilu0Plan::new(&matrix).expect("a plan");
        let cholesky = Ic0Plan::new(&matrix).expect("a plan");
        let factors = lu.factorize(&matrix).expect("factors");
        let factor = cholesky.factorize(&matrix).expect("a factor");
        let expected = (factors.download().expect("download"), factor.download().expect("download"));
        let mut graph = device
            .capture((), |()| {
                lu.factorize_into(&matrix, &factors)?;
                cholesky.factorize_into(&matrix, &factor)
            })
            .expect("a graph");
        for power in [0, 2, 4] {
            let scale = 2.0_f64.powi(power);
            matrix.set_values(&scaled(&a, scale)).expect("as many");
            graph.launch().expect("a launch");
            let upper = |a: &Csr<f64>| a.get(3, 4).expect("an entry");
            let found = upper(&factors.download().expect("download"));
            assert_eq!(found.to_bits(), (upper(&expected.0) * scale).to_bits(), "{device}");
            let values: Vec<f64> = expected.1.values().iter().map(|value| value * scale.sqrt()).collect();
            assert_eq!(factor.download().expect("download").values(), values, "{device}");
            lu.check_pivots().expect("pivots");
        }
    }
}

/// Rows wait for rows of blocks that started in any order, of which two run at a time.
#[test]
fn blocks_run_in_any_order() {
    for name in ["a chain", "scattered"] {
        let a = matrix(name);
        let on = |device: &Device| {
            let matrix = device.upload(&a).expect("upload");
            let lu = Ilu0Plan::new(&matrix).expect("a plan").factorize(&matrix).expect("factors");
            let l = Ic0Plan::new(&matrix).expect("a plan").factorize(&matrix).expect("a factor");
            (lu.download().expect("download"), l.download().expect("download"))
        };
        let expected = on(&Device::cpu());
        for seed in 0..6 {
            let options = SimulatedOptions::default()
                .with_block_order(BlockOrder::Seeded(seed))
                .with_memory_order(MemoryOrder::Weak(seed))
                .with_threads(1)
                .with_resident_blocks(2);
            assert!(on(&Device::simulated(options)) == expected, "{name}, seed {seed}");
        }
    }
}

/// Rows of wide levels are factorized by several threads of the CPU, with the same bits and the same first row that breaks down.
#[test]
fn threads_of_the_cpu_share_wide_levels() {
    let half = 5000;
    let entries = (0..half).flat_map(|row| [(half + row, row), (half + row, (row * 7 + 1) % half)]);
    let a = with_entries::<f64, u32>(2 * half, entries, true);
    let mut broken = a.clone();
    for row in [half + 7, half + 4000] {
        let at = broken.row_offsets()[row] as usize + broken.row(row).expect("inside").len() - 1;
        broken.values_mut()[at] = f64::NAN;
    }
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let (device, matrix) = (Device::cpu(), Device::cpu().upload(&a).expect("upload"));
            let (lu, cholesky) =
                (Ilu0Plan::new(&matrix).expect("a plan"), Ic0Plan::new(&matrix).expect("a plan"));
            assert_eq!(lu.info().expect("info").levels, 2, "{device}");
            let factors =
                (lu.factorize(&matrix).expect("factors"), cholesky.factorize(&matrix).expect("a factor"));
            matrix.set_values(broken.values()).expect("as many");
            let error = cholesky.factorize(&matrix).expect_err("no number");
            assert!(matches!(error, OpError::Breakdown { row } if row == half + 7), "{error}");
            (factors.0.download().expect("download"), factors.1.download().expect("download"))
        })
    };
    let expected = on(1);
    for threads in [2, 3, 8] {
        assert!(on(threads) == expected, "{threads} threads");
    }
    // One level, in which entries of L are quotients.
    let (row, column) = (half + 3, 3);
    let quotient = a.get(row, column).expect("an entry") / a.get(column, column).expect("a diagonal");
    assert_eq!(expected.0.get(row, column), Some(quotient));
}

#[test]
fn matrices_are_factorized_into_each_other_by_two_threads() {
    let a = matrix("a grid");
    for DeviceUnderTest { device, .. } in devices() {
        let one = device.upload(&a).expect("upload");
        let other = one.copy().expect("a copy");
        let (sender, ends) = mpsc::channel();
        // The threads would outlive a scope that waits for them, if they waited for each other.
        for (from, to) in [(one.clone(), other.clone()), (other, one)] {
            let (sender, plan) = (sender.clone(), Ilu0Plan::new(&from).expect("a plan"));
            thread::spawn(move || {
                let result = (0..50).try_for_each(|_| plan.factorize_into(&from, &to));
                sender.send(result).expect("a test that waits");
            });
        }
        for _ in 0..2 {
            let result = ends.recv_timeout(Duration::from_mins(2)).expect("threads that end");
            result.expect("factors");
        }
        device.synchronize().expect("no fault");
    }
}
