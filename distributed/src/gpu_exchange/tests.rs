//! The exchange by NCCL, against a stand-in: compares results with the host engine, and tests every failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvOptions, SpmvTransposedOptions};
use evenpath::{Device, Factor, Value, hisparse};

use super::start::{Offer, join};
use crate::error::{Cause, Error, Failure, Operation, Result};
use crate::halo::{Halo, HaloExchange, Sent};
use crate::nccl::functions::Functions;
use crate::nccl::stand_in::{InjectedFault, Turn, calls, count, functions, live, turn};
use crate::nccl::{Engine, ExchangeEngine};
use crate::{
    Cluster, DistributedCsr, DistributedDense, DistributedHiSparse, DistributedVec, Rank, RowPartition,
    generate,
};

const RANKS: usize = 4;

fn cluster() -> Cluster {
    Cluster::local(vec![Device::cpu(); RANKS]).unwrap()
}

/// Makes the rank use the stand-in, as if each had a GPU of its own.
fn choose(rank: &Rank, engine: Engine) -> Result<()> {
    choose_from(rank, engine, functions())
}

fn choose_from(rank: &Rank, engine: Engine, functions: Functions) -> Result<()> {
    assert_eq!(rank.exchange().to_string(), "host");
    let offer = Offer { version: functions.version().unwrap(), gpu: (7, rank.index() as u32) };
    rank.choose(join(rank, engine, Ok((functions, offer)))?);
    Ok(())
}

/// Values whose sums depend on their order.
fn rough<V: Value>(index: u64) -> V {
    V::from_f64(((index * 2_654_435_761) as f64).sin())
}

fn matrix<V: Value>(rank: &Rank) -> Result<DistributedCsr<V>> {
    let grid = generate::Stencil::five_point(12);
    DistributedCsr::from_fn(rank, grid.nrows(), grid.nrows(), |row, entries| {
        grid.row(row, entries);
        for entry in entries {
            entry.1 = entry.1 * rough(row + 31 * entry.0);
        }
    })
}

/// All products, three times each, with one factor in device memory if `is_stored`. Returns this rank's
/// results.
fn products<V: Value>(rank: &Rank, is_stored: bool) -> Result<Vec<V>> {
    let a = matrix::<V>(rank)?;
    let tree: DistributedHiSparse<V, 32> = a.to_hisparse(hisparse::Options::default())?;
    let x = DistributedVec::from_fn(rank, a.col_partition(), rough)?;
    let b = DistributedDense::from_fn(rank, a.col_partition(), 3, |row, col| rough(row + 7 * col as u64))?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    let mut c = DistributedDense::zeros(rank, a.row_partition(), 3)?;
    let spmv = a.plan_spmv(SpmvOptions::default())?;
    let transposed = a.plan_spmv_transposed(SpmvTransposedOptions::default())?;
    let spmm = a.plan_spmm(SpmmOptions::default().with_columns(3))?;
    let by_tree = tree.plan_spmv(hisparse::SpmvOptions::default())?;
    let by_tree_transposed = tree.plan_spmv_transposed(hisparse::SpmvOptions::default())?;
    let half = V::from_f64(0.5);
    let stored = rank.device().upload(&[half])?;
    let half = if is_stored { Factor::from(&stored) } else { half.into() };
    for _ in 0..3 {
        spmv.run(V::ONE, &x, half, &mut y)?;
        transposed.run(V::ONE, &x, half, &mut y)?;
        by_tree.run(V::ONE, &x, half, &mut y)?;
        by_tree_transposed.run(V::ONE, &x, half, &mut y)?;
        spmm.run(V::ONE, &b, half, &mut c)?;
    }
    Ok([y.local().download()?, c.local().download()?].concat())
}

fn check_products<V: Value>(functions: Functions) {
    let _turn = turn(None);
    let by_host =
        cluster().run(|rank| Ok::<_, Error>((products::<V>(rank, false)?, rank.traffic()))).unwrap();
    assert!(calls().is_empty());
    let by_nccl = cluster().run(|rank| {
        choose_from(rank, Engine::Nccl, functions)?;
        assert_eq!(rank.exchange(), ExchangeEngine::Nccl { version: 22_803 });
        assert_eq!(rank.exchange().to_string(), "nccl 2.28.3");
        Ok::<_, Error>((products::<V>(rank, true)?, rank.traffic()))
    });
    for (rank, ((host, host_traffic), (nccl, traffic))) in by_host.iter().zip(by_nccl.unwrap()).enumerate() {
        assert_eq!(bytemuck::cast_slice::<V, u8>(host), bytemuck::cast_slice::<V, u8>(&nccl), "rank {rank}");
        for (host, nccl) in host_traffic.iter().zip(traffic) {
            assert!(nccl.bytes >= host.bytes, "{nccl:?}, and by the host {host:?}");
        }
        for (name, calls) in [("ncclCommFinalize", 1), ("ncclCommDestroy", 1), ("ncclCommAbort", 0)] {
            assert_eq!(count(rank, name), calls, "{name} on rank {rank}");
        }
        assert!(count(rank, "ncclSend") >= 15 && count(rank, "ncclRecv") >= 15);
        // Connections are made by the first exchange of each plan.
        let (first, others) = (count(rank, "ncclGroupEnd"), count(rank, "quick ncclGroupEnd"));
        if functions.ncclCommSplit.is_some() {
            assert_eq!(
                (others, count(rank, "quick ncclCommAbort")),
                (2 * first, 1),
                "{first} on rank {rank}"
            );
        } else {
            assert_eq!((others, count(rank, "ncclCommSplit")), (0, 0));
        }
    }
    assert_eq!(live(), 0);
}

#[test]
fn products_have_the_bits_of_the_host() {
    check_products::<f64>(functions());
    check_products::<f32>(functions());
}

/// Versions before 2.18 cannot split a communicator.
#[test]
fn products_by_one_communicator() {
    check_products::<f64>(Functions { ncclCommSplit: None, ..functions() });
}

/// Runs a product with a fault, and returns each rank's result.
fn fail(fault: (usize, InjectedFault), engine: Engine) -> (Turn, Vec<Result<ExchangeEngine>>) {
    let turn = turn(Some(fault));
    let start = Instant::now();
    let results = cluster().with_timeout(Duration::from_millis(300)).run_each(|rank| {
        choose(rank, engine)?;
        products::<f64>(rank, false)?;
        Ok(rank.exchange())
    });
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(live(), 0, "{fault:?}");
    (turn, results)
}

fn nccl_failure(result: &Result<ExchangeEngine>) -> (usize, &str) {
    match result {
        Err(Error::Failed(Failure { rank, cause: Cause::Nccl(reason) })) => (*rank, reason),
        other => panic!("{other:?}"),
    }
}

/// Without a communicator, the host is used instead or the run fails, as requested.
#[test]
fn without_a_communicator_the_host_is_used() {
    for fault in [
        (0, InjectedFault::Call("ncclGetUniqueId", 2)),
        (2, InjectedFault::Call("ncclCommInitRankConfig", 5)),
    ] {
        let (turn, results) = fail(fault, Engine::Auto);
        let expected = format!("rank {}: ", fault.0);
        for (rank, result) in results.iter().enumerate() {
            let Ok(ExchangeEngine::Host { reason }) = result else { panic!("{result:?}") };
            assert!(reason.starts_with(&expected) && reason.contains("on request (no detail)"), "{reason}");
            assert_eq!(count(rank, "ncclSend") + count(rank, "ncclGroupEnd"), 0);
            assert!(count(rank, "ncclCommAbort") <= 1 && count(rank, "quick ncclCommAbort") == 0);
        }
        drop(turn);
        for result in fail(fault, Engine::Nccl).1 {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("NCCL cannot be used: ") && error.contains(&expected), "{error}");
        }
    }
}

/// If NCCL fails to split a communicator, the ranks make another one and do not split it.
#[test]
fn a_communicator_that_fails_to_split_is_used_alone() {
    let (_turn, results) = fail((3, InjectedFault::Call("ncclCommSplit", 4)), Engine::Nccl);
    for (rank, result) in results.iter().enumerate() {
        assert!(matches!(result, Ok(ExchangeEngine::Nccl { .. })), "{result:?}");
        assert_eq!((aborts(rank), count(rank, "ncclCommDestroy")), ([1, 0], 1));
        assert!(count(rank, "ncclGroupEnd") > 0 && count(rank, "quick ncclGroupEnd") == 0);
    }
}

/// Splitting a communicator never ends on a rank.
#[test]
fn a_hanging_split_times_out() {
    for result in fail((2, InjectedFault::SplitHang), Engine::Auto).1 {
        let Ok(ExchangeEngine::Host { reason }) = &result else { panic!("{result:?}") };
        assert!(reason.ends_with(": a communicator took longer than 0.15 s"), "{reason}");
    }
}

/// Each call of an exchange fails on one rank, in the first exchange or later: all get an error that names
/// it, and abort once.
#[test]
fn a_failing_exchange_is_reported_by_all() {
    for name in ["ncclSend", "ncclRecv", "ncclGroupEnd", "ncclCommGetAsyncError"] {
        for fault in [InjectedFault::Call(name, 6), InjectedFault::Quick(name, 6)] {
            let (_turn, results) = fail((1, fault), Engine::Auto);
            for (rank, result) in results.iter().enumerate() {
                let (at_fault, reason) = nccl_failure(result);
                assert_eq!((at_fault, reason), (1, &*format!("`{name}` answered 6, on request (no detail)")));
                assert_eq!(aborts(rank), [1, 1], "{name} on rank {rank}");
                assert_eq!(count(rank, "ncclCommFinalize") + count(rank, "ncclCommDestroy"), 0);
            }
        }
    }
}

/// Number of aborts of a rank's communicators.
fn aborts(rank: usize) -> [usize; 2] {
    ["ncclCommAbort", "quick ncclCommAbort"].map(|name| count(rank, name))
}

#[test]
fn a_hanging_exchange_times_out() {
    for fault in [InjectedFault::Hang, InjectedFault::QuickHang] {
        let (_turn, results) = fail((2, fault), Engine::Auto);
        for (rank, result) in results.iter().enumerate() {
            // Reported by the rank itself, or by one that has finished the exchange and waits for it in the
            // next.
            let Err(Error::Failed(Failure { rank: 2, cause })) = result else { panic!("{result:?}") };
            let is_late = match cause {
                Cause::Nccl(reason) => reason == "the start of an exchange took longer than 0.3 s",
                cause => matches!(cause, Cause::Timeout { .. }),
            };
            assert!(is_late, "{cause}");
            assert_eq!(aborts(rank), [1, 1]);
        }
    }
}

/// A communicator that fails to finalize is aborted; the run's result is not affected.
#[test]
fn a_failing_finalize_is_aborted() {
    let (_turn, results) = fail((3, InjectedFault::Call("ncclCommFinalize", 3)), Engine::Auto);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!((aborts(3), count(3, "ncclCommDestroy")), ([1, 1], 0));
    assert_eq!((aborts(2), count(2, "ncclCommDestroy")), ([0, 1], 1));
}

/// A product by NCCL that all ranks have already run `before` times.
fn product_after(rank: &Rank, before: usize) -> Result<impl FnMut() -> Result<()>> {
    choose(rank, Engine::Nccl)?;
    let a = matrix::<f64>(rank)?;
    let x = DistributedVec::from_fn(rank, a.col_partition(), rough)?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    let mut product = move || plan.run(1.0, &x, 0.0, &mut y);
    (0..before).try_for_each(|_| product())?;
    rank.barrier()?;
    Ok(product)
}

/// Results of each rank of a product in which rank 1 does not take part, after some in which it does.
fn without_rank_1(before: usize, body: impl Fn(&Rank) -> Result<()> + Sync) -> Vec<Result<()>> {
    let _turn = turn(None);
    let start = Instant::now();
    let results = cluster().with_timeout(Duration::from_secs(1)).run_each(|rank| {
        let mut product = product_after(rank, before)?;
        if rank.index() == 1 {
            return body(rank);
        }
        let first = product();
        // Work of NCCL on the GPU is ended at once, before the end of the run, and NCCL is not called again.
        assert_eq!(aborts(rank.index()), [usize::from(first.is_err()); 2]);
        // Ranks that do not exchange with rank 1 let the others time out first.
        while first.is_ok() && rank.failure().is_none() && start.elapsed() < Duration::from_secs(8) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let second = product();
        assert!(first.is_ok() || second.is_err());
        first.and(rank.barrier())
    });
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(live(), 0);
    results
}

#[test]
fn a_missing_rank_is_named() {
    check_absence(0);
}

/// The same after connections have been made.
#[test]
fn a_rank_missing_later_is_named() {
    check_absence(3);
}

fn check_absence(before: usize) {
    let late = without_rank_1(before, |rank| {
        std::thread::sleep(Duration::from_secs(3));
        rank.barrier()
    });
    let ended = without_rank_1(before, |_| Ok(()));
    let elsewhere = without_rank_1(before, Rank::barrier);
    let failed = without_rank_1(before, |_| Err(Error::Empty));
    for rank in [0, 2, 3] {
        for (results, is_expected) in [
            (
                &late,
                (|cause| matches!(cause, Cause::Timeout { operation: Operation::Halo, .. }))
                    as fn(&Cause) -> bool,
            ),
            (&ended, |cause| matches!(cause, Cause::Finished { operation: Operation::Halo, .. })),
            (&elsewhere, |cause| matches!(cause, Cause::Mismatch { .. } | Cause::Timeout { .. })),
            (&failed, |cause| matches!(cause, Cause::Error(_))),
        ] {
            let Err(Error::Failed(Failure { cause, .. })) = &results[rank] else { panic!("{results:?}") };
            assert!(is_expected(cause), "rank {rank}: {cause}");
        }
        assert!(matches!(&late[rank], Err(Error::Failed(Failure { rank: 1, .. }))), "{:?}", late[rank]);
    }
}

/// Rank 2 arrives before rank 1, but so late that rank 3, which waits for it, times out first.
#[test]
fn the_rank_at_the_end_of_a_chain_is_named() {
    for before in [0, 3] {
        let _turn = turn(None);
        let results = cluster().with_timeout(Duration::from_secs(1)).run_each(|rank| {
            let mut product = product_after(rank, before)?;
            std::thread::sleep(Duration::from_millis([0, 3000, 500, 0][rank.index()]));
            (0..9).try_for_each(|_| product())
        });
        assert_eq!(live(), 0);
        for result in results {
            let Err(Error::Failed(Failure { rank: 1, cause })) = &result else { panic!("{result:?}") };
            assert!(matches!(cause, Cause::Timeout { operation: Operation::Halo, .. }), "{cause}");
        }
    }
}

/// NCCL is called before the product is launched beside it, except in the first exchange, which completes
/// before any other call, and after the product.
#[test]
fn the_product_runs_beside_the_exchange() {
    let _turn = turn(None);
    let found = cluster().run(|rank| {
        choose(rank, Engine::Nccl)?;
        let partition = RowPartition::even(8, RANKS)?;
        let next = (rank.index() as u64 * 2 + 2) % 8;
        let halo = Arc::new(Halo::new(rank, &partition, vec![next])?);
        let mut exchange = HaloExchange::new(rank, &halo, 2, 1, false)?;
        let mut groups = Vec::new();
        for round in 0..3_u64 {
            let x = DistributedVec::from_fn(rank, &partition, |index| (index + 10 * round) as f64)?;
            exchange.pack(x.local())?;
            let sent = exchange.beside(HaloExchange::send, || {
                groups.push(["ncclGroupEnd", "quick ncclGroupEnd"].map(|name| count(rank.index(), name)));
                Ok(())
            })?;
            assert_eq!(matches!(sent, Sent::Done), round == 0);
            assert_eq!(exchange.receive(&sent)?.download()?, [(next + 10 * round) as f64]);
            exchange.finish(&sent)?;
        }
        Ok::<_, Error>(groups)
    });
    assert_eq!(found.unwrap(), [const { [[0, 0], [1, 1], [1, 2]] }; RANKS]);
}

#[test]
fn offers_of_ranks_must_agree() {
    let _turn = turn(None);
    let reasons = |offer: fn(usize) -> Result<Offer, String>| {
        let reasons = cluster().run(|rank| {
            let chosen = join(rank, Engine::Auto, offer(rank.index()).map(|offer| (functions(), offer)))?;
            let ExchangeEngine::Host { reason } = chosen.engine else { panic!("NCCL was chosen") };
            Ok::<_, Error>(reason)
        });
        let reasons = reasons.unwrap();
        assert!(reasons.iter().all(|reason| *reason == reasons[0]), "{reasons:?}");
        reasons[0].clone()
    };
    assert_eq!(
        reasons(|rank| if rank > 1 {
            Err("none".into())
        } else {
            Ok(Offer { version: 22_000, gpu: (1, 0) })
        }),
        "rank 2: none"
    );
    let same = |rank: usize| Ok(Offer { version: 22_000, gpu: (1, rank as u32 % 3) });
    assert_eq!(reasons(same), "ranks 0 and 3 have the same GPU");
    let older = |rank: usize| Ok(Offer { version: 22_000 - rank as u32 / 2, gpu: (1, rank as u32) });
    assert_eq!(reasons(older), "rank 0 has NCCL 22000, but rank 2 has 21999");
    assert!(calls().is_empty());
}

#[test]
fn engines_are_chosen_by_devices() {
    let auto = cluster().run(|rank| Ok::<_, Error>((rank.exchange(), rank.traffic()))).unwrap();
    let ExchangeEngine::Host { reason } = &auto[1].0 else { panic!("{auto:?}") };
    assert!(reason.starts_with("rank 0: ") && reason.ends_with("is not an NVIDIA GPU"), "{reason}");
    assert!(auto[1].1.iter().all(|traffic| traffic.messages == 0), "{auto:?}");
    let host = cluster().with_engine(Engine::Host).run(|rank| Ok::<_, Error>(rank.exchange())).unwrap();
    assert!(matches!(&host[0], ExchangeEngine::Host { reason } if reason == "it was requested"));
    let error = cluster().with_engine(Engine::Nccl).run(Rank::barrier).unwrap_err();
    assert!(matches!(error, Error::Start { .. }), "{error}");
}
