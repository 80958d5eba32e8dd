//! Radix sort on devices that run kernels: the passes of onesweep, alternating between two buffers.

use bytemuck::Pod;
use evenpath_kernels::block::radix_rank::{BINS, KeyOrder, Passes, RadixKey};
use evenpath_kernels::sort::{
    BASES_PER_PASS, BinStarts, Histogram, MAX_PORTION_KEYS, OnesweepKeys, OnesweepPairs, Pass, shared_bytes,
    status_words,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Aligned16, Element, Global, GlobalMut};

use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Kernels, instance, read_only};
use crate::keys::{Comparison, PairValue, SortKey};
use crate::operand::aligned::Aligned;
use crate::operand::{OpError, Pairs};

/// Maximum number of keys that one launch sorts. A status word could count more; this keeps the status small.
const PORTION_KEYS: usize = 1 << 28;
const _: () = assert!(PORTION_KEYS <= MAX_PORTION_KEYS);

/// Number of blocks of the histogram for which a multiprocessor has threads.
const HISTOGRAM_BLOCKS: usize = 8;

/// Keys, and values if any, in their representation for kernels: as unsigned integers.
#[derive(Clone, Copy)]
struct Input<B, W> {
    keys: Global<B>,
    values: Option<Global<W>>,
}

#[derive(Clone, Copy)]
struct SortOutput<B, W> {
    keys: GlobalMut<B>,
    values: Option<GlobalMut<W>>,
}

impl<B: Element, W: Element> SortOutput<B, W> {
    fn as_input(self) -> Input<B, W> {
        Input { keys: read_only(self.keys), values: self.values.map(read_only) }
    }
}

/// Elements in their representation for kernels: integers of the same size.
pub(crate) fn input<T: Pod + Element, B: Element>(vector: &DeviceSlice<T>) -> Global<B> {
    vector.as_global_of()
}

/// Elements in their representation for kernels, for writing.
pub(crate) fn output<T: Pod + Element, B: Element>(vector: &mut DeviceSlice<T>) -> GlobalMut<B> {
    vector.as_global_mut_of()
}

pub(crate) fn sort_keys<K: SortKey>(
    keys: &DeviceSlice<K>,
    comparison: Comparison<K::Bits>,
) -> Result<DeviceVec<K>, OpError> {
    let device = keys.device();
    let Some(mut sweep) = Sweep::<_, u32>::new(device, keys.len(), false, comparison)? else {
        return Ok(keys.copied()?);
    };
    let keys = Aligned::new(keys)?;
    let mut first = device.uninitialized(keys.len())?;
    let mut second = device.uninitialized(if sweep.passes.count() > 1 { keys.len() } else { 0 })?;
    let source = (keys.view().reinterpret(), None);
    let buffers = [&mut first, &mut second].map(|keys| SortOutput { keys: output(keys), values: None });
    // SAFETY: the buffers are of this device and as long as the keys, the second one where it is used.
    unsafe { sweep.run(source, buffers) }?;
    Ok(if sweep.ends_in_first() { first } else { second })
}

pub(crate) fn sort_keys_in_place<K: SortKey>(
    keys: &mut DeviceVec<K>,
    comparison: Comparison<K::Bits>,
) -> Result<(), OpError> {
    let device = keys.device().clone();
    let Some(mut sweep) = Sweep::<_, u32>::new(&device, keys.len(), false, comparison)? else {
        return Ok(());
    };
    let mut other = device.uninitialized(keys.len())?;
    let source = (keys.as_aligned().reinterpret(), None);
    let buffers = [&mut other, &mut *keys].map(|keys| SortOutput { keys: output(keys), values: None });
    // SAFETY: the buffers are of this device and as long as the keys; the first pass does not write the second.
    unsafe { sweep.run(source, buffers) }?;
    if sweep.ends_in_first() {
        std::mem::swap(keys, &mut other);
    }
    Ok(())
}

pub(crate) fn sort_pairs<K: SortKey, V: PairValue>(
    Pairs { keys, values }: Pairs<'_, K, V>,
    comparison: Comparison<K::Bits>,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let device = keys.device();
    let len = keys.len();
    let Some(mut sweep) = Sweep::<_, V::Bits>::new(device, len, true, comparison)? else {
        return Ok((keys.copied()?, values.copied()?));
    };
    let keys = Aligned::new(keys)?;
    let second_len = if sweep.passes.count() > 1 { len } else { 0 };
    let mut first = (device.uninitialized(len)?, device.uninitialized(len)?);
    let mut second = (device.uninitialized(second_len)?, device.uninitialized(second_len)?);
    let source = (keys.view().reinterpret(), Some(input(values)));
    let buffers = [&mut first, &mut second]
        .map(|(keys, values)| SortOutput { keys: output(keys), values: Some(output::<V, _>(values)) });
    // SAFETY: as in `sort_keys`.
    unsafe { sweep.run(source, buffers) }?;
    Ok(if sweep.ends_in_first() { first } else { second })
}

pub(crate) fn sort_pairs_in_place<K: SortKey, V: PairValue>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    comparison: Comparison<K::Bits>,
) -> Result<(), OpError> {
    sort_bits_in_place::<K, K::Bits, V, V::Bits>(keys, values, comparison)
}

/// Sorts keys and values that kernels treat as `B` and `W`, which have the same sizes.
pub(crate) fn sort_bits_in_place<K: Pod + Element, B: RadixKey, V: Pod + Element, W: Element>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    comparison: Comparison<B>,
) -> Result<(), OpError> {
    const { assert!(K::SIZE == B::SIZE && V::SIZE == W::SIZE) };
    let device = keys.device().clone();
    let len = keys.len();
    let Some(mut sweep) = Sweep::<B, W>::new(&device, len, true, comparison)? else {
        return Ok(());
    };
    let mut other_keys = device.uninitialized(len)?;
    let mut other_values = device.uninitialized(len)?;
    let source = (keys.as_aligned().reinterpret(), Some(input(values)));
    let buffers = [(&mut other_keys, &mut other_values), (&mut *keys, &mut *values)]
        .map(|(keys, values)| SortOutput { keys: output(keys), values: Some(output::<V, _>(values)) });
    // SAFETY: as in `sort_keys_in_place`.
    unsafe { sweep.run(source, buffers) }?;
    if sweep.ends_in_first() {
        std::mem::swap(keys, &mut other_keys);
        std::mem::swap(values, &mut other_values);
    }
    Ok(())
}

/// Bytes of device memory for a sort into new vectors, beside operands and results.
pub(crate) fn temporary_bytes<K: SortKey>(
    len: usize,
    value_bytes: Option<usize>,
    comparison: Comparison<K::Bits>,
) -> u64 {
    let info = match value_bytes {
        None => onesweep::<K::Bits, u32>(false),
        Some(4) => onesweep::<K::Bits, u32>(true),
        Some(_) => onesweep::<K::Bits, u64>(true),
    };
    let copied_bytes = if comparison.passes().count() > 1 { K::SIZE + value_bytes.unwrap_or(0) } else { 0 };
    bytes_with_copies(info, len, comparison.passes(), copied_bytes)
}

/// Bytes of the histogram, the status, and copies of `copied_bytes` bytes per element.
fn bytes_with_copies(info: &KernelInfo, len: usize, passes: Passes, copied_bytes: usize) -> u64 {
    if len < 2 || passes.count() == 0 {
        return 0;
    }
    let words = status_words(portion_tiles(len, info, PORTION_KEYS)) as u64;
    let state = u64::from(passes.count()) * BASES_PER_PASS as u64 * 8 + words * 4;
    state.saturating_add(len.saturating_mul(copied_bytes) as u64)
}

/// The kernels that sort pairs, to be compiled ahead.
pub(crate) fn pair_kernels<K: SortKey, V: PairValue>() -> Kernels {
    pass_kernels::<OnesweepPairs<K::Bits, V::Bits>, K::Bits>()
}

/// The kernel of a pass over keys `B`, and the kernels that find its bins.
fn pass_kernels<P: Kernel, B: RadixKey>() -> Kernels {
    Kernels::default().and::<Histogram<B>>().and::<BinStarts>().and::<P>()
}

/// The kernel of a pass.
fn onesweep<B: RadixKey, W: Element>(pairs: bool) -> &'static KernelInfo {
    if pairs { instance::<OnesweepPairs<B, W>>() } else { instance::<OnesweepKeys<B>>() }
}

/// Number of tiles in the longest portion of `len` keys.
fn portion_tiles(len: usize, info: &KernelInfo, portion_keys: usize) -> usize {
    let tile = info.tile_items();
    len.div_ceil(tile).min((portion_keys / tile).max(1))
}

/// A sort about to run: its passes, kernels and temporary memory.
struct Sweep<B: RadixKey, W> {
    device: Device,
    len: usize,
    comparison: Comparison<B>,
    passes: Passes,
    info: &'static KernelInfo,
    /// Number of keys per portion: whole tiles.
    portion: usize,
    bases: DeviceVec<u64>,
    status: DeviceVec<u32>,
    values: std::marker::PhantomData<W>,
}

impl<B: RadixKey, W: Element> Sweep<B, W> {
    /// Returns `None` if there is nothing to sort.
    fn new(
        device: &Device,
        len: usize,
        pairs: bool,
        comparison: Comparison<B>,
    ) -> Result<Option<Self>, DeviceError> {
        Self::with_portion(device, len, pairs, comparison, PORTION_KEYS)
    }

    fn with_portion(
        device: &Device,
        len: usize,
        pairs: bool,
        comparison: Comparison<B>,
        portion_keys: usize,
    ) -> Result<Option<Self>, DeviceError> {
        let passes = comparison.passes();
        if len < 2 || passes.count() == 0 {
            return Ok(None);
        }
        device.prepare(if pairs {
            pass_kernels::<OnesweepPairs<B, W>, B>
        } else {
            pass_kernels::<OnesweepKeys<B>, B>
        })?;
        let info = onesweep::<B, W>(pairs);
        let tiles = portion_tiles(len, info, portion_keys);
        Ok(Some(Self {
            device: device.clone(),
            len,
            comparison,
            passes,
            info,
            portion: tiles * info.tile_items(),
            bases: device.zeros(passes.count() as usize * BASES_PER_PASS)?,
            status: device.uninitialized(status_words(tiles))?,
            values: std::marker::PhantomData,
        }))
    }

    /// Returns whether the result is in the first of the buffers.
    fn ends_in_first(&self) -> bool {
        self.passes.count() % 2 == 1
    }

    /// Sorts from a source, keys and their values if any, to `buffers`, which are written in turn.
    ///
    /// # Safety
    ///
    /// The views are of live buffers of the device, `len` long; the second output if there is more than one
    /// pass. The first output is not the source.
    unsafe fn run(
        &mut self,
        (keys, values): (Global<B, Aligned16>, Option<Global<W>>),
        buffers: [SortOutput<B, W>; 2],
    ) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.find_bases(keys) }?;
        let mut from = Input { keys: keys.natural(), values };
        for pass in 0..self.passes.count() {
            let to = buffers[pass as usize % 2];
            // SAFETY: guaranteed by the caller; no pass reads and writes the same buffer.
            unsafe { self.pass(pass, from, to) }?;
            from = to.as_input();
        }
        Ok(())
    }

    /// Counts the digits of all passes.
    unsafe fn find_bases(&mut self, keys: Global<B, Aligned16>) -> Result<(), DeviceError> {
        let resident = self.device.properties().multiprocessors as usize * HISTOGRAM_BLOCKS;
        let blocks = self.len.div_ceil(instance::<Histogram<B>>().tile_items()).min(resident);
        let count = self.device.kernel().blocks(blocks)?;
        let starts = self.device.kernel().blocks(self.passes.count() as usize)?;
        let histogram = Histogram {
            keys,
            bases: self.bases.as_global_mut(),
            len: self.len as u64,
            begin: self.comparison.begin,
            end: self.comparison.end,
            order: self.comparison.order,
        };
        // SAFETY: guaranteed by the caller; there are bases for every pass.
        unsafe {
            count.launch(histogram)?;
            starts.launch(BinStarts { bases: self.bases.as_global_mut() })
        }
    }

    unsafe fn pass(&mut self, pass: u32, from: Input<B, W>, to: SortOutput<B, W>) -> Result<(), DeviceError> {
        for (index, first) in (0..self.len).step_by(self.portion).enumerate() {
            let len = self.portion.min(self.len - first);
            self.status.set_zero()?;
            let row = |index: usize| pass as usize * BASES_PER_PASS + index % 2 * BINS;
            let sweep = Pass {
                bases: self.bases.as_global().skip(row(index)),
                next_bases: self.bases.as_global_mut().skip(row(index + 1)),
                status: self.status.as_global_mut(),
                len: len as u32,
                digit: self.passes.digit(pass),
                order_in: if pass == 0 { self.comparison.order } else { KeyOrder::UNSIGNED },
                order_out: if pass + 1 == self.passes.count() {
                    self.comparison.order
                } else {
                    KeyOrder::UNSIGNED
                },
            };
            let from =
                Input { keys: from.keys.skip(first), values: from.values.map(|values| values.skip(first)) };
            // SAFETY: guaranteed by the caller; the status is zero and has words for every tile.
            unsafe { self.launch(sweep, from, to) }?;
        }
        Ok(())
    }

    /// Launches a pass over a portion.
    unsafe fn launch(
        &self,
        pass: Pass<B>,
        Input { keys, values }: Input<B, W>,
        to: SortOutput<B, W>,
    ) -> Result<(), DeviceError> {
        let (sorted_keys, len) = (to.keys, pass.len as usize);
        let shared = |value_bytes| {
            let (block, items) = (self.info.block_size as usize, self.info.items_per_thread as usize);
            shared_bytes(B::SIZE, value_bytes, block, items)
        };
        if let (Some(values), Some(sorted_values)) = (values, to.values) {
            let launch = self.device.kernel().shared_bytes(shared(W::SIZE)).items(len)?;
            // SAFETY: guaranteed by the caller.
            return unsafe {
                launch.launch(OnesweepPairs { keys, sorted_keys, values, sorted_values, pass })
            };
        }
        let launch = self.device.kernel().shared_bytes(shared(0)).items(len)?;
        // SAFETY: guaranteed by the caller.
        unsafe { launch.launch(OnesweepKeys { keys, sorted_keys, pass }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedOptions;

    /// Inputs over the limit of one launch, with a limit that is small enough to test.
    #[test]
    fn portions_continue_each_other() {
        let device = Device::simulated(SimulatedOptions::default());
        let comparison = Comparison { order: KeyOrder::UNSIGNED, begin: 0, end: 12 };
        let tile = onesweep::<u32, u32>(true).tile_items();
        for len in [2 * tile, 5 * tile + 1, 7 * tile - 1] {
            let keys: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 11).collect();
            let mut expected: Vec<(u32, u64)> = keys.iter().copied().zip(0..).collect();
            expected.sort_by_key(|(key, _)| key & 0xFFF);
            let source = device.upload(&keys).expect("upload");
            let places = device.upload(&(0..len as u64).collect::<Vec<_>>()).expect("upload");
            let mut sweep = Sweep::<u32, u64>::with_portion(&device, len, true, comparison, 2 * tile)
                .expect("memory")
                .expect("something to sort");
            assert!(sweep.portion <= 2 * tile);
            let mut buffers = [(); 2].map(|()| {
                let keys = device.uninitialized::<u32>(len).expect("memory");
                (keys, device.uninitialized::<u64>(len).expect("memory"))
            });
            let source = (source.as_aligned(), Some(input(&places)));
            let outputs = buffers.each_mut().map(|(keys, values)| SortOutput {
                keys: output(keys),
                values: Some(output::<u64, _>(values)),
            });
            // SAFETY: all buffers are `len` long and of this device.
            unsafe { sweep.run(source, outputs) }.expect("sorted");
            let (keys, values) = &buffers[usize::from(!sweep.ends_in_first())];
            let sorted =
                keys.download().expect("download").into_iter().zip(values.download().expect("download"));
            assert!(sorted.eq(expected), "{len} keys");
        }
    }
}
