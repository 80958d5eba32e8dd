//! Breadth-first search, shortest paths and components.

use evenpath::graph::{self, BfsDirection, BfsOptions, NO_VERTEX};
use evenpath::{Csr, Device, Offset};
use evenpath_tests::devices;
use petgraph::algo::dijkstra;
use petgraph::graph::NodeIndex;
use petgraph::unionfind::UnionFind;

use super::graphs::{graphs, petgraph, undirected};

/// Levels by petgraph, and the least vertex of the level before with an edge to each.
fn levels_and_parents<O: Offset>(a: &Csr<f64, O>, source: usize) -> (Vec<u32>, Vec<u32>) {
    let found = dijkstra(&petgraph(a), NodeIndex::new(source), None, |_| 1_u32);
    let levels: Vec<u32> =
        (0..a.nrows()).map(|vertex| *found.get(&NodeIndex::new(vertex)).unwrap_or(&NO_VERTEX)).collect();
    let mut parents = vec![NO_VERTEX; a.nrows()];
    parents[source] = source as u32;
    for (from, to, _) in a.iter() {
        if levels[from] != NO_VERTEX && levels[to] == levels[from] + 1 {
            parents[to] = parents[to].min(from as u32);
        }
    }
    (levels, parents)
}

fn check_bfs<O: Offset>(device: &Device, name: &str, a: &Csr<f64, O>, options: BfsOptions) {
    let on_device = device.upload(a).expect("upload");
    for source in [0, a.nrows() / 2, a.nrows() - 1] {
        let (levels, parents) = levels_and_parents(a, source);
        let search = graph::bfs(&on_device, source, options).expect("a search");
        assert_eq!(search.levels, levels, "{name} from {source} on {device}, {options:?}");
        assert_eq!(search.parents, parents, "{name} from {source} on {device}, {options:?}");
    }
}

#[test]
fn breadth_first_search() {
    for under_test in devices() {
        let device = &under_test.device;
        for (name, a) in graphs::<u32>() {
            check_bfs(device, name, &a, BfsOptions::default());
            let both = undirected(&a);
            check_bfs(device, name, &both, BfsOptions::default().with_symmetric(true));
            let push = BfsOptions::default().with_symmetric(true).with_direction(BfsDirection::Push);
            check_bfs(device, name, &both, push);
        }
        for (name, a) in graphs::<u64>() {
            check_bfs(device, name, &undirected(&a), BfsOptions::default().with_symmetric(true));
        }
    }
}

#[test]
fn shortest_paths() {
    fn check<O: Offset>(device: &Device) {
        for (name, a) in graphs::<O>() {
            let (double, single) =
                (device.upload(&a).unwrap(), device.upload(&a.clone().into_values::<f32>()).unwrap());
            for source in [0, a.nrows() - 1] {
                let found = dijkstra(&petgraph(&a), NodeIndex::new(source), None, |edge| *edge.weight());
                let expected: Vec<f64> = (0..a.nrows())
                    .map(|vertex| *found.get(&NodeIndex::new(vertex)).unwrap_or(&f64::INFINITY))
                    .collect();
                assert_eq!(
                    graph::sssp(&double, source).unwrap(),
                    expected,
                    "{name} from {source} on {device}"
                );
                let narrow = graph::sssp(&single, source).unwrap();
                for (narrow, expected) in narrow.iter().zip(&expected) {
                    let (narrow, expected) = (f64::from(*narrow), *expected);
                    assert!(
                        narrow.is_infinite() && expected.is_infinite()
                            || (narrow - expected).abs() <= 1e-4 * expected,
                        "{name} from {source} on {device}: {narrow}, not {expected}"
                    );
                }
            }
        }
    }
    for under_test in devices() {
        check::<u32>(&under_test.device);
        check::<u64>(&under_test.device);
    }
}

/// Lengths that are zero with a sign, infinite, or no number.
#[test]
fn odd_lengths() {
    for under_test in devices() {
        let edges = [(0, 1, -0.0), (1, 2, f64::NAN), (0, 3, f64::INFINITY), (1, 4, 2.5), (4, 2, -0.0)];
        let a = under_test.device.upload(&Csr::from_triplets(5, 5, edges).unwrap()).unwrap();
        assert_eq!(graph::sssp(&a, 0).unwrap(), [0.0, 0.0, 2.5, f64::INFINITY, 2.5]);
    }
}

#[test]
fn components() {
    fn check<O: Offset>(device: &Device) {
        for (name, a) in graphs::<O>() {
            let mut sets = UnionFind::<u32>::new(a.nrows());
            for (from, to, _) in a.iter() {
                sets.union(from as u32, to as u32);
            }
            let mut least = vec![u32::MAX; a.nrows()];
            for vertex in (0..a.nrows() as u32).rev() {
                least[sets.find(vertex) as usize] = vertex;
            }
            let expected: Vec<u32> =
                (0..a.nrows() as u32).map(|vertex| least[sets.find(vertex) as usize]).collect();
            let found = graph::connected_components(&device.upload(&a).unwrap()).unwrap();
            assert_eq!(found, expected, "{name} on {device}");
        }
    }
    for under_test in devices() {
        check::<u32>(&under_test.device);
        check::<u64>(&under_test.device);
    }
}
