//! Assembles PTX with NVIDIA's `ptxas`, to inspect the code that the driver will generate.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;

use super::folder;

/// The resources of one kernel, as reported by ptxas.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The name of the kernel.
    pub entry: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread, for arrays that are not in registers.
    pub stack: u32,
    /// Bytes of registers spilled to local memory.
    pub spill_stores: u32,
    /// Bytes of spilled registers loaded back.
    pub spill_loads: u32,
    /// Bytes of static shared memory per block.
    pub shared: u32,
}

impl Usage {
    /// Returns whether the kernel uses local memory.
    pub fn spills(&self) -> bool {
        self.stack + self.spill_stores + self.spill_loads > 0
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, registers, stack, spill_stores, spill_loads, shared } = self;
        write!(
            f,
            "{entry:<48} {registers:>3} registers {shared:>6} B shared {stack:>4} B stack \
             {spill_stores:>4} B stored {spill_loads:>4} B loaded"
        )
    }
}

/// The ptxas named by `EVENPATH_PTXAS`, or else the one on the PATH.
pub fn find() -> Option<PathBuf> {
    if let Some(path) = env::var_os("EVENPATH_PTXAS") {
        return Some(PathBuf::from(path));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join("ptxas")).find(|path| path.is_file())
}

/// Assembles every module of a folder for its target, and calls `report` for each kernel.
///
/// # Errors
///
/// If ptxas rejects a module, or a kernel uses local memory.
pub fn folder(ptxas: &Path, folder: &Path, mut report: impl FnMut(&str, &Usage)) -> Result<()> {
    let names: Vec<String> = folder::read(folder)?.into_keys().filter(|name| folder::is_ptx(name)).collect();
    let usages: Vec<_> = names
        .par_iter()
        .map(|name| module(ptxas, &folder.join(name)).with_context(|| name.clone()))
        .collect();
    let mut spilling = Vec::new();
    for (name, usages) in names.iter().zip(usages) {
        for usage in usages? {
            report(name, &usage);
            if usage.spills() {
                spilling.push(format!("{name}: {usage}"));
            }
        }
    }
    ensure!(spilling.is_empty(), "kernels that use local memory:\n  {}", spilling.join("\n  "));
    Ok(())
}

/// Assembles one module for the target of its folder.
fn module(ptxas: &Path, path: &Path) -> Result<Vec<Usage>> {
    let target = path.parent().and_then(Path::file_name).context("no target folder")?;
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let output = Command::new(ptxas)
        .args(["--verbose", "--gpu-name"])
        .arg(target)
        .arg("--output-file")
        .arg(scratch.path().join("cubin"))
        .arg(path)
        .output()
        .with_context(|| format!("cannot run `{}`", ptxas.display()))?;
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "ptxas failed:\n{text}");
    let usages = parse(&text);
    ensure!(!usages.is_empty(), "ptxas reported no kernel:\n{text}");
    Ok(usages)
}

/// Parses the output of `ptxas --verbose`.
fn parse(text: &str) -> Vec<Usage> {
    let mut usages: Vec<Usage> = Vec::new();
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_owned();
            usages.push(Usage { entry, ..Usage::default() });
        }
        let Some(usage) = usages.last_mut() else { continue };
        let before = |what: &str| {
            let (number, _) = line.split_once(what)?;
            number.rsplit([' ', ',']).find(|word| !word.is_empty())?.parse().ok()
        };
        let numbers = [
            (&mut usage.stack, " bytes stack frame"),
            (&mut usage.spill_stores, " bytes spill stores"),
            (&mut usage.spill_loads, " bytes spill loads"),
            (&mut usage.registers, " registers"),
            (&mut usage.shared, " bytes smem"),
        ];
        for (number, what) in numbers {
            *number = before(what).unwrap_or(*number);
        }
    }
    usages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_ptxas_are_parsed() {
        let text = "\
ptxas info    : 16 bytes gmem
ptxas info    : Compiling entry function 'spmv_f32' for 'sm_90'
ptxas info    : Function properties for spmv_f32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 11.084 ms
ptxas info    : Compiling entry function 'spmv_f64' for 'sm_90'
ptxas info    : Function properties for spmv_f64
    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
";
        let usages = parse(text);
        let f32 = Usage { entry: "spmv_f32".into(), registers: 10, shared: 1024, ..Usage::default() };
        assert_eq!(usages[0], f32);
        assert!(!usages[0].spills());
        let f64 = Usage {
            entry: "spmv_f64".into(),
            registers: 255,
            stack: 24,
            spill_stores: 8,
            spill_loads: 12,
            shared: 0,
        };
        assert_eq!(usages[1], f64);
        assert!(usages[1].spills());
    }
}
