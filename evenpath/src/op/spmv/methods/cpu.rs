//! Products on the CPU, of rows or of the merge path.

use evenpath_simt::WidenTo;

use crate::cpu::{SpmvCut, SpmvGroups, SpmvTiles};
use crate::device::DeviceError;
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::features::Copies;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, Choice, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Devices, Request, Strategy};
use crate::operand::OpError;
use crate::scalar::ForKind;
use crate::{Offset, Scalar, Storage, Value};

/// The method with whole rows for every thread of the CPU.
pub(super) struct RowParallelMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for RowParallelMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::RowParallel
    }

    fn abilities(&self) -> Abilities {
        Abilities { devices: Devices::Cpu, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        Ok(build(matrix, SpmvCut::Rows, request.copies))
    }
}

/// Cuts the matrix in the way that its row lengths suggest.
pub(in crate::op::spmv) fn automatic<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    copies: Copies,
) -> Choice<V, O> {
    let (method, cut, reason) = choose(matrix);
    Choice::new(method, reason, build(matrix, cut, copies))
}

/// Cuts the matrix, for vectors of a wider type than its values: as a method does, or as its row lengths suggest.
pub(in crate::op::spmv) fn wide<S: Storage + WidenTo<V>, O: Offset, V: Scalar>(
    matrix: &DeviceCsr<S, O>,
    method: SpmvMethod,
) -> Choice<S, O, V> {
    let (method, cut, reason) = match method {
        SpmvMethod::RowParallel => (method, SpmvCut::Rows, "asked for".into()),
        SpmvMethod::MergePath => (method, SpmvCut::MergePath, "asked for".into()),
        _ => choose(matrix),
    };
    let (row_offsets, column_indices) = pattern(matrix);
    let tiles = SpmvTiles::by_rows(row_offsets, column_indices, cut);
    Choice::new(method, reason, Box::new(WideSpmv { tiles }))
}

/// The method for the matrix's row lengths, its cut, and the reason.
fn choose<S: Storage, O: Offset>(matrix: &DeviceCsr<S, O>) -> (SpmvMethod, SpmvCut, String) {
    let (row_offsets, _) = pattern(matrix);
    let (cut, longest) = SpmvCut::choose(row_offsets);
    let (method, part) = match cut {
        SpmvCut::Rows => (SpmvMethod::RowParallel, "little"),
        SpmvCut::MergePath => (SpmvMethod::MergePath, "too much"),
    };
    (method, cut, format!("the longest row has {longest} nonzeros: {part} for one thread"))
}

/// Cuts the matrix.
pub(super) fn build<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    cut: SpmvCut,
    copies: Copies,
) -> Boxed<V, O> {
    V::by_kind(Build { matrix, cut, copies })
}

/// Operands of [`build`].
struct Build<'a, V: Scalar, O: Offset> {
    matrix: &'a DeviceCsr<V, O>,
    cut: SpmvCut,
    copies: Copies,
}

impl<V: Scalar, O: Offset> ForKind<V> for Build<'_, V, O> {
    type Output = Boxed<V, O>;

    fn value(self) -> Boxed<V, O>
    where
        V: Value,
    {
        let (row_offsets, column_indices) = pattern(self.matrix);
        let groups = if self.copies == Copies::Nothing { SpmvGroups::Found } else { SpmvGroups::Copied };
        Box::new(CpuSpmv { tiles: SpmvTiles::new(row_offsets, column_indices, self.cut, groups) })
    }

    fn complex(self) -> Boxed<V, O> {
        let (row_offsets, column_indices) = pattern(self.matrix);
        Box::new(WideSpmv { tiles: SpmvTiles::by_rows(row_offsets, column_indices, self.cut) })
    }

    fn half(self) -> Boxed<V, O> {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

/// The row offsets and column indices.
fn pattern<S: Storage, O: Offset>(matrix: &DeviceCsr<S, O>) -> (&[O], &[u32]) {
    match matrix.pattern().host_arrays() {
        Some(arrays) => arrays,
        None => unreachable!("what is on the CPU is in the host's memory"),
    }
}

/// A cut matrix.
struct CpuSpmv {
    tiles: SpmvTiles,
}

impl<V: Value, O: Offset> SpmvSchedule<V, O> for CpuSpmv {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let values = matrix.values_now();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
            self.tiles.multiply(view, alpha, x, beta, y);
        }
        Ok(())
    }

    fn shape(&self) -> ScheduleShape {
        shape(&self.tiles)
    }
}

/// A cut matrix, for complex values, and for vectors of a wider type than its values.
struct WideSpmv {
    tiles: SpmvTiles,
}

impl<S: Storage + WidenTo<V>, O: Offset, V: Scalar> SpmvSchedule<S, O, V> for WideSpmv {
    fn run(&self, product: SpmvCall<'_, S, O, V>) -> Result<(), DeviceError> {
        let SpmvCall { matrix, alpha, x, beta, y, .. } = product;
        let values = matrix.values_now();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
            self.tiles.multiply_wide(view, alpha, x, beta, y);
        }
        Ok(())
    }

    fn shape(&self) -> ScheduleShape {
        shape(&self.tiles)
    }
}

/// Shape of a schedule of tiles.
fn shape(tiles: &SpmvTiles) -> ScheduleShape {
    let (tiles, workspace_bytes) = (tiles.len() as u64, tiles.bytes() as u64);
    ScheduleShape { tiles, workspace_bytes, ..ScheduleShape::default() }
}
