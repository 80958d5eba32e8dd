//! Primitives on sequences, and vectors.

use bytemuck::Pod;
use evenpath::error::OpError;
use evenpath::key::{Key, PairValue, Pairs, SortKey};
use evenpath::operator::{Element, Operator};
use evenpath::scan::{self, ScanOptions};
use evenpath::sets::{self, Combine, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::{
    Device, DeviceDense, DeviceSlice, DeviceVec, Layout, Offset, Scalar, Value, merge, reduce, vector,
};

use super::operations::{Download, ELEMENTS, OfReal, Run, bytes, download, numbers};

/// A number type for samples.
pub(super) trait Sample: Pod {
    fn sample(number: u64) -> Self;
}

macro_rules! samples {
    ($($type:ident: $divisor:expr;)*) => {$(
        impl Sample for $type {
            fn sample(number: u64) -> Self {
                number as $type / $divisor
            }
        }
    )*};
}
samples! { u32: 1; i32: 1; u64: 1; i64: 1; f32: 7.0; f64: 7.0; }

/// Unsorted numbers, some of them equal.
fn samples<T: Sample>() -> Vec<T> {
    (0..ELEMENTS as u64).map(|index| T::sample(1 + index * 7919 % 1009)).collect()
}

/// Sorted numbers: every third, starting at `first`, some of them twice.
fn sorted<T: Sample>(first: u64) -> Vec<T> {
    (0..ELEMENTS as u64 / 2).map(|index| T::sample(first + 3 * (index - u64::from(index % 5 == 1)))).collect()
}

fn upload<T: Pod>(device: &Device, values: &[T]) -> DeviceVec<T> {
    device.upload(values).expect("upload")
}

fn download_pairs<K: Pod, V: Pod>((keys, values): (DeviceVec<K>, DeviceVec<V>)) -> Download {
    let (keys, values) = (download(keys), download(values));
    Box::new(move || [keys(), values()].concat())
}

pub(super) fn scan<T: Element + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let values = upload(device, &samples::<T>());
    uploaded();
    Box::new(move || Ok(download(scan::values(&values, ScanOptions::inclusive(Operator::Sum))?)))
}

pub(super) fn scan_from<T: Element + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let values = upload(device, &samples::<T>());
    uploaded();
    let options = ScanOptions::exclusive(Operator::Sum).with_initial(T::sample(5));
    Box::new(move || Ok(download(scan::values(&values, options)?)))
}

/// Runs an operation on values and the keys of their segments.
fn by_keys<T: Element + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceVec<T>, &DeviceVec<K>) -> Result<Download, OpError> + Send + 'static,
) -> Run {
    let keys: Vec<K> = (0..ELEMENTS as u64).map(|index| K::sample(index / 300)).collect();
    let (values, keys) = (upload(device, &samples()), upload(device, &keys));
    uploaded();
    Box::new(move || run(&values, &keys))
}

pub(super) fn scan_by_keys<T: Element + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    by_keys::<T, K>(device, uploaded, |values, keys| {
        Ok(download(scan::by_keys(keys, values, ScanOptions::exclusive(Operator::Sum))?))
    })
}

pub(super) fn reduce_by_keys<T: Element + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    by_keys::<T, K>(device, uploaded, |values, keys| {
        Ok(download_pairs(reduce::by_keys(keys, values, Operator::Sum)?))
    })
}

pub(super) fn reduce_by_keys_into<T: Element + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    by_keys::<T, K>(device, uploaded, |values, keys| {
        let device = values.device();
        let (mut own_keys, mut sums) = (device.zeros(keys.len())?, device.zeros(keys.len())?);
        let mut segments = device.zeros(1)?;
        reduce::by_keys_into(keys, values, Operator::Sum, &mut own_keys, &mut sums, &mut segments)?;
        Ok(download_pairs((own_keys, sums)))
    })
}

pub(super) fn scan_by_offsets<T: Element + Sample, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let offsets: Vec<O> =
        (0..=ELEMENTS).step_by(250).filter_map(|offset| O::try_from_usize(offset)).collect();
    let (values, offsets) = (upload(device, &samples::<T>()), upload(device, &offsets));
    uploaded();
    Box::new(move || {
        Ok(download(scan::by_offsets(&offsets, &values, ScanOptions::inclusive(Operator::Sum))?))
    })
}

pub(super) fn sort_keys<K: SortKey + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let keys = upload(device, &samples::<K>());
    uploaded();
    Box::new(move || Ok(download(sort::keys(&keys, SortOptions::default())?)))
}

pub(super) fn sort_pairs<K: SortKey + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (keys, values) = (upload(device, &samples::<K>()), upload(device, &numbers::<f64>(ELEMENTS)));
    uploaded();
    Box::new(move || Ok(download_pairs(sort::pairs(Pairs::new(&keys, &values), SortOptions::default())?)))
}

/// Row offsets of short segments, and of one that is too long for a tile.
fn sort_offsets<O: Offset>(device: &Device) -> DeviceVec<O> {
    let offsets =
        [0, 100, 1000, ELEMENTS - 3000, ELEMENTS].map(|offset| O::try_from_usize(offset).expect("small"));
    upload(device, &offsets)
}

pub(super) fn sort_keys_by_offsets<K: SortKey + Sample, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let (keys, offsets) = (upload(device, &samples::<K>()), sort_offsets::<O>(device));
    uploaded();
    Box::new(move || Ok(download(sort::keys_by_offsets(&offsets, &keys, SortOptions::default())?)))
}

pub(super) fn sort_pairs_by_offsets<K: SortKey + Sample, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let (keys, values) = (upload(device, &samples::<K>()), upload(device, &numbers::<f64>(ELEMENTS)));
    let offsets = sort_offsets::<O>(device);
    uploaded();
    Box::new(move || {
        Ok(download_pairs(sort::pairs_by_offsets(
            &offsets,
            Pairs::new(&keys, &values),
            SortOptions::default(),
        )?))
    })
}

/// Two sorted lists of keys with some keys in common.
fn sorted_lists<K: Key + Sample>(device: &Device) -> (DeviceVec<K>, DeviceVec<K>) {
    (upload(device, &sorted(3)), upload(device, &sorted(9)))
}

/// Runs an operation that computes a list of keys from two.
fn of_keys<K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceVec<K>, &DeviceVec<K>) -> Result<DeviceVec<K>, OpError> + Send + 'static,
) -> Run {
    let (a, b) = sorted_lists(device);
    uploaded();
    Box::new(move || Ok(download(run(&a, &b)?)))
}

/// Runs an operation that computes a list of keys with values from two.
fn of_pairs<K: Key + Sample, V: PairValue + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(Pairs<'_, K, V>, Pairs<'_, K, V>) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError>
    + Send
    + 'static,
) -> Run {
    let values = || upload(device, &samples::<V>()[..ELEMENTS / 2]);
    let ((a, b), a_values, b_values) = (sorted_lists(device), values(), values());
    uploaded();
    Box::new(move || Ok(download_pairs(run(Pairs::new(&a, &a_values), Pairs::new(&b, &b_values))?)))
}

pub(super) fn merge_keys<K: Key + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    of_keys::<K>(device, uploaded, |a, b| merge::keys(a, b))
}

pub(super) fn merge_pairs<V: PairValue + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    of_pairs::<K, V>(device, uploaded, |a, b| merge::pairs(a, b))
}

pub(super) fn union_keys<K: Key + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    of_keys::<K>(device, uploaded, |a, b| sets::keys(a, b, SetOperation::Union))
}

pub(super) fn union_pairs<V: PairValue + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    of_pairs::<K, V>(device, uploaded, |a, b| sets::pairs(a, b, SetOperation::Union, Combine::Sum))
}

pub(super) fn axpby<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &numbers::<V>(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut y = device.zeros(ELEMENTS)?;
        vector::axpby(V::from_f64(0.7), &x, V::ONE, &mut y)?;
        Ok(download(y))
    })
}

pub(super) fn dot<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let x = upload(device, &V::numbers(ELEMENTS));
    uploaded();
    Box::new(move || {
        let product = [vector::dot(&x, &x)?, vector::dot_conjugated(&x, &x)?];
        Ok(Box::new(move || bytes(&product)))
    })
}

pub(super) fn dot_into<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &V::numbers(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut products = device.zeros(2)?;
        let (mut product, mut conjugated) = products.split_at_mut(1)?;
        vector::dot_into(&x, &x, &mut product)?;
        vector::dot_conjugated_into(&x, &x, &mut conjugated)?;
        Ok(download(products))
    })
}

pub(super) fn norm2<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let x = upload(device, &V::numbers(ELEMENTS));
    uploaded();
    Box::new(move || {
        let norm = vector::norm2(&x)?;
        Ok(Box::new(move || bytes(&[norm])))
    })
}

pub(super) fn norm2_into<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &V::numbers(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut norm = device.zeros(1)?;
        vector::norm2_into(&x, &mut norm)?;
        Ok(download(norm))
    })
}

pub(super) fn multiply_elements<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &V::numbers(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut z = device.uninitialized(ELEMENTS)?;
        vector::multiply_elements(&x, &x, &mut z)?;
        Ok(download(z))
    })
}

pub(super) fn conjugate<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &V::numbers(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut y = device.uninitialized(ELEMENTS)?;
        y.copy_from(&x)?;
        vector::conjugate(&mut y)?;
        Ok(download(y))
    })
}

/// Writes one element, by the given function of a vector.
fn to_one<V: Value, T: Pod + Send>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceVec<V>, &mut DeviceVec<T>) -> Result<(), OpError> + Send + 'static,
) -> Run {
    let (device, x) = (device.clone(), upload(device, &numbers::<V>(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut result = device.zeros(1)?;
        run(&x, &mut result)?;
        Ok(download(result))
    })
}

pub(super) fn sum<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let x = upload(device, &numbers::<V>(ELEMENTS));
    uploaded();
    Box::new(move || {
        let sum = vector::sum(&x)?;
        Ok(Box::new(move || bytes(&[sum])))
    })
}

pub(super) fn sum_into<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    to_one::<V, V>(device, uploaded, |x, result| vector::sum_into(x, result))
}

pub(super) fn min_into<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    to_one::<V, V>(device, uploaded, |x, result| vector::min_into(x, result))
}

pub(super) fn argmin_into<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    to_one::<V, u64>(device, uploaded, |x, result| vector::argmin_into(x, result))
}

pub(super) fn map<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &numbers::<V>(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut y = device.uninitialized(ELEMENTS)?;
        y.copy_from(&x)?;
        vector::map(vector::Map::Exp, &mut y)?;
        Ok(download(y))
    })
}

pub(super) fn fill<V: Scalar>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let device = device.clone();
    uploaded();
    Box::new(move || {
        let mut y = device.uninitialized(ELEMENTS)?;
        vector::fill(V::ONE, &mut y)?;
        Ok(download(y))
    })
}

/// Computes y from the same y in every run, in place.
fn in_place<V: OfReal>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
    run: impl Fn(&DeviceSlice<V>, &mut DeviceSlice<V>) -> Result<(), OpError> + Send + 'static,
) -> Run {
    let (device, x) = (device.clone(), upload(device, &V::numbers(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut y = device.uninitialized(ELEMENTS)?;
        y.copy_from(&x)?;
        run(&x, &mut y)?;
        Ok(download(y))
    })
}

pub(super) fn multiply_in_place<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    in_place::<V>(device, uploaded, vector::multiply_elements_in_place)
}

pub(super) fn divide_in_place<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    in_place::<V>(device, uploaded, vector::divide_elements_in_place)
}

/// A matrix of the elements, in three columns.
fn basis<V: Scalar + OfReal>(device: &Device) -> DeviceDense<V> {
    let elements = upload(device, &V::numbers(3 * (ELEMENTS / 3)));
    DeviceDense::try_new(elements, ELEMENTS / 3, 3, Layout::ColumnMajor).expect("a matrix")
}

pub(super) fn column_dots<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, basis) = (device.clone(), basis::<V>(device));
    uploaded();
    Box::new(move || {
        let mut all = device.zeros(6)?;
        let (mut dots, mut conjugated) = all.split_at_mut(3)?;
        let x = basis.as_vec().slice(..ELEMENTS / 3)?;
        basis.dots_into(&x, &mut dots)?;
        basis.dots_conjugated_into(&x, &mut conjugated)?;
        Ok(download(all))
    })
}

pub(super) fn add_columns<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, basis) = (device.clone(), basis::<V>(device));
    uploaded();
    Box::new(move || {
        let mut y = device.zeros(ELEMENTS / 3)?;
        basis.add_columns(V::ONE, &basis.as_vec().slice(..3)?, &mut y)?;
        Ok(download(y))
    })
}
