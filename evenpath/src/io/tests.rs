//! The reader and the writer, on files made here.

use std::io::Write;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::Duplicates;

type Triplets<V> = Vec<(usize, usize, V)>;

fn read(text: &str) -> Result<Csr<f64>, MatrixMarketError> {
    parse_matrix_market(text.as_bytes())
}

fn triplets(text: &str) -> Triplets<f64> {
    read(text).unwrap().iter().collect()
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn real_part(text: &str) -> Triplets<f64> {
    let options = ReadOptions::default().with_complex(Complex::RealPart);
    let reader = MatrixMarketReader::from_bytes(text.as_bytes(), options).unwrap();
    reader.read_csr::<f64, u32>().unwrap().iter().collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn coordinate_headers() {
    let entry = |field: &str, value: &str| {
        let lower = format!("3 3 2\n2 1{value}\n3 2{value}\n");
        let lines = |symmetry: &str| format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n{lower}");
        (lines("general"), lines("symmetric"), lines("skew-symmetric"), lines("hermitian"))
    };
    let full =
        |value: f64, mirrored: f64| vec![(0, 1, mirrored), (1, 0, value), (1, 2, mirrored), (2, 1, value)];
    for (field, text, value) in [
        ("real", " -2.5e0", -2.5),
        ("double", " 0.25", 0.25),
        ("integer", " -7", -7.0),
        ("unsigned-integer", " 18446744073709551615", 18_446_744_073_709_551_615.0),
        ("pattern", "", 1.0),
    ] {
        let (general, symmetric, skew, hermitian) = entry(field, text);
        assert_eq!(triplets(&general), [(1, 0, value), (2, 1, value)], "{field}");
        assert_eq!(triplets(&symmetric), full(value, value), "{field}");
        assert_eq!(triplets(&hermitian), full(value, value), "{field}");
        if field == "pattern" {
            assert_eq!(refusal(&skew), "line 1: a skew-symmetric pattern is not defined by the format");
        } else {
            assert_eq!(triplets(&skew), full(value, -value), "{field}");
        }
    }
    let (general, symmetric, skew, hermitian) = entry("complex", " 1.5 -9e999");
    assert_eq!(real_part(&general), [(1, 0, 1.5), (2, 1, 1.5)]);
    assert_eq!(real_part(&symmetric), full(1.5, 1.5));
    assert_eq!(real_part(&skew), full(1.5, -1.5));
    assert_eq!(real_part(&hermitian), full(1.5, 1.5));
    for text in [general, symmetric, skew, hermitian] {
        assert!(refusal(&text).starts_with("line 1: complex values"), "{}", refusal(&text));
    }
}

#[test]
fn array_headers() {
    let text = |field: &str, symmetry: &str, sizes: &str, values: &str| {
        let values = values.replace(' ', "\n").replace('|', " ");
        format!("%%MatrixMarket matrix array {field} {symmetry}\n{sizes}\n{values}\n")
    };
    // Column by column; zeros are not stored.
    let general = [(0, 0, 1.0), (0, 1, 4.0), (1, 0, 2.0), (2, 1, 6.0)];
    assert_eq!(triplets(&text("real", "general", "3 2", "1 2e0 0 4 -0.0 6")), general);
    assert_eq!(triplets(&text("integer", "general", "3 2", "1 2 0 4 0 6")), general);
    assert_eq!(real_part(&text("complex", "general", "3 2", "1|1 2|1 0|1 4|1 0|1 6|1")), general);
    let symmetric = [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)];
    assert_eq!(triplets(&text("real", "symmetric", "2 2", "1 2 3")), symmetric);
    assert_eq!(triplets(&text("integer", "hermitian", "2 2", "1 2 3")), symmetric);
    assert_eq!(real_part(&text("complex", "hermitian", "2 2", "1|0 2|5 3|0")), symmetric);
    let skew = [(0, 1, -1.0), (0, 2, -2.0), (1, 0, 1.0), (1, 2, -3.0), (2, 0, 2.0), (2, 1, 3.0)];
    assert_eq!(triplets(&text("real", "skew-symmetric", "3 3", "1 2 3")), skew);
    assert_eq!(real_part(&text("complex", "skew-symmetric", "3 3", "1|0 2|0 3|0")), skew);
    assert_eq!(triplets("%%MatrixMarket matrix array real general\n0 7\n"), []);
    assert_eq!(triplets("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), []);

    let pattern = "%%MatrixMarket matrix array pattern general\n1 1\n";
    assert_eq!(refusal(pattern), "line 1: a pattern in array format is not defined by the format");
    let short = refusal(&text("real", "symmetric", "2 2", "1 2"));
    assert_eq!(short, "line 4: the file ends after 2 of 3 entries");
    let long = refusal(&text("real", "symmetric", "2 2", "1 2 3 4"));
    assert_eq!(long, "line 6: an entry more than the 3 announced");
    let two = refusal(&text("real", "general", "2 1", "1|2 3"));
    assert_eq!(two, "line 3: expected the end of the line, found `2`");
}

#[test]
fn free_form_is_accepted() {
    let expected = [(0, 0, 1.0), (1, 1, 20.0), (1, 2, -0.5)];
    let free = " \t%MATRIXmarket  Matrix\tCOORDINATE Real  General \n\n% c\n   \n%%x\n 2\t3   3  \n\n\
        \t1 1 +1\n%between\n   \n2 2 .2E+2 \n  % indented\n2 3 -5.e-1";
    assert_eq!(triplets(free), expected);
    assert_eq!(triplets(&free.replace('\n', "\r\n")), expected);
    assert_eq!(triplets(&format!("{free}\n\n\n%\n \t")), expected);
}

#[test]
fn special_values_are_read_where_they_are_written() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 5 5\n\
        1 1 inf\n1 2 -Infinity\n1 3 NaN\n1 4 -0\n1 5 1e-9999\n";
    let values: Vec<f64> = triplets(text).iter().map(|entry| entry.2).collect();
    assert_eq!(values[..2], [f64::INFINITY, f64::NEG_INFINITY]);
    assert!(values[2].is_nan());
    assert_eq!([values[3].to_bits(), values[4].to_bits()], [(-0.0f64).to_bits(), 0]);
}

#[test]
fn faults_are_named_with_their_line() {
    let body = |body: &str| refusal(&format!("%%MatrixMarket matrix coordinate real general\n%\n{body}"));
    let cases = [
        ("3 3 2\n1 1 1\n", "line 4: the file ends after 1 of 2 entries"),
        ("3 3 1\n1 1 1\n\n% c\n2 2 2\n", "line 7: an entry more than the 1 announced"),
        ("3 3 1\n4 1 1\n", "line 4: row 4 is not in 1 to 3"),
        ("3 3 1\n1 0 1\n", "line 4: column 0 is not in 1 to 3"),
        ("3 3 1\n1 99999999999999999999999 1", "line 4: column 99999999999999999999999 is not in 1 to 3"),
        ("3 3 1\n1 18446744073709551617 1", "line 4: column 18446744073709551617 is not in 1 to 3"),
        ("3 3 1\n-1 1 1\n", "line 4: expected a row, found `-1`"),
        ("3 3 1\n1.0 1 1\n", "line 4: expected a row, found `1.0`"),
        ("3 3 1\n1\n", "line 4: expected a column, found the end of the line"),
        ("3 3 1\n1 1", "line 4: expected a number, found the end of the line"),
        ("3 3 1\n1 1 1.5.2\n", "line 4: expected a number, found `1.5.2`"),
        ("3 3 1\n1 1 +-1\n", "line 4: expected a number, found `+-1`"),
        ("3 3 1\n1 1 infinit\n", "line 4: expected a number, found `infinit`"),
        ("3 3 1\n1 1 0x10\n", "line 4: expected a number, found `0x10`"),
        ("3 3 1\n1 1 \x07\u{e9}\n", "line 4: expected a number, found `\\x07\\xc3\\xa9`"),
        ("3 3 1\n1 1 -1e400\n", "line 4: `-1e400` is too large for f64"),
        ("3 3 1\n1 1 1 % c\n", "line 4: expected the end of the line, found `%`"),
        ("3 3\n", "line 3: expected the number of entries, found the end of the line"),
        ("3 3 1 1\n", "line 3: expected the end of the line, found `1`"),
        ("3 -3 1\n", "line 3: expected the number of columns, found `-3`"),
        ("4294967296 1 0\n", "line 3: 4294967296 rows: a matrix has at most 4294967295"),
        ("1 4294967296 0\n", "line 3: 4294967296 columns: a matrix has at most 4294967295"),
        ("18446744073709551616 1 0\n", "line 3: `18446744073709551616` is too large for a size"),
        ("1 99999999999999999999999 0\n", "line 3: `99999999999999999999999` is too large for a size"),
        ("18446744073709551614 1 0\n", "line 3: 18446744073709551614 rows: a matrix has at most 4294967295"),
        ("1 1 18446744073709551615\n", "line 3: `18446744073709551615` is too large for a size"),
        ("1 1 18446744073709551616\n", "line 3: `18446744073709551616` is too large for a size"),
        ("1 1 4000000000000000000\n1 1 1\n", "line 4: the file ends after 1 of 4000000000000000000 entries"),
        ("", "line 3: expected the number of rows, of columns and of entries, found the end of the file"),
    ];
    for (text, message) in cases {
        assert_eq!(body(text), message);
    }
}

#[test]
fn header_faults_are_named() {
    let long = format!("%%MatrixMarket matrix {}", "a".repeat(1000));
    let cases = [
        ("", "line 1: not a Matrix Market file: expected `%%MatrixMarket`, found an empty line"),
        ("1 2 3", "line 1: not a Matrix Market file: expected `%%MatrixMarket`, found `1`"),
        ("%%MatrixMarket vector array real general", "line 1: expected `matrix`, found `vector`"),
        (
            "%%MatrixMarket matrix coordinate real",
            "line 1: expected `general`, `symmetric`, `skew-symmetric` or `hermitian`, found the end of the line",
        ),
        (
            "%%MatrixMarket matrix coordinate real general 1",
            "line 1: expected the end of the line, found `1`",
        ),
        (
            &long,
            "line 1: expected `coordinate` or `array`, found `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refusal(text), message);
    }
}

#[test]
fn integers_are_exact_and_whole() {
    let read = |value: &str| {
        let text = format!("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {value}\n");
        parse_matrix_market::<f32, u32>(text.as_bytes()).map(|a| a.values()[0])
    };
    let refusal = |value: &str| read(value).unwrap_err().to_string();
    // Between two f32; by way of f64, it would be rounded down to the tie and then to even.
    assert_eq!(read("9007199791611905").unwrap().to_bits(), 9_007_200_328_482_816f32.to_bits());
    assert_eq!(read("-9223372036854775808").unwrap().to_bits(), (-9_223_372_036_854_775_808f32).to_bits());
    assert_eq!(read("+000000000000000000000012").unwrap().to_bits(), 12f32.to_bits());
    assert_eq!(
        refusal("-9223372036854775809"),
        "line 3: `-9223372036854775809` is too large for a 64-bit integer"
    );
    assert_eq!(
        refusal("18446744073709551616"),
        "line 3: `18446744073709551616` is too large for a 64-bit integer"
    );
    assert_eq!(refusal("1.0"), "line 3: expected a whole number, found `1.0`");
    assert_eq!(refusal("-"), "line 3: expected a whole number, found `-`");
    assert_eq!(refusal("- 1"), "line 3: expected a whole number, found `-`");
    assert_eq!(refusal(""), "line 3: expected a whole number, found the end of the line");
}

#[test]
fn narrow_values_overflow() {
    let text = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e39\n";
    let error = parse_matrix_market::<f32, u32>(text).unwrap_err();
    assert_eq!(error.to_string(), "line 3: `1e39` is too large for f32");
    assert!(parse_matrix_market::<f64, u32>(text).is_ok());
}

#[test]
fn symmetry_is_checked() {
    let text =
        |symmetry: &str, body: &str| format!("%%MatrixMarket matrix coordinate real {symmetry}\n{body}");
    let rectangular = refusal(&text("symmetric", "3 2 0\n"));
    assert_eq!(rectangular, "line 2: a symmetric matrix is square, but this one is 3 x 2");
    // Either triangle, and even both, as long as no place is stored with its mirror image.
    assert_eq!(triplets(&text("symmetric", "3 3 2\n1 2 5\n3 1 6\n")).len(), 4);
    let both = refusal(&text("symmetric", "3 3 4\n1 2 5\n%\n3 1 6\n3 3 1\n2 1 5\n"));
    assert_eq!(both, "line 7: row 2, column 1 and its mirror image are both stored in a symmetric matrix");
    let diagonal = refusal(&text("skew-symmetric", "3 3 2\n1 1 0\n\n2 2 5\n"));
    assert_eq!(
        diagonal,
        "line 5: the diagonal of a skew-symmetric matrix is 0, but row 2 has an entry there"
    );
}

#[test]
fn duplicates_as_asked() {
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 1\n1 2 5\n2 2 2\n";
    let read = |duplicates| {
        let options = ReadOptions::default().with_duplicates(duplicates);
        MatrixMarketReader::from_bytes(text.as_bytes(), options).unwrap().read_csr::<f64, u32>()
    };
    let entries = |duplicates| read(duplicates).unwrap().iter().collect::<Vec<_>>();
    assert_eq!(entries(Duplicates::Sum), [(0, 1, 5.0), (1, 1, 3.0)]);
    assert_eq!(entries(Duplicates::Keep), [(0, 1, 5.0), (1, 1, 1.0), (1, 1, 2.0)]);
    let error = read(Duplicates::Refuse).unwrap_err();
    assert_eq!(error.to_string(), "row 1 has column 1 more than once");
}

/// A text of many chunks, with blank lines and comments here and there.
fn long_text(entries: usize) -> String {
    use std::fmt::Write;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n1000 1000 {entries}\n");
    for entry in 0..entries {
        if entry % 1013 == 0 {
            text.push_str("% a comment\n\n");
        }
        let (row, column) = (entry / 1000 % 1000 + 1, entry % 1000 + 1);
        writeln!(text, "{row} {column} {entry}.5").unwrap();
    }
    text
}

#[test]
fn lines_are_exact_beyond_the_first_chunk() {
    let text = long_text(300_000);
    assert!(text.len() > 4 << 20);
    let a = read(&text).unwrap();
    assert_eq!(a.nnz(), 300_000);
    assert_eq!(a.get(123, 456), Some(123_456.5));

    for entry in [5, 150_000, 299_999] {
        let good = format!(" {entry}.5\n");
        let bad = text.replacen(&good, " x\n", 1);
        let line = 1 + text[..text.find(&good).unwrap()].matches('\n').count();
        assert_eq!(refusal(&bad), format!("line {line}: expected a number, found `x`"));
        // The first of several faults, whichever thread meets which first.
        let more = bad.replace(" 299998.5\n", " y\n");
        if entry < 299_998 {
            assert_eq!(refusal(&more), format!("line {line}: expected a number, found `x`"));
        }
    }
}

#[test]
fn very_long_lines_are_read() {
    let blanks = " ".repeat(3 << 20);
    let comment = "x".repeat(3 << 20);
    let text = format!(
        "%%MatrixMarket matrix coordinate real general\n%{comment}\n2 2 2\n1{blanks}1 1\n%{comment}\n2 2 2{blanks}"
    );
    assert_eq!(triplets(&text), [(0, 0, 1.0), (1, 1, 2.0)]);
    let digits = "3".repeat(1 << 20);
    let text = format!("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.{digits}\n");
    assert_eq!(triplets(&text), [(0, 0, 1.0 / 3.0)]);
}

#[test]
fn a_header_alone_allocates_nothing() {
    let header = "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 4000000000000\n";
    assert!(refusal(header).contains("the file ends after 0 of"));
    let empty = header.replace("4000000000000", "0");
    assert!(refusal(&empty).contains("4000000000 rows in a file of"), "{}", refusal(&empty));
    let reader = MatrixMarketReader::from_bytes(empty.as_bytes(), ReadOptions::default()).unwrap();
    assert_eq!(reader.read_coo::<f64>().unwrap().rows(), 4_000_000_000);
    let array = "%%MatrixMarket matrix array real general\n4000000000 4000000000\n1\n";
    assert!(refusal(array).contains("the file ends after 1 of 16000000000000000000 entries"));
    // As many rows as a limit allows.
    let tall = "%%MatrixMarket matrix coordinate real general\n5000 1 0\n";
    let read = |limit| {
        let options = ReadOptions::default().with_row_limit(limit);
        MatrixMarketReader::from_bytes(tall.as_bytes(), options).unwrap().read_csr::<f64, u32>()
    };
    assert_eq!(read(5000).unwrap().rows(), 5000);
    assert!(matches!(read(4999).unwrap_err().kind(), MatrixMarketErrorKind::RowLimit { .. }));
}

#[test]
fn gzip_is_known_by_its_content() {
    let text = long_text(50_000);
    let expected = read(&text).unwrap();
    let compressed = gzip(text.as_bytes());
    assert_eq!(parse_matrix_market::<f64, u32>(&compressed).unwrap(), expected);

    // Two members, as concatenated files have.
    let (front, back) = text.as_bytes().split_at(text.len() / 2);
    let members = [gzip(front), gzip(back)].concat();
    assert_eq!(parse_matrix_market::<f64, u32>(&members).unwrap(), expected);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, &compressed).unwrap();
    assert_eq!(read_matrix_market::<f64, u32>(&path).unwrap(), expected);

    let cut = parse_matrix_market::<f64, u32>(&compressed[..compressed.len() / 2]).unwrap_err();
    assert!(matches!(cut.kind(), MatrixMarketErrorKind::Io(_)), "{cut}");
    let mut damaged = compressed.clone();
    damaged[100] ^= 0x40;
    assert!(parse_matrix_market::<f64, u32>(&damaged).is_err());

    let options = ReadOptions::default().with_decompressed_limit(text.len() - 1);
    let error = MatrixMarketReader::from_bytes(&compressed, options).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::DecompressedLimit { .. }), "{error}");
}

#[test]
fn files_are_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.mtx");
    let error = read_matrix_market::<f64, u32>(&missing).unwrap_err();
    assert_eq!(error.path(), Some(&*missing));
    assert!(error.to_string().contains("missing.mtx: "), "{error}");

    let path = folder.path().join("bad.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 1\n").unwrap();
    let error = read_coo::<f64>(&path).unwrap_err();
    assert_eq!((error.path(), error.line()), (Some(&*path), Some(3)));
    assert!(error.to_string().ends_with("bad.mtx:3: column 2 is not in 1 to 1"), "{error}");

    let empty = folder.path().join("empty.mtx");
    std::fs::write(&empty, "").unwrap();
    assert!(read_matrix_market::<f64, u32>(&empty).unwrap_err().to_string().contains("not a Matrix Market"));
    assert!(read_matrix_market::<f64, u32>(folder.path()).is_err());
}

#[test]
fn progress_reaches_the_end() {
    let text = long_text(100_000);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let options = ReadOptions::default().with_progress(move |progress| sink.lock().unwrap().push(progress));
    let compressed = gzip(text.as_bytes());
    MatrixMarketReader::from_bytes(&compressed, options).unwrap().read_csr::<f32, u32>().unwrap();
    let seen = seen.lock().unwrap();
    for (stage, total) in [(Stage::Decompress, compressed.len()), (Stage::Parse, text.len())] {
        let done: Vec<u64> = seen.iter().filter(|at| at.stage == stage).map(|at| at.done).collect();
        assert_eq!(done.iter().copied().max(), Some(total as u64), "{stage:?}");
        assert!(done.len() > 1, "{stage:?}");
    }
}

fn written(matrix: &Csr<f64>, options: WriteOptions) -> Result<String, MatrixMarketError> {
    let mut text = Vec::new();
    write_matrix_market_to(&mut text, matrix.view(), options)?;
    Ok(String::from_utf8(text).unwrap())
}

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
fn what_a_header_cannot_say_is_refused() {
    let refusal = |triplets: &[(usize, usize, f64)], rows, options: WriteOptions| {
        let matrix = Csr::from_triplets(rows, 3, triplets.iter().copied()).unwrap();
        written(&matrix, options).unwrap_err().to_string()
    };
    let symmetric = || WriteOptions::default().with_symmetry(Symmetry::Symmetric);
    let skew = || WriteOptions::default().with_symmetry(Symmetry::SkewSymmetric);
    let integer = || WriteOptions::default().with_field(Field::Integer);
    assert!(refusal(&[], 2, symmetric()).contains("is square, but this one is 2 x 3"));
    let lone = "row 1, column 2 has no mirror image, or is one";
    assert_eq!(refusal(&[(0, 1, 1.0)], 3, symmetric()), lone);
    assert_eq!(refusal(&[(1, 0, 1.0)], 3, symmetric()), lone);
    let differs = "row 1, column 2 differs from its mirror image";
    assert_eq!(refusal(&[(0, 1, 1.0), (1, 0, 1.5)], 3, symmetric()), differs);
    assert_eq!(refusal(&[(0, 1, 1.0), (1, 0, 1.0)], 3, skew()), differs);
    assert!(refusal(&[(2, 2, 0.0)], 3, skew()).contains("row 3, column 3 is on the diagonal"));
    for value in [0.5, f64::NAN, f64::INFINITY, 1e19, -0.0] {
        assert_eq!(refusal(&[(0, 1, value)], 3, integer()), "row 1, column 2 is not a 64-bit integer");
    }
    assert!(refusal(&[], 3, skew().with_field(Field::Pattern)).contains("skew-symmetric pattern"));
    let unsorted = Csr::try_new(1, 2, vec![0u32, 2], vec![1, 0], vec![1.0; 2]).unwrap();
    let error = written(&unsorted, WriteOptions::default().with_format(Format::Array)).unwrap_err();
    assert!(error.to_string().contains("row 0 is not canonical"), "{error}");
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

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    /// Every value there is, NaN apart, in any order of storage.
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
        // Sums that cancel leave zeros, which an array does not keep.
        let a = Csr::<f64>::from_triplets(size, size, a.iter().filter(|entry| entry.2 != 0.0)).unwrap();
        let symmetry = if skew { Symmetry::SkewSymmetric } else { Symmetry::Symmetric };
        let format = if array { Format::Array } else { Format::Coordinate };
        let text = written(&a, WriteOptions::default().with_symmetry(symmetry).with_format(format)).unwrap();
        prop_assert_eq!(read(&text).unwrap(), a);
    }

    /// Whatever the bytes, the reader answers.
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
