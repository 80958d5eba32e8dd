//! Tests of the use of an NVIDIA driver and a GPU.
//!
//! The tests run on a GPU if there is one. Otherwise they run against a stand-in for the driver
//! (`stand_in.rs`), which enforces the driver's rules; if that cannot be built, every test is listed as
//! ignored.

mod cases;
mod faults;
mod ptx_folders;
mod support;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use evenpath::device::{Device, DeviceError};
use libtest_mimic::{Arguments, Trial};
use support::{CHILD_VARIABLE, run_in_child};

/// Set for the process that uses the stand-in as its driver.
const STAND_IN_VARIABLE: &str = "EVENPATH_TEST_STAND_IN";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CHILD_VARIABLE) {
        match faults::CASES.iter().find(|(case, _)| *case == name) {
            Some((_, case)) => case(),
            None => ptx_folders::run_child(&name),
        }
        return ExitCode::SUCCESS;
    }
    let ignored = match Device::cuda(0) {
        Err(error @ (DeviceError::NoDriver { .. } | DeviceError::NoSuchGpu { .. })) => {
            println!("no GPU: {error}");
            if std::env::var_os(STAND_IN_VARIABLE).is_some() {
                println!("the stand-in driver was not loaded");
                return ExitCode::FAILURE;
            }
            match run_on_stand_in() {
                Ok(code) => return code,
                Err(reason) => println!("no stand-in for the driver either: {reason}"),
            }
            true
        }
        Ok(device) => {
            println!("testing on {device}");
            false
        }
        // The tests will report the error of the GPU.
        Err(_) => false,
    };
    let mut arguments = Arguments::from_args();
    // The tests use up memory, so they run one after the other.
    arguments.test_threads.get_or_insert(1);
    let trial = |name: &'static str, run: Box<dyn FnOnce() + Send>| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(ignored)
    };
    let here = cases::CASES.iter().chain(ptx_folders::CASES).map(|&(name, case)| trial(name, Box::new(case)));
    // After a fault a process can no longer use the GPU.
    let in_children =
        faults::CASES.iter().map(|&(name, _)| trial(name, Box::new(|| run_in_child(name, &[]))));
    libtest_mimic::run(&arguments, here.chain(in_children).collect()).exit_code()
}

/// Builds the stand-in and runs this program again with it in place of the driver.
fn run_on_stand_in() -> Result<ExitCode, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    build_stand_in(folder.path())?;
    println!("testing against a stand-in for the driver; SKIPPED: the same on a GPU");
    let status = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
        .args(std::env::args_os().skip(1))
        .env(STAND_IN_VARIABLE, "1")
        .env("LD_LIBRARY_PATH", folder.path())
        .status()
        .map_err(|error| error.to_string())?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build_stand_in(folder: &Path) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("it is for Linux".into());
    }
    let source = folder.join("stand_in.rs");
    for (path, text) in [
        (&source, include_str!("stand_in.rs")),
        (&folder.join("order.rs"), include_str!("stand_in/order.rs")),
        (&folder.join("state.rs"), include_str!("stand_in/state.rs")),
    ] {
        std::fs::write(path, text).map_err(|error| error.to_string())?;
    }
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "-o"])
        .args([&folder.join("libcuda.so.1"), &source])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
