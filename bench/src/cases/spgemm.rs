use std::collections::BTreeMap;

use evenpath::spgemm::SpgemmMethod;

use super::{Bench, Measured, Named};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};
use crate::operations::spgemm::{self, Case, Outcome, PeerRecord};

/// `C = AA` or `AAᵀ`, including the pattern, by the method that the library chooses.
pub(super) fn measure<V: PeerValue>(bench: &Bench<'_>, named: &Named<'_, V>) -> Measured {
    let a = named.matrix;
    let b = spgemm::other_factor(a);
    let products = spgemm::products(a, &b);
    if products > bench.most_products {
        return Err(format!("{products} products are more than {}", bench.most_products).into());
    }
    let case = Case {
        device: bench.device,
        methods: &[SpgemmMethod::Auto],
        cusparse: bench.peers.cusparse(),
        memory_limit: None,
        repetitions: bench.repetitions,
        suite: named.suite,
        matrix: named.name,
    };
    let record = spgemm::measure(&case, a, &b)?;
    let contender = |library: &str, name: &str, outcome: &Outcome| match outcome {
        Outcome::Failed { error } => Contender::refused(library, name, error),
        Outcome::Measured(figures) => {
            Contender::ran(library, name, figures.ms, Some(figures.peak_bytes), figures.difference.as_deref())
        }
    };
    let ours = record.methods.iter().map(|one| contender(OWN_NAME, &one.method, &one.outcome)).collect();
    let peer = |one: &PeerRecord| {
        contender("cusparse", &one.algorithm, &one.outcome).of_version(one.version.as_deref())
    };
    let peers = record.cusparse.iter().map(peer).collect();
    let mut more = BTreeMap::new();
    let mut nonzeros = 0;
    if let Some(figures) = record.methods.iter().find_map(|one| one.outcome.right()) {
        nonzeros = figures.nonzeros;
        more.insert("nonzeros of C".to_owned(), nonzeros as f64);
        more.extend(figures.numeric_ms.map(|ms| ("values ms".to_owned(), ms)));
    }
    let entry = size_of::<V>() + size_of::<u32>();
    let offsets = (2 * a.rows() + b.rows() + 3) * size_of::<u32>();
    let bytes = ((a.nnz() + b.nnz() + nonzeros) * entry + offsets) as u64;
    Ok(Figures::new((products, 2 * products, bytes), ours, peers, more))
}
