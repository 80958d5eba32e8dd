//! Vector instructions that sort columns. They do not change results.

use crate::Scalar;

/// Number of flags in a group.
pub(super) const FLAGS: usize = 64;

/// Instructions that sort columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortInstructions {
    /// Instructions that every machine has.
    Portable,
    /// AVX2, BMI 1 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW and VL.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// `Avx512` and VBMI2.
    #[cfg(target_arch = "x86_64")]
    Avx512Bytes,
}

impl SortInstructions {
    /// Lists the instructions of this machine, the fastest last.
    pub(super) fn of_machine() -> Vec<Self> {
        let mut usable = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
        {
            usable.push(Self::Avx2);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            usable.push(Self::Avx512);
            usable.extend(is_x86_feature_detected!("avx512vbmi2").then_some(Self::Avx512Bytes));
        }
        usable
    }

    /// Returns the fastest of them.
    pub(super) fn fastest() -> Self {
        Self::of_machine().pop().unwrap_or(Self::Portable)
    }
}

/// Buffers to sort a row of C with few products by column.
pub(super) struct Sorter<V> {
    /// Distance of a product's column from the first, with its position in `products` in the lowest 8 bits.
    pub(super) keys: [u32; 2 * MOST_SORTED],
    // Registers of 16 are stored at any position, and up to the next power of two after the last.
    pub(super) products: [V; 2 * MOST_SORTED],
}

/// Maximum number of products that are sorted by vector instructions.
pub(super) const MOST_SORTED: usize = 256;

/// Bits in a key for a column's distance from the first.
pub(super) const DISTANCE_BITS: u32 = 24;

/// Bits in a key for a product's position.
#[cfg(target_arch = "x86_64")]
pub(super) const POSITION_BITS: u32 = 8;

impl<V: Scalar> Default for Sorter<V> {
    fn default() -> Self {
        Self { keys: [0; 2 * MOST_SORTED], products: [V::default(); 2 * MOST_SORTED] }
    }
}

/// Operations implemented by each instruction set.
///
/// # Safety of the functions
/// The machine has the instructions.
pub(super) trait Vectors {
    /// Cost of sorting few products by column, relative to AVX-512. `None` if unsupported.
    const SORT_COST: Option<usize>;

    /// Clears [`FLAGS`] flags and returns those that were set.
    unsafe fn take_bits(flags: &mut [u8; FLAGS]) -> u64;

    /// Clears [`FLAGS`] flags, of columns starting at `first`, and writes the columns of those that were set
    /// to `columns`, which has room for [`FLAGS`]. Returns their number.
    unsafe fn take_flags(flags: &mut [u8; FLAGS], first: u32, columns: &mut [u32]) -> usize;

    /// Adds the products of a number and a row of B after `before` earlier ones.
    unsafe fn add_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        before: usize,
        first: u32,
        left: V,
        row: (&[u32], &[V]),
    );

    /// Writes the columns of all products, ascending, and the sums of products in the order in which they
    /// were added. Returns the number of columns.
    unsafe fn sort_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        count: usize,
        first: u32,
        columns: &mut [u32],
        values: &mut [V],
    ) -> usize;
}

/// Instructions of every machine.
pub(super) struct PortableSort;

impl Vectors for PortableSort {
    const SORT_COST: Option<usize> = None;

    #[inline]
    unsafe fn take_bits(flags: &mut [u8; FLAGS]) -> u64 {
        let bits = bits_of(flags);
        flags.fill(0);
        bits
    }

    #[inline]
    unsafe fn take_flags(flags: &mut [u8; FLAGS], first: u32, columns: &mut [u32]) -> usize {
        let mut left = bits_of(flags);
        if left == 0 {
            return 0;
        }
        flags.fill(0);
        let count = left.count_ones() as usize;
        for column in &mut columns[..count] {
            *column = first + left.trailing_zeros();
            left &= left - 1;
        }
        count
    }

    unsafe fn add_products<V: Scalar>(_: &mut Sorter<V>, _: usize, _: u32, _: V, _: (&[u32], &[V])) {}

    unsafe fn sort_products<V: Scalar>(
        _: &mut Sorter<V>,
        _: usize,
        _: u32,
        _: &mut [u32],
        _: &mut [V],
    ) -> usize {
        0
    }
}

/// Packs [`FLAGS`] bytes that are 0 or 1 into bits.
#[inline]
fn bits_of(flags: &[u8]) -> u64 {
    // Multiplying by this collects the lowest bits of eight bytes in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bytes = flags.as_chunks::<8>().0.iter().enumerate();
    bytes.fold(0, |bits, (at, &eight)| {
        bits | (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (8 * at)
    })
}
