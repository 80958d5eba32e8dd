//! Trees with nodes of other sizes, multiplied by the method of the thesis.

use std::error::Error;

use evenpath::{Csr, hisparse};

use super::products::thesis_product;
use crate::operations::bench::Bench;
use crate::peers::PeerValue;
use crate::results::{Contender, OWN_NAME};

/// Rows and columns of a node.
pub(crate) const NODE_SIZES: [usize; 4] = [32, 64, 128, 256];

/// The name of a figure of trees with nodes of a size. That of 128 is the size of all other figures.
pub(crate) fn of_size(figure: &str, node: usize) -> String {
    if node == 128 { figure.into() } else { format!("{figure}, nodes of {node}") }
}

/// Measures bytes and y = Ax with nodes of the other sizes, and adds both by name. Returns what has no time or is wrong.
pub(super) fn node_sizes<V: PeerValue>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    mut add: impl FnMut(String, Option<f64>),
) -> Vec<Contender> {
    let mut failed = Vec::new();
    let all = [
        (32, one::<V, 32>(bench, matrix)),
        (64, one::<V, 64>(bench, matrix)),
        (256, one::<V, 256>(bench, matrix)),
    ];
    for (node, measured) in all {
        let name = format!("nodes of {node}");
        match measured {
            Ok((bytes, product)) => {
                add(of_size("hisparse bytes", node), Some(bytes as f64));
                add(of_size(&format!("spmv ms, {}", product.name), node), product.right_ms());
                failed.extend(product.is_wrong().then_some(Contender { name, ..product }));
            }
            Err(error) => failed.push(Contender::refused(OWN_NAME, name, &error)),
        }
    }
    failed
}

/// The bytes of a tree, and the product by the method of the thesis.
fn one<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
) -> Result<(u64, Contender), Box<dyn Error>> {
    let tree = bench.device.upload(matrix)?.to_hisparse::<D>(hisparse::Options::default())?;
    Ok((tree.pool_bytes(), thesis_product(bench, matrix, &tree)?))
}
