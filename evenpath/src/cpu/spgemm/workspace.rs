//! The memory of a thread.

use std::any::Any;
use std::cell::RefCell;

use super::accumulator::Accumulator;
use super::block::TaskRows;
use super::instructions::Sorter;
use super::pairs::Pairs;
use super::repeated::ProductPositions;
use crate::Scalar;

/// Maximum number of bytes that a thread keeps for its next product, so that the system does not have to
/// clear pages each time.
const MOST_KEPT: usize = 8 << 20;

thread_local! {
    /// Workspaces for some value types.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// The memory of a thread.
#[derive(Default)]
pub(super) struct Workspace<V: Scalar> {
    /// The rows of the last task.
    pub(super) block: TaskRows<V>,
    pub(super) accumulator: Accumulator<V>,
    pub(super) sorter: Sorter<V>,
    pub(super) pairs: Pairs<V>,
    pub(super) positions: ProductPositions,
}

impl<V: Scalar> Workspace<V> {
    /// Lends the thread's workspace.
    pub(super) fn lend<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        // In a thread that is ending, nothing is kept.
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let at = kept.iter().position(|workspace| workspace.is::<Self>())?;
            kept.swap_remove(at).downcast::<Self>().ok()
        });
        let mut workspace = kept.ok().flatten().unwrap_or_default();
        let result = run(&mut workspace);
        if workspace.bytes() <= MOST_KEPT {
            let _ = KEPT.try_with(|kept| kept.borrow_mut().push(workspace));
        }
        result
    }

    fn bytes(&self) -> usize {
        self.block.bytes() + self.accumulator.bytes() + self.pairs.bytes() + 2 * self.positions.0.capacity()
    }
}
