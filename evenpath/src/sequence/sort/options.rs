//! Options of sorts.

use std::ops::Range;

use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};
use evenpath_simt::Element as _;

use crate::keys::{Comparison, SortKey};
use crate::names::named;
use crate::operand::OpError;

/// Order of sorted keys.
///
/// ```
/// use evenpath::sort::{self, SortOptions, SortOrder};
/// use evenpath::Device;
///
/// let keys = Device::cpu().upload(&[2_u32, 9, 4])?;
/// let descending = SortOptions::default().with_order(SortOrder::Descending);
/// assert_eq!(sort::keys(&keys, descending)?.download()?, [9, 4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SortOrder {
    /// The smallest first.
    #[default]
    Ascending,
    /// The largest first. Equal keys keep their order.
    Descending,
}

named! {
    SortOrder, "sort order":
    Ascending = "ascending",
    Descending = "descending",
}

/// Options of sorting.
///
/// ```
/// use evenpath::sort::{SortOptions, SortOrder};
///
/// let options = SortOptions::default().with_order(SortOrder::Descending).with_bits(0..8);
/// assert_eq!((options.order, options.bits), (SortOrder::Descending, Some((0, 8))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct SortOptions {
    /// The order; ascending by default.
    pub order: SortOrder,
    /// The bits by which keys are compared, from the first number to one below the second; all of them by
    /// default. Time grows with their number, eight at a time. For signed integers and floats these are bits
    /// of the unsigned integer that has the key's order, so the highest one is the sign.
    pub bits: Option<(u32, u32)>,
}

impl SortOptions {
    /// Sets the order.
    #[must_use]
    pub fn with_order(self, order: SortOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets the bits, of which the lowest is 0. An empty range leaves the keys as they are.
    #[must_use]
    pub fn with_bits(self, bits: Range<u32>) -> Self {
        Self { bits: Some((bits.start, bits.end)), ..self }
    }

    /// Order and bits for keys of type `K`.
    pub(super) fn resolve<K: SortKey>(self) -> Result<Comparison<K::Bits>, OpError> {
        let width = K::Bits::BITS;
        let (begin, end) = self.bits.unwrap_or((0, width));
        if begin > end || end > width {
            return Err(OpError::BitRange { begin, end, width });
        }
        let KeyOrder { flip_negative, flip } = K::ORDER;
        let flip = match self.order {
            SortOrder::Ascending => flip,
            SortOrder::Descending => K::Bits::from_bits(!flip.to_bits()),
        };
        Ok(Comparison { order: KeyOrder { flip_negative, flip }, begin, end })
    }
}

/// Number of bits of indices below `len`.
pub(crate) fn index_bits(len: usize) -> u32 {
    usize::BITS - len.saturating_sub(1).leading_zeros()
}
