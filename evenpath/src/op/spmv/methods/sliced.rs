//! Products by a copy of the matrix in sliced ELL.

use std::sync::{Arc, Weak};

use evenpath_kernels::RowMap;
use evenpath_kernels::ell::{
    FillSlices, SLICE_HEIGHT, SliceWidths, SlicedEll, Slots, SortWindows, WINDOW_ROWS,
};
use evenpath_simt::GlobalMut;
use parking_lot::Mutex;

use crate::device::{DeviceError, DeviceSlice, DeviceVec, Kernels, Launch, no_output};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::format::row_order::row_map;
use crate::format::values::{CopyState, ValueCopy};
use crate::op::product::SpmvCall;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::{Copies, Features};
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Request, Strategy, boxed, too_long};
use crate::op::spmv::thresholds::{COPY_MEAN, SLICED_QUARTERS, SLICED_SLOTS};
use crate::operand::OpError;
use crate::operation::Operator;
use crate::policy::Tile;
use crate::sequence::scan::{self, ScanOptions, sum_kernel};
use crate::{Offset, Scalar};

/// Slots for each nonzero up to which rows are not sorted.
const UNSORTED_SLOTS: f64 = 1.03;
/// Slots for each nonzero, and slots of any matrix, up to which there is a copy.
const MOST_SLOTS: f64 = 3.0;
const SLOTS_OF_ANY: u64 = 1 << 20;

/// The method with a copy of the matrix in sliced ELL.
pub(super) struct SlicedEllMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for SlicedEllMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::SlicedEll
    }

    fn abilities(&self) -> Abilities {
        Abilities { copies: true, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        match Sliced::of_most_slots(matrix, MOST_SLOTS)? {
            None => Err(too_long(SpmvMethod::SlicedEll, Lengths::count(matrix)?)),
            Some(sliced) => Ok(Box::new(sliced)),
        }
    }

    /// It may be faster than anything else where columns are scattered and rows are alike: threads of a warp then gather from the
    /// same part of x, since columns are sorted within rows of about equal length. Products of complex values are bound by the bytes
    /// of the matrix, which it moves at the highest rate.
    fn rule(&self, features: &Features, _: Option<SpmvMethod>) -> Option<Reason> {
        let are_enough = 4 * features.rows >= SLICED_QUARTERS * features.wave();
        if features.is_complex() {
            let may_be_sliced = features.copies == Copies::Values && features.are_even() && are_enough;
            let reason = || Reason::Property("values are complex, and rows are even".into());
            return may_be_sliced.then(reason);
        }
        let are_alike = features.lengths.mean >= COPY_MEAN && features.are_alike();
        let are_scattered = features.gathers.are_scattered() && features.gathers.span_few_caches();
        let may_be_sliced = features.copies == Copies::Values && are_alike && are_enough && are_scattered;
        let reason = || Reason::Property("columns are scattered, and rows are alike".into());
        (may_be_sliced && !features.are_for_windows()).then(reason)
    }

    fn build_chosen(&self, matrix: &DeviceCsr<V, O>, _: &Features) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(boxed(Sliced::of_most_slots(matrix, SLICED_SLOTS as f64 / 100.0)?))
    }
}

/// A copy of the matrix in slices of as many rows as a warp has lanes, sorted by length within windows where that saves padding.
struct Sliced<V: Scalar, O: Offset> {
    launch: Launch<SlicedEll<V>>,
    column_indices: DeviceVec<u32>,
    copy: Arc<SlicedCopy<V, O>>,
}

/// The values in their slots, which follow those of the matrix.
struct SlicedCopy<V: Scalar, O: Offset> {
    pattern: Arc<DevicePattern<O>>,
    fill: Launch<FillSlices<V, O>>,
    layout: SlicedLayout,
    values: Mutex<(DeviceVec<V>, CopyState)>,
}

/// Where rows are stored.
struct SlicedLayout {
    order: Option<DeviceVec<u32>>,
    slice_offsets: DeviceVec<u64>,
    slots: u64,
}

/// The kernels of the conversion, to be compiled ahead.
fn kernels<V: Scalar, O: Offset>() -> Kernels {
    sum_kernel::<u64>()
        .and::<SortWindows<O>>()
        .and::<SliceWidths<O>>()
        .and::<FillSlices<V, O>>()
        .and::<SlicedEll<V>>()
}

impl SlicedLayout {
    /// The layout with the least padding; waits for the device.
    fn find<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let unsorted = Self::of_order(matrix, None)?;
        if unsorted.slots as f64 <= UNSORTED_SLOTS * matrix.nnz() as f64 {
            return Ok(unsorted);
        }
        let device = matrix.device();
        let mut order = device.uninitialized(matrix.nrows())?;
        let launch = device.kernel().blocks(matrix.nrows().div_ceil(WINDOW_ROWS as usize))?;
        let kernel = SortWindows { pattern: matrix.pattern().view(), order: order.as_global_mut() };
        // SAFETY: the order has an element per row, and there is a block for each window; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let sorted = Self::of_order(matrix, Some(order))?;
        Ok(if sorted.slots < unsorted.slots { sorted } else { unsorted })
    }

    /// The layout of rows in an order.
    fn of_order<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        order: Option<DeviceVec<u32>>,
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        let slices = matrix.nrows().div_ceil(SLICE_HEIGHT as usize);
        if slices == 0 {
            return Ok(Self { order: None, slice_offsets: device.zeros(1)?, slots: 0 });
        }
        let mut widths = device.uninitialized(slices + 1)?;
        let kernel = SliceWidths {
            pattern: matrix.pattern().view(),
            row_order: row_map(order.as_ref()),
            widths: widths.as_global_mut(),
        };
        // SAFETY: there is a width per slice and one more, and the order is one of the matrix's rows; buffers are freed in the
        // stream's order.
        unsafe { device.kernel().threads(matrix.nrows())?.launch(kernel) }?;
        let slice_offsets = scan::values(&widths, ScanOptions::exclusive(Operator::Sum))?;
        let slots = slice_offsets.get(slices)?.saturating_mul(u64::from(SLICE_HEIGHT));
        Ok(Self { order, slice_offsets, slots })
    }

    fn row_order(&self) -> RowMap {
        row_map(self.order.as_ref())
    }

    fn bytes(&self) -> u64 {
        self.slice_offsets.bytes() + self.order.as_ref().map_or(0, DeviceVec::bytes)
    }
}

impl<V: Scalar, O: Offset> SlicedCopy<V, O> {
    /// Copies the values to their slots, and the columns if they are wanted: an element per slot.
    fn fill(
        &self,
        values: &DeviceVec<V>,
        slots: &mut DeviceSlice<V>,
        columns: Option<GlobalMut<u32>>,
    ) -> Result<(), DeviceError> {
        let kernel = FillSlices {
            matrix: self.pattern.with_values(values),
            row_order: self.layout.row_order(),
            slice_offsets: self.layout.slice_offsets.as_global(),
            are_columns_known: u32::from(columns.is_none()),
            column_indices: columns.unwrap_or_else(no_output),
            values: slots.as_global_mut(),
        };
        // SAFETY: the layout is the matrix's, with as many slots; buffers are freed in the stream's order.
        unsafe { self.fill.launch(kernel) }
    }
}

impl<V: Scalar, O: Offset> ValueCopy<V> for SlicedCopy<V, O> {
    fn refresh(&self, values: &DeviceVec<V>, version: u64) -> Result<(), OpError> {
        let (slots, state) = &mut *self.values.lock();
        self.fill(values, slots, None)?;
        state.refreshed(values, version);
        Ok(())
    }
}

impl<V: Scalar, O: Offset> Sliced<V, O> {
    /// Copies the matrix. `None` if it would need more slots for each nonzero; waits for the device.
    fn of_most_slots(matrix: &DeviceCsr<V, O>, most_slots: f64) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        device.prepare(kernels::<V, O>)?;
        let layout = SlicedLayout::find(matrix)?;
        let slots = layout.slots;
        if slots > SLOTS_OF_ANY && slots as f64 > most_slots * matrix.nnz() as f64 {
            return Ok(None);
        }
        let fill = device.kernel().threads(matrix.nrows().next_multiple_of(SLICE_HEIGHT as usize))?;
        let mut column_indices = device.uninitialized(slots as usize)?;
        let values = matrix.values_now();
        let copied = Mutex::new((device.uninitialized(slots as usize)?, values.copy_state()));
        let copy = SlicedCopy { pattern: Arc::clone(matrix.pattern()), fill, layout, values: copied };
        copy.fill(&values, &mut copy.values.lock().0, Some(column_indices.as_global_mut()))?;
        let copy = Arc::new(copy);
        let weak: Weak<SlicedCopy<V, O>> = Arc::downgrade(&copy);
        matrix.shared_values().follow(weak);
        let launch = device.kernel().threads(matrix.nrows())?;
        Ok(Some(Self { launch, column_indices, copy }))
    }
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for Sliced<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let (matrix, copy) = (product.matrix, &self.copy);
        // Held until the launch, so that the slots stay those of the values.
        let values = matrix.values_now();
        let (slots, state) = &mut *copy.values.lock();
        if state.is_stale(values.version()) {
            copy.fill(&values, slots, None)?;
            state.refreshed(&values, values.version());
        }
        let slots = Slots { column_indices: self.column_indices.as_global(), values: slots.as_global() };
        let rows = matrix.nrows() as u32;
        // SAFETY: the layout and the slots are the matrix's; columns are below x's length, or padding.
        unsafe {
            product.launch(&self.launch, |product| SlicedEll {
                slice_offsets: copy.layout.slice_offsets.as_global(),
                slots,
                row_order: copy.layout.row_order(),
                x: product.x,
                update: product.update,
                rows,
                slice_height: SLICE_HEIGHT,
            })
        }
    }

    fn reads_columns(&self) -> bool {
        false
    }

    fn shape(&self) -> ScheduleShape {
        let SlicedCopy { layout, values, .. } = &*self.copy;
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: Some(SpmvDetails::SlicedEll { slots: layout.slots, is_sorted: layout.order.is_some() }),
            workspace_bytes: layout.bytes() + self.column_indices.bytes() + values.lock().0.bytes(),
        }
    }
}
