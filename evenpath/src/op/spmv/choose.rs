//! Which methods suit a matrix: from what is measured of it and of its device, and from nothing else.

use super::features::Features;
use super::method::SpmvMethod;
use super::reason::Reason;
use super::strategy::Strategy;
use crate::{Offset, Scalar};

/// A method, and why it suits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) method: SpmvMethod,
    pub(super) reason: Reason,
}

/// The methods that suit, best first: the first one that can be built is taken. First come those that a rule prefers; then, if no
/// rule decides alone, those that have estimates, in their order; and last one that can always be built.
pub(super) fn candidates<V: Scalar, O: Offset>(
    features: &Features,
    methods: &[&dyn Strategy<V, O>],
) -> Vec<Candidate> {
    let estimates = if features.rules_decide() { Vec::new() } else { by_estimate(features, methods) };
    let fastest = estimates.first().map(|one| one.method);
    let by_rule = |strategy: &&dyn Strategy<V, O>| {
        let reason = strategy.rule(features, fastest)?;
        Some(Candidate { method: strategy.method(), reason })
    };
    let last = methods.iter().find(|strategy| strategy.takes_any_rows(features));
    let last = last.map(|strategy| Candidate { method: strategy.method(), reason: Reason::AnyRows });
    methods.iter().filter_map(by_rule).chain(estimates).chain(last).collect()
}

/// The methods that have an estimate, the lowest first.
fn by_estimate<V: Scalar, O: Offset>(features: &Features, methods: &[&dyn Strategy<V, O>]) -> Vec<Candidate> {
    let estimate = |strategy: &&dyn Strategy<V, O>| Some((strategy.estimate(features)?, strategy.method()));
    let mut estimates: Vec<(f64, SpmvMethod)> = methods.iter().filter_map(estimate).collect();
    estimates.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let candidate = |(microseconds, method)| {
        let reason = Reason::Estimate { nanoseconds: (microseconds * 1e3) as u64 };
        Candidate { method, reason }
    };
    estimates.into_iter().map(candidate).collect()
}

#[cfg(test)]
mod tests;
