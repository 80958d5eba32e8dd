//! Sparse matrix times dense matrix, on every device.

use evenpath::error::{DeviceError, OpError};
use evenpath::generate::generate;
use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::{Compute, Csr, Device, DeviceDense, Layout, Multiplies, Offset, RealStorage, bf16, f16};
use evenpath_tests::{HostDense, SpmmOperand, devices, kernel_devices, spmm as oracle};
use proptest::prelude::*;

pub(super) const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

/// Nonzeros per piece of a long row, if rows are short on average and nonzeros few.
pub(super) const PIECE: usize = 128;

/// Rows of the given lengths, and enough empty ones to make the mean small.
pub(super) fn among_empty_rows(lengths: &[usize]) -> Vec<usize> {
    let empty = lengths.iter().sum::<usize>() / 4 + 1;
    [lengths, &vec![0; empty]].concat()
}

/// A product to run and to check.
pub(super) struct Case<'a, S: RealStorage, O: Offset> {
    pub(super) a: &'a Csr<S, O>,
    pub(super) columns: usize,
    pub(super) b_layout: Layout,
    pub(super) c_layout: Layout,
    pub(super) gap: usize,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

impl<S: RealStorage, O: Offset> Case<'_, S, O> {
    /// Makes a plan and runs the product on a device, with C filled with NaN if β is zero, and checks it.
    pub(super) fn check<T: SpmmOperand<S>>(&self, device: &Device) -> Vec<T>
    where
        S: Multiplies<T>,
    {
        let options = SpmmOptions::default().with_columns(self.columns).with_layout(self.b_layout);
        let plan = T::plan_spmm(&device.upload(self.a).expect("upload"), options).expect("plan");
        self.check_plan(device, &plan)
    }

    pub(super) fn check_plan<T: SpmmOperand<S>>(&self, device: &Device, plan: &SpmmPlan<S, O, T>) -> Vec<T>
    where
        S: Multiplies<T>,
    {
        let &Self { a, columns, b_layout, c_layout, gap, alpha, beta } = self;
        let b = HostDense::<T>::new(a.ncols(), columns, b_layout, gap);
        let mut c = HostDense::<T>::new(a.nrows(), columns, c_layout, gap);
        if beta == 0.0 {
            c.values.fill(T::from_f64(f64::NAN));
        }
        let mut device_c = c.upload(device);
        let factor = <Compute<T> as RealStorage>::from_f64;
        plan.run(factor(alpha), &b.upload(device), factor(beta), &mut device_c).expect("run");
        let result = device_c.as_vec().download().expect("download");
        for column in 0..columns {
            let expected = oracle(a, alpha, &b.column(column), beta, &c.column(column));
            let found: Vec<T> = (0..a.nrows()).map(|row| result[c.place(row, column)]).collect();
            if let Err(difference) = expected.check(&found) {
                panic!(
                    "{device}, {a:?} times {b_layout} to {c_layout} of {}, {columns} columns, gap {gap}, alpha {alpha}, beta {beta}: column {column}: {difference}",
                    T::NAME
                );
            }
        }
        if gap > 0 {
            let line = c.leading_dimension - gap;
            let gaps = result.iter().enumerate().filter(|(at, _)| at % c.leading_dimension >= line);
            assert!(
                gaps.into_iter().all(|(_, value)| value.to_f64().is_nan()),
                "{device}: a gap was written"
            );
        }
        result
    }
}

/// A matrix with rows of the given lengths, and columns spread over `cols`.
pub(super) fn with_row_lengths<S: RealStorage, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<S, O> {
    let triplets = lengths.iter().enumerate().flat_map(|(row, &len)| {
        (0..len).map(move |i| (row, i * cols / len, ((row * 31 + i * 17) % 101) as f64 / 50.0 - 1.0))
    });
    let matrix = Csr::from_triplets(lengths.len(), cols, triplets).expect("a valid matrix");
    let matrix: Csr<f64, O> = matrix.try_into_offsets().expect("few entries");
    matrix.into_values()
}

pub(super) fn case<S: RealStorage, O: Offset>(
    a: &Csr<S, O>,
    columns: usize,
    layout: Layout,
) -> Case<'_, S, O> {
    Case { a, columns, b_layout: layout, c_layout: layout, gap: 0, alpha: 1.0, beta: 0.0 }
}

#[test]
fn odd_shapes() {
    for under_test in devices() {
        let device = &under_test.device;
        let lengths: [(usize, &[usize]); 8] = [
            (0, &[]),
            (5, &[]),
            (0, &[0; 7]),
            (5, &[0; 300]),
            (1, &[1]),
            (4, &[0, 3, 0, 0, 4, 1, 0]),
            (700, &[700]),
            (600, &[1, 600, 0, 2, 300]),
        ];
        for (cols, lengths) in lengths {
            let a: Csr<f64> = with_row_lengths(cols, lengths);
            let wide: Csr<f32, u64> = with_row_lengths(cols, lengths);
            for layout in LAYOUTS {
                for columns in [0, 1, 2, 5] {
                    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (0.0, 3.0)] {
                        Case { alpha, beta, ..case(&a, columns, layout) }.check::<f64>(device);
                    }
                    Case { beta: -0.25, ..case(&wide, columns, layout) }.check::<f32>(device);
                }
            }
        }
    }
}

/// From one column to more than a tile of lanes covers, in every layout and access width.
#[test]
fn any_number_of_columns() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(50, &[3, 0, 5, 1, 17, 2, 50, 4, 0, 9]);
        let single: Csr<f32> = a.clone().into_values();
        let columns: &[usize] = if under_test.fast {
            &[
                1, 2, 3, 4, 6, 7, 8, 12, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 132, 256, 511,
                512, 600,
            ]
        } else {
            &[1, 2, 3, 4, 8, 12, 31, 32, 33, 64, 65, 66, 132]
        };
        for &columns in columns {
            for b_layout in LAYOUTS {
                for c_layout in LAYOUTS {
                    let gap = columns % 4 * 2;
                    Case { c_layout, gap, beta: 0.5, ..case(&a, columns, b_layout) }.check::<f64>(device);
                    Case { c_layout, ..case(&single, columns, b_layout) }.check::<f32>(device);
                }
            }
        }
    }
}

/// 16-bit values, with operands of the same type and of `f32`, and values of `f32` with operands of `f64`.
#[test]
fn values_and_wider_operands() {
    fn check<S: RealStorage + Multiplies<T>, T: SpmmOperand<S>>(device: &Device, long: usize) {
        let a: Csr<S> = with_row_lengths(long, &among_empty_rows(&[3, 0, 5, long, 17, 2, 30]));
        let wide: Csr<S, u64> = a.clone().try_into_offsets().expect("offsets fit");
        for columns in [1, 4, 7, 8, 16, 40, 72] {
            for layout in LAYOUTS {
                case(&a, columns, layout).check::<T>(device);
                Case { alpha: -1.5, beta: 0.75, gap: 8, ..case(&wide, columns, layout) }.check::<T>(device);
            }
        }
    }
    for under_test in devices() {
        check::<f16, f16>(&under_test.device, PIECE + 40);
        check::<f16, f32>(&under_test.device, PIECE + 40);
        check::<bf16, bf16>(&under_test.device, PIECE + 40);
        check::<bf16, f32>(&under_test.device, PIECE + 40);
        check::<f32, f64>(&under_test.device, PIECE + 40);
    }
}

/// A plan made for few columns processes more in passes, and one made for one layout accepts the other.
#[test]
fn plans_accept_other_operands_than_they_were_made_for() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f32> = with_row_lengths(600, &among_empty_rows(&[3, 600, 0, 40]));
        let matrix = device.upload(&a).expect("upload");
        for planned in [0, 1, 3, 8, 12, 1000] {
            let plan = matrix.plan_spmm(SpmmOptions::default().with_columns(planned)).expect("plan");
            for columns in [1, 5, 8, 29] {
                for layout in LAYOUTS {
                    Case { beta: 1.5, ..case(&a, columns, layout) }.check_plan(device, &plan);
                }
            }
        }
    }
}

#[test]
fn generated_matrices() {
    for under_test in devices() {
        let kinds = if under_test.fast {
            ["stencil5:100", "power-law:20000", "uniform:5000", "empty-rows:20000", "rmat:13"]
        } else {
            ["stencil5:20", "power-law:600", "uniform:300", "empty-rows:1000", "rmat:8"]
        };
        for kind in kinds {
            let a: Csr<f64> = generate(kind.parse().expect("a kind"), 1).expect("a matrix");
            for layout in LAYOUTS {
                case(&a, 16, layout).check::<f64>(&under_test.device);
                let a: Csr<f32, u64> = generate(kind.parse().expect("a kind"), 2).expect("a matrix");
                Case { alpha: -1.5, beta: 0.75, ..case(&a, 9, layout) }.check::<f32>(&under_test.device);
            }
        }
    }
}

/// Zero factors do not hide NaN; if β is zero, C is not read.
#[test]
fn nan_propagates() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> =
            Csr::from_triplets(4, 2, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, f64::NAN)]).expect("a matrix");
        let plan = device
            .upload(&a)
            .expect("upload")
            .plan_spmm(SpmmOptions::default().with_columns(2))
            .expect("plan");
        let values = device.upload(&[2.0, 2.0, f64::INFINITY, 1.0]).expect("upload");
        let b = DeviceDense::try_new(values, 2, 2, Layout::RowMajor).expect("a matrix");
        let run = |alpha, beta, c: f64| {
            let values = device.upload(&[c; 8]).expect("upload");
            let mut c = DeviceDense::try_new(values, 4, 2, Layout::RowMajor).expect("a matrix");
            plan.run(alpha, &b, beta, &mut c).expect("run");
            // Compare bits, for the sign of zero; all NaNs are equal.
            let bits = |c: f64| if c.is_nan() { u64::MAX } else { c.to_bits() };
            c.into_vec().download().expect("download").into_iter().map(bits).collect::<Vec<_>>()
        };
        let nan = u64::MAX;
        let [zero, one, two, four, six, inf] = [0.0, 1.0, 2.0, 4.0, 6.0, f64::INFINITY].map(f64::to_bits);
        assert_eq!(run(1.0, 0.0, f64::NAN), [two, two, inf, one, nan, nan, zero, zero], "{device}");
        assert_eq!(run(0.0, 3.0, 2.0), [six, six, nan, six, nan, nan, six, six], "{device}");
        assert_eq!(run(1.0, -0.0, f64::NAN)[6], zero, "{device}");
        assert_eq!(run(1.0, 1.0, 2.0), [four, four, inf, 3.0_f64.to_bits(), nan, nan, two, two], "{device}");
    }
}

#[test]
fn results_are_bitwise_repeatable() {
    for under_test in devices() {
        let size = if under_test.fast { 50_000 } else { 2_000 };
        let kind = format!("power-law:{size}").parse().expect("a kind");
        let a: Csr<f32> = generate(kind, 3).expect("a matrix");
        let device = &under_test.device;
        let runs: Vec<Vec<u32>> = (0..4)
            .map(|_| {
                let c = case(&a, 12, Layout::RowMajor).check::<f32>(device);
                c.into_iter().map(f32::to_bits).collect()
            })
            .collect();
        assert!(runs.iter().all(|run| run == &runs[0]), "{device}");
    }
}

#[test]
fn any_number_of_multiprocessors_works() {
    let a: Csr<f32> = generate("rmat:7".parse().expect("a kind"), 4).expect("a matrix");
    for under_test in devices() {
        for multiprocessors in [0, 1, u32::MAX] {
            let options = SpmmOptions::default().with_columns(5).with_multiprocessors(multiprocessors);
            let plan = under_test.device.upload(&a).expect("upload").plan_spmm(options).expect("plan");
            case(&a, 5, Layout::RowMajor).check_plan::<f32>(&under_test.device, &plan);
        }
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for under_test in devices() {
        let device = &under_test.device;
        let a: Csr<f64> = with_row_lengths(5, &[3, 0, 5]);
        let plan = device
            .upload(&a)
            .expect("upload")
            .plan_spmm(SpmmOptions::default().with_columns(2))
            .expect("plan");
        let dense = |rows: usize, cols: usize| {
            let values = device.upload(&vec![7.0; rows * cols]).expect("upload");
            DeviceDense::try_new(values, rows, cols, Layout::RowMajor).expect("a matrix")
        };
        let mut c = dense(3, 2);
        let error = plan.run(1.0, &dense(4, 2), 0.0, &mut c).expect_err("B has a row too few");
        assert!(matches!(error, OpError::Shape { operand: "B", rows: 4, needed_rows: 5, .. }), "{error}");
        let error = plan.run(1.0, &dense(5, 3), 0.0, &mut c).expect_err("C has a column too few");
        assert!(matches!(error, OpError::Shape { operand: "C", cols: 2, needed_cols: 3, .. }), "{error}");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.zeros_dense(5, 2, Layout::RowMajor).expect("zeros");
        let error = plan.run(1.0, &elsewhere, 0.0, &mut c).expect_err("B is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        assert_eq!(c.into_vec().download().expect("download"), [7.0; 6]);
    }
}

#[test]
fn unsuitable_vectors_are_returned() {
    let device = Device::cpu();
    let vec = device.upload(&[1.0_f32; 10]).expect("upload");
    let refused = DeviceDense::try_new(vec, 3, 3, Layout::RowMajor).expect_err("one too many");
    assert_eq!(refused.to_string(), "10 elements cannot hold a 3 x 3 matrix with leading dimension 3");
    let refused = DeviceDense::try_with_leading_dimension(refused.into_vec(), 4, 2, Layout::ColumnMajor, 3)
        .expect_err("columns overlap");
    assert_eq!(refused.to_string(), "leading dimension 3: a 4 x 2 matrix needs at least 4");
    let vec = refused.into_vec();
    assert_eq!(vec.download().expect("download"), [1.0; 10]);
    let refused = DeviceDense::try_with_leading_dimension(vec, 2, 3, Layout::RowMajor, usize::MAX)
        .expect_err("more than there is");
    let matrix = DeviceDense::try_with_leading_dimension(refused.into_vec(), 3, 2, Layout::RowMajor, 4)
        .expect("the last row needs no gap behind it");
    assert_eq!((matrix.nrows(), matrix.ncols(), matrix.leading_dimension()), (3, 2, 4));
}

#[test]
fn too_little_memory_is_an_error() {
    let device = Device::simulated(evenpath::device::SimulatedOptions::default().with_multiprocessors(1));
    let a: Csr<f64> = with_row_lengths(600, &[3, 600]);
    let matrix = device.upload(&a).expect("upload");
    let b = device.zeros_dense::<f64>(600, 16, Layout::ColumnMajor).expect("zeros");
    let mut c = device.zeros_dense(2, 16, Layout::RowMajor).expect("zeros");
    let plan = matrix.plan_spmm(SpmmOptions::default().with_columns(16)).expect("plan");
    device.set_memory_limit(Some(device.memory().expect("memory").in_use + 1000));
    let error = plan.run(1.0, &b, 0.0, &mut c).expect_err("no room for B by rows");
    assert!(matches!(error, OpError::Device(DeviceError::MemoryLimit { .. })), "{error}");
    let options = SpmmOptions::default().with_columns(16).with_layout(Layout::ColumnMajor);
    assert!(matrix.plan_spmm(options).is_err());
    device.set_memory_limit(None);
    plan.run(1.0, &b, 0.0, &mut c).expect("there is room now");
}

#[test]
fn a_plan_reports_its_choices() {
    for under_test in kernel_devices() {
        let a: Csr<f32> = with_row_lengths(600, &among_empty_rows(&[3, 600, 300, 0, PIECE + 1]));
        let matrix = under_test.device.upload(&a).expect("upload");
        let options =
            SpmmOptions::default().with_columns(8).with_layout(Layout::ColumnMajor).with_multiprocessors(1);
        let info = matrix.plan_spmm(options).expect("plan").info().expect("info");
        assert_eq!((info.long_rows, info.pieces, info.longest), (3, 10, 32));
        assert_eq!(info.longest_piece, PIECE as u32);
        assert_eq!(info.workspace_bytes, 10 * (12 + 8 * 8 + 4) + 600 * 8 * 4);
        assert!(
            info.to_string().contains("3 rows of more than 32 nonzeros in 10 pieces of up to 128"),
            "{info}"
        );
        // If no row takes many steps, none is cut: here with steps of one nonzero, of sixteen, and of 64, for
        // rows that have a block each.
        for (lengths, longest) in
            [(among_empty_rows(&[3, 32]), 32), (vec![90, 100, 70], 512), (vec![400, 500, 300], 2048)]
        {
            let a: Csr<f32> = with_row_lengths(600, &lengths);
            let matrix = under_test.device.upload(&a).expect("upload");
            let options = SpmmOptions::default().with_columns(8).with_multiprocessors(1);
            let info = matrix.plan_spmm(options).expect("plan").info().expect("info");
            assert_eq!((info.pieces, info.longest), (0, longest));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_structure(
        lengths in prop::collection::vec(prop_oneof![4 => 0..6usize, 2 => 0..60usize, 1 => 200..600usize], 0..30),
        columns in 0..70usize,
        layouts in (0..2usize, 0..2usize),
        gap in 0..9usize,
        beta in prop::sample::select(vec![0.0, 1.0, -0.5]),
    ) {
        let a: Csr<f64> = with_row_lengths(600, &lengths);
        let (b_layout, c_layout) = (LAYOUTS[layouts.0], LAYOUTS[layouts.1]);
        for under_test in devices() {
            Case { a: &a, columns, b_layout, c_layout, gap, alpha: 0.75, beta }.check::<f64>(&under_test.device);
        }
    }
}
