use evenpath::error::OpError;
use evenpath::operator::{Element, Operator};
use evenpath::scan::{self, ScanOptions};
use evenpath::{Device, DeviceVec, reduce};
use rayon::prelude::*;

use super::bench::{Bench, Measured};
use super::check;
use crate::measure::Times;
use crate::sequences::{Small, segment_keys};

/// Mean numbers of elements in a segment.
pub(super) const MEAN_LENGTHS: [u32; 3] = [4, 64, 4096];

/// The operation on segments.
#[derive(Clone, Copy)]
enum What {
    Scan,
    Reduce,
}

/// Form of the beginnings of segments.
#[derive(Clone, Copy)]
enum Marks {
    Keys,
    Flags,
    Offsets,
}

const CASES: [(What, Marks); 6] = [
    (What::Scan, Marks::Keys),
    (What::Scan, Marks::Flags),
    (What::Scan, Marks::Offsets),
    (What::Reduce, Marks::Keys),
    (What::Reduce, Marks::Flags),
    (What::Reduce, Marks::Offsets),
];

fn op((what, marks): (What, Marks), mean_length: u32) -> String {
    let what = match what {
        What::Scan => "scan",
        What::Reduce => "reduce",
    };
    let marks = match marks {
        Marks::Keys => "key",
        Marks::Flags => "flag",
        Marks::Offsets => "offsets",
    };
    format!("{what}_by_{marks}_seg{mean_length}")
}

/// Sums of `len` ones by segments of random lengths.
pub(super) fn values<T: Element + Small>(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    for mean_length in MEAN_LENGTHS {
        let cases = bench.selected(CASES, |case| op(case, mean_length));
        if cases.is_empty() {
            continue;
        }
        let segments = Segments::<T>::new(bench.device, len, mean_length)?;
        for (op, (what, marks)) in cases {
            let measured = match what {
                What::Scan => segments.scan(bench, op, marks)?,
                What::Reduce => segments.reduce(bench, op, marks)?,
            };
            bench.report(measured);
        }
    }
    Ok(())
}

/// Row offsets of segments with random lengths of this mean, of `len` elements.
pub(super) fn row_offsets(len: usize, mean_length: u32) -> Vec<u32> {
    offsets_of(&segment_keys::<u32>(len, mean_length, 3))
}

/// Row offsets of the runs of equal keys.
fn offsets_of(keys: &[u32]) -> Vec<u32> {
    let len = keys.len() as u32;
    let begins = |&index: &u32| index == 0 || keys[index as usize] != keys[index as usize - 1];
    (0..=len).into_par_iter().filter(|index| *index == len || begins(index)).collect()
}

/// Ones in nonempty segments.
struct Segments<T: Element> {
    host_keys: Vec<u32>,
    host_flags: Vec<u8>,
    host_offsets: Vec<u32>,
    host_values: Vec<T>,
    keys: DeviceVec<u32>,
    flags: DeviceVec<u8>,
    offsets: DeviceVec<u32>,
    values: DeviceVec<T>,
}

impl<T: Element + Small> Segments<T> {
    fn new(device: &Device, len: usize, mean_length: u32) -> Result<Self, OpError> {
        let host_keys = segment_keys::<u32>(len, mean_length, 3);
        let begins = |index: usize| index == 0 || host_keys[index] != host_keys[index - 1];
        let host_flags: Vec<u8> = (0..len).into_par_iter().map(|index| u8::from(begins(index))).collect();
        let host_offsets = offsets_of(&host_keys);
        let host_values = vec![T::from_small(1); len];
        Ok(Self {
            keys: device.upload(&host_keys)?,
            flags: device.upload(&host_flags)?,
            offsets: device.upload(&host_offsets)?,
            values: device.upload(&host_values)?,
            host_keys,
            host_flags,
            host_offsets,
            host_values,
        })
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of segments.
    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The type of the marks, and their total bytes.
    fn marks(&self, marks: Marks) -> (&'static str, usize) {
        match marks {
            Marks::Keys => ("u32", 4 * self.keys.len()),
            Marks::Flags => ("u8", self.flags.len()),
            Marks::Offsets => ("u32", 4 * self.offsets.len()),
        }
    }

    fn scan(&self, bench: &Bench<'_>, op: String, marks: Marks) -> Result<Measured, OpError> {
        let (values, sum) = (&self.values, Operator::Sum);
        let mut result = bench.device.uninitialized::<T>(self.len())?;
        let options = ScanOptions::inclusive(sum);
        let times_ms = bench.times_ms(|| match marks {
            Marks::Keys => scan::by_keys_into(&self.keys, values, options, &mut result),
            Marks::Flags => scan::by_flags_into(&self.flags, values, options, &mut result),
            Marks::Offsets => scan::by_offsets_into(&self.offsets, values, options, &mut result),
        })?;
        let begins = |index: usize| self.host_flags[index] != 0;
        let checked = check::scan(&self.host_values, begins, sum, false, &result.download()?);
        let (key, mark_bytes) = self.marks(marks);
        Ok(Measured {
            op,
            key,
            value: T::TYPE.name(),
            n: self.len(),
            times_ms,
            bytes: mark_bytes + 2 * self.len() * T::SIZE,
            temporary_bytes: match marks {
                Marks::Keys => scan::by_keys_temporary_bytes::<u32, T>(self.len()),
                Marks::Flags => scan::by_flags_temporary_bytes::<T>(self.len()),
                Marks::Offsets => scan::by_offsets_temporary_bytes::<T>(self.count(), self.len()),
            },
            checked: Some(checked),
        })
    }

    fn reduce(&self, bench: &Bench<'_>, op: String, marks: Marks) -> Result<Measured, OpError> {
        let (key, mark_bytes) = self.marks(marks);
        let (times_ms, checked, key_bytes) = match marks {
            Marks::Keys => {
                let (times_ms, checked) = self.reduce_by_key(bench)?;
                (times_ms, checked, 4 * self.count())
            }
            Marks::Flags => {
                let run = || reduce::by_flags(&self.flags, &self.values, Operator::Sum);
                (bench.times_ms(|| run().map(drop))?, self.check_totals(&run()?)?, 0)
            }
            Marks::Offsets => {
                let run = || reduce::by_offsets(&self.offsets, &self.values, Operator::Sum);
                (bench.times_ms(|| run().map(drop))?, self.check_totals(&run()?)?, 0)
            }
        };
        Ok(Measured {
            op,
            key,
            value: T::TYPE.name(),
            n: self.len(),
            times_ms,
            bytes: mark_bytes + key_bytes + (self.len() + self.count()) * T::SIZE,
            temporary_bytes: match marks {
                Marks::Keys => reduce::by_keys_temporary_bytes::<u32, T>(self.len()),
                Marks::Flags => reduce::by_flags_temporary_bytes::<T>(self.len()),
                Marks::Offsets => reduce::by_offsets_temporary_bytes::<T>(self.count(), self.len()),
            },
            checked: Some(checked),
        })
    }

    /// Measures with room for one segment per element; the number of segments stays on the device.
    fn reduce_by_key(&self, bench: &Bench<'_>) -> Result<(Times, Result<(), String>), OpError> {
        let mut keys = bench.device.zeros::<u32>(self.len())?;
        let mut totals = bench.device.zeros::<T>(self.len())?;
        let mut count = bench.device.zeros::<u64>(1)?;
        let times_ms = bench.times_ms(|| {
            reduce::by_keys_into(&self.keys, &self.values, Operator::Sum, &mut keys, &mut totals, &mut count)
        })?;
        let count = count.get(0)? as usize;
        keys.truncate(count);
        totals.truncate(count);
        let heads = self.host_offsets[..self.count()].iter();
        let expected_keys = heads.map(|&head| &self.host_keys[head as usize]);
        let same_keys =
            if keys.download()?.iter().eq(expected_keys) { Ok(()) } else { Err("wrong keys".into()) };
        Ok((times_ms, self.check_totals(&totals)?.and(same_keys)))
    }

    fn check_totals(&self, totals: &DeviceVec<T>) -> Result<Result<(), String>, OpError> {
        Ok(check::reduce(&self.host_values, &self.host_offsets, Operator::Sum, &totals.download()?))
    }
}
