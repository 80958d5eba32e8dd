//! Operands that are refused, and what is left of them.

use evenpath::error::{DeviceError, OpError};
use evenpath::semiring::{MinPlus, PlusPair};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device};
use evenpath_tests::device_of_each_kind;

use super::oracle::sorted;

#[test]
fn lengths_shapes_and_devices() {
    for device in device_of_each_kind() {
        let a = sorted::<MinPlus, f64, u32>(4, &[2, 0, 1]);
        let (host, a) = (a.clone(), device.upload(&a).unwrap());
        let (x, mut y) = (device.upload(&[1.0; 4]).unwrap(), device.upload(&[7.0; 3]).unwrap());
        let short = a.spmv_over::<MinPlus>(&x.slice(..3).unwrap(), &mut y).unwrap_err();
        assert!(matches!(short, OpError::Length { operand: "x", len: 3, needed: 4 }), "{short}");
        let short = a.add_spmv_over::<MinPlus>(&x, &mut y.slice_mut(1..).unwrap()).unwrap_err();
        assert!(matches!(short, OpError::Length { operand: "y", len: 2, needed: 3 }), "{short}");
        let other = Device::cpu().upload(&[1.0; 4]).unwrap();
        if device.kind() != Device::cpu().kind() {
            let mixed = a.spmv_over::<MinPlus>(&other, &mut y).unwrap_err();
            assert!(matches!(mixed, OpError::Device(DeviceError::DifferentDevices { .. })), "{mixed}");
        }
        assert_eq!(y.download().unwrap(), [7.0; 3]);
        let mut on_host = [7.0; 2];
        let short = host.spmv_over::<MinPlus>(&[1.0; 4], &mut on_host).unwrap_err();
        assert!(matches!(short, OpError::Length { operand: "y", len: 2, needed: 3 }), "{short}");
        assert_eq!(on_host.to_vec(), [7.0; 2]);

        let shape = a.spgemm_over::<MinPlus>(&a, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(shape, OpError::Shape { operand: "B", rows: 3, .. }), "{shape}");
        let b = device.upload(&sorted::<MinPlus, f64, u32>(5, &[1, 2, 0, 5])).unwrap();
        let mask = device.upload(&sorted::<PlusPair, u64, u32>(4, &[1, 1, 1])).unwrap();
        let shape = a.spgemm_masked_over::<MinPlus, _>(&b, &mask, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(shape, OpError::Shape { operand: "the mask", cols: 4, .. }), "{shape}");
    }
}

#[test]
fn little_memory_and_matrices_that_are_not_canonical() {
    for device in device_of_each_kind() {
        let a = device.upload(&sorted::<MinPlus, i32, u32>(50, &[5; 50])).unwrap();
        let limit = SpgemmOptions::default().with_memory_limit(100);
        let refused = a.spgemm_over::<MinPlus>(&a, limit).unwrap_err();
        assert!(matches!(refused, OpError::ProductMemory { limit: 100, .. }), "{refused}");
        let refused = a.spgemm_masked_over::<MinPlus, _>(&a, &a, limit).unwrap_err();
        assert!(matches!(refused, OpError::ProductMemory { limit: 100, .. }), "{refused}");
        let descending = Csr::try_new(1, 1, vec![0_u32, 2], vec![0, 0], vec![1_i32, 2]).unwrap();
        let descending = device.upload(&descending).unwrap();
        let refused = descending.spgemm_over::<MinPlus>(&descending, SpgemmOptions::default()).unwrap_err();
        assert!(matches!(refused, OpError::NotCanonical { operand: "A", row: 0, .. }), "{refused}");
    }
}
