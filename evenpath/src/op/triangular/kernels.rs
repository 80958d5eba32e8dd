//! Solves on a device with kernels.

use std::sync::{Mutex, PoisonError};

use evenpath_kernels::triangular::{FindZeroPivots, SolveByTickets, SolveLevels, Systems};
use evenpath_simt::GlobalMut;
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::analysis::{Analysis, TICKET_BLOCK};
use super::entries::first_row;
use super::method::TriangularMethod;
use crate::device::{DeviceError, DeviceSlice, DeviceVec};
use crate::format::{DeviceCsr, DeviceDense};
use crate::operand::{Factor, OpError};
use crate::{Offset, Scalar};

/// Systems that a block solves at once where there are several; half as many with two parts.
const SYSTEMS_AT_ONCE: usize = 4;
/// Maximum number of threads of a step that one block goes through, with the steps beside it.
const THIN_STEP: usize = 2048;
/// Minimum number of threads of a launch, in the mean, for which levels are wide.
const WIDE_LAUNCH: usize = 1 << 17;
/// Maximum number of levels, unless they are wide, for the choice of a method by levels.
const FEW_LEVELS: usize = 4;

/// Solves with one triangle.
pub(super) struct Kernels<V: Scalar, O: Offset> {
    analysis: Analysis<O>,
    work: Work<V>,
}

/// Division and memory of a solve.
enum Work<V: Scalar> {
    Tickets(Mutex<Passed<V>>),
    Levels {
        /// First step, end and number of threads of each launch.
        launches: Vec<(u32, u32, usize)>,
        /// The sum of each piece: workspace of one solve at a time.
        piece_sums: Mutex<DeviceVec<V>>,
    },
}

/// Memory through which rows pass on their elements.
struct Passed<V: Scalar> {
    /// Two halves.
    words: DeviceVec<V::Real>,
    /// One counter.
    drawn: DeviceVec<u64>,
}

impl<V: Scalar> Passed<V> {
    /// Allocates memory for solves of `systems` systems at once.
    fn new<O: Offset>(analysis: &Analysis<O>, systems: usize) -> Result<Self, OpError> {
        let device = analysis.step_offsets.device();
        let words = analysis.units().saturating_mul(systems).saturating_mul(2 * V::PARTS);
        Ok(Self { words: device.zeros(words)?, drawn: device.zeros(1)? })
    }
}

/// The right-hand side of a solve: another vector, or x.
pub(super) type RightHandSide<'a, V> = Option<&'a DeviceSlice<V>>;

impl<V: Scalar, O: Offset> Kernels<V, O> {
    /// Analyzes a triangle of a square, canonical matrix, which is upper or not and unit or not. Waits for the device.
    pub(super) fn new(
        matrix: &DeviceCsr<V, O>,
        triangle: (bool, bool),
        method: TriangularMethod,
    ) -> Result<Self, OpError> {
        let analysis = Analysis::new(matrix.pattern(), triangle)?;
        let launches = match method {
            TriangularMethod::Tickets => None,
            TriangularMethod::Levels => Some(launches(&analysis)?),
            TriangularMethod::Auto if analysis.levels > FEW_LEVELS && !may_be_wide(&analysis) => None,
            TriangularMethod::Auto => {
                Some(launches(&analysis)?).filter(|launches| is_fast(&analysis, launches))
            }
        };
        let work = match launches {
            None => Work::Tickets(Mutex::new(Passed::new(&analysis, 1)?)),
            Some(launches) => {
                let piece_sums = Mutex::new(matrix.device().uninitialized(analysis.pieces)?);
                Work::Levels { launches, piece_sums }
            }
        };
        Ok(Self { analysis, work })
    }

    /// The method that was chosen.
    pub(super) fn method(&self) -> TriangularMethod {
        match self.work {
            Work::Tickets(_) => TriangularMethod::Tickets,
            Work::Levels { .. } => TriangularMethod::Levels,
        }
    }

    /// The analyzed triangle.
    pub(super) fn analysis(&self) -> &Analysis<O> {
        &self.analysis
    }

    /// Number of launches of a solve.
    pub(super) fn launches(&self) -> usize {
        match &self.work {
            Work::Tickets(_) => 1,
            Work::Levels { launches, .. } => launches.len(),
        }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        let own = match &self.work {
            Work::Tickets(passed) => {
                let passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
                passed.words.bytes() + passed.drawn.bytes()
            }
            Work::Levels { piece_sums, .. } => {
                piece_sums.lock().unwrap_or_else(PoisonError::into_inner).bytes()
            }
        };
        self.analysis.bytes() + own
    }

    /// Solves one system, whose operands were checked, with the matrix of the analysis.
    pub(super) fn solve(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: Factor<'_, V>,
        b: RightHandSide<'_, V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        match &self.work {
            Work::Levels { launches, piece_sums } => {
                let mut piece_sums = piece_sums.lock().unwrap_or_else(PoisonError::into_inner);
                self.solve_levels(matrix, alpha, (b, x), launches, &mut piece_sums)?;
            }
            Work::Tickets(passed) => {
                let mut passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
                let (b, x) = operands(b, x);
                let systems = Systems {
                    b,
                    x,
                    b_row_stride: 1,
                    b_column_stride: 0,
                    x_row_stride: 1,
                    x_column_stride: 0,
                    columns: 1,
                    alpha: alpha.view(),
                };
                self.solve_by_tickets(matrix, systems, &mut passed, 1)?;
            }
        }
        Ok(())
    }

    /// Solves several systems, whose operands were checked, with the matrix of the analysis.
    pub(super) fn solve_many(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: Factor<'_, V>,
        b: &DeviceDense<V>,
        x: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let columns = x.ncols();
        let at_once = if columns == 1 { 1 } else { SYSTEMS_AT_ONCE / V::PARTS };
        let mut passed = Passed::new(&self.analysis, columns.next_multiple_of(at_once))?;
        let ((b_row, b_column), (x_row, x_column)) = (b.strides(), x.strides());
        let (b, x) = operands(Some(b.as_vec()), x.as_mut_slice());
        let systems = Systems {
            b,
            x,
            b_row_stride: b_row as u64,
            b_column_stride: b_column as u64,
            x_row_stride: x_row as u64,
            x_column_stride: x_column as u64,
            columns: columns as u32,
            alpha: alpha.view(),
        };
        self.solve_by_tickets(matrix, systems, &mut passed, at_once)
    }

    /// Solves `at_once` systems per block.
    fn solve_by_tickets(
        &self,
        matrix: &DeviceCsr<V, O>,
        systems: Systems<V>,
        passed: &mut Passed<V>,
        at_once: usize,
    ) -> Result<(), OpError> {
        let (pattern, values) = (matrix.pattern(), matrix.values_now());
        let rows_of_block = (TICKET_BLOCK / self.analysis.lanes) as usize;
        let groups = (systems.columns as usize).div_ceil(at_once);
        let blocks = self.analysis.units().div_ceil(rows_of_block).saturating_mul(groups);
        let launcher = matrix.device().instance(by_tickets::<V, O>(at_once));
        let launch =
            launcher.shared_bytes(self.analysis.waiting().shared_bytes(matrix.device())).blocks(blocks)?;
        let kernel = SolveByTickets {
            triangle: self.analysis.view(),
            column_indices: pattern.view().column_indices,
            values: values.as_global(),
            systems,
            passed: passed.words.as_global_mut(),
            drawn: passed.drawn.as_global_mut(),
            lanes: self.analysis.lanes,
        };
        // SAFETY: the analysis is that of the matrix's pattern, b and x have an element for each row and system, and the words that rows
        // pass on were made for this grid, or left by launches of it, which come one after the other; buffers are freed in the stream's
        // order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    fn solve_levels(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: Factor<'_, V>,
        (b, x): (RightHandSide<'_, V>, &mut DeviceSlice<V>),
        launches: &[(u32, u32, usize)],
        piece_sums: &mut DeviceVec<V>,
    ) -> Result<(), DeviceError> {
        let (pattern, values) = (matrix.pattern(), matrix.values_now());
        for &(first, end, threads) in launches {
            let launch = matrix.device().kernel().threads(threads)?;
            let (b, x) = operands(b, x);
            let kernel = SolveLevels {
                triangle: self.analysis.view(),
                column_indices: pattern.view().column_indices,
                values: values.as_global(),
                step_offsets: self.analysis.step_offsets.as_global(),
                b,
                x,
                piece_sums: piece_sums.as_global_mut(),
                alpha: alpha.view(),
                first,
                end,
                lanes: self.analysis.lanes,
            };
            // SAFETY: the analysis is that of the matrix's pattern, b and x have an element for each row, and `piece_sums` one for each
            // piece. Several steps have one block. Earlier steps are solved by this launch or those before it; buffers are freed in the
            // stream's order.
            unsafe { launch.launch(kernel) }?;
        }
        Ok(())
    }

    /// Returns the first row whose diagonal is zero. Waits for the device.
    pub(super) fn zero_pivot(&self, matrix: &DeviceCsr<V, O>) -> Result<Option<usize>, OpError> {
        let device = matrix.device();
        let launch = device.kernel().threads(self.analysis.units())?;
        let mut found = device.zeros(1)?;
        let values = matrix.values_now();
        let kernel = FindZeroPivots {
            triangle: self.analysis.view(),
            values: values.as_global(),
            found: found.as_global_mut(),
        };
        // SAFETY: the analysis is that of the matrix's pattern, and every row has a diagonal; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(first_row(found.get(0)?))
    }
}

/// The kernel by tickets for blocks that solve `at_once` systems.
fn by_tickets<V: Scalar, O: Offset>(at_once: usize) -> &'static KernelInfo {
    match SolveByTickets::<V, O>::instance(TICKET_BLOCK, at_once as u32) {
        Some(info) => info,
        None => unreachable!("the kernel's table has {at_once} systems"),
    }
}

/// The right-hand side and the solution as kernel arguments.
fn operands<V: Scalar>(b: RightHandSide<'_, V>, x: &mut DeviceSlice<V>) -> (GlobalMut<V>, GlobalMut<V>) {
    let x_view = x.as_global_mut();
    (b.map_or(x_view, DeviceSlice::as_global_unwritten), x_view)
}

/// Returns the first step, the end and the threads of each launch by levels.
fn launches<O: Offset>(analysis: &Analysis<O>) -> Result<Vec<(u32, u32, usize)>, OpError> {
    let offsets = analysis.step_offsets.download()?;
    let mut launches: Vec<(u32, u32, usize)> = Vec::new();
    let mut follows_thin = false;
    for (step, bounds) in (0_u32..).zip(offsets.windows(2)) {
        let threads = (bounds[1] - bounds[0]) as usize * analysis.lanes as usize;
        if threads == 0 {
            continue;
        }
        let is_thin = threads <= THIN_STEP;
        match launches.last_mut() {
            Some((_, end, _)) if is_thin && follows_thin => *end = step + 1,
            // One thread is one block.
            _ => launches.push((step, step + 1, if is_thin { 1 } else { threads })),
        }
        follows_thin = is_thin;
    }
    Ok(launches)
}

/// Returns whether levels are wide in the mean.
fn may_be_wide<O: Offset>(analysis: &Analysis<O>) -> bool {
    analysis.units() * analysis.lanes as usize / analysis.levels.max(1) >= WIDE_LAUNCH
}

/// Returns whether launches by levels are taken to be faster than tickets.
fn is_fast<O: Offset>(analysis: &Analysis<O>, launches: &[(u32, u32, usize)]) -> bool {
    let threads = analysis.units() * analysis.lanes as usize;
    launches.len() <= 1 || threads / launches.len() >= WIDE_LAUNCH
}
