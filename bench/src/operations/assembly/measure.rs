//! Measures plans for assembly, and new values by them.

use std::collections::BTreeMap;

use evenpath::assembly::AssemblyPlan;
use evenpath::error::OpError;
use evenpath::{Csr, DeviceVec};

use super::mesh::{CORNERS, Mesh};
use crate::input::random_vector;
use crate::measure::{median, single_times_ms, times_ms};
use crate::operations::bench::{Bench, Measured};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Measures the assembly of a matrix of this shape from trilinear hexahedra, and from the triplets of their entries. The time is that
/// of new values, the setup that of the plan. The bytes are the values of the elements and of the matrix.
///
/// # Errors
///
/// If the nodes of the matrix are not those of a grid, there is not enough device memory, or the device was lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>) -> Measured {
    let mesh = Mesh::of_shape(matrix.shape())?;
    let device = bench.device;
    let host_values: Vec<V> = random_vector(mesh.entries(), 1);
    let values = device.upload(&host_values)?;
    let problem = Problem { bench, mesh: &mesh, host_values: &host_values, values };
    let corners = device.upload(&mesh.corners)?;
    let elements = || AssemblyPlan::from_elements(mesh.nodes(), CORNERS, &corners);
    let mut ours = vec![problem.contender("elements", elements)?];
    let (rows, columns) = mesh.triplets();
    let (rows, columns) = (device.upload(&rows)?, device.upload(&columns)?);
    let triplets = || AssemblyPlan::new(mesh.nodes(), mesh.nodes(), &rows, &columns);
    ours.push(problem.contender("triplets", triplets)?);

    let nonzeros = elements()?.nnz();
    let (entries, bytes) = (mesh.entries() as u64, ((mesh.entries() + nonzeros) * size_of::<V>()) as u64);
    let more = BTreeMap::from([
        ("entries of elements".to_owned(), entries as f64),
        ("nonzeros".to_owned(), nonzeros as f64),
        ("ms of a copy of as many bytes".to_owned(), bytes as f64 / bench.copy_gbps / 1e6),
    ]);
    Ok(Figures::new((entries, entries, bytes), ours, Vec::new(), more))
}

/// A mesh, and the values of its elements.
struct Problem<'p, V: PeerValue> {
    bench: &'p Bench<'p>,
    mesh: &'p Mesh,
    host_values: &'p [V],
    values: DeviceVec<V>,
}

impl<V: PeerValue> Problem<'_, V> {
    fn contender(
        &self,
        name: &str,
        make: impl Fn() -> Result<AssemblyPlan, OpError>,
    ) -> Result<Contender, OpError> {
        let Bench { device, repetitions, .. } = *self.bench;
        let plan = make()?;
        let info = plan.info()?;
        let a = plan.assemble(&self.values)?;
        let checked = self.mesh.check(self.host_values, &a.download()?);
        let times = times_ms(device, repetitions, || plan.assemble_into(&self.values, &a))?;
        let setups = single_times_ms(device, repetitions, || make().map(drop))?;
        Ok(Contender {
            setup_ms: Some(median(&setups)),
            bytes: Some(info.workspace_bytes + info.pattern_bytes),
            ..Contender::ran(OWN_NAME, name, &times, checked)
        })
    }
}
