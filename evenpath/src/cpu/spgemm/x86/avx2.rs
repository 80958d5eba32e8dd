//! Sorted columns with the vector instructions of AVX2: a register holds 8 of them.
//!
//! No instruction compresses chosen lanes, so permutations from a table are used.

use std::arch::x86_64::{
    __m256i, _mm_loadl_epi64, _mm256_add_epi32, _mm256_alignr_epi8, _mm256_blend_epi32, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_maskload_epi32, _mm256_maskload_pd,
    _mm256_maskload_ps, _mm256_max_epu32, _mm256_min_epu32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_mul_pd, _mm256_mul_ps, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_si256,
    _mm256_shuffle_epi32, _mm256_slli_epi16, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_pd,
    _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32,
};

use evenpath_simt::ScalarType;

use super::values::add_values;
use crate::Scalar;
use crate::cpu::spgemm::instructions::{FLAGS, POSITION_BITS, Sorter, Vectors};

/// Columns in a register.
const LANES: usize = 8;

/// AVX2, BMI 1 and POPCNT.
pub(in super::super) struct Avx2Sort;

impl Vectors for Avx2Sort {
    const SORT_COST: Option<usize> = Some(12);

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn take_bits(flags: &mut [u8; FLAGS]) -> u64 {
        let mut bits = 0;
        for (at, half) in flags.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            // SAFETY: the flags fill a register.
            unsafe {
                let all = _mm256_loadu_si256(half.as_ptr().cast());
                _mm256_storeu_si256(half.as_mut_ptr().cast(), _mm256_setzero_si256());
                // A flag is the lowest bit of its byte; the instruction collects the highest bits.
                let own = _mm256_movemask_epi8(_mm256_slli_epi16::<7>(all)) as u32;
                bits |= u64::from(own) << (32 * at);
            }
        }
        bits
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn take_flags(flags: &mut [u8; FLAGS], first: u32, columns: &mut [u32]) -> usize {
        // SAFETY: guaranteed by the caller.
        let bits = unsafe { Self::take_bits(flags) };
        let count = bits.count_ones() as usize;
        if count <= FEW {
            let mut left = bits;
            for column in &mut columns[..count] {
                *column = first.wrapping_add(left.trailing_zeros());
                left &= left.wrapping_sub(1);
            }
            return count;
        }
        let mut found = 0;
        for (at, own) in bits.to_le_bytes().into_iter().enumerate() {
            let start = _mm256_set1_epi32(first.wrapping_add((at * LANES) as u32) as i32);
            let own_columns = _mm256_add_epi32(side_by_side(own), start);
            store(&mut columns[found..], own_columns);
            found += own.count_ones() as usize;
        }
        count
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn add_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        before: usize,
        first: u32,
        left: V,
        (columns, values): (&[u32], &[V]),
    ) {
        let first = _mm256_set1_epi32(first as i32);
        let mut at = 0;
        while at < columns.len() {
            let count = columns.len() - at;
            let to = before + at;
            // SAFETY: the row has entries in these lanes. The products fit, with room for a register after
            // them.
            unsafe {
                let all = _mm256_maskload_epi32(columns.as_ptr().add(at).cast(), first_lanes(count));
                let distances = _mm256_slli_epi32::<{ POSITION_BITS as i32 }>(_mm256_sub_epi32(all, first));
                let positions = _mm256_add_epi32(lanes(), _mm256_set1_epi32(to as i32));
                store(&mut sorter.keys[to..], _mm256_or_si256(distances, positions));
                multiply(left, values.as_ptr().add(at), count, sorter.products.as_mut_ptr().add(to));
            }
            at += LANES;
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn sort_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        count: usize,
        first: u32,
        columns: &mut [u32],
        values: &mut [V],
    ) -> usize {
        let registers = count.div_ceil(LANES).next_power_of_two();
        let mut at = count;
        while at < registers * LANES {
            store(&mut sorter.keys[at..], _mm256_set1_epi32(-1));
            at += LANES;
        }
        match registers {
            1 => sort::<1>(&mut sorter.keys),
            2 => sort::<2>(&mut sorter.keys),
            4 => sort::<4>(&mut sorter.keys),
            8 => sort::<8>(&mut sorter.keys),
            16 => sort::<16>(&mut sorter.keys),
            _ => sort::<32>(&mut sorter.keys),
        }
        add_sorted(sorter, count, first, columns, values)
    }
}

/// Maximum number of columns that are found one by one.
const FEW: usize = 6;

/// For each byte, the positions of its set bits, then zeros.
static SET_BITS: [[u8; LANES]; 256] = {
    let mut all = [[0; LANES]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < LANES {
            if byte >> bit & 1 == 1 {
                all[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// Positions of the set bits, then zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn side_by_side(bits: u8) -> __m256i {
    // SAFETY: each row of the table has eight bytes.
    unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(SET_BITS[usize::from(bits)].as_ptr().cast())) }
}

/// Stores a register, for which there is room.
#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u32], all: __m256i) {
    let to = to[..LANES].as_mut_ptr();
    // SAFETY: there is room for a register.
    unsafe { _mm256_storeu_si256(to.cast(), all) }
}

/// Lane indices.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes() -> __m256i {
    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
}

/// The 8 elements starting at index 8 - n mask the first n lanes.
static MASK_32: [i32; 2 * LANES] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The 4 elements starting at index 4 - n mask the first n lanes of 64 bits.
static MASK_64: [i64; LANES] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// Mask of the first `count` lanes, or all.
#[inline]
#[target_feature(enable = "avx2")]
fn first_lanes(count: usize) -> __m256i {
    // SAFETY: the mask is in the table.
    unsafe { _mm256_loadu_si256(MASK_32.as_ptr().add(LANES - count.min(LANES)).cast()) }
}

/// Writes the products of a number and the first `count` of 8 values, or all, then zeros.
///
/// # Safety
/// Pointers are to that many values, and to 8 elements.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn multiply<V: Scalar>(left: V, from: *const V, count: usize, to: *mut V) {
    // SAFETY: guaranteed by the caller; masks are in the table.
    unsafe {
        if V::TYPE == ScalarType::F32 {
            let right = _mm256_maskload_ps(from.cast(), first_lanes(count));
            _mm256_storeu_ps(to.cast(), _mm256_mul_ps(_mm256_set1_ps(bytemuck::cast(left)), right));
        } else {
            let left = _mm256_set1_pd(bytemuck::cast(left));
            let half = |count: usize| _mm256_loadu_si256(MASK_64.as_ptr().add(4 - count.min(4)).cast());
            let right = _mm256_maskload_pd(from.cast(), half(count));
            _mm256_storeu_pd(to.cast(), _mm256_mul_pd(left, right));
            if count > 4 {
                let right = _mm256_maskload_pd(from.add(4).cast(), half(count - 4));
                _mm256_storeu_pd(to.add(4).cast(), _mm256_mul_pd(left, right));
            }
        }
    }
}

/// Writes the entries of sorted products.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn add_sorted<V: Scalar>(
    sorter: &Sorter<V>,
    count: usize,
    first: u32,
    columns: &mut [u32],
    values: &mut [V],
) -> usize {
    let mut before = _mm256_set1_epi32(-1);
    // Number of entries so far, minus one.
    let mut last = usize::MAX;
    for (at, keys) in sorter.keys[..count.next_multiple_of(LANES)].as_chunks::<LANES>().0.iter().enumerate() {
        let left = (count - at * LANES).min(LANES);
        // SAFETY: the keys fill a register.
        let all = unsafe { _mm256_loadu_si256(keys.as_ptr().cast()) };
        let distances = _mm256_srli_epi32::<{ POSITION_BITS as i32 }>(all);
        let crossing = _mm256_permute2x128_si256::<0x21>(before, distances);
        let shifted = _mm256_alignr_epi8::<12>(distances, crossing);
        let is_old = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(distances, shifted)));
        let valid = (0xff_u32 >> (LANES - left)) as u8;
        let new = !is_old as u8 & valid;
        before = distances;
        let next = last.wrapping_add(1);
        let own = _mm256_add_epi32(distances, _mm256_set1_epi32(first as i32));
        store(&mut columns[next..], _mm256_permutevar8x32_epi32(own, side_by_side(new)));
        last = add_values(sorter, &keys[..left], u32::from(new), values, last);
    }
    last.wrapping_add(1)
}

/// Sorts `N` registers of keys, where `N` is a power of two, by a bitonic network whose comparisons all put
/// the smaller key first.
#[inline]
#[target_feature(enable = "avx2")]
fn sort<const N: usize>(keys: &mut [u32]) {
    let keys = &mut keys[..N * LANES];
    let mut all = [_mm256_setzero_si256(); N];
    for (register, keys) in all.iter_mut().zip(keys.as_chunks::<LANES>().0) {
        // SAFETY: the keys fill a register.
        *register = sort_register(unsafe { _mm256_loadu_si256(keys.as_ptr().cast()) });
    }
    let mut sorted = 1;
    while sorted < N {
        merge(&mut all, 2 * sorted);
        sorted *= 2;
    }
    for (register, keys) in all.into_iter().zip(keys.as_chunks_mut::<LANES>().0) {
        store(keys, register);
    }
}

/// Merges sorted halves of `len` registers.
#[inline]
#[target_feature(enable = "avx2")]
fn merge<const N: usize>(all: &mut [__m256i; N], len: usize) {
    for start in (0..N).step_by(len) {
        for at in 0..len / 4 + len / 2 % 2 {
            let (low, high) = (start + at, start + len - 1 - at);
            let (mirror_low, mirror_high) = (start + len / 2 - 1 - at, start + len / 2 + at);
            let (a, b) = (all[low], reverse(all[high]));
            let (c, d) = (all[mirror_low], reverse(all[mirror_high]));
            all[low] = _mm256_min_epu32(a, b);
            all[mirror_high] = _mm256_max_epu32(a, b);
            if low != mirror_low {
                all[mirror_low] = _mm256_min_epu32(c, d);
                all[high] = _mm256_max_epu32(c, d);
            }
        }
        let mut distance = len / 4;
        while distance > 0 {
            for at in (start..start + len).filter(|at| at & distance == 0) {
                let (a, b) = (all[at], all[at + distance]);
                all[at] = _mm256_min_epu32(a, b);
                all[at + distance] = _mm256_max_epu32(a, b);
            }
            distance /= 2;
        }
    }
    for register in all {
        *register = sort_halves(*register);
    }
}

/// Puts the smaller of each pair of keys in one lane and the greater in the other; the mask selects the
/// latter.
#[inline]
#[target_feature(enable = "avx2")]
fn exchange<const GREATER: i32>(all: __m256i, partners: __m256i) -> __m256i {
    _mm256_blend_epi32::<GREATER>(_mm256_min_epu32(all, partners), _mm256_max_epu32(all, partners))
}

#[inline]
#[target_feature(enable = "avx2")]
fn reverse(all: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0))
}

#[inline]
#[target_feature(enable = "avx2")]
fn sort_register(all: __m256i) -> __m256i {
    let all = exchange::<0xaa>(all, _mm256_shuffle_epi32::<0xb1>(all));
    let all = exchange::<0xcc>(all, _mm256_shuffle_epi32::<0x1b>(all));
    let all = exchange::<0xaa>(all, _mm256_shuffle_epi32::<0xb1>(all));
    sort_quarters(exchange::<0xf0>(all, reverse(all)))
}

/// Sorts a register that is bitonic.
#[inline]
#[target_feature(enable = "avx2")]
fn sort_halves(all: __m256i) -> __m256i {
    sort_quarters(exchange::<0xf0>(all, _mm256_permute2x128_si256::<1>(all, all)))
}

/// Sorts both halves of a register, which are bitonic.
#[inline]
#[target_feature(enable = "avx2")]
fn sort_quarters(all: __m256i) -> __m256i {
    let all = exchange::<0xcc>(all, _mm256_shuffle_epi32::<0x4e>(all));
    exchange::<0xaa>(all, _mm256_shuffle_epi32::<0xb1>(all))
}
