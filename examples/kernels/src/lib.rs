//! An operation on HiSparse matrices of a program's own: the largest magnitude in each column.
//!
//! One source for every machine, as evenpath's kernels: the simulated GPU runs it as it is, and `cargo xtask ptx` compiles it to
//! `ptx/` for GPUs.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use evenpath_kernels::hisparse::queue::{
    traverse, traverse_shared_bytes, EntryOperation, LoadedEntries, Queues, Tree,
};
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, Arena, GlobalMut};

#[cfg(not(target_arch = "nvptx64"))]
evenpath_simt::kernel_table!();

kernel! {
    /// Computes the largest magnitude in each column of a tree.
    pub struct ColumnMaxima {
        /// The tree.
        pub tree: Tree<f32>,
        /// The queues.
        pub queues: Queues,
        /// The bits of the largest magnitude of each column, 0 before: those of positive numbers ascend as the numbers do.
        pub maxima: GlobalMut<u32>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: ColumnMaxima::run;
    entry: column_maxima in column_maxima: 128 x 1 resident 8;
}

/// Operation on the entries.
#[derive(Clone, Copy)]
struct Maximum {
    maxima: GlobalMut<u32>,
}

impl EntryOperation<f32> for Maximum {
    #[device(track_caller)]
    fn entries<const N: usize>(&mut self, _row: u32, col: u32, entries: LoadedEntries<f32, N>) {
        for k in 0..N {
            if entries.present[k] {
                // The column within the leaf is in the low byte.
                let col = (col + (entries.coordinates[k] & 0xff)) as usize;
                let magnitude = entries.values[k].to_bits() & !(1 << 31);
                self.maxima.fetch_max(col, magnitude, Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

impl ColumnMaxima {
    #[device]
    fn run(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, Maximum { maxima: self.maxima });
    }
}
