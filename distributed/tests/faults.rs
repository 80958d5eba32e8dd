//! Ranks that fail: every other rank gets an error that names the rank and the cause, in time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath::error::DeviceError;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::error::{Cause, Failure, Operation};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedVec, Error, Rank, Result, RowPartition, generate,
};
use evenpath_lab::Diagnostics;

use crate::support::on_cpu;

/// Results of four ranks, which all end within ten seconds.
pub(crate) fn results(cluster: Cluster, body: impl Fn(&Rank) -> Result<()> + Sync) -> Vec<Result<()>> {
    let start = Instant::now();
    let results = cluster.with_timeout(Duration::from_millis(500)).run_each(body);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    results
}

/// The failure of which a rank was told.
fn failure(result: &Result<()>) -> &Failure {
    match result {
        Err(Error::Failed(failure)) => failure,
        other => panic!("no failure of another rank: {other:?}"),
    }
}

#[test]
fn an_error_reaches_all() {
    needs!("cpu");
    let results = results(on_cpu(4), |rank| {
        rank.barrier()?;
        if rank.index() == 2 {
            return Err(Error::Empty);
        }
        rank.barrier()
    });
    assert!(matches!(results[2], Err(Error::Empty)));
    for rank in [0, 1, 3] {
        let cause = Cause::Error("a cluster needs at least one rank".into());
        assert_eq!(*failure(&results[rank]), Failure { rank: 2, cause });
    }
}

#[test]
fn a_panic_reaches_all_and_is_an_error() {
    needs!("cpu");
    let mut cluster = on_cpu(4);
    let body = |rank: &Rank| {
        assert!(rank.index() != 1, "deliberately, on rank {}", rank.index());
        rank.sum(1.0_f64)
    };
    for result in cluster.run_each(body) {
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "rank 1 failed: it panicked: deliberately, on rank 1");
    }
    assert_eq!(cluster.run(|rank| rank.sum(1.0_f64)).unwrap(), [4.0; 4], "the cluster goes on");
}

#[test]
fn run_returns_the_first_failure() {
    needs!("cpu");
    let error = on_cpu(4).run(|rank| if rank.index() == 3 { Err(Error::Empty) } else { rank.barrier() });
    assert!(matches!(error.unwrap_err(), Error::Empty));
}

#[test]
fn a_missing_rank_times_out() {
    needs!("cpu");
    let results = results(on_cpu(3), |rank| {
        if rank.index() == 1 {
            std::thread::sleep(Duration::from_secs(2));
        }
        rank.barrier()
    });
    for result in &results {
        let Failure { rank: 1, cause: Cause::Timeout { waiting, operation, limit, .. } } = failure(result)
        else {
            panic!("{result:?}");
        };
        assert!(*waiting != 1 && *operation == Operation::Barrier && *limit == Duration::from_millis(500));
    }
}

/// Plans are shared by the threads of a rank, but one runs at a time: a second run must not wait, since the
/// ranks could then pair the operands of different threads.
#[test]
fn a_plan_in_use_is_refused() {
    needs!("cpu");
    let refused = AtomicUsize::new(0);
    let sums = on_cpu(2).run(|rank| {
        let even = RowPartition::even(2, 2)?;
        // Each rank needs the other's element.
        let a = DistributedCsr::from_fn_on(rank, &even, &even, |row, entries| entries.push((1 - row, 2.0)))?;
        let x = DistributedVec::from_fn(rank, &even, |_| 1.0)?;
        let plan = a.plan_spmv(SpmvOptions::default())?;
        let run = || -> Result<f64> {
            let mut y = DistributedVec::zeros(rank, &even)?;
            plan.run(1.0, &x, 0.0, &mut y)?;
            Ok(y.local().get(0)?)
        };
        if rank.index() == 1 {
            let start = Instant::now();
            while refused.load(Ordering::Relaxed) == 0 && start.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return run();
        }
        // One of the two waits for rank 1, which waits until the other is refused.
        let run = || {
            let result = run();
            if let Err(Error::PlanInUse { rank: 0 }) = result {
                refused.fetch_add(1, Ordering::Relaxed);
            }
            result
        };
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(run);
            (run(), other.join().expect("no panic"))
        });
        assert!(first.is_ok() != second.is_ok(), "{first:?} and {second:?}");
        first.or(second)
    });
    assert_eq!(sums.unwrap(), [2.0, 2.0]);
    assert_eq!(refused.into_inner(), 1);
}

/// Products in which each rank needs an element of the previous one. Rank 0 is late; higher ranks start to
/// wait earlier, so that they time out before the rank that they wait for.
pub(crate) fn wait_in_a_chain(rank: &Rank, is_over: impl Fn() -> bool) -> Result<()> {
    let size = rank.size();
    let even = RowPartition::even(size as u64, size)?;
    let a = DistributedCsr::from_fn_on(rank, &even, &even, |row, entries| {
        entries.extend(row.checked_sub(1).map(|column| (column, 1.0)));
    })?;
    let x = DistributedVec::from_fn(rank, &even, |_| 1.0)?;
    let mut y = DistributedVec::zeros(rank, &even)?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    rank.barrier()?;
    let start = Instant::now();
    if rank.index() == 0 {
        while start.elapsed() < Duration::from_secs(8) && !is_over() {
            std::thread::sleep(Duration::from_millis(20));
        }
    } else {
        std::thread::sleep(Duration::from_millis(100) * (size - rank.index()) as u32);
    }
    (0..size).try_for_each(|_| plan.run(1.0, &x, 0.0, &mut y))?;
    rank.barrier()
}

#[test]
fn the_rank_at_the_end_of_a_chain_is_named() {
    needs!("cpu");
    for size in 2..=5 {
        let failed = AtomicUsize::new(0);
        let results = on_cpu(size).with_timeout(Duration::from_millis(700)).run_each(|rank| {
            let result = wait_in_a_chain(rank, || failed.load(Ordering::Relaxed) == size - 1);
            failed.fetch_add(1, Ordering::Relaxed);
            result
        });
        for result in &results {
            let Failure {
                rank: 0,
                cause: Cause::Timeout { waiting: 1, operation: Operation::Halo, limit, behind },
            } = failure(result)
            else {
                panic!("{size} ranks: {result:?}");
            };
            assert_eq!(*limit, Duration::from_millis(700));
            assert_eq!(*behind, (2..2 + behind.len()).collect::<Vec<_>>(), "each waits for the one before");
        }
    }
}

/// No rank is late: they pass different roots.
#[test]
fn ranks_that_wait_for_each_other() {
    needs!("cpu");
    for size in 2..=4 {
        let results =
            results(on_cpu(size), |rank| rank.broadcast((rank.index() + 1) % size, &[0_u8]).map(|_| ()));
        for result in &results {
            let waits = (0..size).map(|rank| (rank, Operation::Broadcast)).collect();
            assert_eq!(*failure(result), Failure { rank: 0, cause: Cause::Deadlock { waits } });
        }
    }
}

#[test]
fn the_longest_timeout_does_not_overflow() {
    needs!("cpu");
    let sums = on_cpu(2).with_timeout(Duration::MAX).run(|rank| rank.sum(1.0_f32));
    assert_eq!(sums.unwrap(), [2.0; 2]);
}

#[test]
fn a_finished_rank_is_not_waited_for() {
    needs!("cpu");
    let start = Instant::now();
    let results = on_cpu(3).run_each(|rank| if rank.index() == 0 { Ok(()) } else { rank.barrier() });
    assert!(start.elapsed() < Duration::from_secs(5), "not a minute: {:?}", start.elapsed());
    assert!(results[0].is_ok());
    for result in &results[1..] {
        assert!(matches!(failure(result), Failure { rank: 0, cause: Cause::Finished { .. } }));
    }
}

#[test]
fn different_operations_are_reported() {
    needs!("cpu");
    let results =
        results(
            on_cpu(2),
            |rank| {
                if rank.index() == 0 { rank.barrier() } else { rank.sum(1.0_f64).map(|_| ()) }
            },
        );
    for result in &results {
        let text = failure(result).to_string();
        assert!(text.contains("`barrier`") && text.contains("`all-reduce`"), "{text}");
    }
}

#[test]
fn messages_of_a_wrong_size_are_reported() {
    needs!("cpu");
    let results = results(on_cpu(3), |rank| {
        let values = vec![1.0_f64; if rank.index() == 1 { 3 } else { 2 }];
        rank.all_reduce(&values, |sum, value| sum + value).map(|_| ())
    });
    for result in &results {
        let Cause::MessageSize { operation, expected, found, .. } = &failure(result).cause else {
            panic!("{result:?}");
        };
        assert_eq!((*operation, *expected + *found), (Operation::AllReduce, 40));
    }
    let results = self::results(on_cpu(2), |rank| {
        // A size that is not a multiple of the elements'.
        if rank.index() == 0 {
            rank.all_gather(&[1_u8; 5]).map(|_| ())
        } else {
            rank.all_gather(&[1.0_f64]).map(|_| ())
        }
    });
    assert!(matches!(
        failure(&results[1]),
        Failure { rank: 0, cause: Cause::MessageSize { expected: 8, found: 5, .. } }
    ));
}

/// Makes each of the first `most` calls to the device of rank 1 fail in turn, after the body has called its
/// second argument. The same as [`fail_calls`].
pub(crate) fn fail_each_call(most: u64, body: impl Fn(&Rank, &dyn Fn() -> Result<()>) -> Result<()> + Sync) {
    fail_calls(0..most, body);
}

/// Makes calls to the device of rank 1 fail, after the body has called its second argument, until a number
/// exceeds that of the calls: the others learn of it, and none hangs. The body ends with an operation that needs
/// all ranks.
pub(crate) fn fail_calls(
    numbers: impl Iterator<Item = u64> + Clone,
    body: impl Fn(&Rank, &dyn Fn() -> Result<()>) -> Result<()> + Sync,
) {
    let devices: Vec<Device> =
        (0..3).map(|_| Device::simulated(SimulatedOptions::default().with_threads(1))).collect();
    let mut failures = 0;
    for calls in numbers.clone() {
        let cluster = Cluster::local(devices.clone()).unwrap();
        // A simulated GPU may be slow, but a failure is told at once.
        let start = Instant::now();
        let results = cluster.with_timeout(Duration::from_secs(8)).run_each(|rank| {
            let start = || {
                rank.barrier()?;
                if rank.index() == 1 {
                    rank.device().inject_failure(Some(calls));
                }
                Ok(())
            };
            body(rank, &start)
        });
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        devices[1].inject_failure(None);
        let Err(error) = &results[1] else {
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            break;
        };
        failures += 1;
        let is_injected = match error {
            Error::Device(error) => matches!(error, DeviceError::Injected { .. }),
            Error::Op(error) => error.to_string().contains("failed on request"),
            _ => false,
        };
        assert!(is_injected, "{error}");
        for rank in [0, 2] {
            // The last operation needs all ranks.
            let error = results[rank].as_ref().unwrap_err().to_string();
            assert!(error.starts_with("rank 1 failed: ") && error.contains("on request"), "{error}");
        }
    }
    let most = numbers.count();
    assert!((5..most).contains(&failures), "{failures} of {most} calls failed");
}

#[test]
fn a_device_that_fails() {
    needs!("simulated");
    fail_each_call(40, |rank, start| {
        let grid = generate::Stencil::five_point(6);
        let a = DistributedCsr::from_fn(rank, 36, 36, |row, entries| grid.row(row, entries))?;
        let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0_f64)?;
        let mut y = DistributedVec::zeros(rank, a.row_partition())?;
        let plan = a.plan_spmv(SpmvOptions::default())?;
        start()?;
        plan.run(1.0, &x, 0.0, &mut y)?;
        y.dot(&x).map(|_| ())
    });
}
