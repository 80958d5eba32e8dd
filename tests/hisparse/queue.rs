//! SpMV with HiSparse matrices by the queue scheduler. Values are small integers: sums are exact in any order, and any
//! difference is an error.

use evenpath::device::{BlockOrder, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, HiSparse, Value};
use evenpath_tests::{Entries, devices, kernel_devices, scattered_squares};
use proptest::prelude::*;

/// A matrix, given by its entries.
#[derive(Debug, Clone)]
struct Matrix {
    rows: usize,
    cols: usize,
    entries: Entries,
}

impl Matrix {
    fn new(rows: usize, cols: usize, places: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let entries: std::collections::BTreeSet<(usize, usize)> = places.into_iter().collect();
        let value = |(at, (row, col))| (row, col, (at % 7) as f64 - 3.0);
        Self { rows, cols, entries: entries.into_iter().enumerate().map(value).collect() }
    }

    fn tree<V: Value, const D: usize>(&self, options: hisparse::Options) -> HiSparse<V, D> {
        let number = |value: f64| (0..value.abs() as usize).map(|_| V::ONE).sum::<V>();
        let entries = self
            .entries
            .iter()
            .map(|&(row, col, value)| (row, col, if value < 0.0 { -number(value) } else { number(value) }));
        let csr: Csr<V> = Csr::from_triplets(self.rows, self.cols, entries).unwrap();
        csr.to_hisparse(options).unwrap()
    }
}

fn capacity(places: u32) -> hisparse::QueuedOptions {
    let mut options = hisparse::QueuedOptions::default();
    options.capacity = Some(places);
    options
}

fn blocks(blocks: u32) -> hisparse::QueuedOptions {
    let mut options = hisparse::QueuedOptions::default();
    options.blocks = Some(blocks);
    options
}

/// Runs y = 2·(−3·A)·x + βy and with the transpose, several times with the same queues.
fn check<V: Value, const D: usize>(
    matrix: &Matrix,
    tree: &HiSparse<V, D>,
    device: &Device,
    options: hisparse::QueuedOptions,
) {
    let number = |value: i64| {
        let one = if value < 0 { -V::ONE } else { V::ONE };
        (0..value.abs()).map(|_| one).sum::<V>()
    };
    let uploaded: DeviceHiSparse<V, D> = device.upload(tree).unwrap();
    for is_transposed in [false, true] {
        let a = if is_transposed {
            uploaded.scaled(number(-1)).transpose().scaled(number(3))
        } else {
            uploaded.transpose().scaled(number(-3)).transpose()
        };
        let mut y: Vec<i64> = (0..a.nrows()).map(|at| (at % 5) as i64).collect();
        let x: Vec<i64> = (0..a.ncols()).map(|at| (at % 13) as i64 - 6).collect();
        let vector = |from: &[i64]| -> Vec<V> { from.iter().map(|&value| number(value)).collect() };
        let queued = a.plan_spmv_queued(options).unwrap();
        let device_x = device.upload(&vector(&x)).unwrap();
        // If beta is 0, NaN in y does not propagate.
        let nan = V::from_bits(u64::MAX);
        let mut device_y = device.upload(&vec![nan; y.len()]).unwrap();
        for (run, beta) in [0, -1, 1].into_iter().enumerate() {
            let mut sums = vec![0; y.len()];
            for &(row, col, value) in &matrix.entries {
                let (row, col) = if is_transposed { (col, row) } else { (row, col) };
                sums[row] += value as i64 * x[col];
            }
            y = if beta == 0 { vec![0; y.len()] } else { y };
            for (y, sum) in y.iter_mut().zip(sums) {
                *y = 2 * -3 * sum + beta * *y;
            }
            queued.run(number(2), &device_x, number(beta), &mut device_y).unwrap();
            let result = device_y.download().unwrap();
            assert_eq!(result, vector(&y), "run {run}, transposed {is_transposed}, {queued:?}");
        }
    }
}

fn check_all_ways<const D: usize>(matrix: &Matrix, device: &Device, options: hisparse::QueuedOptions) {
    check::<f32, D>(matrix, &matrix.tree(hisparse::Options::default()), device, options);
    check::<f64, D>(matrix, &matrix.tree(hisparse::Options::default().with_share(true)), device, options);
}

fn check_all_sizes(matrix: &Matrix, device: &Device, options: hisparse::QueuedOptions) {
    check_all_ways::<32>(matrix, device, options);
    check_all_ways::<64>(matrix, device, options);
    check_all_ways::<128>(matrix, device, options);
    check_all_ways::<256>(matrix, device, options);
}

/// Every kind of node above and below every other: leaves of 1, 2, 3, 8, 9, 32, 33, 128, 129 and more
/// entries, dense ones, and inner nodes with 1, 2, 3, 8, 9, 32, 33, 128, 129 and more children, including a
/// dense one.
fn mixed() -> Matrix {
    let side = 40_000;
    let mut places = Vec::new();
    // Leaves of 32 x 32 with these numbers of entries, up to all 1024.
    for (at, count) in
        [1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 127, 128, 129, 300, 660, 700, 1024].into_iter().enumerate()
    {
        let (row, col) = (3000 + 32 * at, 9000 + 32 * (at * at % 17));
        places.extend((0..count).map(|entry| (row + entry * 7 % 32, col + entry * 7 / 32 % 32)));
    }
    // Nodes of 1024 x 1024 with this many leaves of one entry.
    for (at, count) in [1, 2, 3, 8, 9, 32, 33, 127, 128, 129, 260, 1024].into_iter().enumerate() {
        let (row, col) = (1024 * (5 + at), 1024 * (30 - at));
        places.extend(
            (0..count).map(|leaf| (row + leaf * 5 % 32 * 32 + at, col + leaf * 5 / 32 % 32 * 32 + leaf % 9)),
        );
    }
    Matrix::new(side, side + 9, places)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn products_equal_those_of_the_entries(
        (rows, cols, entries) in scattered_squares(1000..70_000, 40..70),
        seed in any::<u64>(),
        capacity in prop_oneof![Just(None), (0..4_u32).prop_map(Some), (0..60_u32).prop_map(Some)],
        blocks in prop_oneof![Just(None), (1..12_u32).prop_map(Some)],
        (threads, resident_blocks) in (1..3_usize, 1..5_usize),
    ) {
        let matrix = Matrix::new(rows, cols, entries.into_iter().map(|(row, col, _)| (row, col)));
        let simulated = SimulatedOptions::default().with_block_order(BlockOrder::Seeded(seed)).with_threads(threads).with_resident_blocks(resident_blocks);
        let mut options = hisparse::QueuedOptions::default();
        options.capacity = capacity;
        options.blocks = blocks;
        check_all_sizes(&matrix, &Device::simulated(simulated), options);
        for device in devices() {
            if device.fast {
                check_all_sizes(&matrix, &device.device, options);
            }
        }
    }
}

#[test]
fn every_mix_of_nodes() {
    let matrix = mixed();
    for device in devices() {
        check_all_sizes(&matrix, &device.device, hisparse::QueuedOptions::default());
    }
}

/// Queues of any size give the same product: a block that finds no room does the work itself.
#[test]
fn queues_may_overflow() {
    let matrix = mixed();
    for device in kernel_devices() {
        for places in [0, 1, 2, 5, 17] {
            check_all_ways::<32>(&matrix, &device.device, capacity(places));
        }
        check_all_ways::<64>(&matrix, &device.device, capacity(0));
        check_all_ways::<128>(&matrix, &device.device, capacity(3));
    }
}

/// A grid of any size, with any number of its blocks running at once.
#[test]
fn any_number_of_blocks_works() {
    let matrix = mixed();
    for seed in 0..4 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_threads(1)
            .with_resident_blocks(1);
        check_all_ways::<32>(&matrix, &Device::simulated(options), blocks(1 + 8 * seed as u32));
    }
    for device in kernel_devices() {
        for count in [0, 1, 3, 40] {
            check_all_ways::<32>(&matrix, &device.device, blocks(count));
        }
    }
}

/// Roots with as many inner children as a block has threads, more, and the maximum number.
#[test]
fn roots_of_many_inner_children() {
    for children in [127, 128, 129, 500, 1024] {
        // Squares of 1024 x 1024, some with several leaves of 32 x 32.
        let square = |at: usize| (1024 * (at * 7 % 32), 1024 * (at * 7 / 32 % 32));
        let places = (0..children).flat_map(|at| {
            let (row, col) = square(at);
            (0..=at % 3).map(move |leaf| (row + 300 * leaf + at % 32, col + 5 * leaf + at % 29))
        });
        let matrix = Matrix::new(32_768, 32_768, places);
        for device in devices() {
            check_all_ways::<32>(&matrix, &device.device, hisparse::QueuedOptions::default());
            check_all_ways::<32>(&matrix, &device.device, blocks(3));
        }
    }
}

/// Trees of up to seven levels.
#[test]
fn deep_trees() {
    let corners = |last: usize, middle: usize| {
        [
            (0, 0),
            (0, last),
            (last, 0),
            (last, last),
            (middle, middle),
            (middle, middle + 1),
            (middle + 40, last),
        ]
    };
    for device in devices() {
        if device.device.kind() == evenpath::device::DeviceKind::Cpu {
            // Its vectors would take gigabytes.
            continue;
        }
        let matrix = Matrix::new(1_100_000, 1_100_000, corners(1_099_999, 1_034_567));
        for places in [0, 100] {
            check_all_ways::<32>(&matrix, &device.device, capacity(places));
        }
    }
}

#[test]
fn empty_matrices_scale_y() {
    for device in devices() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0), (300, 40)] {
            check_all_sizes(&Matrix::new(rows, cols, []), &device.device, hisparse::QueuedOptions::default());
        }
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let matrix = Matrix::new(40, 50, [(3, 4), (39, 49)]);
    for device in devices() {
        let device = device.device;
        let a = device.upload(&matrix.tree::<f32, 32>(hisparse::Options::default())).unwrap();
        let (x, mut y) = (device.zeros(50).unwrap(), device.upload(&[7.0; 40]).unwrap());
        let refused = a
            .transpose()
            .plan_spmv_queued(hisparse::QueuedOptions::default())
            .unwrap()
            .run(1.0, &x, 0.0, &mut y);
        assert!(matches!(refused, Err(OpError::Length { operand: "x", len: 50, needed: 40 })));
        let queued = a.plan_spmv_queued(hisparse::QueuedOptions::default()).unwrap();
        assert!(queued.run(1.0, &device.zeros(49).unwrap(), 0.0, &mut y).is_err());
        let elsewhere = Device::simulated(SimulatedOptions::default()).zeros(50).unwrap();
        assert!(matches!(queued.run(1.0, &elsewhere, 0.0, &mut y), Err(OpError::Device(_))));
        assert_eq!(y.download().unwrap(), [7.0; 40]);
    }
}

/// Entries that are not stored are not multiplied.
#[test]
fn absent_entries_are_not_multiplied_by_infinity() {
    // A leaf that is full except for one entry, and a stored zero.
    let places = (0..1024).map(|at| (at / 32, at % 32)).filter(|&place| place != (5, 6));
    let matrix = Matrix::new(32, 32, places);
    for device in devices() {
        let device = device.device;
        let a = device.upload(&matrix.tree::<f64, 32>(hisparse::Options::default())).unwrap();
        let mut x = vec![0.0; 32];
        x[6] = f64::INFINITY;
        let (x, mut y) = (device.upload(&x).unwrap(), device.zeros(32).unwrap());
        a.plan_spmv_queued(hisparse::QueuedOptions::default()).unwrap().run(1.0, &x, 0.0, &mut y).unwrap();
        let y = y.download().unwrap();
        assert_eq!(y[5].to_bits(), 0);
        let meets = |&&(_, col, _): &&(usize, usize, f64)| col == 6;
        for &(row, _, value) in matrix.entries.iter().filter(meets) {
            assert!(if value == 0.0 {
                y[row].is_nan()
            } else {
                y[row].to_bits() == (value * f64::INFINITY).to_bits()
            });
        }
    }
}
