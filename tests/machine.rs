//! Every operation of the machine that kernels use, on the simulated GPU and on a real one.

use evenpath::Device;
use evenpath_kernels::testing::{
    ACCESS_RESULTS, AtomicElements, AtomicIntegers, Atomics, BIT_COUNTS, BitCounts, BlockSum, Clock,
    ConditionalBarrier, MemoryAccesses, MessagePassing, Packets, VectorCopy, WARP_RESULTS, WarpCollectives,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Element, Global, GlobalMut};
use evenpath_tests::kernel_devices;
use rayon::prelude::*;

fn only<K: Kernel>() -> &'static KernelInfo {
    K::first().expect("the table has an instance")
}

#[test]
fn a_barrier_between_two_branches_on_one_condition() {
    for under_test in kernel_devices() {
        for len in [1, 31, 32, 33, 100, 128] {
            let device = &under_test.device;
            let mut data = device.upload(&(0..len).collect::<Vec<u32>>()).expect("upload");
            let kernel = ConditionalBarrier { data: data.as_global_mut(), len };
            // SAFETY: the buffer has `len` elements and lives until it is read.
            unsafe { device.launch(kernel, only::<ConditionalBarrier>(), 1, 0) }.expect("launch");
            let rotated: Vec<u32> = (1..len).chain([0]).collect();
            assert_eq!(data.download().expect("download"), rotated, "{device}");
        }
    }
}

/// A thread that waits for a launch must not steal another task that waits for the device.
#[test]
fn launches_from_tasks_of_a_thread_pool() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        (0..40_u32).into_par_iter().for_each(|_| {
            let mut words = device.upload(&[0, u32::MAX, 0, 0, 0]).expect("upload");
            let mut wide = device.zeros::<u64>(1).expect("zeros");
            let mut float = device.zeros::<f64>(1).expect("zeros");
            let kernel = Atomics {
                words: words.as_global_mut(),
                wide: wide.as_global_mut(),
                float: float.as_global_mut(),
            };
            // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
            unsafe { device.launch(kernel, only::<Atomics>(), 8, 0) }.expect("launch");
            assert_eq!(float.download().expect("download"), [512.0], "{device}");
        });
    }
}

#[test]
fn warp_collectives() {
    let values: Vec<u64> = (0..32).map(|lane| lane * lane * 0x1_0000_0003 + lane % 5).collect();
    let low = |lane: usize| values[lane] as u32;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let input = device.upload(&values).expect("upload");
        let mut results = device.uninitialized(32 * WARP_RESULTS).expect("memory");
        let kernel = WarpCollectives { values: input.as_global(), results: results.as_global_mut() };
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, only::<WarpCollectives>(), 1, 0) }.expect("launch");
        let results: Vec<u64> = results.download().expect("download");
        let set =
            |wanted: &dyn Fn(usize) -> bool| (0..32).filter(|&l| wanted(l)).fold(0, |set, l| set | 1 << l);
        for (lane, result) in results.chunks_exact(WARP_RESULTS).enumerate() {
            let expected = [
                values[if lane >= 3 { lane - 3 } else { lane }],
                values[if lane < 29 { lane + 3 } else { lane }],
                values[lane ^ 5],
                values[7],
                set(&|other| low(other) % 2 == 1),
                set(&|other| low(other) & 3 == low(lane) & 3),
                u64::from((0..32).any(|other| low(other) == 0)),
                values.iter().sum(),
                values[31 - lane],
            ];
            assert_eq!(result, expected, "{device}, lane {lane}");
        }
    }
}

#[test]
fn sixteen_bytes_at_a_time() {
    fn check<T: evenpath_simt::Element + bytemuck::Pod>(value: impl Fn(usize) -> T) {
        let each = 16 / T::SIZE;
        let values: Vec<T> = (0..64 * each).map(value).collect();
        for under_test in kernel_devices() {
            let device = &under_test.device;
            let source = device.upload(&values).expect("upload");
            let mut reversed = device.uninitialized::<T>(64 * each).expect("memory");
            let mut last = device.uninitialized::<T>(64).expect("memory");
            let mut copied = device.uninitialized::<T>(64 * each).expect("memory");
            let kernel = Packets {
                source: source.as_aligned(),
                reversed: reversed.as_aligned_mut(),
                last: last.as_global_mut(),
                copied: copied.as_aligned_mut(),
            };
            // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
            unsafe { device.launch(kernel, only::<Packets<T>>(), 1, 0) }.expect("launch");
            let expected: Vec<T> = values.chunks(each).rev().flatten().copied().collect();
            assert_eq!(reversed.download().expect("download"), expected, "{device}");
            assert_eq!(copied.download().expect("download"), expected, "{device}");
            let expected: Vec<T> = values.chunks(each).map(|packet| packet[each - 1]).collect();
            assert_eq!(last.download().expect("download"), expected, "{device}");
        }
    }
    check(|i| i as u32 * 7919);
    check(|i| i as f64 / 3.0);
}

#[test]
fn atomics() {
    const BLOCKS: u32 = 50;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut words = device.upload(&[0, u32::MAX, 0, 0, 0]).expect("upload");
        let mut wide = device.zeros::<u64>(1).expect("zeros");
        let mut float = device.zeros::<f64>(1).expect("zeros");
        let kernel = Atomics {
            words: words.as_global_mut(),
            wide: wide.as_global_mut(),
            float: float.as_global_mut(),
        };
        let info = only::<Atomics>();
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, info, BLOCKS, 0) }.expect("launch");
        let threads = BLOCKS * info.block_size;
        let sum = threads * (threads - 1) / 2;
        let words = words.download().expect("download");
        assert_eq!((words[0], words[1], words[2], words[4]), (sum, 1, threads - 1, threads), "{device}");
        assert!(words[3] < threads, "{device}");
        assert_eq!(wide.download().expect("download"), [u64::from(sum)], "{device}");
        assert_eq!(float.download().expect("download"), [f64::from(threads)], "{device}");
    }
}

#[test]
fn shared_memory_that_the_launch_sizes() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let info = only::<BlockSum<f64>>();
        let size = info.block_size as usize;
        let values: Vec<f64> = (0..3 * size).map(|i| i as f64).collect();
        let input = device.upload(&values).expect("upload");
        let mut sums = device.uninitialized(3).expect("memory");
        let kernel = BlockSum { values: input.as_global(), sums: sums.as_global_mut() };
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, info, 3, info.block_size * 8) }.expect("launch");
        let expected: Vec<f64> = values.chunks_exact(size).map(|block| block.iter().sum()).collect();
        assert_eq!(sums.download().expect("download"), expected, "{device}");
    }
}

#[test]
fn accesses_of_several_elements() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let input: Vec<u64> = (0..32 * 6 * 3).map(|i| i * i).collect();
        check_vector_copy(device, &input.iter().map(|&i| i as u16).collect::<Vec<_>>());
        check_vector_copy(device, &input.iter().map(|&i| i as f32).collect::<Vec<_>>());
        check_vector_copy(device, &input);
    }
}

fn check_vector_copy<V: Element + bytemuck::Pod>(device: &Device, values: &[V]) {
    let source = device.upload(values).expect("upload");
    let mut target = device.uninitialized(values.len()).expect("memory");
    let kernel = VectorCopy { source: source.as_aligned(), target: target.as_aligned_mut() };
    // SAFETY: the buffers have six elements per thread, and live until they are read.
    unsafe { device.launch(kernel, only::<VectorCopy<V>>(), 3, 0) }.expect("launch");
    assert_eq!(target.download().expect("download"), values, "{device}");
}

#[test]
fn blocks_that_wait_for_each_other() {
    const BLOCKS: u32 = 300;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut ticket = device.zeros(1).expect("zeros");
        let mut flags = device.zeros(BLOCKS as usize).expect("zeros");
        let mut sums = device.uninitialized(BLOCKS as usize).expect("memory");
        let kernel = MessagePassing {
            ticket: ticket.as_global_mut(),
            flags: flags.as_global_mut(),
            sums: sums.as_global_mut(),
        };
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, only::<MessagePassing>(), BLOCKS, 0) }.expect("launch");
        let expected: Vec<u64> = (0..u64::from(BLOCKS)).map(|block| block * (block + 1) / 2).collect();
        assert_eq!(sums.download().expect("download"), expected, "{device}");
    }
}

macro_rules! for_types {
    ($check:ident, $($type:ty)*) => { $($check!($type);)* };
}

#[test]
fn memory_of_every_type() {
    macro_rules! check {
        ($type:ty) => {
            // Values that exercise every byte of the element, and its sign.
            let values: Vec<$type> = (0..128_u64)
                .map(|i| <$type as Element>::from_bits((i + 1).wrapping_mul(0x81c3_a5e7_5d6b_4f21)))
                .collect();
            for under_test in kernel_devices() {
                let device = &under_test.device;
                let input = device.upload(&values).expect("upload");
                let mut results = device.uninitialized(32 * ACCESS_RESULTS).expect("memory");
                let kernel = MemoryAccesses { values: input.as_aligned(), results: results.as_global_mut() };
                // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
                unsafe { device.launch(kernel, only::<MemoryAccesses<$type>>(), 1, 0) }.expect("launch");
                let results: Vec<$type> = results.download().expect("download");
                for (lane, result) in results.chunks_exact(ACCESS_RESULTS).enumerate() {
                    let [two, four] = [lane * 2, lane * 4];
                    let places = [
                        lane,
                        lane,
                        two,
                        two + 1,
                        four,
                        four + 1,
                        four + 2,
                        four + 3,
                        31 - lane,
                        lane ^ 1,
                        lane,
                    ];
                    let expected = places.map(|place| values[place].to_bits());
                    assert!(
                        result.iter().map(|it| it.to_bits()).eq(expected),
                        "{device}, lane {lane}: {result:?}"
                    );
                }
            }
        };
    }
    for_types!(check, u8 u16 u32 u64 i32 i64 f32 f64);
}

/// Runs a kernel of one block on a word and operands, and returns its results.
fn on_a_word<T: Element + bytemuck::Pod, K: Kernel>(
    device: &Device,
    count: usize,
    word: T,
    operands: [T; 3],
    kernel: fn(GlobalMut<T>, Global<T>, GlobalMut<T>) -> K,
) -> Vec<T> {
    let mut word = device.upload(&[word]).expect("upload");
    let operands = device.upload(&operands).expect("upload");
    let mut results = device.uninitialized(count).expect("memory");
    let kernel = kernel(word.as_global_mut(), operands.as_global(), results.as_global_mut());
    // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
    unsafe { device.launch(kernel, only::<K>(), 1, 0) }.expect("launch");
    results.download().expect("download")
}

#[test]
fn atomics_of_every_type() {
    macro_rules! check {
        ($type:ty) => {
            let [word, a, b, c] = [3 as $type, 5 as $type, 8 as $type, 13 as $type];
            for under_test in kernel_devices() {
                let results = on_a_word(&under_test.device, 7, word, [a, b, c], |word, operands, results| {
                    AtomicElements { word, operands, results }
                });
                assert_eq!(results, [word, word + a, word + a + b, c, a, a, a + b], "{}", under_test.device);
            }
        };
    }
    for_types!(check, u32 u64 i32 i64 f32 f64);
}

#[test]
fn atomics_of_integers() {
    macro_rules! check {
        ($type:ty) => {
            // Smaller or greater, depending on the sign.
            let high: $type = 1 << (<$type>::BITS - 1);
            for (word, a, b) in [(7, 5, 9), (5, 7, 3), (7, high, 9), (high, 7, high | 9), (high, high | 5, 1)]
            {
                let c = b ^ 12;
                let (after_min, after_max) = (a.min(word), b.max(a.min(word)));
                let swapped = if after_max == b { c } else { after_max };
                for under_test in kernel_devices() {
                    let results =
                        on_a_word(&under_test.device, 10, word, [a, b, c], |word, operands, results| {
                            AtomicIntegers { word, operands, results }
                        });
                    assert_eq!(
                        results,
                        [word, after_min, after_max, swapped, swapped, b, c, c, c, c | a],
                        "{}",
                        under_test.device
                    );
                }
            }
        };
    }
    for_types!(check, u32 u64 i32 i64);
}

#[test]
fn the_clock_increases_and_an_opaque_number_is_unchanged() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut readings = device.uninitialized(128).expect("memory");
        let mut numbers = device.uninitialized(64).expect("memory");
        let kernel = Clock { readings: readings.as_global_mut(), numbers: numbers.as_global_mut() };
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, only::<Clock>(), 1, 0) }.expect("launch");
        let readings: Vec<u64> = readings.download().expect("download");
        let latest_before = readings.iter().step_by(2).max();
        let earliest_after = readings[1..].iter().step_by(2).min();
        assert!(latest_before < earliest_after, "{device}: {latest_before:?}, {earliest_after:?}");
        assert_eq!(numbers.download().expect("download"), (1..=64).collect::<Vec<u32>>(), "{device}");
    }
}

#[test]
fn bits_of_words() {
    // Runs of ones of every length and position, so that the counts differ between the halves of a word; and
    // zero.
    let words: Vec<u64> = (0..64).map(|i| u64::MAX >> i << (i / 2)).chain([0]).skip(1).collect();
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let input = device.upload(&words).expect("upload");
        let mut counts = device.uninitialized(64 * BIT_COUNTS).expect("memory");
        let kernel = BitCounts { words: input.as_global(), counts: counts.as_global_mut() };
        // SAFETY: the buffers have the lengths that the kernel expects, and live until they are read.
        unsafe { device.launch(kernel, only::<BitCounts>(), 1, 0) }.expect("launch");
        let counts: Vec<u32> = counts.download().expect("download");
        for (word, counts) in words.iter().zip(counts.chunks_exact(BIT_COUNTS)) {
            let expected = [word.count_ones(), word.leading_zeros(), word.trailing_zeros()];
            assert_eq!(counts, expected, "{word:#x} on {device}");
        }
    }
}
