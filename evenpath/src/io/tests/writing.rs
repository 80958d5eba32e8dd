//! The text that the writer produces.

use super::helpers::{read, written};
use crate::Csr;
use crate::io::{
    Complex, Field, Format, MatrixMarketReader, ReadOptions, Symmetry, WriteOptions, read_matrix_market,
    write_matrix_market,
};

#[test]
fn every_header_is_written() {
    let symmetric = Csr::from_triplets(3, 3, [(0, 0, 2.0), (0, 2, -1.0), (2, 0, -1.0), (1, 1, 4.0)]).unwrap();
    let skew = Csr::from_triplets(3, 3, [(0, 2, -1.0), (2, 0, 1.0)]).unwrap();
    for format in [Format::Coordinate, Format::Array] {
        for field in [Field::Real, Field::Integer, Field::Complex] {
            for (symmetry, matrix) in [
                (Symmetry::General, &symmetric),
                (Symmetry::Symmetric, &symmetric),
                (Symmetry::Hermitian, &symmetric),
                (Symmetry::SkewSymmetric, &skew),
            ] {
                let options =
                    WriteOptions::default().with_format(format).with_field(field).with_symmetry(symmetry);
                let text = written(matrix, options.with_comment("two\nlines")).unwrap();
                let banner = format!("%%MatrixMarket matrix {format} {field} {symmetry}\n% two\n% lines\n");
                assert!(text.starts_with(&banner), "{text}");
                let again = ReadOptions::default().with_complex(Complex::RealPart);
                let reader = MatrixMarketReader::from_bytes(text.as_bytes(), again).unwrap();
                assert_eq!(&reader.read_csr::<f64, u32>().unwrap(), matrix, "{text}");
            }
        }
    }
    let pattern = WriteOptions::default().with_field(Field::Pattern).with_symmetry(Symmetry::Symmetric);
    let text = written(&symmetric, pattern).unwrap();
    assert_eq!(text, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 2\n3 1\n");
}

#[test]
fn matrices_that_do_not_match_the_header_are_refused() {
    let refusal = |triplets: &[(usize, usize, f64)], rows, options: WriteOptions| {
        let matrix = Csr::from_triplets(rows, 3, triplets.iter().copied()).unwrap();
        written(&matrix, options).unwrap_err().to_string()
    };
    let symmetric = || WriteOptions::default().with_symmetry(Symmetry::Symmetric);
    let skew = || WriteOptions::default().with_symmetry(Symmetry::SkewSymmetric);
    let integer = || WriteOptions::default().with_field(Field::Integer);
    assert!(refusal(&[], 2, symmetric()).contains("must be square, but this one is 2 x 3"));
    let lone = "row 1, column 2 or its mirror image is missing";
    assert_eq!(refusal(&[(0, 1, 1.0)], 3, symmetric()), lone);
    assert_eq!(refusal(&[(1, 0, 1.0)], 3, symmetric()), lone);
    let differs = "row 1, column 2 differs from its mirror image";
    assert_eq!(refusal(&[(0, 1, 1.0), (1, 0, 1.5)], 3, symmetric()), differs);
    assert_eq!(refusal(&[(0, 1, 1.0), (1, 0, 1.0)], 3, skew()), differs);
    assert!(refusal(&[(2, 2, 0.5)], 3, skew()).contains("row 3, column 3 is on the diagonal"));
    for value in [0.5, f64::NAN, f64::INFINITY, 1.9e19, -9.3e18, -0.0] {
        assert_eq!(refusal(&[(0, 1, value)], 3, integer()), "row 1, column 2 is not a 64-bit integer");
    }
    assert!(refusal(&[], 3, skew().with_field(Field::Pattern)).contains("skew-symmetric pattern"));
    let unsorted = Csr::try_new(1, 2, vec![0u32, 2], vec![1, 0], vec![1.0; 2]).unwrap();
    let error = written(&unsorted, WriteOptions::default().with_format(Format::Array)).unwrap_err();
    assert!(error.to_string().contains("row 0 is not canonical"), "{error}");
}

/// No program reads a comment's line as data, even if it treats a carriage return as the end of a line.
#[test]
fn comments_stay_comments() {
    let a = Csr::from_triplets(1, 1, [(0, 0, 2.0)]).unwrap();
    let text = written(&a, WriteOptions::default().with_comment("a\r1 1 0\r\nb\n\nc\r")).unwrap();
    let lines: Vec<&str> = text.split(['\r', '\n']).filter(|line| !line.starts_with('%')).collect();
    assert_eq!(lines, ["1 1 1", "1 1 2.0", ""]);
    assert_eq!(read(&text).unwrap(), a);
    for comment in ["% a\r1 1 0", "% a\r", "%\r%", "  % a\rb\r\r"] {
        let text =
            format!("%%MatrixMarket matrix coordinate real general\n{comment}\n1 1 1\n{comment}\n1 1 2\n");
        assert_eq!(read(&text).unwrap(), a, "{comment:?}");
    }
}

#[test]
fn a_failed_write_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, "precious").unwrap();
    let half = Csr::<f64>::from_triplets(1, 1, [(0, 0, 0.5)]).unwrap();
    let error = write_matrix_market(&path, half.view(), WriteOptions::default().with_field(Field::Integer));
    assert_eq!(error.unwrap_err().path(), Some(&*path));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(
        write_matrix_market(folder.path().join("no/a.mtx"), half.view(), WriteOptions::default()).is_err()
    );

    write_matrix_market(&path, half.view(), WriteOptions::default()).unwrap();
    assert_eq!(read_matrix_market::<f64, u32>(&path).unwrap(), half);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn large_matrices_round_trip_through_files() {
    use crate::generate::{Kind, generate};
    let folder = tempfile::tempdir().unwrap();
    for (kind, file) in [
        (Kind::PowerLaw { rows: 30_000 }, "a.mtx"),
        (Kind::EmptyRows { rows: 100_000 }, "b.mtx.gz"),
        (Kind::Stencil5 { side: 200 }, "c.mtx.gz"),
    ] {
        let a: Csr<f64, u64> = generate(kind, 5).unwrap();
        let path = folder.path().join(file);
        write_matrix_market(&path, a.view(), WriteOptions::default()).unwrap();
        assert_eq!(read_matrix_market::<f64, u64>(&path).unwrap(), a);
        let is_gzip = std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
        assert_eq!(is_gzip, path.extension().unwrap() == "gz");
    }
}
