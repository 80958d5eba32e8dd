//! Sizes and set-up times of a hierarchy.

use std::fmt;

use evenpath::Device;
use evenpath::device::Event;
use evenpath::error::DeviceError;

use crate::error::Result;

/// Levels and set-up times of [`SmoothedAggregation`](crate::SmoothedAggregation); its `Display` is a table. Over ranks, rows and nonzeros
/// are those of all ranks, and times those of this one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AmgInfo {
    /// The levels, the finest first.
    pub levels: Vec<AmgLevelInfo>,
    /// Milliseconds of the first set-up, or of the last update.
    pub set_up_ms: AmgSetUpMs,
}

/// A level of a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AmgLevelInfo {
    /// Number of rows of its matrix.
    pub rows: usize,
    /// Number of nonzeros of its matrix.
    pub nonzeros: usize,
    /// Estimate of the spectral radius of D⁻¹A.
    pub spectral_radius: f64,
}

/// Milliseconds of a set-up, by part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct AmgSetUpMs {
    /// Diagonals and spectral radii.
    pub spectra: f64,
    /// Strong couplings and aggregates.
    pub aggregates: f64,
    /// Tentative and smoothed prolongations.
    pub prolongations: f64,
    /// Galerkin products.
    pub products: f64,
    /// Plans of products with vectors, and work vectors.
    pub plans: f64,
    /// Inverse of the coarsest matrix, and over ranks gathering a level.
    pub coarsest: f64,
}

impl AmgSetUpMs {
    /// Adds the times of a set-up part by part.
    #[cfg(feature = "distributed")]
    pub(super) fn add(&mut self, other: &Self) {
        self.spectra += other.spectra;
        self.aggregates += other.aggregates;
        self.prolongations += other.prolongations;
        self.products += other.products;
        self.plans += other.plans;
        self.coarsest += other.coarsest;
    }

    /// The sum of all parts.
    pub fn total(&self) -> f64 {
        let Self { spectra, aggregates, prolongations, products, plans, coarsest } = self;
        spectra + aggregates + prolongations + products + plans + coarsest
    }
}

impl AmgInfo {
    /// The nonzeros of all levels, divided by those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        complexity(self.levels.iter().map(|level| level.nonzeros))
    }

    /// The rows of all levels, divided by those of the finest.
    pub fn grid_complexity(&self) -> f64 {
        complexity(self.levels.iter().map(|level| level.rows))
    }
}

/// The sum of numbers, divided by the first; 1 if that is zero.
fn complexity(numbers: impl Iterator<Item = usize> + Clone) -> f64 {
    match numbers.clone().next() {
        Some(first) if first > 0 => numbers.sum::<usize>() as f64 / first as f64,
        _ => 1.0,
    }
}

impl fmt::Display for AmgInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level        rows     nonzeros   per row   radius")?;
        for (at, level) in self.levels.iter().enumerate() {
            let AmgLevelInfo { rows, nonzeros, spectral_radius } = level;
            let per_row = *nonzeros as f64 / (*rows).max(1) as f64;
            writeln!(f, "{at:>5} {rows:>11} {nonzeros:>12} {per_row:>9.1} {spectral_radius:>8.3}")?;
        }
        let (operator, grid) = (self.operator_complexity(), self.grid_complexity());
        writeln!(f, "operator complexity {operator:.3}, grid complexity {grid:.3}")?;
        let AmgSetUpMs { spectra, aggregates, prolongations, products, plans, coarsest } = self.set_up_ms;
        write!(
            f,
            "set-up {:.2} ms: spectra {spectra:.2}, aggregates {aggregates:.2}",
            self.set_up_ms.total()
        )?;
        write!(f, ", prolongations {prolongations:.2}, products {products:.2}, plans {plans:.2}")?;
        write!(f, ", coarsest {coarsest:.2}")
    }
}

/// A part of a set-up.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Spectra,
    Aggregates,
    Prolongations,
    Products,
    Plans,
    Coarsest,
}

/// Marks between the parts of a set-up, which the device need not be waited for.
pub(super) struct Stopwatch {
    device: Device,
    start: Event,
    ends: Vec<(Part, Event)>,
}

impl Stopwatch {
    pub(super) fn start(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { device: device.clone(), start: device.record()?, ends: Vec::new() })
    }

    /// Marks the end of a part.
    pub(super) fn end(&mut self, part: Part) -> Result<(), DeviceError> {
        self.ends.push((part, self.device.record()?));
        Ok(())
    }

    /// The times of the parts. Waits for the last.
    pub(super) fn times(&self) -> Result<AmgSetUpMs, DeviceError> {
        let mut times = AmgSetUpMs::default();
        let mut before = &self.start;
        for (part, end) in &self.ends {
            let time = match part {
                Part::Spectra => &mut times.spectra,
                Part::Aggregates => &mut times.aggregates,
                Part::Prolongations => &mut times.prolongations,
                Part::Products => &mut times.products,
                Part::Plans => &mut times.plans,
                Part::Coarsest => &mut times.coarsest,
            };
            *time += end.elapsed_since(before)?;
            before = end;
        }
        Ok(times)
    }
}
