use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenpath::error::OpError;
use evenpath::{DeviceCsr, DeviceVec, Offset, Value};

/// Sets a flag when it is dropped, also by a panic.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `run` while another thread sets the values of a matrix over and over.
///
/// # Panics
///
/// If the values cannot be set, or `run` panics.
pub fn while_values_change<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    values: &DeviceVec<V>,
    run: impl FnOnce(),
) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                matrix.set_values_from(values)?;
            }
            Ok::<_, OpError>(())
        });
        let done = SetOnDrop(&is_done);
        run();
        drop(done);
        changes.join().expect("no panic").expect("values");
    });
}
