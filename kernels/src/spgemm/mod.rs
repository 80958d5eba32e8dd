//! SpGEMM, `C = AB`, of CSR matrices.

mod masked;
mod mixed;
mod product_keys;
pub mod row_tiles;
mod row_wise;
pub mod two_level_sort;

pub use masked::{
    SpgemmMaskedAddParts, SpgemmMaskedMultiply, SpgemmMaskedParts, SpgemmMaskedWeights, TILE as MASKED_TILE,
};
pub use mixed::{SpgemmPlaceLengths, SpgemmTakeRows};
pub use row_wise::{
    add_ranked_shared_bytes, hash_shared_bytes, part_len, rank_shared_bytes, window_shared_bytes, Class,
    ClassLimits, ResultEntries, ResultPattern, RowList, RowParts, RowWork, Spans, SpgemmAddRanked,
    SpgemmClassify, SpgemmConvertOffsets, SpgemmCutByParts, SpgemmExpandOffsets, SpgemmHashCount,
    SpgemmHashFill, SpgemmListRows, SpgemmLongRowWork, SpgemmPartWork, SpgemmRankProducts, SpgemmRowWork,
    SpgemmWindowCount, SpgemmWindowFill, CLASSES, COUNTERS, EMPTY_CLASS, HASH_CLASSES, WINDOW_COLUMNS,
};
