//! Matrices from files, with a progress bar, or generated; random vectors.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use evenpath::error::MatrixError;
use evenpath::generate::Kind;
use evenpath::io::{
    Complex, MatrixMarketError, MatrixMarketErrorKind, MatrixMarketReader, Progress, ReadOptions, Stage,
};
use evenpath::{Csr, Offset, RealStorage, Scalar, Value};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use thiserror::Error;

use crate::arguments::{MatrixArguments, MatrixSource};
use crate::generated::Generated;

/// A matrix and its source.
#[derive(Debug, Clone)]
pub struct Input<V: Value, O: Offset> {
    /// The file, or the kind and the seed.
    pub name: String,
    /// The matrix.
    pub matrix: Csr<V, O>,
}

/// Errors in loading a matrix.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] MatrixMarketError),
    /// The file is complex, and the real part was not requested.
    #[error("{0}: --real-part")]
    Complex(#[source] MatrixMarketError),
    /// The matrix cannot be generated.
    #[error("--generate {kind}: {source}")]
    Generate {
        /// The kind of matrix.
        kind: Generated,
        /// The reason.
        source: MatrixError,
    },
}

impl MatrixArguments {
    /// Reads or generates the matrix; generates `default` if neither is requested.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the matrix would be too large.
    pub fn load<V: Value, O: Offset>(&self, default: Kind, seed: u64) -> Result<Input<V, O>, LoadError> {
        match self.source(default) {
            MatrixSource::File(path) => {
                let complex = if self.real_part { Complex::RealPart } else { Complex::Refuse };
                let matrix = read(&path, complex)?;
                Ok(Input { name: path.display().to_string(), matrix })
            }
            MatrixSource::Generated(kind) => {
                let matrix = kind.generate(seed).map_err(|source| LoadError::Generate { kind, source })?;
                Ok(Input { name: format!("{kind}, generated from seed {seed}"), matrix })
            }
        }
    }
}

fn read<V: Value, O: Offset>(path: &Path, complex: Complex) -> Result<Csr<V, O>, LoadError> {
    let mut options = ReadOptions::default().with_complex(complex);
    if stderr().is_terminal() {
        let bar = ReadingBar::new();
        options = options.with_progress(move |progress| bar.update(progress));
    }
    MatrixMarketReader::open(path, options).and_then(|reader| reader.read_csr()).map_err(|error| match error
        .kind()
    {
        MatrixMarketErrorKind::Complex => LoadError::Complex(error),
        _ => LoadError::Read(error),
    })
}

/// A progress bar on stderr that appears if reading takes long, and is cleared when it is dropped.
struct ReadingBar {
    bar: ProgressBar,
    start: Instant,
    /// Bytes done in each stage. Threads report out of order.
    done: [AtomicU64; 2],
}

impl ReadingBar {
    /// Shorter reads show no bar.
    const DELAY: Duration = Duration::from_millis(300);

    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg:13} {wide_bar} {bytes} of {total_bytes}") {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now(), done: Default::default() }
    }

    fn update(&self, Progress { stage, done, total, .. }: Progress) {
        let (index, message) = match stage {
            Stage::Decompress => (0, "decompressing"),
            Stage::Parse => (1, "parsing"),
        };
        let done = self.done[index].fetch_max(done, Relaxed).max(done);
        if self.start.elapsed() > Self::DELAY {
            // A different total means a new stage.
            if self.bar.length() != Some(total) {
                self.bar.set_length(total);
                self.bar.set_message(message);
            }
            self.bar.set_position(done);
        }
    }
}

impl Drop for ReadingBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Numbers in [-1, 1), the same for the same seed.
pub fn random_vector<V: RealStorage>(len: usize, seed: u64) -> Vec<V> {
    const STEP: f64 = 1.0 / (1_u64 << 52) as f64;
    let mut stream = Xoshiro256PlusPlus::seed_from_u64(seed);
    // 53 random bits; in f32, a number may round up to 1.
    (0..len).map(|_| V::from_f64((stream.next_u64() >> 11) as f64 * STEP - 1.0)).collect()
}

/// Real or complex numbers whose parts are those of [`random_vector`].
pub fn random_scalars<V: Scalar>(len: usize, seed: u64) -> Vec<V> {
    let imaginary: Vec<V::Real> = if V::IS_COMPLEX { random_vector(len, !seed) } else { Vec::new() };
    let imaginary = imaginary.into_iter().chain(std::iter::repeat(V::Real::from_f64(0.0)));
    random_vector(len, seed).into_iter().zip(imaginary).map(|(re, im)| V::from_parts(re, im)).collect()
}
