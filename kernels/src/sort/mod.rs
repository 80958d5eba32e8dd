//! Radix sort: of the whole device's memory by the onesweep method, of tiles by one block each, and of segments by both.

mod histogram;
mod onesweep;
mod segment_tile;
mod segments;
mod sorted_tile;
mod tile;

pub use histogram::{BinStarts, Histogram};
pub use onesweep::{
    shared_bytes, status_words, OnesweepKeys, OnesweepPairs, Pass, BASES_PER_PASS, MAX_PORTION_KEYS,
};
pub use segment_tile::{SegmentTiles, SortSegmentKeys, SortSegmentPairs};
pub use segments::{CollectSegments, CutSegments, LongSegments, PlaceSegmentKeys, PlaceSegmentValues};
pub use tile::{SortTileKeys, SortTilePairs, SortTilePermutation};
