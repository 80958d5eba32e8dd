//! Lists of vertices on devices with kernels.

use evenpath_kernels::block::list::UnorderedList;
use evenpath_kernels::graph::Frontier;

use crate::Offset;
use crate::device::{Device, DeviceError, DeviceVec, no_input};
use crate::format::csr::DevicePattern;
use crate::format::listed_rows::listed_offsets;
use crate::operand::OpError;

/// A list of vertices, with room for all.
pub(super) struct Vertices {
    list: DeviceVec<u32>,
    len: usize,
}

/// The edges of a list.
pub(super) struct Edges<O: Offset> {
    edges_before: DeviceVec<O>,
    pub(super) count: usize,
}

impl Vertices {
    /// Room for the vertices of a graph of `vertices`.
    pub(super) fn room(device: &Device, vertices: usize) -> Result<Self, DeviceError> {
        Ok(Self { list: device.uninitialized(vertices)?, len: 0 })
    }

    /// A list of one vertex.
    pub(super) fn one(device: &Device, vertices: usize, vertex: usize) -> Result<Self, DeviceError> {
        let mut room = Self::room(device, vertices)?;
        room.list.slice_mut(..1)?.copy_from_slice(&[vertex as u32])?;
        Ok(Self { len: 1, ..room })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Counts the edges of the vertices; waits for the device.
    pub(super) fn edges<O: Offset>(&self, pattern: &DevicePattern<O>) -> Result<Edges<O>, OpError> {
        let (edges_before, count) = listed_offsets(pattern, &self.list.slice(..self.len)?)?;
        Ok(Edges { edges_before, count })
    }

    /// The vertices and their edges, as kernels take them.
    pub(super) fn view<O: Offset>(&self, edges: &Edges<O>) -> Frontier<O> {
        Frontier {
            vertices: self.list.as_global(),
            edges_before: edges.edges_before.as_global(),
            edges: edges.count as u64,
            len: self.len as u32,
            is_listed: 1,
        }
    }

    /// Replaces the list by that which `launch` makes; waits for the device.
    pub(super) fn find(
        &mut self,
        launch: impl FnOnce(UnorderedList) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let mut count = self.list.device().zeros::<u32>(1)?;
        launch(UnorderedList { elements: self.list.as_global_mut(), count: count.as_global_mut() })?;
        self.len = count.get(0)? as usize;
        Ok(())
    }
}

/// All vertices and edges of a graph, as kernels take them.
pub(super) fn all_edges<O: Offset>(pattern: &DevicePattern<O>) -> Frontier<O> {
    Frontier {
        vertices: no_input(),
        edges_before: pattern.row_offsets.as_global(),
        edges: pattern.column_indices.len() as u64,
        len: pattern.rows as u32,
        is_listed: 0,
    }
}
