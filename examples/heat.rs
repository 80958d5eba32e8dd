//! Heat in a plate whose left edge is hot, and the others cold: linear triangles, and implicit Euler steps by conjugate
//! gradients. Conductivity grows with temperature, so that each step assembles the matrix anew, on the device.

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::error::OpError;
use evenpath::prelude::*;
use evenpath::spmv::SpmvPlan;
use evenpath::vector::{self, Map};

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
    let first = |cell: usize| (cell + cell / (side - 1)) as u32;
    let corners: Vec<u32> = (0..cells).flat_map(|cell| corners_of(first(cell))).collect();
    let is_edge = |node: &u32| [node % width, node / width].iter().any(|&at| at == 0 || at == width - 1);
    let edges: Vec<u32> = (0..width * width).filter(is_edge).collect();
    let hot: Vec<f64> = (0..nodes).map(|node| f64::from(node % side == 0)).collect();

    // Means of the triangles' nodes, and the entries of element matrices for a conductivity of 1 per triangle.
    let triangles = 2 * cells;
    let mean = corners.iter().enumerate().map(|(k, &node)| (k / 3, node as usize, 1.0 / 3.0));
    let mean = device.upload(&Csr::<f64>::from_triplets(triangles, nodes, mean)?)?;
    let mean = mean.plan_spmv(SpmvOptions::default())?;
    let stiffness = (0..9 * triangles).map(|k| (k, k / 9, TIME_STEP * STIFFNESS[k % 9]));
    let stiffness = device.upload(&Csr::<f64>::from_triplets(9 * triangles, triangles, stiffness)?)?;
    let stiffness = stiffness.plan_spmv(SpmvOptions::default())?;
    let third = 1.0 / (6 * cells) as f64; // of a triangle's area
    let mass: Vec<f64> = (0..9 * triangles).map(|k| if k % 9 % 4 == 0 { third } else { 0.0 }).collect();

    let (corners, edges, mass) = (device.upload(&corners)?, device.upload(&edges)?, device.upload(&mass)?);
    let options = AssemblyOptions::default().with_fixed(&edges);
    let plan: AssemblyPlan = AssemblyPlan::from_elements_with(nodes, 3, &corners, options)?;
    let a = plan.assemble(&mass)?;
    let lumped_mass = a.diagonal()?;
    let product = a.plan_spmv(SpmvOptions::default())?;
    let (mut u, mut rhs) = (device.upload(&hot)?, device.zeros(nodes)?);
    let (mut conductivity, mut values) = (device.zeros(triangles)?, device.zeros(9 * triangles)?);
    for step in 1..=10 {
        vector::fill(1.0, &mut conductivity)?;
        mean.run(9.0, &u, 1.0, &mut conductivity)?; // 1 + 9u
        values.copy_from(&mass)?;
        stiffness.run(1.0, &conductivity, 1.0, &mut values)?;
        plan.assemble_into(&values, &a)?; // also for `product`
        vector::multiply_elements(&lumped_mass, &u, &mut rhs)?;
        plan.correct_rhs(&values, &u, &mut rhs)?;
        let mut inverse_diagonal = a.diagonal()?;
        vector::map(Map::Reciprocal, &mut inverse_diagonal)?;
        let iterations = solve(&product, &inverse_diagonal, &rhs, &mut u)?;
        let mean = vector::sum(&u)? / nodes as f64;
        println!("{device}, step {step}: mean {mean:.9}, {iterations} iterations");
    }
    // The maximum principle: no temperature is outside of those of the edges.
    let range = -1e-9..=1.0 + 1e-9;
    Ok(range.contains(&vector::min(&u)?) && range.contains(&vector::max(&u)?))
}

/// Solves Ax = b by conjugate gradients with Jacobi preconditioning, from x, and returns the number of iterations.
fn solve(
    a: &SpmvPlan<f64>,
    inverse_diagonal: &DeviceSlice<f64>,
    b: &DeviceSlice<f64>,
    x: &mut DeviceSlice<f64>,
) -> Result<usize, OpError> {
    let zeros = || b.device().zeros(b.len());
    let (mut r, mut z, mut p, mut ap, mut last_rz) = (zeros()?, zeros()?, zeros()?, zeros()?, f64::INFINITY);
    r.copy_from(b)?;
    a.run(-1.0, x, 1.0, &mut r)?;
    let limit = 1e-10 * vector::norm2(b)?;
    for iteration in 0..10_000 {
        if vector::norm2(&r)? <= limit {
            return Ok(iteration);
        }
        vector::multiply_elements(inverse_diagonal, &r, &mut z)?;
        let rz = vector::dot(&r, &z)?;
        vector::axpby(1.0, &z, rz / last_rz, &mut p)?; // p = z at first
        a.run(1.0, &p, 0.0, &mut ap)?;
        let alpha = rz / vector::dot(&p, &ap)?;
        vector::axpby(alpha, &p, 1.0, x)?;
        vector::axpby(-alpha, &ap, 1.0, &mut r)?;
        last_rz = rz;
    }
    Ok(10_000)
}
