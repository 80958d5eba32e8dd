//! Operations of the threads of a block through shared memory, of blocks through global memory, and the search for a
//! block's share of the work.

pub mod balanced_path;
pub mod count_scan;
pub mod filled_rows;
pub mod index;
pub mod list;
pub mod lookback;
pub mod merge_path;
pub mod merge_share;
pub mod numbered_bits;
pub mod operator;
pub mod output;
pub mod pair_search;
pub mod radix_rank;
pub mod radix_sort;
pub mod reduce;
pub mod search;
pub mod segmented_scan;
pub mod staged;
pub mod strided;
pub mod tagged_sums;
pub mod tile_prefix;
pub mod tile_scan;
pub mod two_sequences;
pub mod waiting;
pub mod warp_search;

pub use index::Index;
