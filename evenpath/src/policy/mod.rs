//! Tile sizes: plain data, by operation, value type and GPU generation.
//!
//! Every entry was chosen by measurement; the benchmark prints the table beside its results.

use evenpath_simt::ScalarType;

/// How much of an operation's work one block does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Threads in a block.
    pub block_size: u32,
    /// Items, such as row ends and nonzeros, that each thread handles.
    pub items_per_thread: u32,
}

impl Tile {
    /// Items that a block handles.
    pub fn items(self) -> u32 {
        self.block_size * self.items_per_thread
    }
}

/// One line of a table: a tile for a value type, from a compute capability on.
struct Entry {
    value: ScalarType,
    /// Major times ten plus minor.
    since: u32,
    tile: Tile,
}

const fn entry(value: ScalarType, since: u32, block_size: u32, items_per_thread: u32) -> Entry {
    Entry { value, since, tile: Tile { block_size, items_per_thread } }
}

/// Tiles of SpMV by merge path.
const SPMV_MERGE: &[Entry] = &[entry(ScalarType::F32, 0, 128, 9), entry(ScalarType::F64, 0, 128, 9)];

/// The tile of SpMV by merge path. Devices without a compute capability get the newest generation's.
pub fn spmv_merge(value: ScalarType, compute_capability: Option<(u32, u32)>) -> Tile {
    select(SPMV_MERGE, value, compute_capability)
}

/// Entries that a warp goes through in SpMV of coordinates: one carry each, and enough warps for a GPU.
pub const COO_INTERVAL: u32 = 512;

fn select(table: &[Entry], value: ScalarType, compute_capability: Option<(u32, u32)>) -> Tile {
    let capability = compute_capability.map_or(u32::MAX, |(major, minor)| major * 10 + minor);
    let usable = table.iter().filter(|entry| entry.value == value && entry.since <= capability);
    match usable.max_by_key(|entry| entry.since) {
        Some(entry) => entry.tile,
        None => unreachable!("every table has an entry for {value} on every GPU"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenpath_kernels::coo::CooInterval;
    use evenpath_kernels::spmv::MergeTile;
    use evenpath_simt::kernel::Kernel;
    use evenpath_simt::thread;

    #[test]
    fn every_tile_has_a_kernel() {
        for entry in SPMV_MERGE {
            let Tile { block_size, items_per_thread } = entry.tile;
            let found = match entry.value {
                ScalarType::F32 => MergeTile::<f32, u32>::instance(block_size, items_per_thread),
                _ => MergeTile::<f64, u32>::instance(block_size, items_per_thread),
            };
            assert!(found.is_some(), "{block_size} x {items_per_thread} for {}", entry.value);
        }
    }

    #[test]
    fn intervals_are_whole_steps_of_a_warp() {
        for info in CooInterval::<f32>::INSTANCES {
            assert_eq!(COO_INTERVAL % (thread::WARP_SIZE * info.items_per_thread), 0, "{}", info.name);
        }
    }

    #[test]
    fn every_gpu_has_a_tile() {
        for value in [ScalarType::F32, ScalarType::F64] {
            for capability in [None, Some((7, 5)), Some((9, 0)), Some((12, 1))] {
                assert!(spmv_merge(value, capability).items() > 0);
            }
        }
    }
}
