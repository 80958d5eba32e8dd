use evenpath::scan::{self, Operator, SegmentedElement};
use evenpath::{Device, DeviceVec, OpError};
use rayon::prelude::*;

use super::{Bench, Measured, check};
use crate::sequences::{Small, segment_keys};

/// Mean numbers of elements in a segment.
const MEAN_LENGTHS: [u32; 3] = [4, 64, 4096];

/// What tells where segments begin.
#[derive(Clone, Copy)]
enum Marks {
    Keys,
    Flags,
}

/// Sums of `len` ones by segments of random lengths.
pub(super) fn values<T: SegmentedElement + Small>(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    for mean_length in MEAN_LENGTHS {
        let cases = bench.selected([Marks::Keys, Marks::Flags], |marks| match marks {
            Marks::Keys => format!("scan_by_key_seg{mean_length}"),
            Marks::Flags => format!("scan_by_flag_seg{mean_length}"),
        });
        if cases.is_empty() {
            continue;
        }
        let segments = Segments::<T>::new(bench.device, len, mean_length)?;
        for (op, marks) in cases {
            let measured = segments.scan(bench, op, marks)?;
            bench.report(measured);
        }
    }
    Ok(())
}

/// Ones in segments.
struct Segments<T: SegmentedElement> {
    host_flags: Vec<u8>,
    host_values: Vec<T>,
    keys: DeviceVec<u32>,
    flags: DeviceVec<u8>,
    values: DeviceVec<T>,
}

impl<T: SegmentedElement + Small> Segments<T> {
    fn new(device: &Device, len: usize, mean_length: u32) -> Result<Self, OpError> {
        let host_keys = segment_keys::<u32>(len, mean_length, 3);
        let begins = |index: usize| index == 0 || host_keys[index] != host_keys[index - 1];
        let host_flags: Vec<u8> = (0..len).into_par_iter().map(|index| u8::from(begins(index))).collect();
        let host_values = vec![T::from_small(1); len];
        Ok(Self {
            keys: device.upload_slice(&host_keys)?,
            flags: device.upload_slice(&host_flags)?,
            values: device.upload_slice(&host_values)?,
            host_flags,
            host_values,
        })
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    /// The type of the marks, and the bytes that all of them have.
    fn marks(&self, marks: Marks) -> (&'static str, usize) {
        match marks {
            Marks::Keys => ("u32", 4 * self.keys.len()),
            Marks::Flags => ("u8", self.flags.len()),
        }
    }

    fn scan(&self, bench: &Bench<'_>, op: String, marks: Marks) -> Result<Measured, OpError> {
        let (values, sum) = (&self.values, Operator::Sum);
        let run = || match marks {
            Marks::Keys => scan::inclusive_by(&self.keys, values, sum),
            Marks::Flags => scan::inclusive_by(&self.flags, values, sum),
        };
        let times_ms = bench.times_ms(|| run().map(drop))?;
        let result = run()?;
        let begins = |index: usize| self.host_flags[index] != 0;
        let checked = check::scan(&self.host_values, begins, sum, false, &result.to_vec()?);
        let (key, mark_bytes) = self.marks(marks);
        Ok(Measured {
            op,
            key,
            value: T::TYPE.name(),
            n: self.len(),
            times_ms,
            bytes: mark_bytes + 2 * self.len() * T::SIZE,
            temporary_bytes: scan::temporary_bytes::<T>(self.len()),
            checked: Some(checked),
        })
    }
}
