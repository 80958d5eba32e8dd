use evenpath::error::OpError;
use evenpath::key::{Pairs, SortKey};
use evenpath::sort::{self, SortOptions};

use super::bench::{Bench, Measured};
use super::check;
use crate::sequences::random_keys;

/// Radix sorts of `len` keys, and of as many pairs with 32-bit values. For each of `bits`, that many low bits of the
/// keys are random and sorted by.
pub(super) fn by_bits<K: SortKey>(bench: &mut Bench<'_>, len: usize, bits: &[u32]) -> Result<(), OpError> {
    for &bits in bits {
        let options = SortOptions::default().with_bits(0..bits);
        let cases = bench.selected(["keys", "pairs"], |what| format!("radix_sort_{what}_{bits}bit"));
        if cases.is_empty() {
            continue;
        }
        let host_keys = random_keys::<K>(len, bits, 1);
        let keys = bench.device.upload(&host_keys)?;
        for (op, what) in cases {
            let measured = if what == "keys" {
                let times_ms = bench.times_ms(|| sort::keys(&keys, options).map(drop))?;
                Measured {
                    op,
                    key: K::TYPE.name(),
                    value: "-",
                    n: len,
                    times_ms,
                    bytes: 2 * len * K::SIZE,
                    temporary_bytes: sort::keys_temporary_bytes::<K>(len, options)?,
                    checked: Some(check::sorted_keys(&host_keys, &sort::keys(&keys, options)?.download()?)),
                }
            } else {
                let places = bench.device.upload(&(0..len as u32).collect::<Vec<_>>())?;
                let times_ms =
                    bench.times_ms(|| sort::pairs(Pairs::new(&keys, &places), options).map(drop))?;
                let (sorted, moved) = sort::pairs(Pairs::new(&keys, &places), options)?;
                Measured {
                    op,
                    key: K::TYPE.name(),
                    value: "u32",
                    n: len,
                    times_ms,
                    bytes: 2 * len * (K::SIZE + 4),
                    temporary_bytes: sort::pairs_temporary_bytes::<K, u32>(len, options)?,
                    checked: Some(check::sorted_places(&host_keys, &sorted.download()?, &moved.download()?)),
                }
            };
            bench.report(measured);
        }
    }
    Ok(())
}
