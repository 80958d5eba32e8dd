//! Command line of the examples: a device, an input, and the exit code.

#![allow(dead_code)] // each example uses a part of it

pub(crate) mod grid;
pub(crate) mod solver;

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::DeviceError;
use evenpath::generate::{Kind, generate};
use evenpath::io::{GraphOptions, MatrixMarketErrorKind};
use evenpath::{Csr, Device, io};
use lexopt::prelude::{Long, Short, Value, ValueExt};

/// True if the result of an example is right; an error if there is no result.
type Verdict = Result<bool, Box<dyn Error>>;
type Matrix = Result<Csr<f64>, Box<dyn Error>>;

/// Runs an example on the matrix given on the command line, or on `default`. A matrix is a Matrix Market file
/// or a kind of matrix to generate, such as `stencil5:100`, with or without `--matrix` or `--generate` before it.
pub(crate) fn on_matrix(default: &str, example: impl FnOnce(&Device, &Csr<f64>) -> Verdict) -> ExitCode {
    on_matrix_and(Device::best, default, matrix, example)
}

/// Options of an example's own, by name.
#[derive(Default)]
pub(crate) struct Options {
    values: BTreeMap<String, String>,
    is_generated: bool,
}

impl Options {
    /// The value of an option, if it was given.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns whether the matrix is generated, with random values.
    pub(crate) fn is_generated(&self) -> bool {
        self.is_generated
    }
}

/// Like [`on_matrix`], with options of the example's own, each with a value.
pub(crate) fn on_matrix_with_options(
    default: &str,
    names: &[&str],
    example: impl FnOnce(&Device, &Csr<f64>, &Options) -> Verdict,
) -> ExitCode {
    conclude(|| {
        let options = names.iter().fold(String::new(), |options, name| options + "[--" + name + " VALUE] ");
        let usage = format!("{options}[FILE or KIND, or --matrix FILE, or --generate KIND]");
        let Some(mut arguments) = parse_with(&usage, names)? else { return Ok(None) };
        let device = arguments.device.map_or_else(Device::best, Ok)?;
        let name = arguments.input.as_deref().unwrap_or(default);
        arguments.own.is_generated = name.parse::<Kind>().is_ok();
        let matrix = matrix(name)?;
        example(&device, &matrix, &arguments.own).map(Some)
    })
}

/// Like [`on_matrix`], but a file that is no Matrix Market file is an edge list, as in SNAP's collection.
pub(crate) fn on_graph(default: &str, example: impl FnOnce(&Device, &Csr<f64>) -> Verdict) -> ExitCode {
    on_matrix_and(Device::best, default, graph, example)
}

/// Like [`on_graph`], for examples that need a square matrix.
pub(crate) fn on_square_graph(
    default: &str,
    example: impl FnOnce(&Device, &Csr<f64>) -> Verdict,
) -> ExitCode {
    on_graph(default, |device, graph| {
        let (rows, cols) = graph.shape();
        if rows != cols {
            return Err(format!("the matrix is {rows} x {cols}, but that of a graph is square").into());
        }
        example(device, graph)
    })
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
    on_matrix_and(with_kernels, default, matrix, example)
}

fn on_matrix_and(
    default_device: impl FnOnce() -> Result<Device, DeviceError>,
    default_matrix: &str,
    read: fn(&str) -> Matrix,
    example: impl FnOnce(&Device, &Csr<f64>) -> Verdict,
) -> ExitCode {
    conclude(|| {
        let Some(arguments) = parse("[FILE or KIND, or --matrix FILE, or --generate KIND]")? else {
            return Ok(None);
        };
        let device = arguments.device.map_or_else(default_device, Ok)?;
        example(&device, &read(arguments.input.as_deref().unwrap_or(default_matrix))?).map(Some)
    })
}

/// Runs an example on sequences of the length given on the command line.
pub(crate) fn on_sequences(example: impl FnOnce(&Device, usize) -> Verdict) -> ExitCode {
    on_size("LENGTH", 0..=1 << 30, (1_000_000, 5000), example)
}

/// Runs an example with the number given on the command line. Without one, it is the first of `defaults`, or the
/// second on a simulated GPU.
pub(crate) fn on_size(
    name: &str,
    range: RangeInclusive<usize>,
    defaults: (usize, usize),
    example: impl FnOnce(&Device, usize) -> Verdict,
) -> ExitCode {
    conclude(|| {
        let Some(arguments) = parse(&format!("[{name}]"))? else { return Ok(None) };
        let device = arguments.device.map_or_else(Device::best, Ok)?;
        let size = match arguments.input.as_deref() {
            Some(text) => text.parse().ok().filter(|size| range.contains(size)).ok_or_else(|| {
                let (first, last) = (range.start(), range.end());
                format!("`{text}` is not a {} from {first} to {last}", name.to_lowercase())
            })?,
            None if device.kind() == DeviceKind::Simulated => defaults.1,
            None => defaults.0,
        };
        example(&device, size).map(Some)
    })
}

/// The number of `--repetitions`, until the main part has run as often.
static REPETITIONS: Mutex<Option<usize>> = Mutex::new(None);

/// Returns the result of the main part of an example. With `--repetitions`, prints the median time of so many runs after the first.
pub(crate) fn timed<R, E>(device: &Device, run: impl Fn() -> Result<R, E>) -> Result<R, Box<dyn Error>>
where
    Box<dyn Error>: From<E>,
{
    let mut result = run()?;
    let mut times_ms = Vec::new();
    for _ in 0..REPETITIONS.lock().map_or(None, |mut repetitions| repetitions.take()).unwrap_or(0) {
        device.synchronize()?;
        let start = Instant::now();
        result = run()?;
        device.synchronize()?;
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    if let Some(median) = times_ms.get(times_ms.len() / 2) {
        println!("time: {median:.3} ms");
    }
    Ok(result)
}

struct Arguments {
    device: Option<Device>,
    input: Option<String>,
    own: Options,
}

/// Parses the arguments; `None` if help is requested.
fn parse(input: &str) -> Result<Option<Arguments>, Box<dyn Error>> {
    parse_with(input, &[])
}

/// Like [`parse`], with the names of options of the example's own.
fn parse_with(input: &str, names: &[&str]) -> Result<Option<Arguments>, Box<dyn Error>> {
    let mut arguments = Arguments { device: None, input: None, own: Options::default() };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => {
                println!("usage: [--device best|gpu|cuda[:N]|cpu|simulated] [--repetitions N] {input}");
                return Ok(None);
            }
            Long("device") => arguments.device = Some(open(&parser.value()?.string()?)?),
            Long("repetitions") => set_repetitions(Some(parser.value()?.parse()?))?,
            Long("matrix" | "generate") if arguments.input.is_none() => {
                arguments.input = Some(parser.value()?.string()?);
            }
            Long(name) if names.contains(&name) => {
                let name = name.to_owned();
                arguments.own.values.insert(name, parser.value()?.string()?);
            }
            Value(text) if arguments.input.is_none() => arguments.input = Some(text.string()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(arguments))
}

fn set_repetitions(count: Option<usize>) -> Result<(), Box<dyn Error>> {
    *REPETITIONS.lock().map_err(|error| error.to_string())? = count;
    Ok(())
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

fn matrix(name: &str) -> Matrix {
    let matrix = match name.parse::<Kind>() {
        Ok(kind) => generate(kind, 1)?,
        Err(_) => io::read_matrix_market(name)?,
    };
    Ok(canonical(name, matrix))
}

fn graph(name: &str) -> Matrix {
    if name.parse::<Kind>().is_ok() {
        return matrix(name);
    }
    let graph = match io::read_matrix_market(name) {
        Err(error) if matches!(error.kind(), MatrixMarketErrorKind::Banner { .. }) => {
            io::read_edge_list(name, &GraphOptions::default())?.matrix
        }
        graph => graph?,
    };
    Ok(canonical(name, graph))
}

/// Sorts columns and sums duplicates.
fn canonical(name: &str, mut matrix: Csr<f64>) -> Csr<f64> {
    matrix.canonicalize();
    println!("{name}: {} x {}, {} nonzeros", matrix.nrows(), matrix.ncols(), matrix.nnz());
    matrix
}

/// Exit code: 0 for a right result (and help), 1 for a wrong one, 2 for none.
fn conclude(example: impl FnOnce() -> Result<Option<bool>, Box<dyn Error>>) -> ExitCode {
    let verdict = example();
    if REPETITIONS.lock().is_ok_and(|repetitions| repetitions.is_some()) && verdict.is_ok() {
        eprintln!("error: --repetitions: this example has no part that is timed");
        return ExitCode::from(2);
    }
    match verdict {
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
