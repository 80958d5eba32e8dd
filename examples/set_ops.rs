//! Union, intersection, difference and symmetric difference of two sorted sequences: timed and checked.
//!
//! ```sh
//! cargo run --release --example set_ops
//! cargo run --release --example set_ops -- --len 1000000 --key u32 --device cpu
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::sets::{self, SetOperation};
use evenpath_bench::arguments::{KeyType, RunArguments};
use evenpath_bench::measure::{copy_rate, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::{self, SmallKey, sorted_with_duplicates};
use serde_json::json;

/// Set operations on two sorted sequences with duplicates: timed, and checked by the definition, key by key.
///
/// Exit code: 0 if the results are right, 1 if one is wrong, 2 if there is none.
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
        KeyType::U32 => set_ops::<u32>(arguments),
        KeyType::U64 => set_ops::<u64>(arguments),
    })
}

fn set_ops<K: SmallKey>(Arguments { len, run, .. }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let start = Instant::now();
    let device = run.device.open()?;
    let opening = start.elapsed();
    let len = len.unwrap_or_else(|| sequences::default_len(&device));
    let host_a = sorted_with_duplicates::<K>(len, run.seed);
    let host_b = sorted_with_duplicates::<K>(len, run.seed + 1);

    let start = Instant::now();
    let (a, b) = (device.upload_slice(&host_a)?, device.upload_slice(&host_b)?);
    let union = sets::keys(SetOperation::Union, &a, &b)?.to_vec()?;
    let first_result = opening + start.elapsed();

    let mut verdict = check(SetOperation::Union, &host_a, &host_b, &union);
    let mut measured = Vec::new();
    let mut result = device.zeros(2 * len)?;
    for operation in SetOperation::ALL {
        let mut size = 0;
        let times = times_ms(&device, run.iterations(&device), || {
            size = sets::keys_into(operation, &a, &b, &mut result)?;
            Ok::<_, evenpath::OpError>(())
        })?;
        let found = result.to_vec()?;
        verdict = verdict.and_then(|()| check(operation, &host_a, &host_b, &found[..size]));
        measured.push((operation, size, times));
    }

    drop((a, b, result)); // room for the copy rate's buffers
    let rate = copy_rate(&device)?;
    let mut report = Report::new(run.json, verdict);
    let name = format!("2 sequences of {len} {} keys", K::NAME);
    report.line("input", name, json!({ "len": len, "key": K::NAME }));
    report.device(&device);
    for (operation, size, times) in measured {
        let bytes = (2 * len + size) * size_of::<K>();
        let name = format!("set_{operation}").replace(' ', "_");
        sequences::report(&mut report, &name, &times, 2 * len, bytes, rate);
    }
    report.first_result(opening, first_result);
    Ok(report)
}

/// Compares a result with the definition: so many copies of each key, given those of A and of B.
fn check<K: SmallKey>(operation: SetOperation, a: &[K], b: &[K], result: &[K]) -> Result<(), String> {
    let copies = |m: usize, n: usize| match operation {
        SetOperation::Union => m.max(n),
        SetOperation::Intersection => m.min(n),
        SetOperation::Difference => m.saturating_sub(n),
        SetOperation::SymmetricDifference => m.abs_diff(n),
    };
    let (mut a, mut b, mut rest) = (a, b, result);
    while let Some(&key) = a.first().into_iter().chain(b.first()).min() {
        let expected = copies(take(&mut a, key), take(&mut b, key));
        let found = take(&mut rest, key);
        if found != expected {
            return Err(format!("the {operation} has {found} copies of {key}, not {expected}"));
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("the {operation} has keys that are in no input")) }
}

/// Takes the copies of a key from the front of a sequence; how many they are.
fn take<K: Copy + PartialEq>(keys: &mut &[K], key: K) -> usize {
    let copies = keys.iter().take_while(|&other| *other == key).count();
    *keys = &keys[copies..];
    copies
}
