//! Abandoned lanes run their destructors, so that safe kernel code stays sound.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};
use evenpath_simt::{kernel, thread, Arena, GlobalMut};

static BEGUN: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicU32 = AtomicU32::new(0);

kernel! {
    /// Lends a lane's memory to a thread of the host, and waits at a barrier that one lane never reaches.
    pub struct LendsItsStack {
        pub data: GlobalMut<u32>,
    }
    shared: 0;
    body: |LendsItsStack { data }: LendsItsStack, _: Arena| {
        if thread::index() == 3 {
            data.load(5);
        }
        let lent = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                BEGUN.fetch_add(1, SeqCst);
                std::thread::sleep(Duration::from_millis(50));
                lent.store(1, SeqCst);
                ENDED.fetch_add(1, SeqCst);
            });
            thread::barrier();
        });
    };
    entry: lends_its_stack in unwinding: 4 x 1;
}

#[test]
fn an_abandoned_lane_ends_its_borrows() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default().with_threads(1));
    let address = gpu.allocate(4).expect("memory");
    let kernel = LendsItsStack { data: GlobalMut::from_device(address, 1) };
    gpu.run(kernel, 1).expect_err("outside its view");
    assert_eq!((BEGUN.load(SeqCst), ENDED.load(SeqCst)), (3, 3));
}
