//! Solutions of triangular systems, incomplete factorizations, and inverses of blocks.

use evenpath::factorization::{Ic0Plan, Ilu0Plan};
use evenpath::triangular::{TriangularMethod, TriangularOptions, TriangularPlan};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, Layout, Offset, Scalar, Value};

use super::operations::{Run, bytes, matrix, numbers, product};
use super::products::download_csr;

const COLUMNS: usize = 5;

/// Uploads the sum of a matrix, its transpose and a diagonal.
fn upload<V: Value, O: Offset>(device: &Device) -> DeviceCsr<V, O> {
    let a: Csr<V> = matrix::<V, u32>();
    let diagonal = Csr::from_diagonal(&vec![V::from_f64(7.0); a.nrows()]).expect("a diagonal");
    let a = a.spadd(V::ONE, &a.transpose().expect("a transpose"), V::ONE).expect("a sum");
    let a = a.spadd(V::from_f64(0.01), &diagonal, V::ONE).expect("a sum");
    device.upload(&a.try_into_offsets::<O>().expect("few")).expect("upload")
}

/// Makes a plan of solves.
fn plan<V: Value, O: Offset>(
    device: &Device,
    options: TriangularOptions,
    uploaded: &mut dyn FnMut(),
) -> (TriangularPlan<V, O>, usize) {
    let a = upload(device);
    uploaded();
    (a.plan_triangular_solve(options).expect("plan"), a.nrows())
}

fn solve<V: Value, O: Offset>(
    device: &Device,
    options: TriangularOptions,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let (plan, rows) = plan::<V, O>(device, options, uploaded);
    let b = device.upload(&numbers::<V>(rows)).expect("upload");
    product(device, rows, b, move |b, x| plan.solve(V::ONE, b, x))
}

pub(super) fn solve_triangular<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    solve::<V, O>(device, TriangularOptions::default().with_method(TriangularMethod::Tickets), uploaded)
}

pub(super) fn solve_by_levels<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    solve::<V, O>(device, TriangularOptions::default().with_method(TriangularMethod::Levels), uploaded)
}

pub(super) fn solve_transposed<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    solve::<V, O>(device, TriangularOptions::default().with_transposed(true), uploaded)
}

pub(super) fn solve_many<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (plan, rows) = plan::<V, O>(device, TriangularOptions::default(), uploaded);
    let b = device.upload(&numbers::<V>(rows * COLUMNS)).expect("upload");
    let b = DeviceDense::try_new(b, rows, COLUMNS, Layout::RowMajor).expect("a matrix");
    let device = device.clone();
    Box::new(move || {
        let mut x = device.zeros_dense(rows, COLUMNS, Layout::ColumnMajor)?;
        plan.solve_many(V::ONE, &b, &mut x)?;
        Ok(Box::new(move || bytes(&x.download().expect("a download"))))
    })
}

pub(super) fn invert_blocks<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = upload::<V, O>(device).download().expect("download");
    let a = device.upload(&a.to_bsr(3).expect("blocks")).expect("upload");
    uploaded();
    Box::new(move || {
        let inverses = a.invert_diagonal_blocks()?;
        Ok(Box::new(move || bytes(inverses.download().expect("a download").values())))
    })
}

pub(super) fn factorize_lu<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = upload::<V, O>(device);
    uploaded();
    let plan = Ilu0Plan::new(&a).expect("plan");
    Box::new(move || Ok(download_csr(plan.factorize(&a)?)))
}

pub(super) fn factorize_lu_into<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    lu_into(upload::<V, O>(device), uploaded)
}

/// Factorizes a matrix into the memory of its factors.
pub(super) fn lu_into<V: Scalar, O: Offset>(a: DeviceCsr<V, O>, uploaded: &mut dyn FnMut()) -> Run {
    uploaded();
    let plan = Ilu0Plan::new(&a).expect("plan");
    let factors = plan.factorize(&a).expect("factors");
    Box::new(move || {
        plan.factorize_into(&a, &factors)?;
        Ok(download_csr(factors.clone()))
    })
}

pub(super) fn factorize_cholesky<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = upload::<V, O>(device);
    uploaded();
    let plan = Ic0Plan::new(&a).expect("plan");
    Box::new(move || Ok(download_csr(plan.factorize(&a)?)))
}

pub(super) fn factorize_cholesky_into<V: Value, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    cholesky_into(upload::<V, O>(device), uploaded)
}

/// Factorizes a matrix into the memory of its factor.
pub(super) fn cholesky_into<V: Scalar, O: Offset>(a: DeviceCsr<V, O>, uploaded: &mut dyn FnMut()) -> Run {
    uploaded();
    let plan = Ic0Plan::new(&a).expect("plan");
    let factor = plan.factorize(&a).expect("a factor");
    Box::new(move || {
        plan.factorize_into(&a, &factor)?;
        Ok(download_csr(factor.clone()))
    })
}
