//! The PTX of the kernels: built by a device compiler, split into modules by the kernel table,
//! checked in.
//!
//! | module | what it is |
//! |---|---|
//! | [`text`] | parses PTX: items, parameters, statements |
//! | [`table`] | the kernel table, as the manifest records it |
//! | [`split`] | splits one text into the modules of the table, and verifies it |
//! | [`inspect`] | finds disallowed constructs: local memory, generic addresses, calls |
//! | [`set`] | the crates whose kernels are checked in as PTX |
//! | [`source`] | the hash of the sources that the PTX comes from |
//! | [`folder`] | writes, reads and compares a PTX folder: manifest, modules, index |
//! | [`build`] | builds such a folder from the sources |
//! | [`assemble`] | runs ptxas: registers, spills, local memory |

pub mod assemble;
pub mod build;
pub mod folder;
pub mod inspect;
pub mod set;
pub mod source;
pub mod split;
pub mod table;
pub mod text;

use std::fmt;

use anyhow::{Context, Result, ensure};

/// A GPU generation that PTX is built for, such as 90 for `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target(pub u32);

/// The targets of the checked-in PTX: the oldest supported GPU, whose PTX runs on all newer ones,
/// and the one that the library is tuned for.
pub const TARGETS: [Target; 2] = [Target(75), Target(90)];

/// The PTX version of every target: the newest that drivers of CUDA 11.8 accept. The kernels need
/// 7.4 for `L1::no_allocate`, and `sm_90` needs 7.8.
pub const PTX_VERSION: u32 = 78;

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl std::str::FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        let number = name.strip_prefix("sm_").and_then(|number| number.parse().ok());
        let target = Self(number.with_context(|| format!("target `{name}` does not have the form sm_90"))?);
        let known = TARGETS.map(|target| target.to_string()).join(", ");
        ensure!(TARGETS.contains(&target), "target `{name}` is not supported; supported targets are {known}");
        Ok(target)
    }
}
