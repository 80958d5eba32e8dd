//! SpMV of 16-bit values, with vectors of the same type and of `f32`.

use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlan};
use evenpath::{
    Compute, Csr, Device, DeviceCsr, DeviceDense, Factor, Layout, Multiplies, Offset, RealStorage, bf16, f16,
};
use evenpath_tests::{
    DeviceUnderTest, devices, spmm as oracle, stored_with_row_lengths as matrix, unlike_devices, vector,
};

/// Makes a plan: [`DeviceCsr::plan_spmv`] or [`DeviceCsr::plan_spmv_mixed`].
type Plan<S, O, T> = fn(&DeviceCsr<S, O>, SpmvOptions) -> Result<SpmvPlan<S, O, T>, OpError>;

/// Matrices with empty rows, one long row, no rows and no columns.
fn matrices<S: RealStorage, O: Offset>() -> Vec<Csr<S, O>> {
    let long = [vec![3, 0, 5, 1100, 17, 2, 30], vec![0; 300]].concat();
    let shapes: [(usize, &[usize]); 8] = [
        (1100, &long),
        (7, &[1, 0, 7, 3, 0]),
        (1, &[1]),
        (33, &[33; 65]),
        (300, &[0; 129]),
        (5, &[]),
        (0, &[0; 3]),
        (0, &[]),
    ];
    shapes.into_iter().map(|(cols, lengths)| matrix(cols, lengths)).collect()
}

/// Runs a plan, with y filled with NaN if β is zero, and compares with the oracle.
fn check<
    S: Multiplies<T> + RealStorage<Computed: RealStorage>,
    O: Offset,
    T: RealStorage<Computed = Compute<S>>,
>(
    device: &Device,
    a: &Csr<S, O>,
    plan: Plan<S, O, T>,
    (alpha, beta): (f64, f64),
) {
    let x: Vec<T> = vector(a.ncols());
    let mut y: Vec<T> = vector(a.nrows());
    let expected = oracle(a, alpha, &x, beta, &y);
    if beta == 0.0 {
        y.fill(T::from_f64(f64::NAN));
    }
    let plan = plan(&device.upload(a).expect("upload"), SpmvOptions::default()).expect("a plan");
    let (x, mut y) = (device.upload(&x).expect("upload"), device.upload(&y).expect("upload"));
    let factor = <Compute<S> as RealStorage>::from_f64;
    plan.run(factor(alpha), &x, factor(beta), &mut y).expect("a product");
    if let Err(difference) = expected.check(&y.download().expect("download")) {
        panic!("{device}, {a:?} with vectors of {}, {alpha}, {beta}: {difference}", T::NAME);
    }
}

fn check_all<
    S: Multiplies<T> + RealStorage<Computed: RealStorage>,
    O: Offset,
    T: RealStorage<Computed = Compute<S>>,
>(
    device: &Device,
    plan: Plan<S, O, T>,
) {
    for a in matrices() {
        for factors in [(1.0, 0.0), (-1.5, 0.75), (0.0, 1.0)] {
            check(device, &a, plan, factors);
        }
    }
}

#[test]
fn all_shapes_and_types() {
    for DeviceUnderTest { device, .. } in devices() {
        check_all::<f16, u32, _>(&device, DeviceCsr::plan_spmv);
        check_all::<bf16, u64, _>(&device, DeviceCsr::plan_spmv);
        check_all::<f16, u64, f32>(&device, DeviceCsr::plan_spmv_mixed);
        check_all::<bf16, u32, f32>(&device, DeviceCsr::plan_spmv_mixed);
    }
}

/// Vectors of the type of arithmetic are those of other plans, if it is the type of the matrix.
#[test]
fn mixed_plans_of_wide_values_are_plans() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&matrix::<f64, u32>(40, &[3, 0, 40, 7])).expect("upload");
        let x = device.upload(&vector::<f64>(40)).expect("upload");
        let product = |plan: SpmvPlan<f64>| {
            let mut y = device.zeros(4).expect("memory");
            plan.run(1.0, &x, 0.0, &mut y).expect("a product");
            (y.download().expect("download"), plan.info().expect("a choice").method)
        };
        let options = SpmvOptions::default();
        let plans = [a.plan_spmv(options), a.plan_spmv_mixed(options)];
        let [plain, mixed] = plans.map(|plan| product(plan.expect("a plan")));
        assert_eq!(plain, mixed, "{device}");
    }
}

/// A product has the bits of SpMM with one column, and a plan reports what SpMM's does.
#[test]
fn a_product_is_that_with_a_matrix_of_one_column() {
    fn check<S: RealStorage<Computed: RealStorage>>(device: &Device, a: &Csr<S>) {
        let matrix = device.upload(a).expect("upload");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("a plan");
        let x = device.upload(&vector::<S>(a.ncols())).expect("upload");
        let mut y = device.upload(&vector::<S>(a.nrows())).expect("upload");
        let dense = |vec, rows| DeviceDense::try_new(vec, rows, 1, Layout::RowMajor).expect("a column");
        let mut c = dense(device.upload(&vector::<S>(a.nrows())).expect("upload"), a.nrows());
        let [alpha, beta] = [1.25, -0.5].map(<Compute<S> as RealStorage>::from_f64);
        plan.run(alpha, &x, beta, &mut y).expect("a product");
        let of_matrices = matrix.plan_spmm(SpmmOptions::default().with_columns(1)).expect("a plan");
        of_matrices.run(alpha, &dense(x, a.ncols()), beta, &mut c).expect("a product");
        assert!(y.download().expect("download") == c.download().expect("download"), "{device}: {a:?}");

        let (info, expected) = (plan.info().expect("info"), of_matrices.info().expect("info"));
        let multiprocessors = expected.options().multiprocessors;
        assert_eq!(info.method, SpmvMethod::OneColumn { multiprocessors }, "{device}");
        assert_eq!(info.workspace_bytes, expected.workspace_bytes, "{device}: {info}");
        if device.kind() == DeviceKind::Cpu {
            assert!(info.details.is_none() && info.tile.is_none(), "{info}");
            assert_eq!(info.tiles > 0, a.nrows() > 0, "{info}");
            return;
        }
        let (long_rows, pieces) = (expected.long_rows, expected.pieces);
        let (longest, longest_piece) = (expected.longest, expected.longest_piece);
        let details = SpmvDetails::OneColumn { long_rows, pieces, longest, longest_piece };
        assert_eq!(info.details, Some(details), "{device}");
        assert!(info.tile.is_some() && info.tiles >= pieces.min(1), "{info}");
    }
    for DeviceUnderTest { device, .. } in devices() {
        for a in matrices() {
            check::<f16>(&device, &a);
        }
        for a in matrices() {
            check::<bf16>(&device, &a);
        }
    }
}

#[test]
fn another_devices_choices_are_repeated() {
    let a: Csr<f16> = matrix(1100, &[vec![3, 0, 5, 1100, 400], vec![1; 200]].concat());
    let product = |device: &Device, options| {
        let plan = device.upload(&a).expect("upload").plan_spmv(options).expect("a plan");
        let x = device.upload(&vector::<f16>(a.ncols())).expect("upload");
        let mut y = device.zeros(a.nrows()).expect("memory");
        plan.run(1.0, &x, 0.0, &mut y).expect("a product");
        (y.download().expect("download"), plan.info().expect("info").options())
    };
    let devices = unlike_devices();
    let (expected, options) = product(&devices[0].device, SpmvOptions::default());
    for DeviceUnderTest { device, .. } in &devices {
        assert!(product(device, options) == (expected.clone(), options), "{device}");
    }
}

/// Small integers, so that sums are exact in any order and are exact in 16 bits.
#[test]
fn factors_on_the_device() {
    fn check<S: Multiplies<T> + RealStorage<Computed = f32>, T: RealStorage<Computed = f32>>(
        device: &Device,
        plan: Plan<S, u32, T>,
    ) {
        let triplets = [(0, 0, 2.0), (0, 4, 3.0), (2, 1, -5.0), (3, 3, 7.0_f32)];
        let a = Csr::from_triplets(4, 5, triplets).expect("a matrix").into_values::<S>();
        let plan = plan(&device.upload(&a).expect("upload"), SpmvOptions::default()).expect("a plan");
        let vector = |values: &[f64]| {
            let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
            device.upload(&values).expect("upload")
        };
        let x = vector(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let factors = device.upload(&[2.0_f32, -0.5]).expect("upload");
        let (alpha, beta) = (factors.slice(..1).expect("inside"), factors.slice(1..).expect("inside"));
        for (alpha, beta, expected) in [
            (Factor::from(&alpha), Factor::from(&beta), [33.0, -1.0, -21.0, 54.0]),
            (-Factor::from(&alpha), Factor::from(1.0), [-32.0, 2.0, 22.0, -52.0]),
            (Factor::from(1.0), Factor::from(&beta), [16.0, -1.0, -11.0, 26.0]),
        ] {
            let mut y = vector(&[2.0, 2.0, 2.0, 4.0]);
            plan.run(alpha, &x, beta, &mut y).expect("a product");
            let found: Vec<f64> = y.download().expect("download").into_iter().map(T::to_f64).collect();
            assert_eq!(found, expected, "{device}: {}, {}", S::NAME, T::NAME);
        }
        let mut y = vector(&[f64::NAN; 4]);
        plan.run(&alpha, &x, 0.0, &mut y).expect("a product");
        let found: Vec<f64> = y.download().expect("download").into_iter().map(T::to_f64).collect();
        assert_eq!(found, [34.0, 0.0, -20.0, 56.0], "{device}: y was read");
    }
    for DeviceUnderTest { device, .. } in devices() {
        check::<f16, _>(&device, DeviceCsr::plan_spmv);
        check::<bf16, _>(&device, DeviceCsr::plan_spmv);
        check::<f16, f32>(&device, DeviceCsr::plan_spmv_mixed);
        check::<bf16, f32>(&device, DeviceCsr::plan_spmv_mixed);
    }
}

/// Vectors that begin anywhere: nothing around y is written, and bits do not depend on it.
#[test]
fn slices_at_any_address() {
    fn check<S: Multiplies<T> + RealStorage<Computed: RealStorage>, T: RealStorage<Computed = Compute<S>>>(
        device: &Device,
        plan: Plan<S, u32, T>,
    ) {
        const SPARE: usize = 9;
        let a: Csr<S> = matrix(900, &[vec![3, 0, 900, 17], vec![2; 70]].concat());
        let plan = plan(&device.upload(&a).expect("upload"), SpmvOptions::default()).expect("a plan");
        let (x, y) = (vector::<T>(a.ncols()), vector::<T>(a.nrows()));
        let product = |start: usize| {
            let around = |values: &[T]| {
                let spare = [T::from_f64(7.0); SPARE];
                device.upload(&[&spare[..start], values, &spare[start..]].concat()).expect("upload")
            };
            let (x, mut y) = (around(&x), around(&y));
            let (in_x, in_y) = (start..start + a.ncols(), start..start + a.nrows());
            let x = x.slice(in_x).expect("inside");
            let [alpha, beta] = [1.5, 0.5].map(<Compute<S> as RealStorage>::from_f64);
            plan.run(alpha, &x, beta, &mut y.slice_mut(in_y.clone()).expect("inside")).expect("a product");
            let mut found = y.download().expect("download");
            let product: Vec<T> = found.drain(in_y).collect();
            assert!(found == [T::from_f64(7.0); SPARE], "{device}: {found:?} from {start}");
            product
        };
        let expected = product(0);
        assert!((1..SPARE).all(|start| product(start) == expected), "{device}, {}", T::NAME);
    }
    for DeviceUnderTest { device, .. } in devices() {
        check::<f16, _>(&device, DeviceCsr::plan_spmv);
        check::<bf16, f32>(&device, DeviceCsr::plan_spmv_mixed);
    }
}

#[test]
fn other_methods_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&matrix::<bf16, u32>(5, &[3, 0, 5])).expect("upload");
        for method in SpmvMethod::ALL {
            let is_taken = matches!(method, SpmvMethod::Auto | SpmvMethod::OneColumn { .. });
            let plan = a.plan_spmv(SpmvOptions::default().with_method(method));
            match plan {
                Ok(_) => assert!(is_taken, "{method}"),
                Err(OpError::MethodOfType { method: name, value: "bf16", .. }) => {
                    assert!(!is_taken && name == method.name(), "{method}");
                }
                Err(error) => panic!("{method}: {error}"),
            }
        }
    }
}
