//! Sorts of (row, column) pairs by two passes of a block's radix sort: by column, then stably by row.
//!
//! This is how expand, sort, compress orders products (Bell, Dalton, Olson, SISC 2012). IPDPS 2015, Figure 4, compares it with
//! one pass.

use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use evenpath::{Device, DeviceVec};
use evenpath_kernels::sort::SortTilePairs;
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::bench::Bench;
use super::case::{Measurement, Outcome};
use super::sort_tiles::{BITS, LAUNCHES, measurement};
use crate::sequences::random_keys;

const OP: &str = "cta_radix_sort_two_passes";

/// Sorts of random pairs by one block each, alone and on a full device.
pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), OpError> {
    for (op, ()) in bench.selected([()], |()| OP.into()) {
        if bench.device.kind() == DeviceKind::Cpu {
            (bench.report)(Outcome::LeftOut(format!("{op}: the CPU has no blocks")));
            continue;
        }
        for bits in BITS {
            let measurement = measure_bits(bench.device, &op, bits)?;
            (bench.report)(Outcome::Measured(measurement));
        }
    }
    Ok(())
}

fn measure_bits(device: &Device, op: &str, bits: u32) -> Result<Measurement, DeviceError> {
    let info = SortTilePairs::<u32, u32>::first();
    let info = info.unwrap_or_else(|| unreachable!("the kernel's table has pairs of u32"));
    measurement(device, op, bits, info, |count| Tiles::new(device, info, count, bits)?.run())
}

/// Tiles of (row, column) pairs, and buffers for the results of both passes.
struct Tiles<'d> {
    device: &'d Device,
    info: &'static KernelInfo,
    count: u32,
    bits: u32,
    host_rows: Vec<u32>,
    host_columns: Vec<u32>,
    rows: DeviceVec<u32>,
    columns: DeviceVec<u32>,
    /// After the first pass: sorted by column.
    by_column: Sorted,
    /// After the second pass: sorted by row and column.
    by_row: Sorted,
}

/// The results of a pass.
struct Sorted {
    keys: DeviceVec<u32>,
    values: DeviceVec<u32>,
    cycles: DeviceVec<u32>,
}

impl Sorted {
    fn new(device: &Device, len: usize, tiles: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            keys: device.zeros(len)?,
            values: device.zeros(len)?,
            cycles: device.uninitialized(tiles)?,
        })
    }
}

impl<'d> Tiles<'d> {
    fn new(
        device: &'d Device,
        info: &'static KernelInfo,
        count: u32,
        bits: u32,
    ) -> Result<Self, DeviceError> {
        let len = (count * info.block_size * info.items_per_thread) as usize;
        let (host_rows, host_columns) = (random_keys(len, bits, 6), random_keys(len, bits, 5));
        Ok(Self {
            device,
            info,
            count,
            bits,
            rows: device.upload(&host_rows)?,
            columns: device.upload(&host_columns)?,
            host_rows,
            host_columns,
            by_column: Sorted::new(device, len, count as usize)?,
            by_row: Sorted::new(device, len, count as usize)?,
        })
    }

    /// The median clock cycles of both passes over a tile, without loads and stores, and whether all results were correct.
    fn run(mut self) -> Result<(u32, Result<(), String>), DeviceError> {
        for _ in 0..LAUNCHES {
            let Self { device, info, count, bits, .. } = self;
            let pass = |keys: &DeviceVec<u32>, values: &DeviceVec<u32>, sorted: &mut Sorted| {
                let kernel = SortTilePairs {
                    keys: keys.as_global(),
                    values: values.as_global(),
                    sorted_keys: sorted.keys.as_global_mut(),
                    sorted_values: sorted.values.as_global_mut(),
                    cycles: sorted.cycles.as_global_mut(),
                    len: keys.len() as u64,
                    begin: 0,
                    end: bits,
                };
                // SAFETY: the four arrays have `len` elements and `cycles` one per block; all are freed in the stream's order.
                unsafe { device.launch(kernel, info, count, 0) }
            };
            pass(&self.columns, &self.rows, &mut self.by_column)?;
            pass(&self.by_column.values, &self.by_column.keys, &mut self.by_row)?;
        }
        let (first, second) = (self.by_column.cycles.download()?, self.by_row.cycles.download()?);
        let mut cycles: Vec<u32> = first.iter().zip(&second).map(|(first, second)| first + second).collect();
        cycles.sort_unstable();
        Ok((cycles[cycles.len() / 2], self.check()?))
    }

    /// Checks that every tile has its pairs in order.
    fn check(&self) -> Result<Result<(), String>, DeviceError> {
        let (rows, columns) = (self.by_row.keys.download()?, self.by_row.values.download()?);
        let tile_len = rows.len() / self.count as usize;
        Ok((0..self.count as usize).try_for_each(|tile| {
            let range = tile * tile_len..(tile + 1) * tile_len;
            let pairs = |rows: &[u32], columns: &[u32]| -> Vec<(u32, u32)> {
                rows[range.clone()].iter().copied().zip(columns[range.clone()].iter().copied()).collect()
            };
            let mut expected = pairs(&self.host_rows, &self.host_columns);
            expected.sort_unstable();
            let differs = pairs(&rows, &columns).iter().zip(&expected).position(|(own, right)| own != right);
            match differs {
                None => Ok(()),
                Some(index) => Err(format!("pair {index} of tile {tile} of {} is out of order", self.count)),
            }
        }))
    }
}
