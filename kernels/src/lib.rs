//! Every GPU kernel of evenpath: one source, compiled to PTX for the GPU and, unchanged, for the
//! simulated GPU.
//!
//! [`block`] holds what the threads of a block do together; every other module is an operation and
//! holds its kernels. Kernels know nothing of plans, policies and devices: they get views and numbers.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
// A call that is not inlined costs a kernel its registers.
#![allow(clippy::inline_always)]
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]
// Counts of bits that one of the compilers gets wrong: see clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod block;
pub mod coo;
pub mod ell;
pub mod factor;
pub mod hisparse;
pub mod key;
pub mod matrix;
pub mod merge;
pub mod norm;
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
pub use matrix::{CooView, CsrView, Pattern, RowMap};
pub use offset::Offset;

#[cfg(not(target_arch = "nvptx64"))]
use evenpath_simt::kernel::{Kernel, KernelInfo, Simulation};

/// Something done with each kernel of the library.
#[cfg(not(target_arch = "nvptx64"))]
trait Visitor {
    /// Does it with one kernel. What it sees does not depend on the types that the kernel's generic parameters are given.
    fn visit<K: Kernel>(&mut self);
}

/// Every kernel instance of the library, grouped by operation.
#[cfg(not(target_arch = "nvptx64"))]
pub fn kernels() -> Vec<&'static KernelInfo> {
    struct Instances(Vec<&'static KernelInfo>);
    impl Visitor for Instances {
        fn visit<K: Kernel>(&mut self) {
            self.0.extend(K::INSTANCES);
        }
    }
    let mut instances = Instances(Vec::new());
    visit_all(&mut instances);
    instances.0
}

/// The body of every kernel instance for the simulated GPU, with the name of the instance.
#[cfg(not(target_arch = "nvptx64"))]
pub fn simulations() -> Vec<(&'static str, Simulation)> {
    struct Simulations(Vec<(&'static str, Simulation)>);
    impl Visitor for Simulations {
        fn visit<K: Kernel>(&mut self) {
            let names = K::INSTANCES.iter().map(|info| info.name);
            self.0.extend(names.zip(K::SIMULATIONS.iter().copied()));
        }
    }
    let mut simulations = Simulations(Vec::new());
    visit_all(&mut simulations);
    simulations.0
}

#[cfg(not(target_arch = "nvptx64"))]
fn visit_all(visitor: &mut impl Visitor) {
    visit_primitives(visitor);
    visit_spmv(visitor);
    visit_formats(visitor);
    visit_sparse(visitor);
    visit_hisparse(visitor);
    visit_testing(visitor);
}

/// Sequences and dense vectors.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_primitives(visitor: &mut impl Visitor) {
    visitor.visit::<sort::Histogram<u32>>();
    visitor.visit::<sort::BinStarts>();
    visitor.visit::<sort::OnesweepKeys<u32>>();
    visitor.visit::<sort::OnesweepPairs<u32, u32>>();
    visitor.visit::<sort::CutSegments<u32>>();
    visitor.visit::<sort::SortSegmentKeys<u32>>();
    visitor.visit::<sort::SortSegmentPairs<u32, u32>>();
    visitor.visit::<sort::MarkSegments<u32>>();
    visitor.visit::<sort::ListRuns>();
    visitor.visit::<sort::MergeRunKeys<u32>>();
    visitor.visit::<sort::MergeRunPairs<u32, u32>>();
    visitor.visit::<sort::SortTileKeys<u32>>();
    visitor.visit::<sort::SortTilePairs<u32, u32>>();
    visitor.visit::<sort::SortTilePermutation<u32>>();
    visitor.visit::<vector::AddAt<f32>>();
    visitor.visit::<vector::Axpby<f32>>();
    visitor.visit::<vector::Dot<f32>>();
    visitor.visit::<vector::FinishDot<f32>>();
    visitor.visit::<norm::Norm<f32>>();
    visitor.visit::<norm::FinishNorm<f32>>();
    visitor.visit::<vector::MultiplyElements<f32>>();
    visitor.visit::<vector::DivideElements<f32>>();
    visitor.visit::<vector::GatherIndices>();
    visitor.visit::<vector::Iota>();
    visitor.visit::<merge::MergeKeysPartition<u32>>();
    visitor.visit::<merge::MergeKeys<u32>>();
    visitor.visit::<merge::MergePairs<u32, u32>>();
    visitor.visit::<sets::SetPartition<u32>>();
    visitor.visit::<sets::SetKeys<u32>>();
    visitor.visit::<sets::SetPairs<u32, u32>>();
    visitor.visit::<sets::SetCount<u32>>();
    visitor.visit::<sets::FirstDescent<u32>>();
    visitor.visit::<scan::Scan<f32>>();
    visitor.visit::<scan::SegmentedScan<f32, u32>>();
    visitor.visit::<scan::SegmentedScanByBits<f32>>();
    visitor.visit::<reduce::ReduceByKey<f32, u32>>();
    visitor.visit::<reduce::ReduceByFlag<f32>>();
    visitor.visit::<reduce::MarkRows<u32>>();
    visitor.visit::<reduce::FillEmptyRows<f32, u32>>();
    visitor.visit::<reduce::ReduceRows<f32>>();
    visitor.visit::<vector::Scale<f32>>();
    visitor.visit::<vector::Gather<f32>>();
}

/// Sparse matrix times dense vector.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_spmv(visitor: &mut impl Visitor) {
    visitor.visit::<spmv::FindCutRows<u32>>();
    visitor.visit::<spmv::MergePartition<u32>>();
    visitor.visit::<spmv::MergeTile<f32, u32>>();
    visitor.visit::<spmv::RowLengths<u32>>();
    visitor.visit::<spmv::ListLongRows<u32>>();
    visitor.visit::<spmv::NumberPieces<u32>>();
    visitor.visit::<spmv::BinnedRows<f32, u32>>();
    visitor.visit::<spmv::RowTiles<f32, u32>>();
    visitor.visit::<spmv::FindWindows<u32>>();
    visitor.visit::<spmv::RowWindows<f32, u32>>();
    visitor.visit::<spmv::EncodeColumns<u32>>();
    visitor.visit::<spmv::ShareCodes>();
    visitor.visit::<spmv::NarrowRows<f32, u32>>();
    visitor.visit::<spmv::NarrowBlocks<f64, u32>>();
    visitor.visit::<spmv::VectorRows<f32, u32>>();
    visitor.visit::<spmv::BlockRows<f32, u32>>();
    visitor.visit::<spmv::FlatCompactRows<u32>>();
    visitor.visit::<spmv::FlatPartition<u32>>();
    visitor.visit::<spmv::FlatTile<f32, u32>>();
    visitor.visit::<spmv::FlatFillEmptyRows<f32, u32>>();
    visitor.visit::<spmv::CountColumns>();
    visitor.visit::<spmv::EncodeHotColumns>();
    visitor.visit::<spmv::MarkRowEnds<u32>>();
    visitor.visit::<spmv::GatherHotColumns<f32, u32>>();
    visitor.visit::<spmv::HotColumns<f32, u32>>();
    visitor.visit::<spmv::CutRowBlocks<u32>>();
    visitor.visit::<spmv::AdaptiveRows<f32, u32>>();
    visitor.visit::<spmv::LightRows<f32, u32>>();
    visitor.visit::<spmv::AddTransposed<f32, u32>>();
    visitor.visit::<spmv::TransposedProducts<f32, u32>>();
    visitor.visit::<spmv::RowIndices<u32>>();
    visitor.visit::<spmv::ColumnOffsets<u32>>();
}

/// Other formats, and sparse matrix times dense matrix.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_formats(visitor: &mut impl Visitor) {
    visitor.visit::<spmm::SpmmLongRows<u32>>();
    visitor.visit::<spmm::SpmmRows<f32, f32, u32>>();
    visitor.visit::<spmm::SpmmCombine<f32>>();
    visitor.visit::<spmm::SpmmTranspose<f32>>();
    visitor.visit::<ell::Ell<f32>>();
    visitor.visit::<ell::EllR<f32>>();
    visitor.visit::<ell::SortWindows<u32>>();
    visitor.visit::<ell::SliceWidths<u32>>();
    visitor.visit::<ell::FillSlices<f32, u32>>();
    visitor.visit::<ell::SlicedEll<f32>>();
    visitor.visit::<coo::CooInterval<f32>>();
    visitor.visit::<coo::CarryFixup<f32>>();
}

/// Sums and products of sparse matrices.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_sparse(visitor: &mut impl Visitor) {
    visitor.visit::<spgemm::row_tiles::CountProducts<u32>>();
    visitor.visit::<spgemm::row_tiles::MultiplyTiles<f32, u32>>();
    visitor.visit::<spgemm::SpgemmRowWork<u32>>();
    visitor.visit::<spgemm::SpgemmLongRowWork<u32>>();
    visitor.visit::<spgemm::SpgemmMaskWork<u32>>();
    visitor.visit::<spgemm::SpgemmClassify>();
    visitor.visit::<spgemm::SpgemmListRows>();
    visitor.visit::<spgemm::SpgemmExpandOffsets<u32>>();
    visitor.visit::<spgemm::SpgemmConvertOffsets<u32, u64>>();
    visitor.visit::<spgemm::SpgemmHashCount<u32>>();
    visitor.visit::<spgemm::SpgemmHashFill<f32, u32>>();
    visitor.visit::<spgemm::SpgemmWindowCount<u32>>();
    visitor.visit::<spgemm::SpgemmWindowFill<f32, u32>>();
    visitor.visit::<spgemm::two_level_sort::WeighEntries<u32>>();
    visitor.visit::<spgemm::two_level_sort::ListEntries<u32>>();
    visitor.visit::<spgemm::two_level_sort::SortProducts<u32>>();
    visitor.visit::<spgemm::two_level_sort::ExpandProducts<f32, u32>>();
    visitor.visit::<spgemm::two_level_sort::SplitKeys<u32>>();
    visitor.visit::<spgemm::two_level_sort::CollectCutEntries<u32>>();
    visitor.visit::<spgemm::two_level_sort::NumberCutEntries<u32>>();
    visitor.visit::<spgemm::two_level_sort::PlaceCutEntries<u32>>();
    visitor.visit::<spgemm::two_level_sort::PlaceTiles>();
    visitor.visit::<spgemm::two_level_sort::AddProducts<f32, u32>>();
    visitor.visit::<spgemm::two_level_sort::PlaceCutValues<f32>>();
    visitor.visit::<spadd::CutPath<u32>>();
    visitor.visit::<spadd::CountDescents<u32>>();
    visitor.visit::<spadd::WalkPath<u32>>();
    visitor.visit::<spadd::FillTiles<f32, u32>>();
    visitor.visit::<spadd::OnePass<f32, u32>>();
    visitor.visit::<spgemm::SpgemmPartWork<u32>>();
    visitor.visit::<spgemm::SpgemmRankProducts<u32>>();
    visitor.visit::<spgemm::SpgemmCutByParts<u32>>();
    visitor.visit::<spgemm::SpgemmAddRanked<f32, u32>>();
}

/// Hierarchical matrices.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_hisparse(visitor: &mut impl Visitor) {
    visitor.visit::<hisparse::HiSparseCountChildren>();
    visitor.visit::<hisparse::HiSparseListChildren>();
    visitor.visit::<hisparse::HiSparseCountQuads>();
    visitor.visit::<hisparse::HiSparseListLeaves>();
    visitor.visit::<hisparse::HiSparseCountParts>();
    visitor.visit::<hisparse::HiSparsePlaceProducts<f32>>();
    visitor.visit::<hisparse::HiSparseListParts>();
    visitor.visit::<hisparse::HiSparseSpmv<f32>>();
    visitor.visit::<hisparse::HiSparseSpmm<f32>>();
    visitor.visit::<hisparse::HiSparseWriteRuns<u32>>();
    visitor.visit::<hisparse::HiSparseWriteNodes<u32>>();
    visitor.visit::<hisparse::HiSparseFillLeaves<f32>>();
    visitor.visit::<hisparse::HiSparsePlaceNodes>();
    visitor.visit::<hisparse::HiSparseLinkNodes>();
    visitor.visit::<hisparse::HiSparseRebaseChildren>();
    visitor.visit::<hisparse::HiSparseHashNodes>();
    visitor.visit::<hisparse::HiSparseCompareNodes>();
    visitor.visit::<hisparse::HiSparseReplaceChildren>();
    visitor.visit::<hisparse::HiSparseReplaceRoots>();
    visitor.visit::<hisparse::HiSparseCopyKept>();
    visitor.visit::<hisparse::sum::HiSparseCountSums<u32>>();
    visitor.visit::<hisparse::sum::HiSparseAddChildren>();
    visitor.visit::<hisparse::sum::HiSparseAddLeaves<f32>>();
    visitor.visit::<hisparse::sum::HiSparseQueuedSum<f32>>();
    visitor.visit::<hisparse::HiSparseCountEntries<u32>>();
    visitor.visit::<hisparse::HiSparseListEntries<f32>>();
    visitor.visit::<hisparse::product::HiSparseCountPairs>();
    visitor.visit::<hisparse::product::HiSparseListPairs<u32>>();
    visitor.visit::<hisparse::product::HiSparseMarkCandidates<u32>>();
    visitor.visit::<hisparse::product::HiSparseListCandidates<u32>>();
    visitor.visit::<hisparse::product::HiSparseCountProducts<u32>>();
    visitor.visit::<hisparse::product::HiSparseListFilled<u32>>();
    visitor.visit::<hisparse::product::HiSparseMultiplyLeaves<f32>>();
    visitor.visit::<hisparse::queue::HiSparseQueuedSpmv<f32>>();
    visitor.visit::<hisparse::queue::HiSparseSquares<f32>>();
    visitor.visit::<hisparse::queue::HiSparseDiagonal<f32>>();
    visitor.visit::<hisparse::queue::HiSparseBlockCounts<f32>>();
    visitor.visit::<hisparse::queue::HiSparseBlockEntries<f32>>();
}

/// What the machines are tested with.
#[cfg(not(target_arch = "nvptx64"))]
fn visit_testing(visitor: &mut impl Visitor) {
    visitor.visit::<testing::ConditionalBarrier>();
    visitor.visit::<testing::FaultOutOfBounds>();
    visitor.visit::<testing::WarpCollectives>();
    visitor.visit::<testing::Packets<u32>>();
    visitor.visit::<testing::Atomics>();
    visitor.visit::<testing::BlockSum<f32>>();
    visitor.visit::<testing::MessagePassing>();
    visitor.visit::<testing::MemoryAccesses<u8>>();
    visitor.visit::<testing::AtomicElements<u32>>();
    visitor.visit::<testing::AtomicIntegers<u32>>();
    visitor.visit::<testing::VectorCopy<f32>>();
    visitor.visit::<testing::Clock>();
    visitor.visit::<testing::BitCounts>();
}

#[cfg(all(target_arch = "nvptx64", not(feature = "nvvm")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Kernels do not panic: nothing in them is checked. What remains of unreachable branches ends here.
    loop {}
}
