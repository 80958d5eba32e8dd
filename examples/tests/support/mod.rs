//! Where the examples are.

use std::path::{Path, PathBuf};

/// The program of an example. `cargo test` builds it beside the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("the path of this test");
    let profile = tests.parent().and_then(Path::parent).expect("<profile>/deps/<test>");
    let program = profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is not there: `cargo test --test` builds no examples", program.display());
    program
}
