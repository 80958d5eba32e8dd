//! Unordered accesses of two streams.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::host::{AccessKind, Fault, FaultKind, SimulatedGpu, SimulatedStream};
use evenpath_simt::kernel::Kernel;
use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use crate::device;

kernel! {
    /// Adds one to each element of a range, plainly.
    pub struct Increment {
        pub data: GlobalMut<u32>,
        pub first: u32,
        pub count: u32,
    }
    shared: 0;
    body: |Increment { data, first, count }: Increment, _: Arena| {
        let index = thread::index();
        if index < count {
            let at = (first + index) as usize;
            data.store(at, data.load(at) + 1);
        }
    };
    entry: streams_increment in planted: 64 x 1;
}

kernel! {
    /// The same by atomic additions.
    pub struct AtomicIncrement {
        pub data: GlobalMut<u32>,
    }
    shared: 0;
    body: |AtomicIncrement { data }: AtomicIncrement, _: Arena| {
        data.fetch_add(thread::index() as usize % 4, 1, Ordering::Relaxed, Scope::Device);
    };
    entry: streams_atomic in planted: 64 x 1;
}

kernel! {
    /// Copies bytes through the read-only cache.
    pub struct CopyBytes {
        pub from: Global<u16>,
        pub to: GlobalMut<u16>,
        pub first: u32,
        pub count: u32,
    }
    shared: 0;
    body: |CopyBytes { from, to, first, count }: CopyBytes, _: Arena| {
        let index = thread::index();
        if index < count {
            let at = (first + index) as usize;
            to.store(at, from.load(at));
        }
    };
    entry: streams_copy in planted: 64 x 1;
}

fn launch<K: Kernel>(stream: SimulatedStream<'_>, kernel: K) -> Result<(), Fault> {
    let info = K::first().expect("an instance");
    let simulation = K::simulation(info).expect("its body");
    stream.launch(info, simulation, 1, 0, &kernel.pack())
}

/// 64 zeros, written before there is a second stream.
fn zeros(gpu: &SimulatedGpu) -> u64 {
    let address = gpu.allocate(256).expect("memory");
    gpu.fill(address, 256, 0).expect("live");
    address
}

fn increment(address: u64, first: u32, count: u32) -> Increment {
    Increment { data: GlobalMut::from_device(address, 64), first, count }
}

fn race(result: Result<(), Fault>) -> (u64, u32, AccessKind, u32, AccessKind) {
    match result.expect_err("a race").kind {
        FaultKind::StreamRace { address, stream, this, other, that } => (address, stream, this, other, that),
        kind => panic!("{kind}"),
    }
}

#[test]
fn work_before_a_stream_is_ordered() {
    let gpu = device();
    let address = zeros(&gpu);
    launch(gpu.stream(1), increment(address, 0, 64)).expect("ordered");
}

#[test]
fn reads_of_another_streams_writes_are_reported() {
    let gpu = device();
    let address = zeros(&gpu);
    let other = gpu.stream(1);
    launch(gpu.stream(0), increment(address, 8, 8)).expect("first");
    launch(other, increment(address, 0, 8)).expect("other elements");
    let (at, stream, this, by, that) = race(launch(other, increment(address, 15, 1)));
    assert_eq!((at, stream, by), (address + 60, 1, 0));
    assert_eq!((this, that), (AccessKind::Read, AccessKind::Write));
    other.wait_for(0, gpu.stream(0).operations());
    launch(other, increment(address, 0, 64)).expect("ordered");
    // Stream 0 has waited for nothing.
    assert_eq!(race(launch(gpu.stream(0), increment(address, 63, 1))).1, 0);
}

#[test]
fn writes_of_another_streams_reads_are_reported() {
    let gpu = device();
    let (from, to) = (zeros(&gpu), zeros(&gpu));
    let copy = CopyBytes {
        from: Global::from_device(from, 128),
        to: GlobalMut::from_device(to, 128),
        first: 3,
        count: 4,
    };
    let other = gpu.stream(1);
    launch(gpu.stream(0), copy).expect("first");
    // Elements of 2 bytes: the words at both ends are half read.
    let write = |stream: SimulatedStream<'_>, element: u64| stream.write(from + 2 * element, &[1, 0]);
    for free in [0, 2, 7] {
        write(other, free).expect("not read");
    }
    for read in [3, 6] {
        let (_, stream, this, by, that) = race(write(other, read));
        assert_eq!((stream, this, by, that), (1, AccessKind::Write, 0, AccessKind::Read));
    }
    other.wait_for(0, 1_000);
    write(other, 3).expect("ordered");
}

#[test]
fn copies_and_fills_of_the_host_are_accesses() {
    let gpu = device();
    let (a, b) = (zeros(&gpu), zeros(&gpu));
    let other = gpu.stream(1);
    other.copy(a, b, 64).expect("first");
    assert_eq!(race(gpu.read(b + 60, &mut [0; 4])).4, AccessKind::Write);
    assert_eq!(race(gpu.fill(a, 256, 1)).4, AccessKind::Read);
    gpu.read(a, &mut [0; 64]).expect("two reads");
    gpu.fill(a + 64, 64, 1).expect("not copied");
    assert_eq!(race(other.copy(b, a + 124, 4)).3, 0);
    let mut value = [9];
    gpu.stream(0).wait_for(1, other.operations());
    gpu.read(b + 60, &mut value).expect("ordered");
    assert_eq!(value, [0]);
}

#[test]
fn only_atomic_operations_may_overlap() {
    let gpu = device();
    let address = zeros(&gpu);
    let (one, two) = (gpu.stream(1), gpu.stream(2));
    let atomic = || AtomicIncrement { data: GlobalMut::from_device(address, 64) };
    launch(one, atomic()).expect("first");
    launch(two, atomic()).expect("both are atomic");
    assert_eq!(race(launch(gpu.stream(0), increment(address, 3, 1))).4, AccessKind::Write);
    launch(gpu.stream(0), increment(address, 4, 4)).expect("other elements");
}
