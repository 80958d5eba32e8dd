//! Headers and entries, valid and invalid.

use super::helpers::{gzip, real_part, refusal, triplets};
use crate::Duplicates;
use crate::io::{
    MatrixMarketReader, ReadOptions, parse_matrix_market, read_matrix_market, read_matrix_market_part,
};

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
        assert!(refusal(&text).starts_with("line 1: the values are complex"), "{}", refusal(&text));
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
    for (size, values) in [("1 1", "0"), ("3 3", "0 1 2 0 3 0")] {
        let diagonal = refusal(&text("real", "skew-symmetric", size, values));
        assert!(diagonal.contains("below the diagonal, but the file has"), "{diagonal}");
    }
    let one_more = refusal(&text("real", "skew-symmetric", "3 3", "1 2 3 4"));
    assert_eq!(one_more, "line 6: more entries than the 3 announced");
    let long = refusal(&text("real", "symmetric", "2 2", "1 2 3 4"));
    assert_eq!(long, "line 6: more entries than the 3 announced");
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
fn special_values_must_be_spelled_out() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 5 5\n\
        1 1 inf\n1 2 -Infinity\n1 3 NaN\n1 4 -0\n1 5 1e-9999\n";
    let values: Vec<f64> = triplets(text).iter().map(|entry| entry.2).collect();
    assert_eq!(values[..2], [f64::INFINITY, f64::NEG_INFINITY]);
    assert!(values[2].is_nan());
    assert_eq!([values[3].to_bits(), values[4].to_bits()], [(-0.0f64).to_bits(), 0]);
}

#[test]
fn exponents_of_fortran_are_read() {
    let text = |value: &str| format!("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {value}\n");
    for (written, value) in [
        ("1.5D+02", 150.0),
        ("1d-3", 1e-3),
        ("-.5D0", -0.5),
        ("2.d1\t", 20.0),
        ("1D-9999", 0.0),
        ("+3d00", 3.0),
    ] {
        assert_eq!(triplets(&text(written)), [(0, 0, value)], "{written}");
    }
    for refused in ["1d", "d1", "1dd1", "1d1d1", "1d1.5", "infd", "nand1", "1de1", "1ed1"] {
        assert_eq!(refusal(&text(refused)), format!("line 3: expected a number, found `{refused}`"));
    }
    assert_eq!(refusal(&text("-1D400")), "line 3: `-1D400` is too large for f64");
    let array = "%%MatrixMarket matrix array complex general\n2 1\n1D0 2D0\n3d0 1d999\n";
    assert_eq!(real_part(array), [(0, 0, 1.0), (1, 0, 3.0)]);
    let integer = text("1d2").replace("real", "integer");
    assert_eq!(refusal(&integer), "line 3: expected an integer, found `1d2`");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = "\u{feff}%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n";
    assert_eq!(triplets(text), [(0, 0, 2.5)]);
    assert_eq!(parse_matrix_market::<f64, u32>(&gzip(text.as_bytes())).unwrap().values(), [2.5]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    std::fs::write(&path, text).unwrap();
    assert_eq!(read_matrix_market::<f64, u32>(&path).unwrap().values(), [2.5]);
    let part = read_matrix_market_part::<f64>(&path, &ReadOptions::default(), 0, 1).unwrap();
    assert_eq!(part.stored.values(), [2.5]);
    assert!(refusal(&format!("\u{feff}{text}")).contains("not a Matrix Market file"));
    assert!(refusal(&text.replace("1 1 1", "\u{feff}1 1 1")).contains("expected the number of rows"));
}

#[test]
fn bare_carriage_returns_are_named() {
    let text = "%%MatrixMarket matrix coordinate real general\n%\n2 2 2\n1 1 1\n2 2 2\n";
    let named = |line| {
        format!("line {line}: a line ends in a carriage return alone: end lines in a line feed, or in both")
    };
    assert_eq!(refusal(&text.replace('\n', "\r")), named(1));
    assert_eq!(refusal(&text.replace("2 2 2\n1", "2 2 2\r1")), named(3));
    assert_eq!(refusal(&text.replace("1 1 1\n", "1 1 1 \r ")), named(4));
    assert_eq!(
        refusal(&text.replace("1 1 1\n", "1 1 1\t2\r\n")),
        "line 4: expected the end of the line, found `2`"
    );
    assert_eq!(triplets(&text.replace('\n', "\r\n")).len(), 2);
    let array = "%%MatrixMarket matrix array real general\n2 1\n1\r2\r";
    assert_eq!(refusal(array), named(3));
}

#[test]
fn faults_are_named_with_their_line() {
    let body = |body: &str| refusal(&format!("%%MatrixMarket matrix coordinate real general\n%\n{body}"));
    let cases = [
        ("3 3 2\n1 1 1\n", "line 4: the file ends after 1 of 2 entries"),
        ("3 3 1\n1 1 1\n\n% c\n2 2 2\n", "line 7: more entries than the 1 announced"),
        ("3 3 1\n4 1 1\n", "line 4: row 4 is out of range: expected 1 to 3"),
        ("3 3 1\n1 0 1\n", "line 4: column 0 is out of range: expected 1 to 3"),
        (
            "3 3 1\n1 99999999999999999999999 1",
            "line 4: column 99999999999999999999999 is out of range: expected 1 to 3",
        ),
        (
            "3 3 1\n1 18446744073709551617 1",
            "line 4: column 18446744073709551617 is out of range: expected 1 to 3",
        ),
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
        ("", "line 3: expected the numbers of rows, columns and entries, found the end of the file"),
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
    // Between two f32. Rounded via f64, it would go down to the tie and then to even.
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
    assert_eq!(refusal("1.0"), "line 3: expected an integer, found `1.0`");
    assert_eq!(refusal("-"), "line 3: expected an integer, found `-`");
    assert_eq!(refusal("- 1"), "line 3: expected an integer, found `-`");
    assert_eq!(refusal(""), "line 3: expected an integer, found the end of the line");
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
    assert_eq!(rectangular, "line 2: a symmetric matrix must be square, but this one is 3 x 2");
    // Either triangle, even both, unless a position and its mirror image are both stored.
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
fn duplicates_follow_the_options() {
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
