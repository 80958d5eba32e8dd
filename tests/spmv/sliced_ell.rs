//! SpMV with a copy in sliced ELL made by the device: its slots are those of the host's conversion.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::ell::{PaddingLimit, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{check_spmv, kernel_devices, vector, with_row_lengths};

const SLICED: SpmvMethod = SpmvMethod::SlicedEll;
const WINDOW: usize = 512;

/// Multiplies, and compares the bits and the number of slots with the host's conversion.
fn check<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, is_sorted: bool) {
    let result = check_spmv(device, a, SLICED, 1.0, 0.0);
    check_spmv(device, a, SLICED, -0.5, 2.0);
    let scope = if is_sorted { WINDOW } else { 1 };
    let limit = PaddingLimit::Bytes(1 << 30);
    let options = SlicedEllOptions::default().with_sorting_scope(scope).with_limit(limit);
    let host = a.to_sliced_ell(options).expect("a matrix");
    let sliced = device.upload(&host).expect("upload");
    let (x, mut y) =
        (device.upload(&vector::<V>(a.ncols())).expect("upload"), device.zeros(a.nrows()).expect("memory"));
    sliced.spmv(V::ONE, &x, V::ZERO, &mut y).expect("a product");
    assert!(y.download().expect("download") == result, "{device}: {a:?}");
    let matrix = device.upload(a).expect("upload");
    let plan = matrix.plan_spmv(SpmvOptions::default().with_method(SLICED)).expect("a plan");
    let info = plan.info().expect("figures");
    let details = SpmvDetails::SlicedEll { slots: host.values().len() as u64, is_sorted };
    assert_eq!(info.details, Some(details), "{device}: {info}");
}

fn check_types(device: &Device, cols: usize, lengths: &[usize], is_sorted: bool) {
    check::<f32, u32>(device, &with_row_lengths(cols, lengths), is_sorted);
    check::<f64, u32>(device, &with_row_lengths(cols, lengths), is_sorted);
    check::<f32, u64>(device, &with_row_lengths(cols, lengths), is_sorted);
    check::<f64, u64>(device, &with_row_lengths(cols, lengths), is_sorted);
}

#[test]
fn rows_around_slices_and_windows() {
    for device in kernel_devices() {
        for rows in [1, 31, 32, 33, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 40] {
            // All equal; a short last slice is padded in any order.
            check_types(&device.device, 50, &vec![7; rows], false);
        }
        for rows in [WINDOW, WINDOW + 1, 3 * WINDOW - 5] {
            let lengths: Vec<usize> = (0..rows).map(|row| [1, 30, 0, 9, 2][row * 7 % 5]).collect();
            check_types(&device.device, 60, &lengths, true);
        }
    }
}

#[test]
fn empty_and_long_rows() {
    for device in kernel_devices() {
        let device = device.device;
        check_types(&device, 3, &[], false);
        check_types(&device, 3, &[0; 70], false);
        let mut lengths = vec![0; 600];
        (lengths[5], lengths[599]) = (900, 3);
        check_types(&device, 1000, &lengths, false);
    }
}

#[test]
fn too_much_padding_is_refused() {
    for device in kernel_devices() {
        let mut lengths = vec![1; 40_000];
        lengths[9] = 40_000;
        let a = device.device.upload(&with_row_lengths::<f32, u32>(40_000, &lengths)).expect("upload");
        let refused = a.plan_spmv(SpmvOptions::default().with_method(SLICED));
        assert!(matches!(refused, Err(OpError::RowTooLong { len: 40_000, .. })), "{refused:?}");
    }
}

/// The copy follows new values, also under a graph that reads it.
#[test]
fn values_may_change_under_a_graph() {
    for device in kernel_devices() {
        let device = device.device;
        let host: Csr<f64> = with_row_lengths(90, &[5, 0, 7, 30].repeat(50));
        let a = device.upload(&host).expect("upload");
        let plan = a.plan_spmv(SpmvOptions::default().with_method(SLICED)).expect("a plan");
        let x = device.upload(&vector::<f64>(90)).expect("upload");
        let (y, mut z) = (device.zeros(200).expect("memory"), device.zeros(200).expect("memory"));
        let captured = device.capture((plan, y), |(plan, y)| plan.run(1.0, &x, 0.0, y));
        let mut graph = captured.expect("a graph");
        let of = |scale: f64| host.values().iter().map(|value| value * scale).collect::<Vec<_>>();
        let mut first = Vec::new();
        for scale in [1.0, 4.0, 0.5] {
            a.set_values(&of(scale)).expect("as many values");
            graph.state().0.run(1.0, &x, 0.0, &mut z).expect("a product");
            let result = z.download().expect("download");
            if first.is_empty() {
                first.clone_from(&result);
            }
            // Powers of two scale every bit alike.
            let expected: Vec<f64> = first.iter().map(|value| value * scale).collect();
            assert!(result == expected, "{device}, {scale}");
            graph.launch().expect("a launch");
            assert!(graph.state().1.download().expect("download") == expected, "{device}, {scale}");
        }
    }
}

#[test]
fn the_cpu_has_no_copies() {
    let a = Device::cpu().upload(&with_row_lengths::<f64, u32>(9, &[3; 5])).expect("upload");
    let refused = a.plan_spmv(SpmvOptions::default().with_method(SLICED));
    assert!(matches!(refused, Err(OpError::UnsupportedMethod { .. })) && !SLICED.runs_on(DeviceKind::Cpu));
}

/// Rows of 40 nonzeros, except for one of `longest`, in scattered columns of 400 KB of x.
fn scattered(longest: usize) -> Csr<f32> {
    const COLS: usize = 100_000;
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..31_000_usize {
        let len = if row == 777 { longest } else { 40 };
        columns.extend((0..len).map(|place| ((row * 40 + place) * 2_654_435_761 % 1_000_003 % COLS) as u32));
        offsets.push(columns.len() as u32);
    }
    let values = vec![1.0; columns.len()];
    Csr::try_new(offsets.len() - 1, COLS, offsets, columns, values).expect("a matrix")
}

#[test]
fn it_is_chosen_for_rows_of_equal_length_and_scattered_columns() {
    let device = Device::simulated(SimulatedOptions::default().with_multiprocessors(4));
    let method = |a: &Csr<f32>, options: SpmvOptions| {
        let a = device.upload(a).expect("upload");
        a.plan_spmv(options).expect("a plan").info().expect("figures").method
    };
    let may_copy = SpmvOptions::default().with_may_copy(true);
    assert_eq!(method(&scattered(80), may_copy), SLICED);
    assert_ne!(method(&scattered(80), SpmvOptions::default()), SLICED);
    assert_ne!(method(&scattered(81), may_copy), SLICED);
    // Each thread of many multiprocessors would have less than one row.
    let device = Device::simulated(SimulatedOptions::default().with_multiprocessors(1000));
    let a = device.upload(&scattered(80)).expect("upload");
    let info = a.plan_spmv(may_copy).expect("a plan").info().expect("figures");
    assert_ne!(info.method, SLICED);
}
