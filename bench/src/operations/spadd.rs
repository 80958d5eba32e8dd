//! C = αA + βB: the measured sums, their work, measurements and checks.

use evenpath::error::OpError;
use evenpath::{Csr, Device, Offset, Value};
use rayon::prelude::*;

use crate::measure::{Measurement, Repetitions, Work, median, times_ms};
use crate::peers::PeerValue;
use crate::peers::cusparse::{Cusparse, SpaddRun};

/// What is added to a matrix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Addend {
    /// A itself: every nonzero is one of a pair.
    Itself,
    /// Aᵀ, of square matrices.
    Transpose,
    /// A with every column moved one to the right, the last to the front.
    Shifted,
}

impl Addend {
    /// All addends.
    pub(crate) const ALL: [Self; 3] = [Self::Itself, Self::Transpose, Self::Shifted];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Transpose => "transpose",
            Self::Shifted => "shifted",
        }
    }

    /// The matrix to add to `a`, which must be canonical; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If there is no memory for the transpose.
    pub(crate) fn of<V: Value, O: Offset>(self, a: &Csr<V, O>) -> Option<Csr<V, O>> {
        match self {
            Self::Itself => Some(a.clone()),
            Self::Transpose => (a.rows() == a.cols()).then(|| a.transpose().expect("memory for a transpose")),
            Self::Shifted => Some(shifted(a)),
        }
    }
}

fn shifted<V: Value, O: Offset>(a: &Csr<V, O>) -> Csr<V, O> {
    let cols = a.cols();
    let (mut columns, mut values) = (Vec::with_capacity(a.nnz()), Vec::with_capacity(a.nnz()));
    for row in a.iter_rows() {
        let (before, last): (Vec<_>, Vec<_>) =
            row.iter().partition(|&(column, _)| column as usize + 1 < cols);
        columns.extend(last.iter().map(|_| 0).chain(before.iter().map(|&(column, _)| column + 1)));
        values.extend(last.iter().chain(&before).map(|&(_, value)| value));
    }
    match Csr::try_new(a.rows(), cols, a.row_offsets().to_vec(), columns, values) {
        Ok(shifted) => shifted,
        Err(error) => unreachable!("the columns are below {cols}: {error}"),
    }
}

/// A library's figures for a sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerSum {
    /// Median milliseconds of the whole sum, in allocated memory.
    pub(crate) ms: f64,
    /// The same for its columns and values, given the row offsets.
    pub(crate) values_ms: f64,
    /// Bytes of workspace that the library requested.
    pub(crate) workspace_bytes: usize,
}

/// At most three operations per nonzero of the result; the bytes of all three matrices.
pub(crate) fn work<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>, result_nonzeros: usize) -> Work {
    let entry = (size_of::<V>() + size_of::<u32>()) as u64;
    let nonzeros = (a.nnz() + b.nnz() + result_nonzeros) as u64;
    let bytes = nonzeros * entry + 3 * (a.rows() as u64 + 1) * size_of::<O>() as u64;
    Work {
        operations: (2 * a.nnz() + b.nnz()) as u64,
        bytes,
        effective_bytes: bytes,
        counted_by: "every array once",
    }
}

/// The measurements of a sum.
pub(crate) struct Measured<V: Value, O: Offset> {
    /// The whole sum: pattern, allocation, values.
    pub(crate) whole: Measurement,
    /// Only the values, given the pattern.
    pub(crate) values: Measurement,
    /// Bytes that a plan holds, besides the result.
    pub(crate) workspace_bytes: u64,
    /// The result.
    pub(crate) result: Csr<V, O>,
}

/// Measures αA + βB, including allocation.
///
/// # Errors
///
/// If there is not enough device memory, the device was lost, or the matrices cannot be added.
pub(crate) fn measure<V: Value, O: Offset>(
    device: &Device,
    (alpha, a): (V, &Csr<V, O>),
    (beta, b): (V, &Csr<V, O>),
    repetitions: Repetitions,
) -> Result<Measured<V, O>, OpError> {
    let (device_a, device_b) = (device.upload(a)?, device.upload(b)?);
    let whole = times_ms(device, repetitions, || device_a.add(alpha, &device_b, beta).map(drop))?;
    let plan = device_a.plan_add(&device_b)?;
    let values = times_ms(device, repetitions, || plan.run(alpha, beta).map(drop))?;
    let work = work(a, b, plan.info()?.nnz);
    Ok(Measured {
        whole: Measurement::new(work, &whole),
        values: Measurement::new(work, &values),
        workspace_bytes: plan.info()?.workspace_bytes,
        result: device_a.add(alpha, &device_b, beta)?.download()?,
    })
}

/// Checks that `c` is αA + βB, computed in f64: the pattern exactly, values within three roundings. The columns of the rows of A and
/// of B ascend.
///
/// # Errors
///
/// The first wrong row, as text.
pub(crate) fn check<V: Value, O: Offset>(
    (alpha, a): (V, &Csr<V, O>),
    (beta, b): (V, &Csr<V, O>),
    c: &Csr<V, O>,
) -> Result<(), String> {
    if (c.rows(), c.cols()) != (a.rows(), a.cols()) {
        return Err(format!("C is {} x {}", c.rows(), c.cols()));
    }
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let wrong = |row: usize| {
        let (Some(a), Some(b), Some(c)) = (a.row(row), b.row(row), c.row(row)) else { return None };
        let terms = |factor: V| move |(column, value): (u32, V)| (column, factor.to_f64() * value.to_f64());
        let (mut a, mut b) = (a.iter().map(terms(alpha)).peekable(), b.iter().map(terms(beta)).peekable());
        let is_right = c.iter().all(|(column, value)| {
            let (mut sum, mut magnitude, mut count) = (0.0, 0.0, 0);
            for (_, term) in std::iter::from_fn(|| a.next_if(|&(own, _)| own == column))
                .chain(std::iter::from_fn(|| b.next_if(|&(own, _)| own == column)))
            {
                (sum, magnitude, count) = (sum + term, magnitude + term.abs(), count + 1);
            }
            let is_next = [a.peek(), b.peek()].into_iter().flatten().all(|&(next, _)| next > column);
            count > 0 && is_next && (value.to_f64() - sum).abs() <= 3.0 * epsilon * magnitude
        });
        (!is_right || a.next().is_some() || b.next().is_some()).then_some(row)
    };
    match (0..a.rows()).into_par_iter().with_min_len(1 << 10).find_map_first(wrong) {
        None => Ok(()),
        Some(row) => Err(format!("row {row} of C is not the sum of the rows of A and B")),
    }
}

/// The fastest sum with a correct result that cuSPARSE computes, of all its versions and algorithms. The reasons why others have
/// none are added to `failures`.
pub(crate) fn fastest_peer<V: PeerValue>(
    library: &Cusparse,
    a: (V, &Csr<V>),
    b: (V, &Csr<V>),
    repetitions: Repetitions,
    failures: &mut Vec<String>,
) -> Option<PeerSum> {
    let mut sums = Vec::new();
    library.measure_spadd(a, b, repetitions, |SpaddRun { version, algorithm, outcome }| {
        let checked = outcome.map_err(|error| error.to_string()).and_then(|sum| {
            check(a, b, &sum.result)?;
            let (ms, values_ms) = (median(&sum.whole_ms), median(&sum.values_ms));
            Ok(PeerSum { ms, values_ms, workspace_bytes: sum.workspace_bytes })
        });
        match checked {
            Ok(sum) => sums.push(sum),
            Err(reason) => failures.push(format!("cuSPARSE {version}, {algorithm}: {reason}")),
        }
    });
    sums.into_iter().min_by(|a, b| a.ms.total_cmp(&b.ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Csr<f64> {
        Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]).unwrap()
    }

    #[test]
    fn addends_are_what_they_are_called() {
        let a = matrix();
        let shifted = Addend::Shifted.of(&a).unwrap();
        assert_eq!(shifted.to_dense().unwrap(), [2.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
        assert!(shifted.is_canonical());
        assert_eq!(Addend::Itself.of(&a).unwrap(), a);
        assert!(Addend::Transpose.of(&a).is_none());
    }

    #[test]
    fn work_counts_every_array() {
        let work = work(&matrix(), &matrix(), 5);
        assert_eq!((work.operations, work.bytes), (9, (3 + 3 + 5) * 12 + 3 * 3 * 4));
    }

    #[test]
    fn check_finds_errors() {
        let (a, b) = (matrix(), Addend::Shifted.of(&matrix()).unwrap());
        let right =
            Csr::from_triplets(2, 3, [(0, 0, 5.0), (0, 1, 2.0), (0, 2, 2.0), (1, 1, 3.0), (1, 2, 6.0)]);
        let right: Csr<f64> = right.unwrap();
        assert_eq!(check((1.0, &a), (2.0, &b), &right), Ok(()));
        for at in 0..right.nnz() {
            let mut wrong = right.clone();
            wrong.values_mut()[at] += 1e-13;
            assert!(check((1.0, &a), (2.0, &b), &wrong).is_err(), "{at}");
            wrong.values_mut()[at] = f64::NAN;
            assert!(check((1.0, &a), (2.0, &b), &wrong).is_err(), "{at}");
        }
        assert!(check((1.0, &a), (2.0, &b), &a).is_err(), "entries are missing");
        assert!(check((1.0, &a), (0.0, &a), &right).is_err(), "there are too many");
    }
}
