//! Stores between blocks arrive late; results must not depend on the delay. Only the simulated GPU can delay
//! stores, differently for each seed.

use evenpath::device::{DeviceKind, MemoryOrder, SimulatedOptions};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, hisparse};
use evenpath_kernels::spmv::FlatCompactRows;
use evenpath_tests::{tile_len, with_row_lengths};

/// Integers whose multiples are exact and occupy both words of an f64.
const FACTORS: [f64; 5] = [1_000_003.0, 2_000_029.0, 3_000_017.0, 4_000_037.0, 5_000_011.0];

fn device(seed: u64) -> Device {
    Device::simulated(SimulatedOptions::default().with_memory_order(MemoryOrder::Weak(seed)))
}

/// A matrix of ones with rows of these lengths. Sums of integers are exact.
fn ones(cols: usize, lengths: &[usize]) -> Csr<f64> {
    let a: Csr<f64> = with_row_lengths(cols, lengths);
    let (offsets, columns, values) = (a.row_offsets(), a.column_indices(), vec![1.0; a.nnz()]);
    Csr::try_new(a.nrows(), cols, offsets.to_vec(), columns.to_vec(), values).expect("the same pattern")
}

/// The prefix of a tile is published after its count, and may be late for many tiles: their counts alone must suffice.
#[test]
fn rows_are_numbered_from_counts_alone() {
    let blocks = 70;
    let rows = blocks * tile_len::<FlatCompactRows<u32>>();
    let lengths: Vec<usize> = (0..rows).map(|row| usize::from(row % 3 == 0)).collect();
    let a = ones(1, &lengths);
    let expected: Vec<f64> = lengths.iter().map(|&length| length as f64).collect();
    for seed in 0..8 {
        let matrix = device(seed).upload(&a).expect("upload");
        for _ in 0..2 {
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::Flat)).expect("plan");
            let x = matrix.device().upload(&[1.0]).expect("upload");
            let mut y = matrix.device().upload(&vec![f64::NAN; rows]).expect("upload");
            plan.run(1.0, &x, 0.0, &mut y).expect("run");
            assert!(y.download().expect("download") == expected, "seed {seed}");
        }
    }
}

/// Partial sums of one run are not mistaken for those of the next one.
#[test]
fn parts_of_cut_rows_belong_to_their_run() {
    let lengths = [3, 9000, 0, 1, 12_000, 5];
    let a = ones(40, &lengths);
    for seed in 0..6 {
        let device = device(seed);
        let matrix = device.upload(&a).expect("upload");
        let mut y = device.zeros(lengths.len()).expect("zeros");
        for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(DeviceKind::Simulated)) {
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
            for factor in FACTORS {
                let x = device.upload(&[factor; 40]).expect("upload");
                plan.run(1.0, &x, 0.0, &mut y).expect("run");
                let expected = lengths.map(|length| length as f64 * factor);
                assert_eq!(y.download().expect("download"), expected, "seed {seed}, {method}");
            }
        }
    }
}

/// The same for rows that are split among the leaves of a tree.
#[test]
fn parts_of_leaves_belong_to_their_run() {
    let (rows, cols) = (40, 6000);
    let a = ones(cols, &vec![4000; rows]).to_hisparse::<32>(hisparse::Options::default()).expect("a tree");
    for seed in 0..6 {
        let device = device(seed);
        let matrix = device.upload(&a).expect("upload");
        let options = hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves);
        let plan = matrix.plan_spmv(options).expect("plan");
        let mut y = device.zeros(rows).expect("zeros");
        for factor in FACTORS {
            let x = device.upload(&vec![factor; cols]).expect("upload");
            plan.run(1.0, &x, 0.0, &mut y).expect("run");
            assert_eq!(y.download().expect("download"), vec![4000.0 * factor; rows], "seed {seed}");
        }
    }
}
