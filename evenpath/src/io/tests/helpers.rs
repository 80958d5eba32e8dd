//! Helpers for reading, refusing and writing.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Csr;
use crate::io::{
    Complex, MatrixMarketError, MatrixMarketReader, ReadOptions, WriteOptions, parse_matrix_market,
    write_matrix_market_to,
};

pub(super) type Triplets<V> = Vec<(usize, usize, V)>;

pub(super) fn read(text: &str) -> Result<Csr<f64>, MatrixMarketError> {
    parse_matrix_market(text.as_bytes())
}

pub(super) fn triplets(text: &str) -> Triplets<f64> {
    read(text).unwrap().iter().collect()
}

pub(super) fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

pub(super) fn real_part(text: &str) -> Triplets<f64> {
    let options = ReadOptions::default().with_complex(Complex::RealPart);
    let reader = MatrixMarketReader::from_bytes(text.as_bytes(), options).unwrap();
    reader.read_csr::<f64, u32>().unwrap().iter().collect()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn written(matrix: &Csr<f64>, options: WriteOptions) -> Result<String, MatrixMarketError> {
    let mut text = Vec::new();
    write_matrix_market_to(&mut text, matrix.view(), options)?;
    Ok(String::from_utf8(text).unwrap())
}
