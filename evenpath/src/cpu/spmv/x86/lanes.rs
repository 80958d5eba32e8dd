//! The vector operations that sums of rows need, for each type.
//!
//! Elements of x are loaded one by one: on the processors where AVX2 is used, that is faster than a gather. The products of
//! a row's last, partial group are computed for all lanes and then masked. A masked load would be slower where it misses
//! the cache, and a loop over single elements would cost a branch misprediction per row.

mod f32;
mod f64;

use crate::Value;

/// Maximum number of lanes of [`Lanes::Wide`].
pub(in super::super) const MOST_LANES: usize = 8;

/// The operations, on a vector of 256 bits and on four lanes. `columns` points to as many column indices as
/// the vector has lanes, `values` to as many values.
///
/// # Safety
/// The machine has AVX2 and FMA. Every pointer is to as many elements as the vector has lanes, or as the function says, and
/// every column that is read is below the length of `x`.
pub(in super::super) trait Lanes: Value {
    /// 256 bits.
    type Wide: Copy;
    /// Four lanes.
    type Quad: Copy;

    /// Number of lanes of `Wide`.
    const WIDE: usize;

    unsafe fn zero_wide() -> Self::Wide;
    /// All lanes equal.
    unsafe fn splat(value: Self) -> Self::Wide;
    unsafe fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    unsafe fn multiply_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    unsafe fn load_wide(from: *const Self) -> Self::Wide;
    /// The elements of x in these columns.
    unsafe fn pick_wide(columns: *const u32, x: *const Self) -> Self::Wide;
    /// The elements of x in every `stride`th of these columns, one per lane.
    unsafe fn pick_strided(columns: *const u32, stride: usize, x: *const Self) -> Self::Wide;
    /// `values * x + sum`, rounded once.
    unsafe fn multiply_add_wide(values: Self::Wide, x: Self::Wide, sum: Self::Wide) -> Self::Wide;
    /// The products of as many rows of at most one nonzero as there are lanes; zero for empty rows. `offsets` points to one
    /// more offset than rows, and `products` starts with that at the first.
    unsafe fn expand(products: Self::Wide, offsets: *const u32) -> Self::Wide;
    /// One element of each of as many rows as there are lanes; rows are `stride` elements apart.
    unsafe fn strided(first: *const Self, stride: usize) -> Self::Wide;
    /// The first four elements of each of these rows, by column.
    unsafe fn transposed(first: *const Self, stride: usize) -> [Self::Wide; 4];
    unsafe fn store_wide(wide: Self::Wide, to: *mut Self);
    /// Returns whether the columns are consecutive.
    unsafe fn are_consecutive(columns: *const u32) -> bool;
    /// Adds lanes until there are four.
    unsafe fn fold(wide: Self::Wide) -> Self::Quad;

    unsafe fn zero() -> Self::Quad;
    unsafe fn add_quads(a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// The elements of x in these columns.
    unsafe fn pick(columns: *const u32, x: *const Self) -> Self::Quad;
    /// `values * x + sum`, rounded once.
    unsafe fn multiply_add(values: *const Self, x: Self::Quad, sum: Self::Quad) -> Self::Quad;
    /// The first `count` products, at most four, and zeros.
    unsafe fn products(values: *const Self, x: Self::Quad, count: usize) -> Self::Quad;
    /// The sum of the lanes.
    unsafe fn total(lanes: Self::Quad) -> Self;
    /// The sums of the lanes of each.
    unsafe fn totals(rows: [Self::Quad; 4]) -> [Self; 4];
}

/// The 4 elements starting at index 4 - n mask the first n lanes.
static MASK_32: [i32; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
/// The same for lanes of 64 bits.
static MASK_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// The element of x in column `at`.
#[inline]
unsafe fn pick<V: Copy>(columns: *const u32, at: usize, x: *const V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { *x.add(*columns.add(at) as usize) }
}
