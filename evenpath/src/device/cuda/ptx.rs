//! Sources of PTX: built into the library, or a folder that the user names.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::path::{Path, PathBuf};

use evenpath_simt::kernel::KernelInfo;

use crate::device::{DeviceError, Version};

#[path = "../../../ptx/modules.rs"]
mod modules;

/// Environment variable that names a folder to read PTX from instead: `sm_<target>/<module>.ptx`.
const FOLDER_VARIABLE: &str = "EVENPATH_PTX_DIR";

/// Name and compressed text (deflate) of a PTX module.
type Module = (&'static str, &'static [u8]);
/// The PTX modules of each target.
type Targets = &'static [(u32, &'static [Module])];

/// The PTX modules for one GPU.
#[derive(Debug)]
pub(super) struct Ptx {
    origin: PtxOrigin,
    /// The newest target that the GPU runs.
    target: u32,
    /// The target and older ones, newest first.
    targets: Vec<u32>,
}

#[derive(Debug)]
enum PtxOrigin {
    BuiltIn(Targets),
    Folder(PathBuf),
}

impl Ptx {
    /// Returns the newest target that a GPU of this compute capability can run, from the user's folder or the
    /// library.
    pub(super) fn for_gpu(device: &str, capability: (u32, u32)) -> Result<Self, DeviceError> {
        let origin = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) if !folder.is_empty() => PtxOrigin::Folder(folder.into()),
            _ => PtxOrigin::BuiltIn(modules::TARGETS),
        };
        Self::choose(origin, device, capability)
    }

    fn choose(origin: PtxOrigin, device: &str, capability: (u32, u32)) -> Result<Self, DeviceError> {
        let mut targets = origin.targets()?;
        targets.sort_unstable_by_key(|&target| Reverse(target));
        let Some(&oldest) = targets.last() else {
            return Err(DeviceError::NoPtx { origin: origin.to_string() });
        };
        targets.retain(|&target| target <= capability.0 * 10 + capability.1);
        match targets.first() {
            Some(&target) => Ok(Self { origin, target, targets }),
            None => Err(DeviceError::UnsupportedGpu { device: device.to_owned(), capability, oldest }),
        }
    }

    /// Returns the text of a module for the target, or for the newest older one that has it.
    pub(super) fn module(&self, name: &str) -> Result<String, DeviceError> {
        for &target in &self.targets {
            if let Some(text) = self.module_of(target, name)? {
                return Ok(text);
            }
        }
        let origin = self.origin.to_string();
        Err(DeviceError::ModuleNotFound { module: name.to_owned(), target: self.target, origin })
    }

    /// Returns the text of a module that is stored for this very target.
    fn module_of(&self, target: u32, name: &str) -> Result<Option<String>, DeviceError> {
        match &self.origin {
            PtxOrigin::BuiltIn(targets) => {
                let modules = targets.iter().find(|(own, _)| *own == target).map_or(&[][..], |(_, own)| own);
                let module = modules.iter().find(|(module, _)| *module == name);
                Ok(module.map(|(_, text)| retarget(inflate(text), target, self.target)))
            }
            PtxOrigin::Folder(folder) => {
                let path = module_path(folder, target, name);
                match std::fs::read_to_string(&path) {
                    Ok(text) => Ok(Some(text)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(source) => Err(DeviceError::ReadPtx { path, source }),
                }
            }
        }
    }

    /// Returns a module's text reduced to one kernel, which the driver compiles in a fraction of the time of
    /// the whole. `None` for texts from a folder, whose kernels may share declarations.
    pub(super) fn kernel(&self, module: &str, kernel: &str) -> Result<Option<String>, DeviceError> {
        if !self.is_built_in() {
            return Ok(None);
        }
        Ok(only(&self.module(module)?, kernel))
    }

    /// Returns one text with all the named kernels, from any modules, largest first; `None` for texts from a
    /// folder, as in [`kernel`](Self::kernel).
    pub(super) fn kernels(&self, kernels: &[&KernelInfo]) -> Option<String> {
        if !self.is_built_in() {
            return None;
        }
        let mut modules = HashMap::new();
        for kernel in kernels {
            if let Entry::Vacant(entry) = modules.entry(kernel.module) {
                entry.insert(self.module(kernel.module).ok()?);
            }
        }
        let mut entries = Vec::new();
        let mut head: Vec<&str> = Vec::new();
        for kernel in kernels {
            let (own, entry) = split(modules.get(kernel.module)?, kernel.name)?;
            // The library's own texts begin alike, except for lines that declare dynamic shared memory and tables.
            for line in own.lines().filter(|line| !line.is_empty()) {
                if !head.contains(&line) {
                    head.push(line);
                }
            }
            entries.push(entry);
        }
        entries.sort_by_key(|entry| Reverse(entry.len()));
        Some(join(&(head.join("\n") + "\n"), &entries))
    }

    /// Location of a module, for messages: its file, unless it is built in.
    pub(super) fn location(&self, name: &str) -> String {
        match &self.origin {
            PtxOrigin::BuiltIn(_) => format!("module `{name}` of {}", self.origin),
            PtxOrigin::Folder(folder) => {
                format!("{} ({FOLDER_VARIABLE})", module_path(folder, self.target, name).display())
            }
        }
    }

    /// The target, such as 75 for `sm_75`.
    pub(super) fn target(&self) -> u32 {
        self.target
    }

    /// Returns whether the modules are the library's own.
    pub(super) fn is_built_in(&self) -> bool {
        matches!(self.origin, PtxOrigin::BuiltIn(_))
    }

    /// Location of the modules, for messages.
    pub(super) fn origin(&self) -> String {
        self.origin.to_string()
    }
}

impl PtxOrigin {
    fn targets(&self) -> Result<Vec<u32>, DeviceError> {
        match self {
            Self::BuiltIn(targets) => Ok(targets.iter().map(|(target, _)| *target).collect()),
            Self::Folder(folder) => {
                folder_targets(folder).map_err(|source| DeviceError::ReadPtx { path: folder.clone(), source })
            }
        }
    }
}

/// Returns the path of a module in a folder.
fn module_path(folder: &Path, target: u32, name: &str) -> PathBuf {
    folder.join(format!("sm_{target}")).join(format!("{name}.ptx"))
}

/// Names a newer target in a text, so that texts of several modules can be joined.
fn retarget(text: String, from: u32, to: u32) -> String {
    if from == to {
        return text;
    }
    text.replacen(&format!("\n.target sm_{from}\n"), &format!("\n.target sm_{to}\n"), 1)
}

/// Lists the targets that a folder has subfolders for.
fn folder_targets(folder: &Path) -> std::io::Result<Vec<u32>> {
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("sm_"));
        targets.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    Ok(targets)
}

impl std::fmt::Display for PtxOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn(_) => f.write_str("the library"),
            Self::Folder(folder) => write!(f, "{} ({FOLDER_VARIABLE})", folder.display()),
        }
    }
}

/// Start of a kernel in the library's own texts, on a line of its own. A kernel ends where the next begins.
const ENTRY: &str = "\n.visible .entry ";

/// Reduces a text to what precedes its first kernel and the named kernel; `None` if it is missing.
fn only(text: &str, kernel: &str) -> Option<String> {
    let (head, entry) = split(text, kernel)?;
    Some(join(head, &[entry]))
}

/// Joins the text before the first kernel with kernels, as returned by [`split`].
fn join(head: &str, entries: &[&str]) -> String {
    entries.iter().fold(head.to_owned(), |text, entry| text + ENTRY + entry + "\n")
}

/// Returns the text before the first kernel, and the text after [`ENTRY`] of the named kernel; `None` if it
/// is missing.
fn split<'a>(text: &'a str, kernel: &str) -> Option<(&'a str, &'a str)> {
    let mut entries = text.split(ENTRY);
    let head = entries.next()?;
    let name_of = |entry: &str| entry.split(|c: char| c == '(' || c.is_whitespace()).next() == Some(kernel);
    Some((head, entries.find(|entry| name_of(entry))?))
}

/// Decompresses a text that the library's build script compressed.
fn inflate(compressed: &[u8]) -> String {
    let mut text = String::new();
    // Cannot fail: the data is in memory and was correct when built.
    let read = flate2::read::DeflateDecoder::new(compressed).read_to_string(&mut text);
    debug_assert!(read.is_ok());
    text
}

/// Returns the version of PTX that a module declares.
pub(super) fn version(text: &str) -> Option<Version> {
    let number = text.lines().find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, minor) = number.trim().split_once('.')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Newest major version of PTX that [`cuda_for`] knows.
pub(super) const NEWEST_MAJOR: u32 = 9;

/// First CUDA whose drivers support a version of PTX (release history of the PTX ISA).
pub(super) fn cuda_for(ptx: Version) -> Option<Version> {
    let (major, minor) = match (ptx.major, ptx.minor) {
        (6, minor @ 3..=5) => (10, minor - 3),
        (7, minor @ 0..=8) => (11, minor),
        (8, minor @ 0..=5) => (12, minor),
        (8, minor @ 6..=8) => (12, minor + 1),
        (NEWEST_MAJOR, minor) => (13, minor),
        _ => return None,
    };
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;
    use crate::device::cuda::entry;

    fn compressed(text: &str) -> &'static [u8] {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory").leak()
    }

    fn built_in(capability: (u32, u32)) -> Result<Ptx, DeviceError> {
        let of_75 = vec![
            ("copy", compressed(".version 7.8\n.target sm_75\n.address_size 64\n")),
            ("scan", compressed(".version 6.4\n.target sm_75\n")),
        ];
        let scan = "// generated\n.version 7.8\n.target sm_90\n";
        let of_90 = vec![("scan", compressed(scan)), ("sort", compressed(""))];
        let targets: Targets = vec![(75, &*of_75.leak()), (90, &*of_90.leak())].leak();
        Ptx::choose(PtxOrigin::BuiltIn(targets), "gpu", capability)
    }

    #[test]
    fn a_kernel_is_cut_out_of_its_module() {
        let text = ".version 7.8\n.extern .shared .b8 s[];\n\n.visible .entry one(\n)\n{\n}\n\n.visible .entry \
                    one_more( .param .u32 a)\n{\nret;\n}\n";
        let head = ".version 7.8\n.extern .shared .b8 s[];\n";
        assert_eq!(
            only(text, "one").as_deref(),
            Some(&*format!("{head}\n.visible .entry one(\n)\n{{\n}}\n\n"))
        );
        let more = only(text, "one_more").expect("there");
        assert!(
            more.starts_with(head) && more.ends_with("a)\n{\nret;\n}\n\n") && !more.contains("entry one(")
        );
        assert_eq!(only(text, "on"), None);
        assert_eq!(only("", "one"), None);
    }

    #[test]
    fn every_kernel_can_be_cut_out() {
        for &(target, _) in modules::TARGETS {
            let capability = (target / 10, target % 10);
            let ptx =
                Ptx::choose(PtxOrigin::BuiltIn(modules::TARGETS), "a GPU", capability).expect("a target");
            for kernel in evenpath_kernels::kernels() {
                let text = ptx.kernel(kernel.module, kernel.name).expect("the module").expect("the kernel");
                assert_eq!(text.matches(".entry").count(), 1, "{}", kernel.name);
                assert_eq!(text.matches(&format!(".entry {}(", kernel.name)).count(), 1, "{}", kernel.name);
                let [open, close] = ['{', '}'].map(|brace| text.matches(brace).count());
                assert_eq!(open, close, "{}", kernel.name);
            }
        }
    }

    #[test]
    fn kernels_of_several_modules_make_one_text() {
        for &(target, _) in modules::TARGETS {
            let capability = (target / 10, target % 10);
            let ptx =
                Ptx::choose(PtxOrigin::BuiltIn(modules::TARGETS), "a GPU", capability).expect("a target");
            let kernels = evenpath_kernels::kernels();
            let text = ptx.kernels(&kernels).expect("all kernels");
            let names: HashSet<_> =
                text.split(ENTRY).skip(1).filter_map(|entry| entry.split('(').next()).collect();
            assert_eq!(names, kernels.iter().map(|kernel| kernel.name).collect());
            let lines = |text: &str| -> Vec<String> {
                text.split(ENTRY).next().expect("a head").lines().map(str::to_owned).collect()
            };
            let head = lines(&text);
            assert!(
                head.iter().all(|line| head.iter().filter(|other| *other == line).count() == 1),
                "{head:?}"
            );
            for kernel in kernels {
                let own = lines(&ptx.module(kernel.module).expect("the module"));
                // The version and the target come first, and declarations are whole lines.
                assert_eq!(own[..4], head[..4], "{}", kernel.module);
                for line in own.iter().skip(4).filter(|line| !line.is_empty()) {
                    assert!(head.contains(line) && line.ends_with(';'), "{}: {line}", kernel.module);
                }
            }
        }
    }

    #[test]
    fn the_newest_target_the_gpu_can_run_is_chosen() {
        for (capability, target) in [((7, 5), 75), ((8, 9), 75), ((9, 0), 90), ((12, 1), 90)] {
            assert_eq!(built_in(capability).expect("supported").target(), target, "{capability:?}");
        }
        let error = built_in((7, 0)).expect_err("older than all targets").to_string();
        assert!(error.contains("7.0") && error.contains("sm_75"), "{error}");
    }

    #[test]
    fn modules_are_found_by_name() {
        let ptx = built_in((9, 0)).expect("supported");
        assert_eq!(version(&ptx.module("scan").expect("is there")), Some(Version { major: 7, minor: 8 }));
        let error = ptx.module("scam").expect_err("is not there").to_string();
        assert!(
            error.contains("`scam`") && error.contains("sm_90") && error.contains("the library"),
            "{error}"
        );
    }

    #[test]
    fn a_target_has_the_modules_of_older_ones() {
        for (capability, target) in [((7, 5), "sm_75"), ((9, 0), "sm_90")] {
            let text = built_in(capability).expect("supported").module("copy").expect("is there");
            assert_eq!(text, format!(".version 7.8\n.target {target}\n.address_size 64\n"));
        }
        assert!(built_in((8, 0)).expect("supported").module("sort").is_err(), "a module of newer GPUs alone");
    }

    #[test]
    fn a_folder_replaces_the_built_in_ptx() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let origin = || PtxOrigin::Folder(folder.path().to_owned());
        let error = Ptx::choose(origin(), "gpu", (9, 0)).expect_err("an empty folder").to_string();
        assert!(error.contains("no PTX") && error.contains(FOLDER_VARIABLE), "{error}");

        for target in ["sm_80", "sm_90", "sm_90a", "other"] {
            std::fs::create_dir(folder.path().join(target)).expect("a new folder");
        }
        std::fs::write(folder.path().join("sm_80/scan.ptx"), "text").expect("a new file");
        let ptx = Ptx::choose(origin(), "gpu", (8, 6)).expect("has sm_80");
        assert_eq!((ptx.target(), ptx.module("scan").expect("is there").as_str()), (80, "text"));
        let error = ptx.module("sort").expect_err("is not there").to_string();
        assert!(error.contains("`sort`") && error.contains(FOLDER_VARIABLE), "{error}");
    }

    /// Checks built-in modules, which are not checked when loaded.
    #[test]
    fn built_in_entries_match_the_host() {
        let kernels = evenpath_kernels::kernels();
        for (target, modules) in modules::TARGETS {
            for (name, text) in *modules {
                let of_module: Vec<_> =
                    kernels.iter().copied().filter(|kernel| kernel.module == *name).collect();
                let text = inflate(text);
                let entries = text.matches(".entry").count();
                assert_eq!(
                    (entries, entry::compare(&text, &of_module)),
                    (of_module.len(), Ok(())),
                    "{target} {name}"
                );
            }
        }
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let origin = PtxOrigin::Folder("/no/such/folder".into());
        let error = Ptx::choose(origin, "gpu", (9, 0)).expect_err("no such folder");
        assert!(matches!(error, DeviceError::ReadPtx { .. }), "{error}");
    }

    #[test]
    fn versions_of_ptx_map_to_those_of_cuda() {
        let cuda = |major, minor| cuda_for(Version { major, minor }).map(|version| version.to_string());
        assert_eq!(cuda(6, 3).as_deref(), Some("10.0"));
        assert_eq!(cuda(7, 8).as_deref(), Some("11.8"));
        assert_eq!(cuda(8, 5).as_deref(), Some("12.5"));
        assert_eq!(cuda(8, 6).as_deref(), Some("12.7"));
        assert_eq!(cuda(9, 0).as_deref(), Some("13.0"));
        assert_eq!(cuda(5, 0), None);
        assert_eq!(version(".target sm_75"), None);
    }
}
