//! The path through two matrices on devices that run kernels. It is walked once and can be followed many times.

use evenpath_kernels::spadd::{
    CountDescents, CutPath, DESCENTS, FillTiles, RESULTS, SpaddOutput, WalkPath, kind_words, path_items,
    state_words,
};

use super::operands::{Factors, SpaddOperands};
use crate::device::{DeviceVec, Kernels};
use crate::format::canonical::{conclude, count_descents};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// The kernels that walk and follow a path, to be compiled ahead.
pub(super) fn kernels<V: Scalar, O: Offset>() -> Kernels {
    Kernels::default()
        .and::<CountDescents<O>>()
        .and::<CutPath<O>>()
        .and::<WalkPath<O>>()
        .and::<FillTiles<V, O>>()
}

/// A walked path: the kinds of its items, and the number of results per tile.
pub(super) struct Path {
    keep: u32,
    tiles: u32,
    starts: DeviceVec<u64>,
    kinds: DeviceVec<u64>,
    counts: DeviceVec<u32>,
    states: DeviceVec<u64>,
    /// True for A, and for B, if the walk checks that the columns of every row increase.
    unchecked: [bool; 2],
    results: u64,
}

/// The output buffers: row offsets and column indices, and values with the factors of A and B.
pub(super) struct Write<'o, V: Scalar, O: Offset> {
    pub(super) pattern: Option<(&'o mut DeviceVec<O>, &'o mut DeviceVec<u32>)>,
    pub(super) values: Option<(&'o mut DeviceVec<V>, Factors<V>)>,
}

impl Path {
    /// Walks the path of A and B. Waits for the device to learn the number of results.
    pub(super) fn walk<O: Offset>(
        keep: u32,
        a: &DevicePattern<O>,
        b: &DevicePattern<O>,
    ) -> Result<Self, OpError> {
        let device = a.row_offsets.device();
        let launch = device.kernel().items(path_items(a.view(), b.view()) as usize)?;
        let (tiles, tile_items) = (launch.grid(), launch.info().tile_items() as u32);
        let mut path = Self {
            keep,
            tiles,
            starts: device.uninitialized(2 * (tiles as usize + 1))?,
            kinds: device.uninitialized(tiles as usize * kind_words(tile_items))?,
            counts: device.uninitialized(tiles as usize)?,
            states: device.uninitialized(state_words(tiles))?,
            unchecked: [a, b].map(|pattern| pattern.canonical.get().is_none()),
            results: 0,
        };
        if tiles == 0 {
            return Ok(path);
        }
        path.cut(a, b, tile_items)?;
        for ((pattern, unchecked), word) in [a, b].into_iter().zip(path.unchecked).zip(DESCENTS) {
            if unchecked {
                count_descents(device, pattern, path.states.as_global_mut().skip(word))?;
            }
        }
        let kernel = WalkPath {
            a: a.view(),
            b: b.view(),
            starts: path.starts.as_global(),
            kinds: path.kinds.as_global_mut(),
            counts: path.counts.as_global_mut(),
            states: path.states.as_global_mut(),
            keep,
        };
        // SAFETY: the views are of two valid patterns with the same number of rows, and of buffers with as many words as the
        // kinds, the tiles and the state need. The cut has written `starts`, which are inside both matrices for any order of
        // columns. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        path.conclude(a, b)?;
        Ok(path)
    }

    /// Waits for the walk, and checks its results: that both matrices are canonical, and the number of
    /// results.
    fn conclude<O: Offset>(&mut self, a: &DevicePattern<O>, b: &DevicePattern<O>) -> Result<(), OpError> {
        if self.unchecked == [false; 2] {
            self.results = self.states.get(RESULTS)?;
            return Ok(());
        }
        let states = self.states.download()?;
        for (((operand, pattern), unchecked), word) in
            [("A", a), ("B", b)].into_iter().zip(self.unchecked).zip(DESCENTS)
        {
            if unchecked {
                conclude(operand, pattern, states[word] == 0)?;
            }
        }
        self.results = states[RESULTS];
        Ok(())
    }

    /// Finds the starts of the tiles.
    fn cut<O: Offset>(
        &mut self,
        a: &DevicePattern<O>,
        b: &DevicePattern<O>,
        tile_items: u32,
    ) -> Result<(), OpError> {
        let launch = a.row_offsets.device().kernel().warps(self.tiles as usize + 1)?;
        let kernel = CutPath {
            a: a.view(),
            b: b.view(),
            starts: self.starts.as_global_mut(),
            states: self.states.as_global_mut(),
            tiles: self.tiles,
            tile_items,
        };
        // SAFETY: the views are of two valid patterns with the same number of rows, of a buffer with two words for each tile
        // and the end, and of the state; all are on this device.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// The number of results on the path.
    pub(super) fn results(&self) -> u64 {
        self.results
    }

    /// Bytes of device memory that the path takes.
    pub(super) fn bytes(&self) -> u64 {
        self.starts.bytes() + self.kinds.bytes() + self.states.bytes() + self.counts.bytes()
    }

    /// Follows the path, and writes the results to buffers that have room for them.
    pub(super) fn fill<V: Scalar, O: Offset>(
        &self,
        operands: &SpaddOperands<'_, V, O>,
        write: Write<'_, V, O>,
    ) -> Result<(), OpError> {
        if self.tiles == 0 {
            return Ok(());
        }
        let (a_values, b_values) = (operands.a.values_now(), operands.b.values_now());
        let pattern =
            write.pattern.map(|(offsets, columns)| (offsets.as_global_mut(), columns.as_global_mut()));
        let (values, factors) = write.values.unzip();
        let (alpha, beta) = factors.unwrap_or((V::ZERO, V::ZERO));
        let launch = operands.device().kernel().blocks(self.tiles as usize)?;
        let kernel = FillTiles {
            a: operands.a.pattern().with_values(&a_values),
            b: operands.b.pattern().with_values(&b_values),
            starts: self.starts.as_global(),
            kinds: self.kinds.as_global(),
            counts: self.counts.as_global(),
            states: self.states.as_global(),
            output: SpaddOutput::new(pattern, values.map(|values| values.as_global_mut())),
            keep: self.keep,
            alpha,
            beta,
        };
        // SAFETY: the path is that of these matrices, and the outputs have room for its results and `rows` + 1 row offsets.
        // All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
