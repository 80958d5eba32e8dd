//! Every check of the simulated GPU, with a kernel that makes exactly that mistake.
#![allow(missing_docs, clippy::if_same_then_else)]

use evenpath_simt::host::{Fault, FaultKind, SimulatedGpu, SimulatedOptions};
use evenpath_simt::kernel::{Argument, Kernel};
use evenpath_simt::{kernel, Arena, Global, GlobalMut};

use memory::OutsideView;
use waiting::ExitBeforeBarrier;

/// Each kernel takes a vector and makes its mistake in thread 37 of block 2. Blocks have 64 threads.
const THREAD: u32 = 37;
const BLOCK_INDEX: u32 = 2;

macro_rules! planted {
    ($($kernel:ident, $entry:ident, $shared:expr, |$arena:ident, $data:ident, $culprit:ident| $body:block)*) => {$(
        kernel! {
            /// A kernel with a mistake.
            pub struct $kernel {
                pub data: GlobalMut<u32>,
            }
            shared: $shared;
            body: |$kernel { data: $data }: $kernel, mut $arena: Arena| {
                let $culprit = thread::block() == BLOCK_INDEX && thread::index() == THREAD;
                let _ = (&mut $arena, $data);
                $body
            };
            entries: {
                $entry in planted: 64 x 1;
            }
        }
    )*};
}

macro_rules! found {
    ($kernel:ident, $entry:ident, $pattern:pat $(if $guard:expr)?) => {
        let kind = report(|data| $kernel { data }, stringify!($entry));
        assert!(matches!(&kind, $pattern $(if $guard)?), "{kind:?}");
    };
}

mod memory;
mod races;
mod streams;
mod waiting;

fn launch<K: Kernel>(gpu: &SimulatedGpu, kernel: K) -> Result<(), Fault> {
    gpu.run(kernel, 4)
}

fn device() -> SimulatedGpu {
    SimulatedGpu::new(SimulatedOptions::default().with_patience_seconds(1))
}

/// Runs a kernel on ten elements that were never written. Returns its report, which must name the place of the mistake.
fn report<K: Kernel>(make: fn(GlobalMut<u32>) -> K, name: &str) -> FaultKind {
    let gpu = device();
    let address = gpu.allocate(400).expect("memory");
    let fault = launch(&gpu, make(GlobalMut::from_device(address, 10))).expect_err("the mistake is found");
    let text = fault.to_string();
    let place = fault.place.expect("a place");
    assert_eq!(place.kernel, name);
    assert!(text.contains(&format!("kernel `{name}`, block {BLOCK_INDEX}, thread")), "{text}");
    assert_eq!(place.block, Some(BLOCK_INDEX), "{text}");
    fault.kind
}

kernel! {
    /// Exceeds the limits on static shared memory and on threads per block.
    pub struct TooLarge {
        pub data: Global<u32>,
    }
    shared: 49 * 1024;
    body: |TooLarge { .. }: TooLarge, _: Arena| {};
    entries: {
        too_large_shared in planted: 64 x 1;
        too_large_block in planted: 2048 x 1;
    }
}

#[test]
fn launches_beyond_the_limits() {
    let gpu = device();
    let kernel = TooLarge { data: Global::from_device(0, 0) };
    let shared = TooLarge::instance(64, 1).expect("instance");
    let block = TooLarge::instance(2048, 1).expect("instance");
    let small = OutsideView::first().expect("instance");
    let simulation = OutsideView::simulation(small).expect("its own instance");
    let launch = |info, grid, dynamic, arguments: &[Argument]| {
        gpu.launch(info, simulation, grid, dynamic, arguments).expect_err("refused")
    };
    let refused = |info, grid, dynamic| launch(info, grid, dynamic, &kernel.pack()).kind;
    assert!(matches!(
        refused(shared, 1, 0),
        FaultKind::SharedMemory { what: "statically sized", limit: 49152, .. }
    ));
    assert!(matches!(refused(block, 1, 0), FaultKind::BlockSize { threads: 2048, limit: 1024 }));
    assert!(matches!(refused(small, 0, 0), FaultKind::GridSize { blocks: 0, .. }));
    assert!(matches!(refused(small, 1 << 31, 0), FaultKind::GridSize { .. }));
    assert!(matches!(refused(small, 1, 300 * 1024), FaultKind::SharedMemory { what: "in all", .. }));
    let fault = launch(small, 1, 0, &[]);
    assert_eq!(fault.kind, FaultKind::Arguments { given: 0, declared: 1 });
    assert!(fault.to_string().starts_with("kernel `outside_view`"), "{fault}");
}

#[test]
fn devices_stay_usable_after_reports() {
    let gpu = device();
    let address = gpu.allocate(4000).expect("memory");
    for _ in 0..3 {
        assert!(launch(&gpu, ExitBeforeBarrier { data: GlobalMut::from_device(address, 10) }).is_err());
        launch(&gpu, OutsideView { data: GlobalMut::from_device(address, 1000) }).expect("no mistake here");
    }
    let mut word = [0; 4];
    gpu.read(address + 400, &mut word).expect("written");
    assert_eq!(word, [1, 0, 0, 0]);
    assert!(gpu.read(address, &mut word).is_err(), "never written");
}
