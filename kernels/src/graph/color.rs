//! Greedy colors of vertices, in the order of priorities (Jones, Plassmann, "A parallel graph coloring heuristic", 1993).

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use crate::block::waiting::{Turn, TURN_WORDS};
use crate::{GlobalPattern, Offset};

/// Minimum number of entries of a vertex that a whole block colors.
const LONG: u64 = 1024;
/// Colors that are looked at together.
const WINDOW: u32 = 32;

/// Returns the priority of a vertex, which is another number for each: vertices with smaller ones are colored first. A mix of all bits
/// (the 32-bit finalizer of Appleby, *`MurmurHash3`*, 2011).
#[device]
pub fn color_priority(vertex: u32) -> u32 {
    let mixed = (vertex ^ vertex >> 16).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 16
}

kernel! {
    /// Writes the priority of each vertex: one thread per vertex.
    pub struct ColorPriorities {
        /// Output: the priorities.
        pub priorities: GlobalMut<u32>,
        /// Vertices.
        pub len: u32,
    }
    shared: 0;
    body: ColorPriorities::write::<BLOCK>;
    entry: graph_color_priorities in graph_color: 256 x 1;
}

impl ColorPriorities {
    #[device]
    fn write<const BLOCK: usize>(self, _: Arena) {
        let vertex = thread::global_index::<BLOCK>();
        if vertex < self.len as usize {
            self.priorities.store(vertex, color_priority(vertex as u32));
        }
    }
}

kernel! {
    /// Gives each vertex the least color that none of its neighbors with smaller priorities has. Vertices wait for these neighbors; a
    /// warp has one, or a block one of many.
    pub struct ColorVertices<O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// The vertices in the order of their priorities.
        pub order: Global<u32>,
        /// One more than the color of each vertex; zero before.
        pub marks: GlobalMut<u32>,
        /// Output: the colors.
        pub colors: GlobalMut<u32>,
        /// Output, zero before: number of colors.
        pub count: GlobalMut<u32>,
        /// One word, zero before.
        pub drawn: GlobalMut<u64>,
    }
    shared: (TURN_WORDS + BLOCK / 32) * 4;
    body: ColorVertices::color::<BLOCK>;
    entry: graph_color_vertices_{O} in graph_color: O in [u32, u64], 128 x 1;
}

impl<O: Offset> ColorVertices<O> {
    #[device]
    fn color<const BLOCK: usize>(self, mut arena: Arena) {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let warps = BLOCK / thread::WARP_SIZE as usize;
        let masks = arena.take(warps);
        let begin = turn.ticket as usize * warps;
        let end = (self.pattern.rows as usize).min(begin + warps);
        let mut at = begin;
        while at < end {
            if self.is_long(at) {
                self.by_block(self.order.load(at), masks);
                at += 1;
                continue;
            }
            // The vertices up to the next of the block, which may wait for them, and which others after it may need.
            let mut short = at + 1;
            while short < end && !self.is_long(short) {
                short += 1;
            }
            let own = at + thread::warp() as usize;
            if own < short {
                self.by_warp(self.order.load(own));
            }
            thread::barrier();
            at = short;
        }
    }

    /// Returns whether the vertex with a place in the order has very many neighbors.
    #[device]
    fn is_long(self, place: usize) -> bool {
        self.pattern.row_len(self.order.load(place) as usize) >= LONG
    }

    #[device]
    fn by_warp(self, vertex: u32) {
        let mut first = 0;
        loop {
            let taken = self.taken(vertex, first, (0, thread::WARP_SIZE as usize));
            if taken != u32::MAX {
                self.store(vertex, first, taken);
                return;
            }
            first += WINDOW;
        }
    }

    /// Colors a vertex by all threads of the block. `masks` has a word for each warp.
    #[device]
    fn by_block(self, vertex: u32, masks: Shared<u32>) {
        let (warp, warps) = (thread::warp() as usize, masks.len());
        let size = thread::WARP_SIZE as usize;
        let mut first = 0;
        loop {
            let own = self.taken(vertex, first, (warp * size, warps * size));
            if thread::lane() == 0 {
                masks.store(warp, own);
            }
            thread::barrier();
            let mut taken = 0;
            let mut at = 0;
            while at < warps {
                taken |= masks.load(at);
                at += 1;
            }
            thread::barrier();
            if taken != u32::MAX {
                if warp == 0 {
                    self.store(vertex, first, taken);
                }
                return;
            }
            first += WINDOW;
        }
    }

    /// Returns the colors from `first` on that neighbors with smaller priorities have, one bit each. The warp looks at the entries from
    /// `start` of each `step`.
    #[device]
    fn taken(self, vertex: u32, first: u32, (start, step): (usize, usize)) -> u32 {
        let priority = color_priority(vertex);
        let (begin, end) = self.pattern.row_bounds(vertex as usize);
        let mut taken = 0;
        let mut at = begin + start;
        while at < end {
            let entry = at + thread::lane() as usize;
            let neighbor = self.pattern.column_indices.load_if(entry, entry < end);
            // Not of the vertex itself either.
            let counts = entry < end && color_priority(neighbor) < priority;
            let mut mark = 1;
            loop {
                if counts {
                    mark = self.marks.atomic_load(neighbor as usize, Ordering::Relaxed, Scope::Device);
                }
                if warp::all(warp::FULL, mark != 0) {
                    break;
                }
                thread::spin_hint();
            }
            let color = mark - 1;
            if counts && color >= first && color - first < WINDOW {
                taken |= 1 << (color - first);
            }
            at += step;
        }
        warp::reduce(taken, |a, b| a | b)
    }

    /// Stores the least color from `first` on that is not taken: for all lanes of a warp.
    #[device]
    fn store(self, vertex: u32, first: u32, taken: u32) {
        if thread::lane() > 0 {
            return;
        }
        let color = first + (!taken).trailing_zeros();
        self.colors.store(vertex as usize, color);
        self.count.fetch_max(0, color + 1, Ordering::Relaxed, Scope::Device);
        self.marks.atomic_store(vertex as usize, color + 1, Ordering::Relaxed, Scope::Device);
    }
}
