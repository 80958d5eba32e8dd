//! Triangles and cores.

use std::collections::BTreeSet;

use evenpath::{Csr, Device, Offset, graph};
use evenpath_tests::devices;

use super::graphs::{graphs, undirected};

fn neighbors<O: Offset>(a: &Csr<f64, O>) -> Vec<BTreeSet<usize>> {
    a.iter_rows().map(|row| row.columns().iter().map(|&column| column as usize).collect()).collect()
}

#[test]
fn triangles() {
    fn check<O: Offset>(device: &Device) {
        for (name, a) in graphs::<O>() {
            let a = undirected(&a);
            let near = neighbors(&a);
            let mut expected = 0;
            for (u, of_u) in near.iter().enumerate() {
                for &v in of_u.iter().filter(|&&v| v > u) {
                    expected += of_u.intersection(&near[v]).filter(|&&w| w > v).count() as u64;
                }
            }
            let found = graph::count_triangles(&device.upload(&a).unwrap()).unwrap();
            assert_eq!(found, expected, "{name} on {device}");
            if name == "power law" {
                assert!(found > 100, "the test would be empty");
            }
        }
    }
    for under_test in devices() {
        check::<u32>(&under_test.device);
        check::<u64>(&under_test.device);
    }
}

/// Core numbers by definition: what is left after all vertices of lower degree were removed.
fn cores(near: &[BTreeSet<usize>]) -> Vec<u32> {
    let mut cores = vec![0; near.len()];
    let mut left: BTreeSet<usize> = (0..near.len()).collect();
    for core in 1.. {
        loop {
            let stays = |vertex: &usize| near[*vertex].intersection(&left).count() >= core;
            let next: BTreeSet<usize> = left.iter().copied().filter(stays).collect();
            let is_stable = next.len() == left.len();
            left = next;
            if is_stable {
                break;
            }
        }
        if left.is_empty() {
            return cores;
        }
        for &vertex in &left {
            cores[vertex] = core as u32;
        }
    }
    unreachable!("a graph is finite");
}

#[test]
fn core_numbers() {
    fn check<O: Offset>(device: &Device) {
        for (name, a) in graphs::<O>() {
            let a = undirected(&a);
            let found = graph::k_core(&device.upload(&a).unwrap()).unwrap();
            assert_eq!(found, cores(&neighbors(&a)), "{name} on {device}");
        }
    }
    for under_test in devices() {
        check::<u32>(&under_test.device);
        check::<u64>(&under_test.device);
    }
}
