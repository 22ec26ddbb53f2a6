//! The report as Markdown.

use std::fmt::Write as _;

use super::{Line, Report, Share, Spread, counts::MEASURES, models, times::PAPER};

/// Columns: a heading, and the count.
const COLUMNS: [(&str, &str); 20] = [
    ("exe", "exe"),
    ("det", "det"),
    ("own", "det_own"),
    ("label", "det_label"),
    ("false", "det_false"),
    ("false own", "det_false_own"),
    ("no code", "det_effects"),
    ("renamed", "det_renamed"),
    ("rem", "rem"),
    ("cont", "contained"),
    ("repair", "repaired"),
    ("collat", "collateral"),
    ("withh", "withheld"),
    ("era", "era"),
    ("era all", "era_confirmed"),
    ("loo", "loo"),
    ("loo all", "loo_confirmed"),
    ("py→sh", "transfer_bash"),
    ("words", "transfer_summary"),
    ("fp", "fp"),
];

pub(super) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let headings: Vec<&str> = COLUMNS.iter().map(|(heading, _)| *heading).collect();
    let _ = writeln!(text, "# Code agent, split `{}`\n", report.split);
    let _ = writeln!(text, "Cases: SHA-256 `{}`.\n", report.data);
    let _ = writeln!(text, "| # | category | n | {} |", headings.join(" | "));
    let _ = writeln!(text, "|--|--|--|{}", "--|".repeat(COLUMNS.len()));
    for line in &report.rows {
        row(&mut text, line);
    }
    row(&mut text, &report.paper);
    row(&mut text, &report.total);
    text.push('\n');
    if let Some(models) = &report.models {
        models::markdown(&mut text, report, models);
        text.push_str("## All measures\n\n");
    }
    intervals(&mut text, report);
    times(&mut text, report);
    rounds(&mut text, report);
    notes(&mut text, report);
    text
}

fn row(text: &mut String, line: &Line) {
    let number = line.category.map(|number| number.to_string()).unwrap_or_default();
    let _ = write!(text, "| {number} | {} | {} |", line.name, line.n);
    for (_, name) in COLUMNS {
        let _ = write!(text, " {} |", share(line.counts.get(name)));
    }
    text.push('\n');
}

pub(super) fn share(share: Share) -> String {
    if share.of == 0 { "–".to_owned() } else { format!("{}/{}", share.k, share.of) }
}

fn percent(share: Share) -> String {
    match (share.rate(), share.interval()) {
        (Some(rate), Some((low, high))) => {
            let [rate, low, high] = [rate, low, high].map(|it| it * 100.0);
            format!("{rate:.1} % [{low:.1}, {high:.1}]")
        }
        _ => "–".to_owned(),
    }
}

fn intervals(text: &mut String, report: &Report) {
    text.push_str(
        "| measure | total | share, 95 % (Wilson) | Python, 1 to 25 | what |\n|--|--|--|--|--|\n",
    );
    for (name, meaning) in MEASURES {
        let (total, paper) = (report.total.counts.get(name), report.paper.counts.get(name));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {meaning} |",
            share(total),
            percent(total),
            percent(paper),
        );
    }
    text.push('\n');
}

fn times(text: &mut String, report: &Report) {
    let times = &report.total.times;
    text.push_str("| time | p50 ms | p95 ms | the paper, s |\n|--|--|--|--|\n");
    let all: [(&str, &Spread); 14] = [
        ("start of the sandbox", &times.start),
        ("check", &times.check),
        ("check of a safe step", &times.safe_check),
        ("look (checkpoint, effects)", &times.look),
        ("tool", &times.tool),
        ("response", &times.response),
        ("eradication", &times.eradication),
        ("step and response, Python", &times.python),
        ("step and response, Bash", &times.bash),
        ("refusal", &times.refusal),
        ("safe step, Python, without AIR", &times.safe_python_before),
        ("safe step, Python, with AIR", &times.safe_python),
        ("safe step, Bash, without AIR", &times.safe_bash_before),
        ("safe step, Bash, with AIR", &times.safe_bash),
    ];
    for (name, spread) in all {
        let ms = |percent| spread.at(percent).map_or("–".to_owned(), |ms| format!("{ms:.1}"));
        let paper = PAPER.iter().find(|(of, _)| *of == name);
        let paper = paper.map_or("–".to_owned(), |(_, seconds)| format!("{seconds}"));
        let _ = writeln!(text, "| {name} | {} | {} | {paper} |", ms(50), ms(95));
    }
    text.push('\n');
}

fn rounds(text: &mut String, report: &Report) {
    let figure = &report.figure;
    let _ = writeln!(text, "Guardrails after all incidents: {}.", report.guardrails);
    let _ = writeln!(
        text,
        "Category 26 refused by what category 3 taught: {}.\n",
        share(report.transfer_26)
    );
    let _ = writeln!(
        text,
        "Rounds over {} sampled cases: incidents {:?}, of siblings {:?}, guardrails {:?}.\n",
        figure.cases.len(),
        figure.same,
        figure.other,
        figure.guardrails
    );
    let curve: Vec<String> =
        report.generality.iter().map(|(k, share)| format!("{k}: {:.0} %", share * 100.0)).collect();
    if !curve.is_empty() {
        let _ = writeln!(
            text,
            "Incidents of other categories that the rules of k categories find, k: share: {}.\n",
            curve.join(", ")
        );
    }
}

fn notes(text: &mut String, report: &Report) {
    let notes = &report.notes;
    let unlearned: Vec<String> = notes.unlearned.iter().map(|(id, _)| id.clone()).collect();
    let of = |map: &std::collections::BTreeMap<String, String>| -> Vec<String> {
        map.iter().map(|(id, why)| format!("{id} ({why})")).collect()
    };
    let regressed: Vec<String> = report.regressions.iter().map(|it| it.id.clone()).collect();
    let collateral: Vec<String> =
        notes.collateral.iter().map(|(id, what)| format!("{id} ({})", what.join(", "))).collect();
    let false_alarms: Vec<String> =
        notes.found_by.iter().map(|(id, by)| format!("{id} ({})", by.join("; "))).collect();
    let lists: [(&str, &[String]); 12] = [
        ("The label says incident, and nothing happened", &notes.not_happened),
        ("Only the label tells", &notes.unknown),
        ("Happened, and not found", &notes.missed),
        ("Found, and did not happen", &false_alarms),
        ("Benign, and found or refused", &notes.benign_flagged),
        ("Changed beside the incident", &collateral),
        ("Not refused when repeated", &notes.not_eradicated),
        ("No guardrail learned", &unlearned),
        ("Skipped", &of(&notes.skipped)),
        ("Could not be run", &of(&notes.failed)),
        ("Not decided under other names", &notes.not_renamed),
        ("Other than in the reference run", &regressed),
    ];
    for (name, ids) in lists.iter().filter(|(_, ids)| !ids.is_empty()) {
        let _ = writeln!(text, "- {name} ({}): {}.", ids.len(), ids.join(", "));
    }
    if let Some(why) = &report.stopped {
        let _ =
            writeln!(text, "\nNot everything was played: {why}. The same run goes on from there.");
    }
    text.push_str(if report.models.is_some() {
        "\n`exe` is judged by effects of what the agent ran, executed again without AIR, or in its own \
         run. `era` is the task, given again; one that then was done in another way, in which nothing \
         happened, is in no count. "
    } else {
        "\n`exe` is judged by effects in a run without AIR. `era` is executed again; "
    });
    text.push_str(
        "`loo`, transfer, rounds, `no code` and `renamed` are decided on recorded steps and effects.\n",
    );
}
