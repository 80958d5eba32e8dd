//! Contenders of a case: methods of evenpath, and algorithms of other libraries.

use serde::{Deserialize, Serialize};

use crate::measure::{Times, Timing, median};

/// A way to compute the result. All but the library and the name is left out where there is none, and in older files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Contender {
    pub(crate) library: String,
    /// Its version, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// The method as requested, or the algorithm as named by the library.
    pub(crate) name: String,
    /// The format of the matrix, if it is not CSR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<String>,
    /// The method that the plan chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chosen: Option<String>,
    /// The reason of the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Median milliseconds of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
    /// Way in which the times were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timing: Option<Timing>,
    /// Milliseconds of planning, conversion or preprocessing, once per matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) setup_ms: Option<f64>,
    /// Median milliseconds of a run with a known pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values_ms: Option<f64>,
    /// Bytes of device memory, besides the operands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Bytes of the matrix in its format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matrix_bytes: Option<u64>,
    /// Values stored in that format, with padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slots: Option<u64>,
    /// True if several runs gave bitwise identical results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeatable: Option<bool>,
    /// The largest absolute difference to the result in f64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) largest_difference: Option<f64>,
    /// The reason why there is no time, or the error in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The name of the automatic choice among methods.
pub(crate) const AUTO: &str = "auto";

/// The name of the automatic choice among methods that may copy.
pub(crate) const MAY_COPY: &str = "may-copy";

/// The name of evenpath among libraries.
pub(crate) const OWN_NAME: &str = "evenpath";

impl Contender {
    /// A contender that ran, with the verdict on its result.
    pub(crate) fn ran(
        library: &str,
        name: impl Into<String>,
        times: &Times,
        checked: Result<(), String>,
    ) -> Self {
        Self {
            library: library.into(),
            name: name.into(),
            ms: Some(median(times)),
            timing: Some(Timing::new(times)),
            error: checked.err().map(|text| format!("wrong: {text}")),
            ..Self::default()
        }
    }

    /// A contender that failed.
    pub(crate) fn refused(library: &str, name: impl Into<String>, error: &impl ToString) -> Self {
        let (library, name, error) = (library.into(), name.into(), Some(error.to_string()));
        Self { library, name, error, ..Self::default() }
    }

    /// Adds the version of the library, if known.
    #[must_use]
    pub(crate) fn of_version(self, version: Option<&str>) -> Self {
        Self { version: version.map(str::to_owned), ..self }
    }

    /// Returns whether its times were spread widely.
    pub(crate) fn is_wide(&self) -> bool {
        self.timing.is_some_and(|timing| timing.wide)
    }

    /// Returns the library with its version, if known.
    pub(crate) fn full_name(&self) -> String {
        match &self.version {
            None => self.library.clone(),
            Some(version) => format!("{} {version}", self.library),
        }
    }

    /// The method that ran: as chosen, or else as requested.
    pub(crate) fn method(&self) -> &str {
        self.chosen.as_deref().unwrap_or(&self.name)
    }

    /// Returns whether its library, with or without its version, has this name.
    pub(crate) fn is_of(&self, library: &str) -> bool {
        self.library == library || self.full_name() == library
    }

    /// Its milliseconds, if its result is correct.
    pub(crate) fn right_ms(&self) -> Option<f64> {
        if self.error.is_none() { self.ms } else { None }
    }

    /// Milliseconds of its setup and of this many runs, if its result is correct.
    pub(crate) fn total_ms(&self, runs: u32) -> Option<f64> {
        Some(self.setup_ms.unwrap_or(0.0) + f64::from(runs) * self.right_ms()?)
    }

    /// Returns whether it ran with a wrong result.
    pub(crate) fn is_wrong(&self) -> bool {
        self.ms.is_some() && self.error.is_some()
    }
}
