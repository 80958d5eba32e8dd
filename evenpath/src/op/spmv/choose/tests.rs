//! The choice over a grid of features: the rules that come first, written out in numbers, and the order of the estimates.

use evenpath_simt::ScalarType;

use super::super::features::{Copies, Features};
use super::super::found_windows::WindowStatistics;
use super::super::gathers::Gathers;
use super::super::lengths::{Lengths, Long};
use super::super::methods;
use super::*;
use crate::{Complex, policy};

/// The candidates of matrices whose values are f64: no method's part in the choice depends on the type otherwise.
fn candidates(features: &Features) -> Vec<Candidate> {
    super::candidates(features, &methods::all::<f64, u32>())
}

fn estimate(features: &Features, method: SpmvMethod) -> Option<f64> {
    methods::find::<f64, u32>(method)?.estimate(features)
}

/// The methods that have an estimate for the matrix.
fn estimated(features: &Features) -> Vec<SpmvMethod> {
    let methods = methods::all::<f64, u32>().into_iter().map(Strategy::method);
    methods.filter(|&method| estimate(features, method).is_some()).collect()
}

/// The matrix with a row that counts as long.
fn with_long_row(features: Features) -> Features {
    let long = Long { rows: 1, nonzeros: 33, pieces: 1 };
    Features { lengths: Lengths { long, ..features.lengths }, ..features }
}

fn property(text: &'static str) -> Reason {
    Reason::Property(text.into())
}

/// A matrix without rows that are empty or long, on an H200.
fn matrix(rows: u64, mean: f64, longest: u64) -> Features {
    let limit = (8.0 * mean).clamp(32.0, 2048.0) as u32;
    Features {
        rows,
        nonzeros: (rows as f64 * mean) as u64,
        lengths: Lengths { longest, empty: 0, mean, limit, long: Long::default() },
        windows: None,
        value: ScalarType::F64,
        offset_bytes: 4,
        multiprocessors: 132,
        l2_bytes: Some(60 << 20),
        gathers: Gathers { sectors: None, value_bytes: 8, x_bytes: 8 * rows, shared_bytes: 227 << 10 },
        copies: Copies::Nothing,
    }
}

/// Features of matrices with `rows` rows of `mean` nonzeros on average, of every other kind.
fn grid(rows: u64, mean: f64) -> impl Iterator<Item = Features> {
    let of_mean = matrix(rows, mean, 0);
    let (limit, nonzeros) = (f64::from(of_mean.lengths.limit), of_mean.nonzeros);
    let mut all = Vec::new();
    for longest in [mean.ceil(), (2.0 * mean).floor(), 3.0 * mean, limit, limit + 1.0, 50.0 * mean + 2050.0] {
        let longest = longest as u64;
        let is_long = longest as f64 > limit;
        let long_nonzeros: &[u64] = if is_long { &[longest, nonzeros / 8, nonzeros] } else { &[0] };
        for (empty, &long) in [0, rows / 3, rows / 10 * 9, rows]
            .into_iter()
            .flat_map(|empty| long_nonzeros.iter().map(move |long| (empty, long)))
        {
            let long =
                Long { rows: long.min(rows).min(u64::from(is_long)), nonzeros: long, pieces: long / 1024 };
            let lengths = Lengths { longest, empty, long, ..of_mean.lengths };
            for (value, offset_bytes) in [(ScalarType::F32, 4), (ScalarType::F64, 8)] {
                let x_bytes = rows * value.size() as u64;
                let of_value = Features {
                    lengths,
                    value,
                    offset_bytes,
                    gathers: Gathers { x_bytes, ..of_mean.gathers },
                    ..of_mean
                };
                for (multiprocessors, l2_bytes) in
                    [(0, Some(0)), (1, None), (40, Some(4 << 20)), (132, Some(60 << 20))]
                {
                    all.push(Features { multiprocessors, l2_bytes, ..of_value });
                }
            }
        }
    }
    all.into_iter()
}

/// With and without another form of the matrix, with each kind of windows where these are looked for, and with columns near each
/// other and scattered ones where that is counted.
fn variants(features: Features) -> impl Iterator<Item = Features> {
    let nonzeros = features.nonzeros;
    let windows: Vec<Option<WindowStatistics>> = if features.may_have_windows() {
        [0, nonzeros / 10 * 9, nonzeros]
            .into_iter()
            .flat_map(|covered| [1, 3].map(|uses| (covered, covered / uses)))
            .flat_map(|(covered, elements)| {
                [0, nonzeros / 2].map(|near| Some(WindowStatistics::of(covered, elements, near)))
            })
            .chain([None])
            .collect()
    } else {
        vec![None]
    };
    windows
        .into_iter()
        .flat_map(move |windows| {
            [Copies::Nothing, Copies::Columns, Copies::Values].map(|copies| Features {
                windows,
                copies,
                ..features
            })
        })
        .flat_map(|features| {
            let is_counted = features.nonzeros >= 1_000_000;
            let sectors: &[_] = if is_counted { &[Some(0.1), Some(0.9)] } else { &[None] };
            sectors.iter().map(move |&sectors| Features {
                gathers: Gathers { sectors, ..features.gathers },
                ..features
            })
        })
}

fn all() -> impl Iterator<Item = Features> {
    [0, 1, 500, 30_000, 120_000, 300_000, 5_000_000]
        .into_iter()
        .flat_map(|rows| [0.0, 0.5, 3.0, 12.0, 15.0, 56.0, 200.0, 768.0, 3000.0].map(|mean| (rows, mean)))
        .flat_map(|(rows, mean)| grid(rows, mean))
        .flat_map(variants)
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

/// The candidates before the last one that rules decide.
fn by_rules(features: &Features) -> Option<Vec<(SpmvMethod, Reason)>> {
    let Lengths { mean, longest, empty, limit, .. } = features.lengths;
    let is_f32 = features.value == ScalarType::F32;
    let are_enough = features.rows >= features.multiprocessors * 8;
    if are_enough && mean >= 768.0 && longest as f64 <= 2.0 * mean {
        let pays = features.may_copy() && !fits(features);
        let narrow = pays.then_some((SpmvMethod::NarrowColumns, Reason::RowLengths));
        return Some(narrow.into_iter().chain([(SpmvMethod::Block, Reason::RowLengths)]).collect());
    }
    let window_rows = if is_f32 { 768 } else { 2048 } * features.multiprocessors;
    if longest <= u64::from(limit)
        && mean >= 15.0
        && features.rows >= window_rows
        && let Some(found) = features.windows
    {
        if found.are_worth_it(features.nonzeros, is_f32 && mean >= 56.0) {
            let uses = found.uses();
            let reason = format!("the rows of a block use the same elements of x {uses} times");
            return Some(vec![(SpmvMethod::Windows, Reason::Property(reason.into()))]);
        }
        if empty == 0 && found.are_too_narrow(features.nonzeros) {
            return Some(vec![(SpmvMethod::Flat, property("their columns are scattered"))]);
        }
    }
    None
}

/// Returns whether the matrix stays in a cache, written out in numbers.
fn fits(features: &Features) -> bool {
    let value = if features.value == ScalarType::F32 { 4 } else { 8 };
    let x = features.gathers.x_bytes.min(32 * features.nonzeros);
    let bytes = features.nonzeros * (value + 4) + features.rows * (value + features.offset_bytes) + x;
    features.l2_bytes.is_some_and(|l2| bytes <= l2 / 10 * 7)
}

/// Checks candidates in the order of their estimates, and returns the first of them.
fn check_estimates(features: &Features, candidates: &[Candidate]) -> SpmvMethod {
    let Lengths { mean, longest, empty, limit, long } = features.lengths;
    let (is_narrow, estimated) = match candidates {
        [Candidate { method: SpmvMethod::NarrowColumns, .. }, rest @ ..] => (true, rest),
        all => (false, all),
    };
    let time = |one: &Candidate| estimate(features, one.method).expect("an estimate");
    assert!(estimated.iter().all(|one| time(one).is_finite() && time(one) >= 3.9), "{features:?}");
    assert!(estimated.iter().all(|one| matches!(one.reason, Reason::Estimate { .. })), "{estimated:?}");
    assert!(estimated.is_sorted_by(|left, right| time(left) <= time(right)), "{features:?}: {estimated:?}");
    let has = |method| estimated.iter().any(|one| one.method == method);
    assert!(has(SpmvMethod::MergePath) && has(SpmvMethod::Vector { lanes: None }), "they suit all matrices");
    assert_eq!(has(SpmvMethod::Flat), empty == 0);
    assert_eq!(has(SpmvMethod::Binned), long.rows > 0 && (features.rows - empty) * 5 >= features.rows);
    assert_eq!(has(SpmvMethod::RowTiles), (features.rows - empty) * 5 >= features.rows);
    assert_eq!(has(SpmvMethod::RowBlocks), empty * 2 <= features.rows);
    let best = estimated[0].method;
    let saves_time = match best {
        SpmvMethod::RowTiles | SpmvMethod::RowBlocks => !fits(features) || mean < 12.0,
        SpmvMethod::Block => false,
        _ => !fits(features),
    };
    let saves_time = saves_time && (fits(features) || 200 * features.nonzeros >= 13 * features.bytes());
    assert_eq!(is_narrow, features.may_copy() && longest <= u64::from(limit) && saves_time, "{features:?}");
    best
}

/// The candidates behind sliced ELL, which comes first where it may be.
fn without_sliced<'a>(features: &Features, candidates: &'a [Candidate]) -> &'a [Candidate] {
    let Gathers { sectors, x_bytes, shared_bytes, .. } = features.gathers;
    let Lengths { mean, longest, .. } = features.lengths;
    let may_be = features.copies == Copies::Values
        && features.rows * 4 >= features.multiprocessors * 2048
        && mean >= 5.0
        && longest as f64 <= 2.0 * mean
        && sectors.is_some_and(|sectors| sectors >= 0.5)
        && x_bytes > shared_bytes / 2
        && x_bytes <= 8 * shared_bytes
        && candidates.iter().all(|one| one.method != SpmvMethod::Windows);
    let (first, others) = candidates.split_first().expect("a candidate");
    let reason = property("columns are scattered, and rows are alike");
    let is_first = first.method == SpmvMethod::SlicedEll && first.reason == reason;
    assert_eq!(is_first, may_be, "{features:?}");
    if is_first { others } else { candidates }
}

/// The candidates behind hot columns, which come first where they may be.
fn without_hot_columns<'a>(features: &Features, candidates: &'a [Candidate]) -> &'a [Candidate] {
    let Gathers { sectors, x_bytes, shared_bytes, .. } = features.gathers;
    let may_have = features.may_copy()
        && features.nonzeros >= 1_200_000
        && sectors.is_some_and(|sectors| sectors >= 0.5)
        && x_bytes * 10 > shared_bytes * 7
        && features.lengths.mean >= 5.0
        && candidates[0].method != SpmvMethod::Windows;
    let (first, others) = candidates.split_first().expect("a candidate");
    let reason = property("columns are scattered, and some have many of the nonzeros");
    let has = first.method == SpmvMethod::HotColumns && first.reason == reason;
    assert_eq!(has, may_have, "{features:?}");
    if has { others } else { candidates }
}

#[test]
fn rules_come_before_estimates() {
    let (mut cases, mut seen) = (0, Vec::new());
    for features in all() {
        let candidates = candidates(&features);
        let (last, others) = candidates.split_last().expect("a last one");
        let always = if features.lengths.empty == 0 { SpmvMethod::Flat } else { SpmvMethod::MergePath };
        assert_eq!((last.method, &last.reason), (always, &Reason::AnyRows));
        let others = without_hot_columns(&features, without_sliced(&features, others));
        let best = if let Some(expected) = by_rules(&features) {
            let others: Vec<_> = others.iter().map(|one| (one.method, one.reason.clone())).collect();
            assert_eq!(others, expected, "{features:?}");
            others[0].0
        } else {
            check_estimates(&features, others)
        };
        if features.multiprocessors > 0 {
            assert_eq!(features.lanes(), expected_lanes(&features));
        }
        assert!(candidates.iter().all(|one| !one.reason.explain(&features).is_empty()));
        cases += 1;
        if !seen.contains(&best) {
            seen.push(best);
        }
    }
    assert!(cases > 10_000, "{cases} cases");
    assert!(seen.len() >= 10, "nearly every method comes up: {seen:?}");
}

#[test]
fn a_longer_row_is_not_estimated_shorter() {
    for rows in [500, 30_000, 1_000_000] {
        for mean in [1.0, 5.0, 14.0, 60.0, 200.0] {
            let of_longest = [1, 2, 4, 8].map(|times| with_long_row(matrix(rows, mean, times * mean as u64)));
            let methods = estimated(&of_longest[0]);
            assert_eq!(methods.len(), 9, "{methods:?}");
            for method in methods {
                let times = of_longest.map(|features| estimate(&features, method));
                assert!(times.is_sorted(), "{method}, {rows} rows of {mean}: {times:?}");
            }
        }
    }
}

/// Scattered columns take longer, and longest where the first-level cache has not all of x.
#[test]
fn scattered_columns_take_longer() {
    let even = with_long_row(matrix(36_000, 240.0, 2000));
    for method in estimated(&even) {
        let time = |x_bytes, sectors| {
            let gathers = Gathers { sectors, x_bytes, ..even.gathers };
            estimate(&Features { gathers, value: ScalarType::F32, ..even }, method).expect("an estimate")
        };
        let (near, far) = (80 << 10, 800 << 10);
        assert!(time(near, None) < time(near, Some(0.1)), "{method}");
        assert!(time(near, Some(0.1)) < time(near, Some(0.8)), "{method}");
        assert!(time(near, Some(0.8)) < time(far, Some(0.8)), "{method}");
    }
}

#[test]
fn nothing_to_do_takes_a_launch() {
    let nothing = Features { gathers: Gathers { x_bytes: 80, ..Gathers::default() }, ..matrix(0, 0.0, 0) };
    assert_eq!(estimate(&nothing, SpmvMethod::Block), Some(3.95));
    assert_eq!(estimate(&nothing, SpmvMethod::MergePath), Some(5.2));
    assert_eq!(estimate(&nothing, SpmvMethod::Windows), None);
}

/// Complex values are copied to slices where rows are even and plans may copy; otherwise the estimates of their methods decide.
#[test]
fn complex_values_have_methods_of_their_own() {
    let methods = methods::all::<Complex<f64>, u32>();
    let is_known = |one: &Candidate| methods.iter().any(|strategy| strategy.method() == one.method);
    let mut seen = Vec::new();
    for features in all().filter(|features| features.windows.is_none()) {
        let features = Features { value: ScalarType::C64, ..features };
        let candidates = super::candidates(&features, &methods);
        assert!(candidates.iter().all(is_known), "{candidates:?}");
        let is_even = features.lengths.longest <= u64::from(features.lengths.limit);
        let is_sliced =
            is_even && features.copies == Copies::Values && features.rows >= features.multiprocessors * 512;
        assert_eq!(candidates[0].method == SpmvMethod::SlicedEll, is_sliced, "{features:?}");
        let last = candidates.last().expect("a last one");
        assert!(matches!(last.method, SpmvMethod::Flat | SpmvMethod::MergePath), "{last:?}");
        if !seen.contains(&candidates[0].method) {
            seen.push(candidates[0].method);
        }
    }
    assert!(seen.len() >= 8, "{seen:?}");
}

/// Structures for which one method was much faster than most others.
#[test]
fn the_fastest_method_of_clear_cases() {
    let uneven = |rows, mean, longest, empty, (long_rows, long_nonzeros)| {
        let matrix = matrix(rows, mean, longest);
        let long =
            Long { rows: long_rows, nonzeros: long_nonzeros, pieces: long_nonzeros / 1024 + long_rows };
        Features { lengths: Lengths { empty, long, ..matrix.lengths }, ..matrix }
    };
    for (features, method) in [
        (matrix(27_992, 38.0, 38), SpmvMethod::Vector { lanes: None }),
        (uneven(723_638, 1.3, 4, 320_088, (0, 0)), SpmvMethod::Scalar),
        (uneven(3207, 15.6, 84, 1163, (0, 0)), SpmvMethod::Warp),
        (matrix(1390, 362.8, 1296), SpmvMethod::Block),
        (matrix(4_000_000, 5.0, 5), SpmvMethod::RowTiles),
        (matrix(1_000_000, 27.0, 27), SpmvMethod::RowBlocks),
        (matrix(2494, 181.7, 2380), SpmvMethod::Flat),
        (uneven(10_394, 109.1, 4552, 1000, (150, 300_000)), SpmvMethod::MergePath),
        (uneven(1, 1e6, 1_000_000, 0, (1, 1_000_000)), SpmvMethod::MergePath),
        (matrix(2000, 2000.0, 2000), SpmvMethod::Block),
    ] {
        assert_eq!(candidates(&features)[0].method, method, "{features:?}");
    }
}
