//! The PTX of the kernels: built by a device compiler, split by the kernel table, checked in.
//!
//! | module | what it is |
//! |---|---|
//! | [`text`] | reads PTX: items, parameters, statements |
//! | [`table`] | the kernel table, as the manifest records it |
//! | [`split`] | one text into the table's modules, verified against it |
//! | [`inspect`] | what must not be in a kernel: local memory, generic addresses, calls |
//! | [`source`] | the hash of the sources that the PTX comes from |
//! | [`folder`] | a folder of PTX: manifest, modules, index; written, read, compared |
//! | [`build`] | the whole way from sources to such a folder |
//! | [`assemble`] | ptxas: registers, spills, local memory |

pub mod assemble;
pub mod build;
pub mod folder;
pub mod inspect;
pub mod source;
pub mod split;
pub mod table;
pub mod text;

use std::fmt;

use anyhow::{Context, Result, ensure};

/// A GPU generation that PTX is built for, such as 90 for `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target(pub u32);

/// The targets of the checked-in PTX: the oldest GPU that is supported, which everything newer runs
/// too, and the one the library is tuned for.
pub const TARGETS: [Target; 2] = [Target(75), Target(90)];

/// The PTX version of every target: the newest that the drivers of CUDA 11.8 read. The kernels need
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
        let target = Self(number.with_context(|| format!("`{name}` is not of the form sm_90"))?);
        let known = TARGETS.map(|target| target.to_string()).join(", ");
        ensure!(TARGETS.contains(&target), "`{name}` is not a target of this project: {known}");
        Ok(target)
    }
}
