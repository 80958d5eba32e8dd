//! Radix sort of keys, and of keys with values.
//!
//! ```sh
//! cargo run --release --example radix_sort -- 1000000
//! ```

mod support;

use std::cmp::Reverse;
use std::error::Error;
use std::process::ExitCode;

use evenpath::Device;
use evenpath::key::Pairs;
use evenpath::sort::{self, SortOptions, SortOrder};

fn main() -> ExitCode {
    support::on_sequences(radix_sort)
}

fn radix_sort(device: &Device, len: usize) -> Result<bool, Box<dyn Error>> {
    // 20 scattered bits, so that some keys occur more than once.
    let host_keys: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9E37_79B1) >> 12).collect();
    let keys = device.upload(&host_keys)?;

    let sorted = sort::keys(&keys, SortOptions::default())?.download()?;
    let mut expected = host_keys.clone();
    expected.sort_unstable();
    let mut is_right = sorted == expected;
    println!("{device}: {len} keys sorted");

    // With values, in descending order. The sort is stable: equal keys keep their order.
    let host_values: Vec<u32> = (0..len as u32).collect();
    let values = device.upload(&host_values)?;
    let options = SortOptions::default().with_order(SortOrder::Descending);
    let pairs = Pairs::new(&keys, &values);
    let (sorted_keys, sorted_values) = sort::pairs(pairs, options)?;
    let mut expected: Vec<(u32, u32)> = host_keys.iter().copied().zip(host_values).collect();
    expected.sort_by_key(|&(key, _)| Reverse(key));
    is_right &=
        sorted_keys.download()?.into_iter().zip(sorted_values.download()?).eq(expected.iter().copied());
    println!("{device}: {len} keys with values sorted in descending order");

    // By some of the bits, like one pass of a larger sort.
    let (_, sorted_values) = sort::pairs(pairs, SortOptions::default().with_bits(4..12))?;
    expected.sort_by_key(|&(_, value)| value); // as they were
    expected.sort_by_key(|&(key, _)| key >> 4 & 0xFF);
    is_right &= sorted_values.download()?.into_iter().eq(expected.into_iter().map(|(_, value)| value));
    println!("{device}: {len} keys with values sorted by bits 4 to 11");
    Ok(is_right)
}
