//! Finds a compiler for PTX, and builds the kernels crate with it.
//!
//! It needs a rustc that accepts `-Z` flags, the sources of the standard library, `llvm-link`, `opt`
//! and `llc` of the same LLVM version, and `llvm-bitcode-linker`, which drives those three.
//! `xtask/install-device-toolchain.sh` can set up either of two kinds: packages of a Linux
//! distribution, with the linker built from its source package; or a nightly of rustup with the
//! components for the rest.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::flags;
use crate::ptx::folder::Compiler;
use crate::ptx::{PTX_VERSION, Target};

const TRIPLE: &str = "nvptx64-nvidia-cuda";
const LINKER: &str = "llvm-bitcode-linker";
const LLVM_TOOLS: [&str; 3] = ["llvm-link", "opt", "llc"];

/// The flags for this compiler only, besides the target.
///
/// * Loops are unrolled, because otherwise the arrays that they index leave registers.
/// * A panic becomes a trap: no messages, no source paths, no calls.
/// * The others are set explicitly, so that profiles of the workspace have no effect.
const FLAGS: [&str; 5] = [
    "-Cllvm-args=-unroll-threshold=2000",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Copt-level=3",
    "-Cdebuginfo=0",
];

/// All flags for a target that affect its PTX.
pub fn flags(target: Target) -> Vec<String> {
    let mut flags: Vec<_> = flags::of_target(target.0).into_iter().chain(FLAGS).map(str::to_owned).collect();
    flags.push(format!("-Ctarget-cpu={target}"));
    flags.push(format!("-Ctarget-feature=+ptx{PTX_VERSION}"));
    flags
}

/// A complete toolchain for PTX.
#[derive(Debug)]
pub struct Toolchain {
    kind: Kind,
    cargo: PathBuf,
    rustc: PathBuf,
    /// The folders of the linker and the LLVM tools.
    path: Vec<PathBuf>,
    /// The compiler, on which its PTX depends.
    pub compiler: Compiler,
}

/// The source of a toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Packages of the system.
    System,
    /// A toolchain of rustup, by name.
    Rustup(String),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system packages"),
            Self::Rustup(name) => write!(f, "rustup's {name}"),
        }
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with LLVM {} ({})", self.compiler.rustc, self.compiler.llvm, self.kind)
    }
}

impl Toolchain {
    /// The toolchain with the `preferred` compiler, or else the first complete one.
    ///
    /// # Errors
    ///
    /// If there is none; the error lists what each candidate lacks and how to install one.
    pub fn find(preferred: Option<&Compiler>) -> Result<Self> {
        let mut complete = Vec::new();
        let mut lacking = Vec::new();
        for kind in candidates() {
            match Self::open(kind.clone()) {
                Ok(toolchain) => complete.push(toolchain),
                Err(error) => lacking.push(format!("\n  {kind}: {error:#}")),
            }
        }
        let wanted = complete.iter().position(|toolchain| preferred == Some(&toolchain.compiler));
        ensure!(
            !complete.is_empty(),
            "no compiler for PTX on this machine:{}\nInstall one with `xtask/install-device-toolchain.sh`.",
            lacking.concat()
        );
        Ok(complete.swap_remove(wanted.unwrap_or(0)))
    }

    fn open(kind: Kind) -> Result<Self> {
        let (cargo, rustc) = match &kind {
            Kind::System => (PathBuf::from("/usr/bin/cargo"), PathBuf::from("/usr/bin/rustc")),
            Kind::Rustup(name) => (rustup_which(name, "cargo")?, rustup_which(name, "rustc")?),
        };
        let version = output(Command::new(&rustc).args(["--version", "--verbose"]))?;
        let field = |name: &str| {
            let value = version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned).with_context(|| format!("rustc does not report its `{name}`"))
        };
        let sysroot = PathBuf::from(output(Command::new(&rustc).args(["--print", "sysroot"]))?.trim());
        let library = sysroot.join("lib/rustlib/src/rust/library/Cargo.lock");
        ensure!(
            library.exists(),
            "the sources of the standard library are missing (no {})",
            library.display()
        );

        let llvm = field("LLVM version")?;
        let path = match &kind {
            Kind::System => {
                let major = llvm.split('.').next().unwrap_or_default();
                vec![linker_folder(&field("release")?)?, format!("/usr/lib/llvm-{major}/bin").into()]
            }
            Kind::Rustup(_) => {
                let bin = sysroot.join("lib/rustlib").join(field("host")?).join("bin");
                vec![bin.join("self-contained"), bin]
            }
        };
        for tool in [LINKER].iter().chain(&LLVM_TOOLS) {
            let found = path.iter().any(|folder| folder.join(tool).exists());
            let folders = path.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>();
            ensure!(found, "`{tool}` is missing (in {})", folders.join(", "));
        }
        let rustc_line = version.lines().next().unwrap_or_default().to_owned();
        let compiler = Compiler { rustc: rustc_line, llvm: llc_version(&path)? };
        Ok(Self { kind, cargo, rustc, path, compiler })
    }

    /// Builds a crate with kernels for one target; returns the PTX text.
    ///
    /// # Errors
    ///
    /// If the build fails, or produces no PTX.
    pub fn build_kernels(&self, root: &Path, package: &str, target: Target) -> Result<String> {
        let target_dir = crate::target_dir(root).join("ptx").join(target.to_string());
        let status = self
            .cargo(root, target)?
            .args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib"])
            .args(["--release", "-Zbuild-std=core", "--target", TRIPLE, "--target-dir"])
            .arg(&target_dir)
            .status()
            .with_context(|| format!("running {}", self.cargo.display()))?;
        ensure!(status.success(), "building {package} for {target} failed ({status})");
        let file = format!("release/{}.ptx", package.replace('-', "_"));
        let path = target_dir.join(TRIPLE).join(file);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }

    /// Creates a cargo command that is independent of the caller's environment.
    fn cargo(&self, root: &Path, target: Target) -> Result<Command> {
        let mut cargo = Command::new(&self.cargo);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let is_cargos = ["CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_TARGET_", "CARGO_ENCODED_"]
                .iter()
                .any(|prefix| text.starts_with(prefix));
            if is_cargos || matches!(&*text, "RUSTFLAGS" | "RUSTC_WRAPPER" | "RUSTC_WORKSPACE_WRAPPER") {
                cargo.env_remove(&name);
            }
        }
        if let Kind::Rustup(name) = &self.kind {
            cargo.env("RUSTUP_TOOLCHAIN", name);
        }
        cargo
            .current_dir(root)
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            // Incremental compilation would split the crate into codegen units.
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTFLAGS", flags(target).join(" "))
            .env("PATH", self.search_path()?);
        Ok(cargo)
    }

    fn search_path(&self) -> Result<OsString> {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let folders = self.path.iter().cloned().chain(env::split_paths(&inherited));
        env::join_paths(folders).context("a folder name cannot be in PATH")
    }
}

fn candidates() -> Vec<Kind> {
    let mut kinds = vec![Kind::System];
    if let Ok(list) = output(Command::new("rustup").args(["toolchain", "list", "--quiet"])) {
        let names = list.lines().filter_map(|line| line.split_whitespace().next());
        let nightlies = names.filter(|name| name.starts_with("nightly"));
        kinds.extend(nightlies.map(|name| Kind::Rustup(name.to_owned())));
    }
    kinds
}

fn rustup_which(toolchain: &str, tool: &str) -> Result<PathBuf> {
    let path = output(Command::new("rustup").args(["which", "--toolchain", toolchain, tool]))?;
    Ok(PathBuf::from(path.trim()))
}

/// Folder of the linker that the install script builds for a system rustc of this release.
fn linker_folder(release: &str) -> Result<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(cache.join("evenpath").join(format!("device-toolchain-{release}")).join("bin"))
}

fn llc_version(path: &[PathBuf]) -> Result<String> {
    let llc = path.iter().map(|folder| folder.join("llc")).find(|llc| llc.exists());
    let text = output(Command::new(llc.context("`llc` is missing")?).arg("--version"))?;
    let version = text.lines().find_map(|line| line.split_once("LLVM version ")).map(|(_, version)| version);
    Ok(version.context("`llc` does not report its version")?.trim().to_owned())
}

fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run `{name}`"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` failed: {}", message.lines().next().unwrap_or("without a message"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Incremental compilation splits the crate into codegen units, which changes the PTX.
    #[test]
    fn kernels_are_not_built_incrementally() {
        let toolchain = Toolchain {
            kind: Kind::System,
            cargo: "cargo".into(),
            rustc: "rustc".into(),
            path: Vec::new(),
            compiler: Compiler { rustc: String::new(), llvm: String::new() },
        };
        let cargo = toolchain.cargo(Path::new("."), Target(90)).unwrap();
        let incremental = cargo.get_envs().find(|(name, _)| *name == "CARGO_INCREMENTAL");
        assert_eq!(incremental.and_then(|(_, value)| value), Some("0".as_ref()));
    }
}
