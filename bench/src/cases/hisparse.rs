use std::collections::BTreeMap;

use super::{Bench, Measured, Named, spmv};
use crate::operations::hisparse::{self, Case, Extent, Record};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// y = Ax with nodes of 128 x 128 in every schedule, in CSR, and by other libraries. Also measures the transposed
/// product, sums, the conversion, and bytes.
pub(super) fn measure<V: PeerValue>(bench: &Bench<'_>, named: &Named<'_, V>) -> Measured {
    let case = Case {
        device: bench.device,
        copy_gbps: bench.copy_gbps,
        peers: bench.peers,
        repetitions: bench.repetitions,
        suite: named.suite,
        matrix: named.name,
        generated: named.is_generated,
        extent: Extent::Whole,
    };
    let record = hisparse::measure::<V, 128>(&case, named.matrix)?;
    let direct = record.product("spmv").ok_or("there is no product")?;
    let mut ours = Vec::new();
    for way in &direct.ways {
        let bytes = Some(way.workspace_bytes);
        ours.push(Contender::ran(OWN_NAME, way.schedule, way.ms, bytes, way.difference.as_deref()));
    }
    let peers = spmv::peers(&direct.csr.peers);
    let vectors = ((named.matrix.rows() + named.matrix.cols()) * size_of::<V>()) as u64;
    let nonzeros = named.matrix.nnz() as u64;
    let work = (nonzeros, 2 * nonzeros, record.bytes.hisparse_bytes + vectors);
    let mut figures = Figures::new(work, ours, peers, more(&record));
    figures.verified = Some(record.is_right());
    Ok(figures)
}

fn more(record: &Record) -> BTreeMap<String, f64> {
    let mut more = BTreeMap::new();
    let mut add = |name: String, value: Option<f64>| more.extend(value.map(|value| (name, value)));
    add("hisparse bytes".into(), Some(record.bytes.hisparse_bytes as f64));
    add("csr bytes".into(), Some(record.bytes.csr_bytes as f64));
    add("coo bytes".into(), Some(record.bytes.coo_bytes as f64));
    add("conversion ms".into(), record.conversion_ms);
    for product in &record.products {
        let op = product.op;
        for way in &product.ways {
            add(format!("{op} ms, {}", way.schedule), Some(way.ms));
        }
        add(format!("{op} ms, csr"), product.csr_ms());
        add(format!("{op} ms, cusparse csr"), product.cusparse_ms());
    }
    for sum in &record.sums {
        add(format!("{} ms", sum.op), Some(sum.ms));
        add(format!("{} ms, queues", sum.op), sum.queued_ms);
        add(format!("{} ms, csr", sum.op), Some(sum.csr_ms));
        add(format!("{} ms, cusparse", sum.op), sum.cusparse_ms);
        add(format!("{} ms, cusparse's transpose", sum.op), sum.cusparse_transpose_ms);
    }
    more
}
