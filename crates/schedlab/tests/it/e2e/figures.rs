//! `schedlab report --figures`, read back by the programs that use the files.

use std::fs;
use std::process::Command;

use testbed::require;

use crate::common::Lab;

fn measured(lab: &Lab) -> String {
    let out = lab.path("out").display().to_string();
    let words = "compare --arena sim --device hp97560 --schedulers none,cfq --workload iozone --rounds 6 --trial-time 1s --quiet";
    lab.run(&format!("{words} --out {out}")).expect_measured();
    out
}

#[test]
fn figures_tables_and_the_paragraph_are_written_and_the_reports_stay_as_they_were() {
    let lab = Lab::new();
    let out = measured(&lab);
    let read = |name: &str| fs::read(lab.path("out").join(name)).unwrap();
    let before = (read("report.html"), read("analysis.json"));
    let ran = lab
        .run(&format!("report {out} --figures {}", lab.path("paper").display()))
        .expect_status(0);
    assert_eq!((read("report.html"), read("analysis.json")), before);
    let text = |name: &str| fs::read_to_string(lab.path("paper").join(name)).unwrap();
    for name in [
        "1-iozone-effects.svg",
        "1-iozone-trials.svg",
        "table.tex",
        "table.md",
        "methods.md",
        "references.bib",
    ] {
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
    }
    assert!(text("1-iozone-effects.svg").starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(
        text("methods.md").contains("hp97560") && text("methods.md").contains("6 rounds"),
        "{}",
        text("methods.md")
    );
    let table = text("table.tex");
    for part in ["\\toprule", "cfq", "verdict", "\\bottomrule"] {
        assert!(table.contains(part), "{table}");
    }
    lab.run(&format!("report {out} --format pdf")).expect_status(2).says(&["--figures"]);
}

#[test]
fn a_figure_as_pdf_is_one_page_with_its_text_and_without_the_converter_the_next_step_is_said() {
    let lab = Lab::new();
    let out = measured(&lab);
    let words = format!("report {out} --figures {} --format svg,pdf", lab.path("paper").display());
    let mut alone = lab.command(&words);
    fs::create_dir(lab.path("empty")).unwrap();
    let ran = crate::common::Ran::from(alone.env("PATH", lab.path("empty")).output().unwrap())
        .expect_status(1);
    ran.says(&["rsvg-convert", "librsvg2-bin", "--format svg"]);
    if !require(&["root", "rsvg-convert", "pdfinfo", "pdftotext"]) {
        return;
    }
    lab.run(&words).expect_status(0);
    let file = lab.path("paper").join("1-iozone-effects.pdf");
    let said = |program: &str, more: &[&str]| {
        let output = Command::new(program).arg(&file).args(more).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(
        said("pdfinfo", &[]).lines().any(|line| line.starts_with("Pages:") && line.ends_with('1'))
    );
    assert!(said("pdftotext", &["-"]).contains("cfq"), "{}", said("pdftotext", &["-"]));
}
