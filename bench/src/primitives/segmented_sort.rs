use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::key::{Pairs, SortKey};
use evenpath::sort::{self, SortOptions};
use evenpath::{Csr, DeviceVec};

use super::bench::{Bench, Measured};
use super::check;
use super::segments::{MEAN_LENGTHS, row_offsets};
use crate::measure::Times;
use crate::sequences::{random, random_keys};

/// Lengths of segments.
#[derive(Clone, Copy)]
enum Lengths {
    /// Random, with this mean.
    Mean(u32),
    /// Half of the elements are in one segment, the others in segments of four.
    Skewed,
}

impl Lengths {
    const ALL: [Self; 4] =
        [Self::Mean(MEAN_LENGTHS[0]), Self::Mean(MEAN_LENGTHS[1]), Self::Mean(MEAN_LENGTHS[2]), Self::Skewed];

    fn name(self) -> String {
        match self {
            Self::Mean(mean) => format!("seg{mean}"),
            Self::Skewed => "skewed".into(),
        }
    }

    fn row_offsets(self, len: usize) -> Vec<u32> {
        match self {
            Self::Mean(mean) => row_offsets(len, mean),
            Self::Skewed => (0..len as u32 / 2).step_by(4).chain([len as u32 / 2, len as u32]).collect(),
        }
    }
}

/// Sorts of `len` random keys by segments, and of as many pairs with 32-bit values.
pub(super) fn segments<K: SortKey>(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    for lengths in Lengths::ALL {
        let cases =
            bench.selected(["keys", "pairs"], |what| format!("sort_{what}_by_offsets_{}", lengths.name()));
        if cases.is_empty() {
            continue;
        }
        let host_offsets = lengths.row_offsets(len);
        let host_keys = random_keys::<K>(len, 8 * K::SIZE as u32, 1);
        let input = Input {
            row_offsets: &bench.device.upload(&host_offsets)?,
            keys: &bench.device.upload(&host_keys)?,
            host_offsets: &host_offsets,
            host_keys: &host_keys,
        };
        for (op, what) in cases {
            let measured =
                if what == "keys" { input.sort_keys(bench, op)? } else { input.sort_pairs(bench, op)? };
            bench.report(measured);
        }
    }
    Ok(())
}

/// Keys in segments.
struct Input<'a, K: SortKey> {
    host_offsets: &'a [u32],
    host_keys: &'a [K],
    row_offsets: &'a DeviceVec<u32>,
    keys: &'a DeviceVec<K>,
}

impl<K: SortKey> Input<'_, K> {
    fn sort_keys(&self, bench: &Bench<'_>, op: String) -> Result<Measured, OpError> {
        let sort = || sort::keys_by_offsets(self.row_offsets, self.keys, SortOptions::default());
        let times_ms = bench.times_ms(|| sort().map(drop))?;
        let sorted = sort()?.download()?;
        let checked = check::each_segment(self.host_offsets, |segment| {
            check::sorted_keys(&self.host_keys[segment.clone()], &sorted[segment])
        });
        self.measured(op, "-", 0, times_ms, checked)
    }

    fn sort_pairs(&self, bench: &Bench<'_>, op: String) -> Result<Measured, OpError> {
        let places = bench.device.upload(&(0..self.keys.len() as u32).collect::<Vec<_>>())?;
        let sort = || {
            sort::pairs_by_offsets(self.row_offsets, Pairs::new(self.keys, &places), SortOptions::default())
        };
        let times_ms = bench.times_ms(|| sort().map(drop))?;
        let (keys, places) = sort()?;
        let checked =
            check::sorted_segments(self.host_keys, self.host_offsets, &keys.download()?, &places.download()?);
        self.measured(op, "u32", 4, times_ms, checked)
    }

    fn measured(
        &self,
        op: String,
        value: &'static str,
        value_bytes: usize,
        times_ms: Times,
        checked: Result<(), String>,
    ) -> Result<Measured, OpError> {
        let (len, offsets) = (self.keys.len(), self.row_offsets.len());
        let options = SortOptions::default();
        Ok(Measured {
            op,
            key: K::TYPE.name(),
            value,
            n: len,
            times_ms,
            bytes: 4 * offsets + 2 * len * (K::SIZE + value_bytes),
            temporary_bytes: match value_bytes {
                0 => sort::keys_by_offsets_temporary_bytes::<K>(offsets - 1, len, options)?,
                _ => sort::pairs_by_offsets_temporary_bytes::<K, u32>(offsets - 1, len, options)?,
            },
            checked: Some(checked),
        })
    }
}

/// Sorts the rows of matrices with about `len` nonzeros whose rows are shuffled; n counts the nonzeros.
pub(super) fn rows(bench: &mut Bench<'_>, len: usize) -> Result<(), OpError> {
    let rows = (len / 16).max(8);
    let kinds = [("uniform", Kind::Uniform { rows }), ("power_law", Kind::PowerLaw { rows })];
    for (op, (_, kind)) in bench.selected(kinds, |(name, _)| format!("sort_rows_{name}")) {
        let matrix = shuffled(kind)?;
        let uploaded = bench.device.upload(&matrix)?;
        let times_ms = bench.times_ms(|| uploaded.sort_rows().map(drop))?;
        let sorted = uploaded.sort_rows()?.download()?;
        let places: Vec<u32> = sorted.values().iter().map(|value| value.to_bits()).collect();
        let columns = (matrix.column_indices(), sorted.column_indices());
        let checked = check::sorted_segments(columns.0, matrix.row_offsets(), columns.1, &places);
        let (rows, nonzeros) = (matrix.nrows(), matrix.nnz());
        let options = SortOptions::default();
        bench.report(Measured {
            op,
            key: "u32",
            value: "f32",
            n: nonzeros,
            times_ms,
            // The row offsets are copied.
            bytes: 2 * (4 * (rows + 1) + 8 * nonzeros),
            temporary_bytes: sort::pairs_by_offsets_temporary_bytes::<u32, f32>(rows, nonzeros, options)?,
            checked: Some(checked),
        });
    }
    Ok(())
}

/// A generated matrix with the columns of every row in random order. The bits of a value are its place.
fn shuffled(kind: Kind) -> Result<Csr<f32>, OpError> {
    let matrix: Csr<f32> = generate(kind, 1)?;
    let (rows, cols) = matrix.shape();
    let (offsets, mut columns, _) = matrix.into_parts();
    for row in offsets.windows(2) {
        for index in row[0]..row[1] {
            // Fisher-Yates: each entry changes places with one up to it.
            let other = row[0] as usize + random(7, index as usize) as usize % (index - row[0] + 1) as usize;
            columns.swap(index as usize, other);
        }
    }
    let values = (0..columns.len() as u32).map(f32::from_bits).collect();
    Ok(Csr::try_new(rows, cols, offsets, columns, values).map_err(evenpath::error::MatrixError::from)?)
}
