//! AB at the nonzeros of C: work, measurements and checks.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::{Csr, DeviceDense, Layout, Value};
use rayon::prelude::*;

use super::bench::{Bench, Measured, contender};
use crate::input::random_vector;
use crate::measure::{Work, times_ms};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Approximate limit on the products that a check computes: for larger results it samples rows.
const CHECKED: usize = 1 << 22;

/// The layouts of B. A is stored by rows.
pub(super) const LAYOUTS: [Layout; 2] = [Layout::ColumnMajor, Layout::RowMajor];

/// Two operations per nonzero and column of A; the bytes of the pattern, the values, A and B. The effective bytes are a value, a column
/// index and a column of B per nonzero, and an offset and a row of A per row.
fn work<V: Value>(c: &Csr<V>, inner: usize) -> Work {
    let (rows, cols, nnz) = (c.nrows() as u64, c.ncols() as u64, c.nnz() as u64);
    let entry = (size_of::<V>() + size_of::<u32>()) as u64;
    let (offset, line) = (size_of::<u32>() as u64, (size_of::<V>() * inner) as u64);
    Work {
        operations: 2 * nnz * inner as u64,
        bytes: nnz * entry + (rows + 1) * offset + (rows + cols) * line,
        effective_bytes: nnz * (entry + line) + rows * (offset + line),
        counted_by: "a column of B for each nonzero",
    }
}

/// Measures AB at the nonzeros of C, with B in these layouts, by evenpath and by the peers.
///
/// # Errors
///
/// If there is not enough device memory, or the device was lost.
pub(crate) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    c: &Csr<V>,
    inner: usize,
    layouts: &[Layout],
) -> Measured {
    let a: Vec<V> = random_vector(c.nrows() * inner, 1);
    let b: Vec<V> = random_vector(c.ncols() * inner, 2);
    let mut ours = Vec::new();
    for &layout in layouts {
        ours.push(measure_own(bench, c, (&a, &b), (inner, layout))?);
    }
    let mut peers = Vec::new();
    for &layout in layouts {
        bench.peers.sddmm((c, &a, &b), (inner, layout), bench.repetitions, |run| {
            peers.push(contender(run, |values| check(c, (&a, &b), values, (inner, layout))));
        });
    }
    let (work, operands) = (work(c, inner), (c.nnz() * inner) as u64);
    let more = BTreeMap::from([("effective bytes".to_owned(), work.effective_bytes as f64)]);
    Ok(Figures::new((operands, work.operations, work.bytes), ours, peers, more))
}

/// Evenpath's product, without gaps between lines.
fn measure_own<V: PeerValue>(
    bench: &Bench<'_>,
    host: &Csr<V>,
    (a, b): (&[V], &[V]),
    (inner, layout): (usize, Layout),
) -> Result<Contender, OpError> {
    let device = bench.device;
    let c = device.upload(host)?;
    let dense = |values: &[V], (rows, cols), layout| {
        let dense = DeviceDense::try_new(device.upload(values)?, rows, cols, layout);
        Ok::<_, OpError>(dense.unwrap_or_else(|_| unreachable!("there are {rows} x {cols} elements")))
    };
    let a_dense = dense(a, (host.nrows(), inner), Layout::RowMajor)?;
    let b_dense = dense(b, (inner, host.ncols()), layout)?;
    // NaN must not remain in the result.
    c.set_values(&vec![V::from_f64(f64::NAN); host.nnz()])?;
    let plan = c.plan_sddmm()?;
    let times = times_ms(device, bench.repetitions, || plan.run(V::ONE, &a_dense, &b_dense, V::ZERO))?;
    let info = plan.info()?;
    let checked = check(host, (a, b), &c.values().download()?, (inner, layout));
    Ok(Contender {
        setup_ms: Some(info.analysis_ms),
        bytes: Some(info.workspace_bytes),
        ..Contender::ran(OWN_NAME, layout.to_string(), &times, checked)
    })
}

/// Checks that `values` are those of AB at the nonzeros of `c`, computed in f64. The error bound of a sum of n terms is
/// (n + 1)·ε·Σ|a||b|, for rounding in any order. For large results, all nonzeros of sampled rows are checked.
///
/// # Errors
///
/// The first value found beyond the bound, or a wrong number of them, as text.
fn check<V: Value>(
    c: &Csr<V>,
    (a, b): (&[V], &[V]),
    values: &[V],
    (inner, layout): (usize, Layout),
) -> Result<(), String> {
    if values.len() != c.nnz() {
        return Err(format!("{} values for {} nonzeros", values.len(), c.nnz()));
    }
    let place = |row: usize, column: usize| match layout {
        Layout::RowMajor => row * c.ncols() + column,
        Layout::ColumnMajor => column * inner + row,
    };
    let step = (c.nnz() * inner).div_ceil(CHECKED).max(1);
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let check_row = |row: usize| {
        let nonzeros = c.row_offsets()[row] as usize..c.row_offsets()[row + 1] as usize;
        for nonzero in nonzeros {
            let column = c.column_indices()[nonzero] as usize;
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for term in 0..inner {
                let product = a[row * inner + term].to_f64() * b[place(term, column)].to_f64();
                sum += product;
                magnitude += product.abs();
            }
            let bound = (inner + 1) as f64 * epsilon * magnitude + f64::from(f32::MIN_POSITIVE);
            let found = values[nonzero];
            // Not `>`, because NaN must fail.
            let close = (found.to_f64() - sum).abs() <= bound;
            if !close {
                return Err(format!("C[{row}][{column}] is {found}, not {sum} within {bound:.1e}"));
            }
        }
        Ok(())
    };
    (0..c.nrows().div_ceil(step))
        .into_par_iter()
        .with_min_len(64)
        .try_for_each(|index| check_row(index * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern() -> Csr<f64> {
        Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap()
    }

    #[test]
    fn work_counts_every_array() {
        let work = work(&pattern(), 10);
        assert_eq!(work.operations, 60);
        assert_eq!(work.bytes, 3 * 12 + 4 * 4 + (3 + 2) * 80);
        assert_eq!(work.effective_bytes, 3 * 92 + 3 * 84);
    }

    #[test]
    fn check_follows_the_layout_and_finds_errors() {
        let (c, a) = (pattern(), [1.0, 2.0, 0.0, 0.0, -1.0, 1.0]);
        let (b, values) = ([1.0, 10.0, 0.25, 0.5], [21.0, 1.25, 0.25]);
        assert_eq!(check(&c, (&a, &b), &values, (2, Layout::ColumnMajor)), Ok(()));
        assert!(check(&c, (&a, &b), &values, (2, Layout::RowMajor)).is_err());
        let b = [1.0, 0.25, 10.0, 0.5];
        assert_eq!(check(&c, (&a, &b), &values, (2, Layout::RowMajor)), Ok(()));
        for at in 0..3 {
            for error in [1e-13, f64::NAN] {
                let mut wrong = values;
                wrong[at] += error;
                assert!(check(&c, (&a, &b), &wrong, (2, Layout::RowMajor)).is_err(), "{at}");
            }
        }
        assert!(check(&c, (&a, &b), &values[1..], (2, Layout::RowMajor)).is_err());
    }
}
