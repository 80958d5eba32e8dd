//! Functions of one number, applied to every element of a vector.

use evenpath_simt::{device, kernel, parameters, thread, Arena, GlobalMut};

use crate::elementary::Elementary;

/// Codes of the functions.
pub mod code {
    /// The first parameter, whatever the element is.
    pub const FILL: u32 = 0;
    /// The absolute value.
    pub const ABS: u32 = 1;
    /// 1 over the element.
    pub const RECIPROCAL: u32 = 2;
    /// The square root.
    pub const SQRT: u32 = 3;
    /// e to the power of the element.
    pub const EXP: u32 = 4;
    /// The natural logarithm.
    pub const LOG: u32 = 5;
    /// −1, 1, or the element itself if it is zero or NaN.
    pub const SIGN: u32 = 6;
    /// At least the first parameter, and then at most the second.
    pub const CLAMP: u32 = 7;
    /// The sum with the first parameter.
    pub const ADD: u32 = 8;
    /// The product with the first parameter.
    pub const SCALE: u32 = 9;
    /// The square.
    pub const SQUARE: u32 = 10;
    /// The first parameter's power: computed by [`PowerElements`](super::PowerElements), which is a kernel of its own because it takes many
    /// registers.
    pub const POWER: u32 = 11;
}

parameters! {
    /// A function and its parameters.
    pub struct Mapping<V: Elementary> {
        /// One of [`code`].
        pub code: u32,
        /// The first parameter.
        pub first: V,
        /// The second.
        pub second: V,
    }
}

impl<V: Elementary> Mapping<V> {
    /// Returns the function of an element, which is not [`code::POWER`].
    #[device]
    pub fn apply(self, value: V) -> V {
        match self.code {
            code::ABS => value.magnitude(),
            code::RECIPROCAL => V::UNIT / value,
            code::SQRT => value.sqrt(),
            code::EXP => value.natural_exp(),
            code::LOG => value.natural_log(),
            code::SIGN => sign(value),
            code::CLAMP => {
                let value = if value < self.first { self.first } else { value };
                if value > self.second {
                    self.second
                } else {
                    value
                }
            }
            code::ADD => value + self.first,
            code::SCALE => value * self.first,
            code::SQUARE => value * value,
            _ => self.first,
        }
    }
}

#[device]
fn sign<V: Elementary>(value: V) -> V {
    if value > V::ZERO {
        V::UNIT
    } else if value < V::ZERO {
        V::UNIT.negated()
    } else {
        value
    }
}

kernel! {
    /// Replaces each element of y by a function of it: one thread per element.
    pub struct MapElements<V: Elementary> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// The function.
        pub mapping: Mapping<V>,
        /// Elements of the vector.
        pub len: u64,
    }
    shared: 0;
    body: MapElements::map_elements::<BLOCK>;
    entry: map_elements_{V} in map_{V}: V in [f32, f64], 256 x 1;
}

impl<V: Elementary> MapElements<V> {
    #[device]
    fn map_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            // Elements to be overwritten may be uninitialized.
            let value = if self.mapping.code == code::FILL { V::ZERO } else { self.y.load(index) };
            self.y.store(index, self.mapping.apply(value));
        }
    }
}

kernel! {
    /// Raises each element of y to a power: one thread per element.
    pub struct PowerElements<V: Elementary> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// The exponent.
        pub exponent: V,
        /// Elements of the vector.
        pub len: u64,
    }
    shared: 0;
    body: PowerElements::power_elements::<BLOCK>;
    entry: power_elements_{V} in power_{V}: V in [f32, f64], 256 x 1;
}

impl<V: Elementary> PowerElements<V> {
    #[device]
    fn power_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, self.y.load(index).power(self.exponent));
        }
    }
}
