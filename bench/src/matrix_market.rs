//! How fast Matrix Market files are read: bytes of text a second, on one thread and on all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenpath::generate::{Kind, generate};
use evenpath::io::{
    Complex, MatrixMarketError, MatrixMarketReader, ReadOptions, Stage, WriteOptions,
    write_matrix_market_to,
};
use evenpath::{Csr, Value};
use serde_json::json;

use crate::Failure;
use crate::measure::median_seconds;

const USAGE: &str = "\
usage: evenpath-bench matrix-market [FILE | --generate MB] [OPTION]...

Reads FILE, or a generated text of about MB megabytes (default 200): 16 entries a row at random
columns, values with 17 digits. The file is in the page cache: it is read once before.

  --value f32|f64     type of the values (default f64)
  --repetitions N     runs of which the median counts (default 5)
  --json              one JSON object a line
";

/// What to measure.
struct Options {
    file: Option<PathBuf>,
    megabytes: usize,
    single: bool,
    repetitions: usize,
    json: bool,
}

/// The text to read.
enum Input {
    File(PathBuf),
    Text(Vec<u8>),
}

pub(crate) fn run(arguments: lexopt::Parser) -> Result<(), Failure> {
    let Some(options) = parse(arguments)? else {
        print!("{USAGE}");
        return Ok(());
    };
    let input = match &options.file {
        Some(path) => Input::File(path.clone()),
        None => Input::Text(generated_text(options.megabytes)?),
    };
    if options.single {
        measure::<f32>(&options, &input)
    } else {
        measure::<f64>(&options, &input)
    }
}

/// `None` where help is asked for.
fn parse(mut arguments: lexopt::Parser) -> Result<Option<Options>, Failure> {
    use lexopt::prelude::{Long, Short, Value, ValueExt};
    let mut options = Options {
        file: None,
        megabytes: 200,
        single: false,
        repetitions: 5,
        json: false,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Value(file) if options.file.is_none() => options.file = Some(file.into()),
            Long("generate") => options.megabytes = arguments.value()?.parse()?,
            Long("value") => {
                options.single = match arguments.value()?.string()?.as_str() {
                    "f32" => true,
                    "f64" => false,
                    other => return Err(format!("--value is f32 or f64, not {other}").into()),
                };
            }
            Long("repetitions") => options.repetitions = arguments.value()?.parse()?,
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(None),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn generated_text(megabytes: usize) -> Result<Vec<u8>, Failure> {
    // About 36 bytes an entry.
    let rows = megabytes * 1_000_000 / (16 * 36) + 1;
    let a: Csr<f64> = generate(Kind::Uniform { rows }, 1)?;
    let mut text = Vec::new();
    write_matrix_market_to(&mut text, a.view(), &WriteOptions::new())?;
    Ok(text)
}

fn measure<V: Value>(options: &Options, input: &Input) -> Result<(), Failure> {
    let name = match input {
        Input::File(path) => path.display().to_string(),
        Input::Text(_) => format!("generated, {} MB", options.megabytes),
    };
    let bytes = text_bytes::<V>(input)?;
    for threads in [1, rayon::current_num_threads()] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let seconds = |to_csr: bool| {
            pool.install(|| {
                median_seconds(options.repetitions, || {
                    read::<V>(input, read_options(), to_csr)
                })
            })
        };
        for (result, seconds) in [("coo", seconds(false)?), ("csr", seconds(true)?)] {
            let rate = bytes as f64 / seconds / 1e6;
            if options.json {
                let line = json!({
                    "suite": "matrix-market", "input": name, "value": V::NAME, "result": result,
                    "threads": threads, "text_bytes": bytes, "median_ms": seconds * 1e3, "mb_per_s": rate,
                });
                println!("{line}");
            } else {
                println!(
                    "{name}: {} to {result}, {threads} threads: {:.1} ms, {rate:.0} MB/s",
                    V::NAME,
                    seconds * 1e3
                );
            }
        }
    }
    Ok(())
}

fn read_options() -> ReadOptions {
    ReadOptions::new().complex(Complex::RealPart)
}

/// Reads the input once; the result's size, so that nothing is left out.
fn read<V: Value>(
    input: &Input,
    options: ReadOptions,
    to_csr: bool,
) -> Result<usize, MatrixMarketError> {
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
    let options = read_options().progress(move |progress| {
        if progress.stage == Stage::Parse {
            seen.store(progress.total, Ordering::Relaxed);
        }
    });
    read::<V>(input, options, false)?;
    Ok(total.load(Ordering::Relaxed))
}
