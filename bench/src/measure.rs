//! Times on a device, and the rate they are compared with.

use evenpath::{Device, DeviceError, DeviceKind};

/// Bytes of each buffer with which the copy rate is measured: more than any cache holds.
const COPY_BYTES: usize = 512 << 20;

/// Milliseconds of each of `repetitions` runs, timed with events, after one that is not counted.
///
/// # Errors
///
/// The first error of a run, or of the device.
pub fn times_ms<E: From<DeviceError>>(
    device: &Device,
    repetitions: usize,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    run()?;
    device.synchronize()?;
    let mut events = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        let start = device.record()?;
        run()?;
        events.push((start, device.record()?));
    }
    device.synchronize()?;
    Ok(events.iter().map(|(start, end)| end.elapsed_since(start)).collect::<Result<_, _>>()?)
}

/// The middle of the values, the mean of the two middle ones where their number is even; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (len, middle) if len % 2 == 1 => sorted[middle],
        (_, middle) => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The rate at which the device copies within its memory, in GB/s, bytes read and bytes written counted: the ceiling
/// of everything that is bound by memory.
///
/// # Errors
///
/// If the device has not the memory for two buffers, or was lost.
pub fn copy_rate(device: &Device) -> Result<f64, DeviceError> {
    let (bytes, repetitions) = match device.kind() {
        DeviceKind::Cuda(_) => (COPY_BYTES, 20),
        DeviceKind::Cpu => (COPY_BYTES / 4, 5),
        DeviceKind::Simulated => (1 << 20, 3),
    };
    let source = device.upload_slice(&vec![1_u64; bytes / 8])?;
    let mut target = device.zeros::<u64>(bytes / 8)?;
    let times = times_ms(device, repetitions, || target.copy_from(&source))?;
    Ok(2.0 * bytes as f64 / median(&times) / 1e6)
}
