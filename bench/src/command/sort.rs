use std::error::Error;
use std::process::ExitCode;

use evenpath::sort::{SortKey, SortOptions};
use evenpath::{Device, DeviceKind};
use evenpath_bench::sort::{SortedTiles, measure_keys, measure_pairs, measure_tiles};
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Logarithms of the numbers of keys that are sorted by all their bits.
    #[arg(long, value_delimiter = ',', default_values_t = [20, 24, 28])]
    log2_sizes: Vec<u32>,
    /// Logarithm of the number of keys that are sorted by some of their bits.
    #[arg(long, default_value_t = 26)]
    log2_partial: u32,
    /// Runs that are timed for each measurement.
    #[arg(long, default_value_t = 11)]
    repetitions: usize,
}

/// Prints one JSON object a line: of the device's sort in milliseconds, of a block's in clock cycles.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = Device::best()?;
    println!("{}", json!({ "device": device.to_string() }));
    let mut all_right = true;
    for &log2 in &arguments.log2_sizes {
        all_right &= report::<u32>(&device, log2, 32, arguments.repetitions)?;
        all_right &= report::<u64>(&device, log2, 64, arguments.repetitions)?;
    }
    for bits in [16, 20, 24] {
        all_right &= report::<u32>(&device, arguments.log2_partial, bits, arguments.repetitions)?;
    }
    all_right &= report::<u64>(&device, arguments.log2_partial, 40, arguments.repetitions)?;
    if device.kind() != DeviceKind::Cpu {
        for what in [SortedTiles::Keys, SortedTiles::Permutation, SortedTiles::Pairs] {
            for bits in [12, 16, 20, 24, 28] {
                all_right &= report_tiles(&device, what, bits)?;
            }
        }
    }
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures keys alone and with values; whether the results were right.
fn report<K: SortKey>(
    device: &Device,
    log2: u32,
    bits: u32,
    repetitions: usize,
) -> Result<bool, Box<dyn Error>> {
    let len = 1_usize.checked_shl(log2).ok_or("too many keys")?;
    let options = SortOptions::new().bits(0..bits);
    let mut all_right = true;
    for pairs in [false, true] {
        let measured = if pairs {
            measure_pairs::<K>(device, len, bits, &options, repetitions)?
        } else {
            measure_keys::<K>(device, len, bits, &options, repetitions)?
        };
        let item_bytes = size_of::<K>() + if pairs { 4 } else { 0 };
        println!(
            "{}",
            json!({
                "peer": "evenpath",
                "op": format!("radix_sort_{}_{bits}bit", if pairs { "pairs" } else { "keys" }),
                "key": K::TYPE.name(),
                "value": if pairs { "u32" } else { "-" },
                "n": len,
                "ms": measured.ms,
                "gkeys_s": len as f64 / measured.ms / 1e6,
                "gb_s": 2.0 * (len * item_bytes) as f64 / measured.ms / 1e6,
                "temporary_bytes": measured.temporary_bytes,
                "verified": measured.verified,
            })
        );
        all_right &= measured.verified;
    }
    Ok(all_right)
}

/// Measures the sort of one tile alone, and of as many as fill a GPU of 132 multiprocessors eight times.
fn report_tiles(device: &Device, what: SortedTiles, bits: u32) -> Result<bool, Box<dyn Error>> {
    // 28 bits and a place are more than 32: there the permutation travels with 64-bit keys.
    let alone = measure_tiles(device, what, bits, 1)?;
    let full = measure_tiles(device, what, bits, 132 * 8)?;
    println!(
        "{}",
        json!({
            "peer": "evenpath",
            "op": format!("cta_radix_sort_{}", what.name()),
            "bits": bits,
            "threads": alone.threads,
            "items": alone.items,
            "cycles_alone": alone.cycles,
            "cycles_full": full.cycles,
            "verified": alone.verified && full.verified,
        })
    );
    Ok(alone.verified && full.verified)
}
