//! Parts of matrices, and matrices of others.

use evenpath::error::OpError;
use evenpath::row_order::RowOrder;
use evenpath::{Csr, Device, DeviceCsr, Offset};

use super::operations::{OfReal, Run, matrix};
use super::products::download_csr;

pub(super) fn select_columns<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let host = S::matrix::<O>();
    let list: Vec<u32> = (0..host.ncols() as u32).rev().step_by(3).collect();
    let (a, list) = (device.upload(&host).expect("upload"), device.upload(&list).expect("upload"));
    uploaded();
    Box::new(move || Ok(download_csr(a.select_columns(&list)?)))
}

/// Computes a new matrix from a square one.
fn restructured<S: OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceCsr<S, O>) -> Result<DeviceCsr<S, O>, OpError> + Send + 'static,
) -> Run {
    let a = device.upload(&S::matrix::<O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(run(&a)?)))
}

pub(super) fn submatrix<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| a.submatrix(1..a.nrows(), 2..a.ncols() / 2))
}

pub(super) fn vstack<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| DeviceCsr::vstack(&[a, a]))
}

pub(super) fn hstack<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| DeviceCsr::hstack(&[a, a, a]))
}

pub(super) fn from_blocks<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| {
        DeviceCsr::from_blocks(&[&[Some(a), None], &[Some(a), Some(a)]])
    })
}

pub(super) fn block_diagonal<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| DeviceCsr::block_diagonal(&[a, a]))
}

pub(super) fn permute<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let order = RowOrder::try_new((0..matrix::<f64, O>().nrows() as u32).rev().collect()).expect("an order");
    let order = device.upload(&order).expect("upload");
    restructured::<S, O>(device, uploaded, move |a| a.permute(&order))
}

pub(super) fn kronecker<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let offsets = [0, 2, 3].map(O::try_from_usize).map(|offset| offset.expect("small"));
    let b = Csr::try_new(2, 2, offsets.to_vec(), vec![0, 1, 1], S::numbers(3)).expect("a matrix");
    let b = device.upload(&b).expect("upload");
    restructured::<S, O>(device, uploaded, move |a| b.kronecker(a))
}

pub(super) fn copy<S: OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    restructured::<S, O>(device, uploaded, |a| Ok(a.copy()?))
}
