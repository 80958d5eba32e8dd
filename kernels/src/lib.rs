//! Every GPU kernel of evenpath: one source, compiled to PTX for the GPU and, unchanged, for the
//! simulated GPU.
//!
//! [`block`] holds what the threads of a block do together; every other module is an operation and
//! holds its kernels. Kernels know nothing of plans, policies and devices: they get views and numbers.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
// A call that is not inlined costs a kernel its registers; a kernel's parameters are what they are.
#![allow(clippy::inline_always, clippy::too_many_arguments)]

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
    fn add<K: Kernel>(all: &mut Vec<&'static KernelInfo>) {
        all.extend(K::INSTANCES);
    }
    let mut all = Vec::new();
    // Instances do not depend on the types that the generic parameters are given here.
    add::<sort::Histogram<u32>>(&mut all);
    add::<sort::BinStarts>(&mut all);
    add::<sort::OnesweepKeys<u32>>(&mut all);
    add::<sort::OnesweepPairs<u32, u32>>(&mut all);
    add::<sort::SortTileKeys<u32>>(&mut all);
    add::<sort::SortTilePairs<u32, u32>>(&mut all);
    add::<sort::SortTilePermutation<u32>>(&mut all);
    add::<spmv::FindCutRows<u32>>(&mut all);
    add::<spmv::MergePartition<u32>>(&mut all);
    add::<spmv::MergeTile<f32, u32>>(&mut all);
    add::<spgemm::SpgemmRowWork<u32>>(&mut all);
    add::<spgemm::SpgemmMaskWork<u32>>(&mut all);
    add::<spgemm::SpgemmClassify>(&mut all);
    add::<spgemm::SpgemmListRows>(&mut all);
    add::<spgemm::SpgemmConvertOffsets<u32, u64>>(&mut all);
    add::<spgemm::SpgemmHashCount<u32>>(&mut all);
    add::<spgemm::SpgemmHashFill<f32, u32>>(&mut all);
    add::<spgemm::SpgemmWindowCount<u32>>(&mut all);
    add::<spgemm::SpgemmWindowFill<f32, u32>>(&mut all);
    add::<spmm::SpmmLongRows<u32>>(&mut all);
    add::<spmm::SpmmRows<f32, f32, u32>>(&mut all);
    add::<spmm::SpmmPieces<f32, f32, u32>>(&mut all);
    add::<spmm::SpmmFinish<f32>>(&mut all);
    add::<spmm::SpmmTranspose<f32>>(&mut all);
    add::<spgemm::two_level_sort::WeighEntries<u32>>(&mut all);
    add::<spgemm::two_level_sort::ListEntries<u32>>(&mut all);
    add::<spgemm::two_level_sort::SortProducts<u32>>(&mut all);
    add::<spgemm::two_level_sort::CollectCutEntries<u32>>(&mut all);
    add::<spgemm::two_level_sort::NumberCutEntries<u32>>(&mut all);
    add::<spgemm::two_level_sort::PlaceCutEntries<u32>>(&mut all);
    add::<spgemm::two_level_sort::PlaceTiles>(&mut all);
    add::<spgemm::two_level_sort::AddProducts<f32, u32>>(&mut all);
    add::<spgemm::two_level_sort::PlaceCutValues<f32>>(&mut all);
    add::<spmv::RowLengths<u32>>(&mut all);
    add::<spmv::ListLongRows<u32>>(&mut all);
    add::<spmv::NumberPieces<u32>>(&mut all);
    add::<spmv::BinnedRows<f32, u32>>(&mut all);
    add::<spmv::RowTiles<f32, u32>>(&mut all);
    add::<spmv::FindWindows<u32>>(&mut all);
    add::<spmv::RowWindows<f32, u32>>(&mut all);
    add::<spmv::VectorRows<f32, u32>>(&mut all);
    add::<spmv::BlockRows<f32, u32>>(&mut all);
    add::<spmv::FlatCompactRows<u32>>(&mut all);
    add::<spmv::FlatPartition<u32>>(&mut all);
    add::<spmv::FlatTile<f32, u32>>(&mut all);
    add::<spmv::FlatFillEmptyRows<f32, u32>>(&mut all);
    add::<spmv::CutRowBlocks<u32>>(&mut all);
    add::<spmv::AdaptiveRows<f32, u32>>(&mut all);
    add::<spmv::LightRows<f32, u32>>(&mut all);
    add::<spmv::AddTransposed<f32, u32>>(&mut all);
    add::<spmv::TransposedProducts<f32, u32>>(&mut all);
    add::<spmv::RowIndices<u32>>(&mut all);
    add::<spmv::ColumnOffsets<u32>>(&mut all);
    add::<vector::AddAt<f32>>(&mut all);
    add::<vector::GatherIndices>(&mut all);
    add::<vector::Iota>(&mut all);
    add::<merge::MergeKeysPartition<u32>>(&mut all);
    add::<merge::MergeKeys<u32>>(&mut all);
    add::<merge::MergePairs<u32, u32>>(&mut all);
    add::<sets::SetPartition<u32>>(&mut all);
    add::<sets::SetKeys<u32>>(&mut all);
    add::<sets::SetPairs<u32, u32>>(&mut all);
    add::<sets::SetCount<u32>>(&mut all);
    add::<sets::FirstDescent<u32>>(&mut all);
    add::<spadd::CutPath<u32>>(&mut all);
    add::<spadd::CountDescents<u32>>(&mut all);
    add::<spadd::WalkPath<u32>>(&mut all);
    add::<spadd::FillTiles<f32, u32>>(&mut all);
    add::<scan::Scan<f32>>(&mut all);
    add::<scan::SegmentedScan<f32, u32>>(&mut all);
    add::<scan::SegmentedScanByBits<f32>>(&mut all);
    add::<reduce::ReduceByKey<f32, u32>>(&mut all);
    add::<reduce::ReduceByFlag<f32>>(&mut all);
    add::<reduce::MarkRows<u32>>(&mut all);
    add::<reduce::FillEmptyRows<f32, u32>>(&mut all);
    add::<reduce::ReduceRows<f32>>(&mut all);
    add::<ell::Ell<f32>>(&mut all);
    add::<ell::EllR<f32>>(&mut all);
    add::<ell::SlicedEll<f32>>(&mut all);
    add::<coo::CooInterval<f32>>(&mut all);
    add::<coo::CarryFixup<f32>>(&mut all);
    add::<hisparse::HiSparseCountChildren>(&mut all);
    add::<hisparse::HiSparseListChildren>(&mut all);
    add::<hisparse::HiSparseCountRuns>(&mut all);
    add::<hisparse::HiSparseWriteRuns<u32>>(&mut all);
    add::<hisparse::HiSparseCountNodes<u32>>(&mut all);
    add::<hisparse::HiSparseLevelStarts>(&mut all);
    add::<hisparse::HiSparseWriteNodes<u32>>(&mut all);
    add::<hisparse::HiSparseNumberEntries>(&mut all);
    add::<hisparse::HiSparseFillLeaves<f32>>(&mut all);
    add::<hisparse::HiSparsePlaceNodes>(&mut all);
    add::<hisparse::HiSparseLinkNodes>(&mut all);
    add::<hisparse::sum::HiSparseCountSums<u32>>(&mut all);
    add::<hisparse::sum::HiSparseAddChildren>(&mut all);
    add::<hisparse::sum::HiSparseAddLeaves<f32>>(&mut all);
    add::<hisparse::HiSparseCountEntries<u32>>(&mut all);
    add::<hisparse::HiSparseListEntries<f32>>(&mut all);
    add::<vector::Scale<f32>>(&mut all);
    add::<vector::Gather<f32>>(&mut all);
    add::<testing::ConditionalBarrier>(&mut all);
    add::<testing::FaultOutOfBounds>(&mut all);
    add::<testing::WarpCollectives>(&mut all);
    add::<testing::Packets<u32>>(&mut all);
    add::<testing::Atomics>(&mut all);
    add::<testing::BlockSum<f32>>(&mut all);
    add::<testing::MessagePassing>(&mut all);
    add::<testing::MemoryAccesses<u8>>(&mut all);
    add::<testing::AtomicElements<u32>>(&mut all);
    add::<testing::AtomicIntegers<u32>>(&mut all);
    add::<testing::VectorCopy<f32>>(&mut all);
    add::<testing::Clock>(&mut all);
    all
}

#[cfg(all(target_arch = "nvptx64", not(feature = "nvvm")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Kernels do not panic: nothing in them is checked. What remains of unreachable branches ends here.
    loop {}
}
