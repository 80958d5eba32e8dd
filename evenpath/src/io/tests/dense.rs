//! Vectors and dense matrices.

use crate::io::{
    MatrixMarketErrorKind, MatrixMarketReader, ReadOptions, read_vector, write_dense, write_vector,
};

fn dense(text: &str) -> Vec<f64> {
    MatrixMarketReader::from_bytes(text.as_bytes(), ReadOptions::default()).unwrap().read_dense().unwrap()
}

#[test]
fn every_element_is_read() {
    let banner = |words: &str| format!("%%MatrixMarket matrix {words}\n");
    let array = banner("array real general");
    // Column by column; zeros keep their sign.
    assert_eq!(dense(&(array.clone() + "2 3\n1\n2\n0\n4\n5\n6d1\n")), [1.0, 2.0, 0.0, 4.0, 5.0, 60.0]);
    assert!(dense(&(array.clone() + "1 1\n-0\n"))[0].is_sign_negative());
    assert_eq!(dense(&(array.clone() + "0 3\n")), []);
    assert_eq!(dense(&(array + "3 0\n")), []);
    let coordinate = banner("coordinate real general");
    assert_eq!(dense(&(coordinate + "3 2 3\n3 1 2.5\n1 2 4\n3 1 0.5\n")), [0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);
    let symmetric = banner("array integer symmetric") + "2 2\n1\n2\n3\n";
    assert_eq!(dense(&symmetric), [1.0, 2.0, 2.0, 3.0]);
    let skew = banner("coordinate real skew-symmetric") + "2 2 1\n2 1 7\n";
    assert_eq!(dense(&skew), [0.0, 7.0, -7.0, 0.0]);
}

#[test]
fn a_short_file_allocates_no_large_matrix() {
    let text = b"%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 0\n";
    let reader = MatrixMarketReader::from_bytes(text, ReadOptions::default()).unwrap();
    let error = reader.read_dense::<f64>().unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::RowLimit { .. }), "{error}");
}

#[test]
fn vectors_are_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let long: Vec<f64> = (0..40_000).map(|at| 1.0 / (f64::from(at) - 777.5)).collect();
    for (name, vector) in
        [("a.mtx", &long[..]), ("b.mtx.gz", &long), ("c", &[]), ("d", &[-0.0, f64::INFINITY])]
    {
        let path = folder.path().join(name);
        write_vector(&path, vector).unwrap();
        let again: Vec<f64> = read_vector(&path).unwrap();
        assert!(again.iter().map(|x| x.to_bits()).eq(vector.iter().map(|x| x.to_bits())), "{name}");
    }
    let path = folder.path().join("two.mtx");
    write_dense(&path, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
    let reader = MatrixMarketReader::open(&path, ReadOptions::default()).unwrap();
    assert_eq!((reader.header().nrows, reader.header().ncols), (3, 2));
    assert_eq!(reader.read_dense::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let error = read_vector::<f32>(&path).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    assert!(
        error.to_string().ends_with("a vector has one row or one column, but this matrix is 3 x 2"),
        "{error}"
    );
    // A refused call leaves the file.
    let error = write_dense(&path, &[1.0_f32; 5], 3, 2).unwrap_err();
    assert!(error.to_string().ends_with("5 values are not those of a 3 x 2 matrix"), "{error}");
    assert_eq!(reader.header().nrows, 3);
    assert!(MatrixMarketReader::open(&path, ReadOptions::default()).is_ok());
}
