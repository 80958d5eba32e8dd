//! Every SpMV method, by name, on every device that supports it.

use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::generate::generate;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlanInfo};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_kernels::spmv::{AdaptiveRows, BlockRows, FlatTile, VectorRows};
use evenpath_tests::{
    DeviceUnderTest, check_spmv, check_spmv_with, devices, kernel_devices, tile_len, vector, with_row_lengths,
};
use proptest::prelude::*;

/// Every device with every method that it supports.
fn devices_and_methods() -> Vec<(DeviceUnderTest, SpmvMethod)> {
    let with_methods = |under_test: DeviceUnderTest| {
        let kind = under_test.device.kind();
        SpmvMethod::ALL
            .iter()
            .copied()
            .filter(move |method| method.runs_on(kind))
            .map(move |method| (under_test.clone(), method))
    };
    devices().into_iter().flat_map(with_methods).collect()
}

/// Returns whether a method is refused for the large matrices of fast devices if some rows are very long,
/// because it pads others.
fn is_refused(under_test: &DeviceUnderTest, method: SpmvMethod) -> bool {
    under_test.fast && method == SpmvMethod::SlicedEll
}

/// Checks rows of the given lengths with every pair of types and every kind of factor.
fn check_types(device: &Device, method: SpmvMethod, cols: usize, lengths: &[usize]) {
    check_spmv(device, &with_row_lengths::<f32, u32>(cols, lengths), method, 1.0, 0.0);
    check_spmv(device, &with_row_lengths::<f32, u64>(cols, lengths), method, -0.5, 1.0);
    check_spmv(device, &with_row_lengths::<f64, u32>(cols, lengths), method, 2.0, -0.25);
    check_spmv(device, &with_row_lengths::<f64, u64>(cols, lengths), method, 0.0, 3.0);
}

#[test]
fn odd_shapes() {
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        for (cols, lengths) in [
            (0, &[][..]),
            (5, &[]),
            (0, &[0; 7]),
            (5, &[0; 300]),
            (1, &[1]),
            (4, &[0, 3, 0, 0, 4, 1, 0]),
            (3000, &[3000]),
            (1, &[1; 700]),
            (9000, &[1, 9000, 0, 2, 9000]),
            (9000, &[0, 0, 9000, 0]),
        ] {
            check_types(&device, method, cols, lengths);
        }
    }
}

/// Row lengths at which a row takes one more lane, turn, or batch of loads.
#[test]
fn rows_around_the_turns_of_their_threads() {
    let block = tile_len::<BlockRows<f64, u32>>();
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        for mean in [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33] {
            // Some rows with lengths around the mean, and a number of rows that leaves the last warp partly full.
            let lengths: Vec<usize> = (0..45).map(|row| [mean, mean - 1, mean + 1][row % 3]).collect();
            check_spmv(&device, &with_row_lengths::<f64, u32>(64, &lengths), method, 1.0, 0.5);
        }
        let turns = [32, 64, 96, 128, 256, block, 2 * block, 4 * block, 8 * block];
        let lengths: Vec<usize> = turns.iter().flat_map(|&turn| [turn - 1, turn, turn + 1]).collect();
        check_spmv(&device, &with_row_lengths::<f32, u32>(9 * block, &lengths), method, 1.0, 0.0);
    }
}

/// Numbers of rows around those that fill a block, for any number of lanes per row.
#[test]
fn numbers_of_rows_around_blocks() {
    let block = tile_len::<VectorRows<f64, u32>>();
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        for lanes in [1, 2, 8, 32] {
            for rows in [block / lanes - 1, block / lanes, block / lanes + 1] {
                check_spmv(&device, &with_row_lengths::<f64, u32>(40, &vec![lanes; rows]), method, 1.0, 0.0);
            }
        }
    }
}

/// Nonzeros around multiples of a tile, and rows that end just before, at and after the end of a tile; with and
/// without empty rows.
#[test]
fn flat_tiles_around_their_edges() {
    fn check_types<V: Value, O: Offset>(device: &Device, tile: usize) {
        let check = |lengths: &[usize]| {
            check_spmv(device, &with_row_lengths::<V, O>(9000, lengths), SpmvMethod::Flat, 1.0, 0.5);
            let mut with_empty = vec![0];
            with_empty.extend(lengths.iter().flat_map(|&length| [length, 0]));
            check_spmv(device, &with_row_lengths::<V, O>(9000, &with_empty), SpmvMethod::Flat, -2.0, 0.0);
        };
        for nonzeros in [tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1] {
            check(&[nonzeros]);
            check(&vec![1; nonzeros]);
            check(&[nonzeros - 1, 1]);
            check(&[1, nonzeros - 1]);
        }
        check(&[tile, tile, tile]);
        check(&[tile - 1, 2, tile - 1, 2 * tile, 5]);
        check(&[3 * tile + 7, tile - 7, 1]);
        // Carries of many tiles in one row, summed by a thread and by a block.
        for tiles in [15, 16, 17, 18, 40] {
            check(&[3, tiles * tile, 2]);
            check(&[tile, tiles * tile, tile]);
        }
    }
    for DeviceUnderTest { device, .. } in kernel_devices() {
        check_types::<f64, u32>(&device, tile_len::<FlatTile<f64, u32>>());
        check_types::<f32, u64>(&device, tile_len::<FlatTile<f32, u64>>());
    }
}

/// Row blocks of each kind around the maximum size: long rows, as many rows as warps, one more, and as many as fit.
#[test]
fn adaptive_row_blocks_around_their_edges() {
    fn check_types<V: Value, O: Offset>(device: &Device, items: usize) {
        let check = |lengths: &[usize]| {
            let a = with_row_lengths::<V, O>(9000, lengths);
            check_spmv(device, &a, SpmvMethod::CsrAdaptive { block_size: None }, 1.0, 0.5);
            check_spmv(device, &a, SpmvMethod::RowBlocks, 1.0, 0.5);
        };
        for edge in [items - 1, items, items + 1] {
            check(&[edge]);
            check(&[3, edge, 3]);
            check(&vec![1; edge]);
            check(&vec![0; edge]);
            check(&[edge - 6, 1, 1, 1, 1, 1, 1]);
        }
        for rows in [2, 3, 4, 5, 8, 9, 63, 64, 65, 127, 128, 129] {
            check(&vec![items / rows; rows]);
            // The rest of a row block is one row.
            check(&[vec![items / rows; rows], vec![items]].concat());
            // Long rows among others that fill row blocks.
            check(
                &[vec![items / rows; rows + 1], vec![items / 2 + 1], vec![items / rows; rows + 2]].concat(),
            );
        }
    }
    for DeviceUnderTest { device, .. } in kernel_devices() {
        check_types::<f64, u32>(&device, tile_len::<AdaptiveRows<f64, u32>>());
        check_types::<f32, u64>(&device, tile_len::<AdaptiveRows<f32, u64>>());
    }
}

/// Blocks of every size, with rows around a row block's nonzeros, and around its warps: a row block of no more rows than
/// warps gives each row a warp.
#[test]
fn blocks_of_every_size_multiply() {
    fn check<V: Value>(device: &Device, method: SpmvMethod, threads: usize) {
        let options = SpmvOptions::default().with_method(method);
        let (warps, cols) = (threads / 32, 4 * threads);
        let lengths = [
            vec![threads - 1, threads, threads + 1, 3 * threads, 0, 1],
            vec![threads / warps; warps],
            vec![threads / (warps + 1); warps + 1],
            vec![1; threads + 1],
            vec![0; 2 * threads],
        ];
        let a = with_row_lengths::<V, u32>(cols, &lengths.concat());
        let y = check_spmv_with(device, &a, options, 2.0, -0.25);
        // Sums depend only on the options.
        assert_eq!(check_spmv_with(device, &a, options, 2.0, -0.25), y);
        let plan = device.upload(&a).expect("upload").plan_spmv(options).expect("plan");
        let info = plan.info().expect("info");
        let tile = info.tile.expect("a tile");
        assert_eq!((tile.block_size, tile.items_per_thread), (threads as u32, 1));
        let block_size = match info.options().method {
            SpmvMethod::CsrAdaptive { block_size } | SpmvMethod::Light { block_size, .. } => block_size,
            other => panic!("{other}"),
        };
        assert_eq!(block_size, Some(threads as u32));
    }
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for threads in [128, 256, 512, 1024] {
            let block_size = Some(threads);
            for method in
                [SpmvMethod::CsrAdaptive { block_size }, SpmvMethod::Light { lanes: None, block_size }]
            {
                check::<f32>(&device, method, threads as usize);
                check::<f64>(&device, method, threads as usize);
            }
        }
    }
}

#[test]
fn adaptive_plans_count_their_row_blocks() {
    let items = tile_len::<AdaptiveRows<f64, u32>>();
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let lengths = [vec![items + 1], vec![items / 2; 2], vec![4; items / 4]].concat();
        let matrix = device.upload(&with_row_lengths::<f64, u32>(items + 1, &lengths)).expect("upload");
        let method = SpmvMethod::CsrAdaptive { block_size: None };
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        let info = plan.info().expect("info");
        let each = SpmvDetails::RowBlocks { by_stream: 1, by_vector: 1, by_long_vector: 1 };
        assert_eq!(info.details, Some(each));
        assert_eq!((info.method, info.tiles, info.workspace_bytes), (method, 3, 16));
        let text = info.to_string();
        assert!(text.starts_with("csr-adaptive (asked for), 3 tiles"), "{text}");
        assert!(text.contains(" items, 1 by stream, 1 by vector, 1 by long vector, 16 bytes"), "{text}");
    }
}

/// Checks a product by row blocks, and returns what the plan says of them.
fn check_row_blocks(device: &Device, a: &Csr<f64>) -> SpmvPlanInfo {
    check_spmv(device, a, SpmvMethod::RowBlocks, 1.0, 0.5);
    let options = SpmvOptions::default().with_method(SpmvMethod::RowBlocks);
    let plan = device.upload(a).expect("upload").plan_spmv(options).expect("plan");
    plan.info().expect("info")
}

/// Row blocks cut by the device have at most four rows per nonzero of a tile, even if all rows are empty.
#[test]
fn row_blocks_bound_their_rows() {
    let items = tile_len::<AdaptiveRows<f64, u32>>();
    for DeviceUnderTest { device, .. } in kernel_devices() {
        let a = with_row_lengths::<f64, u32>(10, &[vec![0; 12 * items], vec![3; 100]].concat());
        let info = check_row_blocks(&device, &a);
        assert!((3..=4).contains(&info.tiles), "{info}");
    }
}

/// A long row is a row block, and those between them are cut where their nonzeros fill one.
#[test]
fn long_rows_are_row_blocks() {
    let items = tile_len::<AdaptiveRows<f64, u32>>();
    let long = [items / 2 + 1, items, 3 * items];
    // Eight rows of a share of a few more than half the nonzeros of a row block.
    let short = vec![items / 16 + 1; 16];
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for (lengths, tiles) in [
            (vec![3 * items; 5], 5),
            ([&long[..], &[0, 0]].concat(), 4),
            ([&long[..], &short, &long].concat(), 3 + 2 + 3),
            ([&short[..3], &long, &[1, 0, 1], &long, &[0]].concat(), 1 + 3 + 1 + 3 + 1),
        ] {
            let a = with_row_lengths::<f64, u32>(4 * items, &lengths);
            let info = check_row_blocks(&device, &a);
            assert!((tiles..=tiles + 1).contains(&info.tiles), "{lengths:?}: {info}");
        }
        // Rows of many times the mean are alone too, where that does not give more row blocks.
        let apart = [vec![250], vec![4; 40]].concat().repeat(10);
        let a = with_row_lengths::<f64, u32>(items, &[vec![4; 5 * items], apart, vec![items]].concat());
        let info = check_row_blocks(&device, &a);
        assert!((20 + 20 + 1..=20 + 20 + 10).contains(&info.tiles), "{info}");
    }
}

#[test]
fn plans_report_the_lanes_per_row() {
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        let (lanes, expected) = match method {
            SpmvMethod::Scalar => (1, method),
            SpmvMethod::Vector { .. } => (4, SpmvMethod::Vector { lanes: Some(4) }),
            SpmvMethod::Light { .. } => (4, SpmvMethod::Light { lanes: Some(4), block_size: None }),
            SpmvMethod::Warp => (32, method),
            _ => continue,
        };
        let matrix = device.upload(&with_row_lengths::<f32, u32>(9, &[5, 9, 6])).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        let info = plan.info().expect("info");
        assert_eq!(info.method, expected);
        match info.details {
            Some(SpmvDetails::Lanes { lanes: found } | SpmvDetails::Light { lanes: found, .. }) => {
                assert_eq!(found, lanes, "{method}");
            }
            other => panic!("{method}: {other:?}"),
        }
        assert!(info.to_string().contains(&format!(", {lanes} lanes per row, ")), "{info}");
    }
}

/// The flat split copies the offsets of nonempty rows only if some rows are empty.
#[test]
fn flat_plans_compact_empty_rows() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for (lengths, copied) in [(&[2, 1, 3][..], 0), (&[2, 0, 1, 0], 2 * 4 + 3 * 4), (&[0, 0], 4)] {
            let matrix = device.upload(&with_row_lengths::<f64, u32>(3, lengths)).expect("upload");
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(SpmvMethod::Flat)).expect("plan");
            let info = plan.info().expect("info");
            let filled = lengths.iter().filter(|&&length| length > 0).count() as u32;
            assert_eq!(info.details, Some(SpmvDetails::Flat { filled_rows: filled }));
            let copied = if filled == 0 { 0 } else { copied };
            // A row and a span per tile, plus one; two sums and a counter per tile.
            let cut = (info.tiles + 1) * 12 + info.tiles * 36;
            assert_eq!(info.workspace_bytes, cut + copied, "{lengths:?}");
        }
    }
}

#[test]
fn generated_matrices() {
    for (under_test, method) in devices_and_methods() {
        let kinds = if under_test.fast {
            ["stencil5:300", "power-law:50000", "uniform:20000", "empty-rows:100000", "rmat:15", "lp:400"]
        } else {
            ["stencil5:20", "power-law:500", "uniform:300", "empty-rows:1500", "rmat:8", "lp:9"]
        };
        for kind in kinds
            .into_iter()
            .filter(|kind| !(is_refused(&under_test, method) && kind.starts_with("power-law")))
        {
            let kind = kind.parse().expect("a kind");
            let a: Csr<f64> = generate(kind, 1).expect("a matrix");
            check_spmv(&under_test.device, &a, method, 1.0, 0.0);
            let a: Csr<f32, u64> = generate(kind, 2).expect("a matrix");
            check_spmv(&under_test.device, &a, method, -1.5, 0.75);
        }
    }
}

/// Duplicate and unsorted columns are processed in storage order.
#[test]
fn rows_need_not_be_canonical() {
    let columns = [3, 1, 1, 0, 3, 2, 2, 2, 0];
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        let a = Csr::<f64>::try_new(3, 4, vec![0, 5, 5, 9], columns.to_vec(), vector(9)).expect("valid");
        check_spmv(&device, &a, method, 1.0, 0.5);
    }
}

/// A run does not depend on data of earlier runs, neither in y nor in counters or carries.
#[test]
fn results_are_bitwise_repeatable() {
    for (under_test, method) in devices_and_methods() {
        let size = if under_test.fast { 200_000 } else { 600 };
        let kind = if is_refused(&under_test, method) { "uniform" } else { "power-law" };
        let a: Csr<f32> = generate(format!("{kind}:{size}").parse().expect("a kind"), 3).expect("a matrix");
        let first = check_spmv(&under_test.device, &a, method, 1.0, 0.0);
        let device = &under_test.device;
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f32>(a.ncols())).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        for _ in 0..4 {
            let mut y = device.upload(&vec![f32::NAN; a.nrows()]).expect("upload");
            plan.run(1.0, &x, 0.0, &mut y).expect("run");
            assert_eq!(bits(&y.download().expect("download")), bits(&first), "{device}, {method}");
        }
    }
}

fn bits<V: Value>(values: &[V]) -> Vec<u64> {
    values.iter().map(|value| value.to_f64().to_bits()).collect()
}

/// Runs of one plan from several threads, each with its own vectors.
#[test]
fn runs_of_a_plan_do_not_interfere() {
    for (under_test, method) in devices_and_methods() {
        let device = &under_test.device;
        let size = if under_test.fast { 20_000 } else { 200 };
        let a: Csr<f64> =
            generate(format!("power-law:{size}").parse().expect("a kind"), 5).expect("a matrix");
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        let run = |alpha: f64| {
            let x = device.upload(&vector::<f64>(a.ncols())).expect("upload");
            let mut y = device.upload(&vec![f64::NAN; a.nrows()]).expect("upload");
            plan.run(alpha, &x, 0.0, &mut y).expect("run");
            bits(&y.download().expect("download"))
        };
        let alphas = [1.0, -2.0, 0.5, 3.0];
        let alone = alphas.map(run);
        std::thread::scope(|scope| {
            let together = alphas.map(|alpha| scope.spawn(move || [run(alpha), run(alpha), run(alpha)]));
            for (thread, alone) in together.into_iter().zip(&alone) {
                for result in thread.join().expect("no panic") {
                    assert!(result == *alone, "{device}, {method}");
                }
            }
        });
    }
}

/// Sums near the limit of f32, of numbers of very different magnitudes: correct within f32 rounding in any order,
/// with any number of lanes. Losing a lane or a row would exceed the bound by far.
#[test]
fn numbers_of_different_magnitudes_in_f32() {
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        for mean in [2, 7, 14, 18, 40] {
            let mut a = with_row_lengths::<f32, u32>(50, &[mean; 70]);
            for (index, value) in a.values_mut().iter_mut().enumerate() {
                *value *= 10_f32.powi((index * 5 % 11) as i32 * 6 - 30);
            }
            check_spmv(&device, &a, method, 1.0, 0.0);
        }
    }
}

#[test]
fn values_may_change_under_a_plan() {
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        let a: Csr<f64> = with_row_lengths(50, &[3, 0, 50, 7]);
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        let x = device.upload(&[1.0; 50]).expect("upload");
        let mut y = device.zeros(4).expect("zeros");
        for value in [2.0, 1.0] {
            matrix.set_values(&[value; 60]).expect("as many values as nonzeros");
            plan.run(1.0, &x, 0.0, &mut y).expect("run");
            let expected = [3.0, 0.0, 50.0, 7.0].map(|count| count * value);
            assert_eq!(y.download().expect("download"), expected, "{device}, {method}");
        }
    }
}

/// Zero factors do not hide NaN, and empty rows have sum zero, by every method.
#[test]
fn nan_propagates() {
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        let a: Csr<f64> =
            Csr::from_triplets(4, 2, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, f64::NAN)]).expect("a matrix");
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
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
        assert_eq!(run(1.0, 0.0, [f64::NAN; 4]), [two, inf, nan, zero], "{device}, {method}");
        assert_eq!(run(0.0, 3.0, [2.0; 4]), [six, nan, nan, six], "{device}, {method}");
        assert_eq!(run(1.0, 1.0, [4.0, 1.0, 1.0, f64::NAN]), [six, inf, nan, nan], "{device}, {method}");
        assert_eq!(run(-1.0, 0.0, [f64::NAN; 4])[3], (-0.0_f64).to_bits(), "{device}, {method}");
    }
}

/// An empty part of a row must not be multiplied by an infinite factor, which would give NaN.
#[test]
fn infinite_factors() {
    let tile = tile_len::<FlatTile<f64, u32>>();
    for (DeviceUnderTest { device, .. }, method) in devices_and_methods() {
        let mut a = with_row_lengths::<f64, u32>(tile, &[tile, 2, tile - 2, 3]);
        a.values_mut().fill(1.0);
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vec![1.0; tile]).expect("upload");
        let mut y = device.zeros(4).expect("zeros");
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        plan.run(f64::INFINITY, &x, 0.0, &mut y).expect("run");
        assert_eq!(y.download().expect("download"), [f64::INFINITY; 4], "{device}, {method}");
    }
}

#[test]
fn unsupported_methods_are_refused() {
    let device = Device::cpu();
    let matrix = device.upload(&with_row_lengths::<f64, u32>(3, &[1, 2])).expect("upload");
    for method in SpmvMethod::ALL.into_iter().filter(|method| !method.runs_on(DeviceKind::Cpu)) {
        let error = matrix
            .plan_spmv(SpmvOptions::default().with_method(method))
            .expect_err("the CPU runs no kernels");
        assert!(matches!(error, OpError::UnsupportedMethod { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("`{method}`")) && text.contains("CPU") && text.contains("merge-path"),
            "{text}"
        );
    }
}

/// Rows of many lengths: mostly short, some empty, some longer than a tile.
fn row_lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![3 => Just(0_usize), 6 => 1..6_usize, 2 => 6..60_usize, 1 => 800..2500_usize];
    prop::collection::vec(length, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_rows(lengths in row_lengths(), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        fn check<V: Value, O: Offset>(lengths: &[usize], alpha: f64, beta: f64) {
            let a = with_row_lengths::<V, O>(2500, lengths);
            for (under_test, method) in devices_and_methods() {
                check_spmv(&under_test.device, &a, method, alpha, beta);
            }
        }
        check::<f64, u32>(&lengths, alpha, beta);
        check::<f32, u64>(&lengths, alpha, beta);
    }
}
