//! SpMV of complex values, with and without a plan, on every device.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Complex, Csr, Device, DeviceCsr, DeviceSlice, Factor, Offset};
use evenpath_kernels::spmv::{MergeSearchTile, MergeTile};
use evenpath_tests::{
    ComplexValue, DeviceUnderTest, complex, complex_rows, complex_spmv as oracle, complex_vector, devices,
    tile_len, unlike_devices,
};
use proptest::prelude::*;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// The methods of complex values.
const METHODS: [SpmvMethod; 12] = [
    SpmvMethod::Scalar,
    SpmvMethod::Vector { lanes: None },
    SpmvMethod::Warp,
    SpmvMethod::Block,
    SpmvMethod::Flat,
    SpmvMethod::MergePath,
    SpmvMethod::CsrAdaptive { block_size: None },
    SpmvMethod::RowParallel,
    SpmvMethod::RowBlocks,
    SpmvMethod::RowTiles,
    SpmvMethod::Binned,
    SpmvMethod::SlicedEll,
];

/// Ways to multiply on a device: without a plan, by the plan's choice, and by each method.
fn ways(device: &Device) -> impl Iterator<Item = Option<SpmvMethod>> + use<> {
    let kind = device.kind();
    let methods = METHODS.into_iter().filter(move |method| method.runs_on(kind));
    [None, Some(SpmvMethod::Auto)].into_iter().chain(methods.map(Some))
}

/// Computes y = αAx + βy without a plan, or by a plan with a method.
fn multiply<'f, V: ComplexValue, O: Offset>(
    a: &DeviceCsr<V, O>,
    method: Option<SpmvMethod>,
    (alpha, x): (impl Into<Factor<'f, V>>, &DeviceSlice<V>),
    (beta, y): (impl Into<Factor<'f, V>>, &mut DeviceSlice<V>),
) -> Result<(), OpError> {
    match method {
        None => a.spmv(alpha, x, beta, y),
        Some(method) => a.plan_spmv(SpmvOptions::default().with_method(method))?.run(alpha, x, beta, y),
    }
}

/// Multiplies in every way.
fn check<V: ComplexValue, O: Offset>(device: &Device, a: &Csr<V, O>, alpha: V, beta: V) {
    check_in(ways(device), device, a, (alpha, beta));
}

/// Multiplies in some ways, with y filled with NaN if β is zero, and compares with the oracle.
fn check_in<V: ComplexValue, O: Offset>(
    ways: impl Iterator<Item = Option<SpmvMethod>>,
    device: &Device,
    a: &Csr<V, O>,
    (alpha, beta): (V, V),
) {
    let x: Vec<V> = complex_vector(a.ncols(), 1);
    let mut y: Vec<V> = complex_vector(a.nrows(), 2);
    let expected = oracle(a, (alpha, &x), (beta, &y));
    if beta == V::ZERO {
        y.fill(complex(f64::NAN, f64::NAN));
    }
    let matrix = device.upload(a).expect("upload");
    let x = device.upload(&x).expect("upload");
    for method in ways {
        let mut y = device.upload(&y).expect("upload");
        multiply(&matrix, method, (alpha, &x), (beta, &mut y)).expect("a product");
        if let Err(difference) = expected.check(&y.download().expect("download")) {
            panic!("{device}, {a:?}, {method:?}, {alpha}, {beta}: {difference}");
        }
    }
}

fn check_type<V: ComplexValue>(device: &Device, cols: usize, lengths: &[usize]) {
    for (alpha, beta) in [((1.0, 0.0), (0.0, 0.0)), ((-0.5, 2.0), (0.0, 1.0)), ((0.0, 0.0), (3.0, -1.0))] {
        let (alpha, beta) = (complex(alpha.0, alpha.1), complex(beta.0, beta.1));
        check(device, &complex_rows::<V, u32>(cols, lengths), alpha, beta);
    }
    check(device, &complex_rows::<V, u64>(cols, lengths), complex(0.0, 1.0), complex(0.5, 0.0));
}

fn check_lengths(device: &Device, cols: usize, lengths: &[usize]) {
    check_type::<C32>(device, cols, lengths);
    check_type::<C64>(device, cols, lengths);
}

#[test]
fn plans_and_single_products_have_tiles_of_one_length() {
    assert_eq!(tile_len::<MergeSearchTile<C32, C32, u32>>(), tile_len::<MergeTile<C32, C32, u32>>());
    assert_eq!(tile_len::<MergeSearchTile<C64, C64, u64>>(), tile_len::<MergeTile<C64, C64, u64>>());
}

#[test]
fn odd_shapes() {
    for DeviceUnderTest { device, .. } in devices() {
        check_lengths(&device, 0, &[]);
        check_lengths(&device, 5, &[]);
        check_lengths(&device, 0, &[0; 7]);
        check_lengths(&device, 5, &vec![0; 1200]);
        check_lengths(&device, 1, &[1]);
        check_lengths(&device, 4, &[0, 3, 0, 0, 4, 1, 0]);
        check_lengths(&device, 1, &vec![1; 1500]);
    }
}

#[test]
fn rows_that_tiles_cut() {
    for DeviceUnderTest { device, .. } in devices() {
        for tile in [tile_len::<MergeTile<C32, C32, u32>>(), tile_len::<MergeTile<C64, C64, u32>>()] {
            for items in [tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1] {
                check_lengths(&device, items, &[items - 1]);
            }
            check_lengths(&device, 3 * tile, &[3, 3 * tile - 1, tile - 1, 2 * tile, 0]);
        }
        // More tiles than a warp adds up, and more padding than sliced ELL has.
        let lengths = [1, 70 * tile_len::<MergeTile<C64, C64, u32>>(), 2];
        let a = complex_rows::<C64, u32>(70_000, &lengths);
        let ways = ways(&device).filter(|method| *method != Some(SpmvMethod::SlicedEll));
        check_in(ways, &device, &a, (complex(1.0, 0.5), complex(0.0, 0.0)));
        if device.kind() != DeviceKind::Cpu {
            let options = SpmvOptions::default().with_method(SpmvMethod::SlicedEll);
            let refused = device.upload(&a).expect("upload").plan_spmv(options);
            assert!(matches!(refused, Err(OpError::RowTooLong { .. })), "{device}");
        }
    }
}

#[test]
fn duplicates_and_unsorted_columns_are_summed() {
    let i = C64::new(0.0, 1.0);
    let columns = vec![2, 0, 2, 1, 1];
    let values = vec![i, C64::new(2.0, 0.0), i, C64::new(0.0, 3.0), C64::new(4.0, 1.0)];
    let a: Csr<C64> = Csr::try_new(2, 3, vec![0, 3, 5], columns, values).expect("valid");
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&[C64::new(1.0, 1.0), i, C64::new(10.0, 0.0)]).expect("upload");
        for method in ways(&device) {
            let mut y = device.zeros(2).expect("zeros");
            multiply(&matrix, method, (C64::new(1.0, 0.0), &x), (C64::ZERO, &mut y)).expect("a product");
            let expected = [C64::new(2.0, 22.0), C64::new(-4.0, 4.0)];
            assert_eq!(y.download().expect("download"), expected, "{device}, {method:?}");
        }
    }
}

#[test]
fn same_bits_in_every_run_and_on_all_gpus() {
    let a: Csr<C64> = complex_rows(2000, &[vec![3, 0, 2000, 17], vec![2; 700]].concat());
    // Choices that depend on the device, set.
    let ways = |device: &Device| {
        ways(device).filter(|method| *method != Some(SpmvMethod::Auto)).map(|method| match method {
            Some(SpmvMethod::Vector { .. }) => Some(SpmvMethod::Vector { lanes: Some(4) }),
            other => other,
        })
    };
    let bits_on = |device: &Device| -> Vec<Vec<[u64; 2]>> {
        let matrix = device.upload(&a).expect("upload");
        let x = device.upload(&complex_vector::<C64>(a.ncols(), 3)).expect("upload");
        let product = |method| {
            let mut y = device.zeros(a.nrows()).expect("zeros");
            multiply(&matrix, method, (C64::new(1.25, 0.5), &x), (C64::ZERO, &mut y)).expect("a product");
            let bits = |y: C64| [y.re.to_bits(), y.im.to_bits()];
            y.download().expect("download").into_iter().map(bits).collect::<Vec<_>>()
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

#[test]
fn factors_on_the_device_and_new_values() {
    for DeviceUnderTest { device, .. } in devices() {
        let a: Csr<C32> = complex_rows(50, &[3, 1500, 0, 7]);
        let (old, x) = (complex_vector::<C32>(4, 4), complex_vector::<C32>(50, 5));
        let on_device = device.upload(&x).expect("upload");
        let (alpha, beta) = (C32::new(2.0, -1.0), C32::new(0.5, 0.25));
        let factors = device.upload(&[alpha, beta]).expect("upload");
        let (first, second) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        for method in ways(&device) {
            let matrix = device.upload(&a).expect("upload");
            let mut y = device.upload(&old).expect("upload");
            multiply(&matrix, method, (&first, &on_device), (&second, &mut y)).expect("a product");
            let expected = oracle(&a, (alpha, &x), (beta, &old));
            assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}, {method:?}");
            // A factor and a number are multiplied on the device.
            let mut y = device.upload(&old).expect("upload");
            let scaled = Factor::from(&first).scaled(C32::new(0.0, 1.0));
            multiply(&matrix, method, (scaled, &on_device), (-Factor::from(&second), &mut y))
                .expect("a product");
            let expected = oracle(&a, (alpha * C32::new(0.0, 1.0), &x), (-beta, &old));
            assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}, {method:?}");

            let mut others = a.clone();
            others.values_mut().fill(C32::new(1.0, 1.0));
            matrix.set_values(others.values()).expect("as many values as nonzeros");
            let expected = oracle(&others, (alpha, &x), (C32::ZERO, &old));
            multiply(&matrix, method, (alpha, &on_device), (C32::ZERO, &mut y)).expect("a product");
            assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}, {method:?}");
        }
    }
}

/// Products of numbers that are out of the range of their parts, with another that brings them back.
#[test]
fn factors_out_of_range() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&Csr::from_triplets(1, 1, [(0, 0, C32::new(1.0, 0.0))]).expect("inside"));
        let (a, x) = (a.expect("upload"), device.upload(&[C32::new(1.0, 0.0)]).expect("upload"));
        let stored = device.upload(&[C32::new(0.0, 1e-30)]).expect("upload");
        let alpha = Factor::from(&stored).scaled(C32::new(1e30, 0.0)).scaled(C32::new(0.0, 1e20));
        let alpha = alpha.scaled(C32::new(1e-20, 0.0));
        let mut y = device.zeros(1).expect("zeros");
        a.spmv(alpha, &x, C32::ZERO, &mut y).expect("a product");
        let y = y.download().expect("download")[0];
        assert!((y - C32::new(-1.0, 0.0)).norm() < 1e-5, "{device}: {y}");
    }
}

/// Vectors that begin anywhere: nothing around y is written, and bits do not depend on it.
#[test]
fn slices_at_any_address() {
    const SPARE: usize = 3;
    let a: Csr<C32> = complex_rows(900, &[vec![3, 0, 900, 17], vec![2; 700]].concat());
    let (x, y) = (complex_vector::<C32>(a.ncols(), 1), complex_vector::<C32>(a.nrows(), 2));
    let spare = [C32::new(7.0, 8.0); SPARE];
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        for method in ways(&device) {
            let product = |start: usize| {
                let around = |values: &[C32]| {
                    device.upload(&[&spare[..start], values, &spare[start..]].concat()).expect("upload")
                };
                let (x, mut y) = (around(&x), around(&y));
                let (in_x, in_y) = (start..start + a.ncols(), start..start + a.nrows());
                let x = x.slice(in_x).expect("inside");
                let mut part = y.slice_mut(in_y.clone()).expect("inside");
                let (alpha, beta) = (C32::new(1.5, -1.0), C32::new(0.5, 0.0));
                multiply(&matrix, method, (alpha, &x), (beta, &mut part)).expect("a product");
                drop(part);
                let mut found = y.download().expect("download");
                let product: Vec<C32> = found.drain(in_y).collect();
                assert_eq!(found, spare, "{device}, {method:?}, from {start}");
                product
            };
            let expected = product(0);
            assert!((1..=SPARE).all(|start| product(start) == expected), "{device}, {method:?}");
        }
    }
}

#[test]
fn refused_operands_leave_outputs_unchanged() {
    let one = C64::new(1.0, 0.0);
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&complex_rows::<C64, u32>(5, &[3, 0, 5])).expect("upload");
        let (x, short) =
            (device.upload(&[one; 5]).expect("upload"), device.upload(&[one; 4]).expect("upload"));
        let mut y = device.upload(&[one; 3]).expect("upload");
        let elsewhere = Device::simulated(SimulatedOptions::default()).upload(&[one; 5]).expect("upload");
        for method in ways(&device) {
            let error =
                multiply(&matrix, method, (one, &short), (C64::ZERO, &mut y)).expect_err("x is short");
            assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }), "{error}");
            let error =
                multiply(&matrix, method, (&short, &x), (C64::ZERO, &mut y)).expect_err("alpha is long");
            assert!(matches!(error, OpError::Length { operand: "alpha", len: 4, needed: 1 }), "{error}");
            let error =
                multiply(&matrix, method, (one, &elsewhere), (C64::ZERO, &mut y)).expect_err("elsewhere");
            assert!(matches!(error, OpError::Device(DeviceError::DifferentDevices { .. })), "{error}");
        }
        assert_eq!(y.download().expect("download"), [one; 3]);
    }
}

#[test]
fn plans_say_their_method_and_refuse_others() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&complex_rows::<C64, u32>(5, &[3, 0, 5])).expect("upload");
        for method in SpmvMethod::ALL {
            let is_known = method == SpmvMethod::Auto || METHODS.contains(&method);
            match a.plan_spmv(SpmvOptions::default().with_method(method)) {
                Ok(plan) => {
                    assert!(is_known && method.runs_on(device.kind()), "{method}");
                    let info = plan.info().expect("info");
                    let ran = info.method.without_parameters();
                    assert!(
                        METHODS.contains(&ran) && (method == ran || method == SpmvMethod::Auto),
                        "{info}"
                    );
                    assert_eq!(method.copies(), method == SpmvMethod::SlicedEll, "{method}");
                    assert_eq!(info.tile.is_some(), device.kind() != DeviceKind::Cpu, "{info}");
                }
                Err(OpError::UnsupportedMethod { .. }) => assert!(!method.runs_on(device.kind()), "{method}"),
                Err(error @ OpError::MethodOfVectors { .. }) => {
                    assert!(!is_known && method.runs_on(device.kind()), "{method}");
                    let usable: Vec<&str> = SpmvMethod::ALL
                        .into_iter()
                        .filter(|one| METHODS.contains(one) && one.runs_on(device.kind()))
                        .map(SpmvMethod::name)
                        .collect();
                    let message = format!(
                        "SpMV by `{method}` does not support values of Complex<f64> with vectors of Complex<f64>; \
                         {} do",
                        usable.join(", ")
                    );
                    assert_eq!(error.to_string(), message);
                }
                Err(error) => panic!("{method}: {error}"),
            }
        }
    }
}

/// Even rows are copied to slices where the plan may copy; others are not.
#[test]
fn even_rows_are_sliced_if_plans_may_copy() {
    let device = Device::simulated(SimulatedOptions::default().with_multiprocessors(1));
    let chosen = |lengths: &[usize], may_copy| {
        let a = device.upload(&complex_rows::<C32, u32>(600, lengths)).expect("upload");
        let plan = a.plan_spmv(SpmvOptions::default().with_may_copy(may_copy)).expect("a plan");
        plan.info().expect("info")
    };
    let info = chosen(&[5; 600], true);
    assert_eq!(info.method, SpmvMethod::SlicedEll, "{info}");
    assert!(info.reason.ends_with("values are complex, and rows are even"), "{info}");
    for (lengths, may_copy) in
        [(vec![5; 600], false), (vec![5; 200], true), ([vec![5; 600], vec![600]].concat(), true)]
    {
        let info = chosen(&lengths, may_copy);
        assert!(!info.method.copies(), "{info}");
    }
}

/// Tuning times the methods that complex values have.
#[test]
fn tuning() {
    let a: Csr<C32> = complex_rows(60, &[5; 70]);
    let x: Vec<C32> = complex_vector(60, 1);
    let expected = oracle(&a, (C32::new(1.0, 0.0), &x), (C32::ZERO, &[]));
    for DeviceUnderTest { device, .. } in devices() {
        let options = SpmvOptions::default().with_may_copy(true);
        let mut plan = device.upload(&a).expect("upload").plan_spmv(options).expect("a plan");
        let tuning = plan.tune().expect("timings");
        let mut timed: Vec<&str> = tuning.timings.iter().map(|timing| timing.method.name()).collect();
        let mut methods: Vec<&str> = ways(&device).flatten().map(SpmvMethod::name).collect();
        methods.retain(|&method| method != SpmvMethod::Auto.name());
        timed.sort_unstable();
        methods.sort_unstable();
        assert_eq!(timed, methods, "{device}");
        let (x, mut y) = (device.upload(&x).expect("upload"), device.zeros(a.nrows()).expect("zeros"));
        plan.run(C32::new(1.0, 0.0), &x, C32::ZERO, &mut y).expect("a product");
        assert_eq!(expected.check(&y.download().expect("download")), Ok(()), "{device}");
    }
}

#[test]
fn products_in_graphs() {
    let a: Csr<C64> = complex_rows(300, &[vec![3, 0, 300, 17], vec![2; 70]].concat());
    let (x, y) = (complex_vector::<C64>(a.ncols(), 1), complex_vector::<C64>(a.nrows(), 2));
    let (alpha, beta) = (C64::new(0.5, 1.0), C64::new(0.0, -1.0));
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        for method in ways(&device).flatten() {
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("a plan");
            let vectors = (device.upload(&x).expect("upload"), device.upload(&y).expect("upload"));
            let mut graph = device.capture(vectors, |(x, y)| plan.run(alpha, x, beta, y)).expect("a graph");
            graph.launch().expect("a launch");
            let expected = oracle(&a, (alpha, &x), (beta, &y));
            let found = graph.state().1.download().expect("download");
            assert_eq!(expected.check(&found), Ok(()), "{device}, {method}");
        }
    }
}

#[test]
fn products_in_host_memory() {
    let a: Csr<C32> = complex_rows(3000, &[vec![3, 0, 3000, 17], vec![2; 7000]].concat());
    let (x, mut y) = (complex_vector::<C32>(a.ncols(), 1), complex_vector::<C32>(a.nrows(), 2));
    let (alpha, beta) = (C32::new(1.5, 0.5), C32::new(0.0, -0.5));
    let expected = oracle(&a, (alpha, &x), (beta, &y));
    a.spmv(alpha, &x, beta, &mut y).expect("a product");
    assert_eq!(expected.check(&y), Ok(()));
    let error = a.spmv(alpha, &x[1..], beta, &mut y).expect_err("x is short");
    assert!(matches!(error, OpError::Length { operand: "x", len: 2999, needed: 3000 }), "{error}");
    let product = (&a * &x).expect("a product");
    let expected = oracle(&a, (C32::new(1.0, 0.0), &x), (C32::ZERO, &[]));
    assert_eq!(expected.check(&product), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_rows(lengths in evenpath_tests::row_lengths(1000, 100), alpha in -2.0..2.0_f64, beta in prop_oneof![Just(0.0), -2.0..2.0_f64]) {
        for DeviceUnderTest { device, .. } in devices() {
            let (alpha, beta) = ((alpha, beta), (beta, if beta == 0.0 { 0.0 } else { alpha }));
            let a = complex_rows::<C32, u32>(1000, &lengths);
            check(&device, &a, complex(alpha.0, alpha.1), complex(beta.0, beta.1));
            let a = complex_rows::<C64, u64>(1000, &lengths);
            check(&device, &a, complex(alpha.0, alpha.1), complex(beta.0, beta.1));
        }
    }
}
