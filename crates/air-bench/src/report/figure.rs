//! Figure 8 as SVG: incidents a round.

use std::fmt::Write as _;

use crate::derive::{Figure, ROUNDS};

/// Width and height of the drawing, and of its margin.
const SIZE: (f64, f64, f64) = (480.0, 300.0, 48.0);

/// The figure as SVG.
pub fn svg(figure: &Figure) -> String {
    let (width, height, margin) = SIZE;
    let most = figure.same.iter().chain(&figure.other).copied().max().unwrap_or(0).max(1);
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let x = |round: usize| {
        margin + number(round) * (width - 2.0 * margin) / number((ROUNDS - 1).max(1))
    };
    let y = |count: usize| height - margin - number(count) / number(most) * (height - 2.0 * margin);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>Incidents a round</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let (left, right, bottom) = (margin, width - margin, height - margin);
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {margin}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>"
    );
    for round in 0..ROUNDS {
        let guardrails = figure.guardrails.get(round).copied().unwrap_or(0);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">round {}: {guardrails} guardrails</text>",
            x(round),
            bottom + 20.0,
            round + 1
        );
    }
    for (name, counts, color, row) in
        [("same cases", &figure.same, "#b03030", 0.0), ("siblings", &figure.other, "#3050b0", 16.0)]
    {
        let points: Vec<String> = counts
            .iter()
            .enumerate()
            .map(|(round, count)| format!("{:.1},{:.1}", x(round), y(*count)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for (round, count) in counts.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{count}</text>",
                x(round) + 4.0,
                y(*count) - 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" fill=\"{color}\" text-anchor=\"end\">{name}</text>",
            right,
            20.0 + row
        );
    }
    svg.push_str("</svg>\n");
    svg
}
