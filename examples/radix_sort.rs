//! Radix sort of keys, and of keys with values: ascending, descending, by some bits; timed and checked.
//!
//! ```sh
//! cargo run --release --example radix_sort
//! cargo run --release --example radix_sort -- --len 1000000 --key u32 --device cpu
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::sort::{self, SortKey, SortOptions, SortOrder};
use evenpath_bench::arguments::KeyType;
use evenpath_bench::example::SequenceArguments;
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::random_keys;
use serde_json::json;

/// Radix sort of random keys, alone and with values: timed, and checked against the standard library's stable sort.
///
/// Exit code: 0 if the results are right, 1 if one is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    sequences: SequenceArguments,
    /// Type of the keys.
    #[arg(long, value_enum, default_value = "u64")]
    key: KeyType,
}

/// What pairs are sorted by, as a number made of the key's bits.
type Rank = fn(u64) -> u64;

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.key {
        KeyType::U32 => radix_sort::<u32>(arguments),
        KeyType::U64 => radix_sort::<u64>(arguments),
    })
}

fn radix_sort<K: SortKey + Ord>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.sequences.start()?;
    let (device, len) = (example.device.clone(), example.len);
    // Some of 2²⁰ keys are there more than once: values show whether equal ones keep their order.
    let host_keys = random_keys::<K>(len, 20, example.seed);
    let host_values: Vec<u32> = (0..len as u32).collect();
    let name = K::TYPE.name();
    example.input(
        &format!("{len} {name} keys of 20 bits with u32 values"),
        json!({ "key": name, "value": "u32" }),
    );

    let start = Instant::now();
    let keys = device.upload(&host_keys)?;
    sort::sort(&keys, SortOptions::default())?.download()?;
    example.first_result(start);

    let mut expected = host_keys.clone();
    expected.sort_unstable();
    let sort_keys = || sort::sort(&keys, SortOptions::default());
    let bytes = 2 * len * size_of::<K>();
    example.check_and_measure("keys", len, bytes, sort_keys, |sorted| {
        Ok(same(&sorted.download()?, &expected))
    })?;

    // With values, in several orders.
    let orders: [(&str, SortOptions, Rank); 3] = [
        ("pairs", SortOptions::default(), |key| key),
        ("pairs_descending", SortOptions::default().with_order(SortOrder::Descending), |key| !key),
        ("pairs_by_bits_4_to_12", SortOptions::default().with_bits(4..12), |key| key >> 4 & 0xFF),
    ];
    let values = device.upload(&host_values)?;
    let bytes = 2 * len * (size_of::<K>() + size_of::<u32>());
    for (name, options, rank) in orders {
        let mut expected: Vec<_> = host_keys.iter().copied().zip(host_values.iter().copied()).collect();
        expected.sort_by_key(|&(key, _)| rank(key.to_bits()));
        let sort_pairs = || sort::sort_pairs(&keys, &values, options);
        example.check_and_measure(name, len, bytes, sort_pairs, |(keys, values)| {
            let found: Vec<_> = keys.download()?.into_iter().zip(values.download()?).collect();
            Ok(same(&found, &expected))
        })?;
    }
    Ok(example.finish())
}

fn same<T: PartialEq>(found: &[T], expected: &[T]) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err("not what the standard library's sort gives".into()) }
}
