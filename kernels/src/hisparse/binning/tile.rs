//! Bins a node of at most a tile of entries: one block.

use evenpath_simt::{device, thread};

use super::binner::{Binner, BinningMemory, BLOCK, ITEMS};
use super::skeleton::SkeletonNode;
use super::work::BinningWork;
use crate::block::radix_sort::warp_striped;
use crate::hisparse::queue::FoundElement;

impl Binner {
    /// Bins a node. All threads of the block call it together, and thread 0 finds the children.
    #[device(track_caller)]
    pub(super) fn bin_by_block(&mut self, work: BinningWork) -> Option<FoundElement<BinningWork>> {
        let BinningWork { node, height, .. } = work;
        let (begin, end) = self.skeleton.extent(height, node);
        let len = end - begin;
        self.sort_tile(begin, len, height);
        let count = self.list_bins(len);
        let BinningMemory { sort, places, told, .. } = self.memory;
        if thread::index() == 0 {
            let first = self.skeleton.make(height - 1, count);
            self.skeleton.set_children(node, first, count);
            self.add_units(height, count);
            told.store(0, first);
            places.store(count as usize, len);
        }
        thread::barrier();
        let first = told.load(0);
        thread::block_stride::<BLOCK>(count, |child| {
            let (from, to) = (places.load(child as usize), places.load(child as usize + 1));
            let bin = sort.sorted().load(from as usize) & self.bin_mask();
            let written = SkeletonNode { begin: begin + from, end: begin + to, parent: node, coordinates: 0 };
            self.write_child(height, first + child, bin, written);
        });
        (thread::index() == 0 && height > 1).then(|| BinningWork::found_children(height - 1, first, count))
    }

    /// The bits of a bin.
    #[device]
    fn bin_mask(&self) -> u32 {
        (1 << (2 * self.entries.d_log2)) - 1
    }

    /// Sorts entries by bins, stably and in place, and leaves the bins in the memory of the sort.
    #[device(track_caller)]
    fn sort_tile(&self, begin: u32, len: u32, height: u32) {
        let entries = self.entries.own();
        let mut bins = [0; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            // Places after the last entry come last.
            bins[item] = self.bin_mask();
            if place < len as usize {
                bins[item] = self.entries.bin(entries.positions.load(begin as usize + place), height);
            }
        }
        let before = self.memory.sort.sort_permutation(&mut bins, 2 * self.entries.d_log2);
        let (mut positions, mut sources) = ([0; ITEMS], [0; ITEMS]);
        for item in 0..ITEMS {
            if warp_striped::<ITEMS>(item) < len as usize {
                let from = begin as usize + before[item] as usize;
                (positions[item], sources[item]) = (entries.positions.load(from), entries.sources.load(from));
            }
        }
        // All threads have loaded before one stores.
        thread::barrier();
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            if place < len as usize {
                entries.positions.store(begin as usize + place, positions[item]);
                entries.sources.store(begin as usize + place, sources[item]);
            }
        }
    }

    /// Writes the place of each bin's first entry, for the bins that have entries, in order. Returns their number. The block
    /// needs a barrier before it reads them.
    #[device(track_caller)]
    fn list_bins(&self, len: u32) -> u32 {
        let BinningMemory { sort, places, scan, .. } = self.memory;
        let start = thread::index() * ITEMS as u32;
        let bin = |place: u32| sort.sorted().load(place as usize) & self.bin_mask();
        let mut before = if start > 0 { bin(start - 1) } else { 0 };
        let mut firsts = 0;
        for item in 0..ITEMS {
            let own = bin(start + item as u32);
            let is_first = start + (item as u32) < len && (start + item as u32 == 0 || own != before);
            firsts |= u32::from(is_first) << item;
            before = own;
        }
        let counted = scan.exclusive(firsts.count_ones());
        let mut at = counted.before;
        for item in 0..ITEMS {
            if firsts >> item & 1 != 0 {
                places.store(at as usize, start + item as u32);
                at += 1;
            }
        }
        counted.total
    }
}
