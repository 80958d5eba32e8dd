//! Every operation of the machine that kernels are written against, on the simulated GPU and on a real one.

use evenpath_kernels::testing::{
    Atomics, BlockSum, Clock, ConditionalBarrier, MessagePassing, WARP_RESULTS, WarpCollectives,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_tests::kernel_devices;

fn only<K: Kernel>() -> &'static KernelInfo {
    K::first().expect("the table has an instance")
}

#[test]
fn a_barrier_between_two_branches_on_one_condition() {
    for under_test in kernel_devices() {
        for len in [1, 31, 32, 33, 100, 128] {
            let device = &under_test.device;
            let mut data = device.upload_slice(&(0..len).collect::<Vec<u32>>()).expect("upload");
            let kernel = ConditionalBarrier { data: data.as_global_mut(), len };
            // SAFETY: the buffer has `len` elements and lives until it is read.
            unsafe { device.launch(kernel, only::<ConditionalBarrier>(), 1, 0) }.expect("launch");
            let rotated: Vec<u32> = (1..len).chain([0]).collect();
            assert_eq!(data.to_vec().expect("download"), rotated, "{device}");
        }
    }
}

#[test]
fn warp_collectives() {
    let values: Vec<u64> = (0..32).map(|lane| lane * lane * 0x1_0000_0003 + lane % 5).collect();
    let low = |lane: usize| values[lane] as u32;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let input = device.upload_slice(&values).expect("upload");
        let mut results = device.uninitialised(32 * WARP_RESULTS).expect("memory");
        let kernel = WarpCollectives { values: input.as_global(), results: results.as_global_mut() };
        // SAFETY: the buffers are as long as the kernel takes them to be, and live until they are read.
        unsafe { device.launch(kernel, only::<WarpCollectives>(), 1, 0) }.expect("launch");
        let results: Vec<u64> = results.to_vec().expect("download");
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
fn atomics() {
    const BLOCKS: u32 = 50;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut words = device.upload_slice(&[0, u32::MAX, 0, 0, 0]).expect("upload");
        let mut wide = device.zeros::<u64>(1).expect("zeros");
        let mut float = device.zeros::<f64>(1).expect("zeros");
        let kernel = Atomics {
            words: words.as_global_mut(),
            wide: wide.as_global_mut(),
            float: float.as_global_mut(),
        };
        let info = only::<Atomics>();
        // SAFETY: the buffers are as long as the kernel takes them to be, and live until they are read.
        unsafe { device.launch(kernel, info, BLOCKS, 0) }.expect("launch");
        let threads = BLOCKS * info.block_size;
        let sum = threads * (threads - 1) / 2;
        let words = words.to_vec().expect("download");
        assert_eq!((words[0], words[1], words[2], words[4]), (sum, 1, threads - 1, threads), "{device}");
        assert!(words[3] < threads, "{device}");
        assert_eq!(wide.to_vec().expect("download"), [u64::from(sum)], "{device}");
        assert_eq!(float.to_vec().expect("download"), [f64::from(threads)], "{device}");
    }
}

#[test]
fn shared_memory_that_the_launch_sizes() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let info = only::<BlockSum<f64>>();
        let size = info.block_size as usize;
        let values: Vec<f64> = (0..3 * size).map(|i| i as f64).collect();
        let input = device.upload_slice(&values).expect("upload");
        let mut sums = device.uninitialised(3).expect("memory");
        let kernel = BlockSum { values: input.as_global(), sums: sums.as_global_mut() };
        // SAFETY: the buffers are as long as the kernel takes them to be, and live until they are read.
        unsafe { device.launch(kernel, info, 3, info.block_size * 8) }.expect("launch");
        let expected: Vec<f64> = values.chunks_exact(size).map(|block| block.iter().sum()).collect();
        assert_eq!(sums.to_vec().expect("download"), expected, "{device}");
    }
}

#[test]
fn blocks_that_wait_for_each_other() {
    const BLOCKS: u32 = 300;
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut ticket = device.zeros(1).expect("zeros");
        let mut flags = device.zeros(BLOCKS as usize).expect("zeros");
        let mut sums = device.uninitialised(BLOCKS as usize).expect("memory");
        let kernel = MessagePassing {
            ticket: ticket.as_global_mut(),
            flags: flags.as_global_mut(),
            sums: sums.as_global_mut(),
        };
        // SAFETY: the buffers are as long as the kernel takes them to be, and live until they are read.
        unsafe { device.launch(kernel, only::<MessagePassing>(), BLOCKS, 0) }.expect("launch");
        let expected: Vec<u64> = (0..u64::from(BLOCKS)).map(|block| block * (block + 1) / 2).collect();
        assert_eq!(sums.to_vec().expect("download"), expected, "{device}");
    }
}

#[test]
fn the_clock_grows_and_an_opaque_number_stays() {
    for under_test in kernel_devices() {
        let device = &under_test.device;
        let mut readings = device.uninitialised(128).expect("memory");
        let mut numbers = device.uninitialised(64).expect("memory");
        let kernel = Clock { readings: readings.as_global_mut(), numbers: numbers.as_global_mut() };
        // SAFETY: the buffers are as long as the kernel takes them to be, and live until they are read.
        unsafe { device.launch(kernel, only::<Clock>(), 1, 0) }.expect("launch");
        let readings: Vec<u64> = readings.to_vec().expect("download");
        let latest_before = readings.iter().step_by(2).max();
        let earliest_after = readings[1..].iter().step_by(2).min();
        assert!(latest_before < earliest_after, "{device}: {latest_before:?}, {earliest_after:?}");
        assert_eq!(numbers.to_vec().expect("download"), (1..=64).collect::<Vec<u32>>(), "{device}");
    }
}
