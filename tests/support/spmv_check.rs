use evenpath::error::OpError;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceVec, Offset, RealStorage, Value};

use crate::oracle;

/// A vector of numbers that are not round, the same for the same length.
pub fn vector<V: RealStorage>(len: usize) -> Vec<V> {
    (0..len).map(|i| V::from_f64(((i * 7919 + 13) % 1009) as f64 / 504.0 - 1.0)).collect()
}

/// Ways to multiply values that merge path alone takes on devices with kernels: without a plan, and by the methods that take them.
pub const WAYS: [Option<SpmvMethod>; 4] =
    [None, Some(SpmvMethod::Auto), Some(SpmvMethod::MergePath), Some(SpmvMethod::RowParallel)];

/// Those of [`WAYS`] that a device has.
pub fn ways(device: &Device) -> impl Iterator<Item = Option<SpmvMethod>> + use<> {
    let kind = device.kind();
    WAYS.into_iter().filter(move |method| method.is_none_or(|method| method.runs_on(kind)))
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

/// Runs y = αAx + βy by a plan with `options` on a device, and compares y with the oracle.
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
    check_spmv_by(device, a, &format!("{options:?}"), (alpha, beta), |matrix, alpha, x, beta, y| {
        matrix.plan_spmv(options).expect("plan").run(alpha, x, beta, y)
    })
}

/// Runs y = αAx + βy without a plan on a device, and compares y with the oracle.
///
/// # Panics
///
/// If the result is wrong, or there is none.
pub fn check_spmv_direct<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    alpha: f64,
    beta: f64,
) -> Vec<V> {
    check_spmv_by(device, a, "without a plan", (alpha, beta), |matrix, alpha, x, beta, y| {
        matrix.spmv(alpha, x, beta, y)
    })
}

/// Computes y = αAx + βy by `run` on a device, with y filled with NaN if β is zero, compares with the oracle, and returns y.
///
/// # Panics
///
/// If the result is wrong, or there is none. The message has the name of the `way`.
fn check_spmv_by<V: Value, O: Offset>(
    device: &Device,
    a: &Csr<V, O>,
    way: &str,
    (alpha, beta): (f64, f64),
    run: impl Fn(&DeviceCsr<V, O>, V, &DeviceVec<V>, V, &mut DeviceVec<V>) -> Result<(), OpError>,
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
    run(&matrix, alpha, &x, beta, &mut device_y).expect("run");
    let result = device_y.download().expect("download");
    if let Err(difference) = expected.check(&result) {
        panic!("{device}, {matrix:?}, {way}, alpha {alpha}, beta {beta}: {difference}");
    }
    result
}
