//! Plots of residuals as text.

use std::fmt::Write;

/// Draws `history` on a logarithmic scale; see [`Report::plot`](crate::Report::plot).
pub(crate) fn plot(history: &[f64], width: usize, height: usize) -> String {
    let logs: Vec<f64> = history.iter().map(|residual| residual.log10()).collect();
    let finite = || logs.iter().copied().filter(|log| log.is_finite());
    let (lowest, highest) =
        (finite().fold(f64::INFINITY, f64::min).floor(), finite().fold(f64::NEG_INFINITY, f64::max).ceil());
    if width == 0 || height == 0 || lowest > highest {
        return String::new();
    }
    let range = (highest - lowest).max(1.0);
    let mut grid = vec![vec![' '; width]; height];
    for column in 0..width {
        let log = logs[step_of(column, width, logs.len())];
        if log.is_finite() {
            let line = ((highest - log) / range * (height - 1) as f64).round() as usize;
            grid[line.min(height - 1)][column] = '*';
        }
    }
    let mut text = String::new();
    for (line, row) in grid.iter().enumerate() {
        let log = highest - range * line as f64 / (height - 1).max(1) as f64;
        let row: String = row.iter().collect();
        let _ = writeln!(text, "{:>8.1e} |{}", 10_f64.powf(log), row.trim_end());
    }
    let _ = writeln!(text, "{:>8} +{}", "", "-".repeat(width));
    let last = (history.len() - 1).to_string();
    let _ = writeln!(text, "{:>8}  0{last:>width$}", "step", width = width.saturating_sub(1));
    text
}

/// The step that a column shows: the first in the first column, the last in the last.
fn step_of(column: usize, width: usize, steps: usize) -> usize {
    (column * (steps - 1) + (width - 1) / 2) / (width - 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::plot;

    #[test]
    fn a_straight_line_falls_from_corner_to_corner() {
        let text = plot(&[1.0, 0.1, 0.01], 3, 3);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["   1.0e0 |*", "  1.0e-1 | *", "  1.0e-2 |  *"]);
        assert_eq!(lines[4], "    step  0 2");
    }

    #[test]
    fn odd_histories_are_drawn() {
        assert_eq!(plot(&[], 10, 5), "");
        assert_eq!(plot(&[f64::NAN, 0.0], 10, 5), "");
        assert_eq!(plot(&[1.0], 10, 0), "");
        assert_eq!(plot(&[1.0], 1, 1).lines().count(), 3);
        assert!(plot(&[1.0, f64::INFINITY, 1e-300, 0.0], 20, 4).contains('*'));
    }
}
