//! Measuring sorts: of a device's memory, and of tiles by one block each.

use evenpath::sort::{SortKey, SortOptions, sort, sort_pairs, temporary_bytes, temporary_bytes_pairs};
use evenpath::{Device, DeviceError, DeviceVec, OpError};
use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_kernels::sort::{SortTileKeys, SortTilePairs, SortTilePermutation};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use rayon::prelude::*;

use crate::measure::{median, times_ms};

/// One measurement of a device's sort.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    /// Median time of one run, into new vectors.
    pub ms: f64,
    /// Bytes of device memory taken while it ran, beside operands and results.
    pub temporary_bytes: u64,
    /// Whether the keys were in order, each with its value.
    pub verified: bool,
}

/// The same random keys below 2^`bits` for the same length.
fn random_keys<K: SortKey>(len: usize, bits: u32) -> Vec<K> {
    let mask = u64::MAX >> (64 - bits);
    (0..len as u64).into_par_iter().map(|i| K::from_bits(splitmix(i) & mask)).collect()
}

/// The `i`-th number of splitmix64.
fn splitmix(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn sum<K: SortKey>(keys: &[K]) -> u64 {
    keys.par_iter().map(|key| splitmix(key.to_bits())).reduce(|| 0, u64::wrapping_add)
}

fn in_order<K: SortKey>(keys: &[K]) -> bool {
    keys.par_windows(2).all(|pair| pair[0].to_bits() <= pair[1].to_bits())
}

/// Measures the sort of `len` random unsigned keys below 2^`bits`.
///
/// # Errors
///
/// If the device has not the memory, or was lost.
pub fn measure_keys<K: SortKey>(
    device: &Device,
    len: usize,
    bits: u32,
    options: &SortOptions,
    repetitions: usize,
) -> Result<Measurement, OpError> {
    let keys = random_keys::<K>(len, bits);
    let input = device.upload_slice(&keys)?;
    let times = times_ms(device, repetitions, || sort(&input, options).map(drop))?;
    let sorted = sort(&input, options)?.to_vec()?;
    Ok(Measurement {
        ms: median(&times),
        temporary_bytes: temporary_bytes::<K>(len, options)?,
        verified: in_order(&sorted) && sum(&sorted) == sum(&keys),
    })
}

/// Measures the sort of keys as in [`measure_keys`], with 32-bit values.
///
/// # Errors
///
/// If the device has not the memory, or was lost.
pub fn measure_pairs<K: SortKey>(
    device: &Device,
    len: usize,
    bits: u32,
    options: &SortOptions,
    repetitions: usize,
) -> Result<Measurement, OpError> {
    let keys = random_keys::<K>(len, bits);
    let input = device.upload_slice(&keys)?;
    let values = device.upload_slice(&(0..len as u32).collect::<Vec<_>>())?;
    let times = times_ms(device, repetitions, || sort_pairs(&input, &values, options).map(drop))?;
    let (sorted, moved) = sort_pairs(&input, &values, options)?;
    let (sorted, moved) = (sorted.to_vec()?, moved.to_vec()?);
    let belong = moved.par_iter().zip(&sorted).all(|(&place, key)| keys[place as usize] == *key);
    let places = (0..len as u32).into_par_iter().map(u64::from).map(splitmix);
    let expected = places.reduce(|| 0, u64::wrapping_add);
    Ok(Measurement {
        ms: median(&times),
        temporary_bytes: temporary_bytes_pairs::<K, u32>(len, options)?,
        verified: in_order(&sorted) && belong && sum(&moved) == expected,
    })
}

/// What the blocks sort in [`measure_tiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortedTiles {
    /// 32-bit keys.
    Keys,
    /// 32-bit keys with 32-bit values.
    Pairs,
    /// Keys with their permutation in the upper bits: 32-bit keys where it has room there, else 64-bit ones.
    Permutation,
}

impl SortedTiles {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Pairs => "pairs",
            Self::Permutation => "permutation",
        }
    }
}

/// One measurement of blocks that sort a tile each.
#[derive(Debug, Clone, Copy)]
pub struct TileMeasurement {
    /// Median clock cycles of a tile's sort, without loads and stores.
    pub cycles: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Keys a thread.
    pub items: u32,
    /// Whether every tile's keys were in order.
    pub verified: bool,
}

/// Measures `tiles` blocks that sort random keys of `bits` bits, in the last of four launches.
///
/// # Errors
///
/// If the device runs no kernels, has not the memory, or was lost.
pub fn measure_tiles(
    device: &Device,
    what: SortedTiles,
    bits: u32,
    tiles: u32,
) -> Result<TileMeasurement, DeviceError> {
    let place_bits = 11;
    if what == SortedTiles::Permutation && bits + place_bits > u32::BITS {
        measure_tiles_of::<u64>(device, what, bits, tiles)
    } else {
        measure_tiles_of::<u32>(device, what, bits, tiles)
    }
}

fn measure_tiles_of<K: SortKey + RadixKey>(
    device: &Device,
    what: SortedTiles,
    bits: u32,
    tiles: u32,
) -> Result<TileMeasurement, DeviceError> {
    let info = match what {
        SortedTiles::Keys => SortTileKeys::<K>::first(),
        SortedTiles::Pairs => SortTilePairs::<K, u32>::first(),
        SortedTiles::Permutation => SortTilePermutation::<K>::first(),
    };
    let info = info.unwrap_or_else(|| unreachable!("the kernels' tables have every key"));
    let len = tiles as usize * tile_len(info);
    let mut run = TileRun {
        keys: device.upload_slice(&random_keys::<K>(len, bits))?,
        values: device.upload_slice(&vec![0; len])?,
        sorted: device.uninitialised(len)?,
        sorted_values: device.uninitialised(len)?,
        permutation: device.uninitialised(len)?,
        cycles: device.uninitialised(tiles as usize)?,
    };
    for _ in 0..4 {
        run.launch(device, what, info, bits, tiles)?;
    }
    let mut cycles = run.cycles.to_vec()?;
    cycles.sort_unstable();
    let sorted = run.sorted.to_vec()?;
    Ok(TileMeasurement {
        cycles: cycles[cycles.len() / 2],
        threads: info.block_size,
        items: info.items_per_thread,
        verified: sorted.par_chunks(tile_len(info)).all(in_order),
    })
}

fn tile_len(info: &KernelInfo) -> usize {
    info.block_size as usize * info.items_per_thread as usize
}

/// The buffers of a launch over tiles.
struct TileRun<K: SortKey> {
    keys: DeviceVec<K>,
    values: DeviceVec<u32>,
    sorted: DeviceVec<K>,
    sorted_values: DeviceVec<u32>,
    permutation: DeviceVec<u16>,
    cycles: DeviceVec<u32>,
}

impl<K: SortKey + RadixKey> TileRun<K> {
    fn launch(
        &mut self,
        device: &Device,
        what: SortedTiles,
        info: &'static KernelInfo,
        bits: u32,
        tiles: u32,
    ) -> Result<(), DeviceError> {
        let (keys, sorted) = (self.keys.as_global(), self.sorted.as_global_mut());
        let (cycles, len) = (self.cycles.as_global_mut(), self.keys.len() as u64);
        // SAFETY: the buffers are as long as the kernels take them to be, and are freed in the stream's order.
        unsafe {
            match what {
                SortedTiles::Keys => {
                    let kernel = SortTileKeys { keys, sorted, cycles, len, begin: 0, end: bits };
                    device.launch(kernel, info, tiles, 0)
                }
                SortedTiles::Permutation => {
                    let permutation = self.permutation.as_global_mut();
                    let kernel = SortTilePermutation { keys, sorted, permutation, cycles, len, bits };
                    device.launch(kernel, info, tiles, 0)
                }
                SortedTiles::Pairs => {
                    let kernel = SortTilePairs {
                        keys,
                        values: self.values.as_global(),
                        sorted_keys: sorted,
                        sorted_values: self.sorted_values.as_global_mut(),
                        cycles,
                        len,
                        begin: 0,
                        end: bits,
                    };
                    device.launch(kernel, info, tiles, 0)
                }
            }
        }
    }
}
