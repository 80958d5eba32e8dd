//! Orders of rows and columns, checked by their definition.

use evenpath::error::MatrixError;
use evenpath::row_order::RowOrder;
use evenpath::{Csr, Offset, Storage, bf16};
use evenpath_tests::{row_lengths, stored_with_row_lengths as matrix};
use proptest::prelude::*;

/// Neighbors of each node in the graph of A + Aᵀ.
fn neighbors<V: Storage, O: Offset>(a: &Csr<V, O>) -> Vec<Vec<usize>> {
    let mut neighbors = vec![vec![]; a.nrows()];
    for (row, column, _) in a.iter().filter(|(row, column, _)| row != column) {
        neighbors[row].push(column);
        neighbors[column].push(row);
    }
    for own in &mut neighbors {
        own.sort_unstable();
        own.dedup();
    }
    neighbors
}

/// Checks the definition of the order, from its end: the numbers of one level are in the order of the first neighbors before them, and of equal
/// ones in that of degrees. Returns the first node of each part.
fn check<V: Storage, O: Offset>(a: &Csr<V, O>) -> Vec<usize> {
    let order = a.reverse_cuthill_mckee().expect("a square matrix");
    let order: Vec<usize> = order.order().iter().rev().map(|&node| node as usize).collect();
    assert!(RowOrder::try_new(order.iter().map(|&node| node as u32).collect()).is_ok(), "{a:?}");
    let neighbors = neighbors(a);
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, &node)| numbers[node] = number);
    let (mut starts, mut before) = (vec![], (0, 0));
    for (number, &node) in order.iter().enumerate() {
        let parent =
            neighbors[node].iter().map(|&neighbor| numbers[neighbor]).min().filter(|&first| first < number);
        let Some(parent) = parent else {
            starts.push(node);
            before = (0, 0);
            continue;
        };
        let key = (parent, neighbors[node].len());
        assert!(key >= before, "{a:?}: {order:?} at {number}");
        before = key;
        // No edge leads from here to a part that was complete before.
        let start = numbers[*starts.last().expect("a start")];
        assert!(neighbors[node].iter().all(|&neighbor| numbers[neighbor] >= start));
    }
    starts
}

/// A symmetric matrix of these edges, with the nodes renumbered.
fn of_edges(nodes: usize, edges: impl Iterator<Item = (usize, usize)>, factor: usize) -> Csr<f64> {
    let renumbered = edges.map(|(i, j)| (i * factor % nodes, j * factor % nodes));
    Csr::from_triplets(nodes, nodes, renumbered.flat_map(|(i, j)| [(i, j, 1.0), (j, i, 0.0)]))
        .expect("inside")
}

fn width_after(a: &Csr<f64>) -> (usize, usize) {
    a.permute(&a.reverse_cuthill_mckee().expect("square")).expect("square").bandwidth()
}

#[test]
fn paths_and_grids_become_narrow() {
    let path = of_edges(1009, (1..1009).map(|at| (at - 1, at)), 77);
    assert!(path.bandwidth().0 > 70);
    check(&path);
    assert_eq!(width_after(&path), (1, 1));
    // 17 rows of 60 points, of which a level has 17 at most.
    let edges = (0..17 * 60).flat_map(|at| {
        let (right, below) = (at % 60 + 1 < 60, at + 60 < 17 * 60);
        right.then_some((at, at + 1)).into_iter().chain(below.then_some((at, at + 60)))
    });
    let grid = of_edges(17 * 60, edges, 431);
    check(&grid);
    let (lower, upper) = width_after(&grid);
    assert_eq!(lower, upper);
    assert!((17..=18).contains(&lower), "{lower}");
    // A star: one center.
    let star = of_edges(101, (1..101).map(|at| (0, at)), 7);
    assert_eq!(check(&star).len(), 1);
}

#[test]
fn parts_that_are_not_connected() {
    let a = of_edges(20, [(0, 1), (1, 2), (5, 9), (9, 12), (12, 5)].into_iter(), 1);
    assert_eq!(check(&a).len(), 16);
    assert!(width_after(&a).0 <= 2);
    for n in [0, 1, 5] {
        let empty: Csr<bf16, u64> = Csr::empty(n, n).expect("a matrix");
        assert_eq!(check(&empty).len(), n);
        assert_eq!(empty.bandwidth(), (0, 0));
    }
}

/// Only A + Aᵀ matters, without its diagonal and its duplicates.
#[test]
fn one_triangle_is_enough() {
    let a = of_edges(300, (1..300).map(|at| (at / 3, at)), 77);
    let order = a.reverse_cuthill_mckee().expect("square");
    assert_eq!(a.tril(0).reverse_cuthill_mckee().expect("square"), order);
    assert_eq!(
        a.spadd(1.0, &Csr::identity(300).expect("a matrix"), 1.0).expect("a sum").reverse_cuthill_mckee(),
        Ok(order.clone())
    );
    let twice: Vec<u32> = a.iter().flat_map(|(_, column, _)| [column as u32; 2]).collect();
    let offsets = a.row_offsets().iter().map(|offset| 2 * offset).collect();
    let repeated = Csr::try_new(300, 300, offsets, twice, vec![1.0; 2 * a.nnz()]).expect("valid");
    assert_eq!(repeated.reverse_cuthill_mckee(), Ok(order));
}

#[test]
fn bandwidths() {
    let a: Csr<f64> = Csr::try_new(3, 9, vec![0, 2, 2, 4], vec![7, 0, 1, 0], vec![0.0; 4]).expect("valid");
    assert_eq!(a.bandwidth(), (2, 7));
    assert_eq!(a.transpose().expect("memory").bandwidth(), (7, 2));
    assert_eq!(a.reverse_cuthill_mckee(), Err(MatrixError::NotSquare { rows: 3, cols: 9 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_structure(lengths in row_lengths(201, 60)) {
        let a: Csr<f32, u64> = matrix(lengths.len(), &lengths);
        let starts = check(&a);
        prop_assert!(starts.len() <= lengths.len());
        let expected = a.iter().fold((0, 0), |(lower, upper), (row, column, _)| {
            (lower.max(row.saturating_sub(column)), upper.max(column.saturating_sub(row)))
        });
        prop_assert_eq!(a.bandwidth(), expected);
    }
}
