//! How scattered the columns of neighboring nonzeros are.

use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Storage};

/// Samples of a matrix, at equal distances.
const SAMPLES: usize = 8;
/// Neighboring nonzeros of a sample: about as many as a block stages.
const SAMPLE: usize = 2048;
/// Bytes that a cache fetches at once.
const SECTOR: usize = 32;
/// Bits of the set that sectors are counted in: 32 for each nonzero of a sample, so that few sectors share one.
const BITS_LOG2: u32 = 16;

/// The different sectors of x that neighboring nonzeros read, with elements of `value_bytes`, for each nonzero: one if each reads its own, and little if they share
/// columns or have neighboring ones. Of eight samples of 2048 nonzeros, to within 2 %; waits for the device.
pub(super) fn sectors_per_nonzero<S: Storage, O: Offset>(
    matrix: &DeviceCsr<S, O>,
    value_bytes: usize,
) -> Result<f64, OpError> {
    let nonzeros = matrix.nnz();
    let len = nonzeros.min(SAMPLE);
    if len == 0 {
        return Ok(0.0);
    }
    let columns = &matrix.pattern().column_indices;
    let mut samples = matrix.device().uninitialized(SAMPLES * len)?;
    for (sample, first) in firsts(nonzeros).enumerate() {
        let mut copy = samples.slice_mut(sample * len..(sample + 1) * len)?;
        copy.copy_from(&columns.slice(first..first + len)?)?;
    }
    let samples: Vec<u32> = samples.download()?;
    let sectors: u32 = samples.chunks(len).map(|sample| count_sectors(sample, SECTOR / value_bytes)).sum();
    Ok(f64::from(sectors) / samples.len() as f64)
}

/// Where samples begin.
fn firsts(nonzeros: usize) -> impl Iterator<Item = usize> {
    (0..SAMPLES).map(move |sample| nonzeros.saturating_sub(SAMPLE) / SAMPLES * sample)
}

/// About how many different sectors these columns are in, `elements` in each.
fn count_sectors(columns: &[u32], elements: usize) -> u32 {
    let mut seen = vec![0_u64; 1 << (BITS_LOG2 - 6)];
    for column in columns {
        // A multiplication by the golden ratio spreads neighbors.
        let bit = (column / elements as u32).wrapping_mul(0x9e37_79b9) >> (32 - BITS_LOG2);
        seen[bit as usize / 64] |= 1 << (bit % 64);
    }
    seen.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_inside() {
        for nonzeros in [0, 1, SAMPLE - 1, SAMPLE, SAMPLE + SAMPLES, 1_000_000] {
            let firsts: Vec<usize> = firsts(nonzeros).collect();
            assert_eq!((firsts.len(), firsts[0]), (SAMPLES, 0));
            assert!(firsts.is_sorted(), "{nonzeros}");
            assert!(firsts.iter().all(|first| first + SAMPLE.min(nonzeros) <= nonzeros), "{nonzeros}");
        }
    }

    #[test]
    fn a_sector_counts_once() {
        assert_eq!(count_sectors(&[9, 0, 7, 8, 15, 0], 8), 2);
        assert_eq!(count_sectors(&[9, 0, 7, 8, 15, 0], 4), 4);
        assert_eq!(count_sectors(&[], 8), 0);
        let scattered: Vec<u32> =
            (0..2048).map(|i: u32| i.wrapping_mul(2_654_435_769) % 10_000_000 * 8).collect();
        assert!((2000..=2048).contains(&count_sectors(&scattered, 8)), "{}", count_sectors(&scattered, 8));
    }

    #[test]
    fn scattered_columns_have_a_sector_each() {
        use crate::device::{Device, SimulatedOptions};
        let device = Device::simulated(SimulatedOptions::default());
        let of = |columns: Vec<u32>| {
            let nonzeros = columns.len();
            let offsets = (0..=nonzeros as u32).collect();
            let a = crate::Csr::<f32>::try_new(nonzeros, 1 << 20, offsets, columns, vec![1.0; nonzeros]);
            let a = device.upload(&a.expect("a matrix")).expect("upload");
            sectors_per_nonzero(&a, size_of::<f32>()).expect("a count")
        };
        for (columns, expected) in [
            (Vec::new(), 0.0),
            (vec![5], 1.0),
            (vec![5; 5000], 1.0 / 2048.0),
            ((0..1 << 20).collect(), 1.0 / 8.0),
            ((0..1 << 16).map(|i| i * 8).collect(), 1.0),
        ] {
            let nonzeros = columns.len();
            assert!((of(columns) - expected).abs() < 0.02 * expected + 1e-9, "{nonzeros}: {expected}");
        }
    }
}
