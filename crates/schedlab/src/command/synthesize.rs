//! `schedlab trace synthesize`: fits a parametric workload to a trace and reports the difference.

use anyhow::Result;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use lab::signals::Stop;
use lab::synthesize::{Request, Synthesized, synthesize};
use machine::files::Dir;
use recorder::file::ReadOptions;
use trace::formats::Format;
use trace::synthesize::{Figure, Measure};

use super::experiment::quoted;
use crate::cli::SynthesizeArgs;
use crate::failure::{REACHED, cut_short};
use crate::out;

pub(crate) fn run(args: &SynthesizeArgs) -> Result<u8> {
    let format = Format::of_name(&args.format).unwrap_or(Format::Auto);
    let request = Request {
        trace: args.trace.clone(),
        options: ReadOptions { format, skip_bad: args.skip_bad },
        device: args.device.clone(),
        scheduler: args.scheduler.clone(),
        groups: args.groups as usize,
        seed: args.seed,
    };
    let stop = Stop::install()?;
    let made = synthesize(&request, &stop);
    if stop.signal().is_some() {
        return Ok(cut_short());
    }
    let made = made?;
    if let Some(path) = &args.out {
        let (dir, file) = Dir::of_file(path)?;
        dir.replace(&file, made.plan.to_toml().as_bytes())?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&made)?)?;
    } else {
        show(&made)?;
        if let Some(path) = &args.out {
            let path = quoted(path.display().to_string());
            out::line(format_args!("\nthe plan: schedlab run {path} --out results"))?;
        }
    }
    Ok(REACHED)
}

fn show(made: &Synthesized) -> Result<()> {
    out::print(made.block())?;
    let Synthesized { device, scheduler, trial_ms, .. } = made;
    out::line(format_args!(
        "\ntried for {trial_ms} ms of virtual time on {device} under {scheduler}:\n"
    ))?;
    out::line(table(&made.figures))?;
    out::line("\nNo parameter says:")?;
    made.unsaid.iter().try_for_each(|line| out::line(format_args!("- {line}")))
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["FIGURE", "TRACE", "SYNTHETIC", "DISTANCE"]);
    for figure in figures {
        let value = |value: Option<f64>| {
            let text = value.map_or_else(|| "unknown".to_owned(), number);
            if value.is_some() && !figure.unit.is_empty() {
                format!("{text} {}", figure.unit)
            } else {
                text
            }
        };
        let distance = figure.distance.map_or_else(
            || "unknown".to_owned(),
            |far| match figure.measure {
                Measure::Points => format!("{far:+.1} points"),
                Measure::Percent => format!("{far:+.1} %"),
                Measure::Ks => format!("KS {far:.2}"),
            },
        );
        let name = if figure.measure == Measure::Ks {
            format!("{}, distribution", figure.name)
        } else {
            figure.name.to_owned()
        };
        table.add_row([name, value(figure.trace), value(figure.synthetic), distance]);
    }
    table
        .column_iter_mut()
        .skip(1)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
