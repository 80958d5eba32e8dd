//! Products with HiSparse matrices by plans, on every device, compared with the definition.

use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceDense, HiSparse, Layout, Value};
use evenpath_tests::{
    DeviceUnderTest, Entries, devices, kernel_devices, scattered_squares, spmm, spmv, unlike_devices, vector,
};
use proptest::prelude::*;

fn csr<V: Value>(rows: usize, cols: usize, entries: &Entries) -> Csr<V> {
    let values = entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(rows, cols, values).expect("valid entries")
}

/// Runs y = αAx + βy twice, with y filled with NaN if β is zero, and compares with the oracle.
fn check_product<V: Value, const D: usize>(
    matrix: &DeviceHiSparse<V, D>,
    expected: &Csr<V>,
    options: hisparse::SpmvOptions,
    (alpha, beta): (f64, f64),
) {
    let device = matrix.device();
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(expected.ncols());
    let mut y: Vec<V> = vector(expected.nrows());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let oracle = spmv(expected, alpha, &x, beta, &y);
    let device_x = device.upload(&x).unwrap();
    let plan = matrix.plan_spmv(options).unwrap();
    let run = || {
        let mut device_y = device.upload(&y).unwrap();
        plan.run(alpha, &device_x, beta, &mut device_y).unwrap();
        device_y.download().unwrap()
    };
    let result = run();
    if let Err(difference) = oracle.check(&result) {
        panic!("{matrix:?}, alpha {alpha}, beta {beta}: {difference}");
    }
    let bits = |values: Vec<V>| values.into_iter().map(|value| value.to_f64().to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(run()), bits(result), "bitwise equal");
    let copied =
        matrix.plan_spmv(hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Copied)).unwrap();
    let mut device_y = device.upload(&y).unwrap();
    copied.run(alpha, &device_x, beta, &mut device_y).unwrap();
    if let Err(difference) = oracle.check(&device_y.download().unwrap()) {
        panic!("{matrix:?}, copied, alpha {alpha}, beta {beta}: {difference}");
    }
}

/// The matrix and its transpose, with and without shared subtrees, scaled and not.
fn check_matrix<V: Value, const D: usize>(device: &Device, a: &Csr<V>) {
    let transpose = a.transpose().unwrap();
    for options in [hisparse::Options::default(), share()] {
        let matrix: HiSparse<V, D> = a.to_hisparse(options).unwrap();
        let matrix = device.upload(&matrix).unwrap();
        check_product(&matrix, a, leaves(), (1.0, 0.0));
        check_product(&matrix, a, short_parts(), (-1.0, 1.0));
        check_product(&matrix.transpose(), &transpose, leaves(), (-2.0, 0.5));
    }
    let matrix: HiSparse<V, D> = transpose.to_hisparse(hisparse::Options::default()).unwrap();
    let matrix = device.upload(&matrix.scaled(V::from_f64(4.0))).unwrap();
    let matrix =
        matrix.transpose().scaled(V::from_f64(-0.5)).transpose().transpose().scaled(V::from_f64(-0.5));
    check_product(&matrix, a, long_parts(), (1.5, -1.0));
}

fn check_all<V: Value>(device: &Device, a: &Csr<V>) {
    check_matrix::<V, 32>(device, a);
    check_matrix::<V, 64>(device, a);
    check_matrix::<V, 128>(device, a);
    check_matrix::<V, 256>(device, a);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn products_match_the_definition((rows, cols, entries) in scattered_squares(1000..9000, 40..70)) {
        for device in devices() {
            check_all::<f64>(&device.device, &csr(rows, cols, &entries));
            check_matrix::<f32, 128>(&device.device, &csr(rows, cols, &entries));
        }
    }
}

#[test]
fn single_entries_in_every_corner() {
    for device in devices() {
        // The last has four levels of the smallest nodes.
        let large = if device.fast { (70_000, 5000) } else { (33_000, 300) };
        for (rows, cols) in [(1, 1), (32, 32), (33, 256), (257, 1), large] {
            for (row, col) in [(0, 0), (0, cols - 1), (rows - 1, 0), (rows - 1, cols - 1)] {
                let a = csr(rows, cols, &vec![(row, col, 1.25)]);
                if rows < 1000 || device.fast {
                    check_all::<f32>(&device.device, &a);
                } else if row > 0 {
                    check_matrix::<f32, 32>(&device.device, &a);
                }
            }
        }
        // A tree of five levels.
        let a = csr::<f64>(3, 1 << 24, &vec![(2, (1 << 24) - 1, 1.5)]);
        if device.fast {
            check_matrix::<f64, 32>(&device.device, &a);
        }
    }
}

#[test]
fn nothing_to_multiply() {
    for device in devices() {
        for (rows, cols) in [(0, 0), (0, 9), (9, 0), (300, 700)] {
            check_all::<f32>(&device.device, &csr(rows, cols, &vec![]));
        }
    }
}

/// Leaves with every number of entries up to `most`, one below the other.
fn leaves_of_all_sizes(most: usize) -> Csr<f64> {
    let entries = (0..most).flat_map(|leaf| {
        (0..=leaf).map(move |entry| {
            let (row, col) = (32 * leaf + entry * 7 % 32, entry * 13 / 32 % 32);
            (row, col, (entry as f64).sin())
        })
    });
    Csr::from_triplets(32 * most, 40, entries).expect("valid entries")
}

#[test]
fn leaves_of_all_sizes_at_all_places() {
    let a = leaves_of_all_sizes(70);
    for device in devices() {
        check_matrix::<f64, 32>(&device.device, &a);
        let a: Csr<f32> = csr(a.nrows(), a.ncols(), &a.iter().collect());
        check_matrix::<f32, 32>(&device.device, &a);
    }
}

#[test]
fn full_matrices() {
    let full = |rows: usize, cols: usize| -> Entries {
        let value = |at: usize| if at.is_multiple_of(11) { 0.0 } else { (at % 17) as f64 - 8.0 };
        (0..rows * cols).map(|at| (at / cols, at % cols, value(at))).collect()
    };
    for device in devices() {
        if !device.fast {
            // Only with the largest nodes, because it is much work.
            check_matrix::<f32, 256>(&device.device, &csr(300, 260, &full(300, 260)));
        }
        for (rows, cols) in [(32, 32), (31, 33), (128, 127), (300, 260)] {
            if rows > 256 && !device.fast {
                continue;
            }
            check_all::<f32>(&device.device, &csr(rows, cols, &full(rows, cols)));
            check_matrix::<f64, 64>(&device.device, &csr(rows, cols, &full(rows, cols)));
        }
    }
}

#[test]
fn strips_of_many_parts() {
    // 1024 slots or more per part, on a device with few warps.
    for device in devices() {
        let rows = if device.fast { 12 } else { 4 };
        let a = generate::<f32, u32>(Kind::LinearProgram { rows }, 3).unwrap();
        check_matrix::<f32, 32>(&device.device, &a);
        check_matrix::<f32, 128>(&device.device, &a);
        // More parts than one warp sums, in one strip of the matrix.
        let len = if device.fast { 4_000_000 } else { 12_000 };
        let line: Entries = (0..3 * len).map(|at| (at % 3, at / 3, ((at % 19) as f64 - 9.0) / 8.0)).collect();
        check_matrix::<f64, 64>(&device.device, &csr(3, len, &line));
    }
}

#[test]
fn graphs_and_meshes() {
    for device in devices() {
        let scale = if device.fast { 15 } else { 8 };
        let rmat: Csr<f32> = generate(Kind::Rmat { scale }, 5).unwrap();
        check_matrix::<f32, 128>(&device.device, &rmat);
        check_matrix::<f32, 32>(&device.device, &rmat);
        let side = if device.fast { 40 } else { 5 };
        let mesh: Csr<f64> = generate(Kind::Stencil27 { side }, 5).unwrap();
        check_matrix::<f64, 128>(&device.device, &mesh);
        check_matrix::<f64, 256>(&device.device, &mesh);
    }
}

#[test]
fn absent_entries_of_dense_leaves_are_not_multiplied() {
    // All but one column of a leaf, and an operand that is infinite there and NaN beyond.
    let entries: Entries = (0..32 * 32).filter(|at| at % 32 != 5).map(|at| (at / 32, at % 32, 1.0)).collect();
    for device in devices() {
        let a: HiSparse<f32, 32> = csr(32, 32, &entries).to_hisparse(hisparse::Options::default()).unwrap();
        let a = device.device.upload(&a).unwrap();
        let x: Vec<f32> = (0..32).map(|col| if col == 5 { f32::INFINITY } else { 2.0 }).collect();
        let x = device.device.upload(&x).unwrap();
        let mut y = device.device.upload(&[f32::NAN; 32]).unwrap();
        a.plan_spmv(leaves()).unwrap().run(1.0, &x, 0.0, &mut y).unwrap();
        assert_eq!(y.download().unwrap(), [62.0; 32]);
        a.transpose().plan_spmv(leaves()).unwrap().run(1.0, &x, 0.0, &mut y).unwrap();
        let y = y.download().unwrap();
        let expected: Vec<f32> = (0..32).map(|col| if col == 5 { 0.0 } else { f32::INFINITY }).collect();
        assert_eq!(y, expected);
    }
}

#[test]
fn refused_products_write_nothing() {
    let a: HiSparse<f64> = csr(3, 5, &vec![(1, 1, 2.0)]).to_hisparse(hisparse::Options::default()).unwrap();
    for device in devices() {
        let device = device.device;
        let plan = device.upload(&a).unwrap().plan_spmv(leaves()).unwrap();
        let (x, mut y) = (device.upload(&[1.0; 5]).unwrap(), device.upload(&[7.0; 3]).unwrap());
        let short = device.upload(&[1.0; 4]).unwrap();
        let refused = plan.run(1.0, &short, 0.0, &mut y).unwrap_err();
        assert!(matches!(refused, OpError::Length { operand: "x", len: 4, needed: 5 }));
        let mut long = device.upload(&[7.0; 4]).unwrap();
        let refused = plan.run(1.0, &x, 0.0, &mut long).unwrap_err();
        assert!(matches!(refused, OpError::Length { operand: "y", len: 4, needed: 3 }));
        assert_eq!((y.download().unwrap(), long.download().unwrap()), (vec![7.0; 3], vec![7.0; 4]));
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.upload(&[1.0; 5]).unwrap();
        assert!(matches!(plan.run(1.0, &elsewhere, 0.0, &mut y).unwrap_err(), OpError::Device(_)));
    }
}

#[test]
fn plans_report_their_size() {
    let a: Csr<f32> = generate(Kind::Stencil5 { side: 40 }, 1).unwrap();
    let a: HiSparse<f32, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
    for device in kernel_devices() {
        let matrix = device.device.upload(&a).unwrap();
        let before = device.device.memory().unwrap().in_use;
        // A part for each strip: each has fewer quads than a block processes at a time.
        for (warps, parts) in [(8, 50), (400, 50)] {
            let plan = matrix.plan_spmv(leaves().with_warps(warps)).unwrap();
            let info = plan.info().unwrap();
            assert!(info.leaves > 0 && info.parts == parts, "{info}");
            assert_eq!(device.device.memory().unwrap().in_use - before, info.workspace_bytes);
        }
        let plan = matrix
            .plan_spmv(hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Copied))
            .unwrap();
        let held = device.device.memory().unwrap().in_use - before;
        assert_eq!(held, plan.info().unwrap().workspace_bytes);
    }
}

/// A grid of `side` x `side` points, whose columns are clustered.
fn grid(side: usize) -> Csr<f32> {
    generate::<f64, u32>(Kind::Stencil5 { side }, 1).unwrap().into_values()
}

/// Makes a plan, and checks that it holds as many bytes as it reports: a copy with 16-bit or full columns,
/// depending on its method. Returns the method.
fn check_copy(matrix: &DeviceHiSparse<f32, 32>, nnz: usize, options: hisparse::SpmvOptions) -> SpmvMethod {
    let before = matrix.device().memory().unwrap().in_use;
    let info = matrix.plan_spmv(options).unwrap();
    let held = matrix.device().memory().unwrap().in_use - before;
    let info = info.info().unwrap();
    assert_eq!((info.method, info.workspace_bytes), (hisparse::SpmvMethod::Copied, held));
    assert!(info.to_string().starts_with("copied: products run from a copy in CSR, "), "{info}");
    let method = info.copy.as_ref().expect("a copy").method;
    let column_bytes = if method == SpmvMethod::NarrowColumns { 2 } else { 4 };
    let arrays = ((4 + column_bytes) * nnz + 4 * matrix.nrows()) as u64;
    assert!(held - arrays < nnz as u64, "{info}, of which {arrays} are a copy");
    method
}

/// A copy is made for any kind of leaves. It has 16-bit columns if columns are clustered, rows are short, and the copy does
/// not fit in the device's cache; otherwise full columns.
#[test]
fn the_automatic_choice_is_a_copy() {
    let far = Csr::from_triplets(400, 400_000, (0..40_000).map(|i| (i % 400, i * 7919 % 400_000, 1.5_f32)))
        .unwrap();
    for DeviceUnderTest { device, .. } in unlike_devices() {
        for (a, is_far) in [(grid(90), false), (far.clone(), true)] {
            let tree: HiSparse<f32, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
            let matrix = device.upload(&tree).unwrap();
            let method = check_copy(&matrix, a.nnz(), hisparse::SpmvOptions::default());
            let is_in_cache = device.properties().l2_bytes.is_some_and(|l2| l2 > 512 << 10);
            let is_narrow = method == SpmvMethod::NarrowColumns;
            assert!(if is_far { !is_narrow } else { is_narrow || is_in_cache }, "{device}: {method}");
            check_product(&matrix, &a, leaves(), (1.0, 0.0));
            let scaled = matrix.transpose().scaled(2.0).transpose().scaled(0.5);
            check_product(&scaled, &a, leaves(), (-0.5, 1.0));
        }
    }
}

#[test]
fn a_copy_larger_than_the_cache_has_narrow_columns() {
    for DeviceUnderTest { device, fast } in unlike_devices() {
        let l2_bytes = device.properties().l2_bytes;
        if !fast && l2_bytes.is_some() {
            continue;
        }
        // About 50 bytes per row.
        let a = grid(l2_bytes.map_or(90, |l2| (l2 / 40).isqrt() as usize));
        let tree: HiSparse<f32, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
        let matrix = device.upload(&tree).unwrap();
        let method = check_copy(&matrix, a.nnz(), hisparse::SpmvOptions::default());
        assert_eq!(method, SpmvMethod::NarrowColumns, "{device}");
    }
}

#[test]
fn a_copy_is_multiplied_by_the_requested_method() {
    let a = grid(90);
    let tree: HiSparse<f32, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
    for DeviceUnderTest { device, .. } in unlike_devices() {
        let matrix = device.upload(&tree).unwrap();
        for asked in [SpmvMethod::NarrowColumns, SpmvMethod::Scalar, SpmvMethod::MergePath] {
            let options =
                hisparse::SpmvOptions::default().with_spmv(SpmvOptions::default().with_method(asked));
            if asked == SpmvMethod::MergePath {
                let copy = matrix.plan_spmv(options).unwrap().info().unwrap().copy;
                assert_eq!(copy.expect("a copy").method, asked);
            } else {
                assert_eq!(check_copy(&matrix, a.nnz(), options), asked);
            }
        }
        let lanes = SpmvOptions::default().with_method(SpmvMethod::Vector { lanes: Some(3) });
        let refused = matrix.plan_spmv(hisparse::SpmvOptions::default().with_spmv(lanes)).unwrap_err();
        assert!(matches!(refused, OpError::Lanes { lanes: 3, .. }), "{refused}");
    }
}

/// Runs `C = αAB + βC` with B and C in the given layouts, with gaps between rows or columns, and checks each column.
fn check_dense<V: Value, const D: usize>(
    matrix: &DeviceHiSparse<V, D>,
    expected: &Csr<V>,
    columns: usize,
    (b_layout, c_layout): (Layout, Layout),
    (alpha, beta): (f64, f64),
) {
    let device = matrix.device();
    let dense = |rows: usize, layout: Layout, fill: Option<f64>| {
        let (line, lines) = if layout == Layout::RowMajor { (columns, rows) } else { (rows, columns) };
        let mut values: Vec<V> = vector((line + 3) * lines);
        if let Some(fill) = fill {
            values.fill(V::from_f64(fill));
        }
        let stride = line + 3;
        let of_column = move |values: &[V], column: usize| -> Vec<V> {
            let at =
                |row| if layout == Layout::RowMajor { row * stride + column } else { column * stride + row };
            (0..rows).map(|row| values[at(row)]).collect()
        };
        let uploaded = device.upload(&values).unwrap();
        let uploaded = DeviceDense::try_with_leading_dimension(uploaded, rows, columns, layout, stride);
        (uploaded.unwrap(), values, of_column)
    };
    let (b, b_values, b_column) = dense(matrix.ncols(), b_layout, None);
    for mode in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        let (mut c, c_values, c_column) = dense(matrix.nrows(), c_layout, (beta == 0.0).then_some(f64::NAN));
        let before = device.memory().unwrap().in_use;
        let plan = matrix.plan_spmm(hisparse::SpmmOptions::default().with_method(mode)).unwrap();
        assert_eq!(device.memory().unwrap().in_use - before, plan.info().unwrap().workspace_bytes);
        plan.run(V::from_f64(alpha), &b, V::from_f64(beta), &mut c).unwrap();
        let result = c.as_vec().download().unwrap();
        for column in 0..columns {
            let oracle =
                spmm(expected, alpha, &b_column(&b_values, column), beta, &c_column(&c_values, column));
            if let Err(difference) = oracle.check(&c_column(&result, column)) {
                panic!(
                    "{matrix:?}, {mode:?}, column {column} of {columns}, {b_layout}, {c_layout}: {difference}"
                );
            }
        }
    }
}

#[test]
fn products_with_dense_matrices() {
    use Layout::{ColumnMajor, RowMajor};
    let mesh: Csr<f64> = generate(Kind::Stencil5 { side: 17 }, 5).unwrap();
    let square: Entries =
        (0..40 * 40).map(|at| (at / 40 + 30, at % 40 + 90, (at % 13) as f64 - 6.0)).collect();
    let square: Csr<f64> = csr(100, 300, &square);
    let empty: Csr<f64> = csr(70, 9, &vec![]);
    for device in devices() {
        for a in [&mesh, &square, &empty] {
            let matrix: HiSparse<f64, 64> = a.to_hisparse(hisparse::Options::default()).unwrap();
            let matrix = device.device.upload(&matrix).unwrap();
            let transpose = a.transpose().unwrap();
            for columns in [0, 1, 31, 32, 33, 70] {
                check_dense(&matrix, a, columns, (RowMajor, RowMajor), (1.5, 0.0));
                check_dense(&matrix.transpose(), &transpose, columns, (RowMajor, ColumnMajor), (-1.0, 0.5));
            }
            check_dense(&matrix, a, 5, (ColumnMajor, RowMajor), (1.0, 1.0));
            let single: Csr<f32> = csr(a.nrows(), a.ncols(), &a.iter().collect());
            let matrix: HiSparse<f32, 32> = single.to_hisparse(share()).unwrap();
            let matrix = device.device.upload(&matrix).unwrap();
            check_dense(&matrix, &single, 33, (RowMajor, RowMajor), (1.0, 0.0));
            let matrix: HiSparse<f64, 256> = a.to_hisparse(hisparse::Options::default()).unwrap();
            let matrix = device.device.upload(&matrix).unwrap();
            check_dense(&matrix, a, 3, (ColumnMajor, ColumnMajor), (2.0, 0.0));
        }
        let matrix: HiSparse<f64> = mesh.to_hisparse(hisparse::Options::default()).unwrap();
        let plan =
            device.device.upload(&matrix).unwrap().plan_spmm(hisparse::SpmmOptions::default()).unwrap();
        let (b, mut c) = (
            device.device.zeros_dense::<f64>(289, 2, RowMajor).unwrap(),
            device.device.zeros_dense(289, 3, RowMajor).unwrap(),
        );
        let refused = plan.run(1.0, &b, 0.0, &mut c).unwrap_err();
        assert!(matches!(refused, OpError::Shape { operand: "C", needed_cols: 2, .. }), "{refused}");
    }
}

fn share() -> hisparse::Options {
    hisparse::Options::default().with_share(true)
}

fn leaves() -> hisparse::SpmvOptions {
    hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves)
}

/// Enough warps that a block processes all quads of a part at once.
fn short_parts() -> hisparse::SpmvOptions {
    leaves().with_warps(1 << 14)
}

/// Few enough warps that a block processes the quads of a part in several chunks, if a strip has enough.
fn long_parts() -> hisparse::SpmvOptions {
    leaves().with_warps(1)
}
