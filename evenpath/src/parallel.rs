//! Parallel loops whose rayon part is compiled once.
//!
//! Rayon's iterators are generic over the body of a loop: each loop of a generic function adds about a hundred functions
//! for every combination of its types. Here only [`ranges`] enters rayon. It calls the body through a pointer, once for a
//! range of many indices. The other functions are thin; their loops are inside the body, with its types known.
//!
//! All run on the current pool, and return when every index is done. If the body panics, so does the loop; items that it
//! has not returned yet are leaked.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use rayon::iter::{ParallelIterator, split};

/// Calls `body` for disjoint ranges that cover `0..len`, none of them empty. A range is divided only as long as threads
/// have nothing to do, and never into parts shorter than `least`. A single range is not handed to another thread.
pub(crate) fn ranges(len: usize, least: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    let least = least.max(1);
    if len / 2 < least || rayon::current_num_threads() == 1 {
        if len > 0 {
            body(0..len);
        }
        return;
    }
    let halve = |range: Range<usize>| {
        let half = range.len() / 2;
        let middle = range.start + half;
        if half < least { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
    };
    split(0..len, halve).for_each(body);
}

/// Calls `body` for disjoint parts that cover the slice, each with its range. None is shorter than `least`, unless the
/// slice is.
pub(crate) fn parts_mut<T: Send>(
    slice: &mut [T],
    least: usize,
    body: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let len = slice.len();
    let slots = Slots::new(slice);
    // SAFETY: the ranges are inside the slice and disjoint.
    ranges(len, least, &|range| body(range.clone(), unsafe { slots.part(range) }));
}

/// Calls `body` for each chunk of `size` elements, with its number. The last chunk may be shorter.
pub(crate) fn chunks_mut<T: Send>(slice: &mut [T], size: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    let len = slice.len();
    let slots = Slots::new(slice);
    ranges(len.div_ceil(size), 1, &|chunks| {
        for chunk in chunks {
            // SAFETY: chunks are inside the slice and disjoint.
            body(chunk, unsafe { slots.part(chunk_range(chunk, size, len)) });
        }
    });
}

/// Like [`chunks_mut`], up to the first chunk for which `body` returns something; returns that. Some later chunks may have
/// been passed to `body` too.
pub(crate) fn chunks_mut_until<T: Send, R: Send>(
    slice: &mut [T],
    size: usize,
    body: impl Fn(usize, &mut [T]) -> Option<R> + Sync,
) -> Option<R> {
    let len = slice.len();
    let slots = Slots::new(slice);
    // SAFETY: the ranges are inside the slice and disjoint.
    let part = |range| unsafe { slots.part(range) };
    first(len, size, |range| body(range.start / size, part(range)))
}

/// Divides `0..len` into ranges of `step` indices, and returns the first result of `find` in their order. Ranges after
/// one with a result are skipped.
pub(crate) fn first<R: Send>(
    len: usize,
    step: usize,
    find: impl Fn(Range<usize>) -> Option<R> + Sync,
) -> Option<R> {
    let (lowest, found) = (AtomicUsize::new(usize::MAX), Mutex::new(None));
    ranges(len.div_ceil(step), 1, &|chunks| {
        for chunk in chunks {
            if chunk > lowest.load(Relaxed) {
                return;
            }
            if let Some(result) = find(chunk_range(chunk, step, len)) {
                let mut found = found.lock();
                if chunk < lowest.load(Relaxed) {
                    lowest.store(chunk, Relaxed);
                    *found = Some(result);
                }
                return;
            }
        }
    });
    found.into_inner()
}

/// Divides `0..len` into ranges of `step` indices, and combines their results in order, so that the result does not depend
/// on the number of threads.
pub(crate) fn reduce<T: Send>(
    len: usize,
    step: usize,
    identity: T,
    part: impl Fn(Range<usize>) -> T + Sync,
    combine: impl Fn(T, T) -> T,
) -> T {
    let parts = map(len.div_ceil(step), 1, |chunk| part(chunk_range(chunk, step, len)));
    parts.into_iter().fold(identity, combine)
}

/// Returns the element for each index below `len`. A thread computes at least `least` of them.
pub(crate) fn map<T: Send>(len: usize, least: usize, element: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut elements = Vec::with_capacity(len);
    let slots = Slots::new(&mut elements.spare_capacity_mut()[..len]);
    ranges(len, least, &|range| {
        // SAFETY: the ranges are inside the slice and disjoint.
        let part = unsafe { slots.part(range.clone()) };
        for (slot, index) in part.iter_mut().zip(range) {
            slot.write(element(index));
        }
    });
    // SAFETY: the ranges cover all indices, so every element is written.
    unsafe { elements.set_len(len) };
    elements
}

/// Runs each task and returns the results in order.
pub(crate) fn map_each<T: Send, R: Send>(mut tasks: Vec<T>, run: impl Fn(T) -> R + Sync) -> Vec<R> {
    let len = tasks.len();
    // SAFETY: no task is dropped with the vector; each is moved out below.
    unsafe { tasks.set_len(0) };
    let slots: Slots<'_, MaybeUninit<T>> = Slots::new(&mut tasks.spare_capacity_mut()[..len]);
    // SAFETY: the first `len` tasks are initialized, and each index occurs once.
    let take = |index: usize| unsafe { slots.part(index..index + 1)[0].assume_init_read() };
    map(len, 1, |index| run(take(index)))
}

/// Runs each task.
pub(crate) fn for_each<T: Send>(tasks: Vec<T>, run: impl Fn(T) + Sync) {
    map_each(tasks, run);
}

/// Range of a chunk of `size` indices below `len`.
fn chunk_range(chunk: usize, size: usize, len: usize) -> Range<usize> {
    let start = chunk * size;
    start..len.min(start.saturating_add(size))
}

/// A slice of which several threads have different elements.
pub(crate) struct Slots<'a, T> {
    first: *mut T,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: the pointer is used only by methods whose callers pass disjoint indices.
unsafe impl<T: Send> Sync for Slots<'_, T> {}

impl<'a, T> Slots<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { first: slice.as_mut_ptr(), slice: PhantomData }
    }

    /// Writes an element without dropping the one before.
    ///
    /// # Safety
    /// `index` is inside the slice, and nothing else uses this element meanwhile.
    pub(crate) unsafe fn write(&self, index: usize, item: T) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.first.add(index).write(item) };
    }

    /// # Safety
    /// The range is inside the slice, and nothing else uses its elements during the result's lifetime.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        // SAFETY: guaranteed by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const LENGTHS: [usize; 6] = [0, 1, 2, 7, 64, 1001];

    /// Runs a test on one thread, and on several.
    fn on_threads(test: impl Fn() + Send + Sync) {
        for threads in [1, 4] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&test);
        }
    }

    #[test]
    fn ranges_cover_every_index_once() {
        on_threads(|| {
            for (len, least) in
                LENGTHS.into_iter().flat_map(|len| [(len, 0), (len, 1), (len, 5), (len, 2000)])
            {
                let all = Mutex::new(Vec::new());
                ranges(len, least, &|range| all.lock().push(range));
                let mut all = all.into_inner();
                all.sort_by_key(|range| range.start);
                assert!(all.iter().all(|range| range.len() >= least.clamp(1, len)), "{all:?}");
                assert!(all.into_iter().flatten().eq(0..len));
            }
        });
    }

    #[test]
    fn parts_and_chunks_are_those_of_their_indices() {
        on_threads(|| {
            for len in LENGTHS {
                let mut slice = vec![0; len];
                parts_mut(&mut slice, 3, |range, part| {
                    range.zip(part).for_each(|(index, element)| *element += index + 1);
                });
                assert!(slice.iter().copied().eq(1..=len));
                for size in [1, 10, usize::MAX] {
                    let mut chunks = vec![0; len];
                    chunks_mut(&mut chunks, size, |chunk, part| {
                        for one in part {
                            *one += chunk + 1;
                        }
                    });
                    assert!(chunks.into_iter().eq((0..len).map(|index| index / size + 1)));
                }
            }
        });
    }

    #[test]
    fn results_are_in_order() {
        on_threads(|| {
            for len in LENGTHS {
                let texts = map(len, 2, |index| index.to_string());
                assert!(texts.iter().cloned().eq((0..len).map(|index| index.to_string())));
                assert!(
                    map_each(texts.clone(), |text| text + "!").iter().eq(&map(len, 1, |at| format!("{at}!")))
                );
                let joined = reduce(len, 3, String::new(), |range| texts[range].concat(), |a, b| a + &b);
                assert_eq!(joined, texts.concat());
                let count = AtomicUsize::new(0);
                for_each(texts, |text| {
                    count.fetch_add(text.parse().unwrap(), Relaxed);
                });
                assert_eq!(count.into_inner(), (0..len).sum());
            }
        });
    }

    #[test]
    fn the_first_result_is_that_of_the_lowest_range() {
        on_threads(|| {
            for from in [0, 1, 9, 10, 500, 999, 1000] {
                assert_eq!(
                    first(1000, 10, |mut range| range.find(|&at| at >= from)),
                    (from < 1000).then_some(from)
                );
                let mut slice = vec![0; 1000];
                let found = chunks_mut_until(&mut slice, 10, |chunk, part| {
                    part.fill(1);
                    (chunk * 10 >= from).then_some(chunk)
                });
                assert_eq!(found, Some(from.div_ceil(10)).filter(|&chunk| chunk < 100));
                assert!(slice[..from].iter().all(|&element| element == 1));
            }
            assert_eq!(first(0, 10, Some), None);
        });
    }

    #[test]
    fn a_panic_of_the_body_leaves_valid_memory() {
        on_threads(|| {
            let texts = || (0..100).map(|at| at.to_string()).collect::<Vec<_>>();
            let fails = |at: usize| assert_ne!(at, 37, "the test's panic");
            let mut slice = texts();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                chunks_mut(&mut slice, 1, |at, part| {
                    fails(at);
                    part[0] += "!";
                });
            }));
            assert!(caught.is_err() && slice[37] == "37");
            assert!(
                catch_unwind(|| map(100, 1, |at| {
                    fails(at);
                    at.to_string()
                }))
                .is_err()
            );
            assert!(catch_unwind(|| for_each(texts(), |text| fails(text.parse().unwrap()))).is_err());
        });
    }
}
