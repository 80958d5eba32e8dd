//! What a GPU is to do as long as no kernel faults.

use std::time::Instant;

use evenpath::device::{Device, DeviceError, DeviceKind};
use evenpath_kernels::testing::FaultOutOfBounds;
use evenpath_simt::kernel::Kernel;

use crate::support::{STORE, assert_works, cases, gpu, store};

cases! {
    the_device_is_ready_soon,
    the_best_device_is_the_gpu,
    a_gpu_that_is_not_there_is_named,
    buffers_keep_what_is_written,
    kernels_write_to_buffers,
    events_tell_the_time_between,
    two_devices_work_at_once,
    threads_share_a_device,
    buffers_of_two_devices_do_not_mix,
    the_memory_limit_refuses,
    impossible_allocations_are_refused,
    freed_memory_is_there_for_other_sizes,
    freed_memory_is_used_again,
    launches_over_a_limit_are_refused,
}

fn the_device_is_ready_soon() {
    let start = Instant::now();
    let device = gpu();
    let made = start.elapsed();
    assert_works(&device);
    let first = start.elapsed();
    println!("Device::cuda(0): {made:?}; first result of a kernel after {first:?}");
    assert!(first.as_secs() < 20);
}

fn the_best_device_is_the_gpu() {
    let device = Device::best().expect("there is a GPU");
    assert_eq!(device.kind(), DeviceKind::Cuda(0));
    let properties = device.properties();
    println!("{properties:?}\n{:?}", device.memory());
    assert!(properties.multiprocessors > 0 && properties.compute_capability >= Some((7, 5)));
    assert!(properties.max_shared_bytes >= Some(48 * 1024) && properties.l2_bytes > Some(0));
    assert!(device.to_string().contains("cuda:0") && device.to_string().contains(device.name()));
    let memory = device.memory().expect("a healthy device");
    assert!(memory.free <= memory.total && memory.total > Some(0));
}

fn a_gpu_that_is_not_there_is_named() {
    match Device::cuda(1_000).expect_err("no machine has that many") {
        DeviceError::NoSuchGpu { ordinal: 1_000, count } => assert!(count > 0),
        other => panic!("{other}"),
    }
}

fn buffers_keep_what_is_written() {
    let device = gpu();
    let values: Vec<u64> = (0..100_000).map(|i| i * i).collect();
    let mut x = device.upload(&values).expect("a buffer");
    assert_eq!(x.download().expect("a copy"), values);
    assert_eq!(x.get(99_999).expect("the last"), 99_999 * 99_999);
    let mut y = device.zeros::<u64>(100_000).expect("a buffer");
    assert!(y.download().expect("a copy").iter().all(|&value| value == 0));
    y.copy_from(&x).expect("the same length");
    x.copy_from_slice(&vec![3; 100_000]).expect("the same length");
    assert_eq!(y.download().expect("a copy"), values);
    let empty = device.upload(&[0_u64; 0]).expect("nothing");
    assert!(empty.is_empty() && empty.download().expect("nothing").is_empty());
}

fn kernels_write_to_buffers() {
    let device = gpu();
    assert_works(&device);
    let mut data = device.zeros::<u32>(1_000).expect("a buffer");
    for index in (0..1_000).step_by(3) {
        store(&mut data, index).expect("a launch");
    }
    let expected: Vec<u32> = (0..1_000).map(|index| u32::from(index % 3 == 0)).collect();
    assert_eq!(data.download().expect("a copy"), expected);
}

fn events_tell_the_time_between() {
    let device = gpu();
    let mut data = device.zeros::<u8>(8 << 20).expect("a buffer");
    let source = device.zeros::<u8>(8 << 20).expect("a buffer");
    let earlier = device.record().expect("an event");
    data.copy_from(&source).expect("the same length");
    let later = device.record().expect("an event");
    let milliseconds = later.elapsed_since(&earlier).expect("both of one device");
    println!("copy of 8 MiB: {milliseconds} ms");
    assert!(milliseconds > 0.0 && milliseconds < 1_000.0);
}

fn two_devices_work_at_once() {
    let work = || {
        let device = gpu();
        for round in 0..50_u32 {
            let mut data = device.upload(&[round; 64]).expect("a buffer");
            store(&mut data, u64::from(round)).expect("a launch");
            let result = data.download().expect("a copy");
            assert!((0..64).all(|i| result[i as usize] == if i == round { 1 } else { round }));
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            thread.join().expect("no panic");
        }
    });
}

fn threads_share_a_device() {
    let device = gpu();
    std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|_| scope.spawn(|| (0..20).for_each(|_| assert_works(&device))));
        for thread in threads {
            thread.join().expect("no panic");
        }
    });
}

fn buffers_of_two_devices_do_not_mix() {
    let (one, other) = (gpu(), gpu());
    let mut x = one.upload(&[1_u32]).expect("a buffer");
    let y = other.upload(&[2_u32]).expect("a buffer");
    assert!(matches!(x.copy_from(&y), Err(DeviceError::DifferentDevices { .. })));
    let (earlier, later) = (one.record().expect("an event"), other.record().expect("an event"));
    assert!(matches!(later.elapsed_since(&earlier), Err(DeviceError::DifferentDevices { .. })));
    assert_eq!(x.download().expect("a copy"), [1]);
}

fn the_memory_limit_refuses() {
    let device = gpu();
    device.set_memory_limit(Some(1 << 20));
    let half = device.zeros::<u8>(1 << 19).expect("within the limit");
    match device.zeros::<u8>((1 << 19) + 1).expect_err("over the limit") {
        DeviceError::MemoryLimit { requested, in_use, limit, .. } => {
            assert_eq!((requested, in_use, limit), ((1 << 19) + 1, 1 << 19, 1 << 20));
        }
        other => panic!("{other}"),
    }
    drop(half);
    device.zeros::<u8>(1 << 20).expect("within the limit");
}

fn impossible_allocations_are_refused() {
    let device = gpu();
    let quarter = device.memory().expect("a healthy device").free.expect("a GPU's") / 4;
    let _kept = device.uninitialized::<u8>(quarter as usize).expect("a quarter of what is free");
    let memory = device.memory().expect("a healthy device");
    let (free, total) = (memory.free.expect("a GPU's"), memory.total.expect("a GPU's"));
    // The GPU has that much, but not free.
    let above = free + free / 8;
    for bytes in [1 << 50, total + 1, above] {
        match device.uninitialized::<u8>(bytes as usize).expect_err("more than there is") {
            DeviceError::OutOfMemory { requested, free: told, total: told_total, .. } => {
                assert_eq!((requested, told_total), (bytes, total));
                assert!(told < bytes, "{told}");
            }
            other => panic!("{other}"),
        }
        assert_works(&device);
    }
}

fn freed_memory_is_there_for_other_sizes() {
    let device = gpu();
    let free = device.memory().expect("a healthy device").free.expect("a GPU's");
    let eighth = (free / 8) as usize;
    drop(
        [eighth, eighth - (4 << 20)]
            .map(|bytes| device.uninitialized::<u8>(bytes).expect("a part of what is free")),
    );
    let after = device.memory().expect("a healthy device").free.expect("a GPU's");
    assert!(after > free - (8 << 20), "{free} bytes were free, now {after}");
    let most = free - (free >> 4);
    device.uninitialized::<u8>(most as usize).expect("what was freed is free");
    assert_works(&device);
}

fn freed_memory_is_used_again() {
    let device = gpu();
    let bytes = 3_u64 << 20;
    let address = || device.uninitialized::<u8>(bytes as usize).expect("a buffer").as_global().address();
    let first = address();
    assert!((0..10).all(|_| address() == first));
    // A kernel that was launched before its buffer was dropped does not reach what takes its place.
    let mut old = device.zeros::<u32>(1_000).expect("a buffer");
    store(&mut old, 7).expect("a launch");
    drop(old);
    let new = device.zeros::<u32>(1_000).expect("a buffer");
    assert!(new.download().expect("a copy").iter().all(|&value| value == 0));
}

fn launches_over_a_limit_are_refused() {
    let device = gpu();
    let mut data = device.zeros::<u32>(4).expect("a buffer");
    let info = FaultOutOfBounds::INSTANCES[0];
    for (grid, shared) in [(1 << 31, 0), (1, 1 << 20)] {
        let kernel = FaultOutOfBounds { data: data.as_global_mut(), index: 0 };
        // SAFETY: the buffer is live, and the index in it.
        let error = unsafe { device.launch(kernel, info, grid, shared) }.expect_err("over a limit");
        assert!(matches!(error, DeviceError::Launch { kernel: STORE, .. }), "{error}");
    }
    for (grid, shared) in [(0, 0), (1, device.properties().max_shared_bytes.expect("a GPU's"))] {
        let kernel = FaultOutOfBounds { data: data.as_global_mut(), index: 2 };
        // SAFETY: as above.
        unsafe { device.launch(kernel, info, grid, shared) }.expect("within the limits");
    }
    assert_eq!(data.download().expect("a copy"), [0, 0, 1, 0]);
}
