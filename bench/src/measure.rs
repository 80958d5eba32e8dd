//! Timing.

use std::time::Instant;

/// The median duration of some runs, in seconds. What a run returns is dropped outside its time.
pub(crate) fn median_seconds<T, E>(
    repetitions: usize,
    mut run: impl FnMut() -> Result<T, E>,
) -> Result<f64, E> {
    let mut seconds = Vec::with_capacity(repetitions);
    for _ in 0..repetitions.max(1) {
        let start = Instant::now();
        let result = run()?;
        seconds.push(start.elapsed().as_secs_f64());
        drop(result);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}
