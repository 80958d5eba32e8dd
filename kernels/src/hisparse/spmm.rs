//! `C = αAB + βC` with dense B and C, by the frozen schedule: one warp per strip and 32 columns of C, one column per lane.
//!
//! A lane has its own sums, in shared memory. The entries of a leaf are loaded 32 at a time and passed around by shuffles.

use evenpath_simt::{
    device, kernel, parameters, thread, warp, Arena, Float, Global, GlobalMut, Shared, Word,
};

use super::layout::{self, DENSE};
use super::schedule::{FrozenSchedule, ListedLeaf, ListedPart, QUAD};
use super::{Node, Pool};
use crate::update::Update;

parameters! {
    /// A dense matrix with strides.
    pub struct StridedDense<V: Word> {
        /// The elements.
        pub values: Global<V>,
        /// Elements from one row to the next.
        pub row_stride: u64,
        /// Elements from one column to the next.
        pub column_stride: u64,
    }
}

parameters! {
    /// A dense matrix with strides, to be written.
    pub struct StridedMut<V: Word> {
        /// The elements.
        pub values: GlobalMut<V>,
        /// Elements from one row to the next.
        pub row_stride: u64,
        /// Elements from one column to the next.
        pub column_stride: u64,
    }
}

kernel! {
    /// `C = αAB + βC`: one warp per strip and 32 columns of C, strips first. Sums take [`spmm_sums_bytes`] of launch-sized
    /// shared memory.
    pub struct HiSparseSpmm<V: Float> {
        /// The tree's pool.
        pub pool: Pool<V>,
        /// The schedule.
        pub schedule: FrozenSchedule,
        /// The dense operand.
        pub b: StridedDense<V>,
        /// The result; read only if `beta` is not zero.
        pub c: StridedMut<V>,
        /// Rows of C.
        pub rows: u64,
        /// Columns of B and C.
        pub columns: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// 1 if the matrix is the transpose of its content, else 0.
        pub is_transposed: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of the previous C.
        pub beta: V,
    }
    shared: 0;
    body: HiSparseSpmm::spmm;
    entry: hisparse_spmm_{V} in hisparse_spmm: V in [f32, f64], 32 x 1;
}

/// Bytes of launch-sized shared memory for the sums of a strip and 32 columns.
pub const fn spmm_sums_bytes(d_log2: u32, size: u32) -> u32 {
    (size * thread::WARP_SIZE) << d_log2
}

/// A lane's column of B, and its sums.
#[derive(Clone, Copy)]
struct Column<V> {
    sums: Shared<V>,
    /// The lane's column of B, if it has one.
    b: Global<V>,
    b_row_stride: usize,
    is_inside: bool,
    d_log2: u32,
    is_transposed: bool,
}

impl<V: Float> Column<V> {
    /// Adds the products of a leaf, whose segment of B begins at row `first_row`.
    #[device]
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
    #[device]
    fn spmm(self, _: Arena) {
        // 1. Clear the sums of the warp's strip and columns.
        let FrozenSchedule { leaf_list, part_list, strip_parts, strips, .. } = self.schedule;
        let strip = thread::block() % strips;
        let column = thread::block() / strips * thread::WARP_SIZE + thread::lane();
        let has_column = column < self.columns;
        let d = 1 << self.d_log2;
        let mut arena = Arena::dynamic(spmm_sums_bytes(self.d_log2, V::SIZE as u32));
        let sums = arena.take::<V>((d * thread::WARP_SIZE) as usize);
        for place in 0..d {
            sums.store((place * thread::WARP_SIZE + thread::lane()) as usize, V::ZERO);
        }
        let lane_column = Column {
            sums,
            b: self.b.values.skip(if has_column {
                column as usize * self.b.column_stride as usize
            } else {
                0
            }),
            b_row_stride: self.b.row_stride as usize,
            is_inside: has_column,
            d_log2: self.d_log2,
            is_transposed: self.is_transposed != 0,
        };
        // 2. Add the products of the strip's leaves.
        let begin_part = ListedPart::unpack(part_list.load_16(2 * strip_parts.load(strip as usize) as usize));
        let end = part_list.load(2 * strip_parts.load(strip as usize + 1) as usize);
        let (mut quad, mut index) = (begin_part.begin, begin_part.leaf as usize);
        while quad < end {
            let leaf = ListedLeaf::unpack(leaf_list.load_16(2 * index));
            let is_dense = layout::kind(leaf.reference) == DENSE;
            let first_row = (leaf.operand as usize) << self.d_log2;
            lane_column.add_leaf(self.pool.node(leaf.reference, self.d_log2), is_dense, first_row);
            quad += u64::from(leaf.count.div_ceil(QUAD));
            index += 1;
        }
        // 3. Update C.
        let update = Update { y: self.c.values, alpha: self.alpha, beta: self.beta };
        for place in 0..d {
            let row = (strip as usize) << self.d_log2 | place as usize;
            if has_column && (row as u64) < self.rows {
                let sum = sums.load((place * thread::WARP_SIZE + thread::lane()) as usize);
                let at = row * self.c.row_stride as usize + column as usize * self.c.column_stride as usize;
                update.store(at, sum);
            }
        }
    }
}
