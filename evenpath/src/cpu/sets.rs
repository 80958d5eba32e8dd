//! Set operations on sorted sequences, by balanced path: count, then write.

use std::ops::Range;

use evenpath_kernels::block::balanced_path::{self, PathCut};

use crate::operation::SetOperation;
use crate::parallel;

/// Elements of both inputs per task.
const TILE: usize = 1 << 15;

/// A set operation whose result has been counted.
pub(crate) struct SetPlan<'s, K> {
    a: &'s [K],
    b: &'s [K],
    operation: SetOperation,
    /// The tiles, each with the size of its result.
    tiles: Vec<(Range<PathCut<usize>>, usize)>,
}

/// A tile, and its part of an array of the output.
type Tile<'p, T> = (&'p Range<PathCut<usize>>, &'p mut [T]);

/// An element of the result, as its index in A, in B, or in both if they match.
#[derive(Clone, Copy)]
enum SetStep {
    A(usize),
    B(usize),
    Match(usize, usize),
}

impl<'s, K: Copy + Ord + Send + Sync> SetPlan<'s, K> {
    /// Splits the inputs into tiles and counts the result.
    pub(crate) fn new(a: &'s [K], b: &'s [K], operation: SetOperation) -> Self {
        let all = a.len() + b.len();
        let cut =
            |diagonal: usize| balanced_path::search(diagonal.min(all), a.len(), b.len(), |i| a[i], |i| b[i]);
        let mut plan = Self { a, b, operation, tiles: Vec::new() };
        plan.tiles = parallel::map(all.div_ceil(TILE), 1, |tile| {
            let cuts = cut(tile * TILE)..cut((tile + 1) * TILE);
            let mut count = 0;
            plan.walk(&cuts, |_| count += 1);
            (cuts, count)
        });
        plan
    }

    /// The number of elements of the result.
    pub(crate) fn len(&self) -> usize {
        self.tiles.iter().map(|(_, count)| count).sum()
    }

    /// Writes the [`len`](Self::len) keys of the result.
    pub(crate) fn write_keys(&self, keys: &mut [K]) {
        parallel::for_each(self.split(keys), |(cuts, keys)| {
            let mut keys = keys.iter_mut();
            self.walk(cuts, |step| {
                if let Some(key) = keys.next() {
                    *key = self.key(step);
                }
            });
        });
    }

    /// Writes the [`len`](Self::len) keys and values of the result.
    pub(crate) fn write_pairs<V: Copy + Send + Sync>(
        &self,
        a_values: &[V],
        b_values: &[V],
        combine: impl Fn(V, V) -> V + Sync,
        keys: &mut [K],
        values: &mut [V],
    ) {
        let tasks = self.split(keys).into_iter().zip(self.split(values)).collect();
        parallel::for_each(tasks, |((cuts, keys), (_, values)): (Tile<'_, K>, Tile<'_, V>)| {
            let mut pairs = keys.iter_mut().zip(values);
            self.walk(cuts, |step| {
                if let Some((key, value)) = pairs.next() {
                    *key = self.key(step);
                    *value = match step {
                        SetStep::A(a) => a_values[a],
                        SetStep::B(b) => b_values[b],
                        SetStep::Match(a, b) => combine(a_values[a], b_values[b]),
                    };
                }
            });
        });
    }

    fn key(&self, step: SetStep) -> K {
        match step {
            SetStep::A(a) | SetStep::Match(a, _) => self.a[a],
            SetStep::B(b) => self.b[b],
        }
    }

    /// Pairs each tile with its part of the output.
    fn split<'p, T>(&'p self, mut output: &'p mut [T]) -> Vec<Tile<'p, T>> {
        let part = |(cuts, count): &'p (_, usize)| {
            let own;
            (own, output) = std::mem::take(&mut output).split_at_mut(*count);
            (cuts, own)
        };
        self.tiles.iter().map(part).collect()
    }

    /// Walks the path between two cuts and passes the steps that the operation keeps to `keep`.
    fn walk(&self, cuts: &Range<PathCut<usize>>, mut keep: impl FnMut(SetStep)) {
        let (mut a, mut b) = (cuts.start.a, cuts.start.b);
        loop {
            let a_key = (a < cuts.end.a).then(|| self.a[a]);
            let b_key = (b < cuts.end.b).then(|| self.b[b]);
            let step = match (a_key, b_key) {
                (None, None) => return,
                (Some(a_key), Some(b_key)) if a_key == b_key => SetStep::Match(a, b),
                (Some(a_key), Some(b_key)) if a_key > b_key => SetStep::B(b),
                (Some(_), _) => SetStep::A(a),
                (None, Some(_)) => SetStep::B(b),
            };
            let (takes_a, takes_b, kept) = match step {
                SetStep::A(_) => (1, 0, self.operation.keeps_a()),
                SetStep::B(_) => (0, 1, self.operation.keeps_b()),
                SetStep::Match(..) => (1, 1, self.operation.keeps_matches()),
            };
            (a, b) = (a + takes_a, b + takes_b);
            if kept {
                keep(step);
            }
        }
    }
}
