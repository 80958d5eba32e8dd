//! Algorithms on graphs.

use evenpath::graph::{self, BfsOptions, PagerankOptions};
use evenpath::{Device, DeviceCsr, Offset, Value};

use super::operations::{Run, bytes, matrix};

fn edges<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> DeviceCsr<V, O> {
    let mut edges = matrix::<V, O>();
    edges.values_mut().iter_mut().for_each(|value| *value = value.abs());
    let edges = device.upload(&edges).expect("upload");
    uploaded();
    edges
}

pub(super) fn bfs<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let found = graph::bfs(&edges, 0, BfsOptions::default())?;
        Ok(Box::new(move || [bytes(&found.levels), bytes(&found.parents)].concat()))
    })
}

pub(super) fn sssp<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let distances = graph::sssp(&edges, 0)?;
        Ok(Box::new(move || bytes(&distances)))
    })
}

pub(super) fn components<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let labels = graph::connected_components(&edges)?;
        Ok(Box::new(move || bytes(&labels)))
    })
}

pub(super) fn triangles<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let count = graph::count_triangles(&edges)?;
        Ok(Box::new(move || bytes(&[count])))
    })
}

pub(super) fn pagerank<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let ranks = graph::pagerank(&edges, PagerankOptions::default().with_max_steps(5))?.ranks;
        Ok(Box::new(move || bytes(&ranks)))
    })
}

pub(super) fn k_core<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let cores = graph::k_core(&edges)?;
        Ok(Box::new(move || bytes(&cores)))
    })
}

pub(super) fn color<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let edges = edges::<V, O>(device, uploaded);
    Box::new(move || {
        let coloring = graph::color(&edges)?;
        Ok(Box::new(move || bytes(&coloring.colors.download().expect("a download"))))
    })
}
