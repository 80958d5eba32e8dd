use std::collections::BTreeMap;

use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};

use super::{Bench, Measured, Named};
use crate::peers::{Operation, PeerValue};
use crate::results::{Contender, Figures, OWN_NAME};
use crate::operations::spmv::{self, Case, Outcome, PeerRecord, Way};

/// y = Ax by the method that the library chooses, or y = Aᵀx in every mode.
pub(super) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    named: &Named<'_, V>,
    operation: Operation,
) -> Measured {
    let ways: Vec<Way> = match operation {
        Operation::Direct => vec![Way::Direct(SpmvMethod::Auto)],
        Operation::Transposed => SpmvTransposedMethod::ALL.into_iter().map(Way::Transposed).collect(),
    };
    let case = Case {
        device: bench.device,
        copy_gbps: bench.copy_gbps,
        ways: &ways,
        peers: bench.peers,
        operation,
        repetitions: bench.repetitions,
        suite: named.suite,
        matrix: named.name,
        structure: None,
        generated: named.is_generated,
    };
    let record = spmv::measure(&case, named.matrix)?;
    let mut more = BTreeMap::new();
    let ours = record.methods.iter().map(|method| match &method.outcome {
        Outcome::Failed { error } => Contender::refused(OWN_NAME, &method.method, error),
        Outcome::Measured(figures) => {
            more.insert(format!("plan ms, {}", method.method), figures.plan_ms);
            let differs = figures.ordered && !figures.repeatable;
            let difference = figures.difference.as_deref().or(differs.then_some("differs from run to run"));
            let name = if method.method == "auto" { &figures.chosen } else { &method.method };
            Contender::ran(OWN_NAME, name, figures.measured.ms, Some(figures.workspace_bytes), difference)
                .with_timing(figures.measured.timing)
        }
    });
    let ours = ours.collect();
    let work = spmv::work(named.matrix);
    Ok(Figures::new(
        (named.matrix.nnz() as u64, work.operations, work.bytes),
        ours,
        peers(&record.peers),
        more,
    ))
}

/// The contenders for the algorithms of other libraries.
pub(super) fn peers(records: &[PeerRecord]) -> Vec<Contender> {
    let contender = |record: &PeerRecord| {
        let contender = match &record.outcome {
            Outcome::Failed { error } => Contender::refused(record.library, &record.algorithm, error),
            Outcome::Measured(figures) => Contender::ran(
                record.library,
                &record.algorithm,
                figures.ms,
                Some(figures.workspace_bytes as u64),
                figures.difference.as_deref(),
            )
            .with_timing(figures.timing),
        };
        contender.of_version(record.version.as_deref())
    };
    records.iter().map(contender).collect()
}
