use super::method::SpmvMethod;
use super::schedule::{Choice, Schedule, Shape};
use crate::cpu::{SpmvCut, SpmvGroups, SpmvTiles};
use crate::device::DeviceError;
use crate::format::DeviceCsr;
use crate::op::product::Product;
use crate::{Offset, Value};

/// On the CPU.
struct Cpu {
    tiles: SpmvTiles,
}

/// Cuts the matrix by the method, or by the one that its row lengths suggest.
pub(super) fn choose<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
    may_copy: bool,
) -> Choice<V, O> {
    let pattern = matrix.pattern();
    let (Some(row_offsets), Some(column_indices)) =
        (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice())
    else {
        unreachable!("what is on the CPU is in the host's memory")
    };
    let (cut, reason) = match method {
        SpmvMethod::RowParallel => (SpmvCut::Rows, "asked for".into()),
        SpmvMethod::MergePath => (SpmvCut::MergePath, "asked for".into()),
        _ => {
            let (cut, longest) = SpmvCut::choose(row_offsets);
            let part = match cut {
                SpmvCut::Rows => "little",
                SpmvCut::MergePath => "too much",
            };
            (cut, format!("the longest row has {longest} nonzeros: {part} for one thread"))
        }
    };
    let groups = if may_copy { SpmvGroups::Copied } else { SpmvGroups::Found };
    let method = match cut {
        SpmvCut::Rows => SpmvMethod::RowParallel,
        SpmvCut::MergePath => SpmvMethod::MergePath,
    };
    Choice {
        method,
        reason,
        schedule: Box::new(Cpu { tiles: SpmvTiles::new(row_offsets, column_indices, cut, groups) }),
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Cpu {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let values = matrix.values();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
            self.tiles.multiply(view, alpha, x, beta, y);
        }
        Ok(())
    }

    fn shape(&self) -> Shape {
        let (tiles, workspace_bytes) = (self.tiles.len() as u64, self.tiles.bytes() as u64);
        Shape { tiles, workspace_bytes, ..Shape::default() }
    }
}
