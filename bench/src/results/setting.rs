//! The setting of rows: device, driver, libraries and command.

use evenpath::Device;
use evenpath::device::DeviceKind;
use serde::{Deserialize, Serialize};

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The device of measurements, and the libraries beside evenpath.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// [`VERSION`].
    pub(crate) version: u32,
    /// The version of evenpath.
    pub(crate) evenpath: String,
    /// The device's name.
    pub(crate) device: String,
    /// Its driver; `None` if it has none.
    pub(crate) driver: Option<String>,
    /// The processor and its threads, if it is the CPU; missing in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) processor: Option<String>,
    /// The rate of copies within its memory, in GB/s.
    pub(crate) copy_gbps: f64,
    /// Bytes of its L2 cache, if known.
    pub(crate) l2_bytes: Option<u64>,
    /// The libraries compared with, and their versions.
    pub(crate) peers: Vec<String>,
    /// The command line, without file names.
    pub(crate) command: String,
}

impl Setting {
    /// The setting of a device.
    pub(crate) fn new(device: &Device, copy_gbps: f64, peers: &[String], command: String) -> Self {
        Self {
            version: VERSION,
            evenpath: env!("CARGO_PKG_VERSION").into(),
            device: device.name().into(),
            driver: driver(device),
            processor: processor(device),
            copy_gbps,
            l2_bytes: device.properties().l2_bytes,
            peers: peers.to_vec(),
            command,
        }
    }

    /// The device's name and, of a CPU, the processor and its threads.
    pub(crate) fn device_name(&self) -> String {
        let processor = self.processor.as_ref().map(|processor| format!(" ({processor})"));
        format!("{}{}", self.device, processor.unwrap_or_default())
    }

    /// Checks that rows of both settings may be in one file.
    ///
    /// # Errors
    ///
    /// Differences, as text.
    pub(crate) fn agrees(&self, other: &Self) -> Result<(), String> {
        let none = || "none".to_owned();
        let list = |names: &[String]| if names.is_empty() { none() } else { names.join(", ") };
        let parts = [
            ("the format", self.version.to_string(), other.version.to_string()),
            ("the device", self.device_name(), other.device_name()),
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
            Some((part, own, others)) => Err(format!("{part} is {others} there, but {own} here")),
        }
    }
}

/// The driver of a GPU: its version, if the system reports it, and the newest CUDA that it supports.
fn driver(device: &Device) -> Option<String> {
    let DeviceKind::Cuda(_) = device.kind() else { return None };
    let cuda = device.properties().driver.map(|version| format!("CUDA {version}"));
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let parts: Vec<String> = module_version(&text).map(str::to_owned).into_iter().chain(cuda).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The processor that a CPU device runs on, if the system reports it, and its threads.
fn processor(device: &Device) -> Option<String> {
    if device.kind() != DeviceKind::Cpu {
        return None;
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let threads = rayon::current_num_threads();
    let threads = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
    Some(model_name(&text).map_or(threads.clone(), |model| format!("{model}, {threads}")))
}

/// The model of the first processor in the text of the system.
fn model_name(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim()).filter(|model| !model.is_empty())
}

/// The first version number in the text of the kernel module.
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
    fn the_cpu_is_named_with_its_threads() {
        let text = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) 6975P-C\nmodel name\t: other\n";
        assert_eq!(model_name(text), Some("Intel(R) Xeon(R) 6975P-C"));
        assert_eq!(model_name("processor\t: 0\n"), None);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let setting = pool.install(|| Setting::new(&Device::cpu(), 1.0, &[], String::new()));
        let name = setting.device_name();
        assert!(name.starts_with("CPU (") && name.ends_with("3 threads)"), "{name}");
        let gpu = Setting { device: "NVIDIA H200".into(), processor: None, ..setting };
        assert_eq!(gpu.device_name(), "NVIDIA H200");
    }

    #[test]
    fn settings_say_how_they_differ() {
        let own = Setting::new(&Device::cpu(), 10.0, &[], "suite".into());
        // The copy rate is measured, and a later command may request more cases.
        let other = Setting { copy_gbps: 11.0, command: "suite --op spmv".into(), ..own.clone() };
        assert_eq!(own.agrees(&other), Ok(()));
        let other = Setting { peers: vec!["sprs".into()], ..own.clone() };
        assert_eq!(own.agrees(&other), Err("the list of peers is sprs there, but none here".into()));
        let other = Setting { device: "NVIDIA H200".into(), ..own.clone() };
        let difference = own.agrees(&Setting { processor: None, ..other }).unwrap_err();
        assert!(difference.contains("NVIDIA H200 there, but CPU ("), "{difference}");
    }
}
