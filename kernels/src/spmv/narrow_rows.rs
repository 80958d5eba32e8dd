//! SpMV by row tiles of a matrix whose columns have codes of 16 bits ([`super::EncodeColumns`]).

use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Arithmetic, Global};

use super::codes::{CodedColumns, Decoder, Distances, Segments, TileKind, SEGMENTS};
use super::columns::ColumnForm;
use super::product::SpmvArguments;
use super::row_group::product_bytes;
use super::row_tiles::{ColumnSource, FourRows, OneRow, RowShare, RowTileOperands, SumRows, TwoRows};
use crate::Offset;

/// The columns of a tile with codes.
#[derive(Clone, Copy)]
struct TileCodes<D> {
    /// Two codes per word.
    pairs: Global<u32, Aligned16>,
    /// Distance of the tile's codes from its nonzeros, modulo 2⁶⁴: a multiple of eight.
    shift: u64,
    decoder: D,
}

impl<D: Decoder> ColumnForm for TileCodes<D> {
    const PER_WORD: usize = 2;

    #[device(track_caller)]
    fn skip(mut self, start: usize) -> Self {
        self.pairs = self.pairs.skip_aligned((start as u64).wrapping_add(self.shift) as usize / 2);
        self
    }

    #[device]
    fn load(self, first: usize, distance: usize) -> u32 {
        self.pairs.load_streaming(first / 2 + distance / 2)
    }

    #[device]
    fn load_four(self, first: usize, distance: usize) -> [u32; 4] {
        let [low, high] = self.pairs.load_streaming_2(first / 2 + distance / 2);
        [low, high, 0, 0]
    }

    #[device]
    fn strided<const ITEMS: usize>(self, words: [u32; ITEMS], first: usize, item: usize) -> u32 {
        let half = 16 * (first as u32 % 2);
        self.decoder.column(words[item] >> half & 0xffff)
    }

    #[device]
    fn of_four<const ITEMS: usize>(self, words: [u32; ITEMS], item: usize) -> u32 {
        let pair = words[item / 4 * 4 + item % 4 / 2];
        self.decoder.column(if item.is_multiple_of(2) { pair & 0xffff } else { pair >> 16 })
    }
}

/// The columns of a matrix some of whose tiles have codes.
#[derive(Clone, Copy)]
struct NarrowColumns {
    /// Codes, two per word.
    coded: CodedColumns<u32>,
    /// Column indices, for tiles without codes.
    whole: Global<u32, Aligned16>,
    tile_rows_log2: u32,
}

impl ColumnSource for NarrowColumns {
    #[device]
    fn with_columns(self, first: u32, bounds: impl FnOnce() -> (usize, usize), sums: impl SumRows) {
        let tile = (first >> self.tile_rows_log2) as usize;
        let CodedColumns { codes: pairs, directories, places, tile_nonzeros } = self.coded;
        let (place, begin) = (places.load(tile), tile_nonzeros.load(tile));
        let segment = directories.load(tile * SEGMENTS as usize + thread::lane() as usize);
        let bounds = bounds();
        let (kind, place) = TileKind::unpack(place);
        let shift = (place as u64).wrapping_sub(begin);
        match kind {
            TileKind::Distances => {
                sums.run(TileCodes { pairs, shift, decoder: Distances { from: segment } }, bounds);
            }
            TileKind::Segments => {
                sums.run(TileCodes { pairs, shift, decoder: Segments { own: segment } }, bounds);
            }
            TileKind::Whole => sums.run(self.whole, bounds),
        }
    }
}

kernel! {
    /// Computes y = αAx + βy, each warp for 32·`ROWS` / 2^`lanes_log2` rows; its variants are the rows that a lane
    /// sums. Groups of rows with 2³² − 2¹⁰ nonzeros and more are beyond it.
    pub struct NarrowRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors; column indices are read only where a tile has no codes.
        pub product: SpmvArguments<V, O>,
        /// The codes of the columns, two per word.
        pub columns: CodedColumns<u32>,
        /// log2 of the rows of a tile, which are a multiple of those of a warp.
        pub tile_rows_log2: u32,
        /// log2 of the lanes per row; 0 for all variants but `OneRow`.
        pub lanes_log2: u32,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: NarrowRows::narrow_rows::<P, BLOCK, ITEMS>;
    entry: spmv_narrow_rows_{P}x{N}_{V}_{O} in spmv_narrow:
        V = f32, O in [u32, u64],
        (P, B, N, R) in [
            (OneRow as 1, 64, 8, 16), (TwoRows as 2, 128, 12, 0), (FourRows as 4, 64, 4, 0), (FourRows as 4, 64, 8, 16),
        ], B x N resident R;
}

impl<V: Arithmetic, O: Offset> NarrowRows<V, O> {
    #[device]
    fn narrow_rows<P: RowShare, const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let columns = NarrowColumns {
            coded: self.columns,
            whole: self.product.matrix.column_indices,
            tile_rows_log2: self.tile_rows_log2,
        };
        let tile = RowTileOperands {
            product: self.product,
            columns,
            block: thread::block(),
            lanes_log2: self.lanes_log2,
            limit: u32::MAX,
        };
        P::run::<V, O, NarrowColumns, false, BLOCK, ITEMS>(tile, arena);
    }
}
