//! Sparse matrix times dense vector, on every device.

use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spmv::MergeTile;
use evenpath_tests::{
    DeviceUnderTest, check_spmv, devices, kernel_devices, tile_len, unlike_devices, vector, with_row_lengths,
};
use proptest::prelude::*;

/// Checks y = αAx + βy by merge path, whose tiles determine the sizes here, and by the method that the plan
/// chooses. Returns the latter's result.
fn check_on<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, alpha: f64, beta: f64) -> Vec<V> {
    check_spmv(device, a, SpmvMethod::MergePath, alpha, beta);
    check_spmv(device, a, SpmvMethod::Auto, alpha, beta)
}

/// The methods of a device, `auto` first.
fn methods(device: &Device) -> impl Iterator<Item = SpmvMethod> {
    let kind = device.kind();
    SpmvMethod::ALL.into_iter().filter(move |method| method.runs_on(kind))
}

fn check_types(device: &Device, cols: usize, lengths: &[usize]) {
    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (2.0, -0.25), (0.0, 3.0)] {
        check_on(device, &with_row_lengths::<f32, u32>(cols, lengths), alpha, beta);
        check_on(device, &with_row_lengths::<f64, u32>(cols, lengths), alpha, beta);
    }
    check_on(device, &with_row_lengths::<f32, u64>(cols, lengths), 1.0, 0.5);
    check_on(device, &with_row_lengths::<f64, u64>(cols, lengths), 1.0, 0.5);
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
        check_types(device, 20_000, &[1, 20_000, 0, 2, 20_000]);
    }
}

/// Numbers of row ends plus nonzeros around those at which one more tile, or one more thread, starts.
#[test]
fn sizes_around_tile_edges() {
    let tile = tile_len::<MergeTile<f64, f64, u32>>();
    for under_test in devices() {
        for items in [6, 7, 8, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1] {
            check_on(&under_test.device, &with_row_lengths::<f64, u32>(items, &[items - 1]), 1.0, 0.0);
            check_on(&under_test.device, &with_row_lengths::<f64, u32>(9, &vec![0; items]), 1.0, 0.0);
            let half = items / 2;
            check_on(
                &under_test.device,
                &with_row_lengths::<f64, u32>(items, &[half, items - half - 2]),
                1.0,
                2.0,
            );
            check_on(&under_test.device, &with_row_lengths::<f32, u32>(items, &vec![1; half]), 1.0, 2.0);
        }
    }
}

/// Rows so long that the carries of many tiles are added to one row, by one thread and by a block.
#[test]
fn rows_over_many_tiles() {
    let tile = tile_len::<MergeTile<f64, f64, u32>>();
    for under_test in devices() {
        for tiles in [2, 15, 16, 17, 18, 40] {
            let long = tiles * tile;
            check_on(&under_test.device, &with_row_lengths::<f64, u32>(long, &[3, long, 2]), 1.0, 0.5);
            check_on(&under_test.device, &with_row_lengths::<f32, u32>(long, &[long, 0, long, 0]), 1.0, 0.0);
            // A row that ends exactly at the end of a tile, and one that starts there.
            check_on(
                &under_test.device,
                &with_row_lengths::<f64, u32>(long, &[long - 1, tile - 1, long]),
                1.0,
                0.5,
            );
        }
        if under_test.fast {
            check_on(
                &under_test.device,
                &with_row_lengths::<f64, u32>(3_000_000, &[5, 3_000_000, 1]),
                1.0,
                0.0,
            );
        }
    }
}

/// Rows over enough tiles that a block adds up their parts, at the limits of its variants. Other cut rows are before and after
/// each. Both methods that cut rows are tested.
#[test]
fn rows_over_any_number_of_tiles() {
    for under_test in kernel_devices() {
        let many: &[usize] = if under_test.fast { &[63, 65, 129, 384, 513, 5000] } else { &[63, 65, 385] };
        for &tiles in many {
            for method in [SpmvMethod::MergePath, SpmvMethod::Flat] {
                let long = tiles * tile_len::<MergeTile<f64, f64, u32>>() - 5;
                let matrix = with_row_lengths::<f64, u32>(long, &[9, 1300, 0, long, 1300, 0]);
                check_spmv(&under_test.device, &matrix, method, 1.5, -0.5);
            }
        }
    }
}

/// Zero factors do not hide NaN: the product is computed with any alpha, on every device. If beta is zero, y is not read;
/// NaN in x or A propagates.
#[test]
fn nan_propagates() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> =
            Csr::from_triplets(4, 2, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, f64::NAN)]).expect("a matrix");
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("plan");
        let x = device.upload(&[2.0, f64::INFINITY]).expect("upload");
        let run = |alpha, beta, y: [f64; 4]| {
            let mut y = device.upload(&y).expect("upload");
            plan.run(alpha, &x, beta, &mut y).expect("run");
            // Compare bits, for the sign of zero; all NaNs are equal.
            let bits = |y: f64| if y.is_nan() { u64::MAX } else { y.to_bits() };
            y.download().expect("download").into_iter().map(bits).collect::<Vec<_>>()
        };
        let nan = u64::MAX;
        let [zero, two, six, inf] = [0.0, 2.0, 6.0, f64::INFINITY].map(f64::to_bits);
        assert_eq!(run(1.0, 0.0, [f64::NAN; 4]), [two, inf, nan, zero], "{device}");
        assert_eq!(run(0.0, 0.0, [f64::NAN; 4]), [zero, nan, nan, zero], "{device}");
        assert_eq!(run(0.0, 3.0, [2.0; 4]), [six, nan, nan, six], "{device}");
        assert_eq!(run(1.0, 1.0, [4.0, 1.0, 1.0, f64::NAN]), [six, inf, nan, nan], "{device}");
        assert_eq!(run(1.0, -0.0, [f64::NAN; 4])[3], zero, "{device}");
        let minus_zero = (-0.0_f64).to_bits();
        assert_eq!(run(-1.0, 0.0, [f64::NAN; 4])[3], minus_zero, "{device}");
    }
}

/// A zero carry must not be multiplied by an infinite factor, which would give NaN. In one case the end of a row is in
/// the tile after its nonzeros.
#[test]
fn infinite_factors() {
    let tile = tile_len::<MergeTile<f64, f64, u32>>();
    for under_test in devices() {
        let a: Csr<f64> = with_row_lengths(tile, &[tile, 2, tile - 5, 3]);
        let a = a.into_positive();
        let device = &under_test.device;
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vec![1.0; tile]).expect("upload");
        let mut y = device.zeros(4).expect("zeros");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::MergePath)).expect("plan");
        plan.run(f64::INFINITY, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.download().expect("download"), [f64::INFINITY; 4], "{device}");
    }
}

trait IntoPositive {
    fn into_positive(self) -> Self;
}

impl IntoPositive for Csr<f64> {
    fn into_positive(mut self) -> Self {
        self.values_mut().iter_mut().for_each(|value| *value = value.abs() + 1.0);
        self
    }
}

#[test]
fn generated_matrices() {
    for under_test in devices() {
        let kinds = if under_test.fast {
            ["stencil5:300", "power-law:50000", "uniform:20000", "empty-rows:100000", "rmat:15"]
        } else {
            ["stencil5:40", "power-law:3000", "uniform:2000", "empty-rows:8000", "rmat:9"]
        };
        for kind in kinds {
            let kind: Kind = kind.parse().expect("a kind");
            let a: Csr<f64> = generate(kind, 1).expect("a matrix");
            check_on(&under_test.device, &a, 1.0, 0.0);
            let a: Csr<f32, u64> = generate(kind, 2).expect("a matrix");
            check_on(&under_test.device, &a, -1.5, 0.75);
        }
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    for under_test in devices() {
        let size = if under_test.fast { 200_000 } else { 5_000 };
        let a: Csr<f32> =
            generate(format!("power-law:{size}").parse().expect("a kind"), 3).expect("a matrix");
        let device = &under_test.device;
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f32>(a.ncols())).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("plan");
        let runs: Vec<Vec<u32>> = (0..5)
            .map(|_| {
                let mut y = device.zeros(a.nrows()).expect("zeros");
                plan.run(1.0, &x, 0.0, &mut y).expect("run");
                y.download().expect("download").into_iter().map(f32::to_bits).collect()
            })
            .collect();
        assert!(runs.iter().all(|run| run == &runs[0]), "{device}");
    }
}

#[test]
fn unsupported_lanes_are_refused() {
    let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let matrix = device.upload(&a).expect("upload");
        for wanted in [0, 3, 64] {
            let lanes = Some(wanted);
            for asked in [SpmvMethod::Vector { lanes }, SpmvMethod::Light { lanes, block_size: None }] {
                let options = SpmvOptions::default().with_method(asked);
                let error = matrix.plan_spmv(options).expect_err("no such lanes");
                assert!(
                    matches!(error, OpError::Lanes { lanes, method } if (method, lanes) == (asked.name(), wanted)),
                    "{error}"
                );
            }
        }
    }
}

/// Threads per block are 128 to 1024, for methods and types with such kernels.
#[test]
fn unsupported_block_sizes_are_refused() {
    fn refused<O: Offset>(device: &Device, options: SpmvOptions) -> (u32, Vec<u32>, String) {
        let matrix = device.upload(&with_row_lengths::<f64, O>(5, &[3, 0, 5])).expect("upload");
        let error = matrix.plan_spmv(options).expect_err("no such kernel");
        let text = error.to_string();
        match error {
            OpError::BlockSize { block_size, supported, .. } => (block_size, supported, text),
            error => panic!("{error}"),
        }
    }
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for threads in [0, 96, 2048] {
            let block_size = Some(threads);
            for (method, wide) in [
                (SpmvMethod::CsrAdaptive { block_size }, &[][..]),
                (SpmvMethod::Light { lanes: None, block_size }, &[256]),
            ] {
                let options = SpmvOptions::default().with_method(method);
                let (asked, mut supported, text) = refused::<u32>(&device, options);
                supported.sort_unstable();
                assert_eq!((asked, &supported[..]), (threads, &[128, 256, 512, 1024][..]), "{text}");
                assert_eq!(refused::<u64>(&device, options).1, wide, "{method}");
            }
        }
    }
}

#[test]
fn values_may_change_under_a_plan() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(50, &[3, 0, 50, 7]);
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("plan");
        let x = device.upload(&[1.0; 50]).expect("upload");
        let mut y = device.zeros(4).expect("zeros");
        matrix.set_values(&[2.0; 60]).expect("as many values as nonzeros");
        plan.run(1.0, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.download().expect("download"), [6.0, 0.0, 100.0, 14.0]);
        let ones = device.upload(&[1.0; 60]).expect("upload");
        matrix.set_values_from(&ones).expect("same device and length");
        plan.run(1.0, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.download().expect("download"), [3.0, 0.0, 50.0, 7.0]);
        let error = matrix.set_values(&[0.0; 59]).expect_err("one too few");
        assert!(matches!(error, OpError::Length { operand: "values", len: 59, needed: 60 }));
        assert_eq!(matrix.download().expect("download").values(), [1.0; 60]);
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("plan");
        let x = device.upload(&[1.0; 5]).expect("upload");
        let short = device.upload(&[1.0; 4]).expect("upload");
        let mut y = device.upload(&[7.0; 3]).expect("upload");
        let error = plan.run(1.0, &short, 0.0, &mut y).expect_err("x is short");
        assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }));
        assert_eq!(y.download().expect("download"), [7.0; 3]);
        let mut long = device.upload(&[7.0; 4]).expect("upload");
        let error = plan.run(1.0, &x, 0.0, &mut long).expect_err("y is long");
        assert!(matches!(error, OpError::Length { operand: "y", .. }));
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.upload(&[1.0; 5]).expect("upload");
        let error = plan.run(1.0, &elsewhere, 0.0, &mut y).expect_err("x is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(y.download().expect("download"), [7.0; 3]);
    }
}

#[test]
fn a_plan_reports_its_choices() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f32> = generate("stencil5:110".parse().expect("a kind"), 0).expect("a matrix");
        let matrix = device.upload(&a).expect("upload");
        for method in methods(device) {
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
            let info = plan.info().expect("info");
            assert!(info.tiles > 1 && info.analysis_ms >= 0.0, "{info}");
            let is_by_it = info.method.without_parameters() == method && info.reason == "asked for";
            let asked = method == SpmvMethod::Auto || is_by_it;
            assert!(asked && info.to_string().starts_with(&info.method.to_string()), "{info}");
            if let (SpmvMethod::MergePath, Some(tile)) = (info.method, info.tile) {
                assert_eq!(info.tiles, (a.nrows() + a.nnz()).div_ceil(tile.items() as usize) as u64);
                // A row and a span per tile, plus one; two sums and a counter per tile.
                assert_eq!(info.workspace_bytes, (info.tiles + 1) * 12 + info.tiles * 20);
            }
        }
    }
}

/// The choice: lanes of a warp or a block per row if all rows run at once; tiles or blocks of rows if there
/// are many; equal shares of the nonzeros if a row is much longer than others; windows of x if columns are
/// scattered but close together. On the CPU there is no choice.
#[test]
fn a_plan_follows_the_rows() {
    for under_test in unlike_devices() {
        let device = &under_test.device;
        let choice = |a: &Csr<f32>| {
            let plan = device.upload(a).expect("upload").plan_spmv(SpmvOptions::default()).expect("plan");
            plan.info().expect("info").method.without_parameters()
        };
        let multiprocessors = device.properties().multiprocessors as usize;
        let of_rows = |lengths: &[usize]| choice(&with_row_lengths(3000, lengths));
        let vector = SpmvMethod::Vector { lanes: None };
        let few = of_rows(&[5; 400]);
        assert!([vector, SpmvMethod::Warp].contains(&few), "{device}: {few}");
        assert_eq!(of_rows(&vec![80; multiprocessors * 8]), vector);
        assert_eq!(of_rows(&[1000; 40]), SpmvMethod::Block);
        // A warp per row, for few rows, one of which is longer than the others by more than eight times.
        assert_eq!(of_rows(&[vec![5; multiprocessors * 8], vec![150]].concat()), SpmvMethod::Warp);
        // More rows than a few multiprocessors run at once, but fewer than have windows.
        if multiprocessors <= 32 {
            assert_eq!(of_rows(&[5].repeat(40_000)), SpmvMethod::RowTiles);
            assert_eq!(of_rows(&vec![30; multiprocessors * 700]), SpmvMethod::RowBlocks);
        } else {
            assert_eq!(of_rows(&[5].repeat(40_000)), vector);
            assert_eq!(of_rows(&[30].repeat(20_000)), vector);
        }
        assert_eq!(of_rows(&[vec![5; 4000], vec![2500]].concat()), SpmvMethod::Flat);
        assert_eq!(of_rows(&[vec![5; 4000], vec![0, 2500]].concat()), SpmvMethod::MergePath);
        let rows = multiprocessors * 2048;
        if under_test.fast {
            let fem: Csr<f32> =
                generate(format!("fem:{rows}").parse().expect("a kind"), 1).expect("a matrix");
            assert_eq!(choice(&fem), SpmvMethod::Windows);
        }
    }
}

/// Rows of many lengths: mostly short, some empty, some longer than a tile.
fn row_lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![3 => Just(0_usize), 6 => 1..6_usize, 2 => 6..60_usize, 1 => 800..2000_usize];
    prop::collection::vec(length, 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_rows(lengths in row_lengths(), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        for under_test in devices() {
            check_on(&under_test.device, &with_row_lengths::<f64, u32>(2000, &lengths), alpha, beta);
            check_on(&under_test.device, &with_row_lengths::<f32, u64>(2000, &lengths), alpha, beta);
        }
    }
}
