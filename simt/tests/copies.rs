//! Copies from, to and within global memory, at any offset.
#![allow(missing_docs)]

use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};

const LEN: usize = 32;

#[test]
fn any_range_is_copied() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default());
    let [from, to] = [(); 2].map(|()| gpu.allocate(LEN as u64).expect("memory"));
    let source: Vec<u8> = (1..=LEN as u8).collect();
    gpu.write(from, &source).expect("live");
    for len in 0..=18 {
        for first in 0..=8 {
            for target in 0..=8 {
                gpu.fill(to, LEN as u64, 0).expect("live");
                gpu.copy(from + first as u64, to + target as u64, len as u64).expect("live");
                let mut expected = [0; LEN];
                expected[target..target + len].copy_from_slice(&source[first..first + len]);
                let mut found = [0; LEN];
                gpu.read(to, &mut found).expect("written");
                assert_eq!(found, expected, "{len} bytes from {first} to {target}");
                let mut part = vec![0; len];
                gpu.read(to + target as u64, &mut part).expect("written");
                assert_eq!(part, source[first..first + len]);
            }
        }
    }
}

#[test]
fn unwritten_bytes_stay_unwritten() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default());
    let allocate = || gpu.allocate(LEN as u64).expect("memory");
    let (from, to) = (allocate(), allocate());
    gpu.write(from + 3, &[1, 2, 3]).expect("live");
    gpu.write(from + 9, &[4]).expect("live");
    gpu.copy(from, to + 1, 16).expect("live");
    let mut bytes = [0; 3];
    gpu.read(to + 4, &mut bytes).expect("written");
    assert_eq!(bytes, [1, 2, 3]);
    gpu.read(to + 10, &mut bytes[..1]).expect("written");
    assert_eq!(bytes[0], 4);
    for first in [0, 3, 7, 9, 11] {
        let fault = gpu.read(to + first, &mut bytes[..1]).expect_err("nothing wrote it");
        assert!(fault.to_string().contains("nothing wrote"), "{fault}");
    }
    // The first missing byte is named.
    let mut all = [0; 7];
    let fault = gpu.read(to + 4, &mut all).expect_err("not all were written");
    assert!(fault.to_string().contains(&format!("{:#x}", to + 7)), "{fault}");
}
