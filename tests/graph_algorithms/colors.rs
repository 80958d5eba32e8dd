//! Colors.

use evenpath::device::{BlockOrder, MemoryOrder, SimulatedOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::{Csr, Device, Offset, graph};
use evenpath_tests::{DeviceUnderTest, devices, unlike_devices};

use super::graphs::{graphs, undirected};

/// Checks that neighbors differ, and that no vertex could have a lesser color: its neighbors have all of those.
fn check<O: Offset>(a: &Csr<f64, O>, colors: &[u32], count: usize) -> Result<(), String> {
    assert_eq!(colors.len(), a.nrows());
    let most = colors.iter().max().map_or(0, |&last| last as usize + 1);
    if most != count {
        return Err(format!("{count} colors, but {most} are used"));
    }
    for (vertex, row) in a.iter_rows().enumerate() {
        let mut free = vec![true; colors[vertex] as usize + 1];
        for &neighbor in row.columns().iter().filter(|&&neighbor| neighbor as usize != vertex) {
            if let Some(free) = free.get_mut(colors[neighbor as usize] as usize) {
                *free = false;
            }
        }
        let first = free.iter().position(|&free| free);
        if first != Some(colors[vertex] as usize) {
            return Err(format!("vertex {vertex} has the color {}, not {first:?}", colors[vertex]));
        }
    }
    Ok(())
}

/// The graphs, and some with more colors than a word has bits, or with vertices of very many neighbors.
fn all<O: Offset>() -> Vec<(&'static str, Csr<f64, O>)> {
    let mut all: Vec<_> = graphs::<O>().into_iter().map(|(name, a)| (name, undirected(&a))).collect();
    let make = |vertices: usize, edges: Vec<(usize, usize)>| {
        let entries = edges.into_iter().map(|(from, to)| (from, to, 1.0));
        undirected(
            &Csr::from_triplets(vertices, vertices, entries)
                .expect("inside")
                .try_into_offsets()
                .expect("few"),
        )
    };
    let complete = (0..70).flat_map(|from| (0..from).map(move |to| (from, to)));
    let hubs = (2..1500).flat_map(|vertex| [(0, vertex), (1, vertex)]).chain([(0, 1)]);
    all.push(("complete", make(70, complete.clone().collect())));
    all.push(("hubs", make(1500, hubs.clone().collect())));
    all.push(("hubs of many colors", make(1500, hubs.chain(complete).collect())));
    all
}

fn color_on_all<O: Offset>() {
    for (name, a) in all::<O>() {
        let mut expected = None;
        for DeviceUnderTest { device, .. } in devices() {
            let coloring = graph::color(&device.upload(&a).expect("upload")).expect("colors");
            let colors = coloring.colors.download().expect("download");
            check(&a, &colors, coloring.count).unwrap_or_else(|error| panic!("{name}, {device}: {error}"));
            assert!(expected.get_or_insert_with(|| colors.clone()) == &colors, "{name}, {device}: others");
        }
        let count = expected.iter().flatten().max().map(|&last| last + 1);
        match name {
            "complete" => assert_eq!(count, Some(70)),
            "a path" => assert!(count <= Some(3)),
            _ => {}
        }
    }
}

#[test]
fn neighbors_have_different_colors() {
    color_on_all::<u32>();
    color_on_all::<u64>();
}

/// Loops, duplicates and columns in any order change nothing.
#[test]
fn loops_and_duplicates() {
    let unsorted = Csr::try_new(3, 3, vec![0_u32, 4, 6, 7], vec![2, 1, 1, 0, 0, 1, 0], vec![0.0; 7]);
    let a = unsorted.expect("valid");
    for DeviceUnderTest { device, .. } in devices() {
        let coloring = graph::color(&device.upload(&a).expect("upload")).expect("colors");
        assert_eq!(coloring.count, 2, "{device}");
        check(&a, &coloring.colors.download().expect("download"), 2).expect("colors");
    }
}

#[test]
fn vertices_wait_in_any_order() {
    let (_, a) = all::<u32>().into_iter().find(|(name, _)| *name == "hubs of many colors").expect("a graph");
    let on = |device: &Device| {
        let coloring = graph::color(&device.upload(&a).expect("upload")).expect("colors");
        coloring.colors.download().expect("download")
    };
    let expected = on(&Device::cpu());
    for seed in 0..3 {
        let options = SimulatedOptions::default()
            .with_block_order(BlockOrder::Seeded(seed))
            .with_memory_order(MemoryOrder::Weak(seed));
        let device = Device::simulated(options.with_threads(1).with_resident_blocks(2));
        assert!(on(&device) == expected, "seed {seed}");
    }
    for DeviceUnderTest { device, .. } in unlike_devices() {
        assert!(on(&device) == expected, "{device}");
    }
}

#[test]
fn other_graphs_and_captures() {
    for DeviceUnderTest { device, .. } in devices() {
        let wide = device.upload(&Csr::<f64>::empty(2, 3).expect("few")).expect("upload");
        let error = graph::color(&wide).map(drop).expect_err("refused");
        assert_eq!(error.to_string(), "the adjacency matrix is 2 x 3, but must be 2 x 2");
        let none = device.upload(&Csr::<f64>::empty(0, 0).expect("few")).expect("upload");
        let coloring = graph::color(&none).expect("colors");
        assert_eq!((coloring.colors.len(), coloring.count), (0, 0), "{device}");
        let captured =
            device.capture((), |()| graph::color(&none).map(drop)).and_then(|mut graph| graph.launch());
        assert!(matches!(captured, Err(OpError::Device(DeviceError::Capture { .. }))), "{device}");
    }
}
