//! Radix sort: of the whole device's memory by the onesweep method, and of tiles by one block each.

mod histogram;
mod onesweep;
mod sorted_tile;
mod tile;

pub use histogram::{BinStarts, Histogram};
pub use onesweep::{
    shared_bytes, status_words, OnesweepKeys, OnesweepPairs, Pass, BASES_PER_PASS, MAX_PORTION_KEYS,
};
pub use tile::{SortTileKeys, SortTilePairs, SortTilePermutation};
