use std::error::Error;
use std::process::ExitCode;

use evenpath::sets::{self, Combine, SetOperation};
use evenpath::{Device, DeviceVec, OpError, PairValue, Pairs, merge};
use evenpath_bench::measure::{copy_rate, median, times_ms};
use evenpath_bench::primitive::Primitive;
use evenpath_bench::sequences::{SmallKey, sorted_unique};

/// Results up to this size are compared with the CPU's, element by element; of larger ones the size is.
const COMPARED: usize = 1 << 24;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Powers of two: keys of both inputs together.
    #[arg(long, value_delimiter = ',', default_values_t = [20, 24, 28])]
    log2: Vec<u32>,
    /// Runs that are timed for each measurement.
    #[arg(long, default_value_t = 11)]
    repetitions: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = Device::best()?;
    let rate = copy_rate(&device)?;
    println!("{}", serde_json::json!({ "device": device.to_string(), "copy_gbps": rate }));
    let mut all_right = true;
    for &log2 in &arguments.log2 {
        let bench = Bench { device: &device, len: 1 << log2 >> 1, repetitions: arguments.repetitions };
        all_right &= bench.keys::<u32>()?;
        all_right &= bench.keys::<u64>()?;
        all_right &= bench.pairs::<u64, f32>([1.0, 2.0])?;
        all_right &= bench.pairs::<u64, f64>([1.0, 2.0])?;
    }
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measurements of inputs of one size.
struct Bench<'d> {
    device: &'d Device,
    /// Keys of each input.
    len: usize,
    repetitions: usize,
}

impl Bench<'_> {
    /// All operations on keys; whether the results were right.
    fn keys<K: SmallKey>(&self) -> Result<bool, OpError> {
        let (host_a, host_b) = (sorted_unique::<K>(self.len, 11), sorted_unique::<K>(self.len, 12));
        let (a, b) = (self.device.upload_slice(&host_a)?, self.device.upload_slice(&host_b)?);
        let cpu = Device::cpu();
        let (cpu_a, cpu_b) = (cpu.upload_slice(&host_a)?, cpu.upload_slice(&host_b)?);
        drop((host_a, host_b));
        let mut result = self.device.zeros::<K>(2 * self.len)?;
        let temporary = sets::keys_temporary_bytes::<K>(self.len, self.len);
        let mut all_right = true;
        for operation in SetOperation::ALL {
            let op = format!("set_{operation}").replace(' ', "_");
            let mut size = 0;
            let times = times_ms(self.device, self.repetitions, || {
                size = sets::keys_into(operation, &a, &b, &mut result)?;
                Ok::<_, OpError>(())
            })?;
            self.print::<K>(&op, "-", &times, 2 * self.len + size, temporary);
            all_right &= right(&op, &result, size, &sets::keys(operation, &cpu_a, &cpu_b)?)?;

            let times = times_ms(self.device, self.repetitions, || {
                size = sets::count(operation, &a, &b)?;
                Ok::<_, OpError>(())
            })?;
            self.print::<K>(&format!("{op}_count"), "-", &times, 2 * self.len, temporary);
            all_right &= size == sets::count(operation, &cpu_a, &cpu_b)?;
        }
        let times = times_ms(self.device, self.repetitions, || merge::keys_into(&a, &b, &mut result))?;
        let temporary = merge::keys_temporary_bytes::<K>(self.len, self.len);
        self.print::<K>("merge", "-", &times, 4 * self.len, temporary);
        all_right &= right("merge", &result, 2 * self.len, &merge::keys(&cpu_a, &cpu_b)?)?;
        Ok(all_right)
    }

    /// Union and merge of pairs, the inputs' values being two numbers; whether the results' keys were right.
    fn pairs<K: SmallKey, V: PairValue>(&self, [x, y]: [V; 2]) -> Result<bool, OpError> {
        let upload = |seed, value: V| {
            let keys = self.device.upload_slice(&sorted_unique::<K>(self.len, seed))?;
            Ok::<_, OpError>((keys, self.device.upload_slice(&vec![value; self.len])?))
        };
        let (a, b) = (upload(11, x)?, upload(12, y)?);
        let (a, b) = (Pairs::new(&a.0, &a.1), Pairs::new(&b.0, &b.1));
        let mut keys = self.device.zeros::<K>(2 * self.len)?;
        let mut values = self.device.zeros::<V>(2 * self.len)?;
        let temporary = sets::pairs_temporary_bytes::<K, V>(self.len, self.len);
        let mut all_right = true;
        let bytes = |pairs: usize| pairs * (size_of::<K>() + size_of::<V>());
        for (combine, name) in [(Combine::First, "set_union_by_key"), (Combine::Sum, "set_union_by_key_sum")]
        {
            let mut size = 0;
            let times = times_ms(self.device, self.repetitions, || {
                size = sets::pairs_into(SetOperation::Union, a, b, combine, &mut keys, &mut values)?;
                Ok::<_, OpError>(())
            })?;
            let primitive = Primitive { op: name.into(), key: K::NAME, value: V::NAME, n: 2 * self.len };
            primitive.print(median(&times), bytes(2 * self.len + size) as f64, temporary);
            all_right &= size == sets::count(SetOperation::Union, a.keys, b.keys)?;
        }
        let times =
            times_ms(self.device, self.repetitions, || merge::pairs_into(a, b, &mut keys, &mut values))?;
        let primitive =
            Primitive { op: "merge_by_key".into(), key: K::NAME, value: V::NAME, n: 2 * self.len };
        let temporary = merge::pairs_temporary_bytes::<K, V>(self.len, self.len);
        primitive.print(median(&times), bytes(4 * self.len) as f64, temporary);
        Ok(all_right)
    }

    /// Prints a measurement of an operation that must move `keys` keys.
    fn print<K: SmallKey>(&self, op: &str, value: &'static str, times: &[f64], keys: usize, temporary: u64) {
        let primitive = Primitive { op: op.into(), key: K::NAME, value, n: 2 * self.len };
        primitive.print(median(times), (keys * size_of::<K>()) as f64, temporary);
    }
}

/// Whether the first `size` elements of a result are those expected; says so if not.
fn right<K: SmallKey>(
    op: &str,
    result: &DeviceVec<K>,
    size: usize,
    expected: &DeviceVec<K>,
) -> Result<bool, OpError> {
    let is_right = size == expected.len()
        && (size > COMPARED || expected.host_slice() == Some(&result.to_vec()?[..size]));
    if !is_right {
        eprintln!("FAIL: {op} of {} keys is not what the CPU makes of them", K::NAME);
    }
    Ok(is_right)
}
