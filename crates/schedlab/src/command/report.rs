//! `schedlab report`: rewrites reports, or exports figures for a paper.
//!
//! `rsvg-convert` (librsvg2-bin) converts figures to PDF with embedded fonts; a library for that
//! would be the largest part of the program. It is a pipe; under root it has no capabilities, may
//! read system programs and fonts, and writes nothing.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use experiment::analysis::Analysis;
use experiment::results::Results;
use lab::store;
use machine::confine::Reader;
use machine::files::{Dir, programs};
use report::export::Exported;
use report::paper::{self, Paper};

use crate::cli::{FigureFormat, ReportArgs};
use crate::command::analyze::write_again;
use crate::failure::REACHED;
use crate::out;
use crate::report_files;

pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    if let Some(figures) = &args.figures {
        let results = store::read(&args.dir)?;
        let analysis = experiment::analyze(&results, None);
        return write_paper(
            &paper::files(&analysis, Some(&report_files::evidence(&results)))?,
            figures,
            &args.format,
        );
    }
    if let Some(format) = &args.export {
        let results = store::read(&args.dir)?;
        return export(
            format,
            args.name.as_deref(),
            &results,
            &experiment::analyze(&results, None),
        );
    }
    for file in write_again(&args.dir)?.1 {
        out::line(file.display())?;
    }
    Ok(REACHED)
}

fn export(format: &str, name: Option<&str>, results: &Results, analysis: &Analysis) -> Result<u8> {
    let exported = Exported { name: name.unwrap_or(&analysis.name), results, analysis };
    let text = report::export::export(format, &exported)?
        .expect("the command line has checked the format");
    out::print(text)?;
    Ok(REACHED)
}

fn write_paper(
    Paper { texts, figures }: &Paper,
    dir: &Path,
    formats: &[FigureFormat],
) -> Result<u8> {
    let dir = Dir::make(dir).context("figures: name another directory with --figures")?;
    let write = |name: &str, bytes: &[u8]| -> Result<()> {
        dir.replace(name, bytes)?;
        out::line(dir.file(name).display())
    };
    for (name, svg) in figures {
        for format in formats {
            match format {
                FigureFormat::Svg => write(&format!("{name}.svg"), svg.as_bytes())?,
                FigureFormat::Pdf => write(&format!("{name}.pdf"), &pdf(svg)?)?,
            }
        }
    }
    texts.iter().try_for_each(|(name, text)| write(name, text.as_bytes()))?;
    Ok(REACHED)
}

const FONTS: [&str; 3] = ["/etc/fonts", "/usr/local/share/fonts", "/var/cache/fontconfig"];

fn pdf(svg: &str) -> Result<Vec<u8>> {
    let program = programs::find("rsvg-convert").context(
        "--format pdf: no program rsvg-convert; install librsvg2-bin, or take --format svg",
    )?;
    let mut converter = programs::helper_at(&program);
    if rustix::process::geteuid().is_root() {
        Reader::new(&program, &FONTS.map(Path::new))?.apply_to(&mut converter);
    }
    let mut child = converter
        .args(["--format", "pdf"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(
            "--format pdf: rsvg-convert does not start; install librsvg2-bin, or take --format svg",
        )?;
    let mut input = child.stdin.take().context("rsvg-convert: no standard input")?;
    // A figure may exceed the pipe buffer, and the converter reads to EOF before it writes.
    let text = svg.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().context("rsvg-convert: cannot be waited for")?;
    let written =
        writer.join().map_err(|_| anyhow::anyhow!("rsvg-convert: its input was not written"))?;
    if !output.status.success() || !output.stdout.starts_with(b"%PDF") {
        bail!(
            "rsvg-convert: {} ({}); take --format svg",
            String::from_utf8_lossy(&output.stderr).trim(),
            output.status
        );
    }
    written.context("rsvg-convert: did not read the figure")?;
    Ok(output.stdout)
}
