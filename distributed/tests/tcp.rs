//! Ranks that are processes: this test program starts itself.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use evenpath::Device;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error, Rank, Result, generate};

use crate::{faults, gpu_faults};

/// Environment variable with the task of a process that this program starts.
pub(crate) const TASK: &str = "EVENPATH_TEST_TASK";

/// Environment variable with the folder for results of processes that share one output.
pub(crate) const FOLDER: &str = "EVENPATH_TEST_FOLDER";

/// Address with a port of this machine that was just free.
pub(crate) fn address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").to_string()
}

pub(crate) fn start(task: &str, rank: usize, size: usize, address: &str, timeout: &str) -> Child {
    start_with(task, rank, size, address, timeout, &[])
}

/// Like [`start`], with more environment variables.
pub(crate) fn start_with(
    task: &str,
    rank: usize,
    size: usize,
    address: &str,
    timeout: &str,
    variables: &[(&str, &str)],
) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["tcp::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env("EVENPATH_RANK", rank.to_string())
        .env("EVENPATH_SIZE", size.to_string())
        .env("EVENPATH_ADDRESS", address)
        .env("EVENPATH_TIMEOUT", timeout)
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// Output of a process after the mark.
pub(crate) fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let said =
        text.split_once("result: ").map(|(_, rest)| rest.lines().next().unwrap_or_default().to_owned());
    said.unwrap_or_else(|| panic!("no result: {text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

pub(crate) fn run(task: &str, size: usize, timeout: &str) -> Vec<String> {
    let address = address();
    let children: Vec<Child> = (0..size).map(|rank| start(task, rank, size, &address, timeout)).collect();
    children.into_iter().map(|child| said(&child.wait_with_output().expect("it ends"))).collect()
}

/// Not a test: the body of the processes.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let cluster = if task.starts_with("gpu-") { gpu_faults::cluster() } else { cluster() };
    let result = cluster.and_then(|mut cluster| match &*task {
        "product" | "gpu-product" => cluster.run(product).map(|results| format!("{:?}", results[0])),
        "runs" => {
            let last = (0..3).map(|_| cluster.run(product)).next_back().expect("three");
            last.map(|results| format!("{:?}", results[0]))
        }
        "large" => cluster.run(large).map(|results| format!("{:?}", results[0])),
        "panic" => nothing(&mut cluster, |rank| {
            assert!(rank.index() != 2, "deliberately");
            rank.barrier()
        }),
        "error" => {
            nothing(&mut cluster, |rank| if rank.index() == 2 { Err(Error::Empty) } else { rank.barrier() })
        }
        "forever" => nothing(&mut cluster, forever),
        "gpu-forever" => nothing(&mut cluster, gpu_faults::forever),
        "late" => nothing(&mut cluster, late),
        "chain" => nothing(&mut cluster, |rank| faults::wait_in_a_chain(rank, || false)),
        "circle" => nothing(&mut cluster, |rank| {
            rank.broadcast((rank.index() + 1) % rank.size(), &[0_u8]).map(|_| ())
        }),
        "leave" => nothing(&mut cluster, |rank| if rank.index() == 2 { Ok(()) } else { rank.barrier() }),
        task => panic!("unknown task {task}"),
    });
    let result = result.unwrap_or_else(|error| format!("error: {error}"));
    match std::env::var_os(FOLDER) {
        None => println!("\nresult: {result}"),
        Some(folder) => {
            let file = std::path::Path::new(&folder).join(std::process::id().to_string());
            std::fs::write(file, result).expect("a file");
        }
    }
}

/// The cluster of processes started by `mpirun` or by this program.
fn cluster() -> Result<Cluster> {
    #[cfg(feature = "mpi")]
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_some() {
        return Cluster::mpi(Device::cpu());
    }
    Cluster::from_env(Device::cpu())
}

fn nothing(cluster: &mut Cluster, body: impl Fn(&Rank) -> Result<()> + Sync) -> Result<String> {
    cluster.run(body).map(|_| String::new())
}

pub(crate) fn product(rank: &Rank) -> Result<u64> {
    let grid = generate::Stencil::five_point(20);
    let a = DistributedCsr::from_fn(rank, 400, 400, |row, entries| grid.row(row, entries))?;
    let x = DistributedVec::from_fn(rank, a.col_partition(), |index| (index as f64).sin())?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    a.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
    Ok(y.dot(&x)?.to_bits())
}

/// Messages that exceed the system's buffers of a connection, all at once.
fn large(rank: &Rank) -> Result<u64> {
    let values: Vec<Vec<u64>> =
        (0..rank.size()).map(|to| vec![(rank.index() * 10 + to) as u64; 2_000_000]).collect();
    let came = rank.all_to_all(&values)?;
    let is_right = came.iter().enumerate().all(|(from, values)| {
        values.len() == 2_000_000 && values.iter().all(|&value| value == (from * 10 + rank.index()) as u64)
    });
    Ok(u64::from(is_right))
}

/// Exchanges until a process is killed.
fn forever(rank: &Rank) -> Result<()> {
    rank.barrier()?;
    println!("\nready");
    loop {
        rank.sum(1.0_f64)?;
    }
}

fn late(rank: &Rank) -> Result<()> {
    if rank.index() == 1 {
        std::thread::sleep(Duration::from_secs(3));
    }
    rank.barrier()
}

#[test]
fn processes_have_the_bits_of_threads() {
    needs!("cpu");
    let threads = Cluster::local(vec![Device::cpu(); 4]).unwrap().run(product).unwrap();
    for task in ["product", "runs"] {
        for result in run(task, 4, "30") {
            assert_eq!(result, threads[0].to_string());
        }
    }
    assert_eq!(run("product", 1, "30").len(), 1);
}

#[test]
fn large_messages_do_not_block_each_other() {
    needs!("cpu");
    assert_eq!(run("large", 3, "30"), ["1"; 3]);
}

#[test]
fn errors_and_panics_reach_all_processes() {
    needs!("cpu");
    assert_eq!(run("panic", 4, "30"), ["error: rank 2 failed: it panicked: deliberately"; 4]);
    let results = run("error", 4, "30");
    assert_eq!(results[2], "error: a cluster needs at least one rank");
    for rank in [0, 1, 3] {
        assert_eq!(results[rank], "error: rank 2 failed: a cluster needs at least one rank");
    }
}

#[test]
fn a_killed_process_is_named() {
    needs!("cpu");
    let address = address();
    let mut children: Vec<Child> = (0..4).map(|rank| start("forever", rank, 4, &address, "30")).collect();
    let mut lines = BufReader::new(children[1].stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text") == "ready"));
    let begin = Instant::now();
    let mut killed = children.remove(1);
    killed.kill().expect("it runs"); // SIGKILL
    killed.wait().expect("it ends");
    for child in children {
        let said = said(&child.wait_with_output().expect("it ends"));
        assert!(said.starts_with("error: rank 1 failed: the connection to it was lost"), "{said}");
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_slow_process_is_named() {
    needs!("cpu");
    for (rank, result) in run("late", 3, "1").into_iter().enumerate() {
        assert!(
            result.starts_with("error: rank 1 failed: rank ") && result.contains("waited 1 s"),
            "rank {rank}: {result}"
        );
    }
}

#[test]
fn the_process_at_the_end_of_a_chain_is_named() {
    needs!("cpu");
    for size in 3..=5 {
        for (rank, result) in run("chain", size, "1").into_iter().enumerate() {
            assert!(
                result.starts_with("error: rank 0 failed: rank 1 wait")
                    && result.contains("in `halo exchange`"),
                "rank {rank}: {result}"
            );
        }
    }
    for result in run("circle", 2, "1") {
        let waits = "rank 0 waits for rank 1 in `broadcast`, rank 1 waits for rank 0 in `broadcast`";
        assert_eq!(result, format!("error: rank 0 failed: deadlock: {waits}"));
    }
}

#[test]
fn a_finished_process_is_not_waited_for() {
    needs!("cpu");
    let begin = Instant::now();
    let results = run("leave", 3, "30");
    assert_eq!(results[2], "");
    for result in &results[..2] {
        assert!(result.starts_with("error: rank 2 failed: it has ended"), "{result}");
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_missing_process_is_named_by_all() {
    needs!("cpu");
    let address = address();
    let children = [0, 2, 3].map(|rank| start("product", rank, 4, &address, "1"));
    for child in children {
        let said = said(&child.wait_with_output().expect("it ends"));
        assert!(said.starts_with("error: rank 1 failed: ") && said.contains("did not connect"), "{said}");
    }
    // Rank 0 itself.
    let said = said(&start("product", 1, 2, &address, "1").wait_with_output().expect("it ends"));
    assert!(said.starts_with("error: rank 0 failed: ") && said.contains("did not answer"), "{said}");
}

#[test]
fn processes_of_other_clusters_are_refused() {
    needs!("cpu");
    let address = address();
    let children = [start("product", 0, 2, &address, "5"), start("product", 1, 3, &address, "5")];
    let results = children.map(|child| said(&child.wait_with_output().expect("it ends")));
    assert!(results[0].contains("rank 1 failed: it is of a cluster of 3 ranks"), "{}", results[0]);
    let told =
        "this rank is refused: it is of a cluster of 3 ranks, but rank 0 is of one of 2 (EVENPATH_SIZE)";
    assert!(results[1].starts_with("error: ") && results[1].contains(told), "{}", results[1]);
}
