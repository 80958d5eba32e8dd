use evenpath_kernels::spmv::{BlockRows, VectorRows};

use super::schedule::{Schedule, Shape};
use crate::device::{DeviceError, Launch, MAX_GRID};
use crate::format::DeviceCsr;
use crate::op::product::Product;
use crate::policy::Tile;
use crate::{Offset, Value};

/// A number of lanes per row.
pub(super) struct Vector<V: Value, O: Offset> {
    launch: Launch<VectorRows<V, O>>,
    lanes: u32,
}

impl<V: Value, O: Offset> Vector<V, O> {
    /// `lanes` is a power of two up to 32.
    pub(super) fn new(matrix: &DeviceCsr<V, O>, lanes: u32) -> Result<Self, DeviceError> {
        let launch = matrix.device().kernel().threads(matrix.rows() * lanes as usize)?;
        Ok(Self { launch, lanes })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Vector<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let lanes = self.lanes;
        // SAFETY: there are no other views, and `lanes` threads for each row.
        unsafe { product.launch(&self.launch, |product| VectorRows { product, lanes }) }
    }

    fn shape(&self) -> Shape {
        Shape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            lanes: Some(self.lanes),
            ..Shape::default()
        }
    }
}

/// One block per row.
pub(super) struct Block<V: Value, O: Offset> {
    launch: Launch<BlockRows<V, O>>,
    rows: u64,
}

impl<V: Value, O: Offset> Block<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>) -> Result<Self, DeviceError> {
        // If the grid has fewer blocks than there are rows, blocks take several.
        let launch = matrix.device().kernel().blocks(matrix.rows().min(MAX_GRID as usize))?;
        Ok(Self { launch, rows: matrix.rows() as u64 })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Block<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        // SAFETY: there are no other views, and any number of blocks will do.
        unsafe { product.launch(&self.launch, |product| BlockRows { product }) }
    }

    fn shape(&self) -> Shape {
        Shape { tile: Some(Tile::of(self.launch.info())), tiles: self.rows, ..Shape::default() }
    }
}
