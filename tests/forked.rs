//! A process forked after its parent used the CPU has none of its threads: operations fail, and none hangs.

#![allow(clippy::float_cmp)] // Exact results are expected.
#![cfg(unix)]

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evenpath::error::{DeviceError, MatrixError, OpError};
use evenpath::io::{MatrixMarketErrorKind, WriteOptions, parse_matrix_market, write_matrix_market_to};
use evenpath::sort::{self, SortOptions};
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, HiSparse, hisparse, vector};

const VARIABLE: &str = "EVENPATH_TEST_FORK";
const NAME: &str = "forked::operations_report_missing_threads";

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: i32) -> !;
}

/// Runs itself in a separate process, which forks, because this one has other tests' threads.
#[test]
fn operations_report_missing_threads() {
    if let Ok(used) = std::env::var(VARIABLE) {
        return fork_and_try(&used);
    }
    for used in ["used before", "not used before"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(VARIABLE, used).stdout(Stdio::null());
        let (mut process, start) = (command.spawn().unwrap(), Instant::now());
        let status = loop {
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > Duration::from_mins(1) {
                process.kill().unwrap();
                panic!("the forked process hangs, {used}");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{used}: {status}");
    }
}

fn matrix() -> Csr<f64> {
    let rows = 50_000;
    Csr::from_triplets(rows, rows, (0..rows).map(|row| (row, (row * 7) % rows, 1.0))).unwrap()
}

fn fork_and_try(used: &str) {
    let objects = (used == "used before").then(Objects::new);
    // SAFETY: the child uses its only thread, an allocator that supports this, and ends by `_exit`.
    let child = unsafe { fork() };
    if child == 0 {
        // A child that hangs is ended by the signal. SAFETY: it only sets a timer of this process.
        unsafe { alarm(50) };
        let is_right = std::panic::catch_unwind(AssertUnwindSafe(|| match objects {
            Some(objects) => check_refusals(&objects).and_then(|()| check_own_pool(&objects)),
            None => Ok(Objects::new().product().map(drop)?),
        }));
        let status = match is_right {
            Ok(Ok(())) => 0,
            Ok(Err(error)) => {
                eprintln!("{error}");
                1
            }
            Err(_) => 2,
        };
        // SAFETY: it ends the process.
        unsafe { _exit(status) }
    }
    let mut status = 0;
    // SAFETY: `status` is an integer that is written to.
    let waited = unsafe { waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "{used}");
}

struct Objects {
    a: Csr<f64>,
    tree: HiSparse<f64>,
    device: Device,
}

impl Objects {
    fn new() -> Self {
        let a = matrix();
        let tree = a.to_hisparse(hisparse::Options::default()).unwrap();
        Self { a, tree, device: Device::cpu() }
    }

    fn product(&self) -> Result<Vec<f64>, OpError> {
        &self.a * &vec![1.0; self.a.ncols()]
    }
}

/// Every use of the CPU's threads is an error.
fn check_refusals(objects: &Objects) -> Result<(), Box<dyn Error>> {
    let Objects { a, tree, device } = objects;
    let mut y = vec![0.0; a.nrows()];
    let is_forked = |error: &OpError| {
        matches!(error, OpError::Device(DeviceError::Forked) | OpError::Matrix(MatrixError::Forked))
    };
    let x = vec![1.0; a.ncols()];
    let on_device = || -> Result<(), OpError> {
        let (a, x, mut y) = (device.upload(a)?, device.upload(&x)?, device.zeros(a.nrows())?);
        a.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)
    };
    let results: [(&str, Result<(), OpError>); 10] = [
        ("SpMV", objects.product().map(drop)),
        ("SpMV into", a.spmv(1.0, &x, 0.0, &mut y)),
        ("a product", (a * a).map(drop)),
        ("a sum", (a + a).map(drop)),
        ("a transpose", a.transpose().map(drop).map_err(OpError::from)),
        ("a tree's product", tree.spmv(1.0, &x, 0.0, &mut y)),
        ("a tree's sum", tree.spadd(tree).map(drop)),
        ("a matrix", Csr::<f64>::from_triplets(1, 1, [(0, 0, 1.0)]).map(drop).map_err(OpError::from)),
        ("the device", on_device()),
        (
            "a sort",
            device
                .upload(&[1_u32])
                .map_err(OpError::from)
                .and_then(|keys| sort::keys(&keys, SortOptions::default()).map(drop)),
        ),
    ];
    for (name, result) in results {
        match result {
            Err(error) if is_forked(&error) && error.to_string().contains("forked") => {}
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    let file = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
    for error in [
        parse_matrix_market::<f64, u32>(file).unwrap_err(),
        write_matrix_market_to(&mut Vec::new(), a.view(), WriteOptions::default()).unwrap_err(),
    ] {
        if !matches!(error.kind(), MatrixMarketErrorKind::Matrix(MatrixError::Forked)) {
            return Err(error.into());
        }
    }
    Ok(())
}

/// The remedy given in the error works.
fn check_own_pool(objects: &Objects) -> Result<(), Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let sum = pool.install(|| -> Result<f64, OpError> {
        let product = objects.device.upload(&objects.product()?)?;
        vector::dot(&product, &product)
    })?;
    if sum == 50_000.0 { Ok(()) } else { Err(format!("{sum}").into()) }
}
