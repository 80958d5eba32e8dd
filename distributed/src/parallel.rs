//! Parallel loops whose rayon part is compiled once, and not again for every type and body.

use parking_lot::Mutex;
use rayon::prelude::*;

/// Number of elements per task of a loop over an array.
const CHUNK: usize = 1 << 12;

/// Runs each task.
pub(crate) fn for_each<T: Send>(tasks: Vec<T>, run: impl Fn(T) + Sync) {
    let tasks: Vec<Mutex<Option<T>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    indices(tasks.len(), &|index| {
        let task = tasks[index].lock().take();
        task.into_iter().for_each(&run);
    });
}

/// Sets each element to `element` of its index.
pub(crate) fn fill<T: Send>(elements: &mut [T], element: impl Fn(usize) -> T + Sync) {
    for_each(elements.chunks_mut(CHUNK).enumerate().collect(), |(chunk, elements): (usize, &mut [T])| {
        (chunk * CHUNK..).zip(elements).for_each(|(index, slot)| *slot = element(index));
    });
}

fn indices(count: usize, body: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_set_once() {
        for len in [0, 1, CHUNK, 3 * CHUNK + 5] {
            let mut elements = vec![0; len];
            fill(&mut elements, |index| index + 1);
            assert!(elements.into_iter().eq(1..=len));
        }
    }
}
