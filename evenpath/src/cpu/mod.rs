//! Operations on the CPU: the fallback, and the reference for every other device.
//!
//! Work is divided as on the GPU, into tiles of equal work that do not depend on the number of threads.
//! Results are bitwise identical for any number of threads.

mod assembly;
mod bsr;
mod coo;
mod coordinates;
mod ell;
mod factorization;
pub(crate) mod graph;
pub(crate) mod hisparse;
mod merge;
mod merge_path;
mod reduce;
mod scan;
mod sddmm;
mod semiring;
mod sets;
mod softmax;
mod sort;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_batch;
mod spmv_transposed;
mod triangular;
mod vector;

pub(crate) use assembly::{FixedColumns, TripletIndices, TripletPart, sum_runs};
pub(crate) use bsr::{BsrArrays, BsrTiles};
pub(crate) use coo::{add_coo, scale};
pub(crate) use coordinates::{coordinate_keys, first_pair, scaled, split_coordinates};
pub(crate) use ell::{PaddedRows, gather, spmv_padded};
pub(crate) use factorization::{FactorizedRows, factorize_cholesky, factorize_lu, invert_blocks};
pub(crate) use merge::{merge_keys, merge_pairs};
pub(crate) use reduce::{reduce, reduce_rows, row_heads};
pub(crate) use scan::{scan, scan_from, segmented_scan};
pub(crate) use sddmm::Sddmm;
pub(crate) use semiring::{SemiringProduct, semiring_spmv};
pub(crate) use sets::SetPlan;
pub(crate) use softmax::softmax_rows;
pub(crate) use sort::{sort, sort_by_offsets, sort_pairs, sort_pairs_by_offsets};
pub(crate) use spadd::{RowMerge, write_row_offsets};
pub(crate) use spgemm::{MaskedSpgemm, Spgemm, SpgemmArrays, in_pool};
pub(crate) use spmm::{Dense, DenseMut, semiring_spmm, spmm, spmm_bsr, spmm_tasks};
pub(crate) use spmv::{SpmvCut, SpmvGroups, SpmvTiles, spmv};
pub(crate) use spmv_batch::{SpmvBatch, SpmvBatchOperands};
pub(crate) use spmv_transposed::{spmv_transposed, spmv_transposed_pieces};
pub(crate) use triangular::{Triangle, solve_triangle};
pub(crate) use vector::{
    add_columns, add_product, axpby, column_dots, convert_elements, copy_at, divide_elements, dot,
    dot_conjugated, extreme, iota, map, multiply_elements, norm2, scaled_square, sum, update_elements,
};
