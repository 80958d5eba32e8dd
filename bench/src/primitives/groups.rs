//! All cases, in groups that share inputs.

use evenpath::Device;
use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};

use super::bench::{Bench, Measured, Selection};
use super::case::Outcome;
use super::{scan, segmented_sort, segments, sets, sort, sort_tiles, two_pass_tiles};

/// Measures the selected primitives, and reports each when it is done. Cases that do not fit in device or host memory
/// are skipped. `copy_gbps` is the device's [copy rate](crate::measure::copy_rate).
///
/// # Errors
///
/// If an operation fails, or the device was lost.
pub(crate) fn measure(
    device: &Device,
    copy_gbps: f64,
    selection: &Selection,
    report: &mut dyn FnMut(Outcome),
) -> Result<(), OpError> {
    let mut bench = Bench { device, copy_gbps, selection, report };
    for group in GROUPS {
        for log2 in group.sizes.of(device, selection.log2.as_deref()) {
            match (group.measure)(&mut bench, 1 << log2) {
                Err(OpError::Device(error)) if is_out_of_memory(&error) => {
                    let Group { name, .. } = group;
                    (bench.report)(Outcome::LeftOut(format!("{name} skipped from 2^{log2} on: {error}")));
                }
                other => other?,
            }
        }
    }
    sort_tiles::measure(&mut bench)?;
    two_pass_tiles::measure(&mut bench)
}

fn is_out_of_memory(error: &DeviceError) -> bool {
    matches!(
        error,
        DeviceError::OutOfMemory { .. }
            | DeviceError::HostOutOfMemory { .. }
            | DeviceError::MemoryLimit { .. }
    )
}

/// Cases that share inputs.
struct Group {
    name: &'static str,
    sizes: Sizes,
    /// Measures the selected cases at one size.
    measure: fn(&mut Bench<'_>, usize) -> Result<(), OpError>,
}

/// log2 of the sizes of a group.
#[derive(Clone, Copy)]
enum Sizes {
    /// The selected sizes, or the default of the device, up to this.
    UpTo(u32),
    /// Only the largest, or this if that is less.
    One(u32),
}

const LARGEST: u32 = 28;

const GROUPS: &[Group] = &[
    Group { name: "copies", sizes: Sizes::One(LARGEST), measure: copy },
    Group {
        name: "sorts of u32",
        sizes: Sizes::UpTo(LARGEST),
        measure: |b, n| sort::by_bits::<u32>(b, n, &[32]),
    },
    Group {
        name: "sorts of u64",
        sizes: Sizes::UpTo(LARGEST),
        measure: |b, n| sort::by_bits::<u64>(b, n, &[64]),
    },
    Group {
        name: "sorts by some bits of u32",
        sizes: Sizes::One(26),
        measure: |b, n| sort::by_bits::<u32>(b, n, &[16, 20, 24]),
    },
    Group {
        name: "sorts by some bits of u64",
        sizes: Sizes::One(26),
        measure: |b, n| sort::by_bits::<u64>(b, n, &[40]),
    },
    Group { name: "scans of u32", sizes: Sizes::UpTo(27), measure: scan::elements::<u32> },
    Group { name: "scans of f64", sizes: Sizes::UpTo(27), measure: scan::elements::<f64> },
    Group { name: "segments of f32", sizes: Sizes::UpTo(27), measure: segments::values::<f32> },
    Group { name: "segments of f64", sizes: Sizes::UpTo(27), measure: segments::values::<f64> },
    Group {
        name: "sorts of u32 by segments",
        sizes: Sizes::UpTo(27),
        measure: segmented_sort::segments::<u32>,
    },
    Group {
        name: "sorts of u64 by segments",
        sizes: Sizes::UpTo(27),
        measure: segmented_sort::segments::<u64>,
    },
    Group { name: "sorts of rows", sizes: Sizes::UpTo(27), measure: segmented_sort::rows },
    Group { name: "sets of u32", sizes: Sizes::UpTo(LARGEST), measure: sets::keys::<u32> },
    Group { name: "sets of u64", sizes: Sizes::UpTo(LARGEST), measure: sets::keys::<u64> },
    Group { name: "sets of u64 with f32", sizes: Sizes::UpTo(LARGEST), measure: sets::pairs::<u64, f32> },
    Group { name: "sets of u64 with f64", sizes: Sizes::UpTo(LARGEST), measure: sets::pairs::<u64, f64> },
];

impl Sizes {
    fn of(self, device: &Device, selected: Option<&[u32]>) -> Vec<u32> {
        let suitable = |largest| match device.kind() {
            DeviceKind::Cuda(_) => (10..largest).step_by(2).chain([largest]).collect(),
            DeviceKind::Cpu => vec![10, 16, 20],
            DeviceKind::Simulated => vec![10, 12],
        };
        let sizes = |largest| selected.map_or_else(|| suitable(largest), <[u32]>::to_vec);
        match self {
            Self::UpTo(largest) => sizes(largest),
            Self::One(most) => {
                sizes(LARGEST).into_iter().max().map(|largest| largest.min(most)).into_iter().collect()
            }
        }
    }
}

/// Copies of 8-byte elements, counted in bytes.
fn copy(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    for (op, ()) in bench.selected([()], |()| "copy".into()) {
        let source = bench.device.zeros::<u64>(len)?;
        let mut target = bench.device.zeros::<u64>(len)?;
        let times_ms = bench.times_ms(|| Ok(target.copy_from(&source)?))?;
        let n = 8 * len;
        bench.report(Measured {
            op,
            key: "u8",
            value: "-",
            n,
            times_ms,
            bytes: 2 * n,
            temporary_bytes: 0,
            checked: None,
        });
    }
    Ok(())
}
