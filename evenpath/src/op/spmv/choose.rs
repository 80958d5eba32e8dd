//! Which methods suit a matrix: from what is measured of it and of its device, and from nothing else.

use super::cost::estimate;
use super::features::Features;
use super::lengths::{Lengths, Long};
use super::method::SpmvMethod;
use super::thresholds::{NARROW_HUNDREDTHS, ROW_BLOCK_MEAN, WINDOW_MEAN_OF_NEIGHBORS};
use super::windows::Found;

/// A method, and why it suits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) method: SpmvMethod,
    pub(super) reason: Reason,
}

/// Reason for a candidate, besides the row lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    RowLengths,
    Windows,
    ScatteredColumns,
    HotColumns,
    AlikeRows,
    /// It is estimated to take this long, and every other method that can be built longer.
    Estimate {
        nanoseconds: u64,
    },
    AnyRows,
}

/// The methods that have an estimate: of equal ones, the first is taken.
const ESTIMATED: [SpmvMethod; 9] = [
    SpmvMethod::Vector,
    SpmvMethod::Warp,
    SpmvMethod::Scalar,
    SpmvMethod::RowBlocks,
    SpmvMethod::RowTiles,
    SpmvMethod::Flat,
    SpmvMethod::MergePath,
    SpmvMethod::Block,
    SpmvMethod::Binned,
];

/// The methods that suit, best first: the first one that can be built is taken. The last one always can.
pub(super) fn candidates(features: &Features) -> Vec<Candidate> {
    let mut candidates = if features.are_for_blocks() {
        of_long_rows(features)
    } else if let Some(by_windows) = of_windows(features) {
        vec![by_windows]
    } else {
        by_estimate(features)
    };
    let by_windows = candidates.iter().any(|one| one.method == SpmvMethod::Windows);
    if features.may_have_hot_columns() && !by_windows {
        candidates.insert(0, because(Reason::HotColumns, SpmvMethod::HotColumns));
    }
    if features.may_be_sliced() && !by_windows {
        candidates.insert(0, because(Reason::AlikeRows, SpmvMethod::SlicedEll));
    }
    candidates.push(because(Reason::AnyRows, whatever_the_rows(features)));
    candidates
}

/// The method that divides nonzeros, not rows.
fn whatever_the_rows(features: &Features) -> SpmvMethod {
    if features.lengths.empty == 0 { SpmvMethod::Flat } else { SpmvMethod::MergePath }
}

fn because(reason: Reason, method: SpmvMethod) -> Candidate {
    Candidate { method, reason }
}

/// The method for its row lengths.
fn suits(method: SpmvMethod) -> Candidate {
    because(Reason::RowLengths, method)
}

fn of_long_rows(features: &Features) -> Vec<Candidate> {
    let pays = features.may_copy() && !features.stays_in_cache();
    let narrow = pays.then_some(SpmvMethod::NarrowColumns);
    narrow.into_iter().chain([SpmvMethod::Block]).map(suits).collect()
}

/// The method that what is known of windows decides, where no row is much longer than the mean.
fn of_windows(features: &Features) -> Option<Candidate> {
    let (found, nonzeros) = (features.windows?, features.nonzeros);
    let with_neighbors = features.is_f32() && features.lengths.mean >= WINDOW_MEAN_OF_NEIGHBORS;
    if !features.are_even() {
        return None;
    }
    if found.are_worth_it(nonzeros, with_neighbors) {
        return Some(because(Reason::Windows, SpmvMethod::Windows));
    }
    let are_scattered = features.lengths.empty == 0 && found.are_too_narrow(nonzeros);
    are_scattered.then(|| because(Reason::ScatteredColumns, SpmvMethod::Flat))
}

/// Methods in the order of their estimates, after narrow columns if these save bytes that count.
fn by_estimate(features: &Features) -> Vec<Candidate> {
    let mut estimates: Vec<(f64, SpmvMethod)> = ESTIMATED
        .into_iter()
        .filter(|&method| features.allow(method))
        .filter_map(|method| Some((estimate(features, method)?, method)))
        .collect();
    estimates.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let best = estimates.first().map(|&(_, method)| method);
    let narrow = best.filter(|&best| are_for_narrow_columns(features, best));
    let by_estimate = estimates.into_iter().map(|(microseconds, method)| {
        because(Reason::Estimate { nanoseconds: (microseconds * 1e3) as u64 }, method)
    });
    narrow.map(|_| suits(SpmvMethod::NarrowColumns)).into_iter().chain(by_estimate).collect()
}

/// Returns whether narrow columns may be faster than the best of the other methods: in cache, bytes are not what counts, unless
/// rows are short, and elsewhere they must save enough of them.
fn are_for_narrow_columns(features: &Features, best: SpmvMethod) -> bool {
    let saves_time = if features.stays_in_cache() {
        let are_tiled = matches!(best, SpmvMethod::RowTiles | SpmvMethod::RowBlocks);
        are_tiled && features.lengths.mean < ROW_BLOCK_MEAN
    } else {
        let saved = 2 * features.nonzeros;
        best != SpmvMethod::Block && 100 * saved >= NARROW_HUNDREDTHS * features.bytes()
    };
    features.may_copy() && features.are_even() && saves_time
}

impl Reason {
    /// The reason in words.
    pub(super) fn explain(self, features: &Features) -> String {
        let Lengths { longest, mean, empty, limit, long } = features.lengths;
        let text =
            format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
        match self {
            Self::RowLengths => text,
            Self::Windows => {
                let uses = features.windows.map_or(0, Found::uses);
                format!("{text}; the rows of a block use the same elements of x {uses} times")
            }
            Self::ScatteredColumns => format!("{text}; their columns are scattered"),
            Self::HotColumns => format!("{text}; columns are scattered, and some have many of the nonzeros"),
            Self::AlikeRows => format!("{text}; columns are scattered, and rows are alike"),
            Self::Estimate { nanoseconds } => {
                let estimate = nanoseconds as f64 / 1e3;
                if long.rows == 0 {
                    format!("{text}; estimated at {estimate:.1} µs")
                } else {
                    let Long { rows, nonzeros, .. } = long;
                    format!(
                        "{text}; {rows} with more than {limit} have {nonzeros} of the nonzeros; estimated at {estimate:.1} µs"
                    )
                }
            }
            Self::AnyRows => format!("{text}; no other method can be built"),
        }
    }
}

#[cfg(test)]
mod tests;
