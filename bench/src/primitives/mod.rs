//! The primitives: cases, inputs, measurements and checks.
//!
//! Inputs, counted bytes and names of cases are the same as in measurements of CUB and Thrust, so that they can be
//! [compared](peers) by case. With several inputs, n counts the elements of all.

pub(crate) mod check;
pub(crate) mod peers;
mod scan;
mod segmented_sort;
mod segments;
mod sets;
mod sort;
mod sort_tiles;
mod two_pass_tiles;

use evenpath::Device;
use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use serde::{Deserialize, Serialize};

use crate::measure::{Times, median, single_times_ms};

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// log2 of the sizes; `None` for the default of the device.
    pub(crate) log2: Option<Vec<u32>>,
    /// Measure operations whose names contain one of these; all, if empty.
    pub(crate) ops: Vec<String>,
    /// Runs to time per measurement.
    pub(crate) repetitions: usize,
}

/// A case. Measurements with equal cases are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Case {
    /// An operation on a device's memory.
    Sequence {
        /// The operation.
        op: String,
        /// The type of the keys, or of the elements if there are no keys.
        key: String,
        /// The type of the values; `-` if there are none.
        value: String,
        /// The number of elements.
        n: u64,
    },
    /// An operation of a block on its tile.
    Tile {
        /// The operation.
        op: String,
        /// The bits of the keys.
        bits: u32,
    },
}

impl Case {
    /// The operation.
    pub(crate) fn op(&self) -> &str {
        let (Self::Sequence { op, .. } | Self::Tile { op, .. }) = self;
        op
    }
}

/// The figures of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Figures {
    /// For an operation on a device's memory.
    Sequence {
        /// Median time of one run.
        ms: f64,
        /// 10⁹ elements per second.
        gkeys_s: f64,
        /// 10⁹ bytes of inputs and results per second, each counted once.
        gb_s: f64,
        /// The same as a fraction of the device's copy rate.
        copy_share: f64,
        /// Bytes of temporary GPU memory, besides inputs and results.
        temporary_bytes: u64,
    },
    /// For an operation of a block on its tile, excluding loads and stores.
    Tile {
        /// Threads per block.
        threads: u32,
        /// Elements per thread.
        items: u32,
        /// Clock cycles of a block that has the device to itself.
        cycles_alone: u32,
        /// Median clock cycles per block, with eight blocks per multiprocessor.
        cycles_full: u32,
    },
}

/// A case and its figures.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measurement {
    /// The library: evenpath.
    pub(crate) peer: &'static str,
    /// What was measured.
    #[serde(flatten)]
    pub(crate) case: Case,
    /// The figures.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// Whether the result was correct; `None` if there is none to check.
    pub(crate) verified: Option<bool>,
    /// How the result differs from the correct one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<String>,
}

impl Measurement {
    fn new(case: Case, figures: Figures, checked: Option<Result<(), String>>) -> Self {
        let verified = checked.as_ref().map(Result::is_ok);
        let difference = checked.and_then(Result::err);
        Self { peer: "evenpath", case, figures, verified, difference }
    }
}

/// One outcome of [`measure`].
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// A measurement.
    Measured(Measurement),
    /// A case that could not be measured, and why.
    LeftOut(String),
}

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

/// Measures and reports.
struct Bench<'b> {
    device: &'b Device,
    copy_gbps: f64,
    selection: &'b Selection,
    report: &'b mut dyn FnMut(Outcome),
}

/// A measurement of an operation on a device's memory.
struct Measured {
    op: String,
    key: &'static str,
    value: &'static str,
    n: usize,
    times_ms: Times,
    /// Bytes of inputs and results, each counted once.
    bytes: usize,
    temporary_bytes: u64,
    checked: Option<Result<(), String>>,
}

impl Bench<'_> {
    /// The selected cases, with the name of the operation.
    fn selected<C: Copy>(
        &self,
        cases: impl IntoIterator<Item = C>,
        op: impl Fn(C) -> String,
    ) -> Vec<(String, C)> {
        let ops = &self.selection.ops;
        let is_selected = |op: &str| ops.is_empty() || ops.iter().any(|part| op.contains(part));
        let named = cases.into_iter().map(|case| (op(case), case));
        named.filter(|(op, _)| is_selected(op)).collect()
    }

    fn times_ms(&self, run: impl FnMut() -> Result<(), OpError>) -> Result<Times, OpError> {
        single_times_ms(self.device, self.selection.repetitions, run)
    }

    fn report(&mut self, measured: Measured) {
        let Measured { op, key, value, n, times_ms, bytes, temporary_bytes, checked } = measured;
        let ms = median(&times_ms);
        let gb_s = bytes as f64 / ms / 1e6;
        let figures = Figures::Sequence {
            ms,
            gkeys_s: n as f64 / ms / 1e6,
            gb_s,
            copy_share: gb_s / self.copy_gbps,
            temporary_bytes,
        };
        let case = Case::Sequence { op, key: key.into(), value: value.into(), n: n as u64 };
        (self.report)(Outcome::Measured(Measurement::new(case, figures, checked)));
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
