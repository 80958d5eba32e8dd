//! The radix sort of a block, tested by kernels that sort tiles: keys, pairs, and keys with their
//! permutation.

use std::collections::BTreeSet;

use evenpath::Device;
use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_kernels::sort::{SortTileKeys, SortTilePairs, SortTilePermutation};
use evenpath_simt::kernel::Kernel;
use evenpath_tests::{DeviceUnderTest, kernel_devices, tile_lens};

/// Keys of a tile, of all three kernels.
fn tile() -> usize {
    let tiles = [tile_lens::<SortTileKeys<u32>>(), tile_lens::<SortTilePairs<u32, u32>>()];
    let all: BTreeSet<usize> =
        tiles.into_iter().chain([tile_lens::<SortTilePermutation<u32>>()]).flatten().collect();
    assert_eq!(all.len(), 1, "one tile size: {all:?}");
    all.into_iter().sum()
}

fn lengths() -> [usize; 6] {
    let tile = tile();
    [1, 100, tile - 1, tile, tile + 1, 3 * tile + 7]
}

fn keys(len: usize) -> Vec<u64> {
    (1..=len as u64)
        .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7).wrapping_mul(0xBF58_476D_1CE4_E5B9))
        .collect()
}

/// The positions of each tile's keys, sorted by the bits `begin..end`.
fn expected(keys: &[u64], begin: u32, end: u32) -> Vec<usize> {
    let mut places = Vec::new();
    for (index, keys) in keys.chunks(tile()).enumerate() {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&i| u128::from(keys[i]) >> begin & ((1 << (end - begin)) - 1));
        places.extend(order.into_iter().map(|i| index * tile() + i));
    }
    places
}

fn check_keys<K: RadixKey + bytemuck::Pod>(device: &Device, len: usize, begin: u32, end: u32) {
    let keys: Vec<K> = keys(len).into_iter().map(K::from_bits).collect();
    let bits: Vec<u64> = keys.iter().map(|key| key.to_bits()).collect();
    let places = expected(&bits, begin, end);
    let input = device.upload(&keys).expect("upload");
    let mut sorted = device.uninitialized::<K>(len).expect("memory");
    let tiles = len.div_ceil(tile());
    let mut cycles = device.uninitialized(tiles).expect("memory");
    let kernel = SortTileKeys {
        keys: input.as_global(),
        sorted: sorted.as_global_mut(),
        cycles: cycles.as_global_mut(),
        len: len as u64,
        begin,
        end,
    };
    let info = SortTileKeys::<K>::first().expect("an instance");
    // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
    unsafe { device.launch(kernel, info, tiles as u32, 0) }.expect("launch");
    let wanted: Vec<K> = places.iter().map(|&place| keys[place]).collect();
    assert_eq!(sorted.download().expect("download"), wanted, "{device}, {len} keys, bits {begin}..{end}");
    assert!(cycles.download().expect("download").iter().all(|&cycles| cycles > 0), "{device}");
}

fn check_pairs<K: RadixKey + bytemuck::Pod>(device: &Device, len: usize, begin: u32, end: u32) {
    let keys: Vec<K> = keys(len).into_iter().map(K::from_bits).collect();
    let bits: Vec<u64> = keys.iter().map(|key| key.to_bits()).collect();
    let places: Vec<u32> = expected(&bits, begin, end).into_iter().map(|place| place as u32).collect();
    let input = device.upload(&keys).expect("upload");
    let values = device.upload(&(0..len as u32).collect::<Vec<_>>()).expect("upload");
    let mut sorted_keys = device.uninitialized::<K>(len).expect("memory");
    let mut sorted_values = device.uninitialized(len).expect("memory");
    let tiles = len.div_ceil(tile());
    let mut cycles = device.uninitialized(tiles).expect("memory");
    let kernel = SortTilePairs::<K, u32> {
        keys: input.as_global(),
        values: values.as_global(),
        sorted_keys: sorted_keys.as_global_mut(),
        sorted_values: sorted_values.as_global_mut(),
        cycles: cycles.as_global_mut(),
        len: len as u64,
        begin,
        end,
    };
    let info = SortTilePairs::<K, u32>::first().expect("an instance");
    // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
    unsafe { device.launch(kernel, info, tiles as u32, 0) }.expect("launch");
    let wanted: Vec<K> = places.iter().map(|&place| keys[place as usize]).collect();
    assert_eq!(
        sorted_keys.download().expect("download"),
        wanted,
        "{device}, {len} pairs, bits {begin}..{end}"
    );
    assert_eq!(
        sorted_values.download().expect("download"),
        places,
        "{device}, {len} pairs, bits {begin}..{end}"
    );
}

fn check_permutation<K: RadixKey + bytemuck::Pod>(device: &Device, len: usize, bits: u32) {
    let keys: Vec<K> = keys(len).into_iter().map(|key| K::from_bits(key).low_bits(bits)).collect();
    let words: Vec<u64> = keys.iter().map(|key| key.to_bits()).collect();
    let places = expected(&words, 0, bits);
    let input = device.upload(&keys).expect("upload");
    let mut sorted = device.uninitialized::<K>(len).expect("memory");
    let mut permutation = device.uninitialized(len).expect("memory");
    let tiles = len.div_ceil(tile());
    let mut cycles = device.uninitialized(tiles).expect("memory");
    let kernel = SortTilePermutation {
        keys: input.as_global(),
        sorted: sorted.as_global_mut(),
        permutation: permutation.as_global_mut(),
        cycles: cycles.as_global_mut(),
        len: len as u64,
        bits,
    };
    let info = SortTilePermutation::<K>::first().expect("an instance");
    // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
    unsafe { device.launch(kernel, info, tiles as u32, 0) }.expect("launch");
    let wanted: Vec<K> = places.iter().map(|&place| keys[place]).collect();
    assert_eq!(sorted.download().expect("download"), wanted, "{device}, {len} keys of {bits} bits");
    let wanted: Vec<u16> = places.iter().map(|place| (place % tile()) as u16).collect();
    assert_eq!(permutation.download().expect("download"), wanted, "{device}, {len} keys of {bits} bits");
}

#[test]
fn keys_by_any_bits() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for len in lengths() {
            check_keys::<u32>(&device, len, 0, 32);
            check_keys::<u64>(&device, len, 0, 64);
        }
        for width in 0..=32 {
            check_keys::<u32>(&device, tile() + 5, 32 - width, 32);
            check_keys::<u64>(&device, tile(), 17, 17 + width);
        }
    }
}

#[test]
fn pairs_are_stable() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for len in lengths() {
            for (begin, end) in [(0, 0), (0, 1), (3, 15), (0, 28), (0, 32)] {
                check_pairs::<u32>(&device, len, begin, end);
                check_pairs::<u64>(&device, len, 2 * begin, 2 * end);
            }
        }
    }
}

#[test]
fn permutation_in_the_upper_bits() {
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for len in lengths() {
            for bits in [0, 1, 7, 12, 20, 21] {
                check_permutation::<u32>(&device, len, bits);
            }
            for bits in [12, 33, 53] {
                check_permutation::<u64>(&device, len, bits);
            }
        }
    }
}
