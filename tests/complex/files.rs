//! Matrix Market files of complex values.

use evenpath::error::MatrixError;
use evenpath::io::{
    self, Complex as Treatment, Field, Format, MatrixMarketErrorKind as Kind, MatrixMarketReader,
    ReadOptions, Symmetry, WriteOptions,
};
use evenpath::{Complex, Csr, Scalar};
use evenpath_tests::complex_rows;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

fn read<V: Scalar>(text: &str) -> Result<Csr<V>, io::MatrixMarketError> {
    io::parse_matrix_market(text.as_bytes())
}

fn write<V: Scalar>(a: &Csr<V>, options: WriteOptions) -> Result<String, io::MatrixMarketError> {
    let mut text = Vec::new();
    io::write_matrix_market_to(&mut text, a.view(), options)?;
    Ok(String::from_utf8(text).expect("digits"))
}

fn z(re: f64, im: f64) -> C64 {
    C64::new(re, im)
}

#[test]
fn every_field_is_read() {
    let complex =
        "%%MatrixMarket matrix coordinate complex general\n2 3 3\n1 1 1.5 -2\n2 3 0 1D-1\n1 2 -0.0 inf\n";
    let a: Csr<C64> = read(complex).expect("a matrix");
    assert_eq!(a.shape(), (2, 3));
    assert_eq!(a.values(), [z(1.5, -2.0), z(-0.0, f64::INFINITY), z(0.0, 0.1)]);
    let a: Csr<C32> = read(complex).expect("a matrix");
    assert_eq!(a.values()[2], C32::new(0.0, 0.1));
    let real = "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 1.5\n1 2 -2\n";
    assert_eq!(read::<C64>(real).expect("a matrix").values(), [z(1.5, 0.0), z(-2.0, 0.0)]);
    let integer = "%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 -7\n";
    assert_eq!(read::<C64>(integer).expect("a matrix").values(), [z(-7.0, 0.0)]);
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n";
    assert_eq!(read::<C64>(pattern).expect("a matrix").values(), [z(1.0, 0.0)]);
    let array = "%%MatrixMarket matrix array complex general\n2 1\n1 2\n0 -3\n";
    assert_eq!(read::<C64>(array).expect("a matrix").to_dense().expect("small"), [z(1.0, 2.0), z(0.0, -3.0)]);
}

#[test]
fn symmetries_are_expanded() {
    let file = |symmetry: &str, diagonal: &str| {
        format!("%%MatrixMarket matrix coordinate complex {symmetry}\n2 2 2\n1 1 {diagonal}\n2 1 3 4\n")
    };
    let dense = |text: String| read::<C64>(&text).expect("a matrix").to_dense().expect("small");
    assert_eq!(dense(file("symmetric", "1 2")), [z(1.0, 2.0), z(3.0, 4.0), z(3.0, 4.0), z(0.0, 0.0)]);
    assert_eq!(dense(file("hermitian", "1 0")), [z(1.0, 0.0), z(3.0, -4.0), z(3.0, 4.0), z(0.0, 0.0)]);
    assert_eq!(dense(file("skew-symmetric", "0 0")), [z(0.0, 0.0), z(-3.0, -4.0), z(3.0, 4.0), z(0.0, 0.0)]);
    let error = read::<C64>(&file("hermitian", "1 2")).expect_err("not real");
    assert_eq!(
        error.to_string(),
        "line 3: the diagonal of a Hermitian matrix is real, but row 1 has an imaginary part there"
    );
    assert!(matches!(
        read::<C64>(&file("skew-symmetric", "0 1")).expect_err("not 0").kind(),
        Kind::SkewDiagonal { row: 1 }
    ));
    let array = "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n3 4\n5 0\n";
    let expected = [z(1.0, 0.0), z(3.0, -4.0), z(3.0, 4.0), z(5.0, 0.0)];
    assert_eq!(dense(array.into()), expected);
    let error = read::<C64>(&array.replace("5 0", "5 1")).expect_err("not real");
    assert_eq!((error.line(), matches!(error.kind(), Kind::HermitianDiagonal { row: 2 })), (Some(5), true));
}

#[test]
fn real_types_take_the_real_part_or_refuse() {
    let text = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 5\n2 1 3 4\n";
    assert!(matches!(read::<f64>(text).expect_err("complex").kind(), Kind::Complex));
    let options = ReadOptions::default().with_complex(Treatment::RealPart);
    let reader = MatrixMarketReader::from_bytes(text.as_bytes(), options).expect("a header");
    let a: Csr<f64> = reader.read_csr().expect("a matrix");
    assert_eq!(a.to_dense().expect("small"), [1.0, 3.0, 3.0, 0.0]);
}

#[test]
fn invalid_entries_are_named() {
    let file = |entry: &str| format!("%%MatrixMarket matrix coordinate complex general\n1 1 1\n{entry}\n");
    for (entry, message) in [
        ("1 1 1.0", "line 3: expected a number, found the end of the line"),
        ("1 1 1.0 x", "line 3: expected a number, found `x`"),
        ("1 1 1.0 1e99", "line 3: `1e99` is too large for f32"),
        ("1 1 1.0 2.0 3.0", "line 3: expected the end of the line, found `3.0`"),
    ] {
        assert_eq!(read::<C32>(&file(entry)).expect_err("invalid").to_string(), message);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let as_complex = || WriteOptions::default().with_field(Field::Complex);
    let mut a: Csr<C64> = complex_rows(37, &[3, 0, 1, 30, 0, 7]);
    a.canonicalize();
    a.values_mut()[0] = z(f64::NEG_INFINITY, 1e-310);
    a.values_mut()[1] = z(-0.0, f64::MAX);
    assert_eq!(read::<C64>(&write(&a, as_complex()).expect("written")).expect("read"), a);
    let text = write(&a, as_complex().with_format(Format::Array)).expect("written");
    assert_eq!(read::<C64>(&text).expect("read").to_dense(), a.to_dense());
    let narrow: Csr<C32> = a.into_values();
    assert_eq!(read::<C32>(&write(&narrow, as_complex()).expect("written")).expect("read"), narrow);
    let small = Csr::from_triplets(1, 2, [(0, 1, z(0.5, -2.0))]).expect("inside");
    let text = "%%MatrixMarket matrix coordinate complex general\n1 2 1\n1 2 0.5 -2.0\n";
    assert_eq!(write(&small, as_complex()).expect("written"), text);
}

#[test]
fn symmetries_are_written_and_checked() {
    let options = |symmetry| WriteOptions::default().with_field(Field::Complex).with_symmetry(symmetry);
    let hermitian = [(0, 0, z(1.0, 0.0)), (0, 1, z(3.0, -4.0)), (1, 0, z(3.0, 4.0))];
    let a = Csr::from_triplets(2, 2, hermitian).expect("inside");
    let text = write(&a, options(Symmetry::Hermitian)).expect("written");
    assert_eq!(text, "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1.0 0.0\n2 1 3.0 4.0\n");
    assert_eq!(read::<C64>(&text).expect("read"), a);
    let refused = |a: &Csr<C64>, options| write(a, options).expect_err("not so").to_string();
    assert_eq!(refused(&a, options(Symmetry::Symmetric)), "row 1, column 2 differs from its mirror image");
    let mut off = a.clone();
    off.values_mut()[0] = z(1.0, 1.0);
    assert_eq!(
        refused(&off, options(Symmetry::Hermitian)),
        "row 1, column 1 is on the diagonal of a Hermitian matrix, and has an imaginary part"
    );
    let symmetric = Csr::from_triplets(2, 2, [(0, 1, z(3.0, 4.0)), (1, 0, z(3.0, 4.0))]).expect("inside");
    let text = write(&symmetric, options(Symmetry::Symmetric)).expect("written");
    assert_eq!(read::<C64>(&text).expect("read"), symmetric);
    assert_eq!(
        refused(&symmetric, options(Symmetry::Hermitian)),
        "row 1, column 2 differs from its mirror image"
    );
    assert!(refused(&symmetric, options(Symmetry::SkewSymmetric)).contains("differs"));
    let skew = Csr::from_triplets(2, 2, [(0, 1, z(-3.0, -4.0)), (1, 0, z(3.0, 4.0))]).expect("inside");
    let text = write(&skew, options(Symmetry::SkewSymmetric)).expect("written");
    assert_eq!(read::<C64>(&text).expect("read"), skew);
}

/// An imaginary part is never dropped.
#[test]
fn other_fields_need_real_values() {
    let a = Csr::from_triplets(1, 2, [(0, 0, z(2.0, 0.0)), (0, 1, z(1.0, 1.0))]).expect("inside");
    let refused =
        |field| write(&a, WriteOptions::default().with_field(field)).expect_err("complex").to_string();
    assert_eq!(
        refused(Field::Real),
        "row 1, column 2 has an imaginary part: write the matrix with Field::Complex"
    );
    assert_eq!(refused(Field::Integer), "row 1, column 2 is not a 64-bit integer");
    let a = Csr::from_triplets(1, 2, [(0, 0, z(2.0, 0.0)), (0, 1, z(1.0, 0.0))]).expect("inside");
    let end = |field, end: &str| {
        let text = write(&a, WriteOptions::default().with_field(field)).expect("real");
        assert!(text.ends_with(end), "{text}");
    };
    end(Field::Real, "\n1 1 2.0\n1 2 1.0\n");
    end(Field::Integer, "\n1 1 2\n1 2 1\n");
    end(Field::Pattern, "\n1 1\n1 2\n");
}

#[test]
fn vectors_and_files() {
    let folder = std::env::temp_dir().join(format!("evenpath-complex-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("x.mtx.gz");
    let x = [z(1.0, -2.0), z(0.0, 0.0), z(-0.5, 3.0)];
    io::write_vector(&path, &x).expect("written");
    assert_eq!(io::read_vector::<C64>(&path).expect("read"), x);
    assert!(matches!(io::read_vector::<f64>(&path).expect_err("complex").kind(), Kind::Complex));
    let a: Csr<C64> = complex_rows(9, &[3, 0, 2]);
    let path = folder.join("a.mtx");
    io::write_matrix_market(&path, a.view(), WriteOptions::default().with_field(Field::Complex))
        .expect("written");
    let coo = io::read_coo::<C64>(&path).expect("read");
    assert_eq!(coo.to_csr(evenpath::coo::Duplicates::Keep).expect("memory"), a);
    let parts: Vec<_> = (0..2)
        .map(|part| {
            io::read_matrix_market_part::<C64>(&path, &ReadOptions::default(), part, 2).expect("a part")
        })
        .collect();
    let values: Vec<C64> = parts.iter().flat_map(|part| part.stored.values().to_vec()).collect();
    assert_eq!(values, a.values());
    std::fs::remove_dir_all(&folder).expect("removed");
    let out_of_range = Csr::from_triplets(1, 1, [(0, 1, z(1.0, 1.0))]);
    assert!(matches!(out_of_range, Err(MatrixError::ColumnOutOfRange { .. })));
}
