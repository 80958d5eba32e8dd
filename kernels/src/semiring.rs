//! The semirings that kernels are compiled for.

use evenpath_simt::semiring::{MaxPlus, MaxTimes, MinFirst, MinPlus, OrAnd, PlusPair, PlusTimes};
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, GlobalMut, In};

/// Elements with sum and product of numbers; of integers, which wrap around.
pub type InPlusTimes<V> = In<PlusTimes, V>;
/// Elements with minimum and sum.
pub type InMinPlus<V> = In<MinPlus, V>;
/// Elements with maximum and sum.
pub type InMaxPlus<V> = In<MaxPlus, V>;
/// Elements with maximum and product.
pub type InMaxTimes<V> = In<MaxTimes, V>;
/// Elements with disjunction and conjunction.
pub type InOrAnd<V> = In<OrAnd, V>;
/// Elements with sum and the number of pairs.
pub type InPlusPair<V> = In<PlusPair, V>;
/// Elements with minimum and first factor.
pub type InMinFirst<V> = In<MinFirst, V>;

kernel! {
    /// Sets every element to the zero of its semiring: one thread per element.
    pub struct SemiringZeros<V: Arithmetic> {
        /// The vector.
        pub y: GlobalMut<V>,
        /// Its elements.
        pub len: u64,
    }
    shared: 0;
    body: SemiringZeros::clear::<BLOCK>;
    entries: {
        semiring_zeros_plus_times_{V} in semiring_masked_plus_times: V in [f32, f64], 256 x 1;
        semiring_zeros_{V} in semiring_masked_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], 256 x 1;
        semiring_zeros_{V} in semiring_masked_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], 256 x 1;
        semiring_zeros_{V} in semiring_masked_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], 256 x 1;
        semiring_zeros_{V} in semiring_masked_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32,
                InPlusPair<u64> as plus_pair_u64, InMinFirst<f32> as min_first_f32,
                InMinFirst<f64> as min_first_f64, InMinFirst<u32> as min_first_u32,
                InMinFirst<u64> as min_first_u64], 256 x 1;
    }
}

impl<V: Arithmetic> SemiringZeros<V> {
    #[device]
    fn clear<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, V::ZERO);
        }
    }
}
