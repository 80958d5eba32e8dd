//! Products of dense matrices at the nonzeros of a sparse one, on every device.

use evenpath::error::{DeviceError, OpError};
use evenpath::generate::generate;
use evenpath::spmv::{SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceDense, Layout, Offset, RealStorage, Value, bf16, f16};
use evenpath_kernels::sddmm::Sddmm;
use evenpath_tests::{
    DeviceUnderTest, HostDense, device_of_each_kind, devices, odd_row_lengths, sddmm as oracle, tile_len,
    with_row_lengths,
};
use proptest::prelude::*;

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

/// A product of A with `inner` columns, and B, with gaps between their rows or columns.
#[derive(Debug, Clone, Copy)]
struct Product {
    inner: usize,
    a_layout: Layout,
    b_layout: Layout,
    gap: usize,
    alpha: f64,
    beta: f64,
}

/// A matrix whose elements do not depend on its layout, with gaps of NaN.
fn dense<T: RealStorage>(rows: usize, cols: usize, layout: Layout, gap: usize) -> HostDense<T> {
    let mut matrix = HostDense::new(rows, cols, layout, gap);
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let place = matrix.place(row, col);
        matrix.values[place] = T::from_f64(((row * 7919 + col * 613 + 13) % 1009) as f64 / 504.0 - 1.0);
    }
    matrix
}

/// A product with neighbors in rows of A and columns of B.
fn product(inner: usize) -> Product {
    let (a_layout, b_layout) = (Layout::RowMajor, Layout::ColumnMajor);
    Product { inner, a_layout, b_layout, gap: 0, alpha: 1.0, beta: 0.0 }
}

impl Product {
    /// Runs the product for the pattern and values of `c`, or NaN if β is zero, and checks it.
    fn check<T: RealStorage<Computed = V>, V: Value, O: Offset>(
        self,
        device: &Device,
        c: &Csr<V, O>,
    ) -> Vec<V> {
        let Self { inner, a_layout, b_layout, gap, alpha, beta } = self;
        let a = dense::<T>(c.nrows(), inner, a_layout, gap);
        let b = dense::<T>(inner, c.ncols(), b_layout, gap);
        let on_device = device.upload(c).expect("upload");
        if beta == 0.0 {
            on_device.set_values(&vec![V::from_f64(f64::NAN); c.nnz()]).expect("values");
        }
        let plan = on_device.plan_sddmm().expect("plan");
        plan.run(V::from_f64(alpha), &a.upload(device), &b.upload(device), V::from_f64(beta)).expect("run");
        let found = on_device.values().download().expect("download");
        let expected = oracle(c, alpha, |row| a.row(row), |column| b.column(column), beta);
        if let Err(difference) = expected.check(&found) {
            panic!("{device}, {c:?}, {self:?} of {}: {difference}", T::NAME);
        }
        found
    }
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        for (cols, lengths) in odd_row_lengths() {
            let c: Csr<f64> = with_row_lengths(cols, &lengths);
            let wide: Csr<f32, u64> = with_row_lengths(cols, &lengths);
            for inner in [0, 1, 6] {
                product(inner).check::<f64, _, _>(&device, &c);
                Product { alpha: -0.5, beta: 1.5, ..product(inner) }.check::<f32, _, _>(&device, &wide);
            }
        }
    }
}

/// From one term to more than a chunk per lane of a warp, aligned and not, in every layout.
#[test]
fn any_number_of_terms() {
    for DeviceUnderTest { device, fast } in devices() {
        let c: Csr<f64> = with_row_lengths(50, &[3, 0, 5, 1, 17, 2, 50, 4, 0, 9]);
        let single: Csr<f32> = c.clone().into_values();
        let terms: &[usize] = if fast {
            &[1, 2, 3, 4, 7, 8, 12, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 256, 257, 512, 600]
        } else {
            &[1, 2, 4, 7, 8, 31, 32, 64, 65, 128, 132, 260]
        };
        for &inner in terms {
            for a_layout in LAYOUTS {
                for b_layout in LAYOUTS {
                    let product = Product { a_layout, b_layout, beta: 0.5, ..product(inner) };
                    let gap = inner % 3 * 2;
                    Product { gap, ..product }.check::<f64, _, _>(&device, &c);
                    product.check::<f32, _, _>(&device, &single);
                }
            }
        }
    }
}

#[test]
fn half_precision() {
    for DeviceUnderTest { device, .. } in devices() {
        let c: Csr<f32> = with_row_lengths(40, &[3, 0, 5, 40, 17, 2, 30]);
        let wide: Csr<f32, u64> = c.clone().try_into_offsets().expect("offsets fit");
        for inner in [1, 8, 20, 64, 264] {
            for b_layout in LAYOUTS {
                let product = Product { b_layout, alpha: -1.5, beta: 0.75, ..product(inner) };
                product.check::<f16, _, _>(&device, &c);
                Product { gap: 8, ..product }.check::<bf16, _, _>(&device, &wide);
            }
        }
    }
}

/// Numbers of nonzeros around the length of a tile, in one row, in many, and with rows that tiles cut. Where they are few, tiles are
/// shorter.
#[test]
fn any_number_of_nonzeros() {
    let tile = tile_len::<Sddmm<f64, u32>>();
    for DeviceUnderTest { device, .. } in devices() {
        for nonzeros in [tile - 2, tile - 1, tile, tile + 1, 3 * tile + 5, 20 * tile + 5] {
            for lengths in [vec![nonzeros], vec![nonzeros / 2, 0, nonzeros - nonzeros / 2], vec![1; nonzeros]]
            {
                let c: Csr<f64> = with_row_lengths(21 * tile, &lengths);
                product(2).check::<f64, _, _>(&device, &c);
            }
        }
        for kind in ["power-law:300", "empty-rows:500", "rmat:7"] {
            let c: Csr<f32> = generate(kind.parse().expect("a kind"), 1).expect("a matrix");
            Product { beta: -1.0, ..product(36) }.check::<f32, _, _>(&device, &c);
        }
    }
}

/// Layouts and gaps do not change the order of sums, nor do other runs.
#[test]
fn results_are_the_same_to_the_last_bit() {
    for DeviceUnderTest { device, .. } in devices() {
        let c: Csr<f32> = generate("rmat:6".parse().expect("a kind"), 2).expect("a matrix");
        for inner in [32, 132] {
            let results = LAYOUTS.into_iter().flat_map(|a_layout| {
                LAYOUTS.into_iter().flat_map(move |b_layout| {
                    [0, 3, 4].map(|gap| Product { a_layout, b_layout, gap, beta: 1.0, ..product(inner) })
                })
            });
            let bits: Vec<Vec<u32>> = results
                .map(|product| {
                    product.check::<f32, _, _>(&device, &c).into_iter().map(f32::to_bits).collect()
                })
                .collect();
            assert!(bits.iter().all(|run| run == &bits[0]), "{device}");
        }
    }
}

/// Columns in any order, which repeat.
#[test]
fn patterns_need_not_be_canonical() {
    for DeviceUnderTest { device, .. } in devices() {
        let c = Csr::try_new(2, 4, vec![0_u32, 3, 5], vec![3, 0, 3, 2, 1], vec![1.0; 5]).expect("valid");
        Product { beta: 2.0, ..product(5) }.check::<f64, _, _>(&device, &c);
    }
}

/// Zero factors do not hide NaN; if β is zero, values are not read.
#[test]
fn nan_propagates() {
    for DeviceUnderTest { device, .. } in devices() {
        let c = device
            .upload(&Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 2.0)]).expect("valid"))
            .expect("upload");
        let plan = c.plan_sddmm().expect("plan");
        let dense = |values: [f64; 2], rows, layout| {
            DeviceDense::try_new(device.upload(&values).expect("upload"), rows, 2 / rows, layout)
                .expect("a matrix")
        };
        let a = dense([f64::INFINITY, 3.0], 2, Layout::RowMajor);
        let b = dense([1.0, 2.0], 1, Layout::ColumnMajor);
        plan.run(0.0, &a, &b, 1.0).expect("run");
        let values = c.values().download().expect("download");
        assert!(values[0].is_nan() && values[1].to_bits() == 2.0_f64.to_bits(), "{device}: {values:?}");
        plan.run(1.0, &a, &b, -0.0).expect("run");
        assert_eq!(c.values().download().expect("download"), [f64::INFINITY, 6.0], "{device}");
    }
}

/// Factors in device memory, plans that follow, and graphs.
#[test]
fn plans_and_graphs_follow() {
    for device in device_of_each_kind() {
        let c: Csr<f64> = with_row_lengths(40, &[3, 0, 40, 7, 1]);
        let on_device = device.upload(&c).expect("upload");
        let options = SpmvTransposedOptions::default().with_method(SpmvTransposedMethod::Copied);
        let copied = on_device.plan_spmv_transposed(options).expect("plan");
        let plain = on_device.plan_spmv(SpmvOptions::default()).expect("plan");
        let plan = on_device.plan_sddmm().expect("plan");
        // Both are copied.
        let a = dense::<f64>(5, 6, Layout::ColumnMajor, 0);
        let b = dense::<f64>(6, 40, Layout::RowMajor, 1);
        let (on_a, on_b) = (a.upload(&device), b.upload(&device));
        let factors = device.upload(&[0.5, -2.0]).expect("upload");
        let (alpha, beta) = (factors.slice(..1).expect("a part"), factors.slice(1..).expect("a part"));
        let (fives, forties) =
            (device.upload(&[1.0; 5]).expect("upload"), device.upload(&[1.0; 40]).expect("upload"));
        let (mut y, mut z) = (device.zeros(40).expect("zeros"), device.zeros(5).expect("zeros"));
        let mut expected = c;
        let mut check = || {
            let product = oracle(&expected, 0.5, |row| a.row(row), |column| b.column(column), -2.0);
            let found = on_device.values().download().expect("download");
            product.check(&found).expect("the product");
            expected.values_mut().copy_from_slice(&found);
            copied.run(1.0, &fives, 0.0, &mut y).expect("run");
            plain.run(1.0, &forties, 0.0, &mut z).expect("run");
            let close = |sums: Vec<f64>, lines: &Csr<f64>| {
                for (row, sum) in lines.iter_rows().zip(sums) {
                    let exact: f64 = row.values().iter().sum();
                    assert!((sum - exact).abs() < 1e-9, "{sum}, not {exact}, on {device}");
                }
            };
            close(y.download().expect("download"), &expected.transpose().expect("memory"));
            close(z.download().expect("download"), &expected);
        };
        plan.run(&alpha, &on_a, &on_b, &beta).expect("run");
        check();
        let mut graph = device.capture((), |()| plan.run(&alpha, &on_a, &on_b, &beta)).expect("a graph");
        for _ in 0..2 {
            graph.launch().expect("a launch");
            check();
        }
    }
}

#[test]
fn refused_operands_leave_values_unchanged() {
    for device in device_of_each_kind() {
        let c = device
            .upload(&Csr::from_triplets(2, 3, [(0, 2, 7.0), (1, 0, 8.0)]).expect("valid"))
            .expect("upload");
        let plan = c.plan_sddmm().expect("plan");
        let dense = |rows, cols| device.zeros_dense::<f64>(rows, cols, Layout::RowMajor).expect("zeros");
        let error = plan.run(1.0, &dense(3, 4), &dense(4, 3), 0.0).expect_err("A has a row too many");
        assert!(matches!(error, OpError::Shape { operand: "A", rows: 3, needed_rows: 2, .. }), "{error}");
        let error = plan.run(1.0, &dense(2, 4), &dense(5, 3), 0.0).expect_err("B has a row too many");
        assert!(matches!(error, OpError::Shape { operand: "B", rows: 5, needed_rows: 4, .. }), "{error}");
        let error = plan.run(1.0, &dense(2, 4), &dense(4, 2), 0.0).expect_err("B has a column too few");
        assert!(matches!(error, OpError::Shape { operand: "B", cols: 2, needed_cols: 3, .. }), "{error}");
        let two = device.upload(&[1.0, 2.0]).expect("upload");
        let error = plan.run(&two, &dense(2, 4), &dense(4, 3), 0.0).expect_err("two factors");
        assert!(matches!(error, OpError::Length { operand: "alpha", len: 2, needed: 1 }), "{error}");
        let other = Device::simulated(evenpath::device::SimulatedOptions::default());
        let elsewhere = other.zeros_dense(4, 3, Layout::RowMajor).expect("zeros");
        let error = plan.run(1.0, &dense(2, 4), &elsewhere, 0.0).expect_err("B is elsewhere");
        assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        let borrowed = c.values();
        let error = plan.run(1.0, &dense(2, 4), &dense(4, 3), 0.0).expect_err("the values are borrowed");
        assert!(matches!(error, OpError::ValuesBorrowed), "{error}");
        assert_eq!(borrowed.download().expect("download"), [7.0, 8.0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_structure(
        lengths in prop::collection::vec(prop_oneof![4 => 0..6_usize, 2 => 0..40_usize, 1 => 200..600_usize], 0..20),
        inner in 0..40_usize,
        layouts in (0..2_usize, 0..2_usize),
        gap in 0..5_usize,
        beta in prop::sample::select(vec![0.0, 1.0, -0.5]),
    ) {
        let c: Csr<f64> = with_row_lengths(600, &lengths);
        let (a_layout, b_layout) = (LAYOUTS[layouts.0], LAYOUTS[layouts.1]);
        for DeviceUnderTest { device, .. } in devices() {
            Product { inner, a_layout, b_layout, gap, alpha: 0.75, beta }.check::<f64, _, _>(&device, &c);
        }
    }
}
