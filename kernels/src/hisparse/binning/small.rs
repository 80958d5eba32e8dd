//! Bins nodes of few entries: one by a thread, up to 32 by a warp.

use evenpath_simt::{device, thread, warp};

use super::binner::Binner;
use super::skeleton::SkeletonNode;
use super::work::BinningWork;
use crate::hisparse::queue::FoundElement;

impl Binner {
    /// Makes all nodes below one that has a single entry, if `is_single`. All lanes of a warp call it together.
    #[device(track_caller)]
    pub(super) fn bin_by_thread(&mut self, is_single: bool, node: u32, mut height: u32, entry: u32) {
        let (inner, leaves) = if is_single { (height - 1, 1) } else { (0, 0) };
        let first = self.skeleton.make_by_warp(1, inner);
        let leaf = self.skeleton.make_by_warp(0, leaves);
        if !is_single {
            return;
        }
        let position = self.entries.positions.load(entry as usize);
        let (mut parent, mut next) = (node, first);
        while height > 0 {
            let child = if height == 1 { leaf } else { next };
            self.skeleton.set_children(parent, child, 1);
            self.add_units(height, 1);
            let bin = self.entries.bin(position, height);
            let written = SkeletonNode { begin: entry, end: entry + 1, parent, coordinates: 0 };
            self.write_child(height, child, bin, written);
            (parent, next) = (child, next + 1);
            height -= 1;
        }
    }

    /// Bins a node of each warp, whose entries are at most as many as its lanes. Lane 0 finds the children.
    #[device(track_caller)]
    pub(super) fn bin_by_warp(&mut self, work: Option<BinningWork>) -> Option<FoundElement<BinningWork>> {
        // The lanes of a warp have the same node, or none.
        let BinningWork { node, height, .. } = work?;
        let (begin, end) = self.skeleton.extent(height, node);
        let (lane, len) = (thread::lane(), end - begin);
        let own = (begin + lane) as usize;
        let is_entry = lane < len;
        let (mut position, mut source, mut bin) = (0, 0, u32::MAX);
        if is_entry {
            (position, source) = (self.entries.positions.load(own), self.entries.sources.load(own));
            bin = self.entries.bin(position, height);
        }
        // 1. Rank the entries, stably.
        let same = warp::match_any(warp::FULL, bin);
        let is_first = is_entry && warp::count_below(same) == 0;
        let firsts = warp::ballot(warp::FULL, is_first);
        let (mut before, mut bins_before) = (0, 0);
        for other in 0..thread::WARP_SIZE {
            let is_before = warp::shuffle(warp::FULL, bin, other) < bin;
            before += u32::from(is_before);
            bins_before += u32::from(is_before) & firsts >> other;
        }
        // 2. Put the entries in place, once all lanes have loaded theirs.
        warp::sync(warp::FULL);
        if is_entry {
            let place = (begin + before + warp::count_below(same)) as usize;
            self.entries.positions.store(place, position);
            self.entries.sources.store(place, source);
        }
        // 3. Make the children.
        let count = firsts.count_ones();
        let mut first = 0;
        if lane == 0 {
            first = self.skeleton.make(height - 1, count);
            self.skeleton.set_children(node, first, count);
            self.add_units(height, count);
        }
        first = warp::shuffle(warp::FULL, first, 0);
        if is_first {
            let begin = begin + before;
            let end = begin + same.count_ones();
            let written = SkeletonNode { begin, end, parent: node, coordinates: 0 };
            self.write_child(height, first + bins_before, bin, written);
        }
        (lane == 0 && height > 1).then(|| BinningWork::found_children(height - 1, first, count))
    }
}
