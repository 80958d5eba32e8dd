//! `cargo xtask`: chores of the evenpath workspace.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser};
use xtask::ptx::{TARGETS, Target, assemble, build, folder};
use xtask::toolchain::Toolchain;
use xtask::{checked_in_ptx, mutants, root};

/// Chores of the evenpath workspace.
#[derive(Debug, Parser)]
enum Chore {
    /// Builds the PTX of the kernels, or checks that the checked-in PTX is what the sources give.
    Ptx(PtxOptions),
    /// Assembles PTX with NVIDIA's ptxas, reports registers and fails on spills.
    Ptxas {
        /// The folder of PTX.
        #[arg(long, default_value_os_t = checked_in_ptx())]
        ptx: PathBuf,
    },
    /// Tries whether the tests find the mistakes of `xtask/mutants`, each put into a copy of the workspace.
    Mutants {
        /// Mutants, by name; all if none is named.
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct PtxOptions {
    /// Rebuild and compare instead of writing.
    #[arg(long)]
    check: bool,
    /// Only this target, such as `sm_90`; may be repeated.
    #[arg(long = "target")]
    targets: Vec<Target>,
    /// The folder to write, or to check.
    #[arg(long, default_value_os_t = checked_in_ptx())]
    out: PathBuf,
}

fn main() -> ExitCode {
    if let Err(error) = run(Chore::parse()) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Ptx(options) => ptx(options),
        Chore::Ptxas { ptx } => {
            let ptxas = assemble::find().context(
                "no ptxas: put it on the PATH or name it in EVENPATH_PTXAS; the Python package \
                 nvidia-cuda-nvcc has one",
            )?;
            assemble::folder(&ptxas, &ptx, |module, usage| println!("{module:<36} {usage}"))
        }
        Chore::Mutants { names } => {
            mutants::run(&mutants::select(mutants::list(&root().join("xtask/mutants"))?, &names)?)
        }
    }
}

fn ptx(mut options: PtxOptions) -> Result<()> {
    if options.targets.is_empty() {
        options.targets = TARGETS.to_vec();
    }
    options.targets.sort_unstable();
    options.targets.dedup();
    let whole = options.targets == TARGETS;
    ensure!(
        whole || options.check || options.out != checked_in_ptx(),
        "the checked-in PTX holds every target: write a part of them elsewhere, with --out"
    );
    let manifest = folder::read_manifest(&options.out).ok();
    let toolchain = Toolchain::find(manifest.as_ref().map(|manifest| &manifest.compiler))?;
    println!("compiler: {toolchain}");
    if options.check {
        let verdict = build::check(&root(), &options.out, &toolchain, &options.targets)?;
        println!("{}: {verdict}", options.out.display());
    } else {
        let files = build::build(&root(), &toolchain, &options.targets)?;
        folder::write(&options.out, &files)?;
        println!("{}: {} files written", options.out.display(), files.len());
    }
    Ok(())
}
