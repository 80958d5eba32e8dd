//! Information on plans, compared with what the plans do.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::hisparse;
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device};
use evenpath_distributed::{
    Cluster, DistributedCsr, DistributedDense, DistributedHiSparse, DistributedVec, Error, ExchangeEngine,
    ExchangeInfo, Rank, Result,
};

use crate::factors::matrix;
use crate::support::{is_wanted, number};

/// Clusters of 1 to 4 ranks, with a device object of each rank's own, whose memory is counted alone.
fn clusters() -> impl Iterator<Item = Cluster> {
    let simulated = || Device::simulated(SimulatedOptions::default().with_threads(1));
    let cpu =
        (1..=4).filter(|_| is_wanted("cpu")).map(|ranks| Cluster::local((0..ranks).map(|_| Device::cpu())));
    let simulated = (1..=4)
        .filter(|_| is_wanted("simulated"))
        .map(move |ranks| Cluster::local((0..ranks).map(|_| simulated())));
    cpu.chain(simulated).map(|cluster| cluster.expect("there are ranks"))
}

/// Bytes of device memory that `make` leaves in use beside what it returns.
fn measured<T>(rank: &Rank, make: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    rank.device().synchronize()?;
    let before = rank.device().memory()?.in_use;
    let made = make()?;
    rank.device().synchronize()?;
    Ok((made, rank.device().memory()?.in_use - before))
}

/// Compares a plan's bytes with the device memory that it takes. On the CPU the parts' workspaces are
/// ordinary host memory, which is not counted.
fn check_bytes(rank: &Rank, workspace: u64, parts: [u64; 2], measured: u64) {
    let is_counted = rank.device().kind() != DeviceKind::Cpu;
    let uncounted = if is_counted { 0 } else { parts[0] + parts[1] };
    assert_eq!(workspace - uncounted, measured, "{rank:?}, parts of {parts:?} bytes");
    assert!(workspace > parts[0] + parts[1]);
}

/// Compares exchanges with the messages of a run.
fn check_exchanges(rank: &Rank, exchanges: &[&ExchangeInfo], run: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = rank.traffic();
    run()?;
    let after = rank.traffic();
    let total = |count: fn(&evenpath_distributed::Traffic) -> u64| -> u64 {
        after.iter().map(count).sum::<u64>() - before.iter().map(count).sum::<u64>()
    };
    let sum = |count: fn(&ExchangeInfo) -> u64| -> u64 { exchanges.iter().map(|info| count(info)).sum() };
    assert_eq!(total(|traffic| traffic.bytes), sum(|info| info.sent_bytes), "{exchanges:?}");
    assert_eq!(total(|traffic| traffic.messages), sum(|info| info.destinations), "{exchanges:?}");
    for info in exchanges {
        assert_eq!((info.sent_bytes, info.received_bytes), (8 * info.sent, 8 * info.received));
        // Every element that is sent is received.
        let all = rank
            .all_reduce(&[info.sent, info.received, info.destinations, info.sources], |sum, count| {
                sum + count
            })?;
        assert_eq!((all[0], all[2]), (all[1], all[3]));
        assert_eq!(all[0] > 0, rank.size() > 1, "the matrix couples all ranks");
        assert!(matches!(&info.engine, ExchangeEngine::Host { .. }) && info.engine == rank.exchange());
    }
    Ok(())
}

/// Bytes of page-locked memory: a buffer for each direction.
fn pinned(exchanges: &[&ExchangeInfo]) -> u64 {
    exchanges.iter().map(|info| info.sent_bytes + info.received_bytes).sum()
}

#[test]
fn infos_of_matrices_tell_what_plans_do() {
    let a: Csr<f64> = matrix(70, 70).csr();
    for mut cluster in clusters() {
        let checked = cluster.run(|rank| {
            let a = DistributedCsr::scatter(rank, 0, Some(&a))?;
            let x = DistributedVec::from_fn(rank, a.col_partition(), number)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;

            let method = if rank.device().kind() == DeviceKind::Cpu {
                SpmvMethod::MergePath
            } else {
                SpmvMethod::Vector { lanes: Some(4) }
            };
            let (plan, bytes) = measured(rank, || a.plan_spmv(SpmvOptions::default().with_method(method)))?;
            let info = plan.info()?;
            assert_eq!((info.local.method, info.non_local.method), (method, method));
            let parts = [info.local.workspace_bytes, info.non_local.workspace_bytes];
            check_bytes(rank, info.workspace_bytes, parts, bytes);
            assert_eq!(info.pinned_bytes, pinned(&[&info.exchange]));
            assert_eq!(info.local_nonzeros + info.non_local_nonzeros, a.local_nnz() as u64);
            assert_eq!(info.non_local_nonzeros > 0, rank.size() > 1);
            assert_eq!(info.boundary_rows, a.non_local().nrows() as u64);
            assert_eq!(info.exchange.received, a.halo().columns().len() as u64);
            assert!(info.analysis_ms >= info.local.analysis_ms.max(info.non_local.analysis_ms));
            check_exchanges(rank, &[&info.exchange], || plan.run(1.0, &x, 0.0, &mut y))?;
            check_exchanges(rank, &[&info.exchange], || plan.run(1.0, &x, 0.0, &mut y))?;
            assert_eq!(plan.info()?, info, "a run changes nothing");

            let options = SpmvTransposedOptions::default().with_method(SpmvTransposedMethod::Ordered);
            let (plan, bytes) = measured(rank, || a.plan_spmv_transposed(options))?;
            let transposed = plan.info()?;
            assert_eq!(transposed.local.method, SpmvTransposedMethod::Ordered);
            let parts = [transposed.local.workspace_bytes, transposed.non_local.workspace_bytes];
            check_bytes(rank, transposed.workspace_bytes, parts, bytes);
            assert_eq!(transposed.exchange.sent, info.exchange.received, "in reverse");
            check_exchanges(rank, &[&transposed.exchange], || plan.run(1.0, &x, 0.0, &mut y))?;

            let (plan, bytes) = measured(rank, || a.plan_spmm(SpmmOptions::default().with_columns(3)))?;
            let dense = plan.info()?;
            assert_eq!((dense.local.columns, dense.non_local.columns), (3, 3));
            assert_eq!(dense.exchange.sent, 3 * info.exchange.sent);
            let parts = [dense.local.workspace_bytes, dense.non_local.workspace_bytes];
            check_bytes(rank, dense.workspace_bytes, parts, bytes);
            assert_eq!(dense.pinned_bytes, pinned(&[&dense.exchange]));
            let b = DistributedDense::from_fn(rank, a.col_partition(), 3, |row, _| number(row))?;
            let mut c = DistributedDense::zeros(rank, a.row_partition(), 3)?;
            check_exchanges(rank, &[&dense.exchange], || plan.run(1.0, &b, 0.0, &mut c))?;
            Ok::<_, Error>(info.to_string())
        });
        for text in checked.unwrap() {
            let method = if text.contains("merge-path") { "merge-path" } else { "vector" };
            assert_eq!(text.matches(method).count(), 2, "both parts have a method: {text}");
            assert!(text.starts_with("local part: ") && text.contains(", by host (rank 0: "), "{text}");
        }
    }
}

/// A matrix with a dense row, which is cut between ranks.
#[test]
fn infos_of_cut_rows_tell_what_plans_do() {
    let a: Csr<f64> = matrix(70, 70).csr();
    for mut cluster in clusters() {
        let checked = cluster.run(|rank| {
            let a = DistributedCsr::scatter(rank, 0, Some(&a))?.divide_evenly()?;
            assert_eq!(a.has_cut_rows(), rank.size() > 1);
            if !a.has_cut_rows() {
                return Ok(());
            }
            let x = DistributedVec::from_fn(rank, a.col_partition(), number)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;
            let (plan, bytes) = measured(rank, || a.plan_spmv(SpmvOptions::default()))?;
            let info = plan.info()?;
            let cut = info.cut_row.as_ref().expect("rows are cut");
            let of = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a + b, c + d];
            let parts = of(
                [info.local.workspace_bytes, info.non_local.workspace_bytes],
                [cut.local.workspace_bytes, cut.non_local.workspace_bytes],
            );
            check_bytes(rank, info.workspace_bytes, parts, bytes);
            assert_eq!(info.pinned_bytes, pinned(&[&info.exchange, &cut.exchange]));
            assert_eq!(info.nonzeros(), a.local_nnz() as u64);
            assert_eq!(cut.exchange.sent, u64::from(cut.local_nonzeros + cut.non_local_nonzeros > 0));
            check_exchanges(rank, &[&info.exchange, &cut.exchange], || plan.run(1.0, &x, 0.0, &mut y))?;

            let transposed = a.plan_spmv_transposed(SpmvTransposedOptions::default())?;
            let info = transposed.info()?;
            let cut_transposed = info.cut_row.as_ref().expect("rows are cut");
            assert_eq!(cut_transposed.exchange.received, cut.exchange.sent);
            let exchanges = [&info.exchange, &cut_transposed.exchange];
            assert_eq!(info.pinned_bytes, pinned(&exchanges));
            check_exchanges(rank, &exchanges, || transposed.run(1.0, &x, 0.0, &mut y))?;

            let dense = a.plan_spmm(SpmmOptions::default().with_columns(3))?.info()?;
            let cut_dense = dense.cut_row.as_ref().expect("rows are cut");
            assert_eq!(cut_dense.exchange.sent, 3 * cut.exchange.sent);
            assert_eq!(dense.pinned_bytes, pinned(&[&dense.exchange, &cut_dense.exchange]));
            Ok::<_, Error>(())
        });
        checked.unwrap();
    }
}

#[test]
fn infos_of_trees_tell_what_plans_do() {
    let a: Csr<f64> = matrix(150, 150).csr();
    for mut cluster in clusters() {
        let checked = cluster.run(|rank| {
            let a: DistributedHiSparse<f64, 32> =
                DistributedHiSparse::scatter(rank, 0, Some(&a), hisparse::Options::default())?;
            let x = DistributedVec::from_fn(rank, a.col_partition(), number)?;
            let mut y = DistributedVec::zeros(rank, a.row_partition())?;
            let options = hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves);
            let (plan, bytes) = measured(rank, || a.plan_spmv(options))?;
            let info = plan.info()?;
            let exchanges = [&info.x_exchange, &info.y_exchange];
            assert_eq!(info.local.method, hisparse::SpmvMethod::Leaves);
            let parts = [info.local.workspace_bytes, info.non_local.workspace_bytes];
            check_bytes(rank, info.workspace_bytes, parts, bytes);
            assert_eq!(info.pinned_bytes, pinned(&exchanges));
            assert_eq!(info.local_nonzeros + info.non_local_nonzeros, a.local_nnz() as u64);
            assert_eq!(info.x_exchange.received, a.col_halo().columns().len() as u64);
            assert_eq!(info.y_exchange.sent, a.row_halo().columns().len() as u64);
            check_exchanges(rank, &exchanges, || plan.run(1.0, &x, 0.0, &mut y))?;

            let (plan, bytes) = measured(rank, || a.plan_spmv_transposed(options))?;
            let transposed = plan.info()?;
            let parts = [transposed.local.workspace_bytes, transposed.non_local.workspace_bytes];
            check_bytes(rank, transposed.workspace_bytes, parts, bytes);
            assert_eq!(transposed.x_exchange.sent, info.y_exchange.received);
            assert_eq!(transposed.y_exchange.sent, info.x_exchange.received);
            let exchanges = [&transposed.x_exchange, &transposed.y_exchange];
            check_exchanges(rank, &exchanges, || plan.run(1.0, &x, 0.0, &mut y))?;

            let options = hisparse::SpmmOptions::default().with_method(hisparse::SpmvMethod::Leaves);
            let (plan, bytes) = measured(rank, || a.plan_spmm(3, options))?;
            let dense = plan.info()?;
            assert_eq!(dense.local.method, hisparse::SpmvMethod::Leaves);
            let parts = [dense.local.workspace_bytes, dense.non_local.workspace_bytes];
            check_bytes(rank, dense.workspace_bytes, parts, bytes);
            let exchanges = [&dense.x_exchange, &dense.y_exchange];
            assert_eq!(dense.pinned_bytes, pinned(&exchanges));
            assert_eq!(dense.x_exchange.sent, 3 * info.x_exchange.sent);
            assert_eq!(dense.y_exchange.received, 3 * info.y_exchange.received);
            let b = DistributedDense::zeros(rank, a.col_partition(), 3)?;
            let mut c = DistributedDense::zeros(rank, a.row_partition(), 3)?;
            check_exchanges(rank, &exchanges, || plan.run(1.0, &b, 0.0, &mut c))?;
            Ok::<_, Error>(())
        });
        checked.unwrap();
    }
}
