//! Measures one matrix after the other.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenpath::Csr;
use evenpath::generate::Kind;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::report::Report;
use super::source::Source;
use crate::operations::Bench;

impl Bench<'_> {
    /// Passes each generated matrix in canonical form to a function. Failures and skipped matrices are noted in the table.
    pub(super) fn each_matrix(
        &self,
        kinds: impl IntoIterator<Item = Kind>,
        notes: &mut Vec<String>,
        measure: impl FnMut(&str, Csr<f64>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.each(kinds.into_iter().map(Source::from), notes, measure)
    }

    /// Passes each matrix in canonical form to a function. Failures and skipped matrices are noted in the table.
    pub(super) fn each(
        &self,
        sources: impl IntoIterator<Item = Source>,
        notes: &mut Vec<String>,
        mut measure: impl FnMut(&str, Csr<f64>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let mut too_large = Vec::new();
        for Source { name, nonzeros, make } in sources {
            if nonzeros > self.most_nonzeros {
                too_large.push(name);
                continue;
            }
            let measured = catch_unwind(AssertUnwindSafe(|| {
                let mut matrix = make()?;
                if matrix.nnz() > self.most_nonzeros {
                    too_large.push(name.clone());
                    return Ok(());
                }
                matrix.canonicalize();
                measure(&name, matrix)
            }));
            match measured {
                Ok(Ok(())) => {}
                Ok(Err(error)) => notes.push(format!("{name}: {error}")),
                Err(_) => notes.push(format!("{name}: a measurement panicked")),
            }
            self.device.synchronize()?;
        }
        if !too_large.is_empty() {
            notes.push(format!(
                "left out, with more than {} nonzeros: {}",
                self.most_nonzeros,
                too_large.join(", ")
            ));
        }
        Ok(())
    }

    /// Measures the matrices that the report does not have yet, as a case each. Returns the cases of all that have one, in
    /// order, and why others have none.
    pub(super) fn each_case<T: Serialize + DeserializeOwned>(
        &self,
        sources: impl IntoIterator<Item = Source>,
        report: &mut Report<'_>,
        mut measure: impl FnMut(&str, Csr<f64>) -> Result<T, Box<dyn Error>>,
    ) -> Result<(Vec<T>, Vec<String>), Box<dyn Error>> {
        let (mut names, mut left, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            names.push(source.name.clone());
            if !report.has(&source.name) {
                left.push(source);
            }
        }
        self.each(left, &mut notes, |name, matrix| report.record(name, &measure(name, matrix)?))?;
        let mut cases = Vec::new();
        for name in names {
            cases.extend(report.case(&name)?);
        }
        Ok((cases, notes))
    }
}
