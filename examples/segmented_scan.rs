//! Running sums and totals by segments, which are told by keys, by flags, or by the row offsets of a CSR matrix: timed
//! and checked.
//!
//! ```sh
//! cargo run --release --example segmented_scan
//! cargo run --release --example segmented_scan -- --len 1000000 --value f32 --device cpu
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::scan::{Element, Operator, Scan};
use evenpath::{DeviceVec, reduce};
use evenpath_bench::arguments::ElementType;
use evenpath_bench::example::SequenceArguments;
use evenpath_bench::primitives::check;
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::sequences::{Small, random_numbers};
use serde_json::json;

/// Running sums and totals by segments: timed, and checked element by element.
///
/// Exit code: 0 if the results are right, 1 if one is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    sequences: SequenceArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ElementType,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ElementType::U32 => segmented_scan::<u32>(arguments),
        ElementType::I32 => segmented_scan::<i32>(arguments),
        ElementType::U64 => segmented_scan::<u64>(arguments),
        ElementType::F32 => segmented_scan::<f32>(arguments),
        ElementType::F64 => segmented_scan::<f64>(arguments),
    })
}

fn segmented_scan<T: Element + Small>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let mut example = arguments.sequences.start()?;
    let (device, len) = (example.device.clone(), example.len);

    // A matrix's values, by rows of 0 to 16; the last takes what is left. The sums are exact in every type.
    let host_values = random_numbers::<T>(len, 100, example.seed);
    let host_offsets = row_offsets(len, example.seed);
    let (host_rows, host_flags) = keys_and_flags(&host_offsets, len);
    let (name, rows) = (T::TYPE.name(), host_offsets.len() - 1);
    example.input(&format!("{len} {name} values in {rows} rows"), json!({ "value": name, "rows": rows }));

    let start = Instant::now();
    let values = device.upload(&host_values)?;
    let rows = device.upload(&host_rows)?;
    Scan::inclusive(Operator::Sum).by_keys(&rows).run(&values)?.download()?;
    example.first_result(start);

    // Running sums: three ways to tell rows, one result.
    let flags = device.upload(&host_flags)?;
    let offsets = device.upload(&host_offsets)?;
    let begins = |index: usize| host_flags[index] != 0;
    let check_sums =
        |sums: DeviceVec<T>| Ok(check::scan(&host_values, begins, Operator::Sum, false, &sums.download()?));
    let bytes = 2 * len * size_of::<T>();
    let by_key = || Scan::inclusive(Operator::Sum).by_keys(&rows).run(&values);
    example.check_and_measure("scan_by_key", len, bytes + 4 * len, by_key, check_sums)?;
    let by_flag = || Scan::inclusive(Operator::Sum).by_flags(&flags).run(&values);
    example.check_and_measure("scan_by_flag", len, bytes + len, by_flag, check_sums)?;
    let by_offsets = || Scan::inclusive(Operator::Sum).by_offsets(&offsets).run(&values);
    example.check_and_measure("scan_by_offsets", len, bytes + 4 * offsets.len(), by_offsets, check_sums)?;

    // Totals, one a row, zero where it is empty.
    let bytes = (len + offsets.len() - 1) * size_of::<T>() + 4 * offsets.len();
    let by_offsets = || reduce::by_offsets(&offsets, &values, Operator::Sum);
    example.check_and_measure("reduce_by_offsets", len, bytes, by_offsets, |totals| {
        Ok(check::reduce(&host_values, &host_offsets, Operator::Sum, &totals.download()?))
    })?;

    // By keys, one a row that is not empty, with its number.
    let (mut full_rows, mut full_offsets) = (host_rows.clone(), host_offsets.clone());
    full_rows.dedup();
    full_offsets.dedup();
    let bytes = (len + full_rows.len()) * (size_of::<u32>() + size_of::<T>());
    let by_key = || reduce::by_keys(&rows, &values, Operator::Sum);
    example.check_and_measure("reduce_by_key", len, bytes, by_key, |(rows, totals)| {
        let same_rows =
            if rows.download()? == full_rows { Ok(()) } else { Err("not the rows with values".into()) };
        let checked = check::reduce(&host_values, &full_offsets, Operator::Sum, &totals.download()?);
        Ok(same_rows.and(checked))
    })?;
    Ok(example.finish())
}

/// Random offsets of some len/8 rows.
fn row_offsets(len: usize, seed: u64) -> Vec<u32> {
    let mut end = 0;
    let mut offsets = vec![end];
    for row_len in random_numbers::<u32>(len / 8, 17, seed) {
        end = len.min(end as usize + row_len as usize) as u32;
        offsets.push(end);
    }
    offsets.push(len as u32);
    offsets
}

/// Rows told by the row of each value, and by flags that are 1 at the first value of a row.
fn keys_and_flags(row_offsets: &[u32], len: usize) -> (Vec<u32>, Vec<u8>) {
    let (mut rows, mut flags) = (vec![0; len], vec![0; len]);
    for (row, bounds) in row_offsets.windows(2).enumerate() {
        let elements = bounds[0] as usize..bounds[1] as usize;
        rows[elements.clone()].fill(row as u32);
        flags[elements].iter_mut().take(1).for_each(|first| *first = 1);
    }
    (rows, flags)
}
