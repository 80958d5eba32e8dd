//! Tables of tiles, and choices from them.

use evenpath_simt::ScalarType;

use super::tile::Tile;

/// A line of a table: a tile for a value type, for compute capabilities of at least `since`.
struct TableLine {
    value: ScalarType,
    /// Major times ten plus minor.
    since: u32,
    tile: Tile,
}

const fn entry(value: ScalarType, since: u32, block_size: u32, items_per_thread: u32) -> TableLine {
    TableLine { value, since, tile: Tile { block_size, items_per_thread } }
}

/// Tiles of SpMV by merge path.
const SPMV_MERGE: &[TableLine] = &[
    entry(ScalarType::F32, 0, 128, 9),
    entry(ScalarType::F64, 0, 128, 9),
    entry(ScalarType::C32, 0, 128, 9),
    entry(ScalarType::C64, 0, 128, 7),
];

/// Tile of SpMV by merge path; `None` for values that SpMV does not take. Devices without a compute
/// capability get the newest generation's.
pub(crate) fn spmv_merge(value: ScalarType, compute_capability: Option<(u32, u32)>) -> Option<Tile> {
    select(SPMV_MERGE, value, compute_capability)
}

/// Tiles of SpMV by a flat split: threads per block, and nonzeros per thread.
const SPMV_FLAT: &[TableLine] = &[
    entry(ScalarType::F32, 0, 128, 15),
    entry(ScalarType::F64, 0, 128, 9),
    entry(ScalarType::C32, 0, 128, 9),
    entry(ScalarType::C64, 0, 128, 7),
];

/// Tile of SpMV by a flat split of the nonzeros, like [`spmv_merge`].
pub(crate) fn spmv_flat(value: ScalarType, compute_capability: Option<(u32, u32)>) -> Option<Tile> {
    select(SPMV_FLAT, value, compute_capability)
}

/// Row blocks of CSR-Adaptive: threads per block, and nonzeros per thread.
const SPMV_ADAPTIVE: &[TableLine] = &[
    entry(ScalarType::F32, 0, 128, 8),
    entry(ScalarType::F64, 0, 128, 12),
    entry(ScalarType::C32, 0, 128, 8),
    entry(ScalarType::C64, 0, 128, 6),
];

/// Row blocks of SpMV by CSR-Adaptive, like [`spmv_merge`].
pub(crate) fn spmv_adaptive(value: ScalarType, compute_capability: Option<(u32, u32)>) -> Option<Tile> {
    select(SPMV_ADAPTIVE, value, compute_capability)
}

/// Number of lanes by the maximum mean number of nonzeros per row.
const SPMV_LANES: &[(u64, u32)] = &[(6, 2), (12, 4), (96, 8), (192, 16)];

/// Number of lanes per row for `rows` rows with `nonzeros` nonzeros in total: a power of two from 2 to 32.
pub(crate) fn spmv_lanes(rows: u64, nonzeros: u64) -> u32 {
    let mean = nonzeros.div_ceil(rows.max(1));
    SPMV_LANES.iter().find(|&&(longest, _)| mean <= longest).map_or(32, |&(_, lanes)| lanes)
}

/// Number of entries per warp in SpMV of coordinates: one carry each, and enough warps for a GPU.
pub(crate) const COO_INTERVAL: u32 = 512;

fn select(table: &[TableLine], value: ScalarType, compute_capability: Option<(u32, u32)>) -> Option<Tile> {
    let number = |(major, minor): (u32, u32)| major.saturating_mul(10).saturating_add(minor);
    let capability = compute_capability.map_or(u32::MAX, number);
    let usable = table.iter().filter(|entry| entry.value == value && entry.since <= capability);
    usable.max_by_key(|entry| entry.since).map(|entry| entry.tile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenpath_kernels::coo::CooInterval;
    use evenpath_kernels::spmv::{AdaptiveRows, FlatTile, MergeTile};
    use evenpath_simt::kernel::Kernel;
    use evenpath_simt::num_complex::Complex;
    use evenpath_simt::thread;

    #[test]
    fn every_tile_has_a_kernel() {
        fn check<K: Kernel>(table: &[TableLine], value: ScalarType) {
            let lines: Vec<_> = table.iter().filter(|line| line.value == value).collect();
            assert!(!lines.is_empty(), "no tile for {value}");
            for line in lines {
                let Tile { block_size, items_per_thread } = line.tile;
                let found = K::instance(block_size, items_per_thread);
                assert!(found.is_some(), "{block_size} x {items_per_thread} for {value}");
            }
        }
        check::<MergeTile<f32, f32, u32>>(SPMV_MERGE, ScalarType::F32);
        check::<MergeTile<f64, f64, u32>>(SPMV_MERGE, ScalarType::F64);
        check::<MergeTile<f32, f64, u32>>(SPMV_MERGE, ScalarType::F64);
        check::<MergeTile<Complex<f32>, Complex<f32>, u32>>(SPMV_MERGE, ScalarType::C32);
        check::<MergeTile<Complex<f64>, Complex<f64>, u32>>(SPMV_MERGE, ScalarType::C64);
        check::<FlatTile<f32, u32>>(SPMV_FLAT, ScalarType::F32);
        check::<FlatTile<f64, u32>>(SPMV_FLAT, ScalarType::F64);
        check::<AdaptiveRows<f32, u32>>(SPMV_ADAPTIVE, ScalarType::F32);
        check::<AdaptiveRows<f64, u32>>(SPMV_ADAPTIVE, ScalarType::F64);
        check::<FlatTile<Complex<f32>, u32>>(SPMV_FLAT, ScalarType::C32);
        check::<FlatTile<Complex<f64>, u32>>(SPMV_FLAT, ScalarType::C64);
        check::<AdaptiveRows<Complex<f32>, u32>>(SPMV_ADAPTIVE, ScalarType::C32);
        check::<AdaptiveRows<Complex<f64>, u32>>(SPMV_ADAPTIVE, ScalarType::C64);
    }

    #[test]
    fn lanes_suit_the_mean() {
        for (rows, nonzeros, lanes) in
            [(0, 0, 2), (9, 0, 2), (9, 54, 2), (9, 55, 4), (4, 49, 8), (1, 96, 8), (1, 97, 16), (1, 193, 32)]
        {
            assert_eq!(spmv_lanes(rows, nonzeros), lanes, "{nonzeros} in {rows} rows");
        }
        assert_eq!(spmv_lanes(1, u64::MAX), 32);
    }

    #[test]
    fn intervals_are_whole_steps_of_a_warp() {
        for info in CooInterval::<f32>::INSTANCES {
            assert_eq!(COO_INTERVAL % (thread::WARP_SIZE * info.items_per_thread), 0, "{}", info.name);
        }
    }

    /// Sums depend on tiles: with different ones, a chosen method would not give the same bits on all GPUs,
    /// and the tile would have to be an option too.
    #[test]
    fn all_gpus_have_the_same_tiles() {
        for value in [ScalarType::F32, ScalarType::F64, ScalarType::C32, ScalarType::C64] {
            for capability in [None, Some((7, 5)), Some((9, 0)), Some((12, 1)), Some((u32::MAX, u32::MAX))] {
                for tile in [spmv_merge, spmv_flat, spmv_adaptive] {
                    assert!(tile(value, capability).is_some_and(|tile| tile.items() > 0));
                    assert_eq!(tile(value, capability), tile(value, None));
                }
            }
        }
    }

    #[test]
    fn other_values_have_no_tile() {
        for value in [ScalarType::U32, ScalarType::U64] {
            for tile in [spmv_merge, spmv_flat, spmv_adaptive] {
                assert_eq!(tile(value, None), None, "{value}");
            }
        }
    }
}
