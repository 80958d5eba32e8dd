use std::error::Error;
use std::process::ExitCode;

use evenpath::scan::{self, Operator};
use evenpath::{Device, OpError};
use evenpath_bench::measure::{median, times_ms};
use evenpath_bench::primitive::Primitive;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Powers of two: numbers of elements.
    #[arg(long, value_delimiter = ',', default_values_t = [20, 24, 27])]
    log2: Vec<u32>,
    /// Runs that are timed for each measurement.
    #[arg(long, default_value_t = 11)]
    repetitions: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let device = Device::best()?;
    println!("{}", serde_json::json!({ "device": device.to_string() }));
    for &log2 in &arguments.log2 {
        let len = 1_usize << log2;
        plain::<u32>(&device, len, arguments.repetitions)?;
        plain::<f64>(&device, len, arguments.repetitions)?;
        for segment in [4, 64, 4096] {
            by_key::<f32>(&device, len, segment, arguments.repetitions)?;
            by_key::<f64>(&device, len, segment, arguments.repetitions)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A value that is not the same for all, and adds up exactly.
trait Small: scan::Element {
    const NAME: &'static str;
    fn small(index: usize) -> Self;
}

macro_rules! small {
    ($($type:ident)*) => {$(
        impl Small for $type {
            const NAME: &'static str = stringify!($type);
            fn small(index: usize) -> Self {
                (index * 7919 % 4) as Self
            }
        }
    )*};
}
small!(u32 f32 f64);

fn plain<V: Small>(device: &Device, len: usize, repetitions: usize) -> Result<(), OpError> {
    let values = device.upload_slice(&(0..len).map(V::small).collect::<Vec<_>>())?;
    let mut result = device.zeros(len)?;
    let times = times_ms(device, repetitions, || scan::exclusive_into(&values, Operator::Sum, &mut result))?;
    Primitive { op: "exclusive_scan".into(), key: V::NAME, value: "-", n: len }.print(
        median(&times),
        2.0 * (len * size_of::<V>()) as f64,
        scan::temporary_bytes::<V>(len),
    );
    Ok(())
}

fn by_key<V: Small + scan::Element>(
    device: &Device,
    len: usize,
    segment: u64,
    repetitions: usize,
) -> Result<(), OpError> {
    let values = device.upload_slice(&(0..len).map(V::small).collect::<Vec<_>>())?;
    let mut key = 0_u32;
    let mut state = 3_u64;
    let keys = (0..len).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        key += u32::from((state >> 33).is_multiple_of(segment));
        key
    });
    let keys = device.upload_slice(&keys.collect::<Vec<_>>())?;
    let times =
        times_ms(device, repetitions, || scan::inclusive_by(&keys, &values, Operator::Sum).map(|_| ()))?;
    Primitive { op: format!("scan_by_key_seg{segment}"), key: "u32", value: V::NAME, n: len }.print(
        median(&times),
        (len * (4 + 2 * size_of::<V>())) as f64,
        scan::temporary_bytes::<V>(len),
    );
    Ok(())
}
