use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use evenpath::key::SortKey;
use evenpath::{Device, DeviceVec};
use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_kernels::sort::{SortTileKeys, SortTilePairs, SortTilePermutation};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::bench::Bench;
use super::case::{Case, Figures, Measurement, Outcome};
use super::check;
use crate::sequences::random_keys;

/// Bits of the keys.
pub(super) const BITS: [u32; 5] = [12, 16, 20, 24, 28];
/// Bits of a position in a tile.
const PLACE_BITS: u32 = 11;
/// Blocks per multiprocessor on a full device.
const BLOCKS: u32 = 8;
/// Number of launches; the last one counts.
pub(super) const LAUNCHES: usize = 4;

/// The elements to sort.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// 32-bit keys.
    Keys,
    /// Keys with their permutation in the upper bits: 32-bit keys if there is room, otherwise 64-bit keys.
    Permutation,
    /// 32-bit keys with 32-bit values.
    Pairs,
}

/// Sorts of random keys by one block each, alone and on a full device.
pub(super) fn measure(bench: &mut Bench<'_>) -> Result<(), OpError> {
    let cases = bench.selected([What::Keys, What::Permutation, What::Pairs], |what| {
        let name = match what {
            What::Keys => "keys",
            What::Permutation => "permutation",
            What::Pairs => "pairs",
        };
        format!("cta_radix_sort_{name}")
    });
    if bench.device.kind() == DeviceKind::Cpu {
        for (op, _) in cases {
            (bench.report)(Outcome::LeftOut(format!("{op}: the CPU has no blocks")));
        }
        return Ok(());
    }
    for (op, what) in cases {
        for bits in BITS {
            let measurement = if what == What::Permutation && bits + PLACE_BITS > u32::BITS {
                measure_bits::<u64>(bench.device, &op, what, bits)?
            } else {
                measure_bits::<u32>(bench.device, &op, what, bits)?
            };
            (bench.report)(Outcome::Measured(measurement));
        }
    }
    Ok(())
}

fn measure_bits<K: SortKey + RadixKey>(
    device: &Device,
    op: &str,
    what: What,
    bits: u32,
) -> Result<Measurement, DeviceError> {
    let info = match what {
        What::Keys => SortTileKeys::<K>::first(),
        What::Permutation => SortTilePermutation::<K>::first(),
        What::Pairs => SortTilePairs::<K, u32>::first(),
    };
    let info = info.unwrap_or_else(|| unreachable!("the kernels' tables have every key"));
    measurement(device, op, bits, info, |count| Tiles::<K>::new(device, what, info, count, bits)?.run())
}

/// The measurement of a kernel that sorts tiles, alone and on a full device. `run` sorts as many tiles as it is given, and returns
/// the median clock cycles of one, and whether all results were correct.
pub(super) fn measurement(
    device: &Device,
    op: &str,
    bits: u32,
    info: &KernelInfo,
    run: impl Fn(u32) -> Result<(u32, Result<(), String>), DeviceError>,
) -> Result<Measurement, DeviceError> {
    let (cycles_alone, checked_alone) = run(1)?;
    let (cycles_full, checked_full) = run(BLOCKS * device.properties().multiprocessors)?;
    let (threads, items) = (info.block_size, info.items_per_thread);
    Ok(Measurement::new(
        Case::Tile { op: op.into(), bits },
        Figures::Tile { threads, items, cycles_alone, cycles_full },
        Some(checked_alone.and(checked_full)),
    ))
}

/// Tiles to sort, and buffers for the results.
struct Tiles<'d, K: SortKey> {
    device: &'d Device,
    what: What,
    info: &'static KernelInfo,
    count: u32,
    bits: u32,
    host_keys: Vec<K>,
    keys: DeviceVec<K>,
    places: DeviceVec<u32>,
    sorted: DeviceVec<K>,
    sorted_places: DeviceVec<u32>,
    permutation: DeviceVec<u16>,
    cycles: DeviceVec<u32>,
}

impl<'d, K: SortKey + RadixKey> Tiles<'d, K> {
    fn new(
        device: &'d Device,
        what: What,
        info: &'static KernelInfo,
        count: u32,
        bits: u32,
    ) -> Result<Self, DeviceError> {
        let tile = info.block_size * info.items_per_thread;
        let len = (count * tile) as usize;
        let host_keys = random_keys::<K>(len, bits, 5);
        Ok(Self {
            device,
            what,
            info,
            count,
            bits,
            keys: device.upload(&host_keys)?,
            host_keys,
            places: device.upload(&(0..tile).cycle().take(len).collect::<Vec<_>>())?,
            sorted: device.uninitialized(len)?,
            sorted_places: device.zeros(len)?,
            permutation: device.zeros(len)?,
            cycles: device.uninitialized(count as usize)?,
        })
    }

    /// The median clock cycles for sorting a tile, excluding loads and stores, and whether all results were
    /// correct.
    fn run(mut self) -> Result<(u32, Result<(), String>), DeviceError> {
        for _ in 0..LAUNCHES {
            self.launch()?;
        }
        let mut cycles = self.cycles.download()?;
        cycles.sort_unstable();
        Ok((cycles[cycles.len() / 2], self.check()?))
    }

    fn launch(&mut self) -> Result<(), DeviceError> {
        let Self { device, info, count, bits, .. } = *self;
        let (keys, sorted) = (self.keys.as_global(), self.sorted.as_global_mut());
        let (cycles, len) = (self.cycles.as_global_mut(), self.keys.len() as u64);
        // SAFETY: the buffers have the lengths passed to the kernels, and are freed in the stream's order.
        unsafe {
            match self.what {
                What::Keys => {
                    let kernel = SortTileKeys { keys, sorted, cycles, len, begin: 0, end: bits };
                    device.launch(kernel, info, count, 0)
                }
                What::Permutation => {
                    let permutation = self.permutation.as_global_mut();
                    let kernel = SortTilePermutation { keys, sorted, permutation, cycles, len, bits };
                    device.launch(kernel, info, count, 0)
                }
                What::Pairs => {
                    let kernel = SortTilePairs {
                        keys,
                        values: self.places.as_global(),
                        sorted_keys: sorted,
                        sorted_values: self.sorted_places.as_global_mut(),
                        cycles,
                        len,
                        begin: 0,
                        end: bits,
                    };
                    device.launch(kernel, info, count, 0)
                }
            }
        }
    }

    /// Checks that every tile is sorted.
    fn check(&self) -> Result<Result<(), String>, DeviceError> {
        let sorted = self.sorted.download()?;
        let places = match self.what {
            What::Keys => Vec::new(),
            What::Permutation => self.permutation.download()?.into_iter().map(u32::from).collect(),
            What::Pairs => self.sorted_places.download()?,
        };
        let tile_len = self.host_keys.len() / self.count as usize;
        Ok((0..self.count as usize).try_for_each(|tile| {
            let range = tile * tile_len..(tile + 1) * tile_len;
            let (keys, sorted) = (&self.host_keys[range.clone()], &sorted[range.clone()]);
            match self.what {
                What::Keys => check::sorted_keys(keys, sorted),
                What::Permutation | What::Pairs => check::sorted_places(keys, sorted, &places[range]),
            }
            .map_err(|difference| format!("tile {tile} of {}: {difference}", self.count))
        }))
    }
}
