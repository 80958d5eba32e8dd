//! Memory kept by captured graphs.

use super::*;

fn add(data: GlobalMut<u32>, device: &Device) -> Result<(), DeviceError> {
    let kernel = Add { data, len: data.len(), amount: 7 };
    // SAFETY: the simulated GPU checks every access.
    unsafe { device.launch(kernel, Add::INSTANCES[0], 1, 0) }
}

#[test]
fn an_address_that_a_graph_does_not_keep_is_refused() {
    let device = simulated();
    let mut x = device.upload(&[1_u32; 64]).unwrap();
    let view = x.as_global_mut();
    let other = device.zeros::<u32>(64).unwrap();
    let error = device
        .capture((), |()| {
            other.as_global();
            add(view, &device)
        })
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(error, DeviceError::NotKept { operation: "test_add", address, .. } if address == view.address()),
        "{error}"
    );
    // The failed capture leaves nothing behind, and the device stays usable.
    add(view, &device).unwrap();
    // A view made during the capture is kept by the graph.
    let mut graph = device.capture(x, |x| add(x.as_global_mut(), &device)).unwrap();
    graph.launch().unwrap();
    assert_eq!(graph.into_state().download().unwrap(), [15; 64]);
}

#[test]
fn a_view_beyond_what_a_graph_keeps_is_refused() {
    let device = simulated();
    let mut x = device.upload(&[1_u32; 64]).unwrap();
    let bytes = 1 << 16; // larger than the allocation
    let captured =
        device.capture((), |()| add(GlobalMut::from_device(x.as_global_mut().address(), bytes), &device));
    assert!(matches!(captured, Err(DeviceError::NotKept { .. })));
}

#[test]
fn the_memory_of_a_graph_counts_until_it_is_dropped() {
    for device in devices() {
        device.set_memory_limit(Some(1_000));
        let y = device.zeros::<u64>(10).unwrap();
        let mut graph = device
            .capture(y, |y| {
                let x = device.zeros::<u64>(10)?;
                let temporary = device.zeros::<u64>(106).map(drop);
                assert!(matches!(temporary, Err(DeviceError::MemoryLimit { .. })));
                y.copy_from(&x)
            })
            .unwrap();
        graph.launch().unwrap();
        let in_use = || device.memory().unwrap().in_use;
        // On the CPU, the function's allocations exist only while it runs.
        assert_eq!(in_use(), if device.kind() == DeviceKind::Cpu { 80 } else { 160 });
        let y = graph.into_state();
        assert_eq!(in_use(), 80);
        let shared = std::sync::Mutex::new(Some(y));
        let graph = device
            .capture((), |()| shared.lock().unwrap().as_ref().map_or(Ok(()), |y| y.copied().map(drop)))
            .unwrap();
        drop(shared.lock().unwrap().take());
        assert_eq!(in_use(), if device.kind() == DeviceKind::Cpu { 0 } else { 160 });
        if device.kind() != DeviceKind::Cpu {
            let error = device.zeros::<u8>(841).unwrap_err();
            assert!(matches!(error, DeviceError::MemoryLimit { in_use: 160, .. }), "{error}");
        }
        drop(graph);
        assert_eq!(in_use(), 0);
        assert_eq!(device.zeros::<u8>(1_000).unwrap().bytes(), 1_000);
    }
}
