//! C = AB: work, measurements and checks.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::spmm::SpmmOptions;
use evenpath::{Compute, Csr, DeviceDense, Layout, RealStorage, Scalar};
use rayon::prelude::*;

use super::bench::{Bench, Measured, contender};
use crate::input::random_vector;
use crate::measure::{Work, times_ms};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Approximate limit on the products that a check computes: for larger results it samples rows.
const CHECKED: usize = 1 << 22;

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

/// Two operations per nonzero and column; the bytes of the matrix, B and C. The effective bytes are a value, a column
/// index and a row of B per nonzero, and an offset and a row of C per row.
fn work<S: RealStorage>(matrix: &Csr<S>, columns: usize) -> Work {
    let (rows, cols, nnz) = (matrix.nrows() as u64, matrix.ncols() as u64, matrix.nnz() as u64);
    let entry = (size_of::<S>() + size_of::<u32>()) as u64;
    let (offset, dense_row) = (size_of::<u32>() as u64, (size_of::<S>() * columns) as u64);
    Work {
        operations: 2 * nnz * columns as u64,
        bytes: nnz * entry + (rows + 1) * offset + (rows + cols) * dense_row,
        effective_bytes: nnz * (entry + dense_row) + rows * (offset + dense_row),
        counted_by: "merge-spmv, a row of B for an element of x",
    }
}

/// Measures C = AB in both layouts, by evenpath and by the peers.
///
/// # Errors
///
/// If there is not enough device memory, or the device was lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, a: &Csr<V>, columns: usize) -> Measured {
    let b: Vec<V> = random_vector(a.ncols() * columns, 1);
    let ours = both_layouts(bench, a, &b, columns)?;
    let mut peers = Vec::new();
    for layout in LAYOUTS {
        bench.peers.spmm((a, &b), (columns, layout), bench.repetitions, |run| {
            peers.push(contender(run, |c| check(a, &b, c, columns, layout)));
        });
    }
    Ok(figures(a, columns, ours, peers))
}

/// Measures types that peers do not have.
///
/// # Errors
///
/// Those of [`measure`].
pub(crate) fn measure_own<S: RealStorage>(bench: &Bench<'_>, a: &Csr<S>, columns: usize) -> Measured {
    let b: Vec<S> = random_vector(a.ncols() * columns, 1);
    let ours = both_layouts(bench, a, &b, columns)?;
    Ok(figures(a, columns, ours, Vec::new()))
}

fn figures<S: RealStorage>(
    a: &Csr<S>,
    columns: usize,
    ours: Vec<Contender>,
    peers: Vec<Contender>,
) -> Figures {
    let (work, operands) = (work(a, columns), (a.nnz() * columns) as u64);
    let more = BTreeMap::from([("effective bytes".to_owned(), work.effective_bytes as f64)]);
    Figures::new((operands, work.operations, work.bytes), ours, peers, more)
}

/// Evenpath's products, with B and C in one layout, without gaps.
fn both_layouts<S: RealStorage>(
    bench: &Bench<'_>,
    matrix: &Csr<S>,
    b: &[S],
    columns: usize,
) -> Result<Vec<Contender>, OpError> {
    let device = bench.device;
    let a = device.upload(matrix)?;
    let mut contenders = Vec::new();
    for layout in LAYOUTS {
        let dense = |values: &[S], rows| {
            let values = device.upload(values)?;
            let dense = DeviceDense::try_new(values, rows, columns, layout);
            Ok::<_, OpError>(dense.unwrap_or_else(|_| unreachable!("there are {columns} elements a row")))
        };
        let b_dense = dense(b, matrix.ncols())?;
        // Filled with NaN, which must not remain in the result.
        let mut c = dense(&vec![S::from_f64(f64::NAN); matrix.nrows() * columns], matrix.nrows())?;
        let plan = a.plan_spmm(SpmmOptions::default().with_columns(columns).with_layout(layout))?;
        let (one, zero) = (Compute::<S>::ONE, Compute::<S>::default());
        let times = times_ms(device, bench.repetitions, || plan.run(one, &b_dense, zero, &mut c))?;
        let info = plan.info()?;
        let checked = check(matrix, b, &c.into_vec().download()?, columns, layout);
        contenders.push(Contender {
            setup_ms: Some(info.analysis_ms),
            bytes: Some(info.workspace_bytes),
            ..Contender::ran(OWN_NAME, layout.to_string(), &times, checked)
        });
    }
    Ok(contenders)
}

/// Checks that `c` is AB, computed in f64. The error bound of an element in a row of n nonzeros is (n + 1)·ε·Σ|a||b|, for
/// rounding in any order, plus the rounding to `T`. For large results, all columns of sampled rows are checked.
///
/// # Errors
///
/// The first element found beyond the bound, or wrong sizes, as text.
fn check<S: RealStorage, T: RealStorage>(
    matrix: &Csr<S>,
    b: &[T],
    c: &[T],
    columns: usize,
    layout: Layout,
) -> Result<(), String> {
    let (rows, cols) = matrix.shape();
    if (b.len(), c.len()) != (cols * columns, rows * columns) {
        return Err(format!("{} elements of B and {} of C", b.len(), c.len()));
    }
    let place = |row: usize, rows: usize, column: usize| match layout {
        Layout::RowMajor => row * columns + column,
        Layout::ColumnMajor => column * rows + row,
    };
    let step = (matrix.nnz() * columns).div_ceil(CHECKED).max(1);
    let computing = if size_of::<Compute<S>>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let (holding, smallest) = rounding(T::NAME);
    let check_row = |row: usize| {
        let Some(nonzeros) = matrix.row(row) else { return Ok(()) };
        for column in 0..columns {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for (col, value) in nonzeros.iter() {
                let product = value.to_f64() * b[place(col as usize, cols, column)].to_f64();
                sum += product;
                magnitude += product.abs();
            }
            let bound = (nonzeros.len() + 1) as f64 * computing * magnitude + holding * sum.abs();
            let found = c[place(row, rows, column)];
            // Not `>`, because NaN must fail.
            let close = (found.to_f64() - sum).abs() <= bound + smallest;
            if !close {
                return Err(format!("C[{row}][{column}] is {found}, not {sum} within {bound:.1e}"));
            }
        }
        Ok(())
    };
    (0..rows.div_ceil(step)).into_par_iter().with_min_len(64).try_for_each(|index| check_row(index * step))
}

/// The error of rounding to a 16-bit type: relative, and absolute near zero.
fn rounding(name: &str) -> (f64, f64) {
    match name {
        "f16" => (2.0_f64.powi(-11), 2.0_f64.powi(-25)),
        "bf16" => (2.0_f64.powi(-8), f64::from(f32::MIN_POSITIVE)),
        _ => (0.0, f64::from(f32::MIN_POSITIVE)),
    }
}

#[cfg(test)]
mod tests {
    use evenpath::f16;

    use super::*;

    fn matrix() -> Csr<f64> {
        Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap()
    }

    #[test]
    fn work_counts_every_array() {
        let work = work(&matrix(), 10);
        assert_eq!(work.operations, 60);
        assert_eq!(work.bytes, 3 * 12 + 4 * 4 + (3 + 2) * 80);
        assert_eq!(work.effective_bytes, 3 * 92 + 3 * 84);
    }

    #[test]
    fn check_follows_the_layout_and_finds_errors() {
        let a = matrix();
        let (b, c) = ([1.0, 10.0, 0.25, 0.5], [2.25, 20.5, 0.0, 0.0, -1.0, -2.0]);
        assert_eq!(check(&a, &b, &c, 2, Layout::RowMajor), Ok(()));
        assert!(check(&a, &b, &c, 2, Layout::ColumnMajor).is_err());
        let (b, c) = ([1.0, 0.25, 10.0, 0.5], [2.25, 0.0, -1.0, 20.5, 0.0, -2.0]);
        assert_eq!(check(&a, &b, &c, 2, Layout::ColumnMajor), Ok(()));
        for at in 0..6 {
            let mut wrong = c;
            wrong[at] += 1e-13;
            assert!(check(&a, &b, &wrong, 2, Layout::ColumnMajor).is_err(), "{at}");
            wrong[at] = f64::NAN;
            assert!(check(&a, &b, &wrong, 2, Layout::ColumnMajor).is_err(), "{at}");
        }
        assert!(check(&a, &b, &c[1..], 2, Layout::ColumnMajor).is_err());
    }

    #[test]
    fn check_allows_for_the_rounding_of_halves() {
        let a: Csr<f16> = Csr::<f64>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 1.0)]).unwrap().into_values();
        let b = [f16::from_f32(2048.0), f16::from_f32(1.0)];
        // 2049 lies between two f16 numbers.
        for (c, right) in [(2048.0, true), (2050.0, true), (2052.0, false)] {
            let found = check(&a, &b, &[f16::from_f32(c)], 1, Layout::RowMajor);
            assert_eq!(found.is_ok(), right, "{found:?}");
        }
    }
}
