//! Measures plans, and factorizations and solves by them.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::factorization::{Ic0Plan, Ilu0Plan};
use evenpath::triangular::{Diagonal, TriangularMethod, TriangularOptions};
use evenpath::{Csr, DeviceCsr};

use super::check::{self, Triangle};
use super::step::{Step, Triangular};
use super::system::{dominant, positive_definite};
use crate::input::random_vector;
use crate::measure::{Times, median, single_times_ms, times_ms};
use crate::operations::bench::{Bench, Measured, contender};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Runs of an analysis in the further figures.
pub(crate) const RUNS: u32 = 10;

/// Measures a step for the matrix of a system with the entries of a square one. The setup is the analysis of the pattern; the run of a
/// factorization is that with new values. Evenpath's leaves the matrix as it was; that of cuSPARSE writes to its place.
///
/// # Errors
///
/// If the matrix is not square, its factorization breaks down, there is not enough device memory, or the device was lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>, what: &Triangular) -> Measured {
    let mut figures = match what.step {
        Step::Ilu0 => measure_ilu0(bench, &dominant(matrix)?)?,
        Step::Ic0 => measure_ic0(bench, &positive_definite(matrix)?)?,
        Step::Lower => measure_solve(bench, &dominant(matrix)?, Triangle::L, &what.methods)?,
        Step::Upper => measure_solve(bench, &dominant(matrix)?, Triangle::U, &what.methods)?,
    };
    let Some(own) = figures.counted() else { return Ok(figures) };
    let (setup, total) = (own.setup_ms, own.total_ms(RUNS));
    let mut more = Vec::new();
    if let (Some(setup), Some(ms)) = (setup, figures.ms) {
        more.push(("analysis in runs".to_owned(), setup / ms));
    }
    for library in figures.libraries() {
        if let (Some(own), Some(peer)) = (total, figures.least_total_ms(&library, RUNS)) {
            more.push((format!("{library}, analysis and {RUNS} runs"), peer / own));
        }
    }
    figures.more.extend(more);
    Ok(figures)
}

/// Bytes of a matrix of `entries` entries.
fn matrix_bytes<V>(rows: usize, entries: u64) -> u64 {
    4 * (rows as u64 + 1) + entries * (size_of::<V>() + size_of::<u32>()) as u64
}

/// Adds the times and the bytes of a plan to a contender.
fn planned(setups: &Times, bytes: u64, ran: Contender) -> Contender {
    Contender { setup_ms: Some(median(setups)), bytes: Some(bytes), ..ran }
}

fn measure_ilu0<V: PeerValue>(bench: &Bench<'_>, host: &Csr<V>) -> Measured {
    let Bench { device, repetitions, .. } = *bench;
    let a = device.upload(host)?;
    let plan = Ilu0Plan::new(&a)?;
    let factors = plan.factorize(&a)?;
    let checked = check::lu(host, &factors.download()?);
    let times = times_ms(device, repetitions, || plan.factorize_into(&a, &factors))?;
    let setups = single_times_ms(device, repetitions, || Ilu0Plan::new(&a).map(drop))?;
    let ran = Contender::ran(OWN_NAME, "ilu0", &times, checked);
    let ours = planned(&setups, plan.info()?.workspace_bytes, ran);
    let mut peers = Vec::new();
    bench.peers.factorize(host, false, repetitions, |run| {
        peers.push(contender(run, |values: &Vec<V>| check::lu(host, &with_values(host, values)?)));
    });
    Ok(factorized(host, host.nnz() as u64, ours, peers))
}

fn measure_ic0<V: PeerValue>(bench: &Bench<'_>, host: &Csr<V>) -> Measured {
    let Bench { device, repetitions, .. } = *bench;
    let a = device.upload(host)?;
    let plan = Ic0Plan::new(&a)?;
    let factor = plan.factorize(&a)?;
    let checked = check::cholesky(host, &factor.download()?);
    let times = times_ms(device, repetitions, || plan.factorize_into(&a, &factor))?;
    let setups = single_times_ms(device, repetitions, || Ic0Plan::new(&a).map(drop))?;
    let ran = Contender::ran(OWN_NAME, "ic0", &times, checked);
    let ours = planned(&setups, plan.info()?.workspace_bytes, ran);
    let mut peers = Vec::new();
    bench.peers.factorize(host, true, repetitions, |run| {
        peers.push(contender(run, |values: &Vec<V>| check::cholesky(host, &with_values(host, values)?)));
    });
    Ok(factorized(host, factor.nnz() as u64, ours, peers))
}

/// The matrix with other values.
fn with_values<V: PeerValue>(matrix: &Csr<V>, values: &[V]) -> Result<Csr<V>, String> {
    let mut matrix = matrix.clone();
    if values.len() != matrix.nnz() {
        return Err(format!("{} values, not {}", values.len(), matrix.nnz()));
    }
    matrix.values_mut().copy_from_slice(values);
    Ok(matrix)
}

/// The figures of a factorization. The operations are a product and a difference for each entry of the rows of U that are read, which is
/// their maximum; the bytes are those of the matrix and of the values of the factors.
fn factorized<V: PeerValue>(host: &Csr<V>, entries: u64, own: Contender, peers: Vec<Contender>) -> Figures {
    let bytes = matrix_bytes::<V>(host.nrows(), host.nnz() as u64) + entries * size_of::<V>() as u64;
    let more = BTreeMap::from([("levels".to_owned(), Triangle::L.levels(host) as f64)]);
    Figures::new((host.nnz() as u64, 2 * check::operations(host), bytes), vec![own], peers, more)
}

fn measure_solve<V: PeerValue>(
    bench: &Bench<'_>,
    host: &Csr<V>,
    triangle: Triangle,
    methods: &[TriangularMethod],
) -> Measured {
    let Bench { device, repetitions, .. } = *bench;
    let factors = factorize(&device.upload(host)?)?;
    let host = factors.download()?;
    let b: Vec<V> = random_vector(host.nrows(), 1);
    let mut ours = Vec::new();
    for &method in methods {
        ours.push(measure_method(bench, (&factors, &host), (triangle, method), &b)?);
    }
    let mut peers = Vec::new();
    bench.peers.solve((&host, &b), (triangle.is_upper, triangle.is_unit), repetitions, |run| {
        peers.push(contender(run, |x: &Vec<V>| triangle.check(&host, &b, x)));
    });
    let entries = triangle.entries(&host);
    let bytes = matrix_bytes::<V>(host.nrows(), entries) + 2 * size_of_val(&b[..]) as u64;
    let more = BTreeMap::from([("levels".to_owned(), triangle.levels(&host) as f64)]);
    Ok(Figures::new((entries, 2 * entries, bytes), ours, peers, more))
}

/// The factors L and U of a matrix, as one.
fn factorize<V: PeerValue>(a: &DeviceCsr<V>) -> Result<DeviceCsr<V>, OpError> {
    Ilu0Plan::new(a)?.factorize(a)
}

fn measure_method<V: PeerValue>(
    bench: &Bench<'_>,
    (factors, host): (&DeviceCsr<V>, &Csr<V>),
    (triangle, method): (Triangle, TriangularMethod),
    b: &[V],
) -> Result<Contender, OpError> {
    let Bench { device, repetitions, .. } = *bench;
    let diagonal = if triangle.is_unit { Diagonal::Unit } else { Diagonal::NonUnit };
    let which = if triangle.is_upper {
        evenpath::triangular::Triangle::Upper
    } else {
        evenpath::triangular::Triangle::Lower
    };
    let options =
        TriangularOptions::default().with_triangle(which).with_diagonal(diagonal).with_method(method);
    let plan = factors.plan_triangular_solve(options)?;
    let right = device.upload(b)?;
    // NaN must not remain in the solution.
    let mut x = device.upload(&vec![V::from_f64(f64::NAN); b.len()])?;
    plan.solve(V::ONE, &right, &mut x)?;
    let checked = triangle.check(host, b, &x.download()?);
    let times = times_ms(device, repetitions, || plan.solve(V::ONE, &right, &mut x))?;
    let setups = single_times_ms(device, repetitions, || factors.plan_triangular_solve(options).map(drop))?;
    let info = plan.info()?;
    let ran = Contender::ran(OWN_NAME, method.to_string(), &times, checked);
    let chosen = (method == TriangularMethod::Auto).then(|| info.method.to_string());
    Ok(Contender { chosen, ..planned(&setups, info.workspace_bytes, ran) })
}
