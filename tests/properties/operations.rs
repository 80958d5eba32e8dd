//! All operations, with setups.

use bytemuck::Pod;
use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, DeviceHiSparse, HiSparse};
use evenpath::hyb::HybOptions;
use evenpath::spmv::{SpmvBatchOptions, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{
    ConvertTo, Csr, Device, DeviceVec, Entry, Multiplies, Offset, RealStorage, Scalar, Storage, Value, bf16,
    f16,
};

use super::assembly::{assemble, assemble_into, correct_rhs};
use super::complex::{
    c32, c64, complex_cholesky_into, complex_lu_into, complex_scale, complex_solve, complex_spadd,
    complex_spgemm, complex_spmm, complex_spmv, complex_spmv_once, conjugate_transpose,
};
use super::conjugate_gradients::{cg_one_block, cg_residual};
use super::entries::{
    diagonal, filter, filter_largest, map_values, reduce_columns, reduce_rows, scale_columns, scale_rows,
    softmax_rows, update_values,
};
use super::graph_algorithms::{bfs, color, components, k_core, pagerank, sssp, triangles};
use super::products::{
    add, add_coo, add_once, add_trees, add_trees_queued, block_of_tree, diagonal_blocks, diagonal_of_tree,
    multiply_trees, norm_of_tree, sddmm, select_rows, set_values, sort_rows, spgemm_masked,
    spgemm_masked_out, spgemm_mixed, spgemm_row_tiles, spgemm_row_wise, spgemm_sorted, spgemm_sorted_at_once,
    spgemm_sorted_by_column, spmm, spmm_bsr, spmm_mixed, spmm_tree, to_coo, to_tree, to_tree_queued,
    transpose,
};
use super::semirings::{spgemm_masked_over, spgemm_over, spmm_over, spmv_over};
use super::sequences::{
    add_columns, argmin_into, axpby, column_dots, conjugate, divide_in_place, dot, dot_into, fill, map,
    merge_keys, merge_pairs, min_into, multiply_elements, multiply_in_place, norm2, norm2_into,
    reduce_by_keys, reduce_by_keys_into, scan, scan_by_keys, scan_by_offsets, scan_from, sort_keys,
    sort_keys_by_offsets, sort_pairs, sort_pairs_by_offsets, sum, sum_into, union_keys, union_pairs,
};
use super::structure::{
    block_diagonal, copy, from_blocks, hstack, kronecker, permute, select_columns, submatrix, vstack,
};

use super::triangular::{
    factorize_cholesky, factorize_cholesky_into, factorize_lu, factorize_lu_into, invert_blocks,
    solve_by_levels, solve_many, solve_transposed, solve_triangular,
};

/// Copies a result to the host, as bytes.
pub(super) type Download = Box<dyn FnOnce() -> Vec<u8>>;
/// Runs an operation once.
pub(super) type Run = Box<dyn FnMut() -> Result<Download, OpError> + Send>;
/// Uploads operands, calls the callback, and makes the plan.
pub(super) type Setup = fn(&Device, &mut dyn FnMut()) -> Run;

pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The call in user code.
    pub(super) call: &'static str,
    /// The supported value types.
    pub(super) values: String,
    /// The supported types of row offsets or keys.
    pub(super) offsets: String,
    /// One setup per combination of types.
    pub(super) instances: Vec<Setup>,
    /// True if the documentation promises that a run does not wait for the device.
    pub(super) is_asynchronous: bool,
    /// True if graphs hold a run, other than the first.
    pub(super) is_in_graphs: bool,
    /// True if the documentation promises reproducible results.
    pub(super) is_ordered: bool,
}

/// The length of sequences.
pub(super) const ELEMENTS: usize = 5000;

macro_rules! operations {
    ($($name:literal, $call:literal, $setup:ident [$($value:ident)*] $offsets:tt $is_asynchronous:expr, $is_in_graphs:expr, $is_ordered:expr;)*) => {
        vec![$(Operation {
            name: $name,
            call: $call,
            values: [$(stringify!($value)),*].join(", "),
            offsets: operations!(@names $offsets),
            instances: [$(operations!(@instances $setup $value $offsets)),*].concat(),
            is_asynchronous: $is_asynchronous,
            is_in_graphs: $is_in_graphs,
            is_ordered: $is_ordered,
        }),*]
    };
    (@names []) => { "–".to_string() };
    (@names [$($offset:ident)*]) => { [$(stringify!($offset)),*].join(", ") };
    (@instances $setup:ident $value:ident []) => { vec![$setup::<$value> as Setup] };
    (@instances $setup:ident $value:ident [$($offset:ident)*]) => { vec![$($setup::<$value, $offset> as Setup),*] };
}

pub(super) fn operations() -> Vec<Operation> {
    let mut all = on_products_and_factors();
    all.extend(on_matrices());
    all.extend(on_sequences());
    all
}

fn on_products_and_factors() -> Vec<Operation> {
    operations! {
        "SpMV, CSR", "`DeviceCsr::plan_spmv`", spmv [f16 bf16 f32 f64] [u32 u64] true, true, true;
        "SpMV, CSR, once", "`DeviceCsr::spmv`", spmv_once [f32 f64] [u32 u64] true, true, true;
        "SpMV, CSR, complex", "`DeviceCsr::plan_spmv`", complex_spmv [c32 c64] [u32 u64] true, true, true;
        "SpMV, CSR, complex, once", "`DeviceCsr::spmv`", complex_spmv_once [c32 c64] [u32 u64] true, true, true;
        "SpMV, CSR, mixed", "`DeviceCsr::plan_spmv_mixed`", spmv_mixed [f32] [u32 u64] true, true, true;
        "SpMV, CSR, mixed, once", "`DeviceCsr::spmv_mixed`", spmv_mixed_once [f32] [u32 u64] true, true, true;
        "SpMV, semiring", "`DeviceCsr::spmv_over`", spmv_over [f32 f64 u32 i32 u64 i64] [u32 u64] true, true, true;
        "SpMV, COO", "`DeviceCoo::spmv`", spmv_coo [f32 f64 c32 c64] [] true, true, true;
        "SpMV, ELL", "`DeviceEll::spmv`", spmv_ell [f32 f64] [] true, true, true;
        "SpMV, ELL-R", "`DeviceEllR::spmv`", spmv_ell_r [f32 f64] [] true, true, true;
        "SpMV, sliced ELL", "`DeviceSlicedEll::spmv`", spmv_sliced_ell [f32 f64] [] true, true, true;
        "SpMV, HYB", "`DeviceHyb::spmv`", spmv_hyb [f32 f64] [] true, true, true;
        "SpMV, BSR", "`DeviceBsr::spmv`", spmv_bsr [f32 f64] [u32 u64] true, true, true;
        "SpMV, CSR, batch", "`DeviceCsr::plan_spmv_batch`", spmv_batch [f32 f64] [u32 u64] true, true, true;
        "SpMV, HiSparse, copied", "`DeviceHiSparse::plan_spmv`", spmv_tree_copied [f32 f64] [] true, true, true;
        "SpMV, HiSparse, leaves", "`DeviceHiSparse::plan_spmv`", spmv_tree_leaves [f32 f64] [] true, true, true;
        "SpMV, HiSparse, queues", "`DeviceHiSparse::plan_spmv_queued`", spmv_tree_queued [f32 f64] [] true, true, false;
        "SpMV transposed, ordered", "`DeviceCsr::plan_spmv_transposed`", transposed_ordered [f32 f64] [u32 u64] true, true, true;
        "SpMV transposed, unordered", "`DeviceCsr::plan_spmv_transposed`", transposed_unordered [f32 f64] [u32 u64] true, true, false;
        "SpMV transposed, copied", "`DeviceCsr::plan_spmv_transposed`", transposed_copied [f32 f64 c32 c64] [u32 u64] true, true, true;
        "SpMM, CSR", "`DeviceCsr::plan_spmm`", spmm [f16 bf16 f32 f64] [u32 u64] true, true, true;
        "SpMM, CSR, mixed", "`DeviceCsr::plan_spmm_mixed`", spmm_mixed [f32] [u32 u64] true, true, true;
        "SpMM, semiring", "`DeviceCsr::spmm_over`", spmm_over [f32 f64 u32 i32 u64 i64] [u32 u64] true, true, true;
        "SpMM, BSR", "`DeviceBsr::spmm`", spmm_bsr [f32 f64] [u32 u64] true, true, true;
        "SpMM, CSR, complex", "`DeviceCsr::plan_spmm`", complex_spmm [c32 c64] [u32 u64] true, true, true;
        "SpMM, HiSparse", "`DeviceHiSparse::plan_spmm`", spmm_tree [f32 f64] [] true, true, true;
        "SDDMM, CSR", "`DeviceCsr::plan_sddmm`", sddmm [f16 bf16 f32 f64] [u32 u64] true, true, true;
        "triangular solve, CSR", "`DeviceCsr::plan_triangular_solve`", solve_triangular [f32 f64] [u32 u64] true, true, true;
        "triangular solve, by levels", "`DeviceCsr::plan_triangular_solve`", solve_by_levels [f32 f64] [u32 u64] true, true, true;
        "triangular solve, transposed", "`DeviceCsr::plan_triangular_solve`", solve_transposed [f32 f64] [u32 u64] true, true, true;
        "triangular solve, many right-hand sides", "`TriangularPlan::solve_many`", solve_many [f32 f64] [u32 u64] true, true, true;
        "triangular solve, complex", "`DeviceCsr::plan_triangular_solve`", complex_solve [c32 c64] [u32 u64] true, true, true;
        "ILU(0), CSR", "`Ilu0Plan::factorize`", factorize_lu [f32 f64] [u32 u64] false, false, true;
        "ILU(0), in place", "`Ilu0Plan::factorize_into`", factorize_lu_into [f32 f64] [u32 u64] true, true, true;
        "IC(0), CSR", "`Ic0Plan::factorize`", factorize_cholesky [f32 f64] [u32 u64] false, false, true;
        "IC(0), in place", "`Ic0Plan::factorize_into`", factorize_cholesky_into [f32 f64] [u32 u64] true, true, true;
        "ILU(0), in place, complex", "`Ilu0Plan::factorize_into`", complex_lu_into [c32 c64] [u32 u64] true, true, true;
        "IC(0), in place, complex", "`Ic0Plan::factorize_into`", complex_cholesky_into [c32 c64] [u32 u64] true, true, true;
        "inverses of blocks, BSR", "`DeviceBsr::invert_diagonal_blocks`", invert_blocks [f32 f64] [u32 u64] false, false, true;
    }
}

fn on_matrices() -> Vec<Operation> {
    operations! {
        "SpGEMM, row tiles", "`DeviceCsr::spgemm`", spgemm_row_tiles [f32 f64] [u32 u64] false, false, true;
        "SpGEMM, row-wise", "`DeviceCsr::plan_spgemm`", spgemm_row_wise [f32 f64] [u32 u64] false, true, true;
        "SpGEMM, row-wise, complex", "`DeviceCsr::plan_spgemm`", complex_spgemm [c32 c64] [u32 u64] false, true, true;
        "SpGEMM, two-level sort", "`DeviceCsr::plan_spgemm`", spgemm_sorted [f32 f64] [u32 u64] false, true, true;
        "SpGEMM, mixed", "`DeviceCsr::plan_spgemm`", spgemm_mixed [f32 f64] [u32 u64] false, true, true;
        "SpGEMM, column sort", "`DeviceCsr::plan_spgemm`", spgemm_sorted_by_column [f32 f64] [u32 u64] false, true, true;
        "SpGEMM, global sort", "`DeviceCsr::plan_spgemm`", spgemm_sorted_at_once [f32 f64] [u32 u64] false, false, true;
        "SpGEMM, masked", "`DeviceCsr::spgemm_masked`", spgemm_masked [f32 f64] [u32 u64] false, false, true;
        "SpGEMM, masked out", "`DeviceCsr::spgemm_masked_out`", spgemm_masked_out [f32 f64] [u32 u64] false, false, true;
        "SpGEMM, semiring", "`DeviceCsr::spgemm_over`", spgemm_over [f32 f64 u32 i32 u64 i64] [u32 u64] false, false, true;
        "SpGEMM, semiring, masked", "`DeviceCsr::spgemm_masked_over`", spgemm_masked_over [f32 f64 u32 i32 u64 i64] [u32 u64] false, false, true;
        "SpGEMM, HiSparse", "`DeviceHiSparse::spgemm`", multiply_trees [f32 f64] [] false, false, true;
        "SpAdd, CSR, once", "`DeviceCsr::spadd`", add_once [f32 f64] [u32 u64] false, false, true;
        "SpAdd, CSR", "`DeviceCsr::plan_spadd`", add [f32 f64] [u32 u64] true, true, true;
        "SpAdd, CSR, complex", "`DeviceCsr::plan_spadd`", complex_spadd [c32 c64] [u32 u64] true, true, true;
        "SpAdd, COO", "`DeviceCoo::spadd`", add_coo [f32 f64] [] false, false, true;
        "SpAdd, HiSparse", "`DeviceHiSparse::spadd`", add_trees [f32 f64] [] false, false, true;
        "SpAdd, HiSparse, queues", "`DeviceHiSparse::spadd`", add_trees_queued [f32 f64] [] false, false, false;
        "Frobenius norm, HiSparse", "`DeviceHiSparse::frobenius_norm`", norm_of_tree [f32 f64] [] false, false, false;
        "diagonal, HiSparse", "`DeviceHiSparse::diagonal`", diagonal_of_tree [f32 f64] [] true, true, true;
        "block, HiSparse", "`DeviceHiSparse::block`", block_of_tree [f32 f64] [] false, false, true;
        "assembly", "`AssemblyPlan::assemble`", assemble [f32 f64] [u32 u64] true, true, true;
        "assembly, in place", "`AssemblyPlan::assemble_into`", assemble_into [f32 f64] [u32 u64] true, true, true;
        "right-hand side of fixed unknowns", "`AssemblyPlan::correct_rhs`", correct_rhs [f32 f64] [] true, true, true;
        "transpose, CSR", "`DeviceCsr::transpose`", transpose [f32 f64 c32 c64] [u32 u64] false, false, true;
        "conjugate transpose, CSR", "`DeviceCsr::conjugate_transpose`", conjugate_transpose [c32 c64] [u32 u64] false, false, true;
        "CSR to COO", "`DeviceCsr::to_coo`", to_coo [f32 f64 c32 c64] [u32 u64] false, false, true;
        "CSR to HiSparse", "`DeviceCsr::to_hisparse`", to_tree [f32 f64] [u32 u64] false, false, true;
        "CSR to HiSparse, queues", "`DeviceCsr::to_hisparse`", to_tree_queued [f32 f64] [u32 u64] false, false, false;
        "new values, CSR", "`DeviceCsr::set_values_from`", set_values [f32 f64] [u32 u64] true, true, true;
        "select rows, CSR", "`DeviceCsr::select_rows`", select_rows [f16 bf16 f32 f64 c32 c64] [u32 u64] false, false, true;
        "select columns, CSR", "`DeviceCsr::select_columns`", select_columns [f16 bf16 f32 f64 c32 c64] [u32 u64] false, false, true;
        "block, CSR", "`DeviceCsr::submatrix`", submatrix [f16 bf16 f32 f64 c32 c64] [u32 u64] false, false, true;
        "matrices below each other, CSR", "`DeviceCsr::vstack`", vstack [f16 bf16 f32 f64 c32 c64] [u32 u64] true, false, true;
        "matrices beside each other, CSR", "`DeviceCsr::hstack`", hstack [f16 bf16 f32 f64 c32 c64] [u32 u64] true, false, true;
        "matrix of blocks, CSR", "`DeviceCsr::from_blocks`", from_blocks [f16 bf16 f32 f64 c32 c64] [u32 u64] true, false, true;
        "matrices on the diagonal, CSR", "`DeviceCsr::block_diagonal`", block_diagonal [f16 bf16 f32 f64 c32 c64] [u32 u64] true, false, true;
        "rows and columns permuted, CSR", "`DeviceCsr::permute`", permute [f16 bf16 f32 f64 c32 c64] [u32 u64] false, false, true;
        "Kronecker product, CSR", "`DeviceCsr::kronecker`", kronecker [f16 bf16 f32 f64 c32 c64] [u32 u64] true, false, true;
        "copy, CSR", "`DeviceCsr::copy`", copy [f16 bf16 f32 f64 c32 c64] [u32 u64] true, true, true;
        "sort rows, CSR", "`DeviceCsr::sort_rows`", sort_rows [f16 bf16 f32 f64 c32 c64] [u32 u64] false, false, true;
        "values scaled and conjugated, CSR", "`DeviceCsr::scale`, `conjugate`", complex_scale [c32 c64] [u32 u64] true, true, true;
        "rows scaled, CSR", "`DeviceCsr::scale_rows`", scale_rows [f32 f64 c32 c64] [u32 u64] true, true, true;
        "columns scaled, CSR", "`DeviceCsr::scale_columns`", scale_columns [f32 f64 c32 c64] [u32 u64] true, true, true;
        "function of the values, CSR", "`DeviceCsr::map_values`", map_values [f32 f64] [u32 u64] true, true, true;
        "softmax of rows, CSR", "`DeviceCsr::softmax_rows`", softmax_rows [f32 f64] [u32 u64] true, true, true;
        "changed values, CSR", "`DeviceCsr::update_values`", update_values [f32 f64] [u32 u64] true, true, true;
        "diagonal, CSR", "`DeviceCsr::diagonal`", diagonal [f32 f64 c32 c64] [u32 u64] true, true, true;
        "rows reduced, CSR", "`DeviceCsr::reduce_rows`", reduce_rows [f32 f64] [u32 u64] true, true, true;
        "columns reduced, CSR", "`DeviceCsr::reduce_columns`", reduce_columns [f32 f64] [u32 u64] false, false, true;
        "blocks of the diagonal, BSR", "`DeviceBsr::diagonal_blocks`", diagonal_blocks [f32 f64] [u32 u64] true, true, true;
        "filter, CSR", "`DeviceCsr::filter`", filter [f32 f64 c32 c64] [u32 u64] false, false, true;
        "largest of rows, CSR", "`DeviceCsr::filter`", filter_largest [f32 f64 c32 c64] [u32 u64] false, false, true;
        "breadth-first search", "`graph::bfs`", bfs [f32 f64] [u32 u64] false, false, true;
        "shortest paths", "`graph::sssp`", sssp [f32 f64] [u32 u64] false, false, true;
        "connected components", "`graph::connected_components`", components [f32 f64] [u32 u64] false, false, true;
        "triangles", "`graph::count_triangles`", triangles [f32 f64] [u32 u64] false, false, true;
        "PageRank", "`graph::pagerank`", pagerank [f32 f64] [u32 u64] false, false, true;
        "core numbers", "`graph::k_core`", k_core [f32 f64] [u32 u64] false, false, true;
        "colors", "`graph::color`", color [f32 f64] [u32 u64] false, false, true;
    }
}

fn on_sequences() -> Vec<Operation> {
    operations! {
        "scan", "`scan::values`", scan [u32 i32 u64 f32 f64] [] true, true, true;
        "scan from a value", "`ScanOptions::with_initial`", scan_from [u32 i32 u64 f32 f64] [] true, true, true;
        "scan by keys", "`scan::by_keys`", scan_by_keys [u32 i32 u64 f32 f64] [u32 u64] true, true, true;
        "scan by offsets", "`scan::by_offsets`", scan_by_offsets [u32 i32 u64 f32 f64] [u32 u64] false, false, true;
        "reduce by keys, to given vectors", "`reduce::by_keys_into`", reduce_by_keys_into [u32 i32 u64 f32 f64] [u32 u64] true, true, true;
        "reduce by keys", "`reduce::by_keys`", reduce_by_keys [u32 i32 u64 f32 f64] [u32 u64] false, false, true;
        "sort keys", "`sort::keys`", sort_keys [u32 u64 i32 i64 f32 f64] [] false, true, true;
        "sort pairs", "`sort::pairs`", sort_pairs [u32 u64 i32 i64 f32 f64] [] false, true, true;
        "sort keys by offsets", "`sort::keys_by_offsets`", sort_keys_by_offsets [u32 u64 i32 i64 f32 f64] [u32 u64] false, false, true;
        "sort pairs by offsets", "`sort::pairs_by_offsets`", sort_pairs_by_offsets [u32 u64 i32 i64 f32 f64] [u32 u64] false, false, true;
        "merge keys", "`merge::keys`", merge_keys [u32 u64] [] true, true, true;
        "merge pairs", "`merge::pairs`", merge_pairs [u32 u64 i32 i64 f32 f64] [u32 u64] true, true, true;
        "set union of keys", "`sets::keys`", union_keys [u32 u64] [] false, false, true;
        "set union of pairs", "`sets::pairs`", union_pairs [u32 u64 i32 i64 f32 f64] [u32 u64] false, false, true;
        "αx + βy", "`vector::axpby`", axpby [f32 f64] [] true, true, true;
        "xᵀy, xᴴy", "`vector::dot`, `dot_conjugated`", dot [f32 f64 c32 c64] [] false, false, true;
        "xᵀy, xᴴy on the device", "`vector::dot_into`, `dot_conjugated_into`", dot_into [f32 f64 c32 c64] [] true, true, true;
        "‖x‖₂", "`vector::norm2`", norm2 [f32 f64 c32 c64] [] false, false, true;
        "‖x‖₂ on the device", "`vector::norm2_into`", norm2_into [f32 f64 c32 c64] [] true, true, true;
        "function of elements", "`vector::map`", map [f32 f64] [] true, true, true;
        "x ∘ y", "`vector::multiply_elements`", multiply_elements [f32 f64 c32 c64] [] true, true, true;
        "conjugate", "`vector::conjugate`", conjugate [f32 f64 c32 c64] [] true, true, true;
        "x ∘ y in place", "`vector::multiply_elements_in_place`", multiply_in_place [f32 f64 c32 c64] [] true, true, true;
        "y / x in place", "`vector::divide_elements_in_place`", divide_in_place [f32 f64] [] true, true, true;
        "constant", "`vector::fill`", fill [f32 f64 c32 c64] [] true, true, true;
        "sum", "`vector::sum`", sum [f32 f64] [] false, false, true;
        "sum on the device", "`vector::sum_into`, `norm1_into`", sum_into [f32 f64] [] true, true, true;
        "extreme on the device", "`vector::min_into`, `max_into`, `norm_max_into`", min_into [f32 f64] [] true, true, true;
        "index of an extreme on the device", "`vector::argmin_into`, `argmax_into`", argmin_into [f32 f64] [] true, true, true;
        "step of conjugate gradients", "`CgSteps::update_residual`, `update_direction`", cg_residual [f32 f64] [] true, true, true;
        "steps of conjugate gradients in one launch", "`CgSteps::run_in_one_block`", cg_one_block [f32 f64] [u32 u64] true, true, true;
        "vᵀx, vᴴx for columns v", "`DeviceDense::dots_into`, `dots_conjugated_into`", column_dots [f32 f64 c32 c64] [] true, true, true;
        "y + αΣ hv for columns v", "`DeviceDense::add_columns`", add_columns [f32 f64 c32 c64] [] true, true, true;
    }
}

pub(super) fn matrix<V: Value, O: Offset>() -> Csr<V, O> {
    generate(Kind::Rmat { scale: 9 }, 5).expect("a matrix")
}

/// A type of values, real or complex, to which those of tests in `f64` are converted.
pub(super) trait OfReal: Storage {
    fn matrix<O: Offset>() -> Csr<Self, O>;
    fn numbers(len: usize) -> Vec<Self>;
}

impl<S: Storage> OfReal for S
where
    f64: ConvertTo<S>,
{
    fn matrix<O: Offset>() -> Csr<S, O> {
        matrix::<f64, O>().into_values()
    }

    fn numbers(len: usize) -> Vec<S> {
        numbers::<f64>(len).into_iter().map(ConvertTo::convert).collect()
    }
}

/// Values whose sums depend on the order.
pub(super) fn numbers<T: RealStorage>(len: usize) -> Vec<T> {
    (0..len).map(|index| T::from_f64(1.0 / (3 + index % 1009) as f64)).collect()
}

pub(super) fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

pub(super) fn download<T: Pod + 'static>(vector: DeviceVec<T>) -> Download {
    Box::new(move || bytes(&vector.download().expect("a download")))
}

/// Computes y = Ax, by the given function.
pub(super) fn product<T: Entry>(
    device: &Device,
    rows: usize,
    x: DeviceVec<T>,
    run: impl Fn(&DeviceVec<T>, &mut DeviceVec<T>) -> Result<(), OpError> + Send + 'static,
) -> Run {
    let device = device.clone();
    Box::new(move || {
        let mut y = device.uninitialized(rows)?;
        run(&x, &mut y)?;
        Ok(download(y))
    })
}

fn spmv<S: RealStorage<Computed: RealStorage>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = device.upload(&matrix::<f64, O>().into_values::<S>()).expect("upload");
    let x = device.upload(&numbers::<S>(a.ncols())).expect("upload");
    uploaded();
    let plan = a.plan_spmv(SpmvOptions::default()).expect("plan");
    let (one, zero) = (S::Computed::from_f64(1.0), S::Computed::from_f64(0.0));
    product(device, a.nrows(), x, move |x, y| plan.run(one, x, zero, y))
}

fn spmv_once<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    let x = device.upload(&numbers::<V>(a.ncols())).expect("upload");
    uploaded();
    product(device, a.nrows(), x, move |x, y| a.spmv(V::ONE, x, V::ZERO, y))
}

fn spmv_mixed<S: Value + Multiplies<f64>, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<S, O>()).expect("upload");
    let x = device.upload(&numbers::<f64>(a.ncols())).expect("upload");
    uploaded();
    let plan = a.plan_spmv_mixed(SpmvOptions::default()).expect("plan");
    product(device, a.nrows(), x, move |x, y| plan.run(1.0, x, 0.0, y))
}

fn spmv_mixed_once<S: Value + Multiplies<f64>, O: Offset>(
    device: &Device,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = device.upload(&matrix::<S, O>()).expect("upload");
    let x = device.upload(&numbers::<f64>(a.ncols())).expect("upload");
    uploaded();
    product(device, a.nrows(), x, move |x, y| a.spmv_mixed(1.0, x, 0.0, y))
}

fn spmv_coo<V: Scalar + OfReal>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = V::matrix::<u32>();
    let x = device.upload(&V::numbers(a.ncols())).expect("upload");
    let (rows, a) = (a.nrows(), device.upload(&a.to_coo().expect("memory")).expect("upload"));
    uploaded();
    product(device, rows, x, move |x, y| a.spmv(V::ONE, x, V::ZERO, y))
}

macro_rules! without_plan {
    ($($name:ident: |$a:ident, $device:ident| $upload:expr;)*) => {$(
        fn $name<V: Value>($device: &Device, uploaded: &mut dyn FnMut()) -> Run {
            let $a = matrix::<V, u32>();
            let x = $device.upload(&numbers::<V>($a.ncols())).expect("upload");
            let a = $upload.expect("upload");
            uploaded();
            product($device, $a.nrows(), x, move |x, y| a.spmv(V::ONE, x, V::ZERO, y))
        }
    )*};
}

without_plan! {
    spmv_ell: |a, device| device.upload(&a.to_ell(PaddingLimit::Bytes(u64::MAX)).expect("ELL"));
    spmv_ell_r: |a, device| device.upload(&EllR(&a.to_ell(PaddingLimit::Bytes(u64::MAX)).expect("ELL")));
    spmv_sliced_ell: |a, device| device.upload(&a.to_sliced_ell(SlicedEllOptions::default()).expect("sliced"));
    spmv_hyb: |a, device| device.upload(&a.to_hyb(HybOptions::default()).expect("HYB"));
}

/// Block rows of which some are cut.
fn spmv_bsr<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = device.upload(&matrix::<V, O>().to_bsr(3).expect("BSR")).expect("upload");
    let x = device.upload(&numbers::<V>(a.ncols())).expect("upload");
    uploaded();
    product(device, a.nrows(), x, move |x, y| a.spmv(V::ONE, x, V::ZERO, y))
}

fn spmv_batch<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    const BATCH: usize = 3;
    let a = device.upload(&matrix::<V, O>()).expect("upload");
    let values = device.upload(&numbers::<V>(BATCH * a.nnz())).expect("upload");
    let x = device.upload(&numbers::<V>(BATCH * a.ncols())).expect("upload");
    uploaded();
    let plan = a.plan_spmv_batch(BATCH, SpmvBatchOptions::default()).expect("plan");
    product(device, BATCH * a.nrows(), x, move |x, y| plan.run(V::ONE, &values, x, V::ZERO, y))
}

pub(super) fn tree<V: Value>(device: &Device) -> DeviceHiSparse<V, 64> {
    let tree: HiSparse<V, 64> = matrix::<V, u32>().to_hisparse(hisparse::Options::default()).expect("a tree");
    device.upload(&tree).expect("upload")
}

fn spmv_tree<V: Value>(device: &Device, method: hisparse::SpmvMethod, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    let x = device.upload(&numbers::<V>(a.ncols())).expect("upload");
    uploaded();
    let plan = a.plan_spmv(hisparse::SpmvOptions::default().with_method(method)).expect("plan");
    product(device, a.nrows(), x, move |x, y| plan.run(V::ONE, x, V::ZERO, y))
}

fn spmv_tree_copied<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spmv_tree::<V>(device, hisparse::SpmvMethod::Copied, uploaded)
}

fn spmv_tree_leaves<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    spmv_tree::<V>(device, hisparse::SpmvMethod::Leaves, uploaded)
}

fn spmv_tree_queued<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let a = tree::<V>(device);
    let x = device.upload(&numbers::<V>(a.ncols())).expect("upload");
    uploaded();
    let plan = a.plan_spmv_queued(hisparse::QueuedOptions::default()).expect("plan");
    product(device, a.nrows(), x, move |x, y| plan.run(V::ONE, x, V::ZERO, y))
}

fn transposed<V: Scalar + OfReal, O: Offset>(
    device: &Device,
    method: SpmvTransposedMethod,
    uploaded: &mut dyn FnMut(),
) -> Run {
    let a = device.upload(&V::matrix::<O>()).expect("upload");
    let x = device.upload(&V::numbers(a.nrows())).expect("upload");
    uploaded();
    let options = SpmvTransposedOptions::default().with_method(method);
    let plan = a.plan_spmv_transposed(options).expect("plan");
    product(device, a.ncols(), x, move |x, y| plan.run(V::ONE, x, V::ZERO, y))
}

fn transposed_ordered<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    transposed::<V, O>(device, SpmvTransposedMethod::Ordered, uploaded)
}

fn transposed_unordered<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    transposed::<V, O>(device, SpmvTransposedMethod::Unordered, uploaded)
}

fn transposed_copied<V: Scalar + OfReal, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    transposed::<V, O>(device, SpmvTransposedMethod::Copied, uploaded)
}
