//! `C = αAB + βC` with dense B and C, by the frozen schedule: one warp a strip and 32 columns of C, a column a lane.
//!
//! A lane has its own sums, in shared memory. The entries of a leaf are loaded 32 at a time, and then passed round.

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::layout::{self, DENSE};
use super::schedule::{ListedLeaf, ListedPart, QUAD};
use super::{Node, Pool};
use crate::update::update;

kernel! {
    /// `C = αAB + βC`: one warp a strip and 32 columns of C, strips first. Sums take [`spmm_sums_bytes`] of launch-sized
    /// shared memory.
    pub struct HiSparseSpmm<V: Float> {
        /// The pool, as words.
        pub words: Global<u32>,
        /// The same, as coordinates.
        pub coordinates: Global<u16>,
        /// The same, as values.
        pub values: Global<V>,
        /// The dense operand.
        pub b: Global<V>,
        /// The result; read only where `beta` is not zero.
        pub c: GlobalMut<V>,
        /// Two words a leaf, of `ListedLeaf`.
        pub leaf_list: Global<u64>,
        /// Two words a part, of `ListedPart`, and two for the end.
        pub part_list: Global<u64>,
        /// The first part of each strip, and the number of parts at the end.
        pub strip_parts: Global<u32>,
        /// Strips.
        pub strips: u32,
        /// Rows of C.
        pub rows: u64,
        /// Columns of B and C.
        pub columns: u32,
        /// Elements from a row of B to the next.
        pub b_row_stride: u64,
        /// Elements from a column of B to the next.
        pub b_column_stride: u64,
        /// Elements from a row of C to the next.
        pub c_row_stride: u64,
        /// Elements from a column of C to the next.
        pub c_column_stride: u64,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
        /// 1 where the matrix is the transpose of its content, else 0.
        pub is_transposed: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what C held.
        pub beta: V,
    }
    shared: 0;
    body: HiSparseSpmm::spmm;
    entries: {
        hisparse_spmm_f32 in hisparse_spmm: <V = f32>, 32 x 1;
        hisparse_spmm_f64 in hisparse_spmm: <V = f64>, 32 x 1;
    }
}

/// Bytes of launch-sized shared memory of the sums of a strip and 32 columns.
pub const fn spmm_sums_bytes(d_log2: u32, size: u32) -> u32 {
    (size * thread::WARP_SIZE) << d_log2
}

/// What a lane adds products to, and multiplies with.
#[derive(Clone, Copy)]
struct Column<V> {
    sums: Shared<V>,
    /// Of this lane's column, if it has one.
    b: Global<V>,
    b_row_stride: usize,
    is_inside: bool,
    d_log2: u32,
    is_transposed: bool,
}

impl<V: Float> Column<V> {
    /// Adds the products of a leaf, whose part of B begins with row `first_row`.
    #[inline(always)]
    fn add_leaf(self, node: Node<V>, is_dense: bool, first_row: usize) {
        let mut base = 0;
        while base < node.len {
            let slot = base + thread::lane();
            let (mut value, mut coordinates) = (V::ZERO, 0);
            let mut is_present = slot < node.len;
            if is_present {
                value = node.slots.load(slot as usize);
                coordinates = if is_dense {
                    layout::pack(slot >> self.d_log2, slot & ((1 << self.d_log2) - 1))
                } else {
                    u32::from(node.coordinates.load(slot as usize))
                };
                is_present = !is_dense || value.to_bits() != 0;
            }
            let mut present = warp::ballot(warp::FULL, is_present);
            while present != 0 {
                let lane = present.trailing_zeros();
                present &= present - 1;
                let (row, col) = layout::unpack(warp::shuffle(warp::FULL, coordinates, lane));
                let factor = warp::shuffle(warp::FULL, value, lane);
                let (place, operand) = if self.is_transposed { (col, row) } else { (row, col) };
                if self.is_inside {
                    let b = self.b.load((first_row + operand as usize) * self.b_row_stride);
                    let place = (place * thread::WARP_SIZE + thread::lane()) as usize;
                    self.sums.store(place, factor.fma(b, self.sums.load(place)));
                }
            }
            base += thread::WARP_SIZE;
        }
    }
}

impl<V: Float> HiSparseSpmm<V> {
    #[inline(always)]
    fn spmm(self, _: Arena) {
        let strip = thread::block() % self.strips;
        let column = thread::block() / self.strips * thread::WARP_SIZE + thread::lane();
        let has_column = column < self.columns;
        let d = 1 << self.d_log2;
        let mut arena = Arena::dynamic(spmm_sums_bytes(self.d_log2, V::SIZE as u32));
        let sums = arena.take::<V>((d * thread::WARP_SIZE) as usize);
        for place in 0..d {
            sums.store((place * thread::WARP_SIZE + thread::lane()) as usize, V::ZERO);
        }
        let lane_column = Column {
            sums,
            b: self.b.skip(if has_column { column as usize * self.b_column_stride as usize } else { 0 }),
            b_row_stride: self.b_row_stride as usize,
            is_inside: has_column,
            d_log2: self.d_log2,
            is_transposed: self.is_transposed != 0,
        };
        let pool = Pool { words: self.words, coordinates: self.coordinates, slots: self.values };
        let begin_part =
            ListedPart::unpack(self.part_list.load_16(2 * self.strip_parts.load(strip as usize) as usize));
        let end = self.part_list.load(2 * self.strip_parts.load(strip as usize + 1) as usize);
        let (mut quad, mut index) = (begin_part.begin, begin_part.leaf as usize);
        while quad < end {
            let leaf = ListedLeaf::unpack(self.leaf_list.load_16(2 * index));
            let is_dense = layout::kind(leaf.reference) == DENSE;
            let first_row = (leaf.operand as usize) << self.d_log2;
            lane_column.add_leaf(pool.node(leaf.reference, self.d_log2), is_dense, first_row);
            quad += u64::from(leaf.count.div_ceil(QUAD));
            index += 1;
        }
        for place in 0..d {
            let row = (strip as usize) << self.d_log2 | place as usize;
            if has_column && (row as u64) < self.rows {
                let sum = sums.load((place * thread::WARP_SIZE + thread::lane()) as usize);
                let at = row * self.c_row_stride as usize + column as usize * self.c_column_stride as usize;
                update(self.c, at, self.alpha, sum, self.beta);
            }
        }
    }
}
