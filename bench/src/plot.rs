//! Plots as SVG, legible on light and on dark ground.

use std::fmt::Write;

/// How numbers lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms; numbers that have none are left out.
    Log,
}

/// An axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How.
    pub scale: Scale,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point.
    Line,
    /// A dot a point.
    Dots,
}

/// Points that belong together.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// The points, x and y.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn; at most eight are told apart.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;
const LEGEND_LINE: f64 = 20.0;

/// Colours that people who see few colors tell apart (Okabe and Ito), twice: for light ground and for dark.
const COLORS: [(&str, &str); 8] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#007a5a", "#2dd4a0"),
    ("#a0569a", "#e39ad6"),
    ("#8a6d00", "#e6c229"),
    ("#24292f", "#e6edf3"),
    ("#3f8fb5", "#9ad1ee"),
    ("#7d4e2d", "#d9a37c"),
];

impl Axis {
    /// An axis with even divisions.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis of powers.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

/// An axis with its ends, in which numbers become places from 0 to 1.
struct Span {
    scale: Scale,
    first: f64,
    last: f64,
}

impl Span {
    /// One that holds all numbers; without any, from 0 to 1.
    fn of(scale: Scale, numbers: impl Iterator<Item = f64>) -> Self {
        let numbers = numbers.map(|number| place(scale, number)).filter(|number| number.is_finite());
        let (first, last) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), number| {
            (first.min(number), last.max(number))
        });
        let (first, last) = match (first <= last, first < last) {
            (false, _) => (0.0, 1.0),
            (true, false) => (first - 0.5, first + 0.5),
            (true, true) => (first, last),
        };
        match scale {
            Scale::Linear => {
                let step = step(last - first);
                Self { scale, first: (first / step).floor() * step, last: (last / step).ceil() * step }
            }
            Scale::Log => Self { scale, first: first.floor(), last: last.ceil() },
        }
    }

    /// Where a number is, if it is anywhere.
    fn at(&self, number: f64) -> Option<f64> {
        let at = (place(self.scale, number) - self.first) / (self.last - self.first);
        at.is_finite().then_some(at)
    }

    /// Numbers that are marked, and how they are written.
    fn ticks(&self) -> Vec<(f64, String)> {
        let span = self.last - self.first;
        let step = if self.scale == Scale::Log { step(span).max(1.0) } else { step(span) };
        let count = (span / step).round() as usize;
        let tick = |index: usize| {
            let number = self.first + index as f64 * step;
            let text = match self.scale {
                Scale::Linear => shortest(number, step),
                Scale::Log => format!("10<tspan dy=\"-5\" font-size=\"9\">{number:.0}</tspan>"),
            };
            ((number - self.first) / span, text)
        };
        (0..=count).map(tick).collect()
    }
}

fn place(scale: Scale, number: f64) -> f64 {
    match scale {
        Scale::Linear => number,
        Scale::Log => number.log10(),
    }
}

/// A round step that divides a span into some five to ten.
fn step(span: f64) -> f64 {
    let power = 10_f64.powf((span / 5.0).log10().floor());
    let digit = span / 5.0 / power;
    power
        * if digit >= 5.0 {
            5.0
        } else if digit >= 2.0 {
            2.0
        } else {
            1.0
        }
}

/// A number with as many decimals as its step has.
fn shortest(number: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{number:.decimals$}")
}

impl Plot {
    /// The plot as an SVG document. The same plot gives the same text.
    pub fn to_svg(&self) -> String {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let x = Span::of(self.x.scale, all().map(|point| point.0));
        let y = Span::of(self.y.scale, all().map(|point| point.1));
        let height = HEIGHT + LEGEND_LINE * self.series.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n",
            escaped(&self.title)
        );
        style(&mut svg);
        // Writing to a String does not fail, here and below.
        let _ = writeln!(
            svg,
            "<text class=\"title\" x=\"{}\" y=\"20\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            escaped(&self.title)
        );
        self.axes(&mut svg, &x, &y);
        for (index, series) in self.series.iter().enumerate() {
            let color = index % COLORS.len();
            let places = series.points.iter().filter_map(|&(px, py)| Some((x.at(px)?, y.at(py)?)));
            let places: Vec<(f64, f64)> = places.map(|(px, py)| (across(px), down(py))).collect();
            draw(&mut svg, series.mark, color, &places);
            let line = HEIGHT + LEGEND_LINE * index as f64;
            let _ = writeln!(
                svg,
                "<rect class=\"f{color}\" x=\"{LEFT}\" y=\"{}\" width=\"18\" height=\"4\"/><text x=\"{}\" y=\"{}\">{}</text>",
                line - 4.0,
                LEFT + 26.0,
                line + 2.0,
                escaped(&series.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String, x: &Span, y: &Span) {
        for (at, text) in x.ticks() {
            let x = across(at);
            let (top, bottom) = (down(1.0), down(0.0));
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>");
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 17.0
            );
        }
        for (at, text) in y.ticks() {
            let y = down(at);
            let (left, right) = (across(0.0), across(1.0));
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>");
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 8.0,
                y + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            across(0.5),
            HEIGHT - 14.0,
            escaped(&self.x.label)
        );
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            down(0.5),
            escaped(&self.y.label)
        );
    }
}

fn across(at: f64) -> f64 {
    LEFT + at * (WIDTH - LEFT - RIGHT)
}

fn down(at: f64) -> f64 {
    HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM)
}

fn draw(svg: &mut String, mark: Mark, color: usize, places: &[(f64, f64)]) {
    match mark {
        Mark::Line => {
            let _ = write!(svg, "<path class=\"line s{color}\" d=\"");
            for (index, (x, y)) in places.iter().enumerate() {
                let _ = write!(svg, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
            }
            svg.push_str("\"/>\n");
        }
        Mark::Dots => {
            let _ = write!(svg, "<path class=\"dots s{color}\" d=\"");
            for (x, y) in places {
                let _ = write!(svg, "M{x:.1} {y:.1}h0");
            }
            svg.push_str("\"/>\n");
        }
    }
}

fn style(svg: &mut String) {
    svg.push_str(
        "<style>\nsvg { color: #24292f; font: 12px system-ui, sans-serif; }\ntext { fill: currentColor; }\n\
         .title { font-size: 14px; font-weight: 600; }\n.grid { stroke: currentColor; stroke-opacity: 0.15; }\n\
         .line { fill: none; stroke-width: 2; }\n.dots { fill: none; stroke-width: 6; stroke-linecap: round; }\n",
    );
    colors(svg, |color| color.0);
    svg.push_str("@media (prefers-color-scheme: dark) {\nsvg { color: #e6edf3; }\n");
    colors(svg, |color| color.1);
    svg.push_str("}\n</style>\n");
}

fn colors(svg: &mut String, of: impl Fn(&(&'static str, &'static str)) -> &'static str) {
    for (index, color) in COLORS.iter().enumerate() {
        let color = of(color);
        let _ = writeln!(svg, ".s{index} {{ stroke: {color}; }} .f{index} {{ fill: {color}; }}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>, y: Axis) -> String {
        let series = vec![Series { name: "a < b".into(), mark: Mark::Line, points }];
        Plot { title: "A & B".into(), x: Axis::linear("step"), y, series }.to_svg()
    }

    #[test]
    fn ends_are_round_and_points_between_them() {
        let svg = plot(vec![(0.0, 1.0), (7.0, 1e-7)], Axis::log("residual"));
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt; b"));
        assert!(svg.contains(&format!("M{:.1} {:.1}L", across(0.0), down(1.0))), "{svg}");
        assert!(svg.contains("-7</tspan>") && svg.contains(">0</tspan>"), "{svg}");
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        for points in
            [vec![], vec![(1.0, 0.0)], vec![(f64::NAN, 1.0), (2.0, f64::INFINITY)], vec![(3.0, 3.0)]]
        {
            for y in [Axis::log("y"), Axis::linear("y")] {
                let svg = plot(points.clone(), y);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn steps_are_round() {
        for (span, expected) in [(1.0, 0.2), (10.0, 2.0), (7.0, 1.0), (30.0, 5.0), (0.03, 0.005)] {
            assert!((step(span) - expected).abs() < 1e-12, "{span}: {}", step(span));
        }
    }
}
