//! Bitwise identical results: in every run on a device, and on all devices that run kernels if the
//! device-dependent options are set.

use std::fmt::Debug;

use evenpath::device::SimulatedOptions;
use evenpath::generate::{Kind, generate};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{
    Compute, Csr, Device, DeviceDense, HiSparse, Layout, RealStorage, Value, bf16, f16, hisparse,
};
use evenpath_tests::{DeviceUnderTest, spmv as oracle, unlike_devices, vector, with_row_lengths};

/// The bits of a result, and the options that repeat it.
type Repeatable<P> = (Vec<u64>, P);

fn bits<V: RealStorage>(values: &[V]) -> Vec<u64> {
    values.iter().map(|value| value.to_f64().to_bits()).collect()
}

/// Runs twice on every device with `options`, and on every other device with its choices. Returns the
/// choices, one per device.
fn check<P: Copy + PartialEq + Debug>(options: P, run: impl Fn(&Device, P) -> Repeatable<P>) -> Vec<P> {
    let devices = unlike_devices();
    let choices = devices.iter().map(|DeviceUnderTest { device, .. }| {
        let (expected, chosen) = run(device, options);
        let same = |other: &Device, options| run(other, options) == (expected.clone(), chosen);
        assert!(same(device, options), "{device} with {options:?}, once more");
        for DeviceUnderTest { device: other, .. } in &devices {
            assert!(same(other, chosen), "{chosen:?} of {device} on {other}");
        }
        chosen
    });
    choices.collect()
}

/// Returns whether devices made different choices. Some must, or the test would prove nothing.
fn differ<P: PartialEq>(choices: &[P]) -> bool {
    choices.iter().any(|chosen| *chosen != choices[0])
}

fn spmv<V: Value>(device: &Device, a: &Csr<V>, options: SpmvOptions) -> (Vec<V>, SpmvOptions) {
    let x = device.upload(&vector::<V>(a.ncols())).unwrap();
    let mut y = device.upload(&vector::<V>(a.nrows())).unwrap();
    let plan = device.upload(a).unwrap().plan_spmv(options).unwrap();
    plan.run(V::from_f64(1.25), &x, V::from_f64(0.5), &mut y).unwrap();
    (y.download().unwrap(), plan.info().unwrap().options())
}

#[test]
fn spmv_repeats_another_devices_choices() {
    fn check_all<V: Value>(matrices: &[Csr<V>]) {
        let choices = matrices.iter().map(|a| {
            check(SpmvOptions::default(), |device, options| {
                let (y, chosen) = spmv(device, a, options);
                (bits(&y), chosen)
            })
        });
        let choices: Vec<_> = choices.collect();
        assert!(
            choices.iter().any(|choices| differ(choices)),
            "all devices make the same choices: {choices:?}"
        );
    }
    let lengths = [
        vec![5; 400],
        vec![14; 400],
        vec![80; 400],
        vec![1000; 40],
        [vec![5; 400], vec![2500]].concat(),
        [vec![5; 4000], vec![0, 2500]].concat(),
        vec![0, 5, 2500],
    ];
    let power_law: Csr<f64> = generate(Kind::PowerLaw { rows: 4000 }, 4).unwrap();
    let matrices = lengths.iter().map(|lengths| with_row_lengths(3000, lengths)).chain([power_law]);
    let matrices: Vec<Csr<f64>> = matrices.collect();
    check_all::<f64>(&matrices);
    check_all::<f32>(&matrices.into_iter().map(Csr::into_values).collect::<Vec<_>>());
}

#[test]
fn spmv_by_every_method_and_number_of_lanes() {
    let devices = unlike_devices();
    let a: Csr<f64> = generate(Kind::PowerLaw { rows: 1000 }, 4).unwrap();
    let expected = oracle(&a, 1.25, &vector(a.ncols()), 0.5, &vector(a.nrows()));
    let kind = devices[0].device.kind();
    for method in
        SpmvMethod::ALL.into_iter().filter(|&method| method != SpmvMethod::Auto && method.runs_on(kind))
    {
        let with_lanes = [1, 2, 4, 8, 16, 32].into_iter().filter_map(|lanes| match method {
            SpmvMethod::Vector { .. } => Some(SpmvMethod::Vector { lanes: Some(lanes) }),
            SpmvMethod::Light { .. } => Some(SpmvMethod::Light { lanes: Some(lanes), block_size: None }),
            _ => None,
        });
        // How rows are cut follows the number of multiprocessors.
        let method = match method {
            SpmvMethod::OneColumn { .. } => SpmvMethod::OneColumn { multiprocessors: Some(16) },
            other => other,
        };
        for asked in std::iter::once(method).chain(with_lanes) {
            let options = SpmvOptions::default().with_method(asked);
            let results: Vec<_> = devices.iter().map(|one| spmv(&one.device, &a, options)).collect();
            assert!(results.iter().all(|result| result == &results[0]), "{options:?}");
            let (result, chosen) = &results[0];
            let is_asked_for = if asked == method {
                chosen.method.without_parameters() == method.without_parameters()
            } else {
                *chosen == options
            };
            assert!(is_asked_for, "{chosen:?}");
            assert_eq!(expected.check(result), Ok(()), "{options:?}");
        }
    }
}

#[test]
fn transposed_spmv_repeats_another_devices_choices() {
    let a: Csr<f64> = generate(Kind::PowerLaw { rows: 2000 }, 4).unwrap();
    for mode in [SpmvTransposedMethod::Ordered, SpmvTransposedMethod::Copied] {
        let choices = check(SpmvTransposedOptions::default().with_method(mode), |device, options| {
            let x = device.upload(&vector::<f64>(a.nrows())).unwrap();
            let mut y = device.upload(&vector::<f64>(a.ncols())).unwrap();
            let plan = device.upload(&a).unwrap().plan_spmv_transposed(options).unwrap();
            plan.run(1.25, &x, 0.5, &mut y).unwrap();
            (bits(&y.download().unwrap()), plan.info().unwrap().options())
        });
        assert_eq!(differ(&choices), mode == SpmvTransposedMethod::Copied, "{choices:?}");
    }
}

/// A row-major dense matrix.
fn dense<T: RealStorage>(device: &Device, rows: usize, cols: usize) -> DeviceDense<T> {
    let values: Vec<T> = vector::<f64>(rows * cols).into_iter().map(T::from_f64).collect();
    DeviceDense::try_new(device.upload(&values).unwrap(), rows, cols, Layout::RowMajor).unwrap()
}

#[test]
fn spmm_repeats_another_devices_choices() {
    fn check_type<S: RealStorage<Computed: RealStorage>>(layout: Layout) {
        let [alpha, beta] = [1.25, 0.0].map(<Compute<S> as RealStorage>::from_f64);
        let a: Csr<f64> = generate(Kind::Rmat { scale: 9 }, 4).unwrap();
        let a = a.into_values::<S>();
        let choices =
            check(SpmmOptions::default().with_columns(16).with_layout(layout), |device, options| {
                let plan = device.upload(&a).unwrap().plan_spmm(options).unwrap();
                let mut c = device.zeros_dense(a.nrows(), 16, layout).unwrap();
                plan.run(alpha, &dense(device, a.ncols(), 16), beta, &mut c).unwrap();
                let chosen = options.with_multiprocessors(plan.info().unwrap().multiprocessors);
                (bits(&c.as_vec().download().unwrap()), chosen)
            });
        assert!(differ(&choices), "{choices:?}");
    }
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        check_type::<f64>(layout);
        check_type::<f32>(layout);
        check_type::<f16>(layout);
        check_type::<bf16>(layout);
    }
}

#[test]
fn hisparse_spmv_repeats_another_devices_choices() {
    // Long rows, whose leaves are divided among warps, and short ones.
    let entries = (0..120_000).map(|at| (at % 3, at / 3, ((at % 19) as f32 - 9.0) / 7.0));
    let long: Csr<f32> = Csr::from_triplets(3, 40_000, entries).unwrap();
    let grid = generate::<f64, u32>(Kind::Stencil5 { side: 60 }, 1).unwrap().into_values();
    for (mode, a) in [(hisparse::SpmvMethod::Leaves, &long), (hisparse::SpmvMethod::Copied, &grid)] {
        let tree: HiSparse<f32, 64> = a.to_hisparse(hisparse::Options::default()).unwrap();
        let choices = check(hisparse::SpmvOptions::default().with_method(mode), |device, options| {
            let plan = device.upload(&tree).unwrap().plan_spmv(options).unwrap();
            let x = device.upload(&vector::<f32>(a.ncols())).unwrap();
            let mut y = device.zeros(a.nrows()).unwrap();
            plan.run(1.25, &x, 0.0, &mut y).unwrap();
            (bits(&y.download().unwrap()), plan.info().unwrap().options())
        });
        assert!(differ(&choices), "all devices make the same choices: {choices:?}");
    }
}

#[test]
fn hisparse_spmm_repeats_another_devices_choices() {
    let a: Csr<f32> = generate(Kind::Rmat { scale: 9 }, 5).unwrap();
    let tree: HiSparse<f32, 64> = a.to_hisparse(hisparse::Options::default()).unwrap();
    for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        check(hisparse::SpmmOptions::default().with_method(method), |device, options| {
            let plan = device.upload(&tree).unwrap().plan_spmm(options).unwrap();
            let mut c = device.zeros_dense(a.nrows(), 4, Layout::RowMajor).unwrap();
            plan.run(1.25, &dense(device, a.ncols(), 4), 0.0, &mut c).unwrap();
            (bits(&c.download().unwrap()), plan.info().unwrap().options())
        });
    }
}

/// Row-wise, sorted at once, by column, and sorted under a memory limit, independent of the memory of the device.
#[test]
fn spgemm_by_a_given_method() {
    let lengths = [9, 0, 80, 31, 3].repeat(20);
    let mut a: Csr<f64> = with_row_lengths(100, &lengths);
    a.canonicalize();
    let small = SimulatedOptions::default().with_memory_bytes(8 << 20);
    let small = DeviceUnderTest { device: Device::simulated(small), fast: false };
    let devices: Vec<DeviceUnderTest> = unlike_devices().into_iter().chain([small]).collect();
    let by_rows = SpgemmOptions::default().with_method(SpgemmMethod::RowWise);
    let sorted = SpgemmOptions::default().with_method(SpgemmMethod::TwoLevelSort);
    let mixed = SpgemmOptions::default().with_method(SpgemmMethod::Mixed).with_memory_limit(4 << 20);
    let at_once = SpgemmOptions::default().with_method(SpgemmMethod::GlobalSort);
    let by_column = SpgemmOptions::default().with_method(SpgemmMethod::ColumnSort).with_memory_limit(8 << 20);
    let limited = [4 << 20, 1 << 20].map(|bytes| sorted.with_memory_limit(bytes));
    for options in [by_rows, mixed, at_once, by_column].into_iter().chain(limited) {
        let results = devices.iter().map(|DeviceUnderTest { device, .. }| {
            let a = device.upload(&a).unwrap();
            let product = a.spgemm(&a, options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
            bits(product.download().unwrap().values())
        });
        let results: Vec<_> = results.collect();
        assert!(results.iter().all(|result| result == &results[0]), "{options:?}");
    }
}
