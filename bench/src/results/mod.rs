//! Results of the program's `suite`: lines of JSON, one a measurement, that every operation has alike.
//!
//! A file is a [`Setting`] and the [`Row`]s that were measured in it, then maybe another setting, of a run that went on,
//! and its rows. Of several rows with one [`Key`] the last counts.

mod file;
mod row;

pub use file::{Results, ResultsError, ResultsFile};
pub(crate) use row::OWN_NAME;
pub use row::{Contender, Figures, Key, Outcome, Row, Shape};

use evenpath::Device;
use evenpath::device::DeviceKind;
use serde::{Deserialize, Serialize};

/// The version of what a line has.
pub const VERSION: u32 = 1;

/// Where, and beside what, rows were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// [`VERSION`].
    pub version: u32,
    /// The version of evenpath.
    pub evenpath: String,
    /// The device's name.
    pub device: String,
    /// Its driver; nothing where it has none.
    pub driver: Option<String>,
    /// The rate at which it copies within its memory, in GB/s.
    pub copy_gbps: f64,
    /// Bytes of its second-level cache, where it tells.
    pub l2_bytes: Option<u64>,
    /// The libraries that were compared with, with their versions.
    pub peers: Vec<String>,
    /// What was asked for, as the command line says it; without names of files.
    pub command: String,
}

impl Setting {
    /// That of a device.
    pub fn new(device: &Device, copy_gbps: f64, peers: &[String], command: String) -> Self {
        Self {
            version: VERSION,
            evenpath: env!("CARGO_PKG_VERSION").into(),
            device: device.name().into(),
            driver: driver(device),
            copy_gbps,
            l2_bytes: device.properties().l2_bytes,
            peers: peers.to_vec(),
            command,
        }
    }

    /// Whether rows of the other may stand in one file with this one's.
    ///
    /// # Errors
    ///
    /// What differs, as text.
    pub fn agrees(&self, other: &Self) -> Result<(), String> {
        let none = || "none".to_owned();
        let list = |names: &[String]| if names.is_empty() { none() } else { names.join(", ") };
        let parts = [
            ("the format", self.version.to_string(), other.version.to_string()),
            ("the device", self.device.clone(), other.device.clone()),
            (
                "the driver",
                self.driver.clone().unwrap_or_else(none),
                other.driver.clone().unwrap_or_else(none),
            ),
            ("the list of peers", list(&self.peers), list(&other.peers)),
            ("evenpath", self.evenpath.clone(), other.evenpath.clone()),
        ];
        match parts.into_iter().find(|(_, own, others)| own != others) {
            None => Ok(()),
            Some((part, own, others)) => Err(format!("{part} is {others} there, and {own} here")),
        }
    }
}

/// The driver of a GPU: its own version, where the system tells, and the newest CUDA that it supports.
fn driver(device: &Device) -> Option<String> {
    let DeviceKind::Cuda(_) = device.kind() else { return None };
    let cuda = device.properties().driver.map(|version| format!("CUDA {version}"));
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let parts: Vec<String> = module_version(&text).map(str::to_owned).into_iter().chain(cuda).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The first word that is a version in what the kernel's module says of itself.
fn module_version(text: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        word.contains('.') && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    text.split_whitespace().find(is_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_modules_say() {
        let text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (x)";
        assert_eq!(module_version(text), Some("580.65.06"));
        assert_eq!(module_version("GCC version: none"), None);
    }

    #[test]
    fn settings_say_how_they_differ() {
        let own = Setting::new(&Device::cpu(), 10.0, &[], "suite".into());
        // The rate is measured, and the command may ask for more.
        let other = Setting { copy_gbps: 11.0, command: "suite --op spmv".into(), ..own.clone() };
        assert_eq!(own.agrees(&other), Ok(()));
        let other = Setting { peers: vec!["sprs".into()], ..own.clone() };
        assert_eq!(own.agrees(&other), Err("the list of peers is sprs there, and none here".into()));
        let other = Setting { device: "NVIDIA H200".into(), ..own.clone() };
        assert!(own.agrees(&other).unwrap_err().contains("NVIDIA H200 there, and CPU here"));
    }
}
