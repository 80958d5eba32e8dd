//! Ranks that are MPI processes: `mpirun` starts this test program four times.

use std::process::Command;
use std::time::{Duration, Instant};

use evenpath::Device;
use evenpath_distributed::Cluster;

use crate::tcp::{FOLDER, TASK, product};

/// Output of the processes, in any order.
fn run(task: &str, timeout: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let start = Instant::now();
    let output = Command::new("mpirun")
        .args(["--oversubscribe", "--allow-run-as-root", "-n", "4"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["tcp::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env(FOLDER, folder.path())
        .env("EVENPATH_TIMEOUT", timeout)
        .output()
        .expect("mpirun starts");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let files = std::fs::read_dir(folder.path()).expect("the folder");
    let said: Vec<String> =
        files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text")).collect();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.len(), 4, "{stdout}\n{stderr}");
    said
}

#[test]
fn processes_have_the_bits_of_threads() {
    let threads = Cluster::local(vec![Device::cpu(); 4]).unwrap().run(product).unwrap();
    for task in ["product", "runs"] {
        for result in run(task, "30") {
            assert_eq!(result, threads[0].to_string());
        }
    }
}

#[test]
fn large_messages_do_not_block_each_other() {
    assert_eq!(run("large", "30"), ["1"; 4]);
}

#[test]
fn failures_are_named() {
    assert_eq!(run("panic", "30"), ["error: rank 2 failed: it panicked: deliberately"; 4]);
    let mut results = run("error", "30");
    results.sort();
    assert_eq!(results[0], "error: a cluster needs at least one rank");
    assert_eq!(results[1..], ["error: rank 2 failed: a cluster needs at least one rank"; 3]);
    for result in run("late", "1") {
        assert!(
            result.starts_with("error: rank 1 failed: rank ") && result.contains("waited 1 s"),
            "{result}"
        );
    }
    for result in run("chain", "1") {
        assert!(result.starts_with("error: rank 0 failed: rank 1 wait"), "{result}");
    }
    for result in run("circle", "1") {
        assert!(result.starts_with("error: rank 0 failed: deadlock: rank 0 waits for rank 1 in"), "{result}");
    }
    let mut results = run("leave", "30");
    results.sort();
    assert_eq!(results[0], "");
    assert!(
        results[1..].iter().all(|result| result.starts_with("error: rank 2 failed: it has ended")),
        "{results:?}"
    );
}
