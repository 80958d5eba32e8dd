//! The crates whose kernels are checked in as PTX.

use evenpath_simt::kernel::KernelInfo;

/// A crate with kernels, and the location of its PTX.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// The package.
    pub package: &'static str,
    /// The folder of its PTX, relative to the root.
    pub folder: &'static str,
    /// The folders of the crates that become PTX.
    pub crates: &'static [&'static str],
    /// Its kernel table.
    pub kernels: fn() -> Vec<&'static KernelInfo>,
    /// True if the folder has a Rust table of the modules.
    pub has_index: bool,
}

/// The library's kernels.
pub const LIBRARY: Set = Set {
    package: "evenpath-kernels",
    folder: "evenpath/ptx",
    crates: &["kernels", "simt", "simt/macros"],
    kernels: evenpath_kernels::kernels,
    has_index: true,
};

/// The kernels of the example with an operation of its own.
pub const EXAMPLE: Set = Set {
    package: "evenpath-example-kernels",
    folder: "examples/kernels/ptx",
    crates: &["examples/kernels", "kernels", "simt", "simt/macros"],
    kernels: evenpath_example_kernels::kernels,
    has_index: false,
};

/// All of them.
pub const SETS: [Set; 2] = [LIBRARY, EXAMPLE];
