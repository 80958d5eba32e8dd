//! SpMV by draws of rows, as LightSpMV does it.

use evenpath::error::OpError;
use evenpath::spmv::{SpmvDetails, SpmvMethod, SpmvOptions};
use evenpath::{Device, Value};
use evenpath_kernels::spmv::LightRows;
use evenpath_lab::LightByRows;
use evenpath_tests::{DeviceUnderTest, check_spmv, kernel_devices, tile_len, vector, with_row_lengths};

/// Enough rows that a warp takes several rows per vector each time it draws, and fewer the last time.
#[test]
fn light_draws_of_several_rows() {
    for DeviceUnderTest { device, fast } in kernel_devices() {
        // Vectors of two lanes, the maximum number of resident blocks, four draws per warp: twice that, plus one.
        let blocks = device.properties().multiprocessors as usize * if fast { 8 } else { 1 };
        let rows = tile_len::<LightRows<f32, u32>>() / 2 * blocks * 4 * 2 + 1;
        for (cols, length) in [(9, 0), (9, 1)] {
            let a = with_row_lengths::<f32, u32>(cols, &vec![length; rows]);
            let method = SpmvMethod::Light { lanes: None, block_size: None };
            check_spmv(&device, &a, method, 1.0, 0.5);
            let matrix = device.upload(&a).expect("upload");
            let plan = matrix.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
            let info = plan.info().expect("info");
            assert!(
                matches!(info.details, Some(SpmvDetails::Light { rows_per_draw: 2.., .. })),
                "{device}: {info}"
            );
        }
    }
}

#[test]
fn light_has_a_block_for_as_many_rows_as_threads() {
    fn check<V: Value>(device: &Device, threads: u32) {
        let rows = 2 * threads as usize + 1;
        let a = with_row_lengths::<V, u32>(40, &(0..rows).map(|row| row * 7 % 40).collect::<Vec<_>>());
        let method = SpmvMethod::Light { lanes: None, block_size: Some(threads) };
        let on_device = device.upload(&a).expect("upload");
        let resident = on_device.plan_spmv(SpmvOptions::default().with_method(method)).expect("plan");
        let by_rows = on_device.plan_light_by_rows(threads).expect("plan");
        let info = by_rows.info().expect("info");
        assert_eq!((info.tiles, info.method), (3, resident.info().expect("info").method));
        assert!(matches!(info.details, Some(SpmvDetails::Light { rows_per_draw: 1, .. })), "{info}");
        let x = device.upload(&vector::<V>(40)).expect("upload");
        let y = [by_rows, resident].map(|plan| {
            let mut y = device.upload(&vec![V::from_f64(f64::NAN); rows]).expect("upload");
            plan.run(V::ONE, &x, V::ZERO, &mut y).expect("run");
            y.download().expect("download")
        });
        assert_eq!(y[0], y[1]);
    }
    for DeviceUnderTest { device, .. } in kernel_devices() {
        for threads in [128, 256, 512, 1024] {
            check::<f32>(&device, threads);
            check::<f64>(&device, threads);
        }
        let a = device.upload(&with_row_lengths::<f64, u32>(4, &[1, 2])).expect("upload");
        assert!(matches!(a.plan_light_by_rows(64), Err(OpError::BlockSize { block_size: 64, .. })));
    }
    let a = Device::cpu().upload(&with_row_lengths::<f64, u32>(4, &[1, 2])).expect("upload");
    assert!(matches!(a.plan_light_by_rows(128), Err(OpError::UnsupportedMethod { .. })));
}
