//! The semirings as plain functions, and matrices over their types.

use evenpath::semiring::{MaxPlus, MaxTimes, MinFirst, MinPlus, OrAnd, PlusPair, PlusTimes, Semiring};
use evenpath::{Csr, Entry, Offset};

/// Zero, sum and product of a semiring.
pub(super) struct Oracle<V> {
    pub(super) zero: V,
    pub(super) plus: fn(V, V) -> V,
    pub(super) times: fn(V, V) -> V,
}

/// Elements that tests compute with: small numbers, so that sums are exact in any order.
pub(super) trait Sample: Entry + PartialEq + Send {
    fn sample(at: usize) -> Self;
}

/// A semiring with its definition.
pub(super) trait Defined<V>: Semiring<V> {
    fn oracle() -> Oracle<V>;
}

macro_rules! defined {
    ($($semiring:ident $type:ident: $zero:expr, $plus:expr, $times:expr;)*) => {$(
        impl Defined<$type> for $semiring {
            fn oracle() -> Oracle<$type> {
                Oracle { zero: $zero, plus: $plus, times: $times }
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Sample for $type {
            fn sample(at: usize) -> Self {
                if at % 23 == 22 { $type::INFINITY } else { ((at * 37) % 11) as $type }
            }
        }
        defined! {
            MinPlus $type: $type::INFINITY, $type::min, |a, b| a + b;
            MaxPlus $type: $type::NEG_INFINITY, $type::max, |a, b| a + b;
            // Zero times infinity is no number, and never the maximum.
            MaxTimes $type: 0.0, $type::max, |a, b| a * b;
            MinFirst $type: $type::INFINITY, $type::min, |a, _| a;
        }
    )*};
}
floats!(f32 f64);

defined! {
    PlusTimes f32: 0.0, |a, b| a + b, |a, b| a * b;
    PlusTimes f64: 0.0, |a, b| a + b, |a, b| a * b;
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Sample for $type {
            fn sample(at: usize) -> Self {
                match at % 29 {
                    7 => $type::MAX,
                    8 => $type::MIN,
                    9 => $type::MAX - 3,
                    10 => $type::MIN + 2,
                    _ => ((at * 37) % 11) as $type,
                }
            }
        }
        defined! {
            PlusTimes $type: 0, |a, b| a.wrapping_add(b), |a, b| a.wrapping_mul(b);
            PlusPair $type: 0, |a, b| a.wrapping_add(b), |_, _| 1;
            MinPlus $type: $type::MAX, |a, b| a.min(b), |a, b| {
                let is_infinite = a == $type::MAX || b == $type::MAX;
                let sum = (i128::from(a) + i128::from(b)).clamp($type::MIN.into(), $type::MAX.into());
                if is_infinite { $type::MAX } else { sum as $type }
            };
        }
    )*};
}
integers!(u32 i32 u64 i64);

macro_rules! signed {
    ($($type:ident)*) => {$(
        defined! {
            MaxPlus $type: $type::MIN, |a, b| a.max(b), |a, b| {
                let is_infinite = a == $type::MIN || b == $type::MIN;
                let sum = (i128::from(a) + i128::from(b)).clamp($type::MIN.into(), $type::MAX.into());
                if is_infinite { $type::MIN } else { sum as $type }
            };
        }
    )*};
}
signed!(i32 i64);

defined! {
    OrAnd u32: 0, |a, b| u32::from(a | b != 0), |a, b| u32::from(a != 0 && b != 0);
    OrAnd i32: 0, |a, b| i32::from(a | b != 0), |a, b| i32::from(a != 0 && b != 0);
    MinFirst u32: u32::MAX, |a, b| a.min(b), |a, _| a;
    MinFirst u64: u64::MAX, |a, b| a.min(b), |a, _| a;
}

/// Calls a generic function for each semiring and type: `function::<S, V>(arguments)`.
macro_rules! for_each_semiring {
    ($function:ident($($argument:expr),*)) => {
        for_each_semiring!(@each $function ($($argument),*)
            PlusTimes: f32 f64 u32 i32 u64 i64; MinPlus: f32 f64 u32 i32 u64 i64; MaxPlus: f32 f64 i32 i64;
            MaxTimes: f32 f64; OrAnd: u32 i32; PlusPair: u32 i32 u64 i64; MinFirst: f32 f64 u32 u64;)
    };
    (@each $function:ident $arguments:tt $($semiring:ident: $($type:ident)*;)*) => {
        $($(for_each_semiring!(@call $function $semiring $type $arguments);)*)*
    };
    (@call $function:ident $semiring:ident $type:ident ($($argument:expr),*)) => {
        $function::<evenpath::semiring::$semiring, $type>($($argument),*)
    };
}
pub(super) use for_each_semiring;

/// Elements for a semiring: finite where sums of numbers would not stay finite.
pub(super) fn samples<S: Semiring<V>, V: Sample>(start: usize, len: usize) -> Vec<V> {
    (start..).map(V::sample).filter(is_usable::<S, V>).take(len).collect()
}

/// Infinity is left out of sums and products of numbers.
fn is_usable<S: Semiring<V>, V: Sample>(value: &V) -> bool {
    !S::NAME.ends_with("times") || value.to_string().parse().is_ok_and(|number: f64| number.is_finite())
}

/// A matrix with rows of such lengths, whose columns are neither sorted nor distinct.
pub(super) fn unsorted<S: Semiring<V>, V: Sample, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let mut offsets = vec![O::default()];
    let mut columns = Vec::new();
    for (row, &len) in lengths.iter().enumerate() {
        columns.extend((0..len).map(|at| ((row * 31 + at * 7919) % cols) as u32));
        offsets.push(O::try_from_usize(columns.len()).expect("few"));
    }
    let values = samples::<S, V>(3, columns.len());
    Csr::try_new(lengths.len(), cols, offsets, columns, values).expect("a valid matrix")
}

/// Columns and row lengths of odd matrices, for tiles of `tile` row ends and nonzeros: rows that end with a tile, before and after its
/// end, and one of more tiles than are added at once.
pub(super) fn odd_lengths(tile: usize) -> [(usize, Vec<usize>); 10] {
    [
        (0, vec![]),
        (5, vec![]),
        (0, vec![0; 7]),
        (5, vec![0; 2 * tile]),
        (1, vec![1]),
        (9, vec![tile - 1]),
        (9, vec![tile, 0, 0, 1]),
        (9, vec![tile - 2, 0, 0, 0, 5]),
        (3, vec![1; tile]),
        (50, vec![2, 20 * tile, 0, 3]),
    ]
}

/// A canonical matrix with rows of such lengths.
pub(super) fn sorted<S: Semiring<V>, V: Sample, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let triplets = lengths
        .iter()
        .enumerate()
        .flat_map(|(row, &len)| (0..len).map(move |at| (row, (row * 5 + at * cols / len) % cols, 1.0_f32)));
    let pattern = Csr::from_triplets(lengths.len(), cols, triplets).expect("inside");
    let mut values = samples::<S, V>(lengths.len(), pattern.nnz()).into_iter();
    let a = pattern.convert_values(|_| values.next().expect("one for each"));
    a.try_into_offsets().expect("few")
}
