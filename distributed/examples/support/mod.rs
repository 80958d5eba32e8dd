//! Command line of the examples, and the requested cluster.

#![allow(dead_code)] // each example uses a part of it

use std::error::Error;
use std::process::ExitCode;

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath_distributed::{Cluster, Engine, Rank};
use lexopt::prelude::{Long, Short, Value, ValueExt};

/// An error that can be sent between threads.
pub(crate) type BoxedError = Box<dyn Error + Send + Sync>;

pub(crate) struct Arguments {
    /// Number of ranks that are threads, if given.
    ranks: Option<usize>,
    /// Name of the ranks' device.
    device: String,
    /// Engine of exchanges between GPUs.
    engine: Engine,
    /// Size of the problem, if given.
    pub(crate) size: Option<u32>,
    /// A file, if given.
    pub(crate) file: Option<String>,
}

impl Arguments {
    pub(crate) fn is_simulated(&self) -> bool {
        self.device == "simulated"
    }

    /// Creates the cluster: of processes, if this is one of several; otherwise of threads.
    pub(crate) fn cluster(&self) -> Result<Cluster, BoxedError> {
        let is_set = |name: &&str| std::env::var_os(name).is_some();
        if let Some(name) = ["EVENPATH_RANK", "EVENPATH_SIZE", "EVENPATH_ADDRESS"].into_iter().find(is_set) {
            self.check_process(name)?;
            return Ok(Cluster::from_env(self.open(number("EVENPATH_RANK")?)?)?.with_engine(self.engine));
        }
        if let Some(name) = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find(is_set) {
            self.check_process(name)?;
            #[cfg(feature = "mpi")]
            return Ok(Cluster::mpi(self.open(number(name)?)?)?.with_engine(self.engine));
            #[cfg(not(feature = "mpi"))]
            return Err(format!("{name} is set, by MPI: build with the feature `mpi`").into());
        }
        let ranks = self.ranks.unwrap_or(4);
        let devices: Vec<Device> = (0..ranks).map(|rank| self.open(rank)).collect::<Result<_, _>>()?;
        Ok(Cluster::local(devices)?.with_engine(self.engine))
    }

    /// Returns an error if threads are requested, but a variable says that this process is one of several.
    fn check_process(&self, name: &str) -> Result<(), BoxedError> {
        match self.ranks {
            None => Ok(()),
            Some(_) => {
                Err(format!("--ranks starts threads, but {name} is set: this is one of several processes")
                    .into())
            }
        }
    }

    fn open(&self, rank: usize) -> Result<Device, BoxedError> {
        match &*self.device {
            "cpu" => Ok(Device::cpu()),
            "simulated" => Ok(Device::simulated(SimulatedOptions::default())),
            // NCCL uses the primary context.
            "gpu" => Ok(Device::cuda_primary(rank as u32)?),
            name => Err(format!("no device is called `{name}`: there are cpu, gpu, simulated").into()),
        }
    }
}

/// Parses the number in a variable.
fn number(name: &str) -> Result<usize, BoxedError> {
    let text = std::env::var(name).map_err(|error| format!("{name}: {error}"))?;
    text.parse().map_err(|_| format!("{name} is {text:?}, but must be a number").into())
}

/// Runs an example, which returns whether its result is right: exit code 0, 1 if it is wrong, 2 without a
/// result.
pub(crate) fn run(size: &str, example: impl FnOnce(&Arguments) -> Result<bool, BoxedError>) -> ExitCode {
    let result = parse(size).and_then(|arguments| arguments.as_ref().map(example).transpose());
    match result {
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

/// Parses the arguments; `None` if help is requested.
fn parse(size: &str) -> Result<Option<Arguments>, BoxedError> {
    let mut arguments =
        Arguments { ranks: None, device: "cpu".into(), engine: Engine::Auto, size: None, file: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => {
                println!(
                    "usage: [--ranks N] [--device cpu|gpu|simulated] [--engine auto|host|nccl] [--{size} N] [FILE]"
                );
                return Ok(None);
            }
            Long("ranks") => arguments.ranks = Some(parser.value()?.parse()?),
            Long("device") => arguments.device = parser.value()?.string()?,
            Long("engine") => {
                arguments.engine = match &*parser.value()?.string()? {
                    "auto" => Engine::Auto,
                    "host" => Engine::Host,
                    "nccl" => Engine::Nccl,
                    name => {
                        return Err(
                            format!("no engine is called `{name}`: there are auto, host, nccl").into()
                        );
                    }
                };
            }
            Long(name) if name == size => arguments.size = Some(parser.value()?.parse()?),
            Value(file) if arguments.file.is_none() => arguments.file = Some(file.string()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(arguments))
}

/// Prints, on rank 0, how long each rank waited for each other, in ms.
pub(crate) fn print_waits(rank: &Rank) -> Result<(), BoxedError> {
    let traffic = rank.traffic();
    let row: Vec<f64> = traffic.iter().map(|traffic| traffic.waited.as_secs_f64() * 1e3).collect();
    let messages: u64 = traffic.iter().map(|traffic| traffic.messages).sum();
    let bytes: u64 = traffic.iter().map(|traffic| traffic.bytes).sum();
    let (rows, sent) = (rank.gather(0, &row)?, rank.gather(0, &[messages, bytes])?);
    let (Some(rows), Some(sent)) = (rows, sent) else { return Ok(()) };
    println!("ms that each rank waited for each, and what it sent:");
    let heads: Vec<String> = (0..rank.size()).map(|other| format!("rank {other:<2}")).collect();
    println!("{:>8} {} {:>10} {:>10}", "", heads.join("  "), "messages", "MB");
    for (index, (row, sent)) in rows.iter().zip(sent).enumerate() {
        let waits: Vec<String> = row.iter().map(|wait| format!("{wait:>7.1}")).collect();
        let name = format!("rank {index}");
        println!("{name:>8} {} {:>10} {:>10.3}", waits.join("  "), sent[0], sent[1] as f64 / 1e6);
    }
    Ok(())
}
