//! C = αA + βB: the measured sums, their work, measurements and checks.

use std::collections::BTreeMap;
use std::error::Error;

use evenpath::spadd::SpaddMethod;
use evenpath::{Csr, Value};
use rayon::prelude::*;

use super::bench::{Bench, Measured, contender};
use crate::measure::{Work, median, times_ms};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Matrix added to a matrix A.
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
    pub(crate) fn of<V: Value>(self, a: &Csr<V>) -> Option<Csr<V>> {
        match self {
            Self::Itself => Some(a.clone()),
            Self::Transpose => {
                (a.nrows() == a.ncols()).then(|| a.transpose().expect("memory for a transpose"))
            }
            Self::Shifted => Some(shifted(a)),
        }
    }
}

/// A sum of A and a matrix that is made of A.
#[derive(Debug, Clone)]
pub(crate) struct SparseSum {
    pub(crate) addend: Addend,
    /// Methods by which the sum is computed in COO too.
    pub(crate) coo: Vec<SpaddMethod>,
}

impl From<Addend> for SparseSum {
    fn from(addend: Addend) -> Self {
        Self { addend, coo: Vec::new() }
    }
}

fn shifted<V: Value>(a: &Csr<V>) -> Csr<V> {
    let cols = a.ncols();
    let (mut columns, mut values) = (Vec::with_capacity(a.nnz()), Vec::with_capacity(a.nnz()));
    for row in a.iter_rows() {
        let (before, last): (Vec<_>, Vec<_>) =
            row.iter().partition(|&(column, _)| column as usize + 1 < cols);
        columns.extend(last.iter().map(|_| 0).chain(before.iter().map(|&(column, _)| column + 1)));
        values.extend(last.iter().chain(&before).map(|&(_, value)| value));
    }
    match Csr::try_new(a.nrows(), cols, a.row_offsets().to_vec(), columns, values) {
        Ok(shifted) => shifted,
        Err(error) => unreachable!("the columns are below {cols}: {error}"),
    }
}

/// At most three operations per nonzero of the result; the bytes of all three matrices.
fn work<V: Value>(a: &Csr<V>, b: &Csr<V>, result_nonzeros: usize) -> Work {
    let entry = (size_of::<V>() + size_of::<u32>()) as u64;
    let nonzeros = (a.nnz() + b.nnz() + result_nonzeros) as u64;
    let bytes = nonzeros * entry + 3 * (a.nrows() as u64 + 1) * size_of::<u32>() as u64;
    Work {
        operations: (2 * a.nnz() + b.nnz()) as u64,
        bytes,
        effective_bytes: bytes,
        counted_by: "every array once",
    }
}

/// A factor and its matrix.
pub(crate) type Term<'t, V> = (V, &'t Csr<V>);

/// The name of evenpath's method.
pub(crate) const MERGE_PATH: &str = "merge path";

/// Measures αA + βB, by evenpath and by the peers, including the pattern and memory for C; also of A and B in COO, by the methods of
/// `coo`.
///
/// # Errors
///
/// If there is not enough device memory, the device was lost, or the matrices cannot be added.
pub(crate) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    a: Term<'_, V>,
    b: Term<'_, V>,
    coo: &[SpaddMethod],
) -> Measured {
    let Bench { device, repetitions, .. } = *bench;
    let ((alpha, host_a), (beta, host_b)) = (a, b);
    let (device_a, device_b) = (device.upload(host_a)?, device.upload(host_b)?);
    let add = || device_a.spadd(alpha, &device_b, beta);
    let whole = times_ms(device, repetitions, || add().map(drop))?;
    let plan = device_a.plan_spadd(&device_b)?;
    let values = times_ms(device, repetitions, || plan.run(alpha, beta).map(drop))?;
    let info = plan.info()?;
    let own = Contender {
        values_ms: Some(median(&values)),
        bytes: Some(info.workspace_bytes),
        ..Contender::ran(OWN_NAME, MERGE_PATH, &whole, check(a, b, &add()?.download()?))
    };
    let mut ours = vec![own];
    for &method in coo {
        ours.push(measure_coo(bench, a, b, method)?);
    }
    let mut peers = Vec::new();
    bench.peers.spadd(a, b, repetitions, |run| peers.push(contender(run, |c| check(a, b, c))));
    let work = work(host_a, host_b, info.nnz);
    let more = BTreeMap::from([("nonzeros of C".to_owned(), info.nnz as f64)]);
    let summands = (host_a.nnz() + host_b.nnz()) as u64;
    Ok(Figures::new((summands, work.operations, work.bytes), ours, peers, more))
}

/// Measures αA + βB of COO matrices.
fn measure_coo<V: Value>(
    bench: &Bench<'_>,
    a: Term<'_, V>,
    b: Term<'_, V>,
    method: SpaddMethod,
) -> Result<Contender, Box<dyn Error>> {
    let ((alpha, host_a), (beta, host_b)) = (a, b);
    let (on_a, on_b) = (bench.device.upload(&host_a.to_coo()?)?, bench.device.upload(&host_b.to_coo()?)?);
    let add = || on_a.spadd_with(alpha, &on_b, beta, method);
    let times = match times_ms(bench.device, bench.repetitions, || add().map(drop)) {
        Ok(times) => times,
        Err(error) => return Ok(Contender::refused(OWN_NAME, method.to_string(), &error)),
    };
    let checked = check(a, b, &add()?.to_csr()?.download()?);
    let contender = Contender::ran(OWN_NAME, method.to_string(), &times, checked);
    Ok(Contender { format: Some("coo".into()), ..contender })
}

/// Checks that `c` is αA + βB, computed in f64: the pattern exactly, values within three roundings. The columns of the rows of A and
/// of B ascend.
///
/// # Errors
///
/// The first wrong row, as text.
pub(crate) fn check<V: Value>(
    (alpha, a): (V, &Csr<V>),
    (beta, b): (V, &Csr<V>),
    c: &Csr<V>,
) -> Result<(), String> {
    if c.shape() != a.shape() {
        return Err(format!("C is {} x {}", c.nrows(), c.ncols()));
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
    match (0..a.nrows()).into_par_iter().with_min_len(1 << 10).find_map_first(wrong) {
        None => Ok(()),
        Some(row) => Err(format!("row {row} of C is not the sum of the rows of A and B")),
    }
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
