//! Merge of two sorted sequences of keys, each with a value.
//!
//! ```sh
//! cargo run --release --example merge -- 1000000
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::key::Pairs;
use evenpath::{Device, merge};

fn main() -> ExitCode {
    support::on_sequences(merge)
}

fn merge(device: &Device, len: usize) -> Result<bool, Box<dyn Error>> {
    // Sorted keys, with duplicates; values that identify an element's sequence and position.
    let a: Vec<(u64, u32)> = (0..len).map(|i| (i as u64 / 3 * 4, i as u32)).collect();
    let b: Vec<(u64, u32)> = (0..len).map(|i| (i as u64 / 2 * 3, !(i as u32))).collect();
    let (a_keys, a_values): (Vec<u64>, Vec<u32>) = a.iter().copied().unzip();
    let (b_keys, b_values): (Vec<u64>, Vec<u32>) = b.iter().copied().unzip();

    let (a_keys, a_values) = (device.upload(&a_keys)?, device.upload(&a_values)?);
    let (b_keys, b_values) = (device.upload(&b_keys)?, device.upload(&b_values)?);
    let (keys, values) = merge::pairs(Pairs::new(&a_keys, &a_values), Pairs::new(&b_keys, &b_values))?;
    println!("{device}: 2 sequences of {len} merged into one of {}", keys.len());

    // The merge is stable: equal keys of A come before those of B, in order. A stable sort of A and B gives
    // the same.
    let mut expected = [a, b].concat();
    expected.sort_by_key(|&(key, _)| key);
    Ok(keys.download()?.into_iter().zip(values.download()?).eq(expected))
}
