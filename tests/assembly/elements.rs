//! Matrices of finite elements.

use evenpath::assembly::AssemblyPlan;
use evenpath::error::OpError;
use evenpath::{Device, Value};
use evenpath_tests::{device_of_each_kind, devices};

use super::oracle::{Pattern, check};

/// Nodes of the trilinear hexahedra of a cube of `side`³ elements.
fn hexahedra(side: u32) -> (usize, Vec<u32>) {
    let points = side + 1;
    let node = |x: u32, y: u32, z: u32| (z * points + y) * points + x;
    let corners = |x: u32, y: u32, z: u32| {
        let bit = |corner: u32, bit: u32| corner >> bit & 1;
        (0..8).map(move |corner| node(x + bit(corner, 0), y + bit(corner, 1), z + bit(corner, 2)))
    };
    let cells = (0..side).flat_map(|z| (0..side).flat_map(move |y| (0..side).map(move |x| (x, y, z))));
    ((points * points * points) as usize, cells.flat_map(|(x, y, z)| corners(x, y, z)).collect())
}

/// The entries of all element matrices, row by row.
fn pattern(nodes: usize, degrees: usize, element_nodes: &[u32]) -> Pattern {
    let mut pattern = Pattern { shape: (nodes, nodes), rows: vec![], columns: vec![] };
    for element in element_nodes.chunks(degrees.max(1)) {
        for &row in element {
            for &column in element {
                pattern.rows.push(row);
                pattern.columns.push(column);
            }
        }
    }
    pattern
}

fn check_elements<V: Value>(device: &Device, nodes: usize, degrees: usize, element_nodes: &[u32]) {
    let pattern = pattern(nodes, degrees, element_nodes);
    let uploaded = device.upload(element_nodes).expect("memory");
    let plan: AssemblyPlan<u64> = AssemblyPlan::from_elements(nodes, degrees, &uploaded).expect("a plan");
    let values = pattern.values::<V>(1);
    let matrix = plan.assemble(&device.upload(&values).expect("memory")).expect("a matrix");
    let name = format!("{} nodes of {nodes}, {degrees} each, on {device}", element_nodes.len());
    check(&name, &matrix.download().expect("a download"), (nodes, nodes), &pattern.sums(&values, &[]));
}

#[test]
fn elements_of_any_size() {
    let (nodes, cube) = hexahedra(2);
    for device in devices() {
        let device = device.device;
        check_elements::<f64>(&device, nodes, 8, &cube);
        check_elements::<f32>(&device, nodes, 8, &cube);
        check_elements::<f64>(&device, 5, 1, &[4, 4, 0]);
        check_elements::<f64>(&device, 3, 2, &[1, 1, 2, 0]); // a node twice in an element
        check_elements::<f64>(&device, 90, 30, &(0..90).map(|at| at * 7 % 90).collect::<Vec<_>>());
        check_elements::<f64>(&device, 4, 3, &[]);
        check_elements::<f64>(&device, 4, 0, &[]);
        check_elements::<f64>(&device, 0, 3, &[]);
    }
}

#[test]
fn nodes_of_a_hexahedron_mesh_have_27_entries() {
    let (nodes, cube) = hexahedra(3);
    for device in device_of_each_kind() {
        let uploaded = device.upload(&cube).expect("memory");
        let plan: AssemblyPlan = AssemblyPlan::from_elements(nodes, 8, &uploaded).expect("a plan");
        // Three neighbors in each direction, without those outside.
        assert_eq!(plan.nnz(), (3 * 4_usize - 2).pow(3), "{device}");
        let ones = device.upload(&vec![1.0; plan.info().expect("sizes").triplets]).expect("memory");
        let matrix = plan.assemble(&ones).expect("a matrix").download().expect("a download");
        // The diagonal of a node counts its elements.
        assert_eq!((matrix.get(0, 0), matrix.get(21, 21)), (Some(1.0), Some(8.0)), "{device}");
    }
}

#[test]
fn invalid_elements_are_named() {
    for device in devices() {
        let device = device.device;
        let plan = |nodes: &[u32], degrees: usize| {
            let nodes = device.upload(nodes).expect("memory");
            AssemblyPlan::<u32>::from_elements(10, degrees, &nodes).map(drop).expect_err("it is invalid")
        };
        let error = plan(&[0, 1, 2, 3, 10, 5], 3);
        let expected = "node 1 of element 1 is 10, which is out of range: there are 10 nodes";
        assert_eq!(error.to_string(), expected, "{device}");
        let error = plan(&[0, 1, 2, 10, 11, 5], 3);
        assert!(matches!(error, OpError::NodeOutOfRange { element: 1, place: 0, .. }), "{device}: {error}");
        for degrees in [0, 4, 7] {
            let error = plan(&[0; 6], degrees);
            assert!(matches!(error, OpError::ElementNodes { len: 6, .. }), "{device}: {error}");
        }
        let long = plan(&vec![0; 1 << 17], 1 << 17);
        assert!(matches!(long, OpError::TooLong { .. }), "{device}: {long}");
    }
}
