//! Builds CSR matrices from arbitrary arrays: they are rejected and returned, or every operation on
//! them works.
#![no_main]

use evenpath::csr::CsrView;
use evenpath::Csr;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Arrays {
    rows: u8,
    cols: u8,
    /// True if lengths and offsets are used unchanged. Otherwise they are adjusted to be valid more often.
    raw: bool,
    row_offsets: Vec<u32>,
    column_indices: Vec<u32>,
    values: Vec<f64>,
}

fuzz_target!(|arrays: Arrays| {
    let Arrays {
        rows,
        cols,
        raw,
        mut row_offsets,
        mut column_indices,
        mut values,
    } = arrays;
    let (mut rows, cols) = (usize::from(rows), usize::from(cols));
    if !raw && !row_offsets.is_empty() {
        let nnz = column_indices.len();
        row_offsets
            .iter_mut()
            .for_each(|offset| *offset %= nnz as u32 + 1);
        row_offsets.sort_unstable();
        row_offsets[0] = 0;
        row_offsets.push(nnz as u32);
        rows = row_offsets.len() - 1;
        values.resize(nnz, 1.0);
        column_indices
            .iter_mut()
            .for_each(|column| *column %= cols as u32 + 1);
    }
    let given = (row_offsets.clone(), column_indices.clone(), values.len());
    let view =
        CsrView::try_new(rows, cols, &row_offsets, &column_indices, &values).map(|view| view.nnz());
    match Csr::try_new(
        rows,
        cols,
        row_offsets.clone(),
        column_indices.clone(),
        values.clone(),
    ) {
        Ok(csr) => {
            assert_eq!(view, Ok(csr.nnz()));
            exercise(csr);
        }
        Err(refused) => {
            assert_eq!(view.as_ref(), Err(refused.kind()));
            let (row_offsets, column_indices, values) = refused.into_parts();
            assert_eq!((row_offsets, column_indices, values.len()), given);
        }
    }
});

fn exercise(csr: Csr<f64>) {
    assert_eq!(csr.iter().count(), csr.nnz());
    assert!(
        csr.iter()
            .all(|(row, column, _)| row < csr.nrows() && column < csr.ncols())
    );
    let transpose = csr.transpose().expect("enough memory");
    assert_eq!(
        (transpose.nrows(), transpose.ncols(), transpose.nnz()),
        (csr.ncols(), csr.nrows(), csr.nnz())
    );
    assert!(csr.statistics().row_length_max <= csr.nnz());

    let mut canonical = csr.clone();
    canonical.canonicalize();
    canonical.check_canonical().unwrap();
    assert!(
        csr.iter()
            .all(|(row, column, _)| canonical.get(row, column).is_some())
    );
    assert_eq!(
        canonical.transpose().and_then(|t| t.transpose()).expect("enough memory").column_indices(),
        canonical.column_indices()
    );
    let wide = csr.clone().try_into_offsets::<u64>().unwrap();
    assert_eq!(
        wide.try_into_offsets::<u32>().unwrap().row_offsets(),
        csr.row_offsets()
    );
}
