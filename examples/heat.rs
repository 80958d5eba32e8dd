//! Heat in a plate whose left edge is hot, and the others cold: linear triangles, and implicit Euler steps by conjugate
//! gradients. Conductivity grows with temperature, so that each step assembles the matrix anew, on the device.

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::prelude::*;
use evenpath::vector::{self, Map};
use support::solver::conjugate_gradients;

const TIME_STEP: f64 = 0.01;
/// Element matrix of a triangle with legs of equal length, whose first node is the right angle.
const STIFFNESS: [f64; 9] = [1.0, -0.5, -0.5, -0.5, 0.5, 0.0, -0.5, 0.0, 0.5];

fn main() -> ExitCode {
    support::on_size("SIDE", 3..=5000, (100, 12), heat)
}

/// `side` is the number of nodes along an edge.
fn heat(device: &Device, side: usize) -> Result<bool, Box<dyn Error>> {
    // Two triangles per cell of the grid, whose nodes are numbered row by row.
    let (nodes, cells, width) = (side * side, (side - 1) * (side - 1), side as u32);
    let corners_of = |node: u32| [0, 1, width, width + 1, width, 1].map(|offset| node + offset);
    let first = (0..width * (width - 1)).filter(|node| node % width < width - 1);
    let corners: Vec<u32> = first.flat_map(corners_of).collect();
    let is_edge = |node: &u32| [node % width, node / width].iter().any(|&at| at == 0 || at == width - 1);
    let edges: Vec<u32> = (0..width * width).filter(is_edge).collect();
    let hot: Vec<f64> = (0..nodes).map(|node| f64::from(node % side == 0)).collect();

    // Means of the triangles' nodes, and the entries of element matrices for a conductivity of 1 per triangle.
    let product = |matrix: Csr<f64>| device.upload(&matrix)?.plan_spmv(SpmvOptions::default());
    let triangles = 2 * cells;
    let mean = corners.iter().enumerate().map(|(k, &node)| (k / 3, node as usize, 1.0 / 3.0));
    let mean = product(Csr::from_triplets(triangles, nodes, mean)?)?;
    let stiffness = (0..9 * triangles).map(|k| (k, k / 9, TIME_STEP * STIFFNESS[k % 9]));
    let stiffness = product(Csr::from_triplets(9 * triangles, triangles, stiffness)?)?;
    let third = 1.0 / (6 * cells) as f64; // of a triangle's area
    let mass: Vec<f64> = (0..9 * triangles).map(|k| if k % 9 % 4 == 0 { third } else { 0.0 }).collect();

    let (corners, edges, mass) = (device.upload(&corners)?, device.upload(&edges)?, device.upload(&mass)?);
    let (u, steps) = support::timed(device, || {
        let options = AssemblyOptions::default().with_fixed(&edges);
        let plan: AssemblyPlan = AssemblyPlan::from_elements_with(nodes, 3, &corners, options)?;
        let a = plan.assemble(&mass)?;
        let lumped_mass = a.diagonal()?;
        let by_a = a.plan_spmv(SpmvOptions::default())?;
        let (mut u, mut rhs) = (device.upload(&hot)?, device.zeros(nodes)?);
        let (mut conductivity, mut values) = (device.zeros(triangles)?, device.zeros(9 * triangles)?);
        let mut steps = vec![];
        for _ in 0..10 {
            vector::fill(1.0, &mut conductivity)?;
            mean.run(9.0, &u, 1.0, &mut conductivity)?; // 1 + 9u
            values.copy_from(&mass)?;
            stiffness.run(1.0, &conductivity, 1.0, &mut values)?;
            plan.assemble_into(&values, &a)?; // also for `by_a`
            vector::multiply_elements(&lumped_mass, &u, &mut rhs)?;
            plan.correct_rhs(&values, &u, &mut rhs)?;
            let mut inverse_diagonal = a.diagonal()?;
            vector::map(Map::Reciprocal, &mut inverse_diagonal)?;
            let iterations = conjugate_gradients(&by_a, &inverse_diagonal, &rhs, &mut u)?;
            steps.push((vector::sum(&u)? / nodes as f64, iterations));
        }
        Ok::<_, evenpath::Error>((u, steps))
    })?;
    for (step, (mean, iterations)) in (1..).zip(steps) {
        println!("{device}, step {step}: mean {mean:.9}, {iterations} iterations");
    }
    // The maximum principle: no temperature is outside of those of the edges.
    let range = -1e-9..=1.0 + 1e-9;
    Ok(range.contains(&vector::min(&u)?) && range.contains(&vector::max(&u)?))
}
