//! Products with parts of vectors, by every method of every format: bitwise equal to those of whole vectors,
//! and elements beside a part are unchanged.

use evenpath::device::DeviceKind;
use evenpath::ell::{EllR, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::hyb::HybOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceSlice, Factor, Value, hisparse};
use evenpath_tests::{UNLIMITED, devices};

const ROWS: usize = 1_603;
/// Few enough that a block's part of x fits in shared memory.
const COLS: usize = 1_501;
/// Number of elements after each part.
const TAIL: usize = 3;

/// y = 2Ax + 0.5y in one format and by one method, or y = 2Aᵀx + 0.5y.
type Run<V> = Box<dyn Fn(&DeviceSlice<V>, &mut DeviceSlice<V>) -> Result<(), OpError>>;

struct Product<V: Value> {
    name: String,
    is_transposed: bool,
    run: Run<V>,
}

/// A matrix of small integers, whose products are exact in any order.
fn matrix<V: Value>() -> Csr<V> {
    let entry = |row: usize, at: usize| {
        let column = (row + 37 * at * at + 11 * at) % COLS;
        (row, column, V::from_f64((row * 7 + at * 3) as f64 % 5.0 - 2.0))
    };
    let entries = (0..ROWS).flat_map(|row| (0..row * 13 % 29).map(move |at| entry(row, at)));
    Csr::from_triplets(ROWS, COLS, entries).expect("inside")
}

fn numbers<V: Value>(len: usize, seed: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 7 + seed) % 11) as f64 - 5.0)).collect()
}

/// The products of CSR, by all methods of the device.
fn csr_products<V: Value>(device: &Device, a: &Csr<V>) -> Vec<Product<V>> {
    let (half, two) = (V::from_f64(0.5), V::from_f64(2.0));
    let matrix = device.upload(a).expect("memory");
    let mut products = Vec::new();
    for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
        let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("a plan");
        let run: Run<V> = Box::new(move |x, y| plan.run(two, x, half, y));
        products.push(Product { name: format!("CSR, {method}"), is_transposed: false, run });
    }
    for method in SpmvTransposedMethod::ALL {
        let options = SpmvTransposedOptions::default().with_method(method);
        // Not every device has every method.
        let Ok(plan) = matrix.plan_spmv_transposed(options) else { continue };
        let run: Run<V> = Box::new(move |x, y| plan.run(two, x, half, y));
        products.push(Product { name: format!("transposed CSR, {method}"), is_transposed: true, run });
    }
    let run: Run<V> = Box::new(move |x, y| matrix.spmv(two, x, half, y));
    products.push(Product { name: "CSR without a plan".into(), is_transposed: false, run });
    products
}

/// The products of other formats.
fn other_products<V: Value>(device: &Device, a: &Csr<V>) -> Vec<Product<V>> {
    let (half, two) = (V::from_f64(0.5), V::from_f64(2.0));
    let ell = a.to_ell(UNLIMITED).expect("ELL");
    let sliced = a.to_sliced_ell(SlicedEllOptions::default().with_limit(UNLIMITED)).expect("sliced ELL");
    let hyb = a.to_hyb(HybOptions::default().with_limit(UNLIMITED)).expect("HYB");
    let coo = device.upload(&a.to_coo().expect("memory")).expect("memory");
    let hyb = device.upload(&hyb).expect("memory");
    let ell_r = device.upload(&EllR(&ell)).expect("memory");
    let (ell, sliced) = (device.upload(&ell).expect("memory"), device.upload(&sliced).expect("memory"));
    let tree =
        device.upload(&a.to_hisparse::<32>(hisparse::Options::default()).expect("a tree")).expect("memory");
    let mut runs: Vec<(String, Run<V>)> = vec![
        ("COO".into(), Box::new(move |x, y| coo.spmv(two, x, half, y))),
        ("HYB".into(), Box::new(move |x, y| hyb.spmv(two, x, half, y))),
        ("ELL".into(), Box::new(move |x, y| ell.spmv(two, x, half, y))),
        ("ELL-R".into(), Box::new(move |x, y| ell_r.spmv(two, x, half, y))),
        ("sliced ELL".into(), Box::new(move |x, y| sliced.spmv(two, x, half, y))),
    ];
    for block_size in [2, 3, 4, 7] {
        let bsr = device.upload(&a.to_bsr(block_size).expect("BSR")).expect("memory");
        runs.push((format!("BSR, blocks of {block_size}"), Box::new(move |x, y| bsr.spmv(two, x, half, y))));
    }
    for method in hisparse::SpmvMethod::ALL {
        let plan = tree.plan_spmv(hisparse::SpmvOptions::default().with_method(method)).expect("a plan");
        runs.push((format!("HiSparse, {method}"), Box::new(move |x, y| plan.run(two, x, half, y))));
    }
    let queued = tree.plan_spmv_queued(hisparse::QueuedOptions::default()).expect("queues");
    runs.push(("HiSparse, queued".into(), Box::new(move |x, y| queued.run(two, x, half, y))));
    runs.into_iter().map(|(name, run)| Product { name, is_transposed: false, run }).collect()
}

/// The elements starting at `start`, between others.
fn within<V: Value>(start: usize, values: &[V]) -> Vec<V> {
    let mut all = vec![V::ONE; start + values.len() + TAIL];
    all[start..start + values.len()].copy_from_slice(values);
    all
}

fn check<V: Value>() {
    let a = matrix::<V>();
    for under_test in devices() {
        let device = under_test.device;
        let products = csr_products(&device, &a).into_iter().chain(other_products(&device, &a));
        for Product { name, is_transposed, run } in products {
            let (x_len, y_len) = if is_transposed { (ROWS, COLS) } else { (COLS, ROWS) };
            let (x, y) = (numbers::<V>(x_len, 1), numbers::<V>(y_len, 5));
            let result = |x_start: usize, y_start: usize| {
                let x = device.upload(&within(x_start, &x)).expect("memory");
                let mut all = device.upload(&within(y_start, &y)).expect("memory");
                let x = x.slice(x_start..x_start + x_len).expect("inside");
                let mut y = all.slice_mut(y_start..y_start + y_len).expect("inside");
                run(&x, &mut y)
                    .unwrap_or_else(|error| panic!("{name} from {x_start} and {y_start}: {error}"));
                let all = all.download().expect("the device works");
                let (before, rest) = all.split_at(y_start);
                let (y, behind) = rest.split_at(y_len);
                assert!(
                    before.iter().chain(behind).all(|&value| value == V::ONE),
                    "{name} beside y on {device}"
                );
                y.to_vec()
            };
            let whole = result(0, 0);
            for (x_start, y_start) in [(1, 0), (2, 1), (3, 2), (0, 3), (4, 1)] {
                assert!(result(x_start, y_start) == whole, "{name} from {x_start} and {y_start} on {device}");
            }
        }
    }
}

#[test]
fn in_single_precision() {
    check::<f32>();
}

#[test]
fn in_double_precision() {
    check::<f64>();
}

#[test]
fn factors_and_values_in_parts() {
    let a = matrix::<f64>();
    for under_test in devices() {
        let device = under_test.device;
        let matrix = device.upload(&a).expect("memory");
        let plan = matrix.plan_spmv(SpmvOptions::default()).expect("a plan");
        let x = device.upload(&numbers::<f64>(COLS, 1)).expect("memory");
        let mut y = device.upload(&numbers::<f64>(ROWS, 5)).expect("memory");
        let mut expected = y.download().expect("the device works");
        let factors = device.upload(&[7.0, 2.0, 0.5]).expect("memory");
        let (alpha, beta) = (factors.slice(1..2).expect("inside"), factors.slice(2..).expect("inside"));
        plan.run(Factor::from(&*alpha), &x, Factor::from(&*beta), &mut y).expect("the device works");
        a.spmv(2.0, &numbers::<f64>(COLS, 1), 0.5, &mut expected).expect("its lengths");
        assert_eq!(y.download().expect("the device works"), expected, "{device}");
        // New values from a part of a vector.
        let values = within(1, &vec![1.0; a.nnz()]);
        let values = device.upload(&values).expect("memory");
        matrix.set_values_from(&values.slice(1..=a.nnz()).expect("inside")).expect("as many");
        assert_eq!(matrix.download().expect("the device works").values(), vec![1.0; a.nnz()]);
        assert_eq!(device.kind() == DeviceKind::Cpu, values.host_slice().is_some());
    }
}
