use evenpath_kernels::block::radix_rank::RadixKey;
use evenpath_kernels::reduce::ReduceByFlag;
use evenpath_kernels::spgemm::two_level_sort::{
    CollectCutEntries, CollectEntries, NumberCutEntries, PlaceCutEntries, PlaceCutValues,
};

use super::entries::TileEntries;
use super::setup::ProductEntries;
use super::tiles::SortedTiles;
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels};
use crate::keys::SortKey;
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::reduce;
use crate::sequence::sort::{self, SortOptions, index_bits};
use crate::{Offset, Value};

/// The kernels of cut rows, to be compiled ahead. Those of 64-bit keys are left out: few products need them.
pub(super) fn kernels<V: Value>() -> Kernels {
    pair_kernels::<u32, u32>()
        .and::<CollectCutEntries<u32>>()
        .and::<NumberCutEntries<u32>>()
        .and::<PlaceCutEntries<u32>>()
        .and::<PlaceCutValues<V>>()
        .and_variant::<ReduceByFlag<V>>(Operator::Sum.variant())
}

/// The entries of rows that tiles cut, sorted.
pub(super) struct CutEntries {
    /// The place of each of them after the sort.
    pub(super) places: DeviceVec<u32>,
    /// Not zero if an entry differs from the one before.
    flags: DeviceVec<u8>,
    unique: Option<UniqueKeys>,
    /// The number of distinct entries.
    unique_count: DeviceVec<u64>,
    /// The place in C of each distinct entry; then unused elements.
    c_places: DeviceVec<u32>,
    column_bits: u32,
}

/// The distinct entries, and the number of each cut row's first.
struct UniqueKeys {
    keys: EntryKeys,
    row_numbers: DeviceVec<u32>,
}

/// Rows and, below them, columns.
enum EntryKeys {
    Narrow(DeviceVec<u32>),
    Wide(DeviceVec<u64>),
}

impl CutEntries {
    /// Sorts the entries of the rows that tiles cut, whose lengths it counts. Waits for the device.
    pub(super) fn sort<O: Offset>(
        device: &Device,
        entries: &ProductEntries<O>,
        tiles: &SortedTiles,
        tile_entries: &TileEntries,
        cols: usize,
        lengths: &mut DeviceSlice<u32>,
    ) -> Result<Self, OpError> {
        let len = tiles.cut_begins.get(tiles.count as usize)? as usize;
        let column_bits = index_bits(cols);
        let mut cut = Self {
            places: device.uninitialized(len)?,
            flags: device.uninitialized(len)?,
            unique: None,
            unique_count: device.zeros(1)?,
            c_places: device.uninitialized(0)?,
            column_bits,
        };
        if len == 0 {
            return Ok(cut);
        }
        let row_bits = index_bits(lengths.len() - 1);
        let collected = Collected { entries, tiles, tile_entries, len, row_bits };
        let mut row_numbers = device.uninitialized(lengths.len())?;
        // A shift by all bits of a type is none.
        let keys = if column_bits + row_bits.max(1) <= u32::BITS {
            EntryKeys::Narrow(cut.sort_keys::<u32, O>(&collected, &mut row_numbers, lengths)?)
        } else {
            EntryKeys::Wide(cut.sort_keys::<u64, O>(&collected, &mut row_numbers, lengths)?)
        };
        cut.unique = Some(UniqueKeys { keys, row_numbers });
        Ok(cut)
    }

    /// Sorts by keys of a type; the distinct ones.
    fn sort_keys<K: SortKey + RadixKey, O: Offset>(
        &mut self,
        collected: &Collected<'_, O>,
        row_numbers: &mut DeviceSlice<u32>,
        lengths: &mut DeviceSlice<u32>,
    ) -> Result<DeviceVec<K>, OpError> {
        let device = lengths.device().clone();
        let column_bits = self.column_bits;
        let (keys, numbers) = collected.collect::<K>(&device, column_bits)?;
        let bits = SortOptions::default().with_bits(0..column_bits + collected.row_bits);
        let (keys, origins) = {
            let sorted = sort::pairs(Pairs::new(&keys, &numbers), bits)?;
            drop((keys, numbers));
            sorted
        };
        let launch = device.kernel().items(keys.len())?;
        let mut state = device.zeros(launch.grid() as usize + 1)?;
        let mut unique_keys = device.uninitialized(keys.len())?;
        let kernel = NumberCutEntries {
            keys: keys.as_global(),
            origins: origins.as_global(),
            places: self.places.as_global_mut(),
            flags: self.flags.as_global_mut(),
            unique_keys: unique_keys.as_global_mut(),
            unique_count: self.unique_count.as_global_mut(),
            row_numbers: row_numbers.as_global_mut(),
            row_counts: lengths.as_global_mut(),
            state: state.as_global_mut(),
            len: keys.len() as u32,
            column_bits,
        };
        // SAFETY: origins are a permutation of the keys' numbers, and outputs have an element per key; rows are those of
        // lengths and row numbers; the state has a word per tile and one more, all zero.
        unsafe { launch.launch(kernel) }?;
        Ok(unique_keys)
    }

    /// Cut entries.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of device memory, once columns are written.
    pub(super) fn bytes(&self) -> u64 {
        self.places.bytes() + self.c_places.bytes() + self.flags.bytes() + self.unique_count.bytes()
    }

    /// Writes the columns of cut rows to C.
    pub(super) fn place(
        &mut self,
        c_offsets: &DeviceSlice<u32>,
        c_columns: &mut DeviceSlice<u32>,
    ) -> Result<(), OpError> {
        let Some(UniqueKeys { keys, row_numbers }) = self.unique.take() else {
            return Ok(());
        };
        self.c_places = c_offsets.device().uninitialized(self.len())?;
        match keys {
            EntryKeys::Narrow(keys) => self.place_keys(&keys, &row_numbers, c_offsets, c_columns),
            EntryKeys::Wide(keys) => self.place_keys(&keys, &row_numbers, c_offsets, c_columns),
        }
    }

    fn place_keys<K: SortKey + RadixKey>(
        &mut self,
        keys: &DeviceSlice<K>,
        row_numbers: &DeviceSlice<u32>,
        c_offsets: &DeviceSlice<u32>,
        c_columns: &mut DeviceSlice<u32>,
    ) -> Result<(), OpError> {
        let device = c_offsets.device();
        let launch = device.kernel().threads(keys.len())?;
        let kernel = PlaceCutEntries {
            unique_keys: keys.as_global(),
            unique_count: self.unique_count.as_global(),
            row_numbers: row_numbers.as_global(),
            c_row_offsets: c_offsets.as_global(),
            c_column_indices: c_columns.as_global_mut(),
            c_places: self.c_places.as_global_mut(),
            column_bits: self.column_bits,
        };
        // SAFETY: there are no more distinct keys than keys, and C has as many entries of each row as were counted.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Adds up the values of equal entries, given in sorted order, and puts the sums into C.
    pub(super) fn reduce<V: Value>(
        &self,
        values: &DeviceSlice<V>,
        c_values: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        if values.is_empty() {
            return Ok(());
        }
        let device = values.device();
        let mut sums = device.uninitialized(values.len())?;
        let mut segments = device.zeros(1)?;
        reduce::by_flags_into(&self.flags, values, Operator::Sum, &mut sums, &mut segments)?;
        let launch = device.kernel().threads(values.len())?;
        let kernel = PlaceCutValues {
            values: sums.as_global(),
            unique_count: segments.as_global(),
            c_places: self.c_places.as_global(),
            c_values: c_values.as_global_mut(),
        };
        // SAFETY: there are as many sums as distinct entries, each of which has a place in C.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

/// Cut entries before they are collected.
struct Collected<'a, O: Offset> {
    entries: &'a ProductEntries<O>,
    tiles: &'a SortedTiles,
    tile_entries: &'a TileEntries,
    len: usize,
    row_bits: u32,
}

impl<O: Offset> Collected<'_, O> {
    /// The keys of cut entries, and numbers to tell where a sort puts them.
    fn collect<K: SortKey + RadixKey>(
        &self,
        device: &Device,
        column_bits: u32,
    ) -> Result<(DeviceVec<K>, DeviceVec<u32>), OpError> {
        let mut keys = device.uninitialized(self.len)?;
        let mut numbers = device.uninitialized(self.len)?;
        let TileEntries { columns, rows } = self.tile_entries;
        if let Some(rows) = rows {
            let launch = device.kernel().blocks(self.tiles.count as usize)?;
            let kernel = CollectEntries {
                columns: columns.as_global(),
                rows: rows.as_global(),
                begins: self.tiles.cut_begins.as_global(),
                keys: keys.as_global_mut(),
                numbers: numbers.as_global_mut(),
                column_bits,
                tile_len: self.tiles.tile_len,
            };
            // SAFETY: each tile has as many columns and rows as the block sort counted, `len` in all.
            unsafe { launch.launch(kernel) }?;
            return Ok((keys, numbers));
        }
        let launch = device.kernel().blocks(self.tiles.count as usize)?;
        let kernel = CollectCutEntries {
            tiles: self.tiles.view(columns),
            tile_begins: self.entries.tile_begins.as_global(),
            entry_rows: self.entries.rows.as_global(),
            cut_begins: self.tiles.cut_begins.as_global(),
            keys: keys.as_global_mut(),
            numbers: numbers.as_global_mut(),
            column_bits,
        };
        // SAFETY: the tiles' words and columns are of the block sort, which counted `len` cut entries.
        unsafe { launch.launch(kernel) }?;
        Ok((keys, numbers))
    }
}
