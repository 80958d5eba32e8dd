//! The tree over the sparsity pattern, as SVG: legible on light and dark backgrounds.

use std::fmt::Write;
use std::ops::Range;

use evenpath::hisparse::{self, NodeKind};
use evenpath::{HiSparse, Value};

/// The longer side of the matrix in the picture, and the minimum of the shorter.
const SIZE: f64 = 800.0;
const MIN_SIZE: f64 = 60.0;

/// Cells of the pattern along each side.
const CELLS: usize = 200;

/// A level with more nodes is not drawn.
const MAX_NODES: usize = 20_000;

const STYLE: &str = "<style>
svg { color: #24292f; font: 13px system-ui, sans-serif; }
text { fill: currentColor; }
.frame { fill: none; stroke: currentColor; }
.cell { fill: #0969da; }
.node { fill: none; stroke: #cf222e; vector-effect: non-scaling-stroke; }
.leaf { fill: none; stroke: #8250df; stroke-opacity: 0.55; vector-effect: non-scaling-stroke; }
.dense { fill: #bf8700; fill-opacity: 0.35; }
@media (prefers-color-scheme: dark) {
  svg { color: #e6edf3; }
  .cell { fill: #58a6ff; }
  .node { stroke: #ff7b72; }
  .leaf { stroke: #d2a8ff; }
  .dense { fill: #e3b341; }
}
</style>
";

/// The picture of a matrix.
pub(crate) fn draw<V: Value, const D: usize>(matrix: &HiSparse<V, D>) -> String {
    let (rows, cols) = (matrix.nrows().max(1) as f64, matrix.ncols().max(1) as f64);
    let longer = rows.max(cols);
    let scale = Scale {
        x: (SIZE * cols / longer).max(MIN_SIZE) / cols,
        y: (SIZE * rows / longer).max(MIN_SIZE) / rows,
    };
    let (width, height) = (cols * scale.x, rows * scale.y);
    let legend = legend(matrix);
    let text_height = 20.0 * legend.len() as f64 + 14.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-10 -10 {:.0} {:.0}\" role=\"img\">\n\
         <title>Nodes of a HiSparse matrix over its sparsity pattern</title>\n{STYLE}",
        (width + 20.0).max(560.0),
        height + text_height + 20.0
    );
    pattern(&mut svg, matrix, (width, height));
    nodes(&mut svg, matrix, &scale);
    rectangle(&mut svg, "frame", (0.0, 0.0, width, height), "");
    for (line, text) in legend.iter().enumerate() {
        // Writing to a String does not fail, here and below.
        let _ = writeln!(svg, "<text x=\"0\" y=\"{:.0}\">{text}</text>", height + 24.0 + 20.0 * line as f64);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Picture units per row and per column.
struct Scale {
    x: f64,
    y: f64,
}

fn legend<V: Value, const D: usize>(matrix: &HiSparse<V, D>) -> Vec<String> {
    let statistics = matrix.statistics();
    let mut lines = vec![format!(
        "{} × {}, {} nonzeros; nodes of {D} × {D}; {:.2} bytes per nonzero, CSR {:.2}",
        matrix.nrows(),
        matrix.ncols(),
        statistics.nnz,
        statistics.bytes_per_nonzero(),
        statistics.csr_bytes_per_nonzero()
    )];
    for (number, level) in statistics.levels.iter().enumerate() {
        let (sparse, dense) = (level.sparse().nodes, level.kind(NodeKind::Dense).nodes);
        let is_drawn = sparse + dense <= MAX_NODES as u64;
        let drawn = if is_drawn { "" } else { " (not drawn)" };
        let what = if number + 1 == statistics.levels.len() { "leaves" } else { "inner nodes" };
        lines.push(format!("level {number}: {sparse} sparse, {dense} dense {what}{drawn}"));
    }
    lines
}

/// Cells with nonzeros; fuller cells are more opaque.
fn pattern<V: Value, const D: usize>(svg: &mut String, matrix: &HiSparse<V, D>, (width, height): (f64, f64)) {
    let cell = |at: usize, len: usize| (at as u64 * CELLS as u64 / len as u64) as usize;
    let mut counts = vec![0_u64; CELLS * CELLS];
    for (row, col, _) in matrix {
        counts[cell(row, matrix.nrows()) * CELLS + cell(col, matrix.ncols())] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let (cell_width, cell_height) = (width / CELLS as f64, height / CELLS as f64);
    for (at, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let (x, y) = ((at % CELLS) as f64 * cell_width, (at / CELLS) as f64 * cell_height);
        let opacity = 0.25 + 0.75 * (count as f64).ln_1p() / most.ln_1p();
        rectangle(svg, "cell", (x, y, cell_width, cell_height), &format!(" fill-opacity=\"{opacity:.2}\""));
    }
}

/// Frames around nodes: leaves first, so that inner nodes are drawn over them.
fn nodes<V: Value, const D: usize>(svg: &mut String, matrix: &HiSparse<V, D>, scale: &Scale) {
    let levels = matrix.statistics().levels;
    for (number, level) in levels.iter().enumerate().rev() {
        if level.all().nodes > MAX_NODES as u64 {
            continue;
        }
        let is_leaf = number + 1 == levels.len();
        for node in matrix.nodes().filter(|node| node.level == number) {
            let place = place(&node, scale);
            if is_leaf && node.kind == NodeKind::Dense {
                rectangle(svg, "dense", place, "");
            }
            let width = 1.0 + 0.6 * (levels.len() - 1 - number) as f64;
            let class = if is_leaf { "leaf" } else { "node" };
            rectangle(svg, class, place, &format!(" stroke-width=\"{width:.1}\""));
        }
    }
}

fn place(node: &hisparse::Node, scale: &Scale) -> (f64, f64, f64, f64) {
    let len = |range: &Range<usize>| (range.end - range.start) as f64;
    (
        node.cols.start as f64 * scale.x,
        node.rows.start as f64 * scale.y,
        len(&node.cols) * scale.x,
        len(&node.rows) * scale.y,
    )
}

fn rectangle(svg: &mut String, class: &str, (x, y, width, height): (f64, f64, f64, f64), attributes: &str) {
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"{attributes}/>"
    );
}
