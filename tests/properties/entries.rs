//! Operations on the entries of a matrix.

use evenpath::csr::{Filter, Reduction};
use evenpath::error::OpError;
use evenpath::vector::{self, Map};
use evenpath::{Device, DeviceCsr, DeviceSlice, DeviceVec, Offset, Scalar, Value};

use super::operations::{OfReal, Run, download};
use super::products::download_csr;

/// Sets the values, and changes them.
fn changed<V: OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    change: impl Fn(&DeviceCsr<V, O>, &DeviceSlice<V>) -> Result<(), OpError> + Send + 'static,
) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    let values = device.upload(&V::numbers(a.nnz())).expect("upload");
    let factors = device.upload(&V::numbers(a.nrows())).expect("upload");
    uploaded();
    Box::new(move || {
        a.set_values_from(&values)?;
        change(&a, &factors)?;
        Ok(download_csr(a.clone()))
    })
}

/// Computes a vector.
fn vector_of<V: OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceCsr<V, O>) -> Result<DeviceVec<V>, OpError> + Send + 'static,
) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download(run(&a)?)))
}

fn filtered<V: Scalar + OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    filter: Filter<V::Real>,
) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    uploaded();
    Box::new(move || Ok(download_csr(a.filter(filter)?)))
}

pub(super) fn scale_rows<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    changed::<V, O>(device, uploaded, DeviceCsr::scale_rows)
}

pub(super) fn scale_columns<V: Scalar + OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    changed::<V, O>(device, uploaded, DeviceCsr::scale_columns)
}

pub(super) fn softmax_rows<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    changed::<V, O>(device, uploaded, |a, _| a.softmax_rows())
}

pub(super) fn map_values<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    changed::<V, O>(device, uploaded, |a, _| a.map_values(Map::Sqrt))
}

pub(super) fn update_values<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    changed::<V, O>(device, uploaded, |a, _| a.update_values(|values| vector::map(Map::Log, values)))
}

pub(super) fn diagonal<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    vector_of::<V, O>(device, uploaded, DeviceCsr::diagonal)
}

pub(super) fn reduce_rows<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    vector_of::<V, O>(device, uploaded, |a| a.reduce_rows(Reduction::Norm2))
}

pub(super) fn reduce_columns<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    vector_of::<V, O>(device, uploaded, |a| a.reduce_columns(Reduction::AbsSum))
}

pub(super) fn filter<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    filtered::<V, O>(device, uploaded, Filter::Lower(0))
}

pub(super) fn filter_largest<V: Scalar + OfReal, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    filtered::<V, O>(device, uploaded, Filter::LargestOfRow(2))
}
