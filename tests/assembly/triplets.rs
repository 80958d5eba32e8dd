//! Matrices of triplets.

use evenpath::assembly::AssemblyPlan;
use evenpath::coo::Duplicates;
use evenpath::error::{DeviceError, MatrixError, OpError};
use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Coo, Device, DeviceCsr, DeviceVec, Offset, Value};
use evenpath_tests::{device_of_each_kind, devices};
use proptest::prelude::*;

use super::oracle::{Pattern, check};

fn check_pattern<V: Value, O: Offset>(device: &Device, pattern: &Pattern) {
    let ((rows, cols), len) = (pattern.shape, pattern.rows.len());
    let name = format!("{rows} x {cols}, {len} triplets, on {device}");
    let plan: AssemblyPlan<O> = pattern.plan(device, None);
    let matrix = {
        let values = pattern.values::<V>(1);
        let matrix = plan.assemble(&device.upload(&values).expect("memory")).expect(&name);
        let host = matrix.download().expect("a download");
        check(&name, &host, pattern.shape, &pattern.sums(&values, &[]));
        let triplets =
            (0..len).map(|at| (pattern.rows[at] as usize, pattern.columns[at] as usize, values[at]));
        let on_host = Coo::from_triplets(rows, cols, triplets).expect("a matrix");
        assert!(host == on_host.to_csr_with_offsets(Duplicates::Sum).expect("memory"), "{name}: the host's");
        matrix
    };
    let others = pattern.values::<V>(2);
    plan.assemble_into(&device.upload(&others).expect("memory"), &matrix).expect(&name);
    check(&name, &matrix.download().expect("a download"), pattern.shape, &pattern.sums(&others, &[]));
    let info = plan.info().expect("the sizes");
    assert_eq!((info.triplets, info.nnz, plan.nnz()), (len, matrix.nnz(), matrix.nnz()), "{name}");
    assert!(info.workspace_bytes >= 4 * len as u64, "{name}: {info}");
}

#[test]
fn sums_are_in_the_order_of_the_triplets() {
    let sizes = [
        ((0, 0), 0),
        ((0, 5), 0),
        ((5, 0), 0),
        ((4, 7), 0),
        ((1, 1), 1),
        ((1, 1), 700),
        ((3, 2), 257),
        ((2000, 1), 300),
        ((1, 2000), 300),
        ((40, 300), 1500),
        ((u32::MAX as usize >> 8, u32::MAX as usize), 90),
    ];
    for device in devices() {
        for (shape, len) in sizes {
            // The longest of them would have row offsets of 64 MB.
            if shape.0 < 1 << 20 || device.fast {
                let pattern = Pattern::random(shape, len, 1);
                check_pattern::<f64, u32>(&device.device, &pattern);
                check_pattern::<f32, u64>(&device.device, &pattern);
            }
        }
    }
}

#[test]
fn one_term_keeps_its_bits() {
    for device in device_of_each_kind() {
        let pattern = Pattern { shape: (2, 2), rows: vec![1, 0, 1], columns: vec![1, 0, 1] };
        let plan: AssemblyPlan = pattern.plan(&device, None);
        let values = device.upload(&[-0.0, -0.0, -0.0]).expect("memory");
        let sums = plan.assemble(&values).expect("sums").download().expect("a download");
        assert!(sums.values().iter().all(|sum: &f64| sum.to_bits() == (-0.0_f64).to_bits()), "{device}");
    }
}

#[test]
fn parts_of_vectors_are_operands() {
    for device in device_of_each_kind() {
        let pattern = Pattern::random((9, 9), 50, 3);
        let values = pattern.values::<f64>(1);
        let shifted = |indices: &[u32]| device.upload(&[&[7], indices].concat()).expect("memory");
        let (rows, columns) = (shifted(&pattern.rows), shifted(&pattern.columns));
        let (rows, columns) = (rows.slice(1..).expect("a part"), columns.slice(1..).expect("a part"));
        let plan: AssemblyPlan = AssemblyPlan::new(9, 9, &rows, &columns).expect("a plan");
        let own = device.upload(&[&[f64::NAN], &values[..]].concat()).expect("memory");
        let matrix = plan.assemble(&own.slice(1..).expect("a part")).expect("a matrix");
        let name = device.to_string();
        check(&name, &matrix.download().expect("a download"), (9, 9), &pattern.sums(&values, &[]));
    }
}

#[test]
fn plans_of_the_matrix_follow_new_values() {
    for device in device_of_each_kind() {
        let pattern = Pattern::random((30, 30), 200, 5);
        let plan: AssemblyPlan = pattern.plan(&device, None);
        let [first, second] = [1, 2].map(|seed| device.upload(&pattern.values::<f64>(seed)).expect("memory"));
        let (matrix, other) =
            (plan.assemble(&first).expect("a matrix"), plan.assemble(&second).expect("a matrix"));
        let x = device.upload(&[1.0; 30]).expect("memory");
        for method in SpmvTransposedMethod::ALL {
            // One of them multiplies a copy of the transpose.
            let options = SpmvTransposedOptions::default().with_method(method);
            let product = |matrix: &DeviceCsr<f64>| {
                let (plan, mut y) = (matrix.plan_spmv_transposed(options)?, device.zeros(30)?);
                plan.run(1.0, &x, 0.0, &mut y)?;
                Ok::<_, OpError>((plan, y.download()?))
            };
            let (of_matrix, before) = product(&matrix).expect("a product");
            let (_, expected) = product(&other).expect("a product");
            assert!(before != expected, "{method}, {device}");
            plan.assemble_into(&second, &matrix).expect("new values");
            let mut y = device.zeros(30).expect("memory");
            of_matrix.run(1.0, &x, 0.0, &mut y).expect("a product");
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(y.download().expect("a download").iter().zip(&expected).all(close), "{method}, {device}");
            plan.assemble_into(&first, &matrix).expect("new values");
        }
    }
}

#[test]
fn a_graph_assembles_at_each_launch() {
    for device in device_of_each_kind() {
        let pattern = Pattern::random((30, 30), 200, 5);
        let plan: AssemblyPlan = pattern.plan(&device, None);
        let [first, second] = [1, 2].map(|seed| pattern.values::<f64>(seed));
        let matrix = plan.assemble(&device.upload(&first).expect("memory")).expect("a matrix");
        let values = device.upload(&first).expect("memory");
        let assemble = |values: &mut DeviceVec<f64>| plan.assemble_into(values, &matrix);
        let mut graph = device.capture(values, assemble).expect("a graph");
        for values in [&first, &second] {
            graph.state_mut().copy_from_slice(values).expect("a copy");
            graph.launch().expect("a launch");
            let name = device.to_string();
            let found = matrix.download().expect("a download");
            check(&name, &found, (30, 30), &pattern.sums(values, &[]));
        }
    }
}

#[test]
fn triplets_outside_the_matrix_are_named() {
    for device in devices() {
        let device = device.device;
        let mut pattern = Pattern::random((20, 30), 600, 7);
        let plan = |pattern: &Pattern| {
            let rows = device.upload(&pattern.rows).expect("memory");
            let columns = device.upload(&pattern.columns).expect("memory");
            AssemblyPlan::<u32>::new(20, 30, &rows, &columns).map(drop)
        };
        pattern.columns[555] = 30;
        let error = plan(&pattern).expect_err("a column");
        assert!(
            matches!(
                error,
                OpError::Matrix(MatrixError::ColumnOutOfRange { position: 555, column: 30, cols: 30, .. })
            ),
            "{device}: {error}"
        );
        pattern.rows[600 - 1] = u32::MAX;
        assert!(plan(&pattern).expect_err("a column").to_string().contains("position 555"), "{device}");
        pattern.rows[300] = 20;
        let error = plan(&pattern).expect_err("a row");
        let expected = "row 20 at position 300 is out of range: the matrix has 20 rows";
        assert_eq!(error.to_string(), expected, "{device}");
    }
}

#[test]
fn operands_of_other_sizes_are_refused() {
    for device in device_of_each_kind() {
        let pattern = Pattern::random((9, 9), 50, 3);
        let plan: AssemblyPlan = pattern.plan(&device, None);
        let (rows, columns) =
            (device.upload(&[0_u32; 3]).expect("memory"), device.upload(&[0_u32; 2]).expect("memory"));
        let error = AssemblyPlan::<u32>::new(9, 9, &rows, &columns).expect_err("lengths differ");
        assert!(matches!(error, OpError::Length { len: 2, needed: 3, .. }), "{error}");
        let error = AssemblyPlan::<u32>::new(1 << 33, 9, &rows, &rows).expect_err("too many rows");
        assert!(matches!(error, OpError::Matrix(MatrixError::TooManyRows { .. })), "{error}");
        let few = device.zeros::<f64>(49).expect("memory");
        let error = plan.assemble(&few).expect_err("too few values");
        assert!(matches!(error, OpError::Length { len: 49, needed: 50, .. }), "{error}");

        let values = device.upload(&pattern.values::<f64>(1)).expect("memory");
        let matrix = plan.assemble(&values).expect("a matrix");
        let before = matrix.download().expect("a download");
        let equal: AssemblyPlan = pattern.plan(&device, None);
        let other = device.upload(&pattern.values::<f64>(2)).expect("memory");
        assert!(matches!(equal.assemble_into(&other, &matrix), Err(OpError::NotOfPlan)), "{device}");
        assert!(plan.assemble_into(&few, &matrix).is_err(), "{device}");
        let elsewhere = Device::cpu().upload(&pattern.values::<f64>(2)).expect("memory");
        if !device.is_same(elsewhere.device()) {
            let error = plan.assemble_into(&elsewhere, &matrix).expect_err("on another device");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        }
        assert!(matrix.download().expect("a download") == before, "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_triplets((rows, cols) in (1..60_usize, 1..60_usize), len in 0..400_usize, seed in 0..1000_usize) {
        let pattern = Pattern::random((rows, cols), len, seed);
        for device in devices() {
            check_pattern::<f64, u32>(&device.device, &pattern);
        }
    }
}
