//! Long and compressed texts, and files.

use std::sync::{Arc, Mutex};

use super::helpers::{gzip, read, refusal, triplets};
use crate::io::{
    MatrixMarketErrorKind, MatrixMarketReader, ReadOptions, Stage, parse_matrix_market, read_coo,
    read_matrix_market,
};

/// A text of several chunks, with occasional blank lines and comments.
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
        // The first of several errors is reported, whichever thread finds its error first.
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
    assert_eq!(reader.read_coo::<f64>().unwrap().nrows(), 4_000_000_000);
    let array = "%%MatrixMarket matrix array real general\n4000000000 4000000000\n1\n";
    assert!(refusal(array).contains("the file ends after 1 of 16000000000000000000 entries"));
    // Exactly as many rows as the limit allows.
    let tall = "%%MatrixMarket matrix coordinate real general\n5000 1 0\n";
    let read = |limit| {
        let options = ReadOptions::default().with_row_limit(limit);
        MatrixMarketReader::from_bytes(tall.as_bytes(), options).unwrap().read_csr::<f64, u32>()
    };
    assert_eq!(read(5000).unwrap().nrows(), 5000);
    assert!(matches!(read(4999).unwrap_err().kind(), MatrixMarketErrorKind::RowLimit { .. }));
}

#[test]
fn gzip_is_known_by_its_content() {
    let text = long_text(50_000);
    let expected = read(&text).unwrap();
    let compressed = gzip(text.as_bytes());
    assert_eq!(parse_matrix_market::<f64, u32>(&compressed).unwrap(), expected);

    // Two members, as in concatenated files.
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
fn data_after_gzip_must_be_zeros() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n";
    let compressed = gzip(text.as_bytes());
    let read = |tail: &[u8]| parse_matrix_market::<f64, u32>(&[&compressed, tail].concat());
    for tail in [&[][..], &[0], &[0; 5000], &gzip(b"% a second member\n"), &[gzip(b""), vec![0; 9]].concat()]
    {
        assert_eq!(read(tail).unwrap().values(), [2.5], "{} bytes", tail.len());
    }
    for tail in [&b"x"[..], &[0x1f], b"junk\n", &[0, 0, 1], &[vec![0; 9], gzip(b"\n")].concat()] {
        let error = read(tail).unwrap_err();
        assert!(
            matches!(error.kind(), MatrixMarketErrorKind::GzipTrailer { position, bytes }
                if (*position, *bytes) == (compressed.len(), tail.len())),
            "{error}"
        );
    }
    let cut = gzip(b"% a second member\n");
    let error = read(&cut[..cut.len() - 3]).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::Io(_)), "{error}");
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
    assert!(error.to_string().ends_with("bad.mtx:3: column 2 is out of range: expected 1 to 1"), "{error}");

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
