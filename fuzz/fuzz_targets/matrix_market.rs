//! Reads arbitrary bytes as a Matrix Market file: the reader does not panic, and accepted matrices survive
//! writing and reading.
#![no_main]

use evenpath::coo::Duplicates;
use evenpath::io::{Complex, MatrixMarketReader, ReadOptions, WriteOptions, write_matrix_market_to};
use evenpath::{Csr, Offset, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    round_trip::<f64, u32>(bytes);
    round_trip::<f32, u64>(bytes);
});

fn round_trip<V: Value, O: Offset>(bytes: &[u8]) {
    let options = ReadOptions::default()
        .with_complex(Complex::RealPart)
        .with_duplicates(Duplicates::Keep)
        .with_row_limit(1 << 16)
        .with_decompressed_limit(1 << 20);
    let Ok(reader) = MatrixMarketReader::from_bytes(bytes, options.clone()) else {
        return;
    };
    let Ok(coo) = reader.read_coo::<V>() else {
        return;
    };
    let Ok(mut csr) = reader.read_csr::<V, O>() else {
        return;
    };
    assert_eq!(
        (csr.nrows(), csr.ncols(), csr.nnz()),
        (coo.nrows(), coo.ncols(), coo.nnz())
    );

    let mut text = Vec::new();
    write_matrix_market_to(&mut text, csr.view(), WriteOptions::default()).unwrap();
    let again = MatrixMarketReader::from_bytes(&text, options)
        .unwrap()
        .read_csr::<V, O>()
        .unwrap();
    assert_same(&csr, &again);

    csr.canonicalize();
    csr.check_canonical().unwrap();
    let (rows, cols) = csr.shape();
    let (row_offsets, column_indices, values) = csr.into_parts();
    Csr::try_new(rows, cols, row_offsets, column_indices, values).unwrap();
}

/// Bitwise equal, except that all NaNs are equal.
fn assert_same<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) {
    assert_eq!(a.shape(), b.shape());
    assert_eq!(a.row_offsets(), b.row_offsets());
    assert_eq!(a.column_indices(), b.column_indices());
    for (&a, &b) in a.values().iter().zip(b.values()) {
        let (a, b) = (a.to_f64(), b.to_f64());
        assert!(
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            "{a} is read back as {b}"
        );
    }
}
