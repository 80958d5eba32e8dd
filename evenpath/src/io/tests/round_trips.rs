//! Matrices that are written and read back.

#![allow(clippy::float_cmp)] // round trips are exact

use proptest::prelude::*;

use super::helpers::{read, written};
use crate::io::{
    Complex, Field, Format, MatrixMarketReader, ReadOptions, Symmetry, WriteOptions, parse_matrix_market,
    write_matrix_market_to,
};
use crate::{Coo, Csr, Duplicates};

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    /// Every value except NaN, in any storage order.
    #[test]
    fn coordinates_round_trip_bit_for_bit(
        (rows, cols) in (1..20usize, 1..20usize),
        entries in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u64>()), 0..60),
    ) {
        let place = |index: u32, bound: usize| index as usize % bound;
        let value = |bits| Some(f64::from_bits(bits)).filter(|value| !value.is_nan()).unwrap_or(-0.0);
        let entries = entries.into_iter().map(|(r, c, v)| (place(r, rows), place(c, cols), value(v)));
        let coo = Coo::from_triplets(rows, cols, entries).unwrap();
        let a: Csr<f64> = coo.to_csr(Duplicates::Keep).unwrap();
        let text = written(&a, WriteOptions::default()).unwrap();
        let options = ReadOptions::default().with_duplicates(Duplicates::Keep);
        let again = MatrixMarketReader::from_bytes(text.as_bytes(), options).unwrap();
        let again = again.read_csr::<f64, u32>().unwrap();
        prop_assert_eq!(again.row_offsets(), a.row_offsets());
        prop_assert_eq!(again.column_indices(), a.column_indices());
        prop_assert_eq!(bits(again.values()), bits(a.values()));
    }

    #[test]
    fn f32_round_trips_bit_for_bit(patterns in prop::collection::vec(any::<u32>(), 1..50)) {
        let values: Vec<f32> =
            patterns.into_iter().map(f32::from_bits).filter(|value| !value.is_nan()).collect();
        let columns: Vec<u32> = (0..values.len() as u32).collect();
        let a = Csr::try_new(1, values.len(), vec![0, columns.len() as u32], columns, values).unwrap();
        let mut text = Vec::new();
        write_matrix_market_to(&mut text, a.view(), WriteOptions::default()).unwrap();
        let again: Csr<f32> = parse_matrix_market(&text).unwrap();
        let bits = |a: &Csr<f32>| a.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&again), bits(&a));
    }

    /// Symmetric and skew-symmetric matrices, in both formats.
    #[test]
    fn symmetric_matrices_round_trip(
        size in 1..15usize,
        entries in prop::collection::vec((any::<u32>(), any::<u32>(), -50..50i32), 0..40),
        skew in any::<bool>(),
        array in any::<bool>(),
    ) {
        let entries = entries.into_iter().flat_map(|(row, column, value)| {
            let (row, column) = (row as usize % size, column as usize % size);
            let (value, image) = (f64::from(value), f64::from(if skew { -value } else { value }));
            let pair = [(row, column, value), (column, row, image)];
            pair.into_iter().take(if row == column { usize::from(!skew) } else { 2 })
        });
        let a = Csr::<f64>::from_triplets(size, size, entries.filter(|entry| entry.2 != 0.0)).unwrap();
        // Sums that cancel leave zeros, which array format drops.
        let a = Csr::<f64>::from_triplets(size, size, a.iter().filter(|entry| entry.2 != 0.0)).unwrap();
        let symmetry = if skew { Symmetry::SkewSymmetric } else { Symmetry::Symmetric };
        let format = if array { Format::Array } else { Format::Coordinate };
        let text = written(&a, WriteOptions::default().with_symmetry(symmetry).with_format(format)).unwrap();
        prop_assert_eq!(read(&text).unwrap(), a);
    }

    /// Text under any header that the reader accepts is written under the same header and read again.
    #[test]
    fn matrices_are_written_under_their_header(
        field in prop::sample::select(vec![Field::Real, Field::Integer, Field::Pattern, Field::Complex]),
        symmetry in prop::sample::select(
            vec![Symmetry::General, Symmetry::Symmetric, Symmetry::SkewSymmetric, Symmetry::Hermitian]
        ),
        array in any::<bool>(),
        size in 1..4usize,
        entries in prop::collection::vec((1..4usize, 1..4usize, any::<prop::sample::Index>()), 0..9),
    ) {
        let format = if array { Format::Array } else { Format::Coordinate };
        let words = match field {
            Field::Integer => vec!["0", "-0", "1", "-1", "9223372036854775807", "18446744073709551615"],
            Field::Pattern => vec![""],
            Field::Real => vec!["0", "-0.0", "1D+2", "-1", "inf", "-inf", "nan", "-NaN", "1e-320", "-1.5"],
            Field::Complex => vec!["0 0", "-0.0 1", "1D2 1D2", "inf nan", "nan inf", "-1 1e999"],
        };
        // A position and its mirror image are not both stored.
        let below = |row: usize, column: usize| match symmetry {
            Symmetry::General => (row, column),
            _ => (row.max(column), row.min(column)),
        };
        let lines: Vec<String> = entries
            .iter()
            .filter(|&&(row, column, _)| row.max(column) <= size)
            .map(|&(row, column, word)| match (format, below(row, column)) {
                (Format::Array, _) => word.get(&words).to_string(),
                (Format::Coordinate, (row, column)) => format!("{row} {column} {}", word.get(&words)),
            })
            .collect();
        let count = if array { String::new() } else { lines.len().to_string() };
        let text =
            format!("%%MatrixMarket matrix {format} {field} {symmetry}\n{size} {size} {count}\n{}\n", lines.join("\n"));
        let read = |text: &str| {
            let options = ReadOptions::default().with_complex(Complex::RealPart);
            MatrixMarketReader::from_bytes(text.as_bytes(), options)?.read_csr::<f64, u32>()
        };
        let Ok(a) = read(&text) else { return Ok(()) };
        // The sum of duplicates may be out of the field's range.
        let ones = a.values().iter().all(|&value| value == 1.0);
        let integers = a.values().iter().all(|value| value.abs() <= 18_446_744_073_709_551_615.0);
        if field == Field::Pattern && !ones || field == Field::Integer && !integers {
            return Ok(());
        }
        let options = WriteOptions::default().with_format(format).with_field(field).with_symmetry(symmetry);
        let rewritten = written(&a, options);
        prop_assert!(rewritten.is_ok(), "{} of {text}", rewritten.unwrap_err());
        let again = read(&rewritten.unwrap()).unwrap();
        prop_assert_eq!(again.row_offsets(), a.row_offsets());
        prop_assert_eq!(again.column_indices(), a.column_indices());
        for (again, value) in again.values().iter().zip(a.values()) {
            prop_assert!(again == value || again.is_nan() && value.is_nan(), "{} of {}", again, value);
        }
    }

    /// The reader does not panic on any bytes.
    #[test]
    fn no_text_panics(
        field in prop::sample::select(vec!["real", "integer", "pattern", "complex"]),
        format in prop::sample::select(vec!["coordinate", "array"]),
        symmetry in prop::sample::select(vec!["general", "symmetric", "skew-symmetric", "hermitian"]),
        body in "[0-9 .eE+\\-\n%\t\rinfa]{0,60}",
    ) {
        let text = format!("%%MatrixMarket matrix {format} {field} {symmetry}\n{body}");
        let options = ReadOptions::default().with_complex(Complex::RealPart).with_row_limit(1000);
        if let Ok(reader) = MatrixMarketReader::from_bytes(text.as_bytes(), options) {
            let (coo, csr) = (reader.read_coo::<f64>(), reader.read_csr::<f32, u64>());
            prop_assert!(csr.is_err() || coo.is_ok() || coo.unwrap_err().line().is_some());
        }
    }
}
