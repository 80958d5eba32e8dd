//! State of a process after a kernel faults. Each case runs in a process of its own (`run_in_child`), which
//! can no longer use the GPU afterwards.

use std::time::Duration;

use cust::context::legacy::{Context, ContextFlags};
use cust::memory::DevicePointer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use evenpath::device::{Device, DeviceError, DeviceKind, SimulatedOptions};

use crate::support::{ROTATE, STORE, assert_works, cases, gpu, rotate, store};

/// An index outside every buffer.
const OUTSIDE: u64 = 1 << 44;

cases! {
    a_fault_ends_the_device_and_names_the_kernel,
    a_fault_is_not_blamed_on_kernels_that_ended_well,
    kernels_that_were_not_waited_for_may_have_made_the_fault,
    a_fault_ends_every_device_object_of_the_gpu,
    pending_kernels_of_every_device_object_are_named,
    one_call_alone_is_told_of_the_fault,
    no_device_object_can_be_made_after_a_fault,
    a_fault_that_no_call_has_seen_refuses_new_device_objects,
    a_fault_of_a_dropped_device_object_is_remembered,
    a_fault_of_another_library_is_not_blamed_on_this_one,
    an_assertion_ends_its_device_object_alone,
    copies_in_flight_end_with_the_device,
    copies_end_before_the_primary_context_is_released,
    a_fault_in_the_primary_context_is_the_same,
}

/// Makes the device fault, and returns the error that reports it.
fn fault(device: &Device) -> DeviceError {
    let mut data = device.upload(&[0_u32; 4]).expect("a small buffer");
    store(&mut data, OUTSIDE).expect("the launch itself goes well");
    device.synchronize().expect_err("the store is far outside")
}

fn assert_kernel_fault(error: &DeviceError, expected: &[&str]) {
    println!("{error}");
    match error {
        DeviceError::KernelFault { kernels, reason, .. } => {
            assert_eq!(kernels, expected);
            assert!(reason.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

fn assert_device_lost(result: Result<(), DeviceError>, expected: &[&str]) {
    match result.expect_err("the device is lost") {
        DeviceError::DeviceLost { kernels, reason, .. } => {
            assert_eq!(kernels, expected);
            assert!(reason.contains("CUDA_ERROR_"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

fn assert_gpu_lost(result: Result<Device, DeviceError>, expected: &[&str]) {
    let error = result.expect_err("the GPU is lost");
    println!("{error}");
    match &error {
        DeviceError::GpuLost { device, kernels, reason } => {
            assert_eq!(kernels, expected);
            assert!(device.contains("cuda:0"), "{device}");
            assert!(reason.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

fn a_fault_ends_the_device_and_names_the_kernel() {
    let device = gpu();
    let mut kept = device.upload(&[1_u32, 2]).expect("a buffer");
    let event = device.record().expect("an event");
    assert_kernel_fault(&fault(&device), &[STORE]);
    for lost in [
        device.synchronize(),
        kept.download().map(|_| ()),
        kept.copy_from_slice(&[0, 0]),
        device.zeros::<u8>(1).map(|_| ()),
        device.memory().map(|_| ()),
        device.record().map(|_| ()),
        event.elapsed_since(&event).map(|_| ()),
        store(&mut kept, 0),
    ] {
        assert_device_lost(lost, &[STORE]);
    }
}

fn a_fault_is_not_blamed_on_kernels_that_ended_well() {
    let (device, other) = (gpu(), gpu());
    for device in [&device, &other] {
        let mut data = device.upload(&[1_u32, 2, 3]).expect("a buffer");
        rotate(&mut data).expect("a launch");
        assert_eq!(data.download().expect("a copy"), [2, 3, 1]);
    }
    assert_kernel_fault(&fault(&device), &[STORE]);
}

fn kernels_that_were_not_waited_for_may_have_made_the_fault() {
    let device = gpu();
    let mut data = device.upload(&[1_u32, 2, 3]).expect("a buffer");
    let mut faulty = device.zeros::<u32>(4).expect("a buffer");
    rotate(&mut data).expect("a launch");
    store(&mut faulty, OUTSIDE).expect("the launch itself goes well");
    assert_kernel_fault(&device.synchronize().expect_err("a fault"), &[ROTATE, STORE]);
}

fn a_fault_ends_every_device_object_of_the_gpu() {
    let (faulty, other) = (gpu(), gpu());
    let mut data = other.upload(&[1_u32, 2, 3]).expect("a buffer");
    let event = other.record().expect("an event");
    // A buffer of this size would be reused without calling the driver.
    drop(other.zeros::<u32>(3).expect("a buffer"));
    other.synchronize().expect("nothing is wrong yet");
    assert_kernel_fault(&fault(&faulty), &[STORE]);
    for lost in [
        other.uninitialized::<u32>(3).map(|_| ()),
        store(&mut data, 2),
        data.download().map(|_| ()),
        other.synchronize(),
        other.memory().map(|_| ()),
        event.elapsed_since(&event).map(|_| ()),
        faulty.synchronize(),
    ] {
        assert_device_lost(lost, &[STORE]);
    }
}

fn pending_kernels_of_every_device_object_are_named() {
    let (faulty, other) = (gpu(), gpu());
    let mut data = other.upload(&[1_u32, 2, 3]).expect("a buffer");
    let mut outside = faulty.zeros::<u32>(4).expect("a buffer");
    rotate(&mut data).expect("a launch");
    store(&mut outside, OUTSIDE).expect("the launch itself goes well");
    let error = faulty.synchronize().expect_err("the store is far outside");
    assert_kernel_fault(&error, &[STORE, ROTATE]);
    assert_device_lost(other.synchronize(), &[STORE, ROTATE]);
    assert_gpu_lost(Device::cuda(0), &[STORE, ROTATE]);
}

fn one_call_alone_is_told_of_the_fault() {
    let devices = [(); 4].map(|()| gpu());
    let mut data = devices[0].zeros::<u32>(4).expect("a buffer");
    store(&mut data, OUTSIDE).expect("the launch itself goes well");
    let first_error = |device: &Device| {
        loop {
            if let Err(error) = device.synchronize() {
                return error;
            }
        }
    };
    let errors = std::thread::scope(|scope| {
        let threads = devices.each_ref().map(|device| scope.spawn(|| first_error(device)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    let (told, lost): (Vec<_>, Vec<_>) =
        errors.into_iter().partition(|error| matches!(error, DeviceError::KernelFault { .. }));
    assert_eq!((told.len(), lost.len()), (1, 3));
    assert_kernel_fault(&told[0], &[STORE]);
    for error in lost {
        assert_device_lost(Err(error), &[STORE]);
    }
}

fn no_device_object_can_be_made_after_a_fault() {
    let device = gpu();
    assert_kernel_fault(&fault(&device), &[STORE]);
    assert_gpu_lost(Device::cuda(0), &[STORE]);
    // Even after the device object that faulted is dropped.
    let name = device.to_string();
    drop(device);
    let error = Device::cuda(0).expect_err("the GPU is lost").to_string();
    assert!(
        error.contains(&name) && error.contains(STORE) && error.contains("start a new process"),
        "{error}"
    );
    assert_gpu_lost(Device::cuda(0), &[STORE]);
    assert_gpu_lost(Device::best(), &[STORE]);

    let cpu = Device::cpu();
    assert_eq!(cpu.kind(), DeviceKind::Cpu);
    assert_eq!(cpu.upload(&[1_u32, 2]).expect("a buffer").download().expect("a copy"), [1, 2]);
    let simulated = Device::simulated(SimulatedOptions::default());
    assert_works(&simulated);
}

fn a_fault_that_no_call_has_seen_refuses_new_device_objects() {
    let device = gpu();
    let mut data = device.zeros::<u32>(4).expect("a buffer");
    store(&mut data, OUTSIDE).expect("the launch itself goes well");
    std::thread::sleep(Duration::from_millis(200));
    match Device::cuda(0) {
        // A driver may notice a fault only when its context is waited for.
        Ok(_) => println!("the driver has not noticed"),
        refused => assert_gpu_lost(refused, &[STORE]),
    }
    // In either case, no device object has reported it yet.
    assert_kernel_fault(&device.synchronize().expect_err("a fault"), &[STORE]);
    assert_device_lost(device.synchronize(), &[STORE]);
    assert_gpu_lost(Device::cuda(0), &[STORE]);
}

fn a_fault_of_a_dropped_device_object_is_remembered() {
    let (device, other) = (gpu(), gpu());
    let mut data = device.zeros::<u32>(4).expect("a buffer");
    store(&mut data, OUTSIDE).expect("the launch itself goes well");
    drop((data, device));
    assert_gpu_lost(Device::cuda(0), &[STORE]);
    assert_kernel_fault(&other.synchronize().expect_err("a fault"), &[STORE]);
}

/// Causes a fault through the driver, as another library in the process would.
fn fault_of_another_library() -> cust::error::CudaResult<()> {
    let gpu = cust::device::Device::get_device(0)?;
    let _context = Context::create_and_push(ContextFlags::SCHED_AUTO, gpu)?;
    let module = Module::from_ptx(include_str!("../../ptx/sm_75/testing.ptx"), &[])?;
    let kernel = module.get_function(STORE)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let nowhere = DevicePointer::<u32>::null();
    // SAFETY: the arguments are of the kernel's types; their wrong values cause the intended fault.
    unsafe { cust::launch!(kernel<<<1, 32, 0, stream>>>(nowhere, OUTSIDE)) }?;
    stream.synchronize()
}

fn a_fault_of_another_library_is_not_blamed_on_this_one() {
    let device = gpu();
    assert_works(&device);
    let error = fault_of_another_library().expect_err("a fault");
    assert_eq!(error, cust::error::CudaError::IllegalAddress);
    assert_gpu_lost(Device::cuda(0), &[]);
    let error = device.synchronize().expect_err("a fault");
    assert_kernel_fault(&error, &[]);
    assert!(error.to_string().contains("another library"), "{error}");
    assert_device_lost(device.synchronize(), &[]);
}

/// The stand-in's store at this index fails an assertion.
const ASSERT_INDEX: u64 = 1 << 45;

fn an_assertion_ends_its_device_object_alone() {
    let (device, other) = (gpu(), gpu());
    if device.name() != "stand-in" {
        println!("SKIPPED: no kernel here has an assertion; only the stand-in simulates one");
        return;
    }
    let mut data = device.zeros::<u32>(4).expect("a buffer");
    store(&mut data, ASSERT_INDEX).expect("the launch itself goes well");
    let error = device.synchronize().expect_err("an assertion");
    assert!(matches!(&error, DeviceError::KernelFault { kernels, .. } if kernels == &[STORE]), "{error}");
    assert_device_lost(device.synchronize(), &[STORE]);
    assert_works(&other);
    assert_works(&gpu());
}

fn copies_in_flight_end_with_the_device() {
    let device = gpu();
    let (stream, mut host) = (device.stream().expect("a stream"), device.pinned::<u32>(4).expect("memory"));
    let mut data = device.upload(&[7_u32; 4]).expect("a small buffer");
    stream.scope(|| {
        store(&mut data, OUTSIDE).expect("the launch itself goes well");
        // The driver may already know of the fault.
        let _ = data.copy_to_pinned(&mut host, 0);
    });
    let error = host.as_slice().err().or_else(|| device.synchronize().err()).expect("the copy has failed");
    println!("{error}");
    assert!(matches!(error, DeviceError::KernelFault { .. } | DeviceError::DeviceLost { .. }), "{error}");
    assert!(data.copy_to_pinned(&mut host, 0).is_err() && device.stream().is_err());
    assert!(device.pinned::<u32>(4).is_err());
    drop((host, stream, data, device));
    assert!(Device::cuda(0).is_err());
}

fn copies_end_before_the_primary_context_is_released() {
    let device = Device::cuda_primary(0).expect("the GPU's context");
    let other = Device::cuda_primary(0).expect("the GPU's context");
    let (stream, mut host) = (device.stream().expect("a stream"), device.pinned::<u32>(4).expect("memory"));
    let mut data = device.upload(&[7_u32; 4]).expect("a small buffer");
    stream.scope(|| {
        // A GPU faults here. The stand-in's next wait fails while the copy continues.
        store(&mut data, 1 << 46).expect("the launch itself goes well");
        let _ = data.copy_to_pinned(&mut host, 0);
    });
    device.synchronize().expect_err("a wait fails");
    assert!(host.as_slice().is_err());
    drop((host, stream, data, device, other));
}

fn a_fault_in_the_primary_context_is_the_same() {
    let (device, other) = (Device::cuda_primary(0).expect("the GPU's context"), gpu());
    assert_kernel_fault(&fault(&device), &[STORE]);
    assert_device_lost(other.synchronize(), &[STORE]);
    assert!(device.raw_context().is_err() && Device::cuda_primary(0).is_err());
}
