//! Tests of the examples as programs: their output and exit codes.

mod matrices;
mod programs;
mod scipy;
mod sequences;
mod solvers;
mod spmv;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Path of an example's program. `cargo test` builds it beside the tests.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the path of this test");
    let profile = tests.parent().and_then(Path::parent).expect("<profile>/deps/<test>");
    let program = profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is missing: `cargo test --test` builds no examples", program.display());
    program
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name)).args(arguments).output().expect("the program starts")
}

/// Output of an example that passes.
fn passes(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{name} {arguments:?}: {stdout}");
    assert!(stdout.ends_with("PASS\n"), "{name} {arguments:?}: {stdout}");
    stdout.into_owned()
}

/// The line on stderr of an example without a result.
fn refuses(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {stderr}");
    assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{name} {arguments:?}: {stderr}");
    stderr.into_owned()
}

/// A file in a folder that is removed on drop.
struct File {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mtx");
        std::fs::write(&path, text).expect("a file");
        Self { path, _folder: folder }
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("text")
    }
}

const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n3 1 -0.5\n3 3 1e-3\n";
