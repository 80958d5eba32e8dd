//! Radix sort: of the whole device's memory by the onesweep method, of tiles by one block each, and of segments by both.

mod histogram;
mod merge_runs;
mod onesweep;
mod segment_tile;
mod segments;
mod sorted_tile;
mod tile;

pub use histogram::{BinStarts, Histogram};
pub use merge_runs::{MergeRound, MergeRunKeys, MergeRunPairs};
pub use onesweep::{
    shared_bytes, status_words, OnesweepKeys, OnesweepPairs, Pass, BASES_PER_PASS, MAX_PORTION_KEYS,
};
pub use segment_tile::{SegmentTiles, SortSegmentKeys, SortSegmentPairs, Targets};
pub use segments::{merge_rounds, CutSegments, ListRuns, MarkSegments};
pub use tile::{SortTileKeys, SortTilePairs, SortTilePermutation};
