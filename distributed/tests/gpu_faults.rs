//! Ranks on GPUs that fail while products run by NCCL: all others end with an error in time, and the GPUs
//! stay usable. The same on the CPU.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use evenpath::Device;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::error::{Cause, Failure, Operation};
use evenpath_distributed::generate::Stencil;
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedSpmvPlan, DistributedVec, Engine, Error, Rank, Result, RowPartition,
};

use crate::support::{Gpus, everywhere, gpus};
use crate::tcp;

/// Longer than creating a communicator twice.
const TIMEOUT: Duration = Duration::from_secs(4);

/// GPUs for at least two ranks, if tests run there.
fn several() -> Option<Gpus> {
    gpus().filter(|gpus| gpus.count() > 1)
}

/// Products with one matrix.
struct Products {
    plan: DistributedSpmvPlan<f64>,
    x: DistributedVec<f64>,
    y: DistributedVec<f64>,
}

impl Products {
    /// Uses the stencil of a grid of 4096 points, divided evenly among the ranks.
    fn new(rank: &Rank, grid: Stencil) -> Result<Self> {
        let even = RowPartition::even(4096, rank.size())?;
        let a = DistributedCsr::from_fn_on(rank, &even, &even, |row, entries| grid.row(row, entries))?;
        let x = DistributedVec::from_fn(rank, &even, |_| 1.0)?;
        Ok(Self { plan: a.plan_spmv(SpmvOptions::default())?, x, y: DistributedVec::zeros(rank, &even)? })
    }

    fn run(&mut self, times: usize) -> Result<()> {
        (0..times).try_for_each(|_| self.plan.run(1.0, &self.x, 0.0, &mut self.y))
    }
}

/// Makes rank 1 do something else after some products, and returns the failure that the others are told of,
/// by each engine. Then checks that all work again.
fn failures(fault: impl Fn(&Rank, &mut Products) -> Result<()> + Sync) -> Vec<Failure> {
    let everywhere = everywhere();
    let mut failures = Vec::new();
    for cluster in everywhere.clusters(2) {
        let mut cluster = cluster.with_timeout(TIMEOUT);
        let start = Instant::now();
        let results = cluster.run_each(|rank| {
            let mut products = Products::new(rank, Stencil::five_point(64))?;
            products.run(5)?;
            if rank.index() == 1 {
                fault(rank, &mut products)?;
            }
            products.run(200)?;
            rank.barrier()
        });
        assert!(start.elapsed() < 3 * TIMEOUT, "{:?}", start.elapsed());
        for (rank, result) in results.into_iter().enumerate() {
            match result {
                Err(Error::Failed(failure)) => failures.push(failure),
                Err(_) if rank == 1 => {}
                other => panic!("rank {rank}: {other:?}"),
            }
        }
        let sums = cluster.run(|rank| {
            let mut products = Products::new(rank, Stencil::five_point(64))?;
            products.run(2)?;
            products.y.dot(&products.x)
        });
        // Each edge of the grid lacks one neighbor.
        assert!(sums.unwrap().into_iter().all(|sum| sum.to_bits() == 256.0_f64.to_bits()));
    }
    failures
}

#[test]
fn errors_between_products_reach_all() {
    for failure in failures(|_, _| Err(Error::Empty)) {
        let cause = Cause::Error("a cluster needs at least one rank".into());
        assert_eq!(failure, Failure { rank: 1, cause });
    }
}

#[test]
fn panics_between_products_reach_all() {
    for failure in failures(|rank, _| panic!("deliberately, on rank {}", rank.index())) {
        assert_eq!(failure, Failure { rank: 1, cause: Cause::Panic("deliberately, on rank 1".into()) });
    }
}

#[test]
fn a_late_rank_times_out() {
    let late = |_: &Rank, _: &mut Products| {
        std::thread::sleep(TIMEOUT + Duration::from_secs(2));
        Ok(())
    };
    for failure in failures(late) {
        let Failure { rank: 1, cause: Cause::Timeout { operation: Operation::Halo, .. } } = &failure else {
            panic!("{failure}");
        };
    }
}

#[test]
fn another_operation() {
    for failure in failures(|rank, _| rank.barrier()) {
        assert!(matches!(failure.cause, Cause::Mismatch { .. }), "{failure}");
    }
}

/// Rank 1 multiplies by a matrix with a larger halo than the others.
#[test]
fn messages_of_different_sizes() {
    let everywhere = everywhere();
    for cluster in everywhere.clusters(2) {
        let mut cluster = cluster.with_timeout(TIMEOUT);
        let start = Instant::now();
        let results = cluster.run_each(|rank| {
            let mut narrow = Products::new(rank, Stencil::five_point(64))?;
            let mut wide = Products::new(rank, Stencil::twenty_seven_point(16))?;
            narrow.run(3)?;
            wide.run(3)?;
            let chosen = if rank.index() == 1 { &mut wide } else { &mut narrow };
            chosen.run(1)?;
            rank.barrier()
        });
        assert!(start.elapsed() < 3 * TIMEOUT, "{:?}", start.elapsed());
        for result in results {
            let error = result.unwrap_err();
            let Error::Failed(Failure {
                cause: Cause::MessageSize { operation, expected, found, .. }, ..
            }) = &error
            else {
                panic!("{error}");
            };
            assert_eq!(*operation, Operation::Halo, "{error}");
            assert!(expected != found, "{error}");
        }
    }
}

/// The cluster of a process that has its own GPU.
pub(crate) fn cluster() -> Result<Cluster> {
    let rank = std::env::var("EVENPATH_RANK").ok().and_then(|rank| rank.parse().ok()).unwrap_or(0);
    Ok(Cluster::from_env(Device::cuda_primary(rank)?)?.with_engine(Engine::Nccl))
}

/// Multiplies until a process is killed.
pub(crate) fn forever(rank: &Rank) -> Result<()> {
    let mut products = Products::new(rank, Stencil::five_point(64))?;
    products.run(10)?;
    println!("\nready");
    loop {
        products.run(1000)?;
    }
}

/// Processes that use NCCL compute the same bits as threads that use the host.
#[test]
fn processes_have_the_bits_of_threads() {
    let Some(gpus) = several() else { return };
    if gpus.by_nccl().is_none() {
        return;
    }
    let threads = gpus.by_host().run(tcp::product).unwrap();
    for result in tcp::run("gpu-product", gpus.count(), "30") {
        assert_eq!(result, threads[0].to_string());
    }
}

/// Kills a process while its GPU multiplies and others wait for it in NCCL's kernel.
#[test]
fn a_killed_process_is_named() {
    let Some(gpus) = several() else { return };
    if gpus.by_nccl().is_none() {
        return;
    }
    let (size, address) = (gpus.count(), tcp::address());
    let mut children: Vec<_> =
        (0..size).map(|rank| tcp::start("gpu-forever", rank, size, &address, "20")).collect();
    let mut lines = BufReader::new(children[1].stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text") == "ready"));
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    let mut killed = children.remove(1);
    killed.kill().expect("it runs"); // SIGKILL
    killed.wait().expect("it ends");
    for child in children {
        let said = tcp::said(&child.wait_with_output().expect("it ends"));
        // The connection ends at once, but the driver or NCCL may notice earlier that the other process's
        // memory is gone.
        eprintln!("after a process was killed: {said}");
        assert!(said.starts_with("error: ") && !said.contains("waited"), "{said}");
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}
