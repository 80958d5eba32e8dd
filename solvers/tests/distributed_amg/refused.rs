//! Matrices, options and operands that are refused, and ranks that fail.

use evenpath::device::SimulatedOptions;
use evenpath::{Csr, Device};
use evenpath_distributed::{Cluster, DistributedCsr, Rank, RowPartition};
use evenpath_lab::Diagnostics;
use evenpath_solvers::{
    AmgCycle, AmgOptions, AmgSmoother, DistributedSmoothedAggregation, Preconditioner, Result,
};
use evenpath_tests::device_of_each_kind;

use super::support::{applied, deep, distributed, on_ranks};
use crate::support::problems::poisson;
use crate::support::vector;

/// Refuses a matrix with a message, the same on both ranks.
fn check_refused(device: &Device, a: &Csr<f64>, boundaries: [&[u64]; 2], options: AmgOptions, message: &str) {
    let mut cluster = Cluster::local([device.clone(), device.clone()]).unwrap();
    let found = cluster.run(|rank| -> Result<String> {
        let [rows, columns] = boundaries.map(|boundaries| RowPartition::from_boundaries(boundaries.to_vec()));
        let a = DistributedCsr::scatter_on(rank, 0, Some(a), &rows?, &columns?)?;
        let error = DistributedSmoothedAggregation::new(&a, options).map(drop).unwrap_err().to_string();
        rank.barrier()?; // the ranks are still in step
        Ok(error)
    });
    assert_eq!(found.unwrap(), [message, message], "{device}");
}

#[test]
fn all_ranks_refuse_the_same() {
    for device in device_of_each_kind() {
        let a = poisson::<f64>(&[8, 8], &[1.0; 2]);
        let even: [&[u64]; 2] = [&[0, 31, 64]; 2];
        let with = |row: usize, value: f64| {
            let mut changed = a.clone();
            let at = a.iter().position(|(of, column, _)| (of, column) == (row, row)).unwrap();
            changed.values_mut()[at] = value;
            changed
        };
        let hole = a.filter(|row, column, _| row != column || row != 40);
        for (a, message) in [
            (with(5, 0.0), "row 5 has no positive entry on the diagonal"),
            (with(50, -4.0), "row 50 has no positive entry on the diagonal"),
            (hole, "row 40 has no positive entry on the diagonal"),
            (with(60, f64::NAN), "the matrix has values that are not finite"),
            (with(3, f64::INFINITY), "the matrix has values that are not finite"),
        ] {
            check_refused(&device, &a, even, deep(), message);
        }
        let wide = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 1, 1.0)]).unwrap();
        check_refused(
            &device,
            &wide,
            [&[0, 1, 2], &[0, 1, 3]],
            deep(),
            "the matrix is 2 x 3, but must be square",
        );
        let message = "the columns is divided as 64 rows over 2 ranks at [0, 30, 64], but must be divided as 64 rows over 2 ranks at [0, 31, 64]";
        check_refused(&device, &a, [&[0, 31, 64], &[0, 30, 64]], deep(), message);
    }
}

#[test]
fn options_are_refused_on_all_ranks() {
    let (device, a) = (Device::cpu(), poisson::<f64>(&[8, 8], &[1.0; 2]));
    for (options, message) in [
        (
            deep().with_cycle(AmgCycle::K { steps: 2 }),
            "the multigrid cycle is a K-cycle, but must be V or W over ranks",
        ),
        (
            deep().with_smoother(AmgSmoother::GaussSeidel { sweeps: 1 }),
            "the multigrid smoother is Gauss–Seidel, but must be Jacobi or Chebyshev over ranks",
        ),
        (
            deep().with_block_size(2),
            "block_size is 2, but must be a divisor of the number of rows of each rank",
        ),
        (deep().with_block_size(5), "block_size is 5, but must be a divisor of the number of rows"),
        (deep().with_block_size(0), "block_size is 0, but must be a divisor of the number of rows"),
        (deep().with_max_levels(0), "max_levels is 0, but must be at least 1"),
        (deep().with_max_coarse(5000), "max_coarse is 5000, but must be 2000 at most"),
    ] {
        check_refused(&device, &a, [&[0, 31, 64]; 2], options, message);
    }
}

#[test]
fn operands_are_refused_over_ranks() {
    for device in device_of_each_kind() {
        on_ranks(&device, &[0, 31, 64], &poisson::<f64>(&[8, 8], &[1.0; 2]), |rank, a| {
            let device = rank.device();
            let new = |near_null: &[_]| {
                let refused = DistributedSmoothedAggregation::with_near_null(a, near_null, deep());
                refused.map(drop).unwrap_err().to_string()
            };
            assert_eq!(new(&[]), "the number of near-null vectors is 0, but must be at least 1");
            let needed = a.local().nrows();
            let message = format!("a near-null vector has 7 elements, but must have {needed}");
            assert_eq!(new(&[device.zeros(7)?]), message);
            let multigrid = DistributedSmoothedAggregation::new(a, deep())?;
            let error = multigrid.apply(&*device.zeros(7)?, &mut device.zeros(needed)?).unwrap_err();
            assert_eq!(error.to_string(), format!("r has 7 elements, but must have {needed}"));
            let cut = a.divide_evenly()?;
            assert!(!cut.has_cut_rows() || DistributedSmoothedAggregation::new(&cut, deep()).is_err());
            Ok(())
        });
    }
}

/// Device calls of a rank between two that fail.
const STRIDE: usize = 211;

#[test]
fn a_device_that_fails_is_an_error_on_all_ranks() {
    // One thread, so that the order of calls is fixed.
    let simulated =
        || Device::simulated(SimulatedOptions::default().with_memory_bytes(64 << 20).with_threads(1));
    let devices = [simulated(), simulated()];
    let mut cluster = Cluster::local(devices.clone()).unwrap();
    let a = poisson::<f64>(&[8, 6], &[1.0, 0.01]);
    let options = AmgOptions::default().with_max_coarse(4).with_max_gathered(14).with_strength(0.1);
    let mut run = || {
        cluster.run_each(|rank: &Rank| -> Result<Vec<f64>> {
            let a = distributed(rank, &[0, 24, 48], &a)?;
            let mut multigrid = DistributedSmoothedAggregation::new(&a, options)?;
            multigrid.update(&a)?;
            applied(rank, &a, &multigrid, &vector(48))
        })
    };
    let expected: Vec<Vec<f64>> = run().into_iter().map(Result::unwrap).collect();
    let mut failures = 0;
    for calls in (0..).step_by(STRIDE) {
        devices[1].inject_failure(Some(calls));
        let results = run();
        let is_over = devices[1].injected_failure().is_some();
        devices[1].inject_failure(None);
        if is_over {
            assert!(results.into_iter().map(Result::unwrap).eq(expected));
            break;
        }
        failures += 1;
        let messages = results.into_iter().map(|result| result.unwrap_err().to_string());
        let messages: Vec<String> = messages.collect();
        assert!(messages[1].contains("failed on request"), "call {calls}: {messages:?}");
        // The other rank is told, and does not wait for its timeout.
        let is_told = messages[0].starts_with("rank 1 failed: ") && messages[0].contains("failed on request");
        assert!(is_told, "call {calls}: {messages:?}");
    }
    assert!(failures >= 10, "{failures} failures");
}
