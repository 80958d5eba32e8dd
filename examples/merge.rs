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
use evenpath::key::{Key, Pairs};
use evenpath::merge;
use evenpath_bench::arguments::KeyType;
use evenpath_bench::example::SequenceArguments;
use evenpath_bench::primitives::check::{Combination, Source};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::{Small, sorted_with_duplicates};
use serde_json::json;

/// Merge of two sorted sequences of keys with values: timed, and checked element by element.
///
/// Exit code: 0 if the result is right, 1 if it is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    sequences: SequenceArguments,
    /// Type of the keys.
    #[arg(long, value_enum, default_value = "u64")]
    key: KeyType,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.key {
        KeyType::U32 => merge::<u32>(arguments),
        KeyType::U64 => merge::<u64>(arguments),
    })
}

fn merge<K: Key + Small>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.sequences.start()?;
    let (device, len) = (example.device.clone(), example.len);

    // Keys with duplicates; values that tell each element from every other.
    let a_keys = sorted_with_duplicates::<K>(len, example.seed);
    let b_keys = sorted_with_duplicates::<K>(len, example.seed.wrapping_add(1));
    let a_values: Vec<u32> = (0..len as u32).collect();
    let b_values: Vec<u32> = (0..len as u32).map(|index| !index).collect();
    let input = format!("2 sequences of {len} {} keys with u32 values", K::NAME);
    example.input(&input, json!({ "key": K::NAME, "value": "u32" }));

    let start = Instant::now();
    let a = (device.upload(&a_keys)?, device.upload(&a_values)?);
    let b = (device.upload(&b_keys)?, device.upload(&b_values)?);
    let (a, b) = (Pairs::new(&a.0, &a.1), Pairs::new(&b.0, &b.1));
    let (mut keys, mut values) = merge::pairs(a, b)?;
    let (merged_keys, merged_values) = (keys.download()?, values.download()?);
    example.first_result(start);

    // A before B, and each in its order.
    let is_right = |index: usize, source| match source {
        Source::A(from) => merged_values[index] == a_values[from],
        Source::B(from) => merged_values[index] == b_values[from],
        Source::Match(..) => false,
    };
    example.check("merge", Combination::Merge.check(&a_keys, &b_keys, &merged_keys, is_right));

    // Into vectors that are there, as often as one likes.
    let times = example.times_ms(|| merge::pairs_into(a, b, &mut keys, &mut values))?;
    example.measured("merge", &times, 2 * len, 4 * len * (size_of::<K>() + size_of::<u32>()));
    Ok(example.finish())
}
