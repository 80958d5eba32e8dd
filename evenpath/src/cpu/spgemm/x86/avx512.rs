//! Sorted columns with the vector instructions of AVX-512: a register holds 16 of them.

use std::arch::x86_64::{
    __m512i, __mmask16, _bzhi_u32, _mm512_add_epi32, _mm512_alignr_epi32, _mm512_castsi512_si128,
    _mm512_cmpneq_epu32_mask, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
    _mm512_mask_max_epu32, _mm512_maskz_compress_epi8, _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi32,
    _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps, _mm512_max_epu32, _mm512_min_epu32, _mm512_mul_pd,
    _mm512_mul_ps, _mm512_or_epi32, _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_set1_pd,
    _mm512_set1_ps, _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_epi32, _mm512_shuffle_i64x2,
    _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_pd, _mm512_storeu_ps, _mm512_storeu_si512,
    _mm512_sub_epi32, _mm512_test_epi8_mask,
};

use evenpath_simt::ScalarType;

use super::values::add_values;
use crate::Scalar;
use crate::cpu::spgemm::instructions::{FLAGS, POSITION_BITS, Sorter, Vectors};

/// Columns in a register.
const LANES: usize = 16;

/// AVX-512 F, BW and VL; with VBMI2 if bytes can be compressed.
pub(in super::super) struct Avx512Sort<const COMPRESSES_BYTES: bool>;

impl<const COMPRESSES_BYTES: bool> Vectors for Avx512Sort<COMPRESSES_BYTES> {
    const SORT_COST: Option<usize> = Some(1);

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn take_bits(flags: &mut [u8; FLAGS]) -> u64 {
        // SAFETY: the flags fill a register.
        unsafe {
            let all = _mm512_loadu_si512(flags.as_ptr().cast());
            _mm512_storeu_si512(flags.as_mut_ptr().cast(), _mm512_setzero_si512());
            _mm512_test_epi8_mask(all, all)
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn take_flags(flags: &mut [u8; FLAGS], first: u32, columns: &mut [u32]) -> usize {
        // SAFETY: guaranteed by the caller.
        let bits = unsafe { Self::take_bits(flags) };
        if bits == 0 {
            return 0;
        }
        let to = columns.as_chunks_mut::<FLAGS>().0;
        let Some(to) = to.first_mut() else { return 0 };
        if COMPRESSES_BYTES {
            // SAFETY: guaranteed by the caller.
            unsafe { columns_by_bytes(bits, first, to) };
        } else {
            columns_by_words(bits, first, to);
        }
        bits.count_ones() as usize
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn add_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        before: usize,
        first: u32,
        left: V,
        (columns, values): (&[u32], &[V]),
    ) {
        let first = _mm512_set1_epi32(first as i32);
        let mut at = 0;
        while at < columns.len() {
            let own = first_lanes(columns.len() - at);
            let to = before + at;
            // SAFETY: the row has entries in these lanes. The products fit, with room for a register after
            // them.
            unsafe {
                let all = _mm512_maskz_loadu_epi32(own, columns.as_ptr().add(at).cast());
                let distances = _mm512_slli_epi32::<POSITION_BITS>(_mm512_sub_epi32(all, first));
                let positions = _mm512_add_epi32(lanes(), _mm512_set1_epi32(to as i32));
                let keys = _mm512_or_epi32(distances, positions);
                _mm512_storeu_si512(sorter.keys.as_mut_ptr().add(to).cast(), keys);
                multiply(left, values.as_ptr().add(at), own, sorter.products.as_mut_ptr().add(to));
            }
            at += LANES;
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn sort_products<V: Scalar>(
        sorter: &mut Sorter<V>,
        count: usize,
        first: u32,
        columns: &mut [u32],
        values: &mut [V],
    ) -> usize {
        // SAFETY: there is room for registers up to twice the most products.
        unsafe {
            let keys = sorter.keys.as_mut_ptr();
            let registers = count.div_ceil(LANES).next_power_of_two();
            let mut at = count;
            while at < registers * LANES {
                _mm512_storeu_si512(keys.add(at).cast(), _mm512_set1_epi32(-1));
                at += LANES;
            }
            match registers {
                1 => sort::<1>(keys),
                2 => sort::<2>(keys),
                4 => sort::<4>(keys),
                8 => sort::<8>(keys),
                _ => sort::<16>(keys),
            }
        }
        add_sorted(sorter, count, first, columns, values)
    }
}

/// Writes a column for each set bit, and arbitrary values after them.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn columns_by_words(bits: u64, first: u32, to: &mut [u32; FLAGS]) {
    let mut found = 0;
    for quarter in 0..FLAGS / LANES {
        let own = (bits >> (quarter * LANES)) as u16;
        let start = first.wrapping_add((quarter * LANES) as u32);
        let all = _mm512_add_epi32(lanes(), _mm512_set1_epi32(start as i32));
        // SAFETY: there is room for a register: no more columns were found than there are earlier bits.
        unsafe {
            _mm512_storeu_si512(to.as_mut_ptr().add(found).cast(), _mm512_maskz_compress_epi32(own, all));
        }
        found += own.count_ones() as usize;
    }
}

/// Numbers starting at 0.
static NUMBERS: [u8; FLAGS] = {
    let mut numbers = [0; FLAGS];
    let mut number = 0;
    while number < FLAGS {
        numbers[number] = number as u8;
        number += 1;
    }
    numbers
};

/// The same, for few bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn columns_by_bytes(bits: u64, first: u32, to: &mut [u32; FLAGS]) {
    let first = _mm512_set1_epi32(first as i32);
    // SAFETY: there are as many numbers as a register has lanes.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let numbers = _mm512_maskz_compress_epi8(bits, numbers);
    let mut store = |quarter: usize, numbers| {
        let columns = _mm512_add_epi32(_mm512_cvtepu8_epi32(numbers), first);
        // SAFETY: there is room for four registers.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().add(quarter * LANES).cast(), columns) };
    };
    store(0, _mm512_castsi512_si128(numbers));
    let count = bits.count_ones();
    if count > 16 {
        store(1, _mm512_extracti32x4_epi32::<1>(numbers));
        if count > 32 {
            store(2, _mm512_extracti32x4_epi32::<2>(numbers));
            store(3, _mm512_extracti32x4_epi32::<3>(numbers));
        }
    }
}

/// Lane indices.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes() -> __m512i {
    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}

/// The first `count` lanes, or all.
#[inline]
#[target_feature(enable = "bmi2")]
fn first_lanes(count: usize) -> __mmask16 {
    _bzhi_u32(0xffff, count.min(LANES) as u32) as u16
}

/// Writes the products of a number and those of 16 values in a mask, and zeros elsewhere.
///
/// # Safety
/// Pointers are to values in the mask, and to 16 elements.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn multiply<V: Scalar>(left: V, from: *const V, mask: __mmask16, to: *mut V) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if V::TYPE == ScalarType::F32 {
            let right = _mm512_maskz_loadu_ps(mask, from.cast());
            _mm512_storeu_ps(to.cast(), _mm512_mul_ps(_mm512_set1_ps(bytemuck::cast(left)), right));
        } else {
            let left = _mm512_set1_pd(bytemuck::cast(left));
            let right = _mm512_maskz_loadu_pd(mask as u8, from.cast());
            _mm512_storeu_pd(to.cast(), _mm512_mul_pd(left, right));
            if mask > 0xff {
                let right = _mm512_maskz_loadu_pd((mask >> 8) as u8, from.add(8).cast());
                _mm512_storeu_pd(to.add(8).cast(), _mm512_mul_pd(left, right));
            }
        }
    }
}

/// Writes the entries of sorted products.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
fn add_sorted<V: Scalar>(
    sorter: &Sorter<V>,
    count: usize,
    first: u32,
    columns: &mut [u32],
    values: &mut [V],
) -> usize {
    let mut before = _mm512_set1_epi32(-1);
    // Number of entries so far, minus one.
    let mut last = usize::MAX;
    for (at, keys) in sorter.keys[..count.next_multiple_of(LANES)].as_chunks::<LANES>().0.iter().enumerate() {
        let left = (count - at * LANES).min(LANES);
        // SAFETY: the keys fill a register.
        let all = unsafe { _mm512_loadu_si512(keys.as_ptr().cast()) };
        let distances = _mm512_srli_epi32::<POSITION_BITS>(all);
        let valid = first_lanes(left);
        let shifted = _mm512_alignr_epi32::<15>(distances, before);
        let new = _mm512_cmpneq_epu32_mask(distances, shifted) & valid;
        before = distances;
        let next = last.wrapping_add(1);
        let own = _mm512_add_epi32(distances, _mm512_set1_epi32(first as i32));
        let to = columns[next..][..LANES].as_mut_ptr();
        // SAFETY: there is room for a register.
        unsafe { _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(new, own)) };
        last = add_values(sorter, &keys[..left], u32::from(new), values, last);
    }
    last.wrapping_add(1)
}

/// Sorts `N` registers of keys, where `N` is a power of two, by a bitonic network whose comparisons all put
/// the smaller key first.
///
/// # Safety
/// `keys` points to that many keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
unsafe fn sort<const N: usize>(keys: *mut u32) {
    let mut all = [_mm512_setzero_si512(); N];
    for (at, register) in all.iter_mut().enumerate() {
        // SAFETY: guaranteed by the caller.
        *register = sort_register(unsafe { _mm512_loadu_si512(keys.add(LANES * at).cast()) });
    }
    let mut sorted = 1;
    while sorted < N {
        merge(&mut all, 2 * sorted);
        sorted *= 2;
    }
    for (at, register) in all.into_iter().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm512_storeu_si512(keys.add(LANES * at).cast(), register) };
    }
}

/// Merges sorted halves of `len` registers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
fn merge<const N: usize>(all: &mut [__m512i; N], len: usize) {
    for start in (0..N).step_by(len) {
        let mut reversed = [_mm512_setzero_si512(); N];
        for at in 0..len / 2 {
            reversed[at] = reverse(all[start + len - 1 - at]);
        }
        for at in 0..len / 2 {
            let (a, b) = (all[start + at], reversed[at]);
            all[start + at] = _mm512_min_epu32(a, b);
            all[start + len / 2 + at] = _mm512_max_epu32(a, b);
        }
        let mut distance = len / 4;
        while distance > 0 {
            for at in (start..start + len).filter(|at| at & distance == 0) {
                let (a, b) = (all[at], all[at + distance]);
                all[at] = _mm512_min_epu32(a, b);
                all[at + distance] = _mm512_max_epu32(a, b);
            }
            distance /= 2;
        }
    }
    for register in all {
        let all = *register;
        *register = sort_halves(exchange::<0xff00>(all, _mm512_shuffle_i64x2::<0x4e>(all, all)));
    }
}

/// Puts the smaller of each pair of keys in one lane and the greater in the other; the mask selects the
/// latter.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange<const GREATER: u16>(all: __m512i, partners: __m512i) -> __m512i {
    _mm512_mask_max_epu32(_mm512_min_epu32(all, partners), GREATER, all, partners)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn reverse(all: __m512i) -> __m512i {
    let order = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_permutexvar_epi32(order, all)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sort_register(all: __m512i) -> __m512i {
    let all = exchange::<0xaaaa>(all, _mm512_shuffle_epi32::<0xb1>(all));
    let all = exchange::<0xcccc>(all, _mm512_shuffle_epi32::<0x1b>(all));
    let all = exchange::<0xaaaa>(all, _mm512_shuffle_epi32::<0xb1>(all));
    let order = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    let all = exchange::<0xf0f0>(all, _mm512_permutexvar_epi32(order, all));
    let all = exchange::<0xcccc>(all, _mm512_shuffle_epi32::<0x4e>(all));
    let all = exchange::<0xaaaa>(all, _mm512_shuffle_epi32::<0xb1>(all));
    sort_halves(exchange::<0xff00>(all, reverse(all)))
}

/// Sorts both halves of a register, which are bitonic.
#[inline]
#[target_feature(enable = "avx512f")]
fn sort_halves(all: __m512i) -> __m512i {
    let all = exchange::<0xf0f0>(all, _mm512_shuffle_i64x2::<0xb1>(all, all));
    let all = exchange::<0xcccc>(all, _mm512_shuffle_epi32::<0x4e>(all));
    exchange::<0xaaaa>(all, _mm512_shuffle_epi32::<0xb1>(all))
}
