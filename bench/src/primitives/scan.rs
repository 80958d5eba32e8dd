use evenpath::error::OpError;
use evenpath::operator::{Element, Operator};
use evenpath::scan::{self, ScanOptions};

use super::bench::{Bench, Measured};
use super::check;
use crate::sequences::{Small, random_numbers};

/// Scans of `len` elements: sums of ones, minima and maxima of random numbers.
pub(super) fn elements<T: Element + Small>(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    let cases = [
        ("exclusive_scan", Operator::Sum, true),
        ("inclusive_scan", Operator::Sum, false),
        ("inclusive_scan_min", Operator::Min, false),
        ("inclusive_scan_max", Operator::Max, false),
    ];
    let cases = bench.selected(cases, |(op, ..)| op.into());
    if cases.is_empty() {
        return Ok(());
    }
    let mut values = vec![T::from_small(1); len];
    let mut input = bench.device.upload(&values)?;
    let mut result = bench.device.uninitialized::<T>(len)?;
    let mut host_result = vec![T::ZERO; len];
    for (op, (_, operator, exclusive)) in cases {
        if operator != Operator::Sum {
            values = random_numbers(len, u32::MAX, 21);
            input.copy_from_slice(&values)?;
        }
        let options =
            if exclusive { ScanOptions::exclusive(operator) } else { ScanOptions::inclusive(operator) };
        let times_ms = bench.times_ms(|| scan::values_into(&input, options, &mut result))?;
        result.copy_to_slice(&mut host_result)?;
        bench.report(Measured {
            op,
            key: T::TYPE.name(),
            value: "-",
            n: len,
            times_ms,
            bytes: 2 * len * T::SIZE,
            temporary_bytes: scan::values_temporary_bytes(len, options),
            checked: Some(check::scan(&values, |_| false, operator, exclusive, &host_result)),
        });
    }
    Ok(())
}
