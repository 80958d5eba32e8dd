//! Every GPU kernel of evenpath: one source, compiled to PTX for the GPU and, unchanged, for the
//! simulated GPU.
//!
//! [`block`] has operations of a block of threads; every other module is an operation and has its kernels. Kernels know
//! nothing of plans, policies and devices: they get views and numbers.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]
// Counts of bits that one of the compilers gets wrong: see clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod absolute;
pub mod assembly;
pub mod basis;
pub mod block;
pub mod bsr;
pub mod cg;
pub mod complex;
pub mod complex_dots;
pub mod convert;
pub mod coo;
pub mod csr_columns;
pub mod csr_rows;
pub mod diagonal;
pub mod elementary;
pub mod ell;
pub mod entries;
pub mod factor;
pub mod factorization;
pub mod fold;
pub mod graph;
pub mod hisparse;
pub mod key;
pub mod kronecker;
pub mod map;
pub mod matrix;
pub mod merge;
pub mod norm;
pub mod offset;
pub mod permute;
pub mod pieces;
mod power;
pub mod reduce;
pub mod scan;
pub mod sddmm;
pub mod semiring;
pub mod sets;
pub mod softmax;
pub mod sort;
pub mod spadd;
pub mod spgemm;
pub mod spmm;
pub mod spmv;
pub mod spmv_batch;
pub mod stack;
pub mod testing;
pub mod triangular;
mod unroll;
pub mod update;
pub mod vector;

pub use key::{Key, ValueBits};
pub use matrix::{GlobalCoo, GlobalCsr, GlobalPattern, RowMap};
pub use offset::Offset;

// The first types of kernels of complex numbers, in the table.
#[cfg(not(target_arch = "nvptx64"))]
use evenpath_simt::num_complex::Complex;

#[cfg(not(target_arch = "nvptx64"))]
evenpath_simt::kernel_table!();

#[cfg(all(target_arch = "nvptx64", not(feature = "nvvm")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Kernels do not panic: they check nothing. Unreachable branches that remain end here.
    loop {}
}
