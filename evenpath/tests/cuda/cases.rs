//! Behavior of a GPU without faults.

use std::ffi::c_void;
use std::time::Instant;

use cust::sys::{self, CUresult::CUDA_SUCCESS as SUCCESS};
use evenpath::device::{Device, DeviceError, DeviceKind};
use evenpath_kernels::testing::FaultOutOfBounds;
use evenpath_lab::measure_driver_calls;
use evenpath_simt::kernel::Kernel;

use crate::support::{STORE, assert_works, cases, gpu, store};

cases! {
    the_device_is_ready_soon,
    the_best_device_is_the_gpu,
    a_gpu_that_is_not_there_is_named,
    buffers_keep_what_is_written,
    kernels_write_to_buffers,
    calls_of_the_driver_are_counted,
    copies_to_pinned_memory_are_waited_for,
    pinned_memory_may_be_dropped_at_any_time,
    devices_of_the_primary_context_share_memory_and_streams,
    foreign_work_is_ordered,
    streams_wait_for_each_other,
    a_stream_comes_after_what_was_asked_before,
    memory_of_another_context_is_refused,
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

fn calls_of_the_driver_are_counted() {
    let device = gpu();
    let mut data = device.zeros::<u32>(1_000).expect("a buffer");
    store(&mut data, 0).expect("a launch");
    measure_driver_calls(true);
    store(&mut data, 1).expect("a launch");
    let (calls, time) = measure_driver_calls(false);
    println!("a launch: {calls} calls of the driver, {time:?}");
    // The context is entered and left, and the kernel launched.
    assert_eq!(calls, 3);
    store(&mut data, 2).expect("a launch");
    assert_eq!(measure_driver_calls(false).0, 0);
}

fn copies_to_pinned_memory_are_waited_for() {
    let device = gpu();
    let values: Vec<u64> = (0..100_000).map(|i| i * i).collect();
    let mut host = device.pinned::<u64>(100_000).expect("memory");
    assert!(host.as_slice().expect("no copy").iter().all(|&value| value == 0));
    host.as_mut_slice().expect("no copy").copy_from_slice(&values);
    let mut x = device.uninitialized::<u64>(100_000).expect("memory");
    x.copy_from_pinned(&host, 0).expect("the same length");
    host.as_mut_slice().expect("the copy is done").fill(0);
    x.copy_to_pinned(&mut host, 0).expect("the same length");
    assert!(host.as_slice().expect("the copy is done") == values);
    x.slice(..10).expect("inside").copy_to_pinned(&mut host, 99_990).expect("inside");
    assert_eq!(host.as_mut_slice().expect("the copy is done")[99_990..], values[..10]);
}

fn pinned_memory_may_be_dropped_at_any_time() {
    let device = gpu();
    let x = device.upload(&vec![1_u8; 1 << 20]).expect("memory");
    for _ in 0..20 {
        let mut host = device.pinned::<u8>(1 << 20).expect("memory");
        x.copy_to_pinned(&mut host, 0).expect("the same length");
    }
    let host = device.pinned::<u8>(10).expect("memory");
    assert!(device.pinned::<u8>(0).expect("nothing").as_slice().expect("nothing").is_empty());
    drop((x, device));
    assert_eq!(host.as_slice().expect("no copy"), [0; 10]);
}

fn devices_of_the_primary_context_share_memory_and_streams() {
    let primary = || Device::cuda_primary(0).expect("the GPU's context");
    let (ours, theirs) = (primary(), primary());
    assert_eq!(ours.raw_context().expect("a context"), theirs.raw_context().expect("a context"));
    assert_ne!(ours.raw_context().expect("a context"), gpu().raw_context().expect("a context"));
    let (their_stream, other_stream) =
        (theirs.stream().expect("a stream"), theirs.stream().expect("a stream"));
    let mut data = theirs.zeros::<u32>(1_000).expect("memory");
    theirs.synchronize().expect("a healthy device");
    let kept = data.raw_address();
    let released = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for (round, stream) in [&their_stream, &other_stream, &their_stream].into_iter().enumerate() {
        let handle = stream.scope(|| theirs.raw_stream()).expect("a stream");
        // SAFETY: the stream is of the context that both use, and outlives this.
        let stream = unsafe { ours.foreign_stream(handle) }.expect("a stream");
        assert_eq!(stream.scope(|| ours.raw_stream()).expect("a stream"), handle);
        let parts = data.into_raw_parts();
        assert_eq!((parts.address, parts.len), (kept, 1_000));
        let flag = released.clone();
        let release = move || {
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
            (parts.release)();
        };
        // SAFETY: the memory is theirs, of the same context, and only this vector uses it.
        let mut own =
            unsafe { evenpath::DeviceVec::<u32>::from_raw_parts(&ours, parts.address, 1_000, release) }
                .expect("memory of the context");
        stream.scope(|| store(&mut own, round as u64)).expect("a launch");
        drop(stream);
        store(&mut own, 999 - round as u64).expect("a launch");
        let result = own.download().expect("a copy");
        assert_eq!(result.iter().sum::<u32>(), 2);
        // The memory is returned when this is done.
        store(&mut own, 500).expect("a launch");
        drop(own);
        assert!(released.swap(false, std::sync::atomic::Ordering::Relaxed));
        data = theirs.zeros(1_000).expect("memory");
        assert_eq!(data.raw_address(), kept, "it is theirs again");
        theirs.synchronize().expect("a healthy device");
    }
    drop((data, their_stream, other_stream, theirs));
    assert_works(&ours);
}

fn foreign_work_is_ordered() {
    let device = Device::cuda_primary(0).expect("the GPU's context");
    let stream = device.stream().expect("a stream");
    let mut data = device.zeros::<u32>(1_000).expect("memory");
    let handle = stream.scope(|| device.raw_stream()).expect("a stream");
    for round in 0..3 {
        store(&mut data, round).expect("a launch");
        let found = stream.scope(|| {
            let address = data.raw_address();
            let put = |stream: *mut c_void| {
                // SAFETY: the buffer has the bytes, and the stream is of the current context.
                let result = unsafe { sys::cuMemsetD8Async(address + 4 * 500, 0, 400, stream.cast()) };
                assert_eq!(result, SUCCESS);
                stream
            };
            // SAFETY: the work writes only to the buffer.
            unsafe { device.put_foreign(&[], &mut [&mut *data], put) }
        });
        assert_eq!(found.expect("the stream"), handle);
        store(&mut data, 999 - round).expect("a launch");
    }
    let end = device.record().expect("an event");
    assert_eq!(data.download().expect("a copy").iter().sum::<u32>(), 6);
    assert!(end.is_done().expect("a live device"));
}

fn streams_wait_for_each_other() {
    let device = gpu();
    let (one, two) = (device.stream().expect("a stream"), device.stream().expect("a stream"));
    let mut vectors = [(); 3].map(|()| device.zeros::<u32>(10).expect("memory"));
    for round in 0..3 {
        one.scope(|| vectors.iter_mut().try_for_each(|data| store(data, round))).expect("launches");
        // The last of one stream's operations on it, which is neither its first nor its last overall.
        two.scope(|| store(&mut vectors[1], round)).expect("a launch");
        store(&mut vectors[1], 9 - round).expect("a launch");
        store(&mut vectors[2], 9 - round).expect("a launch");
    }
    let sums = vectors.map(|data| data.download().expect("a copy").iter().sum::<u32>());
    assert_eq!(sums, [3, 6, 6]);
}

fn a_stream_comes_after_what_was_asked_before() {
    let device = gpu();
    let mut data = device.zeros::<u32>(10).expect("memory");
    let mut streams = Vec::new();
    for round in 0..6 {
        match streams.last() {
            Some(stream) => evenpath::device::Stream::scope(stream, || store(&mut data, round)),
            None => store(&mut data, round),
        }
        .expect("a launch");
        if round == 3 {
            // The next one is a reused stream.
            streams.remove(0);
        }
        let stream = device.stream().expect("a stream");
        let address = data.raw_address();
        stream.scope(|| {
            let put = |stream: *mut c_void| {
                // SAFETY: the buffer has the bytes, and the stream is of the current context.
                assert_eq!(unsafe { sys::cuMemsetD8Async(address, 0, 40, stream.cast()) }, SUCCESS);
            };
            // SAFETY: the stream comes after the store, the only other work on the memory, and is waited for.
            unsafe { device.put_foreign::<u32, _>(&[], &mut [], put) }.expect("a healthy device");
        });
        stream.synchronize().expect("a healthy device");
        streams.push(stream);
    }
    assert_eq!(data.download().expect("a copy"), [0; 10]);
}

fn memory_of_another_context_is_refused() {
    let (own, primary) = (gpu(), Device::cuda_primary(0).expect("the GPU's context"));
    let x = own.zeros::<u32>(100).expect("memory");
    let take = |address| {
        // SAFETY: the address is refused.
        unsafe { evenpath::DeviceVec::<u32>::from_raw_parts(&primary, address, 10, || {}) }
    };
    let error = take(x.raw_address()).expect_err("another context");
    assert!(matches!(error, DeviceError::ForeignMemory { .. }), "{error}");
    assert!(matches!(take(x.raw_address() + 4), Err(DeviceError::Misaligned { .. })));
    let error = evenpath::dlpack::Tensor::from_vec(x).expect_err("a context of its own");
    assert!(matches!(error, evenpath::dlpack::DlpackError::NotShared { .. }), "{error}");
    let y = primary.upload(&[1_u32, 2]).expect("memory");
    let address = y.raw_address();
    let y = evenpath::dlpack::Tensor::from_vec(y).expect("shared memory").into_vec::<u32>(&primary);
    let y = y.expect("the same device");
    assert_eq!((y.raw_address(), y.download().expect("a copy")), (address, vec![1, 2]));
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
    // The GPU has that much memory, but not free.
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
    // A kernel launched before its buffer was dropped does not access the buffer that takes its place.
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
