//! Rows wait for rows of other blocks, whatever the order in which blocks run and stores arrive. Only the simulated GPU can choose
//! both.

use evenpath::Device;
use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::triangular::{Triangle, TriangularMethod, TriangularOptions};
use evenpath_tests::vector;

use super::matrices::{scattered, with_entries};
use super::oracle::check;

/// A GPU that runs two blocks at a time.
fn device(seed: u64) -> Device {
    let (block_order, memory_order) = (BlockOrder::Seeded(seed), MemoryOrder::Weak(seed));
    let options = SimulatedOptions::default().with_block_order(block_order).with_memory_order(memory_order);
    Device::simulated(options.with_threads(1).with_resident_blocks(2))
}

/// Every row needs the one before it, so that no block can go on before another.
#[test]
fn blocks_run_in_any_order() {
    let n = 400;
    let chain = with_entries::<f64, u32>(n, (1..n).flat_map(|row| [(row, row - 1), (row - 1, row)]));
    let random = with_entries::<f64, u32>(n, scattered(n, 3000));
    let b: Vec<f64> = vector(n);
    for seed in 0..6 {
        let device = device(seed);
        for a in [&chain, &random] {
            for triangle in Triangle::ALL {
                let options = TriangularOptions::default()
                    .with_triangle(triangle)
                    .with_method(TriangularMethod::Tickets);
                let plan = device.upload(a).expect("upload").plan_triangular_solve(options).expect("a plan");
                let mut x = device.upload(&b).expect("upload");
                plan.solve_in_place(1.0, &mut x).expect("a solution");
                let x = x.download().expect("download");
                check(a, options, 1.0, &b, &x).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
    }
}

/// Elements of one solve are not taken for those of the next.
#[test]
fn words_belong_to_their_solve() {
    let n = 300;
    let a = with_entries::<f64, u32>(n, scattered(n, 2000));
    for seed in 0..4 {
        let device = device(seed);
        let options = TriangularOptions::default().with_method(TriangularMethod::Tickets);
        let plan = device.upload(&a).expect("upload").plan_triangular_solve(options).expect("a plan");
        for solve in 0..5 {
            let b: Vec<f64> = (0..n).map(|row| ((row * 7 + solve * 13) % 29) as f64 - 14.5).collect();
            let mut x = device.upload(&b).expect("upload");
            plan.solve_in_place(1.0, &mut x).expect("a solution");
            let x = x.download().expect("download");
            check(&a, options, 1.0, &b, &x)
                .unwrap_or_else(|error| panic!("seed {seed}, solve {solve}: {error}"));
        }
    }
}
