//! Devices, types and matrices on the command line.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use evenpath::Device;
use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::DeviceError;
use evenpath::generate::Kind;
use thiserror::Error;

use crate::generated::Generated;
use crate::random::{Shape, ShapeMatrix};

/// Device and output.
#[derive(Debug, Clone, clap::Args)]
pub struct CommonArguments {
    /// Device: best, cuda:0 (or another number), cpu, simulated. The best is the first NVIDIA GPU, or the CPU
    /// if there is none.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    pub device: DeviceChoice,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Device, number of runs, and output.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArguments {
    /// Device and output.
    #[command(flatten)]
    pub common: CommonArguments,
    /// Maximum number of samples. [default: 100 on a GPU, 20 on the CPU, 3 on the simulated GPU]
    #[arg(long, value_name = "N", visible_alias = "iterations")]
    repetitions: Option<NonZeroUsize>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl RunArguments {
    /// The maximum number of samples: as requested, or the default for the kind of device.
    pub fn repetitions(&self, device: &Device) -> usize {
        let default = match device.kind() {
            DeviceKind::Cuda(_) => 100,
            DeviceKind::Cpu => 20,
            DeviceKind::Simulated => 3,
        };
        self.repetitions.map_or(default, NonZeroUsize::get)
    }
}

/// The matrix.
#[derive(Debug, Clone, clap::Args)]
pub struct MatrixArguments {
    /// The matrix: a file as for `--matrix`, or a kind as for `--generate`.
    #[arg(value_name = "FILE or KIND", conflicts_with_all = ["matrix", "generate"])]
    input: Option<String>,
    /// Read a Matrix Market file: .mtx or .mtx.gz.
    #[arg(long, value_name = "FILE", conflicts_with = "generate")]
    matrix: Option<PathBuf>,
    /// Generate a matrix. The help text lists the kinds.
    #[arg(long, value_name = "KIND", help = generate_help())]
    generate: Option<Generated>,
    /// Read the real part of a complex file.
    #[arg(long)]
    pub real_part: bool,
}

/// The source of a matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixSource {
    /// A Matrix Market file.
    File(PathBuf),
    /// A generator.
    Generated(Generated),
}

impl MatrixArguments {
    /// Returns whether a matrix is asked for.
    pub fn is_given(&self) -> bool {
        self.input.is_some() || self.matrix.is_some() || self.generate.is_some()
    }

    /// The matrix that is asked for, or `default`. Names that are not those of generators name files.
    pub fn source(&self, default: Kind) -> MatrixSource {
        if let Some(path) = &self.matrix {
            return MatrixSource::File(path.clone());
        }
        match self.input.as_deref().map(|input| (input, input.parse::<Generated>())) {
            Some((_, Ok(kind))) => MatrixSource::Generated(kind),
            Some((path, Err(_))) => MatrixSource::File(path.into()),
            None => MatrixSource::Generated(self.generate.unwrap_or(Generated::Kind(default))),
        }
    }
}

fn generate_help() -> String {
    let kinds: Vec<String> = Kind::all().iter().map(Kind::to_string).collect();
    let shapes = Shape::ALL.map(|shape| ShapeMatrix::new(shape).to_string());
    format!(
        "Generate a matrix, of any size: {}; {}; or of random structure: random:SEED:NUMBER, random:SEED:NUMBER:LEAST..MOST for a \
         range of nonzeros. [default: a stencil5, sized for the device]",
        kinds.join(", "),
        shapes.join(", ")
    )
}

/// Type of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum ValueType {
    F32,
    F64,
}

/// Type of the row offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum OffsetType {
    U32,
    U64,
}

/// The name of a device: `best`, `cuda:0` (or another number), `cpu`, `simulated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// [`Device::best`].
    Best,
    /// [`Device::cuda`].
    Cuda(u32),
    /// [`Device::cpu`].
    Cpu,
    /// [`Device::simulated`], with its default options.
    Simulated,
}

/// Error in opening a device.
#[derive(Debug, Error)]
#[error("device {choice}: {source}")]
pub struct OpenDeviceError {
    choice: DeviceChoice,
    source: DeviceError,
}

/// Text that is not the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no device is called `{0}`; there are best, cuda:0 (or another number), cpu, simulated")]
pub struct ParseDeviceError(String);

impl DeviceChoice {
    /// Opens the device.
    ///
    /// # Errors
    ///
    /// If there is no such device, or it cannot be used.
    pub fn open(self) -> Result<Device, OpenDeviceError> {
        let device = match self {
            Self::Best => Device::best(),
            Self::Cuda(ordinal) => Device::cuda(ordinal),
            Self::Cpu => Ok(Device::cpu()),
            Self::Simulated => Ok(Device::simulated(SimulatedOptions::default())),
        };
        device.map_err(|source| OpenDeviceError { choice: self, source })
    }
}

impl FromStr for DeviceChoice {
    type Err = ParseDeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || ParseDeviceError(text.into());
        Ok(match text {
            "best" => Self::Best,
            "cpu" => Self::Cpu,
            "simulated" => Self::Simulated,
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(unknown)?;
                Self::Cuda(ordinal.parse().map_err(|_| unknown())?)
            }
        })
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Cpu => f.write_str("cpu"),
            Self::Simulated => f.write_str("simulated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_round_trip() {
        for name in ["best", "cpu", "simulated", "cuda:0", "cuda:12"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        for name in ["", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:0x", "CPU"] {
            assert_eq!(name.parse::<DeviceChoice>(), Err(ParseDeviceError(name.into())));
        }
    }
}
