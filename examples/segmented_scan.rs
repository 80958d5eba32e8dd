//! Running sums and totals by segments: here the rows of a matrix, given by keys, flags or row offsets.
//!
//! ```sh
//! cargo run --release --example segmented_scan -- 1000000
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::{Device, reduce};

fn main() -> ExitCode {
    support::on_sequences(segmented_scan)
}

fn segmented_scan(device: &Device, len: usize) -> Result<bool, Box<dyn Error>> {
    // Rows of 0 to 6 values; the last takes the rest. The values are small integers, so that sums are exact.
    let values: Vec<f64> = (0..len).map(|i| (i % 10) as f64).collect();
    let mut offsets = vec![0_u32];
    for row in 0..len / 4 {
        offsets.push((offsets[row] + row as u32 * 5 % 7).min(len as u32));
    }
    offsets.push(len as u32);

    // The same by keys, one per value, and by flags, which are 1 at the first value of a row.
    let (mut keys, mut flags) = (vec![0_u32; len], vec![0_u8; len]);
    let (mut running, mut totals) = (Vec::new(), Vec::new()); // the expected results
    for (row, ends) in offsets.windows(2).enumerate() {
        let mut sum = 0.0;
        for i in ends[0] as usize..ends[1] as usize {
            keys[i] = row as u32;
            flags[i] = u8::from(i == ends[0] as usize);
            sum += values[i];
            running.push(sum);
        }
        totals.push(sum);
    }

    let device_values = device.upload(&values)?;
    let (device_keys, device_flags) = (device.upload(&keys)?, device.upload(&flags)?);
    let device_offsets = device.upload(&offsets)?;

    // Running sums, by each of the three.
    let sums = ScanOptions::inclusive(Operator::Sum);
    let by_key = scan::by_keys(&device_keys, &device_values, sums)?.download()?;
    let by_flag = scan::by_flags(&device_flags, &device_values, sums)?.download()?;
    let by_offsets = scan::by_offsets(&device_offsets, &device_values, sums)?.download()?;
    println!("{device}: running sums of {len} values in {} rows", totals.len());
    let mut is_right = by_key == running && by_flag == running && by_offsets == running;

    // Totals: by offsets one per row, 0 for an empty row; by keys one per distinct key.
    let of_rows = reduce::by_offsets(&device_offsets, &device_values, Operator::Sum)?.download()?;
    let (rows, of_keys) = reduce::by_keys(&device_keys, &device_values, Operator::Sum)?;
    println!("{device}: totals of {} rows, {} of which have values", of_rows.len(), rows.len());
    is_right &= of_rows == totals;
    let filled = (0_u32..).zip(&offsets).zip(&offsets[1..]).filter(|((_, start), end)| start < end);
    let filled: Vec<u32> = filled.map(|((row, _), _)| row).collect();
    is_right &= rows.download()? == filled;
    is_right &= of_keys.download()?.into_iter().eq(filled.iter().map(|&row| totals[row as usize]));
    Ok(is_right)
}
