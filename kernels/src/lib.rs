//! Every GPU kernel of evenpath: one source, compiled to PTX for the GPU and, unchanged, for the
//! simulated GPU.
//!
//! [`block`] holds what the threads of a block do together; every other module is an operation and
//! holds its kernels. Kernels know nothing of plans, policies and devices: they get views and numbers.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
// A call that is not inlined costs a kernel its registers; a kernel's parameters are what they are.
#![allow(clippy::inline_always, clippy::too_many_arguments)]
// Counts of bits that one of the compilers gets wrong: see clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod block;
pub mod coo;
pub mod ell;
pub mod hisparse;
pub mod key;
pub mod merge;
pub mod offset;
pub mod reduce;
pub mod scan;
pub mod sets;
pub mod sort;
pub mod spadd;
pub mod spgemm;
pub mod spmm;
pub mod spmv;
pub mod testing;
pub mod unroll;
pub mod update;
pub mod vector;

pub use key::{Bits, Key};
pub use offset::Offset;

#[cfg(not(target_arch = "nvptx64"))]
use evenpath_simt::kernel::{Kernel, KernelInfo};

/// Every kernel instance of the library, grouped by operation.
#[cfg(not(target_arch = "nvptx64"))]
#[allow(clippy::too_many_lines)] // A table.
pub fn kernels() -> Vec<&'static KernelInfo> {
    let mut all = Vec::new();
    add_primitives(&mut all);
    add_spmv(&mut all);
    add_formats(&mut all);
    add_sparse(&mut all);
    add_hisparse(&mut all);
    add_testing(&mut all);
    all
}

/// Adds the instances of a kernel, which do not depend on the types that its generic parameters are given.
#[cfg(not(target_arch = "nvptx64"))]
fn add<K: Kernel>(all: &mut Vec<&'static KernelInfo>) {
    all.extend(K::INSTANCES);
}

/// Sequences and dense vectors.
#[cfg(not(target_arch = "nvptx64"))]
fn add_primitives(all: &mut Vec<&'static KernelInfo>) {
    add::<sort::Histogram<u32>>(all);
    add::<sort::BinStarts>(all);
    add::<sort::OnesweepKeys<u32>>(all);
    add::<sort::OnesweepPairs<u32, u32>>(all);
    add::<sort::SortTileKeys<u32>>(all);
    add::<sort::SortTilePairs<u32, u32>>(all);
    add::<sort::SortTilePermutation<u32>>(all);
    add::<vector::AddAt<f32>>(all);
    add::<vector::Axpby<f32>>(all);
    add::<vector::Dot<f32>>(all);
    add::<vector::MultiplyElements<f32>>(all);
    add::<vector::GatherIndices>(all);
    add::<vector::Iota>(all);
    add::<merge::MergeKeysPartition<u32>>(all);
    add::<merge::MergeKeys<u32>>(all);
    add::<merge::MergePairs<u32, u32>>(all);
    add::<sets::SetPartition<u32>>(all);
    add::<sets::SetKeys<u32>>(all);
    add::<sets::SetPairs<u32, u32>>(all);
    add::<sets::SetCount<u32>>(all);
    add::<sets::FirstDescent<u32>>(all);
    add::<scan::Scan<f32>>(all);
    add::<scan::SegmentedScan<f32, u32>>(all);
    add::<scan::SegmentedScanByBits<f32>>(all);
    add::<reduce::ReduceByKey<f32, u32>>(all);
    add::<reduce::ReduceByFlag<f32>>(all);
    add::<reduce::MarkRows<u32>>(all);
    add::<reduce::FillEmptyRows<f32, u32>>(all);
    add::<reduce::ReduceRows<f32>>(all);
    add::<vector::Scale<f32>>(all);
    add::<vector::Gather<f32>>(all);
}

/// Sparse matrix times dense vector.
#[cfg(not(target_arch = "nvptx64"))]
fn add_spmv(all: &mut Vec<&'static KernelInfo>) {
    add::<spmv::FindCutRows<u32>>(all);
    add::<spmv::MergePartition<u32>>(all);
    add::<spmv::MergeTile<f32, u32>>(all);
    add::<spmv::RowLengths<u32>>(all);
    add::<spmv::ListLongRows<u32>>(all);
    add::<spmv::NumberPieces<u32>>(all);
    add::<spmv::BinnedRows<f32, u32>>(all);
    add::<spmv::RowTiles<f32, u32>>(all);
    add::<spmv::FindWindows<u32>>(all);
    add::<spmv::RowWindows<f32, u32>>(all);
    add::<spmv::EncodeColumns<u32>>(all);
    add::<spmv::ShareCodes>(all);
    add::<spmv::NarrowRows<f32, u32>>(all);
    add::<spmv::NarrowBlocks<f64, u32>>(all);
    add::<spmv::VectorRows<f32, u32>>(all);
    add::<spmv::BlockRows<f32, u32>>(all);
    add::<spmv::FlatCompactRows<u32>>(all);
    add::<spmv::FlatPartition<u32>>(all);
    add::<spmv::FlatTile<f32, u32>>(all);
    add::<spmv::FlatFillEmptyRows<f32, u32>>(all);
    add::<spmv::CutRowBlocks<u32>>(all);
    add::<spmv::AdaptiveRows<f32, u32>>(all);
    add::<spmv::LightRows<f32, u32>>(all);
    add::<spmv::AddTransposed<f32, u32>>(all);
    add::<spmv::TransposedProducts<f32, u32>>(all);
    add::<spmv::RowIndices<u32>>(all);
    add::<spmv::ColumnOffsets<u32>>(all);
}

/// Other formats, and sparse matrix times dense matrix.
#[cfg(not(target_arch = "nvptx64"))]
fn add_formats(all: &mut Vec<&'static KernelInfo>) {
    add::<spmm::SpmmLongRows<u32>>(all);
    add::<spmm::SpmmRows<f32, f32, u32>>(all);
    add::<spmm::SpmmPieces<f32, f32, u32>>(all);
    add::<spmm::SpmmFinish<f32>>(all);
    add::<spmm::SpmmTranspose<f32>>(all);
    add::<ell::Ell<f32>>(all);
    add::<ell::EllR<f32>>(all);
    add::<ell::SlicedEll<f32>>(all);
    add::<coo::CooInterval<f32>>(all);
    add::<coo::CarryFixup<f32>>(all);
}

/// Sums and products of sparse matrices.
#[cfg(not(target_arch = "nvptx64"))]
fn add_sparse(all: &mut Vec<&'static KernelInfo>) {
    add::<spgemm::SpgemmRowWork<u32>>(all);
    add::<spgemm::SpgemmLongRowWork<u32>>(all);
    add::<spgemm::SpgemmMaskWork<u32>>(all);
    add::<spgemm::SpgemmClassify>(all);
    add::<spgemm::SpgemmListRows>(all);
    add::<spgemm::SpgemmConvertOffsets<u32, u64>>(all);
    add::<spgemm::SpgemmHashCount<u32>>(all);
    add::<spgemm::SpgemmHashFill<f32, u32>>(all);
    add::<spgemm::SpgemmWindowCount<u32>>(all);
    add::<spgemm::SpgemmWindowFill<f32, u32>>(all);
    add::<spgemm::two_level_sort::WeighEntries<u32>>(all);
    add::<spgemm::two_level_sort::ListEntries<u32>>(all);
    add::<spgemm::two_level_sort::SortProducts<u32>>(all);
    add::<spgemm::two_level_sort::CollectCutEntries<u32>>(all);
    add::<spgemm::two_level_sort::NumberCutEntries<u32>>(all);
    add::<spgemm::two_level_sort::PlaceCutEntries<u32>>(all);
    add::<spgemm::two_level_sort::PlaceTiles>(all);
    add::<spgemm::two_level_sort::AddProducts<f32, u32>>(all);
    add::<spgemm::two_level_sort::PlaceCutValues<f32>>(all);
    add::<spadd::CutPath<u32>>(all);
    add::<spadd::CountDescents<u32>>(all);
    add::<spadd::WalkPath<u32>>(all);
    add::<spadd::FillTiles<f32, u32>>(all);
    add::<spgemm::SpgemmPartWork<u32>>(all);
    add::<spgemm::SpgemmRankProducts<u32>>(all);
    add::<spgemm::SpgemmCutByParts<u32>>(all);
    add::<spgemm::SpgemmAddRanked<f32, u32>>(all);
}

/// Hierarchical matrices.
#[cfg(not(target_arch = "nvptx64"))]
fn add_hisparse(all: &mut Vec<&'static KernelInfo>) {
    add::<hisparse::HiSparseCountChildren>(all);
    add::<hisparse::HiSparseListChildren>(all);
    add::<hisparse::HiSparseCountQuads>(all);
    add::<hisparse::HiSparseListLeaves>(all);
    add::<hisparse::HiSparseCountParts>(all);
    add::<hisparse::HiSparseListParts>(all);
    add::<hisparse::HiSparseSpmv<f32>>(all);
    add::<hisparse::HiSparseSpmm<f32>>(all);
    add::<hisparse::HiSparseCountRuns>(all);
    add::<hisparse::HiSparseWriteRuns<u32>>(all);
    add::<hisparse::HiSparseCountNodes<u32>>(all);
    add::<hisparse::HiSparseLevelStarts>(all);
    add::<hisparse::HiSparseWriteNodes<u32>>(all);
    add::<hisparse::HiSparseNumberEntries>(all);
    add::<hisparse::HiSparseFillLeaves<f32>>(all);
    add::<hisparse::HiSparsePlaceNodes>(all);
    add::<hisparse::HiSparseLinkNodes>(all);
    add::<hisparse::sum::HiSparseCountSums<u32>>(all);
    add::<hisparse::sum::HiSparseAddChildren>(all);
    add::<hisparse::sum::HiSparseAddLeaves<f32>>(all);
    add::<hisparse::HiSparseCountEntries<u32>>(all);
    add::<hisparse::HiSparseListEntries<f32>>(all);
    add::<hisparse::product::HiSparseCountPairs>(all);
    add::<hisparse::product::HiSparseListPairs<u32>>(all);
    add::<hisparse::product::HiSparseMarkCandidates<u32>>(all);
    add::<hisparse::product::HiSparseListCandidates<u32>>(all);
    add::<hisparse::product::HiSparseCountProducts<u32>>(all);
    add::<hisparse::product::HiSparseListFilled<u32>>(all);
    add::<hisparse::product::HiSparseMultiplyLeaves<f32>>(all);
    add::<hisparse::queue::HiSparseQueuedSpmv<f32>>(all);
}

/// What the machines are tested with.
#[cfg(not(target_arch = "nvptx64"))]
fn add_testing(all: &mut Vec<&'static KernelInfo>) {
    add::<testing::ConditionalBarrier>(all);
    add::<testing::FaultOutOfBounds>(all);
    add::<testing::WarpCollectives>(all);
    add::<testing::Packets<u32>>(all);
    add::<testing::Atomics>(all);
    add::<testing::BlockSum<f32>>(all);
    add::<testing::MessagePassing>(all);
    add::<testing::MemoryAccesses<u8>>(all);
    add::<testing::AtomicElements<u32>>(all);
    add::<testing::AtomicIntegers<u32>>(all);
    add::<testing::VectorCopy<f32>>(all);
    add::<testing::Clock>(all);
    add::<testing::BitCounts>(all);
}

#[cfg(all(target_arch = "nvptx64", not(feature = "nvvm")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Kernels do not panic: nothing in them is checked. What remains of unreachable branches ends here.
    loop {}
}
