//! y = Ax: what it has to do, measuring it, and whether a result is right.

use evenpath::{Csr, Device, Offset, OpError, SpmvOptions, SpmvPlanInfo, Value};

use crate::measure::{Measurement, Work, times_ms};

/// Two operations a nonzero; the bytes of matrix, x and y. The effective bytes are those that merge-spmv counts: for
/// each nonzero its value, its column and one element of x; for each row its offset and one element of y.
pub fn work<V: Value, O: Offset>(matrix: &Csr<V, O>) -> Work {
    let (rows, cols, nnz) = (matrix.rows() as u64, matrix.cols() as u64, matrix.nnz() as u64);
    let (value, offset, column) = (size_of::<V>() as u64, size_of::<O>() as u64, size_of::<u32>() as u64);
    Work {
        operations: 2 * nnz,
        bytes: nnz * (value + column) + (rows + 1) * offset + (rows + cols) * value,
        effective_bytes: nnz * (2 * value + column) + rows * (offset + value),
        counted_by: "merge-spmv",
    }
}

/// Measures y = Ax: times, the plan, and the result.
///
/// # Errors
///
/// If the device has not the memory or the method, or was lost.
pub fn measure<V: Value, O: Offset>(
    device: &Device,
    matrix: &Csr<V, O>,
    x: &[V],
    options: SpmvOptions,
    repetitions: usize,
) -> Result<(Measurement, SpmvPlanInfo, Vec<V>), OpError> {
    let a = device.upload(matrix)?;
    let device_x = device.upload_slice(x)?;
    // Filled with what must not come out again.
    let mut y = device.upload_slice(&vec![V::from_f64(f64::NAN); matrix.rows()])?;
    let plan = a.plan_spmv(options)?;
    let times = times_ms(device, repetitions, || plan.run(V::ONE, &device_x, V::ZERO, &mut y))?;
    Ok((Measurement::new(work(matrix), &times), plan.info()?, y.to_vec()?))
}

/// Whether `y` is Ax, computed in f64 from the triplets. An element of a row of n nonzeros may be off by
/// (n + 1)·ε·Σ|a||x|, what rounding in any order can come to here and there, and by n times what is lost where a
/// product underflows. Where Σ|a||x| is out of the type's range, so may be the element.
///
/// # Errors
///
/// The first element that is further off, as text; or that the lengths are wrong.
pub fn check<V: Value, O: Offset>(matrix: &Csr<V, O>, x: &[V], y: &[V]) -> Result<(), String> {
    if (x.len(), y.len()) != (matrix.cols(), matrix.rows()) {
        return Err(format!("{} elements of x and {} of y", x.len(), y.len()));
    }
    let mut rows = vec![Row::default(); matrix.rows()];
    for (row, col, value) in matrix.iter() {
        let product = value.to_f64() * x[col].to_f64();
        rows[row].sum += product;
        rows[row].magnitude += product.abs();
        rows[row].nonzeros += 1;
    }
    let wrong = rows.iter().zip(y).position(|(row, y)| !row.agrees(*y));
    wrong.map_or(Ok(()), |row| {
        let (expected, bound) = (rows[row].sum, rows[row].bound::<V>());
        Err(format!("y[{row}] is {}, not {expected} within {bound:.1e}", y[row]))
    })
}

/// A row times x.
#[derive(Clone, Default)]
struct Row {
    /// Σax.
    sum: f64,
    /// Σ|a||x|.
    magnitude: f64,
    nonzeros: u64,
}

/// ε, the smallest normal number, the largest number.
fn limits<V: Value>() -> (f64, f64, f64) {
    match size_of::<V>() {
        4 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE, f64::MAX),
    }
}

impl Row {
    fn bound<V: Value>(&self) -> f64 {
        let (epsilon, min_positive, _) = limits::<V>();
        (self.nonzeros + 1) as f64 * epsilon * self.magnitude + self.nonzeros as f64 * epsilon * min_positive
    }

    /// Infinite and NaN only where that is the sum, or the range is too small for it.
    fn agrees<V: Value>(&self, actual: V) -> bool {
        let (_, _, max) = limits::<V>();
        let actual = actual.to_f64();
        if self.sum.is_finite() {
            let overflow = !actual.is_finite() && self.magnitude > max;
            overflow || (actual - self.sum).abs() <= self.bound::<V>()
        } else {
            actual.to_bits() == self.sum.to_bits() || (actual.is_nan() && self.sum.is_nan())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Csr<f64> {
        Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap()
    }

    #[test]
    fn work_counts_every_array() {
        let work = work(&matrix());
        assert_eq!(work.operations, 6);
        assert_eq!(work.bytes, 3 * 12 + 4 * 4 + (3 + 2) * 8);
        assert_eq!(work.effective_bytes, 3 * 20 + 3 * 12);
    }

    #[test]
    fn check_tells_rounding_from_error() {
        let (a, x) = (matrix(), [1.0, 0.25]);
        assert_eq!(check(&a, &x, &[2.25, 0.0, -1.0]), Ok(()));
        assert_eq!(check(&a, &x, &[2.25 * (1.0 + f64::EPSILON), 0.0, -1.0]), Ok(()));
        for wrong in [
            [2.25 + 1e-14, 0.0, -1.0],
            [2.25, 1e-300, -1.0],
            [2.25, 0.0, f64::NAN],
            [f64::INFINITY, 0.0, -1.0],
        ] {
            assert!(check(&a, &x, &wrong).is_err(), "{wrong:?}");
        }
        assert!(check(&a, &x, &[2.25, 0.0]).is_err());
    }

    #[test]
    fn check_follows_infinity_and_nan() {
        let (a, infinity) = (matrix(), f64::INFINITY);
        assert_eq!(check(&a, &[infinity, 1.0], &[infinity, 0.0, -4.0]), Ok(()));
        assert!(check(&a, &[infinity, 1.0], &[-infinity, 0.0, -4.0]).is_err());
        assert!(check(&a, &[infinity, 1.0], &[1.0, 0.0, -4.0]).is_err());
        assert_eq!(check(&a, &[f64::NAN, 1.0], &[f64::NAN, 0.0, -4.0]), Ok(()));
        assert!(check(&a, &[f64::NAN, 1.0], &[0.0, 0.0, -4.0]).is_err());
    }

    #[test]
    fn check_knows_the_range_of_the_type() {
        let a = Csr::<f32>::from_triplets(1, 2, [(0, 0, 3e38), (0, 1, 3e38)]).unwrap();
        assert_eq!(check(&a, &[1.0, 1.0], &[f32::INFINITY]), Ok(()));
        assert!(check(&a, &[0.5, 0.5], &[f32::INFINITY]).is_err());
    }
}
