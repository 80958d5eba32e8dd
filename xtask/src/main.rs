//! `cargo xtask`: maintenance tasks of the evenpath workspace.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser};
use xtask::ptx::set::{LIBRARY, SETS, Set};
use xtask::ptx::{TARGETS, Target, assemble, build, folder};
use xtask::toolchain::Toolchain;
use xtask::{checked_in_ptx, english, mutants, root};

/// Maintenance tasks of the evenpath workspace.
#[derive(Debug, Parser)]
enum Chore {
    /// Builds the PTX of the kernels, or checks that the checked-in PTX matches the sources.
    Ptx(PtxOptions),
    /// Assembles PTX with NVIDIA's ptxas, reports register counts and fails on spills.
    Ptxas {
        /// The PTX folder.
        #[arg(long, default_value_os_t = checked_in_ptx())]
        ptx: PathBuf,
    },
    /// Checks that the tests find the mistakes listed in `xtask/mutants`, each applied to a copy of the
    /// workspace.
    Mutants {
        /// Names of mutants. Default: all.
        names: Vec<String>,
    },
    /// Checks that documentation avoids the phrases that CONTRIBUTING.md rules out.
    English,
}

#[derive(Debug, Args)]
struct PtxOptions {
    /// Rebuild and compare instead of writing.
    #[arg(long)]
    check: bool,
    /// Build only this target, such as `sm_90`. May be repeated.
    #[arg(long = "target")]
    targets: Vec<Target>,
    /// Only the kernels of this crate. Default: of every crate; with `--out`, the library's.
    #[arg(long)]
    package: Option<String>,
    /// The folder to write or check. Default: that of the checked-in PTX.
    #[arg(long)]
    out: Option<PathBuf>,
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
                "ptxas not found: put it on the PATH or set EVENPATH_PTXAS; the Python package nvidia-cuda-nvcc contains it",
            )?;
            assemble::folder(&ptxas, &ptx, |module, usage| println!("{module:<36} {usage}"))
        }
        Chore::Mutants { names } => {
            mutants::run(&mutants::select(mutants::list(&root().join("xtask/mutants"))?, &names)?)
        }
        Chore::English => {
            let findings = english::check(&root())?;
            for finding in &findings {
                println!("{finding}");
            }
            ensure!(findings.is_empty(), "{} phrases are not plain English", findings.len());
            Ok(())
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
        whole || options.check || options.out.is_some(),
        "the checked-in PTX has every target: to build only some, write them elsewhere with --out"
    );
    let manifest = folder::read_manifest(&options.out.clone().unwrap_or_else(checked_in_ptx)).ok();
    let toolchain = Toolchain::find(manifest.as_ref().map(|manifest| &manifest.compiler))?;
    println!("compiler: {toolchain}");
    for set in sets(&options)? {
        let at = options.out.clone().unwrap_or_else(|| root().join(set.folder));
        if options.check {
            let verdict = build::check(&root(), set, &at, &toolchain, &options.targets)?;
            println!("{}: {verdict}", at.display());
        } else {
            let files = build::build(&root(), set, &toolchain, &options.targets)?;
            folder::write(&at, &files)?;
            println!("{}: {} files written", at.display(), files.len());
        }
    }
    Ok(())
}

/// The crates whose kernels are built.
fn sets(options: &PtxOptions) -> Result<Vec<&'static Set>> {
    match &options.package {
        Some(name) => {
            let names = SETS.map(|set| set.package).join(", ");
            let set = SETS.iter().find(|set| set.package == name);
            Ok(vec![set.with_context(|| format!("`{name}` has no checked-in PTX; {names} have"))?])
        }
        None if options.out.is_some() => Ok(vec![&LIBRARY]),
        None => Ok(SETS.iter().collect()),
    }
}
