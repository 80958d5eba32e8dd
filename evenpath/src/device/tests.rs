mod capture;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evenpath_kernels::testing::FaultOutOfBounds;
use evenpath_simt::kernel::Kernel;
use evenpath_simt::{Arena, GlobalMut, kernel, thread};

use super::handle::Backend;
use super::simulated::Simulated;
use super::*;

kernel! {
    /// Adds a number to each of `len` elements.
    pub struct Add {
        /// `len` elements.
        pub data: GlobalMut<u32>,
        /// Number of elements.
        pub len: u64,
        /// The added number.
        pub amount: u32,
    }
    shared: 0;
    body: Add::add::<BLOCK>;
    entry: test_add in test: 64 x 1;
}

impl Add {
    fn add<const BLOCK: usize>(self, _: Arena) {
        let index = thread::block() as usize * BLOCK + thread::index() as usize;
        if (index as u64) < self.len {
            self.data.store(index, self.data.load(index) + self.amount);
        }
    }
}

/// A simulated GPU with the kernel [`Add`].
fn simulated() -> Device {
    let options = SimulatedOptions::default().with_memory_bytes(1 << 20);
    let add = (Add::INSTANCES[0].name, Add::SIMULATIONS[0]);
    Device::new(Backend::Machine(Arc::new(Simulated::new(options, [add]))), DeviceKind::Simulated)
}

/// A simulated GPU with a deliberate bug: its streams do not wait for each other.
fn without_waits() -> Device {
    let add = (Add::INSTANCES[0].name, Add::SIMULATIONS[0]);
    let machine = Simulated::new(SimulatedOptions::default().with_memory_bytes(1 << 20), [add]);
    machine.ignores_waits.store(true, Relaxed);
    Device::new(Backend::Machine(Arc::new(machine)), DeviceKind::Simulated)
}

fn devices() -> [Device; 2] {
    [Device::cpu(), simulated()]
}

fn launch_add(device: &Device, data: &mut DeviceVec<u32>, grid: u32) -> Result<(), DeviceError> {
    let kernel = Add { len: data.len() as u64, data: data.as_global_mut(), amount: 7 };
    // SAFETY: the buffer lives until the launch returns, when the kernel has completed on these devices.
    unsafe { device.launch(kernel, Add::INSTANCES[0], grid, 0) }
}

fn launch_fault(device: &Device, data: &mut DeviceVec<u32>) -> Result<(), DeviceError> {
    let kernel = FaultOutOfBounds { data: data.as_global_mut(), index: 1 << 40 };
    // SAFETY: as above; the simulated GPU checks the index.
    unsafe { device.launch(kernel, FaultOutOfBounds::INSTANCES[0], 1, 0) }
}

#[test]
fn buffers_keep_what_is_written() {
    for device in devices() {
        let mut x = device.upload(&[1_i64, -2, 3]).unwrap();
        assert_eq!((x.len(), x.is_empty(), x.device().is_same(&device)), (3, false, true));
        assert_eq!(x.download().unwrap(), [1, -2, 3]);
        assert_eq!(x.get(2).unwrap(), 3);
        x.copy_from_slice(&[4, 5, 6]).unwrap();
        let mut y = device.zeros::<i64>(3).unwrap();
        assert_eq!(y.download().unwrap(), [0; 3]);
        y.copy_from(&x).unwrap();
        let mut out = [0; 3];
        y.copy_to_slice(&mut out).unwrap();
        assert_eq!(out, [4, 5, 6]);
        device.synchronize().unwrap();
    }
}

#[test]
fn empty_buffers_are_ordinary() {
    for device in devices() {
        let mut x = device.upload(&[0_u64; 0]).unwrap();
        let y = device.zeros::<u64>(0).unwrap();
        x.copy_from(&y).unwrap();
        x.copy_from_slice(&[]).unwrap();
        assert!(x.is_empty() && x.download().unwrap().is_empty());
        assert!(matches!(x.get(0), Err(DeviceError::OutOfBounds { index: 0, len: 0 })));
    }
}

#[test]
fn wrong_lengths_and_indices_are_errors() {
    for device in devices() {
        let mut x = device.upload(&[1_u32, 2, 3]).unwrap();
        let y = device.upload(&[7_u32, 8]).unwrap();
        let error = x.copy_from_slice(&[9; 4]).unwrap_err().to_string();
        assert_eq!(error, "cannot copy 4 elements to 3");
        assert!(matches!(x.copy_from(&y), Err(DeviceError::LengthMismatch { .. })));
        assert!(matches!(x.copy_to_slice(&mut [0; 2]), Err(DeviceError::LengthMismatch { .. })));
        assert!(matches!(x.get(3), Err(DeviceError::OutOfBounds { index: 3, len: 3 })));
        assert_eq!(x.download().unwrap(), [1, 2, 3]);
    }
}

#[test]
fn only_the_cpu_has_host_slices() {
    let [cpu, simulated] = devices();
    let mut x = cpu.upload(&[1_u32, 2]).unwrap();
    x.host_slice_mut().unwrap()[1] = 5;
    assert_eq!(x.host_slice(), Some(&[1, 5][..]));
    assert_eq!(simulated.upload(&[1_u32]).unwrap().host_slice(), None);
}

#[test]
fn buffers_of_different_devices_do_not_mix() {
    let (one, other) = (simulated(), simulated());
    let mut x = one.upload(&[1_u8]).unwrap();
    for device in [&other, &Device::cpu()] {
        let y = device.upload(&[2_u8]).unwrap();
        let error = x.copy_from(&y).unwrap_err();
        assert!(matches!(error, DeviceError::DifferentDevices { .. }), "{error}");
        let message = error.to_string();
        for device in [&one, device] {
            let name = format!("{device} [device object {}]", device.shared.number);
            assert!(message.contains(&name), "{message}");
        }
    }
    assert_eq!(x.download().unwrap(), [1]);
    assert!(one.record().unwrap().elapsed_since(&other.record().unwrap()).is_err());
    assert!(one.is_same(&one.clone()) && !one.is_same(&other));
}

#[test]
fn all_cpu_devices_are_one() {
    let mut x = Device::cpu().zeros::<u32>(2).unwrap();
    x.copy_from(&Device::cpu().upload(&[3, 4]).unwrap()).unwrap();
    assert_eq!(x.download().unwrap(), [3, 4]);
}

#[test]
fn the_memory_limit_error_has_numbers() {
    for device in devices() {
        device.clone().set_memory_limit(Some(1_000));
        let x = device.zeros::<u64>(100).unwrap();
        assert_eq!(device.memory().unwrap().in_use, 800);
        match device.zeros::<u32>(51).unwrap_err() {
            DeviceError::MemoryLimit { requested: 204, in_use: 800, limit: 1_000, .. } => {}
            other => panic!("{other}"),
        }
        assert!(device.zeros::<u8>(201).is_err(), "a byte more than there is");
        let exactly = device.zeros::<u32>(50).unwrap();
        assert!(device.zeros::<u8>(1).is_err());
        drop((x, exactly));
        assert_eq!(device.memory().unwrap().in_use, 0);
        device.set_memory_limit(None);
        assert_eq!(device.zeros::<u64>(200).unwrap().len(), 200);
    }
}

#[test]
fn the_peak_of_memory_outlasts_buffers() {
    for device in devices() {
        let x = device.zeros::<u64>(100).unwrap();
        drop((device.zeros::<u8>(50).unwrap(), device.zeros::<u8>(20).unwrap()));
        let peak = || device.memory().unwrap().peak;
        assert_eq!(peak(), 870);
        device.reset_peak_memory();
        assert_eq!(peak(), 800);
        drop(x);
        assert!(device.zeros::<u8>(1 << 50).is_err());
        assert_eq!(peak(), 800);
    }
}

#[test]
fn failed_allocations_leave_the_device_usable() {
    for device in devices() {
        let too_large = device.zeros::<u64>(usize::MAX).unwrap_err();
        assert!(matches!(too_large, DeviceError::TooLarge { .. }), "{too_large}");
        let error = device.zeros::<u8>(1 << 50).unwrap_err();
        match device.kind() {
            DeviceKind::Cpu => {
                assert!(matches!(error, DeviceError::HostOutOfMemory { requested } if requested == 1 << 50));
            }
            _ => assert!(
                matches!(error, DeviceError::OutOfMemory { requested, total, .. }
                    if requested == 1 << 50 && total == 1 << 20),
                "{error}"
            ),
        }
        assert_eq!(device.memory().unwrap().in_use, 0);
        assert_eq!(device.upload(&[5_u16]).unwrap().download().unwrap(), [5]);
    }
}

#[test]
fn dropped_buffers_free_their_memory() {
    let device = simulated();
    for _ in 0..8 {
        device.zeros::<u8>(900_000).unwrap();
    }
    let memory = device.memory().unwrap();
    assert_eq!((memory.free, memory.total), (Some(1 << 20), Some(1 << 20)));
}

#[test]
fn events_tell_the_time_between() {
    for device in devices() {
        let earlier = device.record().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let later = device.record().unwrap();
        let milliseconds = later.elapsed_since(&earlier).unwrap();
        assert!((5.0..5_000.0).contains(&milliseconds), "{milliseconds}");
        assert!(earlier.elapsed_since(&later).unwrap() <= -5.0);
        assert!(later.elapsed_since(&later).unwrap().abs() < 1e-9);
    }
}

#[test]
fn kernels_run_on_the_simulated_gpu() {
    let device = simulated();
    let mut data = device.upload(&(0..150).collect::<Vec<u32>>()).unwrap();
    launch_add(&device, &mut data, 3).unwrap();
    assert_eq!(data.download().unwrap(), (7..157).collect::<Vec<u32>>());
}

#[test]
fn invalid_launches_are_refused() {
    let [cpu, device] = devices();
    let mut data = device.upload(&[1_u32]).unwrap();
    launch_add(&device, &mut data, 0).unwrap();
    let error = launch_add(&device, &mut data, 1 << 31).unwrap_err().to_string();
    assert!(error.contains("test_add") && error.contains("2147483648"), "{error}");
    let kernel = Add { data: data.as_global_mut(), len: 1, amount: 1 };
    // SAFETY: refused before anything runs.
    let wrong = unsafe { device.launch(kernel, FaultOutOfBounds::INSTANCES[0], 1, 0) }.unwrap_err();
    assert!(matches!(wrong, DeviceError::Launch { kernel: "testing_fault_out_of_bounds", .. }), "{wrong}");
    // SAFETY: as above.
    let shared = unsafe { device.launch(kernel, Add::INSTANCES[0], 1, 1 << 20) }.unwrap_err();
    assert!(matches!(shared, DeviceError::Launch { kernel: "test_add", .. }), "{shared}");
    assert!(matches!(launch_add(&cpu, &mut cpu.zeros(1).unwrap(), 1), Err(DeviceError::Launch { .. })));
    assert_eq!(data.download().unwrap(), [1]);
}

#[test]
fn a_kernel_fault_ends_the_device_and_names_the_kernel() {
    let device = simulated();
    let mut data = device.upload(&[1_u32, 2]).unwrap();
    let name = FaultOutOfBounds::INSTANCES[0].name;
    match launch_fault(&device, &mut data).unwrap_err() {
        DeviceError::KernelFault { kernels, reason, .. } => {
            assert_eq!(kernels, [name]);
            assert!(reason.contains(name), "{reason}");
        }
        other => panic!("{other}"),
    }
    for lost in [
        data.download().map(|_| ()),
        data.copy_from_slice(&[0, 0]),
        device.zeros::<u8>(1).map(|_| ()),
        launch_add(&device, &mut data, 1),
        device.synchronize(),
        device.record().map(|_| ()),
    ] {
        let error = lost.unwrap_err();
        assert!(
            matches!(error, DeviceError::DeviceLost { .. }) && error.to_string().contains(name),
            "{error}"
        );
    }
    drop((data, device));

    let device = simulated();
    assert_eq!(device.upload(&[3_u32]).unwrap().download().unwrap(), [3]);
}

#[test]
fn reads_before_writes_are_refused_and_the_device_goes_on() {
    let device = simulated();
    let mut data = device.uninitialized::<u32>(2).unwrap();
    match data.download().unwrap_err() {
        DeviceError::Simulated { reason, .. } => {
            assert!(
                reason.contains("of global memory") && reason.ends_with("that nothing wrote"),
                "{reason}"
            );
        }
        other => panic!("{other}"),
    }
    data.copy_from_slice(&[8, 9]).unwrap();
    assert_eq!(data.download().unwrap(), [8, 9]);
}

#[test]
fn threads_share_a_device() {
    for device in devices() {
        let sums: Vec<u64> = std::thread::scope(|scope| {
            let work = |thread: u64| {
                let device = &device;
                scope.spawn(move || {
                    let buffers = (0..50).map(|i| device.upload(&[thread, i]).unwrap());
                    buffers.map(|buffer| buffer.download().unwrap().iter().sum::<u64>()).sum()
                })
            };
            let threads: Vec<_> = (0..4).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sums, [0, 1, 2, 3].map(|thread| 50 * thread + 49 * 25));
    }
}

#[test]
fn handles_are_send() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<(Device, DeviceVec<f64>, Event, DeviceError)>();
}

#[test]
fn kernels_to_compile_ahead_are_listed_once_and_only_for_nvidia_gpus() {
    static LISTED: AtomicU64 = AtomicU64::new(0);
    let list = || {
        LISTED.fetch_add(1, Relaxed);
        Kernels::default().and::<FaultOutOfBounds>()
    };
    assert_eq!(list().0.len(), FaultOutOfBounds::INSTANCES.len());
    for device in devices().into_iter().chain(Device::cuda(0)) {
        LISTED.store(0, Relaxed);
        for _ in 0..2 {
            device.prepare(list).unwrap();
        }
        let is_compiled = matches!(device.kind(), DeviceKind::Cuda(_));
        assert_eq!(LISTED.load(Relaxed), u64::from(is_compiled), "{device}");
    }
}

#[test]
fn devices_report_their_kind() {
    let [cpu, simulated] = devices();
    assert_eq!((cpu.kind(), cpu.name(), cpu.to_string().as_str()), (DeviceKind::Cpu, "CPU", "CPU"));
    assert!(cpu.properties().multiprocessors > 0);
    assert_eq!(simulated.kind(), DeviceKind::Simulated);
    assert_eq!(simulated.properties().memory_bytes, Some(1 << 20));
}

#[cfg(not(feature = "cuda"))]
#[test]
fn without_cuda_the_best_device_is_the_cpu() {
    assert!(matches!(Device::cuda(0), Err(DeviceError::NoCudaSupport)));
    assert_eq!(Device::best().unwrap().kind(), DeviceKind::Cpu);
}

#[test]
fn resident_blocks_of_a_simulated_gpu_are_its_threads() {
    for (multiprocessors, reported) in [(0, 3), (132, 132)] {
        let options = SimulatedOptions::default().with_threads(3).with_multiprocessors(multiprocessors);
        let device = Device::simulated(options);
        assert_eq!(device.properties().multiprocessors, reported);
        assert_eq!(device.resident_blocks(Add::INSTANCES[0], 0).expect("a kernel"), 3);
    }
    assert_eq!(Device::cpu().resident_blocks(Add::INSTANCES[0], 0).expect("a kernel"), 1);
}

#[test]
fn streams_wait_for_each_other() {
    let device = simulated();
    let stream = device.stream().unwrap();
    let mut x = device.upload(&[1_u32; 64]).unwrap();
    stream.scope(|| launch_add(&device, &mut x, 1)).unwrap();
    launch_add(&device, &mut x, 1).unwrap();
    let y = stream.scope(|| {
        let mut y = device.uninitialized(64)?;
        y.copy_from(&x).map(|()| y)
    });
    drop(x);
    assert_eq!(y.unwrap().download().unwrap(), [15; 64]);
}

#[test]
fn a_missing_wait_between_streams_is_reported() {
    let device = without_waits();
    let stream = device.stream().unwrap();
    let mut x = device.upload(&[1_u32; 64]).unwrap();
    launch_add(&device, &mut x, 1).unwrap();
    let error = stream.scope(|| launch_add(&device, &mut x, 1)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, DeviceError::KernelFault { .. }), "{text}");
    assert!(text.contains("stream 1 reads what stream 0 writes"), "{text}");

    let device = without_waits();
    let stream = device.stream().unwrap();
    let x = device.upload(&[1_u32; 64]).unwrap();
    x.device().synchronize().unwrap();
    let text = stream.scope(|| x.get(0)).unwrap_err().to_string();
    assert!(text.contains("stream 1 reads what stream 0 writes"), "{text}");
}

#[test]
fn a_new_stream_comes_after_all_earlier_work() {
    // Accesses to memory would cause waits; this device ignores them.
    let device = without_waits();
    let (mut streams, mut kept) = (vec![device.stream().unwrap()], Vec::new());
    for round in 0..4 {
        let x = streams[streams.len() - 1].scope(|| device.upload(&[1_u32; 64])).unwrap();
        if round == 2 {
            // The next one is a reused stream.
            streams.remove(0);
        }
        let stream = device.stream().unwrap();
        assert_eq!(stream.scope(|| x.get(0)).unwrap(), 1, "round {round}");
        streams.push(stream);
        kept.push(x);
    }
}

#[test]
fn foreign_work_is_ordered() {
    for (device, is_ordered) in [(simulated(), true), (without_waits(), false)] {
        let stream = device.stream().unwrap();
        let (x, mut y) = (device.upload(&[1_u32; 64]).unwrap(), device.zeros::<u32>(64).unwrap());
        let put = |reads: &[&DeviceSlice<u32>], writes: &mut [&mut DeviceSlice<u32>]| {
            // SAFETY: nothing is put there.
            unsafe { device.put_foreign(reads, writes, |_| ()) }
        };
        assert_eq!(stream.scope(|| put(&[&x], &mut [])).is_ok(), is_ordered, "what was written is read");
        assert_eq!(
            stream.scope(|| put(&[], &mut [&mut y])).is_ok(),
            is_ordered,
            "what was written is written"
        );
        let z = stream.scope(|| device.zeros::<u32>(64)).unwrap();
        assert!(stream.scope(|| put(&[&z], &mut [])).is_ok(), "in the same stream");
        assert_eq!(put(&[&z], &mut []).is_ok(), is_ordered, "what another stream wrote is read");
    }
}

#[test]
fn scopes_of_streams() {
    let (device, other) = (simulated(), simulated());
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    assert!(one.device().is_same(&device));
    one.scope(|| {
        assert_eq!((device.stream_number(), other.stream_number()), (1, 0));
        two.scope(|| assert_eq!(device.stream_number(), 2));
        let panics = std::panic::AssertUnwindSafe(|| two.scope(|| std::panic::resume_unwind(Box::new(()))));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(device.stream_number(), 1);
        std::thread::scope(|threads| {
            threads.spawn(|| assert_eq!(device.stream_number(), 0));
        });
    });
    drop(two);
    assert_eq!(device.stream_number(), 0);
    let three = device.urgent_stream().unwrap();
    three.scope(|| assert_eq!(device.stream_number(), 2, "one that was given back"));
    let cpu = Device::cpu();
    let stream = cpu.stream().unwrap();
    assert_eq!(stream.scope(|| cpu.upload(&[1.0])).unwrap().download().unwrap(), [1.0]);
    stream.synchronize().unwrap();
}
