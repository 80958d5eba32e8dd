//! The published figures.

mod csr_adaptive;
mod others;
mod row_sorting;

pub(super) use csr_adaptive::{ADAPTIVE, ADAPTIVE_CPU_GBPS, adaptive_ms};
pub(super) use others::{
    CIRCUIT5M, CIRCUIT5M_NONZEROS, HISPARSE_MEANS, HISPARSE_OVER_COO, HISPARSE_OVER_CSR, HisparseMean,
    MERGE_PATH_CORRELATION,
};
pub(super) use row_sorting::{
    BEST_BLOCKS, BestBlocks, SORTED, SYNTHETIC_BY_DENSITY, SYNTHETIC_BY_SHORT_ROWS, SortedMatrix,
    SyntheticTimes,
};
