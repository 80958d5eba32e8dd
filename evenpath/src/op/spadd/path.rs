//! The path through two matrices on devices that run kernels: walked once, followed as often as one likes.

use evenpath_kernels::spadd::{
    CutPath, DESCENTS, FillTiles, RESULTS, WalkPath, code_words, state_words, write,
};
use evenpath_simt::{GlobalMut, thread};

use super::{Factors, Operands};
use crate::device::{Device, DeviceVec};
use crate::op::canonical::{conclude, count_descents};
use crate::op::device_csr::Pattern;
use crate::op::{OpError, grid, instance, tile_items};
use crate::{Offset, Value};

/// A path that was walked: the codes of its items, and how many results there are where.
pub(super) struct Path {
    keep: u32,
    /// Items.
    items: u64,
    tiles: u32,
    starts: DeviceVec<u64>,
    codes: DeviceVec<u64>,
    counts: DeviceVec<u32>,
    states: DeviceVec<u64>,
    results: u64,
}

/// What is to be written: row offsets and column indices, and values with the factors of A and B.
pub(super) struct Write<'o, V: Value, O: Offset> {
    pub(super) pattern: Option<(&'o mut DeviceVec<O>, &'o mut DeviceVec<u32>)>,
    pub(super) values: Option<(&'o mut DeviceVec<V>, Factors<V>)>,
}

impl Path {
    /// Walks the path of A and B; waits for the device, which alone knows how many results there are.
    pub(super) fn walk<O: Offset>(keep: u32, a: &Pattern<O>, b: &Pattern<O>) -> Result<Self, OpError> {
        let device = a.row_offsets.device();
        let info = instance::<WalkPath<O>>();
        let (a_nonzeros, b_nonzeros) = (a.column_indices.len() as u64, b.column_indices.len() as u64);
        let items = a_nonzeros + b_nonzeros + a.rows as u64;
        let tiles =
            grid(a.rows, (a_nonzeros + b_nonzeros) as usize, items.div_ceil(u64::from(tile_items(info))))?;
        let mut path = Self {
            keep,
            items,
            tiles,
            starts: device.uninitialized(2 * (tiles as usize + 1))?,
            codes: device.uninitialized(tiles as usize * code_words(tile_items(info)))?,
            counts: device.uninitialized(tiles as usize)?,
            states: device.uninitialized(state_words(tiles))?,
            results: 0,
        };
        if tiles == 0 {
            return Ok(path);
        }
        path.cut(device, a, b, tile_items(info))?;
        let unchecked = [a, b].map(|pattern| pattern.canonical.get().is_none());
        for ((pattern, unchecked), word) in [a, b].into_iter().zip(unchecked).zip(DESCENTS) {
            if unchecked {
                count_descents(device, pattern, path.states.as_global_mut().skip(word))?;
            }
        }
        let kernel = WalkPath {
            a_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            starts: path.starts.as_global(),
            codes: path.codes.as_global_mut(),
            counts: path.counts.as_global_mut(),
            states: path.states.as_global_mut(),
            a_nonzeros,
            b_nonzeros,
            rows: a.rows as u32,
            keep,
        };
        // SAFETY: the views are of two valid patterns of as many rows, and of buffers with a word per thread, a tile, and as
        // many as the state has; the cut made `starts`, inside both matrices whatever order their columns are in. All are
        // on this device, and buffers are freed in the stream's order.
        unsafe { device.launch(kernel, info, tiles, 0) }?;
        if unchecked == [false; 2] {
            path.results = path.states.get(RESULTS)?;
            return Ok(path);
        }
        let states = path.states.download()?;
        for (((operand, pattern), unchecked), word) in
            [("A", a), ("B", b)].into_iter().zip(unchecked).zip(DESCENTS)
        {
            if unchecked {
                conclude(operand, pattern, states[word] == 0)?;
            }
        }
        path.results = states[RESULTS];
        Ok(path)
    }

    /// Finds where the tiles begin.
    fn cut<O: Offset>(
        &mut self,
        device: &Device,
        a: &Pattern<O>,
        b: &Pattern<O>,
        tile_items: u32,
    ) -> Result<(), OpError> {
        let info = instance::<CutPath<O>>();
        let kernel = CutPath {
            a_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            starts: self.starts.as_global_mut(),
            states: self.states.as_global_mut(),
            items: self.items,
            rows: a.rows as u32,
            tiles: self.tiles,
            tile_items,
        };
        let warps = info.block_size / thread::WARP_SIZE;
        // SAFETY: the views are of two valid patterns of as many rows, and of buffers with two words for each tile and the
        // end, and as many as the state has; all are on this device.
        unsafe { device.launch(kernel, info, (self.tiles + 1).div_ceil(warps), 0) }?;
        Ok(())
    }

    /// Results on the path.
    pub(super) fn results(&self) -> u64 {
        self.results
    }

    /// Bytes of device memory that the path takes.
    pub(super) fn bytes(&self) -> u64 {
        self.starts.bytes() + self.codes.bytes() + self.states.bytes() + self.counts.bytes()
    }

    /// Follows the path, and writes the results to buffers with room for them.
    pub(super) fn fill<V: Value, O: Offset>(
        &self,
        operands: &Operands<'_, V, O>,
        write: Write<'_, V, O>,
    ) -> Result<(), OpError> {
        if self.tiles == 0 {
            return Ok(());
        }
        let device = operands.device();
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let (a_values, b_values) = (operands.a.values(), operands.b.values());
        let is_written = |written: bool, bit: u32| if written { bit } else { 0 };
        let written = is_written(write.pattern.is_some(), write::PATTERN)
            | is_written(write.values.is_some(), write::VALUES);
        let nowhere = || GlobalMut::from_device(0, 0);
        let (row_offsets, columns) = match write.pattern {
            Some((row_offsets, columns)) => (row_offsets.as_global_mut(), columns.as_global_mut()),
            None => (GlobalMut::from_device(0, 0), nowhere()),
        };
        let (values, (alpha, beta)) = match write.values {
            Some((values, factors)) => (values.as_global_mut(), factors),
            None => (GlobalMut::from_device(0, 0), (V::ZERO, V::ZERO)),
        };
        let kernel = FillTiles {
            a_columns: a.column_indices.as_global(),
            a_values: a_values.as_global(),
            b_columns: b.column_indices.as_global(),
            b_values: b_values.as_global(),
            starts: self.starts.as_global(),
            codes: self.codes.as_global(),
            counts: self.counts.as_global(),
            states: self.states.as_global(),
            row_offsets,
            columns,
            values,
            items: self.items,
            keep: self.keep,
            write: written,
            alpha,
            beta,
        };
        let info = instance::<FillTiles<V, O>>();
        // SAFETY: the path is that of these matrices; what is written has room for its results and for a row offset more
        // than there are rows; what is not written is not looked at. All are on this device, and buffers are freed in the
        // stream's order.
        unsafe { device.launch(kernel, info, self.tiles, 0) }?;
        Ok(())
    }
}
