use super::{Product, Schedule, Shape};
use crate::device::DeviceError;
use crate::op::DeviceCsr;
use crate::{Offset, Value, cpu};

/// On the CPU, which decomposes as it goes.
pub(super) struct Cpu {
    tiles: usize,
}

impl Cpu {
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Self {
        Self { tiles: cpu::spmv_tiles(matrix.rows(), matrix.nnz()) }
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Cpu {
    fn run(&self, Product { matrix, alpha, x, beta, y }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let values = matrix.values();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
            cpu::spmv(view, alpha, x, beta, y);
        }
        Ok(())
    }

    fn shape(&self) -> Shape {
        Shape { tiles: self.tiles as u64, ..Shape::default() }
    }
}
