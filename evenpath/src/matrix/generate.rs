//! Generated matrices of known structure.
//!
//! Every row has its own random stream, so a kind and a seed give the same matrix on every machine and with any
//! number of threads. Values are uniform in [-1, 1). Rows are canonical.
//!
//! ```
//! use evenpath::generate::{Kind, generate};
//!
//! let kind: Kind = "stencil5:100".parse()?;
//! let a: evenpath::Csr<f64> = generate(kind, 1)?;
//! assert_eq!((a.nrows(), a.nnz()), (10_000, 5 * 10_000 - 4 * 100));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod kind;
mod lattice;
mod lengths;
mod published;
mod rows;

pub use error::ParseKindError;
pub use kind::Kind;
pub use published::Published;

use super::blocks::{row_blocks, split_both};
use super::padding::row_offsets;
use super::{Csr, MatrixError, validate};
use crate::memory::try_zeroed;
use crate::{Offset, Value, parallel};
use rows::{RowGenerator, Stream};

/// Generates a matrix of the shape [`Kind::shape`]. The same kind and seed give the same matrix.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::generate::{Kind, generate};
///
/// let a: Csr<f64> = generate(Kind::Stencil5 { side: 3 }, 1)?; // a grid of 3 x 3 points
/// assert_eq!(a.row(4).map(|center| center.columns()), Some(&[1, 3, 4, 5, 7][..]));
/// assert_ne!(a, generate(Kind::Stencil5 { side: 3 }, 2)?); // with other values
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the size exceeds what a matrix can have, `O` cannot count the nonzeros, or there is not enough memory for
/// them.
pub fn generate<V: Value, O: Offset>(kind: Kind, seed: u64) -> Result<Csr<V, O>, MatrixError> {
    let (rows, cols) = kind.shape();
    validate::dimensions(rows, cols)?;
    let pattern = RowGenerator::new(kind, seed);

    let no_memory_for = |nnz| move |()| MatrixError::OutOfMemory { rows, nnz };
    // If not even the minimum number of nonzeros fits, fail before generating any row.
    let fewest = pattern.fewest_nonzeros();
    if O::try_from_usize(fewest).is_none() {
        return Err(MatrixError::offset_overflow::<O>(fewest));
    }
    drop(try_zeroed::<u32>(fewest).map_err(no_memory_for(fewest))?);

    // Rows are generated twice, once to count their nonzeros and once in place, so nothing is copied.
    let mut lengths: Vec<u32> = try_zeroed(rows).map_err(no_memory_for(0))?;
    parallel::parts_mut(&mut lengths, 256, |rows, lengths| {
        let mut columns = Vec::new();
        rows.zip(lengths).for_each(|(row, length)| *length = pattern.len(row, &mut columns) as u32);
    });
    let row_offsets: Vec<O> = row_offsets(&lengths)?;
    let nnz = row_offsets[rows].to_usize();
    let out_of_memory = no_memory_for(nnz);
    let mut column_indices: Vec<u32> = try_zeroed(nnz).map_err(out_of_memory)?;
    let mut values: Vec<V> = try_zeroed(nnz).map_err(out_of_memory)?;
    let blocks = row_blocks(&row_offsets);
    let parts = split_both(&blocks, &row_offsets, &mut column_indices, &mut values);
    parallel::for_each(parts, |(block, columns, values)| {
        let mut scratch = Vec::new();
        let base = row_offsets[block.start].to_usize();
        for row in block {
            let range = row_offsets[row].to_usize() - base..row_offsets[row + 1].to_usize() - base;
            pattern.columns(row, &mut scratch);
            columns[range.clone()].copy_from_slice(&scratch);
            let mut stream = Stream::values(seed, row);
            values[range].fill_with(|| V::from_f64(2.0 * stream.unit() - 1.0));
        }
    });
    Ok(Csr::from_valid(rows, cols, row_offsets, column_indices, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [&str; 15] = [
        "stencil5:30",
        "stencil27:9",
        "fem:5000",
        "block-fem:300x3",
        "block-fem:100x6",
        "uniform:3000",
        "power-law:3000",
        "lp:40",
        "empty-rows:4001",
        "rmat:10",
        "dense:30x50",
        "diagonal:70",
        "like:economics",
        "like:circuit",
        "like:poisson3da",
    ];

    #[test]
    fn every_kind_is_canonical_and_has_its_shape() {
        for name in SMALL {
            let kind: Kind = name.parse().unwrap();
            let a: Csr<f64> = generate(kind, 7).unwrap();
            assert_eq!(a.shape(), kind.shape(), "{name}");
            a.check_canonical().unwrap();
            assert!(a.nnz() > 0, "{name}");
            assert!(a.values().iter().all(|value| (-1.0..1.0).contains(value)), "{name}");
        }
    }

    #[test]
    fn a_seed_gives_one_matrix_with_any_number_of_threads() {
        for name in SMALL {
            let kind: Kind = name.parse().unwrap();
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let many = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
            let a: Csr<f64> = alone.install(|| generate(kind, 3)).unwrap();
            assert_eq!(a, many.install(|| generate(kind, 3)).unwrap(), "{name}");
            let other: Csr<f64> = generate(kind, 4).unwrap();
            assert_ne!(
                a.values()[..],
                other.values()[..a.values().len().min(other.values().len())],
                "{name}"
            );
            // The pattern does not depend on the value type.
            let single: Csr<f32, u64> = generate(kind, 3).unwrap();
            assert_eq!(a.column_indices(), single.column_indices(), "{name}");
        }
    }

    #[test]
    fn stencils_couple_neighbors() {
        let a: Csr<f64> = generate(Kind::Stencil5 { side: 4 }, 1).unwrap();
        assert_eq!(a.row(0).unwrap().columns(), [0, 1, 4]);
        assert_eq!(a.row(5).unwrap().columns(), [1, 4, 5, 6, 9]);
        assert_eq!(a.row(15).unwrap().columns(), [11, 14, 15]);
        let b: Csr<f64> = generate(Kind::Stencil27 { side: 3 }, 1).unwrap();
        assert_eq!(b.row(13).unwrap().columns(), (0..27).collect::<Vec<_>>());
        assert_eq!(b.row(0).unwrap().columns(), [0, 1, 3, 4, 9, 10, 12, 13]);
    }

    #[test]
    fn stand_ins_have_the_published_size_and_moments() {
        for matrix in Published::all().filter(|matrix| matrix.nonzeros() < 2_000_000) {
            let a: Csr<f32> = generate(Kind::Like { matrix }, 1).unwrap();
            let statistics = a.statistics();
            assert_eq!(a.shape(), matrix.shape(), "{matrix}");
            let off = a.nnz() as f64 / matrix.nonzeros() as f64 - 1.0;
            assert!(off.abs() < 0.01, "{matrix}: {} nonzeros", a.nnz());
            let off = statistics.row_length_std_dev - matrix.deviation();
            assert!(off.abs() < 0.04 * matrix.deviation() + 0.005, "{matrix}: {statistics}");
            let off = statistics.row_length_max as f64 / matrix.longest() as f64 - 1.0;
            assert!(off.abs() < 0.04, "{matrix}: {statistics}");
        }
    }

    #[test]
    fn known_structures_are_exact() {
        for name in ["dense2", "qcd", "epidemiology", "parabolic-fem"] {
            let matrix: Published = name.parse().unwrap();
            let a: Csr<f32> = generate(Kind::Like { matrix }, 1).unwrap();
            a.check_canonical().unwrap();
            assert_eq!(a.nnz(), matrix.nonzeros(), "{name}");
        }
    }

    #[test]
    fn row_lengths_are_as_documented() {
        let mean = |name: &str| {
            let a: Csr<f32> = generate(name.parse().unwrap(), 1).unwrap();
            (a.statistics().row_length_mean, a.statistics().row_length_max)
        };
        let (fem, longest) = mean("fem:20000");
        assert!((58.0..60.0).contains(&fem) && longest <= 70, "{fem} {longest}");
        assert_eq!(mean("uniform:20000"), (16.0, 16));
        let (power_law, longest) = mean("power-law:200000");
        assert!((11.0..14.0).contains(&power_law) && longest > 1000, "{power_law} {longest}");
        assert_eq!(mean("lp:64"), (2637.5, 12000));
        assert_eq!(mean("empty-rows:4000"), (0.5, 2));
        assert_eq!(mean("dense:10x20"), (20.0, 20));
    }

    #[test]
    fn pattern_has_known_first_rows() {
        // A change of the random streams changes every generated matrix. This test makes sure that it is
        // deliberate.
        let a: Csr<f64> = generate(Kind::Uniform { rows: 1000 }, 42).unwrap();
        assert_eq!(a.row(0).unwrap().columns()[..4], FIRST_COLUMNS);
        assert_eq!(a.values()[0].to_bits(), FIRST_VALUE.to_bits());
    }

    const FIRST_COLUMNS: [u32; 4] = [39, 78, 167, 179];
    const FIRST_VALUE: f64 = 0.528_587_483_897_949_4;

    #[test]
    fn impossible_sizes_are_errors() {
        let too_many = generate::<f64, u32>(Kind::Stencil5 { side: 1 << 20 }, 1);
        assert!(matches!(too_many, Err(MatrixError::TooManyRows { .. })));
        let too_dense = generate::<f64, u32>(Kind::Dense { rows: 1 << 10, cols: 1 << 31 }, 1);
        assert!(matches!(too_dense, Err(MatrixError::OffsetOverflow { .. })));
        let too_large = generate::<f64, u64>(Kind::Dense { rows: 1 << 20, cols: (1 << 31) - 1 }, 1);
        assert!(matches!(too_large, Err(MatrixError::OutOfMemory { .. })));
    }
}
