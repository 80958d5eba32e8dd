use evenpath::OpError;
use evenpath::scan::{self, Operator, SegmentedElement};

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
        let keys = segment_keys::<u32>(len, mean_length, 3);
        let begins = |index: usize| index > 0 && keys[index] != keys[index - 1];
        let host_values = vec![T::from_small(1); len];
        let values = bench.device.upload_slice(&host_values)?;
        for (op, marks) in cases {
            let (key, mark_bytes, times_ms, result) = match marks {
                Marks::Keys => {
                    let keys = bench.device.upload_slice(&keys)?;
                    let run = || scan::inclusive_by(&keys, &values, Operator::Sum);
                    ("u32", 4, bench.times_ms(|| run().map(drop))?, run()?)
                }
                Marks::Flags => {
                    let flags: Vec<u8> = (0..len).map(|index| u8::from(begins(index))).collect();
                    let flags = bench.device.upload_slice(&flags)?;
                    let run = || scan::inclusive_by(&flags, &values, Operator::Sum);
                    ("u8", 1, bench.times_ms(|| run().map(drop))?, run()?)
                }
            };
            bench.report(Measured {
                op,
                key,
                value: T::TYPE.name(),
                n: len,
                times_ms,
                bytes: len * (mark_bytes + 2 * T::SIZE),
                temporary_bytes: scan::temporary_bytes::<T>(len),
                checked: Some(check::scan(&host_values, begins, Operator::Sum, false, &result.to_vec()?)),
            });
        }
    }
    Ok(())
}
