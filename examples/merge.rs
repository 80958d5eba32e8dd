//! Merge of two sorted sequences of keys with values: timed and checked.
//!
//! ```sh
//! cargo run --release --example merge
//! cargo run --release --example merge -- --len 1000000 --key u32 --device cpu
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::{Pairs, merge};
use evenpath_bench::arguments::{KeyType, RunArguments};
use evenpath_bench::measure::{copy_rate, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::{self, SmallKey, sorted_with_duplicates};
use serde_json::json;

/// Merge of two sorted sequences of keys with values: timed, and checked against a stable sort.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    /// Keys of each sequence. [default: what suits the device]
    #[arg(long, value_name = "N")]
    len: Option<usize>,
    /// Type of the keys.
    #[arg(long, value_enum, default_value = "u64")]
    key: KeyType,
    #[command(flatten)]
    run: RunArguments,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.key {
        KeyType::U32 => merge::<u32>(arguments),
        KeyType::U64 => merge::<u64>(arguments),
    })
}

fn merge<K: SmallKey>(Arguments { len, run, .. }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let start = Instant::now();
    let device = run.device.open()?;
    let opening = start.elapsed();

    // Keys with duplicates; values that tell each element from every other.
    let len = len.unwrap_or_else(|| sequences::default_len(&device));
    let a_keys = sorted_with_duplicates::<K>(len, run.seed);
    let b_keys = sorted_with_duplicates::<K>(len, run.seed + 1);
    let a_values: Vec<u32> = (0..len as u32).collect();
    let b_values: Vec<u32> = (0..len as u32).map(|i| !i).collect();

    let start = Instant::now();
    let a = (device.upload_slice(&a_keys)?, device.upload_slice(&a_values)?);
    let b = (device.upload_slice(&b_keys)?, device.upload_slice(&b_values)?);
    let (a, b) = (Pairs::new(&a.0, &a.1), Pairs::new(&b.0, &b.1));
    let (mut keys, mut values) = merge::pairs(a, b)?;
    let (merged_keys, merged_values) = (keys.to_vec()?, values.to_vec()?);
    let first_result = opening + start.elapsed();

    let times =
        times_ms(&device, run.iterations(&device), || merge::pairs_into(a, b, &mut keys, &mut values))?;

    // A before B, and each in its order: what a stable sort makes of one behind the other.
    let mut expected: Vec<(K, u32)> =
        a_keys.into_iter().chain(b_keys).zip(a_values.into_iter().chain(b_values)).collect();
    expected.sort_by_key(|pair| pair.0);
    let merged = merged_keys.into_iter().zip(merged_values);
    let verdict = match merged.zip(&expected).position(|(found, expected)| found != *expected) {
        None => Ok(()),
        Some(index) => Err(format!("element {index} is not the stable sort's")),
    };

    let mut report = Report::new(run.json, verdict);
    let name = format!("2 sequences of {len} {} keys with u32 values", K::NAME);
    report.line("input", name, json!({ "len": len, "key": K::NAME, "value": "u32" }));
    report.device(&device);
    let bytes = 4 * len * (size_of::<K>() + 4);
    sequences::report(&mut report, "merge", &times, 2 * len, bytes, copy_rate(&device)?);
    report.first_result(opening, first_result);
    Ok(report)
}
