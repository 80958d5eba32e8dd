//! Memory exchanged with other code.

// Values are copied.
#![allow(clippy::float_cmp)]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, DlpackError,
    FLAG_READ_ONLY, Tensor,
};
use evenpath::error::DeviceError;
use evenpath::{Csr, Device, DeviceDense, DeviceVec, Layout, vector};
use evenpath_lab::Diagnostics;
use evenpath_tests::devices;

#[test]
fn released_memory_can_be_wrapped_again() {
    for device in devices() {
        let device = device.device;
        let before = device.memory().unwrap().in_use;
        let x = device.upload(&[1.0, 2.0, 3.0]).unwrap();
        let parts = x.into_raw_parts();
        assert_eq!((parts.len, parts.address == 0), (3, false));
        let calls = Arc::new(AtomicU32::new(0));
        let (counted, give_back) = (calls.clone(), parts.release);
        let release = move || {
            counted.fetch_add(1, Relaxed);
            give_back();
        };
        // SAFETY: the memory is that of a vector of three elements of this device.
        let mut x = unsafe { DeviceVec::<f64>::from_raw_parts(&device, parts.address, 3, release) }.unwrap();
        let mut y = device.zeros(2).unwrap();
        vector::axpby(2.0, &x.slice(1..).unwrap(), 0.0, &mut y).unwrap();
        x.slice_mut(..1).unwrap().copy_from_slice(&[9.0]).unwrap();
        x.truncate(2);
        assert_eq!((x.download().unwrap(), y.download().unwrap()), (vec![9.0, 2.0], vec![4.0, 6.0]));
        // A matrix takes it like any other vector.
        let a = evenpath::DeviceCsr::try_new(
            1,
            2,
            device.upload(&[0_u32, 2]).unwrap(),
            device.upload(&[0_u32, 1]).unwrap(),
            x,
        );
        assert_eq!(
            a.expect("valid").download().unwrap(),
            Csr::from_triplets(1, 2, [(0, 0, 9.0), (0, 1, 2.0)]).unwrap()
        );
        assert_eq!(calls.load(Relaxed), 1, "{device}");
        drop(y);
        assert_eq!(device.memory().unwrap().in_use, before, "{device}");
    }
}

#[test]
fn memory_is_released_after_a_wait_for_the_device() {
    // Other devices do not count waits.
    for device in devices().into_iter().filter(|device| device.device.kind() == DeviceKind::Simulated) {
        let device = device.device;
        let parts = device.upload(&[1.0, 2.0]).unwrap().into_raw_parts();
        let waits = Arc::new(AtomicU32::new(0));
        let (counter, own) = (waits.clone(), device.clone());
        let release = move || {
            counter.store(own.waits() as u32, Relaxed);
            (parts.release)();
        };
        // SAFETY: the memory is that of a vector of two elements of this device.
        let mut x = unsafe { DeviceVec::<f64>::from_raw_parts(&device, parts.address, 2, release) }.unwrap();
        x.set_zero().unwrap();
        let before = device.waits();
        drop(x);
        assert_eq!(u64::from(waits.load(Relaxed)), before + 1);
    }
}

#[test]
fn wrong_memory_is_refused() {
    for device in devices() {
        let device = device.device;
        let x = device.upload(&[1_u32; 8]).unwrap();
        // SAFETY: it is refused.
        let error = unsafe { DeviceVec::<u32>::from_raw_parts(&device, x.raw_address() + 4, 4, || {}) };
        assert!(matches!(error, Err(DeviceError::Misaligned { .. })), "{error:?}");
        // SAFETY: no elements.
        let none = unsafe { DeviceVec::<u32>::from_raw_parts(&device, 3, 0, || {}) }.unwrap();
        assert!(none.is_empty() && none.raw_address() == 0 && none.download().unwrap().is_empty());
        if !matches!(device.kind(), DeviceKind::Cuda(_)) {
            // SAFETY: it is refused.
            let refused = unsafe { device.foreign_stream(std::ptr::null_mut()) };
            assert!(matches!(refused, Err(DeviceError::NotCuda { .. })));
            assert!(device.raw_stream().is_err() && device.raw_context().is_err());
        }
    }
}

#[test]
fn foreign_work_is_put_on_streams() {
    for device in devices() {
        let device = device.device;
        let (x, mut y) = (device.upload(&[1.0, 2.0]).unwrap(), device.zeros::<f64>(2).unwrap());
        let calls = AtomicU32::new(0);
        let put = |stream: *mut c_void| {
            calls.fetch_add(1, Relaxed);
            stream.is_null()
        };
        // SAFETY: nothing is put on the stream.
        let is_null = unsafe { device.put_foreign(&[&*x], &mut [&mut *y], put) }.unwrap();
        assert_eq!((is_null, calls.load(Relaxed)), (!matches!(device.kind(), DeviceKind::Cuda(_)), 1));
        // SAFETY: as above.
        let in_graph =
            device.capture((), |()| unsafe { device.put_foreign::<u8, _>(&[], &mut [], put).map(|_| ()) });
        // The CPU captures nothing.
        assert!(device.kind() == DeviceKind::Cpu || matches!(in_graph, Err(DeviceError::Capture { .. })));
        let end = device.record().unwrap();
        device.synchronize().unwrap();
        assert!(end.is_done().unwrap());
        let other = Device::simulated(SimulatedOptions::default().with_threads(1));
        let z = other.zeros::<f64>(2).unwrap();
        // SAFETY: as above.
        let mixed = unsafe { device.put_foreign(&[&*z], &mut [], put) };
        assert!(matches!(mixed, Err(DeviceError::DifferentDevices { .. })) && calls.load(Relaxed) == 1);
    }
}

/// A tensor of another library, which counts its deletions.
struct Foreign {
    data: Vec<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    given_back: Arc<AtomicU32>,
}

const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };
const CPU: DLDevice = DLDevice { device_type: 1, device_id: 0 };

fn foreign(
    shape: &[i64],
    strides: Option<&[i64]>,
    offset: usize,
) -> (Box<DLManagedTensorVersioned>, Arc<AtomicU32>) {
    unsafe extern "C" fn deleter(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: both were boxes.
        let foreign = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Foreign>()) };
        foreign.given_back.fetch_add(1, Relaxed);
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(managed) });
    }
    let given_back = Arc::new(AtomicU32::new(0));
    let mut owner = Box::new(Foreign {
        data: (0..100_u8).map(f32::from).collect(),
        shape: shape.to_vec(),
        strides: strides.unwrap_or_default().to_vec(),
        given_back: given_back.clone(),
    });
    let dl_tensor = DLTensor {
        data: owner.data.as_mut_ptr().cast::<c_void>(),
        device: CPU,
        ndim: shape.len() as i32,
        dtype: F32,
        shape: owner.shape.as_mut_ptr(),
        strides: if strides.is_some() { owner.strides.as_mut_ptr() } else { std::ptr::null_mut() },
        byte_offset: 4 * offset as u64,
    };
    let version = DLPackVersion { major: 1, minor: 7 };
    let manager_ctx = Box::into_raw(owner).cast();
    let deleter = Some(deleter as unsafe extern "C" fn(_));
    (Box::new(DLManagedTensorVersioned { version, manager_ctx, deleter, flags: 0, dl_tensor }), given_back)
}

fn take(managed: Box<DLManagedTensorVersioned>) -> Result<Tensor, DlpackError> {
    // SAFETY: the tensor is valid.
    unsafe { Tensor::from_raw(NonNull::from(Box::leak(managed))) }
}

#[test]
fn foreign_tensors_become_vectors() {
    let device = Device::cpu();
    for (strides, offset) in [(None, 0), (Some([1].as_slice()), 4), (None, 3)] {
        let (managed, given_back) = foreign(&[5], strides, offset);
        let tensor = take(managed).unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), ([5].as_slice(), vec![1]));
        assert_eq!((tensor.data_type(), tensor.device()), (F32, CPU));
        let mut x = tensor.into_vec::<f32>(&device).unwrap();
        let expected: Vec<f32> = (0..5_u8).map(|at| f32::from(at + offset as u8)).collect();
        assert_eq!(x.download().unwrap(), expected);
        x.set_zero().unwrap();
        drop(x);
        assert_eq!(given_back.load(Relaxed), 1);
    }
    // Read-only memory is copied.
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.flags = FLAG_READ_ONLY;
    let x = take(managed).unwrap().into_vec::<f32>(&device).unwrap();
    assert_eq!((given_back.load(Relaxed), x.get(4).unwrap()), (1, 4.0));
    let (managed, _) = foreign(&[0], None, 0);
    assert!(take(managed).unwrap().into_vec::<f32>(&device).unwrap().is_empty());
}

/// Shape and strides of a tensor, and layout and leading dimension of the matrix.
type Case<'a> = (&'a [i64], Option<&'a [i64]>, Layout, usize);

#[test]
fn foreign_tensors_become_matrices() {
    let device = Device::cpu();
    let cases: [Case<'_>; 7] = [
        (&[3, 4], None, Layout::RowMajor, 4),
        (&[3, 4], Some(&[7, 1]), Layout::RowMajor, 7),
        (&[3, 4], Some(&[1, 3]), Layout::ColumnMajor, 3),
        (&[3, 4], Some(&[1, 9]), Layout::ColumnMajor, 9),
        (&[1, 4], Some(&[99, 1]), Layout::RowMajor, 4),
        (&[3, 1], Some(&[2, 77]), Layout::RowMajor, 2),
        (&[0, 4], None, Layout::RowMajor, 4),
    ];
    for (shape, strides, layout, leading) in cases {
        let (managed, given_back) = foreign(shape, strides, 4);
        let tensor = take(managed).unwrap();
        let strides = tensor.strides();
        let matrix = tensor.into_dense::<f32>(&device).unwrap();
        assert_eq!((matrix.layout(), matrix.leading_dimension()), (layout, leading), "{shape:?} {strides:?}");
        assert_eq!((matrix.nrows() as i64, matrix.ncols() as i64), (shape[0], shape[1]));
        let values = matrix.download().unwrap();
        let (to_row, to_col) = if layout == Layout::RowMajor { (leading, 1) } else { (1, leading) };
        for row in 0..matrix.nrows() {
            for col in 0..matrix.ncols() {
                let expected = 4 + row as i64 * strides[0] + col as i64 * strides[1];
                assert_eq!(values[row * to_row + col * to_col], expected as f32);
            }
        }
        // And back.
        let tensor = Tensor::from_dense(matrix).unwrap();
        assert_eq!(tensor.shape(), shape);
        drop(tensor);
        assert_eq!(given_back.load(Relaxed), 1);
    }
}

#[test]
fn unsuitable_tensors_are_deleted() {
    let device = Device::cpu();
    let refused =
        |managed: Box<DLManagedTensorVersioned>, given_back: &AtomicU32, dimensions: usize, text: &str| {
            let result = take(managed).and_then(|tensor| match dimensions {
                1 => tensor.into_vec::<f32>(&device).map(drop),
                _ => tensor.into_dense::<f32>(&device).map(drop),
            });
            let message = result.expect_err(text).to_string();
            assert!(message.contains(text), "{message}");
            assert_eq!(given_back.load(Relaxed), 1, "{text}");
        };
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.version.major = 2;
    refused(managed, &given_back, 1, "DLPack 2.7");
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.dl_tensor.dtype.code = 0;
    refused(managed, &given_back, 1, "type int32, not float32");
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.dl_tensor.dtype.lanes = 2;
    refused(managed, &given_back, 1, "float32x2");
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.dl_tensor.device = DLDevice { device_type: 2, device_id: 3 };
    refused(managed, &given_back, 1, "the tensor is on cuda:3, not on CPU");
    let (managed, given_back) = foreign(&[5], Some(&[2]), 0);
    refused(managed, &given_back, 1, "not a vector");
    let (managed, given_back) = foreign(&[5], None, 0);
    refused(managed, &given_back, 2, "1 dimensions, not 2");
    let (managed, given_back) = foreign(&[5, -1], None, 0);
    refused(managed, &given_back, 2, "not a matrix");
    for strides in [[2, 2], [0, 1], [3, 1], [-4, 1], [1, 1], [1, 2]] {
        let (managed, given_back) = foreign(&[3, 4], Some(&strides), 0);
        refused(managed, &given_back, 2, "not a matrix");
    }
    let (managed, given_back) = foreign(&[i64::MAX, i64::MAX], None, 0);
    refused(managed, &given_back, 2, "not a matrix");
    let simulated = Device::simulated(SimulatedOptions::default());
    let (managed, _) = foreign(&[5], None, 0);
    assert!(matches!(take(managed).unwrap().into_vec::<f32>(&simulated), Err(DlpackError::Device { .. })));
    let own = simulated.upload(&[1.0_f32]).unwrap();
    assert!(matches!(Tensor::from_vec(own), Err(DlpackError::NotShared { .. })));
}

#[test]
fn both_forms_hold_the_same_tensor() {
    let device = Device::cpu();
    let x = device.upload(&[1.0_f32, 2.0, 3.0]).unwrap();
    let address = x.raw_address();
    let unversioned: NonNull<DLManagedTensor> = Tensor::from_vec(x).unwrap().into_raw_unversioned().unwrap();
    // SAFETY: the tensor is valid, here and below.
    let versioned = unsafe { Tensor::from_raw_unversioned(unversioned) }.into_raw();
    // SAFETY: as above.
    let x = unsafe { Tensor::from_raw(versioned) }.unwrap().into_vec::<f32>(&device).unwrap();
    assert_eq!((x.raw_address(), x.download().unwrap()), (address, vec![1.0, 2.0, 3.0]));
    let (mut managed, given_back) = foreign(&[5], None, 0);
    managed.flags = FLAG_READ_ONLY;
    assert!(matches!(take(managed).unwrap().into_raw_unversioned(), Err(DlpackError::ReadOnly)));
    assert_eq!(given_back.load(Relaxed), 1);
    let matrix = DeviceDense::try_new(x, 1, 3, Layout::ColumnMajor).unwrap();
    let tensor = Tensor::from_dense(matrix).unwrap();
    assert_eq!((tensor.shape(), tensor.strides()), ([1, 3].as_slice(), vec![1, 1]));
}
