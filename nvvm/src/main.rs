//! Writes the kernels that `build.rs` compiled to a folder for `EVENPATH_PTX_DIR`.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use xtask::ptx::folder::Compiler;
use xtask::ptx::text::Ptx;
use xtask::ptx::{folder, inspect, source, split, table, Target};

const TEXTS: [(Target, &str); 2] = [
    (Target(75), include_str!(concat!(env!("OUT_DIR"), "/sm_75.ptx"))),
    (Target(90), include_str!(concat!(env!("OUT_DIR"), "/sm_90.ptx"))),
];

fn main() -> Result<()> {
    let out = env::args_os().nth(1).context("usage: cargo run -- FOLDER")?;
    let modules = table::modules();
    let mut texts = BTreeMap::new();
    for (target, text) in TEXTS {
        let split = split::split(text, &modules).with_context(|| target.to_string())?;
        check(target, &split)?;
        texts.insert(target, split);
    }
    let compiler = Compiler {
        rustc: "rustc_codegen_nvvm 946c91f080770f30d42d7c706ac8185969274073".to_owned(),
        llvm: "7, libNVVM".to_owned(),
    };
    let files = folder::files(source::hash(&xtask::root())?, compiler, modules, &texts)?;
    folder::write(Path::new(&out), &files)
}

/// Tells what costs time, and refuses what gives wrong results.
fn check(target: Target, modules: &BTreeMap<String, String>) -> Result<()> {
    for (name, text) in modules {
        let ptx = Ptx::parse(text)?;
        for finding in inspect::findings(&ptx) {
            println!("{target}/{name}: {finding}");
        }
        if let Ok(barriers) = inspect::barriers(&ptx, "testing_conditional_barrier") {
            ensure!(barriers == 1, "{target}: a barrier became {barriers}: JumpThreading is at work");
        }
    }
    Ok(())
}
