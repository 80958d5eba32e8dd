//! PageRank.

use evenpath::graph::{self, PagerankOptions};
use evenpath::{Csr, Offset};
use evenpath_tests::devices;

use super::graphs::graphs;

/// Ranks after many steps, in f64.
fn ranks<O: Offset>(links: &Csr<f64, O>, damping: f64) -> Vec<f64> {
    let pages = links.nrows() as f64;
    let mut ranks = vec![1.0 / pages; links.nrows()];
    for _ in 0..300 {
        let (mut next, mut jumps) = (vec![0.0; links.nrows()], 0.0);
        for (row, rank) in links.iter_rows().zip(&ranks) {
            jumps += if row.is_empty() { *rank } else { (1.0 - damping) * rank };
            row.iter().for_each(|(to, _)| next[to as usize] += damping * rank / row.len() as f64);
        }
        ranks = next.into_iter().map(|rank| rank + jumps / pages).collect();
    }
    ranks
}

#[test]
fn pagerank() {
    let options = PagerankOptions::default().with_tolerance(1e-10).with_max_steps(400);
    for under_test in devices() {
        let device = &under_test.device;
        for (name, links) in graphs::<u32>().into_iter().filter(|(name, _)| *name != "unsorted") {
            let on_device = device.upload(&links).unwrap();
            let found = graph::pagerank(&on_device, options).unwrap();
            assert!(found.converged, "{name} on {device}");
            for (found, expected) in found.ranks.iter().zip(ranks(&links, 0.85)) {
                assert!((found - expected).abs() < 1e-8, "{name} on {device}: {found}, not {expected}");
            }
            let few = graph::pagerank(&on_device, options.with_tolerance(0.0).with_max_steps(1)).unwrap();
            assert_eq!(few.steps, 1);
        }
        let links = device.upload(&graphs::<u64>()[7].1.clone().into_values::<f32>()).unwrap();
        let found = graph::pagerank(&links, PagerankOptions::default().with_damping(0.5)).unwrap();
        let expected = ranks(&graphs::<u64>()[7].1, 0.5);
        for (found, expected) in found.ranks.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "on {device}: {found}, not {expected}");
        }
    }
}
