//! Reductions and scans of warps.
#![allow(missing_docs)]

use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut};

/// Results of a lane: three reductions, two of groups, one across groups, a scan.
const RESULTS: usize = 7;

kernel! {
    /// Every reduction and scan of a warp, of one value per lane.
    pub struct WarpTools {
        pub values: Global<f32>,
        pub results: GlobalMut<f32>,
    }
    shared: 0;
    body: |WarpTools { values, results }: WarpTools, _: Arena| {
        let value = values.load(thread::lane() as usize);
        let all = [
            warp::reduce(value, f32::max),
            warp::reduce(value, |a, b| a + b),
            warp::reduce_add(value),
            warp::reduce_groups(value, 8, |a, b| a + b),
            warp::reduce_groups(value, 1, |a, b| a + b),
            warp::reduce_across(value, 4, |a, b| a + b),
            warp::inclusive_sum(value),
        ];
        for (index, result) in all.into_iter().enumerate() {
            results.store(thread::lane() as usize * RESULTS + index, result);
        }
    };
    entry: warp_tools in warp: 32 x 1;
}

/// The values by one step of a butterfly.
fn step(values: [f32; 32], distance: usize) -> [f32; 32] {
    std::array::from_fn(|lane| values[lane] + values[lane ^ distance])
}

fn run(values: [f32; 32]) -> [[f32; RESULTS]; 32] {
    let gpu = SimulatedGpu::new(SimulatedOptions::default());
    let input = gpu.allocate(32 * 4).expect("memory");
    let output = gpu.allocate((32 * RESULTS * 4) as u64).expect("memory");
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    gpu.write(input, &bytes).expect("live");
    let kernel = WarpTools {
        values: Global::from_device(input, 32),
        results: GlobalMut::from_device(output, (32 * RESULTS) as u64),
    };
    gpu.run(kernel, 1).expect("no mistake");
    let mut bytes = vec![0; 32 * RESULTS * 4];
    gpu.read(output, &mut bytes).expect("written");
    let word = |at: usize| f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("4 bytes"));
    std::array::from_fn(|lane| std::array::from_fn(|index| word(lane * RESULTS + index)))
}

/// Sums of these round differently in every order.
#[test]
fn sums_are_added_in_the_documented_order() {
    let values: [f32; 32] = std::array::from_fn(|lane| (1.0 + lane as f32 / 7.0).powi(lane as i32 % 9 - 4));
    let results = run(values);
    let greatest = values.into_iter().fold(0.0, f32::max);
    let whole = [16, 8, 4, 2, 1].into_iter().fold(values, step);
    let groups = [4, 2, 1].into_iter().fold(values, step);
    let across = [16, 8, 4].into_iter().fold(values, step);
    let mut below = values;
    for distance in [1, 2, 4, 8, 16] {
        let before = below;
        for lane in distance..32 {
            below[lane] = before[lane] + before[lane - distance];
        }
    }
    for lane in 0..32 {
        let expected =
            [greatest, whole[lane], whole[lane], groups[lane], values[lane], across[lane], below[lane]];
        assert_eq!(results[lane].map(f32::to_bits), expected.map(f32::to_bits), "lane {lane}");
        assert_eq!(whole[lane].to_bits(), whole[0].to_bits(), "all lanes have the same sum");
    }
}
