//! The measuring program as a program: what it prints and writes, and its exit codes.

mod csrmv;
mod distributed;
mod hisparse_tree;
mod launch_cost;
mod operations;
mod primitives;
mod report;
mod row_sorting;
mod solvers;
mod study;
mod suite;

use std::process::{Command, Output};

use serde_json::Value;

/// A command with its first arguments.
fn command(name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"));
    command.arg(name).env_remove("EVENPATH_MATRICES");
    command
}

fn run(name: &str, arguments: &[&str]) -> Output {
    command(name).args(arguments).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the stdout of a command, whose exit code must be 0.
fn passes(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{name} {arguments:?}: {}{text}", stderr(&output));
    text
}

/// The objects that a command prints with `--json`; the exit code must be 0.
fn objects(name: &str, arguments: &[&str]) -> Vec<Value> {
    let text = passes(name, &[arguments, &["--json"]].concat());
    text.lines().map(|line| line.parse().unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// A positive number.
fn positive(line: &Value, field: &str) -> f64 {
    let value = line[field].as_f64().unwrap_or_else(|| panic!("no `{field}` in {line}"));
    assert!(value > 0.0, "{field} in {line}");
    value
}
