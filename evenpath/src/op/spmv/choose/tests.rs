//! The choice over a grid of features, against the rules as one nested decision.

use super::super::lengths::Long;
use super::*;

/// The methods that not every matrix allows.
const CONDITIONAL: [SpmvMethod; 4] =
    [SpmvMethod::NarrowColumns, SpmvMethod::RowBlocks, SpmvMethod::RowTiles, SpmvMethod::Binned];

/// Which of them a matrix allows, a bit each.
#[derive(Debug, Clone, Copy)]
struct Allowed(u32);

impl Allowed {
    fn has(self, method: SpmvMethod) -> bool {
        CONDITIONAL.iter().position(|&one| one == method).is_none_or(|bit| self.0 >> bit & 1 == 1)
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..1 << CONDITIONAL.len()).map(Self)
    }
}

/// Whether the matrix stays in a cache, written out in numbers.
fn fits(features: &Features) -> bool {
    let value = if features.value == ScalarType::F32 { 4 } else { 8 };
    let bytes = features.nonzeros * (value + 4)
        + features.rows * (value + features.offset_bytes)
        + features.cols * value;
    features.l2_bytes.is_some_and(|l2| bytes <= l2 / 10 * 7)
}

fn expected_lanes(features: &Features) -> u32 {
    let wave = features.multiprocessors * 2048;
    let least = match policy::spmv_lanes(features.rows, features.nonzeros) {
        2 if features.rows <= features.multiprocessors * 256 => 4,
        lanes => lanes,
    };
    let mean = features.nonzeros as f64 / features.rows.max(1) as f64;
    let wider = [32, 16, 8, 4]
        .into_iter()
        .find(|&lanes| features.rows * u64::from(lanes) <= wave && f64::from(lanes) <= mean / 2.0);
    least.max(wider.unwrap_or(2))
}

fn lanes_win(features: &Features) -> bool {
    let lanes = u64::from(expected_lanes(features));
    let Lengths { mean, longest, .. } = features.lengths;
    if features.rows * lanes > features.multiprocessors * 2048 {
        let are_few = features.rows * lanes <= features.multiprocessors * 6144;
        let is_spread = mean >= 12.0 && longest as f64 > 4.0 * mean;
        return !is_spread && (features.value != ScalarType::F32 || are_few);
    }
    let steps = match mean {
        mean if mean < 12.0 => 32,
        mean if longest as f64 <= 1.25 * mean => 16,
        _ => 8,
    };
    longest.div_ceil(lanes) <= steps
}

/// The decision as it was first written: builds as it goes, and returns from the middle.
fn expected(features: &Features, allowed: Allowed) -> (SpmvMethod, Reason) {
    let Lengths { mean, longest, empty, limit, long } = features.lengths;
    let is_f32 = features.value == ScalarType::F32;
    if mean >= 768.0 && longest as f64 <= 2.0 * mean {
        let narrow = features.may_narrow && allowed.has(SpmvMethod::NarrowColumns);
        let method = if narrow { SpmvMethod::NarrowColumns } else { SpmvMethod::Block };
        return (method, Reason::RowLengths);
    }
    if (mean >= 64.0 || mean >= 32.0 && longest > 256)
        && longest <= 2048
        && features.rows * 256 <= features.multiprocessors * 2048
    {
        return (SpmvMethod::Block, Reason::RowLengths);
    }
    if longest <= u64::from(limit) {
        let window_rows = if is_f32 { 768 } else { 2048 } * features.multiprocessors;
        if mean >= 15.0
            && features.rows >= window_rows
            && let Some(found) = features.windows
        {
            if found.are_worth_it(features.nonzeros, is_f32 && mean >= 56.0) {
                return (SpmvMethod::Windows, Reason::Windows);
            }
            if empty == 0 && found.are_too_narrow(features.nonzeros) {
                return (SpmvMethod::Flat, Reason::ScatteredColumns);
            }
        }
        let in_cache = fits(features);
        if in_cache && lanes_win(features) {
            return (SpmvMethod::Vector, Reason::StaysInCache);
        }
        let are_resident =
            features.rows * u64::from(expected_lanes(features)) <= features.multiprocessors * 2048;
        if in_cache && are_resident && mean >= 12.0 && longest as f64 > 4.0 * mean {
            let method = if empty == 0 { SpmvMethod::Flat } else { SpmvMethod::MergePath };
            return (method, Reason::StaysInCache);
        }
        if (!in_cache || mean < 12.0) && features.may_narrow && allowed.has(SpmvMethod::NarrowColumns) {
            return (SpmvMethod::NarrowColumns, Reason::RowLengths);
        }
        if mean >= 12.0 && !(is_f32 && !in_cache && mean < 32.0) && allowed.has(SpmvMethod::RowBlocks) {
            return (SpmvMethod::RowBlocks, Reason::RowLengths);
        }
        if allowed.has(SpmvMethod::RowTiles) {
            return (SpmvMethod::RowTiles, Reason::RowLengths);
        }
    } else if fits(features) && longest <= 352 && features.rows <= features.multiprocessors * 128 {
        return (SpmvMethod::Warp, Reason::StaysInCache);
    } else if fits(features) {
        if mean < 12.0 && longest <= 64 {
            return (SpmvMethod::Vector, Reason::StaysInCache);
        }
    } else if mean < 8.0 && long.nonzeros <= features.nonzeros / 8 {
        if empty * 2 <= features.rows && allowed.has(SpmvMethod::RowBlocks) {
            return (SpmvMethod::RowBlocks, Reason::RowLengths);
        }
        if mean >= 2.0 && allowed.has(SpmvMethod::Binned) {
            return (SpmvMethod::Binned, Reason::LongRowsAreCut);
        }
    }
    let method = if empty == 0 { SpmvMethod::Flat } else { SpmvMethod::MergePath };
    (method, Reason::LongRowsHaveMany)
}

/// Features of matrices with `rows` rows of `mean` nonzeros on average, of every other kind.
fn grid(rows: u64, mean: f64) -> impl Iterator<Item = Features> {
    let nonzeros = (rows as f64 * mean) as u64;
    let limit = (8.0 * mean).clamp(32.0, 2048.0) as u32;
    let mut all = Vec::new();
    let limits = [f64::from(limit), f64::from(limit) + 1.0];
    for longest in [mean.ceil(), (2.0 * mean).floor(), 3.0 * mean, limits[0], limits[1], 50.0 * mean + 2050.0]
    {
        let longest = longest as u64;
        let long_nonzeros: &[u64] =
            if longest > u64::from(limit) { &[longest, nonzeros / 8, nonzeros / 8 + 1] } else { &[0] };
        for (empty, &long) in
            [0, rows / 3].into_iter().flat_map(|empty| long_nonzeros.iter().map(move |long| (empty, long)))
        {
            let long = Long { rows: u64::from(long > 0), nonzeros: long, pieces: long / 1024 };
            let lengths = Lengths { longest, empty, mean, limit, long };
            for (value, offset_bytes) in [(ScalarType::F32, 4), (ScalarType::F64, 8)] {
                for (multiprocessors, l2_bytes) in [(1, None), (40, Some(4 << 20)), (132, Some(50 << 20))] {
                    all.push(Features {
                        rows,
                        cols: rows,
                        nonzeros,
                        lengths,
                        windows: None,
                        value,
                        offset_bytes,
                        multiprocessors,
                        l2_bytes,
                        may_narrow: false,
                    });
                }
            }
        }
    }
    all.into_iter()
}

/// With and without narrow columns, and with each kind of windows where these are looked for.
fn variants(features: Features) -> impl Iterator<Item = Features> {
    let nonzeros = features.nonzeros;
    let windows: Vec<Option<Found>> = if features.may_have_windows() {
        [0, nonzeros / 10 * 9, nonzeros]
            .into_iter()
            .flat_map(|covered| [1, 3].map(|uses| (covered, covered / uses)))
            .flat_map(|(covered, elements)| {
                [0, nonzeros / 2].map(|near| Some(Found::of(covered, elements, near)))
            })
            .chain([None])
            .collect()
    } else {
        vec![None]
    };
    windows
        .into_iter()
        .flat_map(move |windows| [false, true].map(|may_narrow| Features { windows, may_narrow, ..features }))
}

#[test]
fn the_first_candidate_that_is_allowed_is_the_expected_one() {
    let (mut cases, mut seen) = (0, Vec::new());
    for rows in [0, 1, 500, 30_000, 120_000, 300_000, 5_000_000] {
        for mean in [0.0, 0.5, 3.0, 7.9, 8.0, 11.9, 12.0, 14.9, 15.0, 40.0, 55.9, 56.0, 200.0, 768.0, 3000.0]
        {
            for features in grid(rows, mean).flat_map(variants) {
                let candidates = candidates(&features);
                for allowed in Allowed::all() {
                    let first = candidates.iter().find(|one| allowed.has(one.method)).expect("a last one");
                    let (method, reason) = expected(&features, allowed);
                    assert_eq!((first.method, first.reason), (method, reason), "{features:?}, {allowed:?}");
                    assert_eq!(features.lanes(), expected_lanes(&features));
                    cases += 1;
                    if !seen.contains(&(method, reason)) {
                        seen.push((method, reason));
                    }
                }
            }
        }
    }
    assert!(cases > 50_000, "{cases} cases");
    assert_eq!(seen.len(), 13, "every outcome comes up: {seen:?}");
}
