//! The Euclidean norm, whose squares neither overflow nor underflow.
//!
//! Squares are added up at three scales: of the elements as they are, of the elements times a small power of two, and
//! of the elements times a large one. The first sum is used unless it is so large or so small that squares were lost;
//! then one of the others has all of them (after Blue, "A portable Fortran program to find the Euclidean norm of a
//! vector", 1978, which sorts the elements by magnitude instead). Scaling by powers of two is exact, so the result is
//! that of plain squares if these are in range.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut};

use crate::block::reduce::BlockReduce;

/// Elements that a thread of [`Norm`] loads before it squares any.
const IN_FLIGHT: usize = 4;

/// The sums of a block, or of all.
pub const SUMS: usize = 3;

/// The scales of the sums.
pub trait NormScales: Float {
    /// A sum of plain squares below this may lack squares that underflowed.
    const LEAST: Self;
    /// The largest finite number: a larger sum overflowed.
    const MOST: Self;
    /// 1, the scale of plain squares.
    const PLAIN: Self;
    /// A power of two by which large elements are multiplied before they are squared, and its inverse.
    const LARGE: (Self, Self);
    /// A power of two by which small elements are multiplied before they are squared, and its inverse.
    const SMALL: (Self, Self);
}

macro_rules! norm_scales {
    ($($type:ident: least $least:literal, large $large:literal, small $small:literal;)*) => {$(
        impl NormScales for $type {
            const LEAST: Self = power_of_two($least) as Self;
            const MOST: Self = $type::MAX;
            const PLAIN: Self = 1.0;
            const LARGE: (Self, Self) = (power_of_two($large) as Self, power_of_two(-$large) as Self);
            const SMALL: (Self, Self) = {
                // The sum in place of a plain one below LEAST is finite.
                assert!($least + 2 * $small < $type::MAX_EXP);
                (power_of_two($small) as Self, power_of_two(-$small) as Self)
            };
        }
    )*};
}

const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + f64::MAX_EXP - 1) as u64) << (f64::MANTISSA_DIGITS - 1))
}

norm_scales! {
    f32: least -70, large -90, small 98;
    f64: least -900, large -600, small 600;
}

/// Sum of squares that lost none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Magnitude {
    /// The plain sum.
    Ordinary,
    /// The sum for elements times [`NormScales::LARGE`]. Also used if there is an infinity or a NaN, which it keeps.
    Large,
    /// The sum for elements times [`NormScales::SMALL`]. Also used if all elements are zero.
    Small,
}

impl Magnitude {
    /// Returns the magnitude of elements whose plain squares have this sum.
    #[device]
    pub fn of<V: NormScales>(sum: V) -> Self {
        if sum < V::LEAST {
            Self::Small
        } else if sum <= V::MOST {
            Self::Ordinary
        } else {
            Self::Large
        }
    }
}

/// Sums of squares at the three scales.
#[derive(Debug, Clone, Copy)]
pub struct Squares<V> {
    /// Sum for the elements themselves.
    pub plain: V,
    /// Sum for elements times [`NormScales::LARGE`].
    pub large: V,
    /// Sum for elements times [`NormScales::SMALL`].
    pub small: V,
}

impl<V: NormScales> Squares<V> {
    /// The sums of no elements.
    pub const ZERO: Self = Self { plain: V::ZERO, large: V::ZERO, small: V::ZERO };

    /// Adds the squares of an element.
    #[device]
    pub fn add(&mut self, value: V) {
        let (large, small) = (value * V::LARGE.0, value * V::SMALL.0);
        self.plain = value.fma(value, self.plain);
        self.large = large.fma(large, self.large);
        self.small = small.fma(small, self.small);
    }

    /// Returns the sums of both.
    #[device]
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            plain: self.plain + other.plain,
            large: self.large + other.large,
            small: self.small + other.small,
        }
    }

    /// Returns the norm, as two factors: a square root, and the power of two by which it is to be multiplied.
    #[device]
    pub fn scaled_root(self) -> (V, V) {
        match Magnitude::of(self.plain) {
            Magnitude::Ordinary => (self.plain.sqrt(), V::PLAIN),
            Magnitude::Large => (self.large.sqrt(), V::LARGE.1),
            Magnitude::Small => (self.small.sqrt(), V::SMALL.1),
        }
    }
}

/// The sums over a block.
#[derive(Clone, Copy)]
struct BlockSquares<V, const BLOCK: usize> {
    plain: BlockReduce<V, BLOCK>,
    large: BlockReduce<V, BLOCK>,
    small: BlockReduce<V, BLOCK>,
}

impl<V: NormScales, const BLOCK: usize> BlockSquares<V, BLOCK> {
    #[device(track_caller)]
    fn take(arena: &mut Arena) -> Self {
        Self {
            plain: BlockReduce::take(arena),
            large: BlockReduce::take(arena),
            small: BlockReduce::take(arena),
        }
    }

    /// Returns the sums of what the block's threads have, in every thread.
    #[device(track_caller)]
    fn sum(self, own: Squares<V>) -> Squares<V> {
        Squares {
            plain: self.plain.sum(own.plain),
            large: self.large.sum(own.large),
            small: self.small.sum(own.small),
        }
    }
}

kernel! {
    /// Partial sums of the squares of x: block b adds up tiles b, b + grid, b + 2 × grid, …
    pub struct Norm<V: NormScales> {
        /// The vector.
        pub x: Global<V>,
        /// Output: three sums per block.
        pub sums: GlobalMut<V>,
        /// Elements of the vector.
        pub len: u64,
    }
    shared: SUMS * BlockReduce::<V, BLOCK>::BYTES;
    body: Norm::norm::<BLOCK>;
    entry: vector_norm_{V} in vector: V in [f32, f64], 256 x 4;
}

impl<V: NormScales> Norm<V> {
    #[device]
    fn norm<const BLOCK: usize>(self, mut arena: Arena) {
        let reduce = BlockSquares::<V, BLOCK>::take(&mut arena);
        let (len, stride) = (self.len as usize, thread::grid_size() as usize * BLOCK * IN_FLIGHT);
        let mut first = thread::block() as usize * BLOCK * IN_FLIGHT + thread::index() as usize;
        let mut squares = Squares::ZERO;
        while first < len {
            let mut values = [V::ZERO; IN_FLIGHT];
            for item in 0..IN_FLIGHT {
                let index = first + item * BLOCK;
                values[item] = self.x.load_if(index, index < len);
            }
            for item in 0..IN_FLIGHT {
                squares.add(values[item]);
            }
            first += stride;
        }
        let sums = reduce.sum(squares);
        if thread::index() == 0 {
            let at = thread::block() as usize * SUMS;
            self.sums.store(at, sums.plain);
            self.sums.store(at + 1, sums.large);
            self.sums.store(at + 2, sums.small);
        }
    }
}

kernel! {
    /// Computes the norm from the sums of the blocks of [`Norm`], in an order that depends only on their number: one
    /// block.
    pub struct FinishNorm<V: NormScales> {
        /// The sums of the blocks, three each.
        pub sums: Global<V>,
        /// Number of blocks.
        pub count: u32,
        /// Output: one element.
        pub result: GlobalMut<V>,
    }
    shared: SUMS * BlockReduce::<V, BLOCK>::BYTES;
    body: FinishNorm::finish::<BLOCK, ITEMS>;
    entry: vector_finish_norm_{V} in vector: V in [f32, f64], 256 x 4;
}

impl<V: NormScales> FinishNorm<V> {
    #[device]
    fn finish<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let reduce = BlockSquares::<V, BLOCK>::take(&mut arena);
        let part = |item: usize| {
            let index = item * BLOCK + thread::index() as usize;
            let load = |sum| self.sums.load_if(index * SUMS + sum, index < self.count as usize);
            Squares { plain: load(0), large: load(1), small: load(2) }
        };
        let mut squares = part(0);
        for item in 1..ITEMS {
            squares = squares.plus(part(item));
        }
        let sums = reduce.sum(squares);
        if thread::index() == 0 {
            let (root, inverse) = sums.scaled_root();
            self.result.store(0, root * inverse);
        }
    }
}
