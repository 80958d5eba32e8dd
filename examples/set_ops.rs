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
use evenpath::error::OpError;
use evenpath::key::Key;
use evenpath::sets::{self, SetOperation};
use evenpath_bench::arguments::KeyType;
use evenpath_bench::example::SequenceArguments;
use evenpath_bench::primitives::check::Combination;
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::{Small, sorted_with_duplicates};
use serde_json::json;

/// Set operations on two sorted sequences with duplicates: timed, and checked element by element.
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

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.key {
        KeyType::U32 => set_ops::<u32>(arguments),
        KeyType::U64 => set_ops::<u64>(arguments),
    })
}

fn set_ops<K: Key + Small>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.sequences.start()?;
    let (device, len) = (example.device.clone(), example.len);
    let host_a = sorted_with_duplicates::<K>(len, example.seed);
    let host_b = sorted_with_duplicates::<K>(len, example.seed.wrapping_add(1));
    example.input(&format!("2 sequences of {len} {} keys", K::NAME), json!({ "key": K::NAME }));

    let start = Instant::now();
    let (a, b) = (device.upload(&host_a)?, device.upload(&host_b)?);
    let union = sets::keys(SetOperation::Union, &a, &b)?.download()?;
    example.first_result(start);
    let checked = Combination::Set(SetOperation::Union).check(&host_a, &host_b, &union, |_, _| true);
    example.check("union", checked);

    // Into a vector that is there, as often as one likes; or counted only.
    let mut result = device.zeros(2 * len)?;
    for operation in SetOperation::ALL {
        let mut size = 0;
        let times = example.times_ms(|| {
            size = sets::keys_into(operation, &a, &b, &mut result)?;
            Ok::<_, OpError>(())
        })?;
        let name = format!("set_{operation}").replace(' ', "_");
        example.measured(&name, &times, 2 * len, (2 * len + size) * size_of::<K>());

        let keys = &result.download()?[..size];
        example.check(&name, Combination::Set(operation).check(&host_a, &host_b, keys, |_, _| true));
        let count = sets::count(operation, &a, &b)?;
        let counted = if count == size { Ok(()) } else { Err(format!("{count} counted, {size} written")) };
        example.check(&name, counted);
    }
    Ok(example.finish())
}
