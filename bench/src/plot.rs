//! Plots as SVG, legible on a light and on a dark background.

use std::error::Error;
use std::fmt::Write;
use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; numbers that are not positive are left out.
    Log,
}

/// An axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// Its label, with the unit.
    pub(crate) label: String,
    /// Its scale.
    pub(crate) scale: Scale,
}

/// Style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A line from point to point.
    Line,
    /// A dot per point.
    Dots,
}

/// Points that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Its name in the legend.
    pub(crate) name: String,
    /// Its style.
    pub(crate) mark: Mark,
    /// The points, x and y.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// The series; colors repeat after eight.
    pub(crate) series: Vec<Series>,
}

const WIDTH: u32 = 840;
const HEIGHT: u32 = 460;
const LEGEND_LINE: u32 = 20;
/// Series per line of the legend.
const LEGEND_COLUMNS: usize = 2;
/// The maximum number of ticks on an axis.
const MOST_TICKS: usize = 9;

/// Text and lines on a light background, and their color on a dark one.
const INK: (RGBColor, &str) = (RGBColor(0x24, 0x29, 0x2f), "#e6edf3");

/// The colors of Okabe and Ito, which color-blind readers can tell apart, darkened for a light
/// background, each with its color on a dark one.
const COLORS: [(RGBColor, &str); 8] = [
    (RGBColor(0x00, 0x72, 0xb2), "#56b4e9"),
    (RGBColor(0xd5, 0x5e, 0x00), "#ff8c42"),
    (RGBColor(0x00, 0x7a, 0x5a), "#2dd4a0"),
    (RGBColor(0xa0, 0x56, 0x9a), "#e39ad6"),
    (RGBColor(0x8a, 0x6d, 0x00), "#e6c229"),
    (RGBColor(0x7d, 0x4e, 0x2d), "#d9a37c"),
    (RGBColor(0x57, 0x60, 0x6a), "#afb8c1"),
    (RGBColor(0x3f, 0x8f, 0xb5), "#9ad1ee"),
];

impl Axis {
    /// A linear axis.
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

/// The visible range of an axis; on a logarithmic axis its ends are log10 of the numbers.
#[derive(Debug, Clone)]
struct Span {
    scale: Scale,
    range: Range<f64>,
}

impl Span {
    /// The smallest range that contains all numbers with a margin; without numbers, 0 to 1.
    fn of(scale: Scale, numbers: impl Iterator<Item = f64>) -> Self {
        let places = numbers.map(|number| scale.place(number)).filter(|place| place.is_finite());
        let (first, last) = places
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, place| (ends.0.min(place), ends.1.max(place)));
        let margin = if first < last { 0.04 * (last - first) } else { 0.5 };
        let range = if first <= last { first - margin..last + margin } else { 0.0..1.0 };
        Self { scale, range }
    }

    /// The numbers that get a tick.
    fn ticks(&self) -> Vec<f64> {
        let width = self.range.end - self.range.start;
        // Below half a decade, the digits used otherwise give too few ticks.
        if self.scale == Scale::Linear || width < 0.45 {
            return RangedCoordf64::from(self.range()).key_points(MOST_TICKS);
        }
        let sets: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let decades = self.range.start.floor() as i32..=self.range.end.floor() as i32;
        let of_set = |set: &[f64], every: usize| -> Vec<f64> {
            let decades = decades.clone().filter(|decade| decade.rem_euclid(every as i32) == 0);
            let ticks = decades.flat_map(|decade| set.iter().map(move |digit| digit * 10_f64.powi(decade)));
            ticks.filter(|tick| self.range.contains(&tick.log10())).collect()
        };
        let mut candidates =
            sets.iter().map(|set| of_set(set, 1)).chain((2..).map(|every| of_set(&[1.0], every)));
        candidates.find(|ticks| ticks.len() <= MOST_TICKS).unwrap_or_default()
    }
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, number: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (self.scale.place(*number) - self.range.start) / (self.range.end - self.range.start);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks()
    }

    fn range(&self) -> Range<f64> {
        self.scale.number(self.range.start)..self.scale.number(self.range.end)
    }
}

impl ValueFormatter<f64> for Span {
    fn format(number: &f64) -> String {
        let magnitude = number.abs().log10();
        if *number != 0.0 && !(-3.5..4.5).contains(&magnitude) {
            return format!("{number:.0e}");
        }
        // A tick has fewer than six decimals, and its rounding error is smaller.
        let text = format!("{number:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl Scale {
    fn place(self, number: f64) -> f64 {
        match self {
            Self::Linear => number,
            Self::Log => number.log10(),
        }
    }

    fn has_place(self, number: f64) -> bool {
        self.place(number).is_finite()
    }

    fn number(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Log => 10_f64.powf(place),
        }
    }
}

impl Plot {
    /// A line of values by step, from the first step's number on.
    pub(crate) fn of_steps(title: &str, label: &str, name: String, (first, values): (usize, &[f64])) -> Self {
        let points = values.iter().enumerate().map(|(step, &value)| ((first + step) as f64, value)).collect();
        let series = vec![Series { name, mark: Mark::Line, points }];
        Self { title: title.into(), x: Axis::linear("step"), y: Axis::log(label), series }
    }

    /// The plot as an SVG document. The same plot gives the same text.
    ///
    /// # Panics
    ///
    /// Never: only writing can fail, and the document is written to a string.
    pub(crate) fn to_svg(&self) -> String {
        let mut svg = String::new();
        let lines = self.series.len().div_ceil(LEGEND_COLUMNS) as u32;
        let backend = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT + LEGEND_LINE * lines + 8));
        self.draw(backend).expect("writing to a string does not fail");
        with_dark_colors(&svg)
    }

    fn draw(&self, backend: SVGBackend<'_>) -> Result<(), Box<dyn Error + '_>> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Span::of(self.x.scale, points().map(|point| point.0));
        let y = Span::of(self.y.scale, points().map(|point| point.1));
        let (area, legend) = backend.into_drawing_area().split_vertically(HEIGHT);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18, &INK.0))
            .margin(8)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(68)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .axis_style(INK.0.mix(0.5))
            .bold_line_style(INK.0.mix(0.15))
            .label_style(("sans-serif", 15, &INK.0))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .draw()?;
        for (index, series) in self.series.iter().enumerate() {
            let color = COLORS[index % COLORS.len()].0;
            let has_place = |point: &(f64, f64)| x.scale.has_place(point.0) && y.scale.has_place(point.1);
            let points = series.points.iter().copied().filter(has_place);
            match series.mark {
                Mark::Line => {
                    let path = PathElement::new(points.collect::<Vec<_>>(), color.stroke_width(2));
                    chart.draw_series([path])?;
                }
                Mark::Dots => {
                    chart.draw_series(points.map(|point| Circle::new(point, 3, color.filled())))?;
                }
            }
            let line = LEGEND_LINE as usize * (index / LEGEND_COLUMNS) + 10;
            let left = 76 + (index % LEGEND_COLUMNS) * (WIDTH as usize - 76) / LEGEND_COLUMNS;
            let (left, middle) = (left as i32, line as i32);
            legend.draw(&Rectangle::new([(left, middle - 2), (left + 18, middle + 2)], color.filled()))?;
            legend.draw(&Text::new(
                series.name.clone(),
                (left + 26, middle - 7),
                ("sans-serif", 15, &INK.0).into_text_style(&legend),
            ))?;
        }
        area.present()?;
        Ok(())
    }
}

/// Adds rules that replace each color for readers who prefer a dark background, and removes
/// attributes with initial values.
fn with_dark_colors(svg: &str) -> String {
    let mut style = "<style>\n@media (prefers-color-scheme: dark) {\n".to_owned();
    for (RGBColor(red, green, blue), dark) in [INK].iter().chain(&COLORS) {
        for property in ["fill", "stroke"] {
            // Writing to a String does not fail.
            let _ =
                writeln!(style, "[{property}=\"#{red:02X}{green:02X}{blue:02X}\"] {{ {property}: {dark}; }}");
        }
    }
    style += "}\n</style>\n";
    let svg =
        svg.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "").replace(" stroke-width=\"1\"", "");
    svg.replacen(">\n", &format!(">\n{style}"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>, y: Axis) -> String {
        let series = vec![Series { name: "a < b".into(), mark: Mark::Dots, points }];
        Plot { title: "A & B".into(), x: Axis::linear("step"), y, series }.to_svg()
    }

    fn ticks(scale: Scale, numbers: &[f64]) -> Vec<String> {
        let span = Span::of(scale, numbers.iter().copied());
        span.ticks().iter().map(Span::format).collect()
    }

    #[test]
    fn text_is_escaped_and_every_point_drawn() {
        let svg = plot(vec![(0.0, 1.0), (7.0, 1e-7)], Axis::log("residual"));
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt; b"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(svg.contains("1e-7") && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn lines_join_their_points() {
        let series = vec![Series {
            name: "a".into(),
            mark: Mark::Line,
            points: vec![(0.0, 1.0), (1.0, 2.0), (2.0, 1.0)],
        }];
        let plot = Plot { title: "A".into(), x: Axis::linear("x"), y: Axis::linear("y"), series };
        let svg = plot.to_svg();
        let line = svg.split("stroke=\"#0072B2\" stroke-width=\"2\" points=\"").nth(1).expect("a line");
        let points: Vec<&str> = line.split('"').next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(points.len(), 3, "{svg}");
        assert_eq!(plot.to_svg(), svg, "the same plot gives the same text");
    }

    #[test]
    fn axes_fit_the_data() {
        // Ratios around 1 do not extend to whole decades.
        let ratios = Span::of(Scale::Log, [0.85, 2.0].into_iter());
        assert!(10_f64.powf(ratios.range.start) > 0.8 && 10_f64.powf(ratios.range.end) < 2.2, "{ratios:?}");
        assert_eq!(ticks(Scale::Log, &[0.85, 2.0]), ["1", "1.2", "1.4", "1.6", "1.8", "2"]);
        assert_eq!(ticks(Scale::Log, &[0.95, 1.05]), ["0.96", "0.98", "1", "1.02", "1.04"]);
        assert_eq!(ticks(Scale::Log, &[0.4, 80.0]), ["0.5", "1", "2", "5", "10", "20", "50"]);
        let powers = ticks(Scale::Log, &[1e-12, 1.0]);
        assert!(
            powers.len() > 4 && powers.len() <= MOST_TICKS && powers.contains(&"1".to_owned()),
            "{powers:?}"
        );
        assert_eq!(ticks(Scale::Linear, &[0.0, 100.0]), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn numbers_without_a_place_are_left_out() {
        let cases = [vec![], vec![(1.0, 0.0)], vec![(f64::NAN, 1.0), (2.0, f64::INFINITY)], vec![(3.0, 3.0)]];
        for points in cases {
            for y in [Axis::log("y"), Axis::linear("y")] {
                let svg = plot(points.clone(), y);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn colors_have_a_counterpart_on_a_dark_background() {
        let svg = plot(vec![(0.0, 1.0)], Axis::linear("y"));
        let style = svg.find("prefers-color-scheme: dark").expect("a style");
        assert!(style < svg.find("<circle").expect("a dot"), "{svg}");
        assert!(
            svg.contains("[fill=\"#0072B2\"] { fill: #56b4e9; }") && svg.contains("fill=\"#0072B2\"/>"),
            "{svg}"
        );
    }
}
