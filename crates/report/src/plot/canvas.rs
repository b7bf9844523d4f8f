//! Shared drawing code: inline SVG, colours, text, axes and marks.
//!
//! Plots are drawn at twice their size, because the SVG backend has integer pixels. Colours are
//! Okabe and Ito's, safe for colour-blind readers; shapes distinguish variants in black and white.

use experiment::analysis::Verdict;
use experiment::stats::describe;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;

/// Drawn pixels per displayed pixel. Other sizes are in displayed pixels.
pub(crate) const FINE: i32 = 2;
pub(crate) const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
pub(crate) const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
const AXIS: RGBColor = RGBColor(0x9a, 0x9a, 0x9a);
pub(crate) const TEXT: i32 = 13;
/// Approximate width.
pub(crate) const CHARACTER: f64 = 7.2;

pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Plane = Cartesian2d<Axis, Axis>;
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Plane>;
pub(crate) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Plane>;

const COLOURS: [RGBColor; 8] = [
    RGBColor(0x5a, 0x5a, 0x5a),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xb8, 0xa6, 0x00),
];

/// The baseline, always first, is grey. Green and vermilion, which also mean better and worse, are
/// last.
pub(crate) fn colour(variant: usize) -> RGBColor {
    COLOURS[variant % COLOURS.len()]
}

pub(crate) const fn verdict_colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Better => RGBColor(0x00, 0x7d, 0x5b),
        Verdict::Worse => RGBColor(0xb8, 0x4a, 0x00),
        Verdict::Equivalent => RGBColor(0x00, 0x5f, 0x95),
        Verdict::Inconclusive => RGBColor(0x6b, 0x6b, 0x6b),
        Verdict::Invalid => RGBColor(0x8c, 0x1d, 0x5c),
    }
}

/// Draws on a canvas of `size` pixels. The SVG scales with its column; `label` is its text
/// alternative.
pub(crate) fn svg(
    label: &str,
    size: (i32, i32),
    draw: impl FnOnce(&Canvas<'_>) -> crate::Result<()>,
) -> crate::Result<String> {
    let (width, height) = (size.0 * FINE, size.1 * FINE);
    let mut text = String::new();
    {
        let canvas =
            SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
        draw(&canvas)?;
        canvas.present()?;
    }
    // Inline SVG needs neither the fixed size nor the namespace of the library's opening tag.
    let body = text.split_once('>').expect("a plot begins with its <svg> tag").1;
    Ok(format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height}\" style=\"max-width:{}px\">{body}",
        attribute(label),
        size.0,
    ))
}

/// Maps colours to CSS variables, which style.css redefines for dark mode.
pub(crate) const THEME: [(RGBColor, &str); 18] = [
    (INK, "--plot-ink"),
    (GRID, "--plot-grid"),
    (AXIS, "--plot-axis"),
    (WHITE, "--paper"),
    (BLACK, "--plot-ink"),
    (COLOURS[0], "--variant-0"),
    (COLOURS[1], "--variant-1"),
    (COLOURS[2], "--variant-2"),
    (COLOURS[3], "--variant-3"),
    (COLOURS[4], "--variant-4"),
    (COLOURS[5], "--variant-5"),
    (COLOURS[6], "--variant-6"),
    (COLOURS[7], "--variant-7"),
    (verdict_colour(Verdict::Better), "--better"),
    (verdict_colour(Verdict::Worse), "--worse"),
    (verdict_colour(Verdict::Equivalent), "--equivalent"),
    (verdict_colour(Verdict::Inconclusive), "--inconclusive"),
    (verdict_colour(Verdict::Invalid), "--invalid"),
];

/// Replaces fixed colours with the page's variables.
pub(crate) fn themed(svg: &str) -> String {
    THEME.iter().fold(svg.to_owned(), |svg, (RGBColor(r, g, b), name)| {
        let fixed = format!("=\"#{r:02X}{g:02X}{b:02X}\"");
        svg.replace(&fixed, &format!("=\"var({name})\""))
    })
}

/// Dark mode of a standalone file. Programs without CSS support show the colour attributes.
fn dark_rules() -> String {
    let style = include_str!("../templates/style.css");
    let dark = style.split_once("prefers-color-scheme: dark").map_or("", |(_, dark)| dark);
    let value = |name: &str| {
        let (_, rest) = dark.split_once(&format!("{name}: "))?;
        rest.split(';').next()
    };
    let rule = |(RGBColor(r, g, b), name): &(RGBColor, &str)| {
        let (fixed, dark) = (format!("#{r:02X}{g:02X}{b:02X}"), value(name)?);
        Some(format!("[fill=\"{fixed}\"]{{fill:{dark}}}[stroke=\"{fixed}\"]{{stroke:{dark}}}"))
    };
    let rules: String = THEME.iter().filter_map(rule).collect();
    format!("<style>@media (prefers-color-scheme: dark){{{rules}}}</style>")
}

/// Adds the namespace and size that inline SVG omits, a background, and dark mode.
pub(crate) fn whole_file(svg: &str) -> String {
    let size = |at: usize| {
        svg.split("viewBox=\"0 0 ").nth(1)?.split(['"', ' ']).nth(at)?.parse::<i32>().ok()
    };
    let (width, height) = (size(0).unwrap_or(0) / FINE, size(1).unwrap_or(0) / FINE);
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" "
    );
    let ground = "<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>";
    let (tag, body) = svg.split_once('>').unwrap_or((svg, ""));
    format!("{}>{}{ground}{body}", tag.replacen("<svg ", &head, 1), dark_rules())
}

pub(crate) fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(crate) fn text(size: i32, colour: RGBColor) -> TextStyle<'static> {
    // The backend divides sizes by 1.24 to approximate the height of a font's box.
    ("sans-serif", f64::from(size * FINE) * 1.24).into_font().color(&colour)
}

pub(crate) fn anchored(size: i32, colour: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    text(size, colour).pos(Pos::new(h, v))
}

pub(crate) struct Frame<'a> {
    pub(crate) x: &'a Axis,
    pub(crate) y: &'a Axis,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// Pixels for the labels left of the data.
    pub(crate) left: i32,
    /// Whether grid lines start at the labels of (x, y).
    pub(crate) grid: (bool, bool),
}

pub(crate) fn chart<'a, 'b>(
    canvas: &'a Canvas<'b>,
    frame: &Frame<'_>,
) -> crate::Result<Chart<'a, 'b>> {
    let (width, height) = canvas.dim_in_pixel();
    let (width, height) = (width as i32 / FINE - frame.left - 16, height as i32 / FINE - 54);
    let x = frame.x.thinned(width, |label| label.chars().count() as f64 * CHARACTER + 10.0);
    let y = frame.y.thinned(height, |_| f64::from(TEXT) + 4.0);
    let mut chart = ChartBuilder::on(canvas)
        .margin_top(10 * FINE)
        .margin_right(16 * FINE)
        .x_label_area_size(44 * FINE)
        .y_label_area_size(frame.left * FINE)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style(text(TEXT, INK))
        .axis_desc_style(text(TEXT, INK))
        .axis_style(AXIS)
        .bold_line_style(GRID.stroke_width(FINE as u32))
        .light_line_style(TRANSPARENT)
        .max_light_lines(0)
        .set_all_tick_mark_size(4 * FINE)
        .x_desc(frame.x_title.clone())
        .y_desc(frame.y_title.clone());
    if !frame.grid.0 {
        mesh.disable_x_mesh();
    }
    if !frame.grid.1 {
        mesh.disable_y_mesh();
    }
    mesh.draw()?;
    Ok(chart)
}

/// The width of a value axis's labels and title.
pub(crate) fn room_for(axis: &Axis) -> i32 {
    let longest = axis.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
    (longest as f64 * CHARACTER) as i32 + 36
}

/// `size` is half the mark's width.
pub(crate) fn mark(
    area: &Area<'_>,
    variant: usize,
    at: (f64, f64),
    size: i32,
) -> crate::Result<()> {
    let style = colour(variant).mix(0.9).filled();
    let s = size * FINE;
    let polygon = |corners: &[(i32, i32)]| Polygon::new(corners.to_vec(), style);
    let here = EmptyElement::at(at);
    match variant % 5 {
        0 => area.draw(&(here + Circle::new((0, 0), s, style)))?,
        1 => area.draw(&(here + Rectangle::new([(-s + 1, -s + 1), (s - 1, s - 1)], style)))?,
        2 => area.draw(&(here + polygon(&[(0, -s - 1), (s, s - 1), (-s, s - 1)])))?,
        3 => area.draw(&(here + polygon(&[(0, -s - 2), (s + 2, 0), (0, s + 2), (-s - 2, 0)])))?,
        _ => area.draw(&(here + polygon(&[(0, s + 1), (s, -s + 1), (-s, -s + 1)])))?,
    }
    Ok(())
}

/// Hollow and crossed out, in the variant's colour.
pub(crate) fn invalid_mark(
    area: &Area<'_>,
    variant: usize,
    at: (f64, f64),
    size: i32,
) -> crate::Result<()> {
    let style = colour(variant).stroke_width(FINE as u32);
    let s = (size + 1) * FINE;
    Ok(area.draw(
        &(EmptyElement::at(at) + Circle::new((0, 0), s, style) + Cross::new((0, 0), s, style)),
    )?)
}

pub(crate) fn legend_mark(variant: usize) -> crate::Result<String> {
    svg("", (14, 14), |canvas| {
        let axis = Axis::of_names(vec![String::new()], false);
        let chart = ChartBuilder::on(canvas).build_cartesian_2d(axis.clone(), axis)?;
        mark(chart.plotting_area(), variant, (0.0, 0.0), 5)
    })
}

/// Ignores values that are not positive, as verdicts do.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> =
        values.iter().filter(|v| v.is_finite() && **v > 0.0).map(|v| v.ln()).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    describe::quantile(&sorted, q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_leave_its_attribute() {
        let text =
            svg("\"><script>alert(1)</script>", (10, 10), |_| Ok(())).expect("an empty plot");
        assert!(!text.contains("<script"), "{text}");
        assert!(!text.contains("http"), "no namespace, no address: {text}");
    }

    #[test]
    fn a_file_of_its_own_has_a_dark_form_of_every_colour() {
        let file = whole_file("<svg viewBox=\"0 0 20 20\">");
        let dark = file.split_once("prefers-color-scheme: dark").expect("a dark form").1;
        for (RGBColor(r, g, b), name) in THEME {
            let fixed = format!("#{r:02X}{g:02X}{b:02X}");
            for (attribute, property) in [("fill", "fill:"), ("stroke", "stroke:")] {
                let (_, rule) = dark
                    .split_once(&format!("[{attribute}=\"{fixed}\"]{{{property}"))
                    .unwrap_or_else(|| panic!("{name} has no dark {attribute}"));
                assert!(rule.starts_with('#') && !rule.starts_with(&fixed), "{name}");
            }
        }
    }

    #[test]
    fn the_middle_of_nothing_is_nothing() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[f64::NAN, 0.0]), None);
        assert!((geometric_mean(&[4.0, 1.0, -3.0]).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
    }

    #[test]
    fn every_variant_has_a_mark_of_its_own() {
        let marks: std::collections::BTreeSet<String> =
            (0..8).map(|variant| legend_mark(variant).expect("a mark is drawn")).collect();
        assert_eq!(marks.len(), 8);
    }
}
