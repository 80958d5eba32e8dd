//! Products in semirings.

use evenpath::semiring::{MinPlus, Semiring};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device, DeviceDense, Entry, Layout, Offset};

use super::operations::{Run, download, matrix, product};
use super::products::download_csr;

/// The matrix of the other tests, with small numbers.
fn lengths<V: Entry + From<u8>, O: Offset>() -> Csr<V, O> {
    let mut at = 0_u8;
    matrix::<f32, O>().convert_values(|_| {
        at = at.wrapping_mul(5).wrapping_add(3);
        V::from(at % 100)
    })
}

pub(super) fn spmv_over<V: Entry + From<u8>, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run
where
    MinPlus: Semiring<V>,
{
    let a = device.upload(&lengths::<V, O>()).expect("upload");
    let x: Vec<V> = (0..a.ncols()).map(|at| V::from((at % 90) as u8)).collect();
    let x = device.upload(&x).expect("upload");
    uploaded();
    product(device, a.nrows(), x, move |x, y| a.spmv_over::<MinPlus>(x, y))
}

pub(super) fn spmm_over<V: Entry + From<u8>, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run
where
    MinPlus: Semiring<V>,
{
    const COLUMNS: usize = 5;
    let (a, device) = (device.upload(&lengths::<V, O>()).expect("upload"), device.clone());
    let b: Vec<V> = (0..a.ncols() * COLUMNS).map(|at| V::from((at % 90) as u8)).collect();
    let b = device.upload(&b).expect("upload");
    let b = DeviceDense::try_new(b, a.ncols(), COLUMNS, Layout::RowMajor).expect("a matrix");
    uploaded();
    Box::new(move || {
        let mut c = device.zeros_dense(a.nrows(), COLUMNS, Layout::RowMajor)?;
        a.spmm_over::<MinPlus>(&b, &mut c)?;
        Ok(download(c.into_vec()))
    })
}

pub(super) fn spgemm_over<V: Entry + From<u8>, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run
where
    MinPlus: Semiring<V>,
{
    let a = device.upload(&lengths::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.spgemm_over::<MinPlus>(&a, SpgemmOptions::default())?)))
}

pub(super) fn spgemm_masked_over<V: Entry + From<u8>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run
where
    MinPlus: Semiring<V>,
{
    let a = device.upload(&lengths::<V, O>()).expect("upload");
    uploaded();
    Box::new(move || {
        Ok(download_csr(a.spgemm_masked_over::<MinPlus, _>(&a, &a, SpgemmOptions::default())?))
    })
}
