//! Primitives on sequences, and vectors.

use bytemuck::Pod;
use evenpath::key::{Key, PairValue, Pairs};
use evenpath::scan::{Element, Mark, Operator, Scan};
use evenpath::sets::{self, Combine, SetOperation};
use evenpath::sort::{self, SortKey, SortOptions};
use evenpath::{Device, DeviceVec, Offset, Value, merge, reduce, vector};

use super::operations::{Download, ELEMENTS, Run, bytes, download, numbers};

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

/// Sorted numbers: every third from `first` on, some of them twice.
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
    Box::new(move || download(Scan::inclusive(Operator::Sum).run(&values).expect("a scan")))
}

pub(super) fn scan_by_keys<T: Element + Sample, K: Key + Mark + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let (values, keys) = (upload(device, &samples::<T>()), upload(device, &segment_keys::<K>()));
    uploaded();
    Box::new(move || download(Scan::exclusive(Operator::Sum).by_keys(&keys).run(&values).expect("a scan")))
}

fn segment_keys<K: Sample>() -> Vec<K> {
    (0..ELEMENTS as u64).map(|index| K::sample(index / 300)).collect()
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
        download(Scan::inclusive(Operator::Sum).by_offsets(&offsets).run(&values).expect("a scan"))
    })
}

pub(super) fn reduce_by_keys<T: Element + Sample, K: Key + Mark + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let (values, keys) = (upload(device, &samples::<T>()), upload(device, &segment_keys::<K>()));
    uploaded();
    Box::new(move || download_pairs(reduce::by_keys(&keys, &values, Operator::Sum).expect("a reduction")))
}

pub(super) fn sort_keys<K: SortKey + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let keys = upload(device, &samples::<K>());
    uploaded();
    Box::new(move || download(sort::sort(&keys, SortOptions::default()).expect("a sort")))
}

pub(super) fn sort_pairs<K: SortKey + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (keys, values) = (upload(device, &samples::<K>()), upload(device, &numbers::<f64>(ELEMENTS)));
    uploaded();
    Box::new(move || {
        download_pairs(sort::sort_pairs(&keys, &values, SortOptions::default()).expect("a sort"))
    })
}

pub(super) fn merge_keys<K: Key + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (a, b) = (upload(device, &sorted::<K>(3)), upload(device, &sorted::<K>(9)));
    uploaded();
    Box::new(move || download(merge::keys(&a, &b).expect("a merge")))
}

/// Two lists of keys with their values.
struct TwoLists<K: Pod, V: Pod> {
    keys: [DeviceVec<K>; 2],
    values: [DeviceVec<V>; 2],
}

impl<K: Key + Sample, V: PairValue + Sample> TwoLists<K, V> {
    fn new(device: &Device) -> Self {
        let values = || upload(device, &samples::<V>()[..ELEMENTS / 2]);
        Self {
            keys: [upload(device, &sorted::<K>(3)), upload(device, &sorted::<K>(9))],
            values: [values(), values()],
        }
    }

    fn pairs(&self) -> [Pairs<'_, K, V>; 2] {
        [0, 1].map(|list| Pairs::new(&self.keys[list], &self.values[list]))
    }
}

pub(super) fn merge_pairs<V: PairValue + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let lists = TwoLists::<K, V>::new(device);
    uploaded();
    Box::new(move || {
        let [a, b] = lists.pairs();
        download_pairs(merge::pairs(a, b).expect("a merge"))
    })
}

pub(super) fn union_keys<K: Key + Sample>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (a, b) = (upload(device, &sorted::<K>(3)), upload(device, &sorted::<K>(9)));
    uploaded();
    Box::new(move || download(sets::keys(SetOperation::Union, &a, &b).expect("a union")))
}

pub(super) fn union_pairs<V: PairValue + Sample, K: Key + Sample>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let lists = TwoLists::<K, V>::new(device);
    uploaded();
    Box::new(move || {
        let [a, b] = lists.pairs();
        download_pairs(sets::pairs(SetOperation::Union, a, b, Combine::Sum).expect("a union"))
    })
}

pub(super) fn axpby<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), upload(device, &numbers::<V>(ELEMENTS)));
    uploaded();
    Box::new(move || {
        let mut y = device.zeros(ELEMENTS).expect("memory");
        vector::axpby(V::from_f64(0.7), &x, V::ONE, &mut y).expect("a sum");
        download(y)
    })
}

pub(super) fn dot<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let x = upload(device, &numbers::<V>(ELEMENTS));
    uploaded();
    Box::new(move || {
        let product = vector::dot(&x, &x).expect("a product");
        Box::new(move || bytes(&[product]))
    })
}
