//! The measured steps of a preconditioner.

use evenpath::triangular::TriangularMethod;

/// A step, and the methods of its solves.
#[derive(Debug, Clone)]
pub(crate) struct Triangular {
    pub(crate) step: Step,
    pub(crate) methods: Vec<TriangularMethod>,
}

impl From<Step> for Triangular {
    /// The method that the library chooses.
    fn from(step: Step) -> Self {
        Self { step, methods: vec![TriangularMethod::Auto] }
    }
}

impl Triangular {
    /// Its name among cases.
    pub(crate) fn name(&self) -> String {
        let mut name = self.step.name().to_owned();
        if self.step.is_solve() && self.methods[..] != [TriangularMethod::Auto] {
            for method in &self.methods {
                name = format!("{name}, {method}");
            }
        }
        name
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Step {
    /// A ≈ LU without fill.
    Ilu0,
    /// A ≈ L·Lᵀ without fill.
    Ic0,
    /// Lx = b, with the factor L of ILU(0), whose diagonal is 1.
    Lower,
    /// Ux = b, with the factor U of ILU(0).
    Upper,
}

impl Step {
    /// All steps.
    pub(crate) const ALL: [Self; 4] = [Self::Ilu0, Self::Ic0, Self::Lower, Self::Upper];

    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ilu0 => "ilu0",
            Self::Ic0 => "ic0",
            Self::Lower => "lower",
            Self::Upper => "upper",
        }
    }

    /// Returns whether it is a solve.
    fn is_solve(self) -> bool {
        matches!(self, Self::Lower | Self::Upper)
    }
}
