//! The transpose of a sparse matrix times a dense vector, and the transpose itself, on every device.

use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spmv::AddTransposed;
use evenpath_tests::{Expected, devices, spmv as oracle, tile_len, vector};
use proptest::prelude::*;

/// A matrix with rows of the given lengths, columns spread over `cols`, without duplicates, which transposing would sum.
fn with_row_lengths<V: Value, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let triplets = lengths.iter().enumerate().flat_map(|(row, &len)| {
        (0..len)
            .map(move |i| (row, i * cols / len, V::from_f64(((row * 31 + i * 17) % 101) as f64 / 50.0 - 1.0)))
    });
    Csr::from_triplets(lengths.len(), cols, triplets)
        .expect("a valid matrix")
        .try_into_offsets()
        .expect("few entries")
}

/// The expected product, with the matrix of swapped triplets, independent of the library's transpose.
fn expected<V: Value, O: Offset>(a: &Csr<V, O>, alpha: V, x: &[V], beta: V, y: &[V]) -> Expected {
    let turned = a.iter().map(|(row, col, value)| (col, row, value));
    let turned = Csr::from_triplets(a.ncols(), a.nrows(), turned).expect("a valid matrix");
    oracle(&turned, alpha, x, beta, y)
}

fn plan<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    method: SpmvTransposedMethod,
) -> SpmvTransposedPlan<V, O> {
    let matrix = device.upload(a).expect("upload");
    matrix.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method)).expect("plan")
}

/// Runs y = αAᵀx + βy on a device by every method, with y filled with NaN if β is zero, and compares with the oracle.
fn check_on<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, alpha: f64, beta: f64) {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(a.nrows());
    let mut y: Vec<V> = vector(a.ncols());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let expected = expected(a, alpha, &x, beta, &y);
    let x = device.upload(&x).expect("upload");
    for method in SpmvTransposedMethod::ALL {
        let mut device_y = device.upload(&y).expect("upload");
        let plan = plan(device, a, method);
        plan.run(alpha, &x, beta, &mut device_y).expect("run");
        if let Err(difference) = expected.check(&device_y.download().expect("download")) {
            panic!("{device}, {plan:?}, alpha {alpha}, beta {beta}: {difference}");
        }
    }
}

fn check_types(device: &Device, cols: usize, lengths: &[usize]) {
    check_on(device, &with_row_lengths::<f32, u32>(cols, lengths), 1.0, 0.0);
    check_on(device, &with_row_lengths::<f64, u32>(cols, lengths), -0.5, 1.0);
    check_on(device, &with_row_lengths::<f32, u64>(cols, lengths), 2.0, -0.25);
    check_on(device, &with_row_lengths::<f64, u64>(cols, lengths), 0.0, 3.0);
    check_transpose::<f64, u64>(device, &with_row_lengths(cols, lengths));
}

/// The transpose, entry by entry: sorted by row and column, duplicates in the order of the matrix.
fn check_transpose<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>) {
    let transpose = device.upload(a).expect("upload").transpose().expect("transpose");
    let transpose = transpose.download().expect("download");
    assert_eq!(transpose.shape(), (a.ncols(), a.nrows()), "{device}");
    let mut turned: Vec<_> = a.iter().map(|(row, col, value)| (col, row, value)).collect();
    turned.sort_by_key(|&(row, col, _)| (row, col));
    assert!(transpose.iter().eq(turned), "{device}, {a:?}");
    let valid = Csr::<V, O>::try_new(
        transpose.nrows(),
        transpose.ncols(),
        transpose.row_offsets().to_vec(),
        transpose.column_indices().to_vec(),
        transpose.values().to_vec(),
    );
    assert!(valid.is_ok(), "{device}, {a:?}");
}

#[test]
fn odd_shapes() {
    for under_test in devices() {
        let device = &under_test.device;
        check_types(device, 0, &[]);
        check_types(device, 5, &[]);
        check_types(device, 0, &[0; 7]);
        check_types(device, 5, &[0; 2000]);
        check_types(device, 1, &[1]);
        check_types(device, 4, &[0, 3, 0, 0, 4, 1, 0]);
        check_types(device, 3000, &[3000]);
        check_types(device, 1, &vec![1; 3000]);
        check_types(device, 9000, &[1, 9000, 0, 2, 7000]);
    }
}

/// Numbers of row ends plus nonzeros around those at which one more tile starts.
#[test]
fn sizes_around_tile_edges() {
    let tile = tile_len::<AddTransposed<f64, u32>>();
    for under_test in devices() {
        let device = &under_test.device;
        for items in [tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1] {
            check_on(device, &with_row_lengths::<f64, u32>(items, &[items - 1]), 1.0, 0.0);
            check_on(device, &with_row_lengths::<f64, u32>(9, &vec![0; items]), 1.0, 0.5);
            let half = items / 2;
            check_on(device, &with_row_lengths::<f64, u32>(70, &[half, items - half - 2]), 1.0, 2.0);
            check_on(device, &with_row_lengths::<f32, u32>(items, &vec![1; half]), 1.0, 2.0);
        }
    }
}

/// Columns whose distance is a multiple of the cache's size compete for one slot; then all threads add to the
/// same column.
#[test]
fn columns_compete_for_cache_slots() {
    for under_test in devices() {
        let device = &under_test.device;
        let apart = 1 << 13;
        let strided = (0..40).flat_map(|row| (0..60).map(move |i| (row, i * apart, 0.5 + row as f64)));
        check_on(device, &Csr::<f64>::from_triplets(40, 60 * apart, strided).expect("a matrix"), 1.0, 0.0);
        let duplicates = (0..5000).map(|i| (i / 2000, 3, f64::from(i as u32 % 7) - 2.5));
        let duplicates = Csr::<f64>::from_triplets(3, 4, duplicates).expect("a matrix");
        check_on(device, &duplicates, 1.0, 1.0);
        check_transpose(device, &duplicates);
    }
}

#[test]
fn generated_matrices() {
    for under_test in devices() {
        let kinds = if under_test.fast {
            ["stencil5:300", "fem:60000", "power-law:50000", "uniform:20000", "empty-rows:100000", "rmat:15"]
        } else {
            ["stencil5:30", "fem:200", "power-law:1000", "uniform:700", "empty-rows:3000", "rmat:8"]
        };
        for kind in kinds {
            let kind: Kind = kind.parse().expect("a kind");
            let a: Csr<f64> = generate(kind, 1).expect("a matrix");
            check_on(&under_test.device, &a, 1.0, 0.0);
            check_transpose(&under_test.device, &a);
            let a: Csr<f32, u64> = generate(kind, 2).expect("a matrix");
            check_on(&under_test.device, &a, -1.5, 0.75);
        }
    }
}

/// Zero factors do not hide NaN. If beta is zero, y is not read.
#[test]
fn nan_propagates() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> =
            Csr::from_triplets(2, 4, [(0, 0, 1.0), (1, 1, 1.0), (0, 2, f64::NAN)]).expect("a matrix");
        let x = device.upload(&[2.0, f64::INFINITY]).expect("upload");
        for method in SpmvTransposedMethod::ALL {
            let plan = plan(device, &a, method);
            let run = |alpha, beta, y: [f64; 4]| {
                let mut y = device.upload(&y).expect("upload");
                plan.run(alpha, &x, beta, &mut y).expect("run");
                // All NaNs are equal.
                y.download()
                    .expect("download")
                    .into_iter()
                    .map(|y| (!y.is_nan()).then_some(y))
                    .collect::<Vec<_>>()
            };
            let inf = Some(f64::INFINITY);
            assert_eq!(run(1.0, 0.0, [f64::NAN; 4]), [Some(2.0), inf, None, Some(0.0)], "{device}, {method}");
            assert_eq!(
                run(0.0, 0.0, [f64::NAN; 4]),
                [Some(0.0), None, None, Some(0.0)],
                "{device}, {method}"
            );
            assert_eq!(run(0.0, 3.0, [2.0; 4]), [Some(6.0), None, None, Some(6.0)], "{device}, {method}");
            assert_eq!(
                run(1.0, 1.0, [4.0, 1.0, 1.0, f64::NAN]),
                [Some(6.0), inf, None, None],
                "{device}, {method}"
            );
            assert_eq!(run(1.0, -0.0, [f64::NAN; 4])[3], Some(0.0), "{device}, {method}");
        }
    }
}

/// Every method that is documented as ordered; on the CPU all methods.
#[test]
fn results_are_bitwise_repeatable() {
    for under_test in devices() {
        let device = &under_test.device;
        let size = if under_test.fast { 200_000 } else { 2_000 };
        let a: Csr<f32> =
            generate(format!("power-law:{size}").parse().expect("a kind"), 3).expect("a matrix");
        let x = device.upload(&vector::<f32>(a.nrows())).expect("upload");
        for method in SpmvTransposedMethod::ALL {
            if method == SpmvTransposedMethod::Unordered && device.kind() != DeviceKind::Cpu {
                continue;
            }
            let plan = plan(device, &a, method);
            let runs: Vec<Vec<u32>> = (0..3)
                .map(|_| {
                    let mut y = device.zeros(a.ncols()).expect("zeros");
                    plan.run(1.25, &x, 0.0, &mut y).expect("run");
                    y.download().expect("download").into_iter().map(f32::to_bits).collect()
                })
                .collect();
            assert!(runs.iter().all(|run| run == &runs[0]), "{device}, {method}");
        }
    }
}

#[test]
fn values_may_change_under_a_plan() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> =
            Csr::from_triplets(3, 2, [(0, 0, 5.0), (0, 1, 6.0), (2, 0, 7.0), (2, 1, 8.0)]).expect("a matrix");
        let x = device.upload(&[1.0, 10.0, 100.0]).expect("upload");
        for method in SpmvTransposedMethod::ALL {
            let matrix = device.upload(&a).expect("upload");
            let plan = matrix
                .plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method))
                .expect("plan");
            let run = || {
                let mut y = device.zeros(2).expect("zeros");
                plan.run(1.0, &x, 0.0, &mut y).expect("run");
                y.download().expect("download")
            };
            assert_eq!(run(), [705.0, 806.0], "{device}, {method}");
            matrix.set_values(&[1.0, 2.0, 3.0, 4.0]).expect("as many values as nonzeros");
            assert_eq!(run(), [301.0, 402.0], "{device}, {method}");
            assert_eq!(run(), [301.0, 402.0], "{device}, {method}");
            let ones = device.upload(&[1.0; 4]).expect("upload");
            matrix.set_values_from(&ones).expect("same device and length");
            assert_eq!(run(), [101.0, 101.0], "{device}, {method}");
        }
    }
}

/// A transpose has separate values.
#[test]
fn a_transpose_keeps_its_values() {
    for under_test in devices() {
        let a: Csr<f64> = Csr::from_triplets(1, 2, [(0, 0, 5.0), (0, 1, 6.0)]).expect("a matrix");
        let matrix = under_test.device.upload(&a).expect("upload");
        let transpose = matrix.transpose().expect("transpose");
        matrix.set_values(&[0.0; 2]).expect("as many values as nonzeros");
        assert_eq!(transpose.download().expect("download").values(), [5.0, 6.0]);
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        for method in SpmvTransposedMethod::ALL {
            let plan = plan(device, &a, method);
            let x = device.upload(&[1.0; 3]).expect("upload");
            let mut y = device.upload(&[7.0; 5]).expect("upload");
            let long = device.upload(&[1.0; 5]).expect("upload");
            let error = plan.run(1.0, &long, 0.0, &mut y).expect_err("x is long");
            assert!(matches!(error, OpError::Length { operand: "x", len: 5, needed: 3 }), "{error}");
            let mut short = device.upload(&[7.0; 3]).expect("upload");
            let error = plan.run(1.0, &x, 0.0, &mut short).expect_err("y is short");
            assert!(matches!(error, OpError::Length { operand: "y", .. }), "{error}");
            assert_eq!(short.download().expect("download"), [7.0; 3]);
            let other = Device::simulated(evenpath::device::SimulatedOptions::default());
            let elsewhere = other.upload(&[1.0; 3]).expect("upload");
            let error = plan.run(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
            assert_eq!(y.download().expect("download"), [7.0; 5]);
        }
    }
}

/// A run without enough memory leaves y unchanged, and the plan usable.
#[test]
fn without_memory_nothing_is_written() {
    for under_test in evenpath_tests::kernel_devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(500, &[400; 10]);
        let plan = plan(device, &a, SpmvTransposedMethod::Ordered);
        let info = plan.info().expect("info");
        let x = device.upload(&[1.0; 10]).expect("upload");
        let mut y = device.upload(&[7.0; 500]).expect("upload");
        let in_use = device.memory().expect("memory").in_use;
        // Down to a limit that does not even fit the products.
        for bytes in [info.run_bytes - 1, info.run_bytes / 2, 0] {
            device.set_memory_limit(Some(in_use + bytes));
            let error = plan.run(1.0, &x, 1.0, &mut y).expect_err("no memory");
            assert!(matches!(error, OpError::Device(DeviceError::MemoryLimit { .. })), "{error}");
        }
        device.set_memory_limit(Some(in_use + info.run_bytes));
        assert_eq!(y.download().expect("download"), [7.0; 500]);
        plan.run(1.0, &x, 0.0, &mut y).expect("as much memory as the plan reports");
        device.set_memory_limit(None);
        assert_eq!(device.memory().expect("memory").in_use, in_use);
    }
}

#[test]
fn a_plan_reports_its_costs() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f32> = generate("stencil5:40".parse().expect("a kind"), 0).expect("a matrix");
        for method in SpmvTransposedMethod::ALL {
            let matrix = device.upload(&a).expect("upload");
            let before = device.memory().expect("memory").in_use;
            let plan = matrix
                .plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method))
                .expect("plan");
            let info = plan.info().expect("info");
            assert_eq!(info.method, method);
            assert!(info.analysis_ms >= 0.0 && info.to_string().starts_with(&method.to_string()), "{info}");
            let held = device.memory().expect("memory").in_use - before;
            assert_eq!(info.workspace_bytes, held, "{device}, {info}");
        }
    }
}

#[test]
fn methods_have_names() {
    for method in SpmvTransposedMethod::ALL {
        assert_eq!(method.to_string().parse(), Ok(method));
    }
    let error = "sideways".parse::<SpmvTransposedMethod>().expect_err("no method");
    assert_eq!(
        error.to_string(),
        "unknown method of SpMV with the transpose `sideways`; known names are ordered, unordered, copied"
    );
}

/// Rows of many lengths: mostly short, some empty, some longer than a tile.
fn row_lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![3 => Just(0_usize), 6 => 1..6_usize, 2 => 6..60_usize, 1 => 800..2500_usize];
    prop::collection::vec(length, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_rows(
        lengths in row_lengths(),
        cols in prop_oneof![1..5_usize, 100..5000_usize],
        alpha in -2.0..2.0_f64,
        beta in prop_oneof![Just(0.0), -2.0..2.0_f64],
    ) {
        for under_test in devices() {
            check_on(&under_test.device, &with_row_lengths::<f64, u32>(cols, &lengths), alpha, beta);
            check_on(&under_test.device, &with_row_lengths::<f32, u64>(cols, &lengths), alpha, beta);
        }
    }
}
