use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, Offset, Value};

use crate::oracle;

/// A vector of numbers that are not round, the same for the same length.
pub fn vector<V: Value>(len: usize) -> Vec<V> {
    (0..len).map(|i| V::from_f64(((i * 7919 + 13) % 1009) as f64 / 504.0 - 1.0)).collect()
}

/// Runs y = αAx + βy by a method on a device: [`check_spmv_with`].
///
/// # Panics
///
/// The same as for [`check_spmv_with`].
pub fn check_spmv<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    method: SpmvMethod,
    alpha: f64,
    beta: f64,
) -> Vec<V> {
    check_spmv_with(device, a, SpmvOptions::default().with_method(method), alpha, beta)
}

/// Runs y = αAx + βy on a device, with y filled with NaN if β is zero, compares with the oracle, and returns y.
///
/// # Panics
///
/// If the result is wrong, or there is none.
pub fn check_spmv_with<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    options: SpmvOptions,
    alpha: f64,
    beta: f64,
) -> Vec<V> {
    let (alpha, beta) = (V::from_f64(alpha), V::from_f64(beta));
    let x: Vec<V> = vector(a.ncols());
    let mut y: Vec<V> = vector(a.nrows());
    if beta == V::ZERO {
        y.fill(V::from_f64(f64::NAN));
    }
    let expected = oracle::spmv(a, alpha, &x, beta, &y);
    let matrix = device.upload(a).expect("upload");
    let x = device.upload(&x).expect("upload");
    let mut device_y = device.upload(&y).expect("upload");
    let plan = matrix.plan_spmv(options).expect("plan");
    plan.run(alpha, &x, beta, &mut device_y).expect("run");
    let result = device_y.download().expect("download");
    if let Err(difference) = expected.check(&result) {
        panic!("{device}, {matrix:?}, {options:?}, alpha {alpha}, beta {beta}: {difference}");
    }
    result
}
