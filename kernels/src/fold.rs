//! Reductions of a vector to one number: sums, and the least or greatest element with its index.

use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut};

use crate::block::reduce::BlockReduce;
use crate::elementary::Elementary;

/// Elements that a thread loads before it combines any.
const IN_FLIGHT: usize = 4;

kernel! {
    /// Partial sums of x: block b adds up tiles b, b + grid, b + 2 × grid, … `vector::FinishDot` adds up the blocks' sums.
    pub struct SumElements<V: Elementary> {
        /// The vector.
        pub x: Global<V>,
        /// Output: one sum per block.
        pub sums: GlobalMut<V>,
        /// Elements of the vector.
        pub len: u64,
        /// One to add up absolute values; otherwise zero.
        pub is_absolute: u32,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: SumElements::sum_elements::<BLOCK>;
    entry: fold_sum_{V} in fold_{V}: V in [f32, f64], 256 x 4;
}

impl<V: Elementary> SumElements<V> {
    #[device]
    fn sum_elements<const BLOCK: usize>(self, mut arena: Arena) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * IN_FLIGHT);
        let mut first = thread::block() as usize * BLOCK * IN_FLIGHT + thread::index() as usize;
        let mut sum = V::ZERO;
        while first < len {
            let mut values = [V::ZERO; IN_FLIGHT];
            for item in 0..IN_FLIGHT {
                let index = first + item * BLOCK;
                values[item] = self.x.load_if(index, index < len);
            }
            for item in 0..IN_FLIGHT {
                sum += if self.is_absolute != 0 { values[item].magnitude() } else { values[item] };
            }
            first += stride;
        }
        reduce.share(sum, |a, b| a + b);
        if thread::index() == 0 {
            self.sums.store(thread::block() as usize, reduce.total(|a, b| a + b));
        }
    }
}

/// The element that is searched for. The code of a kernel's parameter is the variant's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The greatest absolute value.
    AbsMax,
}

/// Key of no element: that of NaN too, and of an absolute value of zero in `f64`.
pub const NO_KEY: u64 = u64::MAX;

impl Extreme {
    /// Returns the code of a kernel's parameter.
    pub const fn code(self) -> u32 {
        match self {
            Self::Min => 0,
            Self::Max => 1,
            Self::AbsMax => 2,
        }
    }

    #[device]
    const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::Min,
            1 => Self::Max,
            _ => Self::AbsMax,
        }
    }

    /// Returns a key of an element: the element searched for has the least. −0 is less than 0. NaN has [`NO_KEY`] in searches
    /// for the least and the greatest, and zero in that for absolute values.
    #[device]
    pub fn key<V: Elementary>(self, value: V) -> u64 {
        let (mask, sign) = (mask::<V>(), mask::<V>() ^ (mask::<V>() >> 1));
        let bits = value.to_bits();
        let magnitude = bits & !sign;
        if magnitude > V::INFINITE.to_bits() {
            return if self == Self::AbsMax { 0 } else { NO_KEY };
        }
        let ascending = if bits & sign == 0 { bits | sign } else { !bits & mask };
        match self {
            Self::Min => ascending,
            Self::Max => !ascending & mask,
            Self::AbsMax => !magnitude & mask,
        }
    }

    /// Returns the element of a key: for [`NO_KEY`] ∞, −∞ or zero.
    #[device]
    pub fn value<V: Elementary>(self, key: u64) -> V {
        let (mask, sign) = (mask::<V>(), mask::<V>() ^ (mask::<V>() >> 1));
        if key == 0 {
            return V::NOT_A_NUMBER;
        }
        if key == NO_KEY {
            return match self {
                Self::Min => V::INFINITE,
                Self::Max => V::INFINITE.negated(),
                Self::AbsMax => V::ZERO,
            };
        }
        let ascending = match self {
            Self::Min => key,
            Self::Max => !key & mask,
            Self::AbsMax => return V::from_bits(!key & mask),
        };
        V::from_bits(if ascending & sign == 0 { !ascending & mask } else { ascending & !sign })
    }
}

/// The bits of an element.
#[device]
fn mask<V: Element>() -> u64 {
    u64::MAX >> (64 - 8 * V::SIZE)
}

/// The least key of a block, with the least index that has it, in the first thread. Every thread calls it.
#[device(track_caller)]
fn least<const BLOCK: usize>(arena: &mut Arena, key: u64, index: u64) -> (u64, u64) {
    let keys = BlockReduce::<u64, BLOCK>::take(arena);
    let indices = BlockReduce::<u64, BLOCK>::take(arena);
    keys.share(key, u64::min);
    let best = keys.total(u64::min);
    indices.share(if key == best { index } else { u64::MAX }, u64::min);
    (best, indices.total(u64::min))
}

kernel! {
    /// The extreme element of each block's part of x: block b has tiles b, b + grid, b + 2 × grid, …
    pub struct ExtremeElements<V: Elementary> {
        /// The vector.
        pub x: Global<V>,
        /// Output: a key per block.
        pub keys: GlobalMut<u64>,
        /// Output: an index per block.
        pub indices: GlobalMut<u64>,
        /// Elements of the vector.
        pub len: u64,
        /// Code of the [`Extreme`].
        pub extreme: u32,
    }
    shared: 2 * BlockReduce::<u64, BLOCK>::BYTES;
    body: ExtremeElements::extreme_elements::<BLOCK>;
    entry: fold_extreme_{V} in fold_{V}: V in [f32, f64], 256 x 4;
}

impl<V: Elementary> ExtremeElements<V> {
    #[device]
    fn extreme_elements<const BLOCK: usize>(self, mut arena: Arena) {
        let extreme = Extreme::from_code(self.extreme);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * IN_FLIGHT);
        let mut first = thread::block() as usize * BLOCK * IN_FLIGHT + thread::index() as usize;
        let (mut key, mut at) = (NO_KEY, u64::MAX);
        while first < len {
            let mut values = [V::ZERO; IN_FLIGHT];
            for item in 0..IN_FLIGHT {
                let index = first + item * BLOCK;
                values[item] = self.x.load_if(index, index < len);
            }
            for item in 0..IN_FLIGHT {
                let index = first + item * BLOCK;
                let own = extreme.key(values[item]);
                // A thread's indices ascend, so the first of equal keys stays.
                if index < len && own < key {
                    (key, at) = (own, index as u64);
                }
            }
            first += stride;
        }
        let (key, at) = least::<BLOCK>(&mut arena, key, at);
        if thread::index() == 0 {
            self.keys.store(thread::block() as usize, key);
            self.indices.store(thread::block() as usize, at);
        }
    }
}

kernel! {
    /// The extreme element of what the blocks of [`ExtremeElements`] found: one block.
    pub struct FinishExtreme<V: Elementary> {
        /// The keys of the blocks.
        pub keys: Global<u64>,
        /// The indices of the blocks.
        pub indices: Global<u64>,
        /// Output: one element.
        pub value: GlobalMut<V>,
        /// Output: its index, except for absolute values; 2⁶⁴ − 1 if there is none.
        pub index: GlobalMut<u64>,
        /// Number of blocks.
        pub count: u32,
        /// Code of the [`Extreme`].
        pub extreme: u32,
    }
    shared: 2 * BlockReduce::<u64, BLOCK>::BYTES;
    body: FinishExtreme::finish::<BLOCK, ITEMS>;
    entry: fold_finish_extreme_{V} in fold_{V}: V in [f32, f64], 256 x 4;
}

impl<V: Elementary> FinishExtreme<V> {
    #[device]
    fn finish<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let (mut key, mut at) = (NO_KEY, u64::MAX);
        for item in 0..ITEMS {
            let block = item * BLOCK + thread::index() as usize;
            if block < self.count as usize {
                let (own, index) = (self.keys.load(block), self.indices.load(block));
                if own < key || own == key && index < at {
                    (key, at) = (own, index);
                }
            }
        }
        let (key, at) = least::<BLOCK>(&mut arena, key, at);
        if thread::index() == 0 {
            self.value.store(0, Extreme::from_code(self.extreme).value(key));
            self.index.store(0, at);
        }
    }
}
