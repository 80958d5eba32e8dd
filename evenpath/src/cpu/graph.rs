//! Searches of graphs: the arrays of an adjacency matrix in, an element per vertex out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenpath_kernels::graph::{NO_VERTEX, color_priority};

use crate::matrix::CsrView;
use crate::{Offset, Value};

/// Returns the vertices that the edges of a vertex enter.
fn neighbors<'g, O: Offset>(offsets: &[O], columns: &'g [u32], vertex: u32) -> &'g [u32] {
    &columns[offsets[vertex as usize].to_usize()..offsets[vertex as usize + 1].to_usize()]
}

/// Returns the level of each vertex, and the least of its neighbors in the level before.
pub(crate) fn bfs<O: Offset>(offsets: &[O], columns: &[u32], source: usize) -> (Vec<u32>, Vec<u32>) {
    let vertices = offsets.len() - 1;
    let (mut levels, mut parents) = (vec![NO_VERTEX; vertices], vec![NO_VERTEX; vertices]);
    (levels[source], parents[source]) = (0, source as u32);
    let mut queue = VecDeque::from([source as u32]);
    while let Some(from) = queue.pop_front() {
        let level = levels[from as usize] + 1;
        for &to in neighbors(offsets, columns, from) {
            let to = to as usize;
            if levels[to] == NO_VERTEX {
                levels[to] = level;
                queue.push_back(to as u32);
            }
            if levels[to] == level {
                parents[to] = parents[to].min(from);
            }
        }
    }
    (levels, parents)
}

/// A distance, in the order of its bits, which are those of a number that is not negative.
type Visit = Reverse<(u64, u32)>;

/// Returns the distance of each vertex; no value is negative.
pub(crate) fn sssp<V: Value, O: Offset>(a: CsrView<'_, V, O>, source: usize) -> Vec<V> {
    let mut distances = vec![V::from_f64(f64::INFINITY); a.nrows()];
    distances[source] = V::ZERO;
    let mut heap: BinaryHeap<Visit> = BinaryHeap::from([Reverse((0, source as u32))]);
    while let Some(Reverse((bits, from))) = heap.pop() {
        let distance = distances[from as usize];
        if bits > distance.to_f64().to_bits() {
            continue;
        }
        for place in a.range(from as usize) {
            let (to, next) = (a.column_indices()[place], distance + (a.values()[place] + V::ZERO));
            if next < distances[to as usize] {
                distances[to as usize] = next;
                heap.push(Reverse((next.to_f64().to_bits(), to)));
            }
        }
    }
    distances
}

/// Returns the least vertex of each vertex's component.
pub(crate) fn components<O: Offset>(offsets: &[O], columns: &[u32]) -> Vec<u32> {
    let mut labels = super::iota((offsets.len() - 1) as u32);
    for from in 0..labels.len() as u32 {
        for &to in neighbors(offsets, columns, from) {
            let (one, other) = (root(&mut labels, from), root(&mut labels, to));
            labels[one.max(other) as usize] = one.min(other);
        }
    }
    for vertex in 0..labels.len() as u32 {
        labels[vertex as usize] = root(&mut labels, vertex);
    }
    labels
}

/// Returns the root of a vertex's tree, and halves the path to it.
fn root(labels: &mut [u32], mut vertex: u32) -> u32 {
    while labels[vertex as usize] != vertex {
        let next = labels[labels[vertex as usize] as usize];
        labels[vertex as usize] = next;
        vertex = next;
    }
    vertex
}

/// Returns the color of each vertex: the least that no neighbor of a smaller priority has.
pub(crate) fn color<O: Offset>(offsets: &[O], columns: &[u32]) -> Vec<u32> {
    let vertices = offsets.len() - 1;
    let mut order = super::iota(vertices as u32);
    order.sort_unstable_by_key(|&vertex| color_priority(vertex));
    let mut colors = vec![NO_VERTEX; vertices];
    // The last vertex that had a neighbor of each color.
    let mut taken_by = Vec::new();
    for vertex in order {
        for &neighbor in neighbors(offsets, columns, vertex) {
            if let Some(last) = taken_by.get_mut(colors[neighbor as usize] as usize) {
                *last = vertex;
            }
        }
        let free = taken_by.iter().position(|&last| last != vertex);
        let color = free.unwrap_or(taken_by.len());
        if color == taken_by.len() {
            taken_by.push(NO_VERTEX);
        }
        colors[vertex as usize] = color as u32;
    }
    colors
}

/// Returns the core number of each vertex of a symmetric graph (Batagelj, Zaveršnik, "An O(m) algorithm for cores decomposition of
/// networks", 2003).
pub(crate) fn k_core<O: Offset>(offsets: &[O], columns: &[u32]) -> Vec<u32> {
    let vertices = offsets.len() - 1;
    let mut degrees: Vec<u32> =
        (0..vertices).map(|vertex| neighbors(offsets, columns, vertex as u32).len() as u32).collect();
    // The vertices by degree; a vertex may be in several lists, of which the last one is right.
    let most = degrees.iter().max().map_or(0, |&most| most as usize);
    let mut by_degree = vec![Vec::new(); most + 1];
    for (vertex, &degree) in degrees.iter().enumerate() {
        by_degree[degree as usize].push(vertex as u32);
    }
    let mut cores = vec![NO_VERTEX; vertices];
    for core in 0..by_degree.len() {
        while let Some(vertex) = by_degree[core].pop() {
            if cores[vertex as usize] != NO_VERTEX {
                continue;
            }
            cores[vertex as usize] = core as u32;
            for &to in neighbors(offsets, columns, vertex) {
                let degree = &mut degrees[to as usize];
                if cores[to as usize] == NO_VERTEX && *degree > core as u32 {
                    *degree -= 1;
                    by_degree[*degree as usize].push(to);
                }
            }
        }
    }
    cores
}
