use std::path::{Path, PathBuf};

use evenpath::{Csr, Device, Offset};

use super::functions::open;
use super::solver::Cudss;
use super::stand_in::{FAILS, LIVE, NEXT_INFO, PHASES, functions};
use super::types::Phase;
use crate::direct::columns::Columns;
use crate::direct::options::Factorization;
use crate::error::Error;

/// Diagonally dominant and not symmetric, of three rows.
fn matrix<O: Offset>(factor: f64) -> Csr<f64, O> {
    let entries = [(0, 0, 4.0), (0, 2, 1.0), (1, 1, -3.0), (2, 0, 2.0), (2, 1, 1.0), (2, 2, 5.0)];
    let scaled = entries.map(|(row, column, value)| (row, column, factor * value));
    let a = Csr::from_triplets(3, 3, scaled).unwrap();
    let (offsets, columns, values) = a.into_parts();
    let offsets =
        offsets.into_iter().map(|offset: u32| O::try_from_usize(offset as usize).unwrap()).collect();
    Csr::try_new(3, 3, offsets, columns, values).unwrap()
}

fn phases() -> Vec<i32> {
    PHASES.with_borrow_mut(std::mem::take)
}

fn check<O: Offset>() {
    let device = Device::cpu();
    let on_host = matrix::<O>(1.0);
    let a = device.upload(&on_host).unwrap();
    let mut cudss = Cudss::analyze(functions(), &a, &on_host, Factorization::Lu).unwrap();
    assert_eq!((cudss.version(), phases()), (10_203, vec![3]));
    cudss.factorize(3, &a.values()).unwrap();
    assert_eq!((cudss.nonzeros(), phases()), (Some(9), vec![4]));

    // Two columns beside gaps: of (6, -3, 10), and of twice that.
    let b = device.upload(&[6.0, -3.0, 10.0, f64::NAN, 12.0, -6.0, 20.0]).unwrap();
    let mut x = device.upload(&[9.0; 8]).unwrap();
    let columns = |stride| Columns { rows: 3, count: 2, stride };
    cudss.solve((&b, columns(4)), (&mut x, columns(5))).unwrap();
    let x = x.download().unwrap();
    assert_eq!(x[3..5], [9.0; 2]);
    let row =
        |at: usize| [4.0 * x[at] + x[at + 2], -3.0 * x[at + 1], 2.0 * x[at] + x[at + 1] + 5.0 * x[at + 2]];
    for (at, factor) in [(0, 1.0), (5, 2.0)] {
        let error = row(at).into_iter().zip([6.0, -3.0, 10.0]).map(|(ax, b)| (ax - factor * b).abs());
        assert!(error.fold(0.0, f64::max) < 1e-13, "{x:?}");
    }
    assert_eq!(phases(), [0b11_1111_0000]);

    // New values keep the pivots until they are forgotten.
    a.set_values(matrix::<O>(2.0).values()).unwrap();
    assert!(cudss.has_pivots());
    cudss.factorize(3, &a.values()).unwrap();
    cudss.forget_pivots();
    cudss.factorize(3, &a.values()).unwrap();
    assert_eq!(phases(), [8, 4]);
    drop(cudss);
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn systems_are_solved_through_the_librarys_functions() {
    check::<u32>();
    check::<u64>();
}

#[test]
fn failures_are_named_and_end_all_objects() {
    let device = Device::cpu();
    let on_host = matrix::<u32>(1.0);
    let a = device.upload(&on_host).unwrap();
    let analyze = |factorization| Cudss::analyze(functions(), &a, &on_host, factorization);
    FAILS.set(Some(Phase::Analysis));
    let error = analyze(Factorization::Lu).err().unwrap();
    assert_eq!(error.to_string(), "cuDSS: `cudssExecute` answered 5, execution failed");
    assert_eq!(LIVE.get(), 0);

    FAILS.set(Some(Phase::Factorization));
    let mut cudss = analyze(Factorization::Lu).unwrap();
    assert!(matches!(cudss.factorize(3, &a.values()), Err(Error::Library { .. })));
    assert!(!cudss.has_pivots());
    FAILS.set(None);
    NEXT_INFO.set(2);
    let error = cudss.factorize(3, &a.values()).unwrap_err();
    assert_eq!(error.to_string(), "a row has no pivot: the matrix is singular");
    let mut cholesky = analyze(Factorization::Cholesky).unwrap();
    let error = cholesky.factorize(3, &a.values()).unwrap_err();
    assert_eq!(error.to_string(), "the pivot of a row is not positive: the matrix is not positive definite");
    NEXT_INFO.set(0);
    cholesky.factorize(3, &a.values()).unwrap();
    drop((cudss, cholesky));
    assert_eq!(LIVE.get(), 0);
}

#[test]
fn libraries_that_cannot_be_used_are_named() {
    let missing = PathBuf::from("/nowhere/libcudss.so.1");
    for reason in
        [open(Some(&missing), &[]).err().unwrap(), open(None, std::slice::from_ref(&missing)).err().unwrap()]
    {
        assert!(reason.contains("/nowhere/libcudss.so.1"), "{reason}");
    }
    // Any other library lacks the functions.
    let other = if cfg!(windows) { "kernel32.dll" } else { "libc.so.6" };
    let reason = open(Some(Path::new(other)), &[]).err().unwrap();
    assert!(reason.contains("cudssGetProperty"), "{reason}");
}
