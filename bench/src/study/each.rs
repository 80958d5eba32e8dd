//! Measures one matrix after the other.

use std::error::Error;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenpath::Csr;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::report::Report;
use super::source::Source;
use crate::operations::Bench;

/// Results with a matrix.
#[derive(Debug)]
pub(super) struct Measured<T> {
    /// The name of the matrix.
    pub(super) name: String,
    results: T,
}

impl<T> Deref for Measured<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.results
    }
}

/// The results with all matrices, in order, and notes on those without any.
pub(super) type All<T> = (Vec<Measured<T>>, Vec<String>);

impl Bench<'_> {
    /// Measures each matrix in canonical form that the report does not have yet, as a case of a part of the study.
    pub(super) fn each<T: Serialize + DeserializeOwned>(
        &self,
        part: &str,
        sources: impl IntoIterator<Item = impl Into<Source>>,
        report: &mut Report<'_>,
        mut measure: impl FnMut(&str, Csr<f64>) -> Result<T, Box<dyn Error>>,
    ) -> Result<All<T>, Box<dyn Error>> {
        let (mut all, mut notes, mut too_large) = (Vec::new(), Vec::new(), Vec::new());
        for Source { name, nonzeros, make } in sources.into_iter().map(Into::into) {
            let case = format!("{name}, {part}");
            if !report.has(&case) {
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
                    report.record(&case, &measure(&name, matrix)?)
                }));
                match measured {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => notes.push(format!("{name}: {error}")),
                    Err(_) => notes.push(format!("{name}: a measurement panicked")),
                }
                self.device.synchronize()?;
            }
            all.extend(report.case(&case)?.map(|results| Measured { name, results }));
        }
        if !too_large.is_empty() {
            notes.push(format!(
                "left out, with more than {} nonzeros: {}",
                self.most_nonzeros,
                too_large.join(", ")
            ));
        }
        Ok((all, notes))
    }
}
