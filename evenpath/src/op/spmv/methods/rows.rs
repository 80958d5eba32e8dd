use evenpath_kernels::spmv::{BlockRows, VectorRows};

#[cfg(feature = "lab")]
use super::block_size::with_block_size;
use super::lanes::checked_lanes;
use crate::device::{DeviceError, Launch, MAX_GRID};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::{BLOCK, LANES};
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::{self, Features};
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy};
use crate::operand::OpError;
use crate::policy::Tile;
use crate::{Offset, Scalar};

/// The methods with a number of lanes per row.
pub(super) enum LanesMethod {
    /// One.
    Scalar,
    /// A number that suits the mean row length.
    Vector,
    /// A warp.
    Warp,
}

impl LanesMethod {
    /// Lanes per row, where a number of them suits the mean length.
    fn lanes(&self, suitable: u32) -> u32 {
        match self {
            Self::Scalar => 1,
            Self::Vector => suitable,
            Self::Warp => 32,
        }
    }
}

impl<V: Scalar, O: Offset> Strategy<V, O> for LanesMethod {
    fn method(&self) -> SpmvMethod {
        match self {
            Self::Scalar => SpmvMethod::Scalar,
            Self::Vector => SpmvMethod::Vector { lanes: None },
            Self::Warp => SpmvMethod::Warp,
        }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        let suitable = if let SpmvMethod::Vector { lanes: Some(lanes) } = request.method {
            checked_lanes(lanes, request.method)?
        } else {
            let multiprocessors = u64::from(matrix.device().properties().multiprocessors);
            features::lanes(matrix.nrows() as u64, matrix.nnz() as u64, multiprocessors)
        };
        Ok(Box::new(Vector::new(matrix, self.lanes(suitable))?))
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        let lanes = self.lanes(features.lanes());
        Some(LANES.microseconds(&Matrix::new(features).lanes(lanes)))
    }
}

/// Prepares the method with `lanes` lanes per row and `block_size` threads per block.
#[cfg(feature = "lab")]
pub(in crate::op::spmv) fn build_in_blocks<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    lanes: u32,
    block_size: u32,
) -> Result<Boxed<V, O>, OpError> {
    let method = SpmvMethod::Vector { lanes: Some(lanes) };
    let lanes = checked_lanes(lanes, method)?;
    let launcher = with_block_size(matrix.device(), method, block_size)?;
    Ok(Box::new(Vector { launch: launcher.threads(matrix.nrows() * lanes as usize)?, lanes }))
}

/// A number of lanes per row.
struct Vector<V: Scalar, O: Offset> {
    launch: Launch<VectorRows<V, O>>,
    lanes: u32,
}

impl<V: Scalar, O: Offset> Vector<V, O> {
    /// `lanes` is a power of two up to 32.
    fn new(matrix: &DeviceCsr<V, O>, lanes: u32) -> Result<Self, DeviceError> {
        let launch = matrix.device().kernel().threads(matrix.nrows() * lanes as usize)?;
        Ok(Self { launch, lanes })
    }
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for Vector<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let lanes = self.lanes;
        // SAFETY: there are no other views, and `lanes` threads for each row.
        unsafe { product.launch(&self.launch, |product| VectorRows { product, lanes }) }
    }

    fn method(&self, method: SpmvMethod) -> SpmvMethod {
        match method {
            SpmvMethod::Vector { .. } => SpmvMethod::Vector { lanes: Some(self.lanes) },
            fixed => fixed,
        }
    }

    fn shape(&self) -> ScheduleShape {
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: Some(SpmvDetails::Lanes { lanes: self.lanes }),
            ..ScheduleShape::default()
        }
    }
}

/// The method with a block per row.
pub(super) struct BlockMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for BlockMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Block
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        Ok(Box::new(BlockPerRow::new(matrix)?))
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        Some(BLOCK.microseconds(&Matrix::new(features).block()))
    }

    fn rule(&self, features: &Features, _: Option<SpmvMethod>) -> Option<Reason> {
        features.are_for_blocks().then_some(Reason::RowLengths)
    }
}

/// One block per row.
struct BlockPerRow<V: Scalar, O: Offset> {
    launch: Launch<BlockRows<V, O>>,
    rows: u64,
}

impl<V: Scalar, O: Offset> BlockPerRow<V, O> {
    fn new(matrix: &DeviceCsr<V, O>) -> Result<Self, DeviceError> {
        // If the grid has fewer blocks than there are rows, blocks take several.
        let launch = matrix.device().kernel().blocks(matrix.nrows().min(MAX_GRID as usize))?;
        Ok(Self { launch, rows: matrix.nrows() as u64 })
    }
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for BlockPerRow<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        // SAFETY: there are no other views, and any number of blocks will do.
        unsafe { product.launch(&self.launch, |product| BlockRows { product }) }
    }

    fn shape(&self) -> ScheduleShape {
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: self.rows,
            ..ScheduleShape::default()
        }
    }
}
