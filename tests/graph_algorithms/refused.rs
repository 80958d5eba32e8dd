//! Graphs and options that are refused.

use evenpath::Csr;
use evenpath::error::{DeviceError, OpError};
use evenpath::graph::{self, BfsOptions, PagerankOptions};
use evenpath_tests::device_of_each_kind;

#[test]
fn shapes_vertices_and_options() {
    for device in device_of_each_kind() {
        let wide = device.upload(&Csr::<f64>::empty(2, 3).unwrap()).unwrap();
        let refused = [
            graph::bfs(&wide, 0, BfsOptions::default()).unwrap_err(),
            graph::sssp(&wide, 0).unwrap_err(),
            graph::connected_components(&wide).unwrap_err(),
            graph::count_triangles(&wide).unwrap_err(),
            graph::pagerank(&wide, PagerankOptions::default()).unwrap_err(),
            graph::k_core(&wide).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.to_string(), "the adjacency matrix is 2 x 3, but must be 2 x 2");
        }
        let edges = device.upload(&Csr::from_triplets(2, 2, [(0, 1, -1.5), (1, 0, 1.0)]).unwrap()).unwrap();
        let outside = graph::bfs(&edges, 2, BfsOptions::default()).unwrap_err();
        assert_eq!(outside.to_string(), "vertex 2 is out of range: the graph has 2 vertices");
        let negative = graph::sssp(&edges, 0).unwrap_err();
        assert_eq!(
            negative.to_string(),
            "an edge has the length -1.5, but shortest paths need lengths that are not negative"
        );
        for damping in [-0.1, 1.5, f64::NAN] {
            let options = PagerankOptions::default().with_damping(damping);
            let refused = graph::pagerank(&edges, options).unwrap_err();
            assert!(matches!(refused, OpError::Damping { .. }), "{refused}");
        }
    }
}

#[test]
fn graphs_without_vertices() {
    for device in device_of_each_kind() {
        let none = device.upload(&Csr::<f32>::empty(0, 0).unwrap()).unwrap();
        assert!(graph::bfs(&none, 0, BfsOptions::default()).is_err());
        assert_eq!(graph::connected_components(&none).unwrap(), [0_u32; 0]);
        assert_eq!(graph::count_triangles(&none).unwrap(), 0);
        assert_eq!(graph::k_core(&none).unwrap(), [0_u32; 0]);
        let ranks = graph::pagerank(&none, PagerankOptions::default()).unwrap();
        assert!(ranks.converged && ranks.ranks.is_empty());
    }
}

#[test]
fn captured_graphs_have_no_searches() {
    for device in device_of_each_kind() {
        let edges = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 1.0)]).unwrap()).unwrap();
        let captured = device.capture((), |()| graph::connected_components(&edges).map(|_| ()));
        let refused = captured.and_then(|mut graph| graph.launch()).unwrap_err();
        assert!(matches!(refused, OpError::Device(DeviceError::Capture { .. })), "{refused}");
    }
}
