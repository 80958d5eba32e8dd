//! Sharing: equal subtrees are stored once.

use std::collections::HashMap;
use std::hash::Hash;

use super::leaf_rows::{BinnedLeaf, LeafRow};
use super::tree::InnerLevel;
use crate::Value;

/// Keeps the first of equal nodes, from the leaves up, so that one of equal subtrees remains. Values are compared by
/// their bits.
pub(super) fn share<V: Value>(levels: &mut [InnerLevel], leaves: &mut Vec<BinnedLeaf>, rows: &[LeafRow<V>]) {
    let contents = leaves.iter().map(|leaf| {
        let (coordinates, values) = leaf.entries(rows);
        (coordinates, bytemuck::cast_slice::<V, u8>(values))
    });
    let (kept, mut now) = distinct(contents);
    *leaves = kept.iter().map(|&leaf| leaves[leaf]).collect();
    for level in levels.iter_mut().rev() {
        for child in &mut level.children {
            *child = now[*child as usize];
        }
        now = share_level(level);
    }
}

/// Keeps the first of equal nodes of a level. Returns the new index of each node.
fn share_level(level: &mut InnerLevel) -> Vec<u32> {
    let ranges = level.starts.windows(2).map(|pair| pair[0]..pair[1]);
    let contents = ranges.map(|range| (&level.coordinates[range.clone()], &level.children[range]));
    let (kept, now) = distinct(contents);
    let (mut starts, mut coordinates, mut children) = (vec![0], Vec::new(), Vec::new());
    for node in kept {
        let range = level.starts[node]..level.starts[node + 1];
        coordinates.extend_from_slice(&level.coordinates[range.clone()]);
        children.extend_from_slice(&level.children[range]);
        starts.push(coordinates.len());
    }
    *level = InnerLevel { starts, coordinates, children };
    now
}

/// The positions of distinct items and, for each item, the index of its equal among them.
fn distinct<T: Eq + Hash>(items: impl Iterator<Item = T>) -> (Vec<usize>, Vec<u32>) {
    let (mut numbers, mut kept) = (HashMap::new(), Vec::new());
    let now = items
        .enumerate()
        .map(|(at, item)| {
            *numbers.entry(item).or_insert_with(|| {
                kept.push(at);
                kept.len() as u32 - 1
            })
        })
        .collect();
    (kept, now)
}
