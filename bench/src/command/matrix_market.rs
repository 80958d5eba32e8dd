//! The speed of reading Matrix Market files: bytes of text per second, on one thread and on all.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use evenpath::generate::Kind;
use evenpath::io::{
    Complex, MatrixMarketError, MatrixMarketReader, ReadOptions, Stage, WriteOptions, write_matrix_market_to,
};
use evenpath::{Csr, Value};
use serde_json::json;

use crate::arguments::{MatrixArguments, MatrixSource, ValueType};
use crate::measure::median;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    matrix: MatrixArguments,
    /// Megabytes of text to write if no matrix is named: 16 entries per row at random columns, values with 17 digits.
    #[arg(long, value_name = "MB", default_value_t = 200)]
    megabytes: usize,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
    /// Number of runs; the median is reported.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: usize,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// The text to read. A file is read once before, so that it is in the page cache.
enum Input {
    File(PathBuf),
    Text(Vec<u8>),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    // About 36 bytes per entry.
    let rows = arguments.megabytes * 1_000_000 / (16 * 36) + 1;
    let (name, input) = match arguments.matrix.source(Kind::Uniform { rows }) {
        MatrixSource::File(path) => (path.display().to_string(), Input::File(path)),
        MatrixSource::Generated(kind) => {
            let (a, mut text): (Csr<f64>, _) = (kind.generate(1)?, Vec::new());
            write_matrix_market_to(&mut text, a.view(), WriteOptions::default())?;
            (kind.to_string(), Input::Text(text))
        }
    };
    match arguments.value {
        ValueType::F32 => measure::<f32>(arguments, &name, &input)?,
        ValueType::F64 => measure::<f64>(arguments, &name, &input)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure<V: Value>(arguments: &Arguments, name: &str, input: &Input) -> Result<(), Box<dyn Error>> {
    let bytes = text_bytes::<V>(input)?;
    let mut threads = vec![1, rayon::current_num_threads()];
    threads.dedup();
    for threads in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let median_ms = |to_csr| pool.install(|| median_ms::<V>(arguments.repetitions, input, to_csr));
        for (result, ms) in [("coo", median_ms(false)?), ("csr", median_ms(true)?)] {
            let rate = bytes as f64 / ms / 1e3;
            if arguments.json {
                let line = json!({
                    "suite": "matrix-market", "input": name, "value": V::NAME, "result": result,
                    "threads": threads, "text_bytes": bytes, "median_ms": ms, "mb_per_s": rate,
                });
                println!("{line}");
            } else {
                println!("{name}: {} to {result}, {threads} threads: {:.1} ms, {rate:.0} MB/s", V::NAME, ms);
            }
        }
    }
    Ok(())
}

/// The median time of reading in milliseconds, including freeing the result.
fn median_ms<V: Value>(repetitions: usize, input: &Input, to_csr: bool) -> Result<f64, MatrixMarketError> {
    let mut times = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        let start = Instant::now();
        read::<V>(input, read_options(), to_csr)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&times))
}

fn read_options() -> ReadOptions {
    ReadOptions::default().with_complex(Complex::RealPart)
}

/// Reads the input once. Returns the size of the result, so that no work is optimized away.
fn read<V: Value>(input: &Input, options: ReadOptions, to_csr: bool) -> Result<usize, MatrixMarketError> {
    let finish = |reader: MatrixMarketReader<'_>| {
        if to_csr {
            reader.read_csr::<V, u64>().map(|a| a.nnz())
        } else {
            reader.read_coo::<V>().map(|a| a.nnz())
        }
    };
    match input {
        Input::File(path) => finish(MatrixMarketReader::open(Path::new(path), options)?),
        Input::Text(text) => finish(MatrixMarketReader::from_bytes(text, options)?),
    }
}

/// Bytes of text, after decompression.
fn text_bytes<V: Value>(input: &Input) -> Result<u64, MatrixMarketError> {
    let total = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&total);
    let options = read_options().with_progress(move |progress| {
        if progress.stage == Stage::Parse {
            seen.store(progress.total, Ordering::Relaxed);
        }
    });
    read::<V>(input, options, false)?;
    Ok(total.load(Ordering::Relaxed))
}
