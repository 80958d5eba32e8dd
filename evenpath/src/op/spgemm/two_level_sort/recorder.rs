//! Events between the phases of a product, for those who measure them.

use crate::device::{Device, DeviceError, Event};

/// Takes the time of phases, if it was asked to; they may come several times.
#[derive(Debug, Default)]
pub(in crate::op::spgemm) struct Recorder {
    pub(super) events: Option<Vec<(Mark, Event)>>,
}

/// Phase that ends at an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    Begin,
    Setup,
    BlockSort,
    GlobalSort,
    Placement,
    ProductCompute,
    ReduceByKey,
}

macro_rules! marks {
    ($($name:ident: $mark:ident;)*) => {$(
        pub(in crate::op::spgemm) fn $name(&mut self, device: &Device) -> Result<(), DeviceError> {
            self.mark(Mark::$mark, device)
        }
    )*};
}

impl Recorder {
    marks! {
        begin: Begin;
        setup: Setup;
        block_sort: BlockSort;
        global_sort: GlobalSort;
        placement: Placement;
        product_compute: ProductCompute;
        reduce_by_key: ReduceByKey;
    }

    fn mark(&mut self, mark: Mark, device: &Device) -> Result<(), DeviceError> {
        if let Some(events) = &mut self.events {
            events.push((mark, device.record()?));
        }
        Ok(())
    }
}
