//! Batches of matrices with one pattern, on every device.

use evenpath::error::{DeviceError, OpError};
use evenpath::spmv::{SpmvBatchMethod, SpmvBatchOptions};
use evenpath::{Csr, Device, DeviceVec, Factor, Offset, Value};
use evenpath_kernels::spmv_batch::BatchTile;
use evenpath_tests::{
    DeviceUnderTest, devices, odd_row_lengths, spmv as oracle, tile_len, unlike_devices, vector,
    with_row_lengths,
};
use proptest::prelude::*;

/// The values of all matrices.
fn values<V: Value>(batch: usize, nonzeros: usize) -> Vec<V> {
    (0..batch * nonzeros).map(|at| V::from_f64(((at * 31 + 7) % 101) as f64 / 50.0 - 1.0)).collect()
}

/// Runs yₖ = αAₖxₖ + βyₖ by every method, with y filled with NaN if β is zero, and compares each with the oracle.
fn check<V: Value, O: Offset>(device: &Device, pattern: &Csr<V, O>, batch: usize, alpha: f64, beta: f64) {
    for method in SpmvBatchMethod::ALL {
        check_method(device, pattern, batch, (alpha, beta), SpmvBatchOptions::default().with_method(method));
    }
}

fn check_method<V: Value, O: Offset>(
    device: &Device,
    pattern: &Csr<V, O>,
    batch: usize,
    (alpha, beta): (f64, f64),
    options: SpmvBatchOptions,
) {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let (rows, cols, nonzeros) = (pattern.nrows(), pattern.ncols(), pattern.nnz());
    let values: Vec<V> = values(batch, nonzeros);
    let x: Vec<V> = vector(batch * cols);
    let mut y: Vec<V> = vector(batch * rows);
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let plan = device.upload(pattern).expect("upload").plan_spmv_batch(batch, options).expect("a plan");
    let [on_device, device_x] = [&values, &x].map(|operand| device.upload(operand).expect("upload"));
    let mut result = device.upload(&y).expect("upload");
    plan.run(alpha, &on_device, &device_x, beta, &mut result).expect("products");
    let result = result.download().expect("download");
    assert_eq!(plan.info().batch, batch);
    let mut a = pattern.clone();
    for at in 0..batch {
        a.values_mut().copy_from_slice(&values[at * nonzeros..(at + 1) * nonzeros]);
        let (x, y) = (&x[at * cols..(at + 1) * cols], &y[at * rows..(at + 1) * rows]);
        let expected = oracle(&a, alpha, x, beta, y);
        if let Err(difference) = expected.check(&result[at * rows..(at + 1) * rows]) {
            panic!("{plan:?}, matrix {at}, alpha {alpha}, beta {beta}: {difference}");
        }
    }
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            for batch in [0, 1, 2, 5] {
                check(&device, &with_row_lengths::<f64, u32>(cols, &lengths), batch, 1.0, 0.0);
            }
            check(&device, &with_row_lengths::<f32, u64>(cols, &lengths), 3, -0.5, 2.0);
        }
    }
}

/// Matrices around the number that a block multiplies at once, and rows of many lengths.
#[test]
fn batches_around_edges() {
    for DeviceUnderTest { device, .. } in devices() {
        for batch in [3, 4, 7, 8, 9, 33] {
            let lengths: Vec<usize> = (0..20).map(|row| row % 7).collect();
            check(&device, &with_row_lengths::<f64, u32>(30, &lengths), batch, 1.0, 0.5);
        }
        for mean in [1, 3, 4, 9, 17, 40, 70] {
            let lengths: Vec<usize> = (0..9).map(|row| mean + row % 3 - 1).collect();
            check(&device, &with_row_lengths::<f32, u32>(90, &lengths), 5, 2.0, 0.0);
        }
    }
}

/// Rows that tiles cut, with ends at the edges of tiles, and one of many tiles.
#[test]
fn long_rows() {
    let tile = tile_len::<BatchTile<f64, u32>>();
    for DeviceUnderTest { device, .. } in devices() {
        for len in [tile - 2, tile - 1, tile, tile + 1, 2 * tile] {
            check(&device, &with_row_lengths::<f64, u32>(2 * tile, &[0, len, 0, 3]), 3, -1.0, 0.5);
        }
        check(&device, &with_row_lengths::<f32, u64>(1000, &[1000, 2, 140]), 6, 1.0, 0.0);
        check(&device, &with_row_lengths::<f64, u32>(20 * tile, &[5, 20 * tile, 1]), 2, 0.5, 0.0);
        check(&device, &with_row_lengths::<f64, u32>(3, &vec![0; 2 * tile + 1]), 5, 1.0, -2.0);
    }
}

/// A row that ends with a tile leaves the next one nothing, which an infinite factor must not make NaN.
#[test]
fn infinite_factors() {
    let tile = tile_len::<BatchTile<f64, u32>>();
    for DeviceUnderTest { device, .. } in devices() {
        let pattern = device.upload(&with_row_lengths::<f64, u32>(tile, &[tile - 1, 2])).expect("upload");
        let plan = pattern.plan_spmv_batch(2, SpmvBatchOptions::default()).expect("a plan");
        let [values, x] =
            [pattern.nnz(), tile].map(|len| device.upload(&vec![1.0; 2 * len]).expect("upload"));
        let mut y = device.zeros(4).expect("zeros");
        plan.run(f64::INFINITY, &values, &x, 0.0, &mut y).expect("products");
        assert_eq!(y.download().expect("download"), [f64::INFINITY; 4], "{device}");
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    let a: Csr<f32> = with_row_lengths(200, &[3, 150, 0, 17, 400, 20]);
    let bits_on = |device: &Device| -> Vec<u32> {
        let plan = device
            .upload(&a)
            .expect("upload")
            .plan_spmv_batch(5, SpmvBatchOptions::default())
            .expect("a plan");
        let values = device.upload(&values::<f32>(5, a.nnz())).expect("upload");
        let x = device.upload(&vector::<f32>(5 * a.ncols())).expect("upload");
        let mut runs = (0..3).map(|_| {
            let mut y = device.zeros(5 * a.nrows()).expect("zeros");
            plan.run(1.25, &values, &x, 0.0, &mut y).expect("products");
            y.download().expect("download").into_iter().map(f32::to_bits).collect::<Vec<_>>()
        });
        let first = runs.next().expect("a run");
        assert!(runs.all(|run| run == first), "{device}");
        first
    };
    let all: Vec<_> = unlike_devices().iter().map(|under_test| bits_on(&under_test.device)).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    bits_on(&Device::cpu());
}

#[test]
fn parts_of_vectors_and_factors_on_the_device() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&with_row_lengths::<f64, u32>(3, &[2, 0])).expect("upload");
        let plan = a.plan_spmv_batch(2, SpmvBatchOptions::default()).expect("a plan");
        let run = |start: usize, alpha: Factor<'_, f64>| {
            let within = |values: &[f64]| -> DeviceVec<f64> {
                device.upload(&[&vec![9.0; start], values].concat()).expect("upload")
            };
            let (values, x) = (within(&[1.0, 2.0, 3.0, 4.0]), within(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
            let mut y = within(&[1.0; 4]);
            let mut part = y.slice_mut(start..).expect("inside");
            let operands = (values.slice(start..).expect("inside"), x.slice(start..).expect("inside"));
            plan.run(alpha, &operands.0, &operands.1, 1.0, &mut part).expect("products");
            y.download().expect("download").split_off(start)
        };
        let two = device.upload(&[2.0]).expect("upload");
        let whole = run(0, 2.0.into());
        assert_eq!((run(1, 2.0.into()), run(3, (&two).into())), (whole.clone(), whole), "{device}");
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&with_row_lengths::<f64, u32>(5, &[3, 0, 5])).expect("upload");
        let plan = a.plan_spmv_batch(2, SpmvBatchOptions::default()).expect("a plan");
        let of_len = |len: usize| device.upload(&vec![1.0; len]).expect("upload");
        let (values, x, mut y) = (of_len(16), of_len(10), of_len(6));
        let mut refused = |values: &DeviceVec<f64>, x: &DeviceVec<f64>| {
            let error = plan.run(1.0, values, x, 0.0, &mut y).expect_err("refused");
            assert_eq!(y.download().expect("download"), [1.0; 6]);
            error
        };
        let error = refused(&of_len(8), &x);
        assert!(matches!(error, OpError::Length { operand: "values", len: 8, needed: 16 }), "{error}");
        let error = refused(&values, &of_len(11));
        assert!(matches!(error, OpError::Length { operand: "x", len: 11, needed: 10 }), "{error}");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let error = refused(&other.upload(&[1.0; 16]).expect("upload"), &x);
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        let mut long = of_len(7);
        let error = plan.run(1.0, &values, &x, 0.0, &mut long).expect_err("y is long");
        assert!(matches!(error, OpError::Length { operand: "y", len: 7, needed: 6 }), "{error}");
        let error = a.plan_spmv_batch(1 << 32, SpmvBatchOptions::default()).expect_err("too many");
        assert!(matches!(error, OpError::TooLong { what: "a batch", .. }), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_rows(
        lengths in evenpath_tests::row_lengths(400, 12),
        batch in 0..6_usize,
        alpha in -2.0..2.0_f64,
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        for DeviceUnderTest { device, .. } in devices() {
            check(&device, &with_row_lengths::<f64, u32>(100, &lengths), batch, alpha, beta);
        }
    }
}

/// Large matrices go one by one, unless values would have to be copied.
#[test]
fn large_matrices_are_multiplied_one_by_one() {
    for DeviceUnderTest { device, fast } in devices() {
        if !fast {
            continue;
        }
        for (rows, is_large) in [(1 << 20, true), ((1 << 20) - 1, false)] {
            let pattern: Csr<f64> = with_row_lengths(5_000, &vec![5; rows]);
            let plan =
                device.upload(&pattern).unwrap().plan_spmv_batch(2, SpmvBatchOptions::default()).unwrap();
            let is_gpu = device.kind() == evenpath::device::DeviceKind::Cuda(0);
            assert_eq!(plan.info().one_by_one.is_some(), is_large && is_gpu, "{} on {device}", plan.info());
        }
    }
}
