//! Products as those with dense matrices of one column.

use crate::device::DeviceError;
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmm::Column;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Devices, Request, Strategy};
use crate::operand::OpError;
use crate::{Compute, Offset, Storage, Value};

/// The method of products with dense matrices.
pub(super) struct OneColumnMethod;

impl<V: Value, O: Offset> Strategy<V, O> for OneColumnMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::OneColumn { multiprocessors: None }
    }

    fn abilities(&self) -> Abilities {
        Abilities { devices: Devices::All, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        build(matrix, request.method)
    }
}

/// Prepares the method for any type of values, and vectors of `T`.
pub(in crate::op::spmv) fn build<S: Storage, O: Offset, T: Storage<Computed = Compute<S>>>(
    matrix: &DeviceCsr<S, O>,
    method: SpmvMethod,
) -> Result<Boxed<S, O, T>, OpError> {
    let multiprocessors = match method {
        SpmvMethod::OneColumn { multiprocessors } => multiprocessors,
        _ => None,
    };
    Ok(Box::new(OneColumn(Column::analyze(matrix, multiprocessors)?)))
}

/// A matrix with its long rows cut into pieces.
struct OneColumn<T: Storage>(Column<T>);

impl<S: Storage, O: Offset, T: Storage<Computed = Compute<S>>> SpmvSchedule<S, O, T> for OneColumn<T> {
    fn run(&self, product: SpmvCall<'_, S, O, T>) -> Result<(), DeviceError> {
        self.0.run(product)
    }

    fn method(&self, _: SpmvMethod) -> SpmvMethod {
        SpmvMethod::OneColumn { multiprocessors: self.0.info().options().multiprocessors }
    }

    fn shape(&self) -> ScheduleShape {
        let info = self.0.info();
        let details = SpmvDetails::OneColumn {
            long_rows: info.long_rows,
            pieces: info.pieces,
            longest: info.longest,
            longest_piece: info.longest_piece,
        };
        ScheduleShape {
            tile: self.0.tile,
            tiles: self.0.tiles,
            // The CPU cuts no rows.
            details: self.0.tile.map(|_| details),
            workspace_bytes: info.workspace_bytes,
        }
    }
}
