//! Operations on complex matrices.

use evenpath::spgemm::SpgemmOptions;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::SpmvOptions;
use evenpath::triangular::TriangularOptions;
use evenpath::{Complex, Csr, Device, DeviceCsr, DeviceDense, Layout, Offset};
use evenpath_tests::{ComplexValue, complex, complex_vector};

use super::operations::{Run, download, matrix, product};
use super::products::download_csr;
use super::triangular::{cholesky_into, lu_into};

/// The name in the table.
#[allow(non_camel_case_types)]
pub(super) type c32 = Complex<f32>;
/// The name in the table.
#[allow(non_camel_case_types)]
pub(super) type c64 = Complex<f64>;

/// Values whose sums depend on the order.
fn complex_matrix<V: ComplexValue, O: Offset>(device: &Device) -> DeviceCsr<V, O> {
    let (rows, cols, (offsets, columns, values)) = {
        let a = matrix::<f64, O>();
        (a.nrows(), a.ncols(), a.into_parts())
    };
    let a = Csr::try_new(rows, cols, offsets, columns, complex_vector::<V>(values.len(), 1));
    device.upload(&a.expect("valid")).expect("upload")
}

/// Uploads the sum of a diagonal and a matrix with small values.
fn upload_system<V: ComplexValue, O: Offset>(device: &Device) -> DeviceCsr<V, O> {
    let a = complex_matrix::<V, O>(device).download().expect("download");
    let entries = a.iter().map(|(row, column, value)| (row, column, complex::<V>(0.01, 0.02) * value));
    let diagonal = (0..a.nrows()).map(|row| (row, row, complex(2.0, 0.0)));
    let a = Csr::<V>::from_triplets(a.nrows(), a.ncols(), entries.chain(diagonal)).expect("inside");
    device.upload(&a.try_into_offsets::<O>().expect("few")).expect("upload")
}

pub(super) fn complex_solve<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = upload_system::<V, O>(device);
    let b = device.upload(&complex_vector::<V>(a.nrows(), 2)).expect("upload");
    uploaded();
    let options = TriangularOptions::default().with_conjugate_transposed(true);
    let plan = a.plan_triangular_solve(options).expect("plan");
    product(device, a.nrows(), b, move |b, x| plan.solve(V::ONE, b, x))
}

pub(super) fn complex_lu_into<V: ComplexValue, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    lu_into(upload_system::<V, O>(device), uploaded)
}

pub(super) fn complex_cholesky_into<V: ComplexValue, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    cholesky_into(upload_system::<V, O>(device), uploaded)
}

pub(super) fn complex_spmv<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = complex_matrix::<V, O>(device);
    let x = device.upload(&complex_vector::<V>(a.ncols(), 2)).expect("upload");
    uploaded();
    let plan = a.plan_spmv(SpmvOptions::default()).expect("plan");
    product(device, a.nrows(), x, move |x, y| plan.run(V::ONE, x, V::ZERO, y))
}

pub(super) fn complex_spmv_once<V: ComplexValue, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = complex_matrix::<V, O>(device);
    let x = device.upload(&complex_vector::<V>(a.ncols(), 2)).expect("upload");
    uploaded();
    product(device, a.nrows(), x, move |x, y| a.spmv(V::ONE, x, V::ZERO, y))
}

pub(super) fn complex_spmm<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    const COLUMNS: usize = 4;
    let (a, device) = (complex_matrix::<V, O>(device), device.clone());
    let b = device.upload(&complex_vector::<V>(a.ncols() * COLUMNS, 2)).expect("upload");
    let b = DeviceDense::try_new(b, a.ncols(), COLUMNS, Layout::RowMajor).expect("a matrix");
    uploaded();
    let plan = a.plan_spmm(SpmmOptions::default().with_columns(COLUMNS)).expect("plan");
    Box::new(move || {
        let mut c = device.zeros_dense(a.nrows(), COLUMNS, Layout::RowMajor)?;
        plan.run(V::ONE, &b, V::ZERO, &mut c)?;
        Ok(download(c.into_vec()))
    })
}

pub(super) fn complex_spgemm<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = complex_matrix::<V, O>(device);
    uploaded();
    let plan = a.plan_spgemm(&a, SpgemmOptions::default()).expect("plan");
    Box::new(move || Ok(download_csr(plan.run()?)))
}

pub(super) fn complex_spadd<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = complex_matrix::<V, O>(device);
    let b = a.transpose().expect("a transpose");
    uploaded();
    let plan = a.plan_spadd(&b).expect("plan");
    Box::new(move || Ok(download_csr(plan.run(V::ONE, complex(0.3, -0.1))?)))
}

pub(super) fn conjugate_transpose<V: ComplexValue, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = complex_matrix::<V, O>(device);
    uploaded();
    Box::new(move || Ok(download_csr(a.conjugate_transpose()?)))
}

/// Scales and conjugates the same values in every run.
pub(super) fn complex_scale<V: ComplexValue, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = complex_matrix::<V, O>(device);
    let values = a.values().download().expect("a download");
    let values = device.upload(&values).expect("upload");
    uploaded();
    Box::new(move || {
        a.set_values_from(&values)?;
        a.scale(complex(0.6, 0.8))?;
        a.conjugate()?;
        Ok(download_csr(a.clone()))
    })
}
