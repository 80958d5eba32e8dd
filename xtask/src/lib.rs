//! Maintenance tasks of the evenpath workspace. `cargo xtask` lists them.
//!
//! It is also a library, because the PTX tests and the program in `nvvm/` read and split PTX too.

pub mod english;
pub mod flags;
pub mod mutants;
pub mod ptx;
pub mod toolchain;

use std::env;
use std::path::{Path, PathBuf};

/// The root folder of the workspace.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder of the checked-in PTX.
pub fn checked_in_ptx() -> PathBuf {
    root().join(ptx::set::LIBRARY.folder)
}

/// The folder for build products.
fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}
