//! Options of the command.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evenpath_solvers::{AmgCycle, AmgOptions, AmgSmoother, Method, SolverOptions};

use super::measure::Settings;
use super::preconditioner::Name;
use super::system::Source;
use crate::arguments::{CommonArguments, ValueType};
use crate::scale::Problem;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Methods.
    #[arg(long, value_delimiter = ',', default_value = "cg", value_parser = method())]
    method: Vec<Method>,
    /// Preconditioners; each is set up once more for every repetition. LSQR has none.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "jacobi")]
    preconditioner: Vec<Name>,
    /// Read matrices from Matrix Market files. [default: the stiffness matrix of a dam, without --generate]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    matrix: Vec<PathBuf>,
    /// Laplacians of grids: stencil5:SIDE, stencil7:SIDE or stencil27:SIDE.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    generate: Vec<Problem>,
    /// Solve a suite of problems by CG with AMG instead, in f64.
    #[arg(long, value_enum, conflicts_with_all = ["matrix", "generate", "method", "preconditioner", "value", "plot"])]
    pub(super) suite: Option<Suite>,
    /// Number of unknowns of each problem of the suite, about.
    #[arg(long, value_name = "N", default_value_t = 20_000, requires = "suite")]
    pub(super) size: usize,
    /// Read further problems of the suite from the Matrix Market files of a folder.
    #[arg(long, value_name = "FOLDER", requires = "suite")]
    pub(super) folder: Option<PathBuf>,
    /// Write the problems of the suite to a folder, as Matrix Market files.
    #[arg(long, value_name = "FOLDER", requires = "suite")]
    pub(super) out: Option<PathBuf>,
    /// Threshold of strong couplings of AMG. [default: that of the library]
    #[arg(long, value_name = "THETA")]
    strength: Option<f64>,
    /// Cycle of AMG. K-cycles have two steps, and make CG flexible.
    #[arg(long, value_enum, default_value = "v")]
    cycle: Cycle,
    /// Smoother of AMG.
    #[arg(long, value_enum, default_value = "chebyshev")]
    smoother: Smoother,
    /// Types of the values.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "f64")]
    value: Vec<ValueType>,
    /// Use the right-hand side of ones, instead of the one whose solution is ones.
    #[arg(long)]
    pub(super) ones: bool,
    /// Stop at this residual, relative to b.
    #[arg(long, value_name = "R", default_value_t = 1e-8)]
    tolerance: f64,
    /// Maximum number of steps.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
    /// Number of steps between the host's looks at the residuals.
    #[arg(long, value_name = "N", default_value_t = 32)]
    check_steps: usize,
    /// Solve by one block of a GPU, in CG with a diagonal preconditioner or none. [default: where the system is small]
    #[arg(long, value_name = "BOOL")]
    one_block: Option<bool>,
    /// Set AMG up and solve by CG this often instead, and compare all bits of the hierarchy and of x.
    #[arg(long, value_name = "N", conflicts_with_all = ["suite", "method", "preconditioner", "plot"])]
    pub(super) repeat_bits: Option<usize>,
    /// Unknowns per node of a grid, which AMG aggregates together.
    #[arg(long, value_name = "N", default_value_t = 1)]
    block_size: usize,
    /// Set-ups, updates and solves to time, after a first one; medians are reported.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: usize,
    /// Plot the residuals as SVG.
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// A suite of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Suite {
    /// Twenty symmetric positive definite ones, for conjugate gradients with multigrid.
    Definite,
}

/// Cycles of AMG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Cycle {
    V,
    W,
    K,
}

/// Smoothers of AMG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Smoother {
    /// A Chebyshev polynomial of degree 2.
    Chebyshev,
    /// A symmetric sweep of Gauss–Seidel by colors.
    GaussSeidel,
    /// A step of Jacobi.
    Jacobi,
}

fn method() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.map(Method::name)).try_map(|name| name.parse::<Method>())
}

/// A preconditioner, and the methods to use it in.
pub(super) struct Case {
    pub(super) preconditioner: Name,
    pub(super) methods: Vec<Method>,
}

impl Arguments {
    /// The matrices.
    ///
    /// # Errors
    ///
    /// If a generated one is not positive definite.
    pub(super) fn sources(&self) -> Result<Vec<Source>, String> {
        if let Some(problem) = self.generate.iter().find(|problem| !problem.is_positive_definite()) {
            return Err(format!("{problem} is not positive definite"));
        }
        let mut sources: Vec<Source> = self.matrix.iter().cloned().map(Source::File).collect();
        sources.extend(self.generate.iter().copied().map(Source::Grid));
        if sources.is_empty() {
            let dam = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/data/bcsstk16.mtx.gz");
            sources.push(Source::File(dam.into()));
        }
        Ok(sources)
    }

    /// The types of the values, each once.
    pub(super) fn values(&self) -> Vec<ValueType> {
        each_once(&self.value)
    }

    /// The preconditioners with their methods. LSQR is left to the case without a preconditioner.
    pub(super) fn cases(&self) -> Vec<Case> {
        let (methods, mut preconditioners) = (each_once(&self.method), each_once(&self.preconditioner));
        if self.has_lsqr() && !preconditioners.contains(&Name::None) {
            preconditioners.push(Name::None);
        }
        let is_asked_for = |name| self.preconditioner.contains(&name);
        let cases = preconditioners.into_iter().map(|preconditioner| {
            let fits = |method: &&Method| match method {
                Method::Lsqr => preconditioner == Name::None,
                _ => is_asked_for(preconditioner),
            };
            Case { preconditioner, methods: methods.iter().filter(fits).copied().collect() }
        });
        cases.filter(|case| !case.methods.is_empty()).collect()
    }

    /// Returns whether a method needs the transpose.
    pub(super) fn has_lsqr(&self) -> bool {
        self.method.contains(&Method::Lsqr)
    }

    /// The settings of each measurement.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            repetitions: self.repetitions.max(1),
            tolerance: self.tolerance,
            solver: SolverOptions::default()
                .with_tolerance(self.tolerance)
                .with_max_steps(self.steps)
                .with_check_steps(self.check_steps)
                .with_one_block(self.one_block)
                .with_flexible(self.cycle == Cycle::K),
            amg: self.amg(),
        }
    }

    fn amg(&self) -> AmgOptions {
        let cycle = match self.cycle {
            Cycle::V => AmgCycle::V,
            Cycle::W => AmgCycle::W,
            Cycle::K => AmgCycle::K { steps: 2 },
        };
        let smoother = match self.smoother {
            Smoother::Chebyshev => AmgSmoother::Chebyshev { degree: 2 },
            Smoother::GaussSeidel => AmgSmoother::GaussSeidel { sweeps: 1 },
            Smoother::Jacobi => AmgSmoother::Jacobi { steps: 1 },
        };
        let options = AmgOptions::default().with_block_size(self.block_size);
        let options = options.with_cycle(cycle).with_smoother(smoother);
        self.strength.map_or(options, |threshold| options.with_strength(threshold))
    }
}

/// The items without those that were before.
fn each_once<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for &item in items {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}
