//! The examples as programs: threads on the CPU and on simulated GPUs, and processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Path of an example's program. `cargo test` builds it beside the tests.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the path of this test");
    let profile = tests.parent().and_then(Path::parent).expect("<profile>/deps/<test>");
    let program = profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is missing: `cargo test --test` builds no examples", program.display());
    program
}

/// Output of a program that passes.
fn passes(output: &Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{stdout}");
    assert!(stdout.ends_with("PASS\n"), "{stdout}");
    stdout.into_owned()
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name)).args(arguments).output().expect("the program starts")
}

#[test]
fn conjugate_gradients() {
    needs!("cpu", "simulated");
    let text = passes(&run("distributed_cg", &["--ranks", "4", "--device", "cpu", "--grid", "40"]));
    assert!(
        text.contains("1600 x 1600, 4 ranks on CPU")
            && text.contains("exchange by host")
            && text.contains("rank 3: "),
        "{text}"
    );
    passes(&run("distributed_cg", &["--ranks", "3", "--device", "simulated", "--grid", "6"]));
}

/// The number of steps and the residual that a program prints.
fn solution(text: &str) -> String {
    let line = text.lines().find(|line| line.contains(" steps in ")).expect("a summary");
    let (steps, rest) = line.split_once(" steps in ").expect("steps");
    format!("{steps} {}", rest.split_once("residual").expect("a residual").1)
}

#[test]
fn conjugate_gradients_of_processes() {
    needs!("cpu");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number").to_string();
    drop(listener);
    let start = |rank: usize| -> Child {
        Command::new(program("distributed_cg"))
            .args(["--grid", "40"])
            .env("EVENPATH_RANK", rank.to_string())
            .env("EVENPATH_SIZE", "4")
            .env("EVENPATH_ADDRESS", &address)
            .env("EVENPATH_TIMEOUT", "30")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process")
    };
    let children: Vec<Child> = (0..4).map(start).collect();
    let texts: Vec<String> =
        children.into_iter().map(|child| passes(&child.wait_with_output().expect("it ends"))).collect();
    let threads = passes(&run("distributed_cg", &["--ranks", "4", "--grid", "40"]));
    assert_eq!(solution(&texts[0]), solution(&threads));
    assert_eq!(texts[1], "PASS\n", "only rank 0 reports");
}

#[test]
fn pagerank() {
    needs!("cpu", "simulated");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data/polblogs.mtx.gz");
    let ranked = |ranks: &str| {
        let text = passes(&run("distributed_pagerank", &["--ranks", ranks, file]));
        let first: Vec<String> = text.lines().skip(1).take(5).map(str::to_owned).collect();
        first
    };
    let one = ranked("1");
    assert!(one[0].starts_with("154: 0.0"), "{one:?}");
    assert_eq!(ranked("4"), one);
    passes(&run("distributed_pagerank", &["--ranks", "3", "--scale", "9"]));
    passes(&run("distributed_pagerank", &["--ranks", "2", "--device", "simulated", "--scale", "5"]));
}

#[test]
fn invalid_arguments_are_refused() {
    needs!("cpu");
    for (arguments, reason) in [
        (&["--device", "abacus"][..], "no device is called `abacus`"),
        (&["--ranks", "0"], "at least one rank"),
        (&["--engine", "steam"], "no engine is called `steam`"),
        (&["--engine", "nccl"], "NCCL cannot be used: rank 0: "),
        (&["--grid", "x"], "x"),
    ] {
        let output = run("distributed_cg", arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(reason), "{stderr}");
    }
    for (variable, arguments, reason) in [
        ("EVENPATH_RANK", &["--ranks", "4"][..], "--ranks starts threads, but EVENPATH_RANK is set"),
        ("EVENPATH_ADDRESS", &["--ranks", "4"], "--ranks starts threads, but EVENPATH_ADDRESS is set"),
        (
            "OMPI_COMM_WORLD_RANK",
            &["--ranks", "4"],
            "--ranks starts threads, but OMPI_COMM_WORLD_RANK is set",
        ),
        ("EVENPATH_SIZE", &[], "EVENPATH_RANK: "),
    ] {
        let mut command = Command::new(program("distributed_cg"));
        let output = command.args(arguments).env(variable, "0").output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(reason), "{stderr}");
    }
    let output = run("distributed_pagerank", &["--ranks", "3", "/nowhere/a.mtx"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/a.mtx"));
}
