//! Command line of the examples: a device, an input, and the exit code.

#![allow(dead_code)] // each example uses a part of it

use std::error::Error;
use std::process::ExitCode;

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::DeviceError;
use evenpath::generate::{Kind, generate};
use evenpath::{Csr, Device, io};
use lexopt::prelude::{Long, Short, Value, ValueExt};

/// True if the result of an example is right; an error if there is no result.
type Verdict = Result<bool, Box<dyn Error>>;

/// Runs an example on the matrix given on the command line, or on `default`. A matrix is a Matrix Market file
/// or a kind of matrix to generate, such as `stencil5:100`, with or without `--matrix` or `--generate` before it.
pub(crate) fn on_matrix(default: &str, example: impl FnOnce(&Device, &Csr<f64>) -> Verdict) -> ExitCode {
    on_matrix_and(Device::best, default, example)
}

/// Like [`on_matrix`], for methods that the CPU does not support: without a GPU, the default device is the
/// simulated one.
pub(crate) fn on_matrix_with_kernels(
    default: &str,
    example: impl FnOnce(&Device, &Csr<f64>) -> Verdict,
) -> ExitCode {
    let with_kernels = || match Device::best()? {
        device if device.kind() == DeviceKind::Cpu => Ok(Device::simulated(SimulatedOptions::default())),
        gpu => Ok(gpu),
    };
    on_matrix_and(with_kernels, default, example)
}

fn on_matrix_and(
    default_device: impl FnOnce() -> Result<Device, DeviceError>,
    default_matrix: &str,
    example: impl FnOnce(&Device, &Csr<f64>) -> Verdict,
) -> ExitCode {
    conclude(|| {
        let Some(arguments) = parse("[FILE or KIND, or --matrix FILE, or --generate KIND]")? else {
            return Ok(None);
        };
        let device = arguments.device.map_or_else(default_device, Ok)?;
        example(&device, &matrix(arguments.input.as_deref().unwrap_or(default_matrix))?).map(Some)
    })
}

/// Runs an example on sequences of the length given on the command line.
pub(crate) fn on_sequences(example: impl FnOnce(&Device, usize) -> Verdict) -> ExitCode {
    conclude(|| {
        let Some(arguments) = parse("[LENGTH]")? else { return Ok(None) };
        let device = arguments.device.map_or_else(Device::best, Ok)?;
        let len = match arguments.input.as_deref() {
            Some(text) => text
                .parse()
                .ok()
                .filter(|&len| len <= 1 << 30)
                .ok_or_else(|| format!("`{text}` is not a length from 0 to 2^30"))?,
            None if device.kind() == DeviceKind::Simulated => 5000,
            None => 1_000_000,
        };
        example(&device, len).map(Some)
    })
}

struct Arguments {
    device: Option<Device>,
    input: Option<String>,
}

/// Parses the arguments; `None` if help is requested.
fn parse(input: &str) -> Result<Option<Arguments>, Box<dyn Error>> {
    let mut arguments = Arguments { device: None, input: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => {
                println!("usage: [--device best|gpu|cuda[:N]|cpu|simulated] {input}");
                return Ok(None);
            }
            Long("device") => arguments.device = Some(open(&parser.value()?.string()?)?),
            Long("matrix" | "generate") if arguments.input.is_none() => {
                arguments.input = Some(parser.value()?.string()?);
            }
            Value(text) if arguments.input.is_none() => arguments.input = Some(text.string()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(arguments))
}

fn open(name: &str) -> Result<Device, Box<dyn Error>> {
    let unknown = || format!("no device is called `{name}`: there are best, gpu, cuda:N, cpu, simulated");
    let device = match name {
        "best" => Device::best(),
        "gpu" | "cuda" => Device::cuda(0),
        "cpu" => Ok(Device::cpu()),
        "simulated" => Ok(Device::simulated(SimulatedOptions::default())),
        _ => {
            let ordinal = name.strip_prefix("cuda:").ok_or_else(unknown)?;
            Device::cuda(ordinal.parse().map_err(|_| unknown())?)
        }
    };
    device.map_err(|error| format!("device {name}: {error}").into())
}

fn matrix(name: &str) -> Result<Csr<f64>, Box<dyn Error>> {
    let mut matrix = match name.parse::<Kind>() {
        Ok(kind) => generate(kind, 1)?,
        Err(_) => io::read_matrix_market(name)?,
    };
    matrix.canonicalize(); // columns in order, duplicates summed
    println!("{name}: {} x {}, {} nonzeros", matrix.nrows(), matrix.ncols(), matrix.nnz());
    Ok(matrix)
}

/// Exit code: 0 for a right result (and help), 1 for a wrong one, 2 for none.
fn conclude(example: impl FnOnce() -> Result<Option<bool>, Box<dyn Error>>) -> ExitCode {
    match example() {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(true)) => {
            println!("PASS");
            ExitCode::SUCCESS
        }
        Ok(Some(false)) => {
            println!("FAIL");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
