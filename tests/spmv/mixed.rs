//! SpMV of values in `f32` with vectors, factors and sums in `f64`, with and without a plan, on every device.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::generate;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceSlice, Factor, Offset};
use evenpath_kernels::spmv::{MergeSearchTile, MergeTile};
use evenpath_tests::{
    DeviceUnderTest, WAYS, devices, spmv as oracle, tile_len, unlike_devices, vector, ways, with_row_lengths,
};
use proptest::prelude::*;

/// Computes y = αAx + βy without a plan, or by a plan with a method.
fn multiply<'f, O: Offset>(
    a: &DeviceCsr<f32, O>,
    method: Option<SpmvMethod>,
    (alpha, x): (impl Into<Factor<'f, f64>>, &DeviceSlice<f64>),
    (beta, y): (impl Into<Factor<'f, f64>>, &mut DeviceSlice<f64>),
) -> Result<(), OpError> {
    match method {
        None => a.spmv_mixed(alpha, x, beta, y),
        Some(method) => a.plan_spmv_mixed(SpmvOptions::default().with_method(method))?.run(alpha, x, beta, y),
    }
}

/// Multiplies in every way, with y filled with NaN if β is zero, and compares with the oracle, whose bound is that of sums in f64.
fn check<O: Offset>(device: &Device, a: &Csr<f32, O>, alpha: f64, beta: f64) {
    let x: Vec<f64> = vector(a.ncols());
    let mut y: Vec<f64> = vector(a.nrows());
    let expected = oracle(a, alpha, &x, beta, &y);
    if beta == 0.0 {
        y.fill(f64::NAN);
    }
    let matrix = device.upload(a).expect("upload");
    let x = device.upload(&x).expect("upload");
    for method in ways(device) {
        let mut y = device.upload(&y).expect("upload");
        multiply(&matrix, method, (alpha, &x), (beta, &mut y)).expect("a product");
        if let Err(difference) = expected.check(&y.download().expect("download")) {
            panic!("{device}, {a:?}, {method:?}, {alpha}, {beta}: {difference}");
        }
    }
}

fn tile() -> usize {
    tile_len::<MergeSearchTile<f32, f64, u32>>()
}

fn check_lengths(device: &Device, cols: usize, lengths: &[usize]) {
    for (alpha, beta) in [(1.0, 0.0), (-0.5, 1.0), (0.0, 3.0)] {
        check(device, &with_row_lengths::<f32, u32>(cols, lengths), alpha, beta);
    }
    check(device, &with_row_lengths::<f32, u64>(cols, lengths), 1.5, 0.5);
}

#[test]
fn plans_and_single_products_have_tiles_of_one_length() {
    assert_eq!(tile(), tile_len::<MergeTile<f32, f64, u32>>());
    assert_eq!(tile(), tile_len::<MergeTile<f64, f64, u32>>());
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        check_lengths(&device, 0, &[]);
        check_lengths(&device, 5, &[]);
        check_lengths(&device, 0, &[0; 7]);
        check_lengths(&device, 5, &vec![0; 2500]);
        check_lengths(&device, 1, &[1]);
        check_lengths(&device, 4, &[0, 3, 0, 0, 4, 1, 0]);
        check_lengths(&device, 3000, &[3000]);
        check_lengths(&device, 1, &vec![1; 3000]);
        check_lengths(&device, 20_000, &[1, 20_000, 0, 2, 20_000]);
    }
}

#[test]
fn sizes_around_tile_edges() {
    let tile = tile();
    for DeviceUnderTest { device, .. } in devices() {
        for items in [tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1] {
            check(&device, &with_row_lengths::<f32, u32>(items, &[items - 1]), 1.0, 0.0);
            check(&device, &with_row_lengths::<f32, u32>(9, &vec![0; items]), 1.0, 2.0);
            check(&device, &with_row_lengths::<f32, u64>(items, &vec![1; items / 2]), 1.0, 2.0);
        }
        let long = 20 * tile;
        check(&device, &with_row_lengths::<f32, u32>(long, &[3, long - 1, tile - 1, long, 0]), 1.5, -0.5);
    }
}

#[test]
fn generated_matrices() {
    for DeviceUnderTest { device, fast } in devices() {
        let kinds = if fast {
            ["stencil5:300", "power-law:50000", "empty-rows:100000"]
        } else {
            ["stencil5:40", "power-law:3000", "empty-rows:8000"]
        };
        for kind in kinds {
            check::<u32>(&device, &generate(kind.parse().expect("a kind"), 1).expect("a matrix"), 1.0, 0.25);
        }
    }
}

/// 1 + 2⁻³⁰ + 2⁻³⁰ + … has digits that f32 has not. Terms are in one thread's share, in several of a tile's, and in several tiles.
#[test]
fn sums_are_double() {
    let small = 2.0_f32.powi(-30);
    for DeviceUnderTest { device, .. } in devices() {
        for small_terms in [1, 3, 40, 700, 3000] {
            let row = |row: usize| {
                let rest = (1..=small_terms).map(move |column| (row, column, small));
                [(row, 0, 1.0)].into_iter().chain(rest)
            };
            let a: Csr<f32> = Csr::from_triplets(3, small_terms + 1, (0..3).flat_map(row)).expect("inside");
            let host = {
                let mut y = [f64::NAN; 3];
                a.spmv_mixed(1.0, &vec![1.0; small_terms + 1], 0.0, &mut y).expect("a product");
                y
            };
            let a = device.upload(&a).expect("upload");
            let x = device.upload(&vec![1.0; small_terms + 1]).expect("upload");
            let expected = [1.0 + small_terms as f64 * f64::from(small); 3];
            assert_eq!(host.to_vec(), expected, "in host memory");
            for method in ways(&device) {
                let mut y = device.zeros(3).expect("memory");
                multiply(&a, method, (1.0, &x), (0.0, &mut y)).expect("a product");
                assert_eq!(y.download().expect("download"), expected, "{device}, {method:?}, {small_terms}");
            }
        }
        // Factors, x and y have digits that f32 has not.
        let a = device.upload(&Csr::from_triplets(1, 1, [(0, 0, 3.0_f32)]).expect("inside")).expect("upload");
        let exact = 1.0 + 2.0_f64.powi(-24);
        let x = device.upload(&[exact]).expect("upload");
        for method in ways(&device) {
            let mut y = device.upload(&[exact]).expect("upload");
            multiply(&a, method, (exact, &x), (2.0 * exact, &mut y)).expect("a product");
            assert_eq!(y.download().expect("download"), [5.0 * exact * exact], "{device}, {method:?}");
        }
    }
}

#[test]
fn same_bits_in_every_run_and_on_all_gpus() {
    let a: Csr<f32> = generate("power-law:3000".parse().expect("a kind"), 3).expect("a matrix");
    let bits_on = |device: &Device| -> Vec<Vec<u64>> {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f64>(a.ncols())).expect("upload");
        let product = |method| {
            let mut y = device.zeros(a.nrows()).expect("zeros");
            multiply(&matrix, method, (1.25, &x), (0.0, &mut y)).expect("a product");
            y.download().expect("download").into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let first: Vec<_> = ways(device).map(product).collect();
        assert!(ways(device).map(product).eq(first.iter().cloned()), "{device}");
        first
    };
    bits_on(&Device::cpu());
    let all: Vec<_> = unlike_devices().into_iter().map(|one| (bits_on(&one.device), one.device)).collect();
    for (bits, device) in &all {
        assert!(*bits == all[0].0, "{device} differs from {}", all[0].1);
    }
}

/// A part without nonzeros is not multiplied by an infinite factor, which would give NaN.
#[test]
fn infinite_factors() {
    // The CPU has tiles of 16,384.
    let (tile, of_cpu) = (tile(), 1 << 14);
    for DeviceUnderTest { device, .. } in devices() {
        for lengths in
            [[tile, 2, tile - 5, 3], [tile - 1, tile - 1, tile, 1], [of_cpu, 2, 5, 3], [9, of_cpu - 10, 2, 3]]
        {
            let mut a: Csr<f32> = with_row_lengths(of_cpu, &lengths);
            a.values_mut().iter_mut().for_each(|value| *value = value.abs() + 1.0);
            let matrix = device.upload(&a).expect("upload");
            let x = device.upload(&vec![1.0; of_cpu]).expect("upload");
            for method in ways(&device) {
                let mut y = device.upload(&[f64::NAN; 4]).expect("upload");
                multiply(&matrix, method, (f64::INFINITY, &x), (0.0, &mut y)).expect("a product");
                assert_eq!(y.download().expect("download"), [f64::INFINITY; 4], "{device}, {method:?}");
            }
        }
    }
}

#[test]
fn factors_on_the_device_and_new_values() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<f32> = with_row_lengths(50, &[3, 2 * tile(), 0, 7]);
        let old = [1.0, 2.0, 3.0, 4.0];
        let x = device.upload(&vector::<f64>(50)).expect("upload");
        let factors = device.upload(&[2.0, 0.5]).expect("upload");
        let (alpha, beta) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        for method in ways(&device) {
            let matrix = device.upload(&a).expect("upload");
            let expected = oracle(&a, 2.0, &vector::<f64>(50), 0.5, &old);
            let mut y = device.upload(&old).expect("upload");
            multiply(&matrix, method, (&alpha, &x), (&beta, &mut y)).expect("a product");
            assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}, {method:?}");

            let mut ones = a.clone();
            ones.values_mut().fill(1.0);
            matrix.set_values(ones.values()).expect("as many values as nonzeros");
            let expected = oracle(&ones, 1.0, &vector::<f64>(50), 0.0, &old);
            multiply(&matrix, method, (1.0, &x), (0.0, &mut y)).expect("a product");
            assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}, {method:?}");
        }
    }
}

/// Vectors that begin anywhere: nothing around y is written, and bits do not depend on it.
#[test]
fn slices_at_any_address() {
    const SPARE: usize = 3;
    let a: Csr<f32> = with_row_lengths(900, &[vec![3, 0, 900, 17], vec![2; 700]].concat());
    let (x, y) = (vector::<f64>(a.ncols()), vector::<f64>(a.nrows()));
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        for method in ways(&device) {
            let product = |start: usize| {
                let around = |values: &[f64]| {
                    let spare = [7.0; SPARE];
                    device.upload(&[&spare[..start], values, &spare[start..]].concat()).expect("upload")
                };
                let (x, mut y) = (around(&x), around(&y));
                let (in_x, in_y) = (start..start + a.ncols(), start..start + a.nrows());
                let x = x.slice(in_x).expect("inside");
                let mut part = y.slice_mut(in_y.clone()).expect("inside");
                multiply(&matrix, method, (1.5, &x), (0.5, &mut part)).expect("a product");
                drop(part);
                let mut found = y.download().expect("download");
                let product: Vec<f64> = found.drain(in_y).collect();
                assert_eq!(found, [7.0; SPARE], "{device}, {method:?}, from {start}");
                product
            };
            let expected = product(0);
            assert!((1..=SPARE).all(|start| product(start) == expected), "{device}, {method:?}");
        }
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&with_row_lengths::<f32, u32>(5, &[3, 0, 5])).expect("upload");
        let x = device.upload(&[1.0; 5]).expect("upload");
        let short = device.upload(&[1.0; 4]).expect("upload");
        let mut y = device.upload(&[7.0; 3]).expect("upload");
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[1.0; 5]).expect("upload");
        for method in ways(&device) {
            let error = multiply(&matrix, method, (1.0, &short), (0.0, &mut y)).expect_err("x is short");
            assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }), "{error}");
            let error = multiply(&matrix, method, (&short, &x), (0.0, &mut y)).expect_err("alpha is long");
            assert!(matches!(error, OpError::Length { operand: "alpha", len: 4, needed: 1 }), "{error}");
            let error = multiply(&matrix, method, (1.0, &elsewhere), (0.0, &mut y)).expect_err("elsewhere");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        }
        assert_eq!(y.download().expect("download"), [7.0; 3]);
    }
}

#[test]
fn plans_say_their_method_and_refuse_others() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&with_row_lengths::<f32, u32>(5, &[3, 0, 5])).expect("upload");
        for method in SpmvMethod::ALL {
            let plan = a.plan_spmv_mixed::<f64>(SpmvOptions::default().with_method(method));
            let is_known = WAYS.contains(&Some(method));
            match plan {
                Ok(plan) => {
                    assert!(is_known && method.runs_on(device.kind()), "{method}");
                    let info = plan.info().expect("info");
                    assert!(info.method != SpmvMethod::Auto && WAYS.contains(&Some(info.method)), "{info}");
                    assert_eq!(info.tile.is_some(), device.kind() != DeviceKind::Cpu, "{info}");
                    let chosen = a.plan_spmv_mixed::<f64>(info.options()).expect("the same plan");
                    assert_eq!(chosen.info().expect("info").method, info.method);
                }
                Err(OpError::UnsupportedMethod { .. }) => assert!(!method.runs_on(device.kind()), "{method}"),
                Err(error @ OpError::MethodOfVectors { .. }) => {
                    assert!(!is_known && method.runs_on(device.kind()), "{method}");
                    let start = format!(
                        "SpMV by `{method}` does not support values of f32 with vectors of f64; `merge-path` "
                    );
                    assert!(error.to_string().starts_with(&start), "{error}");
                }
                Err(error) => panic!("{method}: {error}"),
            }
        }
    }
}

/// With vectors of the matrix's own type, a GPU has the bits of the plain product.
#[test]
fn vectors_of_the_same_type_are_multiplied_as_without_the_name() {
    let a: Csr<f32> = generate("power-law:3000".parse().expect("a kind"), 4).expect("a matrix");
    for DeviceUnderTest { device, .. } in
        devices().into_iter().filter(|one| one.device.kind() != DeviceKind::Cpu)
    {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&vector::<f32>(a.ncols())).expect("upload");
        let (mut plain, mut mixed) =
            (device.zeros(a.nrows()).expect("zeros"), device.zeros(a.nrows()).expect("zeros"));
        matrix.spmv(1.5, &x, 0.0, &mut plain).expect("a product");
        matrix.spmv_mixed(1.5, &x, 0.0, &mut mixed).expect("a product");
        assert_eq!(plain.download().expect("download"), mixed.download().expect("download"), "{device}");
    }
}

#[test]
fn products_in_host_memory() {
    let a: Csr<f32> = with_row_lengths(3000, &[vec![3, 0, 3000, 17], vec![2; 7000]].concat());
    let (x, mut y) = (vector::<f64>(a.ncols()), vector::<f64>(a.nrows()));
    let expected = oracle(&a, 1.5, &x, -0.5, &y);
    a.spmv_mixed(1.5, &x, -0.5, &mut y).expect("a product");
    assert_eq!(expected.check(&y), Ok(()));
    let error = a.spmv_mixed(1.5, &x[1..], 0.0, &mut y).expect_err("x is short");
    assert!(matches!(error, OpError::Length { operand: "x", len: 2999, needed: 3000 }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_rows(lengths in evenpath_tests::row_lengths(2000, 150), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        for DeviceUnderTest { device, .. } in devices() {
            check(&device, &with_row_lengths::<f32, u32>(2000, &lengths), alpha, beta);
            check(&device, &with_row_lengths::<f32, u64>(2000, &lengths), alpha, beta);
        }
    }
}
