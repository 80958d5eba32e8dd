use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use super::schedule::{schedule_bytes, DrawnTile, TileDraws, Waiting};
use super::values::ResultValues;
use super::walk::SetShare;
use crate::block::count_scan::ScannedCount;
use crate::block::output;
use crate::block::two_sequences::{staged_bytes, Fetched, Sequences};
use crate::key::Combine;
use crate::{Key, ValueBits};

kernel! {
    /// Computes a set operation of keys. Blocks draw tiles by ticket until there are none left, so a grid has as many
    /// blocks as run at once.
    pub struct SetKeys<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Starts of the tiles, from [`SetPartition`](super::SetPartition).
        pub starts: Global<u64>,
        /// The state that [`SetPartition`](super::SetPartition) prepared; in it the size of the result.
        pub states: GlobalMut<u64>,
        /// Output: the result's keys, sorted; nothing is written past `capacity`.
        pub result: GlobalMut<K>,
        /// The most elements of the result that are written.
        pub capacity: u64,
        /// Elements that are kept: bits of [`keep`](super::keep).
        pub operation: u32,
        /// Tiles.
        pub tiles: u32,
    }
    shared: 0;
    body: SetKeys::keys::<BLOCK, ITEMS>;
    entry: sets_keys_{K} in sets_{K}: (K, N, R) in [(u32, 23, 4), (u64, 15, 3)], 256 x N resident R;
}

impl<K: Key> SetKeys<K> {
    fn keys<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic(keys_shared_bytes::<K>(BLOCK, ITEMS));
        let schedule =
            TileDraws::<K, BLOCK, ITEMS>::new(&mut arena, self.starts, self.states, self.inputs, self.tiles);
        let mut memory = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
        let mut results = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
        let mut waiting = Waiting::NONE;
        let mut tile = schedule.first();
        let mut fetched = tile.pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        while schedule.has(tile) {
            let Selected { counted, .. } = select(&schedule, tile, &fetched, memory, waiting, self.operation);
            let next = schedule.announced();
            fetched = next.pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
            let (start, count) = schedule.place(waiting, self.capacity);
            output::store::<K, BLOCK, ITEMS>(results, self.result, start, count);
            thread::barrier();
            waiting = Waiting { tile: tile.number, count: counted.total };
            (memory, results) = (results, memory);
            tile = next;
        }
        schedule.find_place(waiting);
        thread::barrier();
        let (start, count) = schedule.place(waiting, self.capacity);
        output::store::<K, BLOCK, ITEMS>(results, self.result, start, count);
    }
}

kernel! {
    /// Computes a set operation of pairs of key and value; blocks draw tiles as in [`SetKeys`].
    pub struct SetPairs<K: Key, V: ValueBits> {
        /// The keys of both sequences, sorted.
        pub inputs: Sequences<K>,
        /// Values of the first sequence, one per key.
        pub a_values: Global<V>,
        /// Values of the second.
        pub b_values: Global<V>,
        /// Starts of the tiles, from [`SetPartition`](super::SetPartition).
        pub starts: Global<u64>,
        /// The state that [`SetPartition`](super::SetPartition) prepared; in it the size of the result.
        pub states: GlobalMut<u64>,
        /// Output: the result's keys, sorted; nothing is written past `capacity`.
        pub keys: GlobalMut<K>,
        /// Output: their values.
        pub values: GlobalMut<V>,
        /// The most elements of the result that are written.
        pub capacity: u64,
        /// Elements that are kept: bits of [`keep`](super::keep).
        pub operation: u32,
        /// The value of a match: the code of a [`Combine`].
        pub combine: u32,
        /// Tiles.
        pub tiles: u32,
    }
    shared: 0;
    body: SetPairs::pairs::<BLOCK, ITEMS>;
    entry: sets_pairs_{K}_{V bits} in sets_pairs_{K}:
        (K, V, N, R) in [(u32, u32, 11, 4), (u32, u64, 9, 4), (u64, u32, 10, 3), (u64, u64, 9, 3)], 256 x N resident R;
}

impl<K: Key, V: ValueBits> SetPairs<K, V> {
    fn pairs<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic(pairs_shared_bytes::<K>(BLOCK, ITEMS));
        let schedule =
            TileDraws::<K, BLOCK, ITEMS>::new(&mut arena, self.starts, self.states, self.inputs, self.tiles);
        let combine = Combine::from_code(self.combine);
        let mut memory = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
        let mut results = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
        let mut origins: Shared<u32> = arena.take(BLOCK * ITEMS);
        let mut result_origins: Shared<u32> = arena.take(BLOCK * ITEMS);
        let mut waiting = Waiting::NONE;
        // The values of the waiting tile, from its first of each input.
        let mut inputs = (self.a_values, self.b_values);
        let mut tile = schedule.first();
        let mut fetched = tile.pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        while schedule.has(tile) {
            let Selected { share, kept, counted } =
                select(&schedule, tile, &fetched, memory, waiting, self.operation);
            share.scatter_origins(kept, origins, counted.before);
            let next = schedule.announced();
            fetched = next.pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
            let fetched_values =
                ResultValues::<V, BLOCK, ITEMS>::fetch(inputs, result_origins, waiting.count);
            let (start, count) = schedule.place(waiting, self.capacity);
            output::store::<K, BLOCK, ITEMS>(results, self.keys, start, count);
            fetched_values.combined(inputs, result_origins, waiting.count, combine).store(
                self.values,
                start,
                count,
            );
            thread::barrier();
            waiting = Waiting { tile: tile.number, count: counted.total };
            inputs = (self.a_values.skip(tile.pair.a_first()), self.b_values.skip(tile.pair.b_first()));
            (memory, results) = (results, memory);
            (origins, result_origins) = (result_origins, origins);
            tile = next;
        }
        let fetched_values = ResultValues::<V, BLOCK, ITEMS>::fetch(inputs, result_origins, waiting.count);
        schedule.find_place(waiting);
        thread::barrier();
        let (start, count) = schedule.place(waiting, self.capacity);
        output::store::<K, BLOCK, ITEMS>(results, self.keys, start, count);
        fetched_values.combined(inputs, result_origins, waiting.count, combine).store(
            self.values,
            start,
            count,
        );
    }
}

/// A thread's part of the selection from a tile.
struct Selected<K, const ITEMS: usize> {
    share: SetShare<K, ITEMS>,
    /// A bit for each step of the share that is kept.
    kept: u32,
    /// Number of steps that are kept.
    counted: ScannedCount<u32>,
}

/// Selects the results of a fetched tile; after a barrier, `memory` holds their keys. Also draws the next tile and finds the
/// place of the waiting results.
#[device(track_caller)]
fn select<K: Key, const BLOCK: usize, const ITEMS: usize>(
    schedule: &TileDraws<K, BLOCK, ITEMS>,
    tile: DrawnTile,
    fetched: &Fetched<K, BLOCK, ITEMS>,
    memory: Shared<K>,
    waiting: Waiting,
    operation: u32,
) -> Selected<K, ITEMS> {
    let staged = fetched.stage(memory);
    let ticket = schedule.draw();
    thread::barrier();
    let start = SetShare::<K, ITEMS>::search(&tile.pair, staged);
    let bounds = schedule.look_up(ticket);
    let share = SetShare::walk(&tile.pair, staged, start);
    let kept = share.kept(operation);
    schedule.announce(ticket, bounds);
    schedule.find_place(waiting);
    // After its barrier the results may replace the tile, and the next tile and the place are known.
    let counted = schedule.count(tile, kept.count_ones());
    share.scatter_keys(kept, memory, counted.before);
    Selected { share, kept, counted }
}

/// Bytes of launch-sized shared memory of [`SetKeys`]: the tile, and the results that wait.
///
/// Tile sizes are such that the resident blocks take at most 196 KiB of an H200's multiprocessor. That leaves its loads
/// 60 KiB of cache; the next larger share of shared memory, 228 KiB, leaves 28, which costs a tenth of the speed.
pub const fn keys_shared_bytes<K: Element>(block: usize, items: usize) -> u32 {
    (schedule_bytes(block) + 2 * staged_bytes::<K>(block, items)) as u32
}

/// Bytes of launch-sized shared memory of [`SetPairs`]: as for [`SetKeys`], and the origins of the values.
pub const fn pairs_shared_bytes<K: Element>(block: usize, items: usize) -> u32 {
    keys_shared_bytes::<K>(block, items) + (2 * 4 * block * items) as u32
}
