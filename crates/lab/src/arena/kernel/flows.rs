//! The flows of a trial in a guest, each a process in a control group.
//!
//! Groups are leaves below the root, because the root's I/O is neither throttled nor weighted. All
//! settings precede the first process, and all processes join before the first starts.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use elevator::Priority;
use guest::inside::{CONTROL_GROUPS, now_ns, set_ioprio};
use load::ClientFile;
use machine::files::programs;
use sim::workload::{FlowWork, Measured, Params};

use super::disk::Modelled;
use crate::arena::flows::{self, FlowReport, FlowRequest, ROLE, Span};
use crate::controllers::{self, Control, Location};

const ITSELF: &str = "/proc/self/exe";

type Numbered<'a> = (usize, &'a FlowWork, &'a [ClientFile]);

/// Runs the flows from a common start, disk time 0. With `alone`, first runs each alone and also
/// returns the comparison.
pub(super) fn run(
    params: &Params,
    files: &[Vec<ClientFile>],
    controls: &[Control],
    disk: &Modelled,
    span: &Span,
) -> Result<(Measured, BTreeMap<String, f64>)> {
    let flows: Vec<Numbered<'_>> = params
        .flows
        .iter()
        .zip(files)
        .enumerate()
        .map(|(number, (flow, files))| (number, flow, &**files))
        .collect();
    for (_, flow, _) in &flows {
        controllers::check_name(&flow.name).map_err(|why| anyhow!("flow: {why}"))?;
        let dir = group(&flow.name);
        fs::create_dir(&dir)
            .with_context(|| format!("{}: cannot create in the guest", dir.display()))?;
    }
    let device = disk.number()?;
    controls
        .iter()
        .filter(|control| control.flow.is_some())
        .try_for_each(|control| set(control, &device, disk))?;
    let alone = if params.alone {
        let one =
            |flow: &Numbered<'_>| Ok(round(&[*flow], controls, disk, span)?.remove(0).measured());
        flows.iter().map(one).collect::<Result<Vec<Measured>>>()?
    } else {
        Vec::new()
    };
    let together = flows::merged(&params.flows, round(&flows, controls, disk, span)?);
    let against = sim::workload::against_alone(&together, &alone);
    Ok((together, if params.alone { against } else { BTreeMap::new() }))
}

fn round(
    flows: &[Numbered<'_>],
    controls: &[Control],
    disk: &Modelled,
    span: &Span,
) -> Result<Vec<FlowReport>> {
    let mut running =
        flows.iter().map(|(_, flow, _)| start(flow, controls)).collect::<Result<Vec<_>>>()?;
    let lead = u64::try_from(flows::lead(flows.len()).as_nanos()).expect("a lead of seconds");
    let span = Span { start_ns: now_ns() + lead, ..*span };
    disk.begin_at(span.start_ns)?;
    for ((number, flow, files), child) in flows.iter().zip(&mut running) {
        let request = FlowRequest::new(flow, *number, files, &span).to_json()?;
        let mut input = child.stdin.take().expect("it was asked for as a pipe");
        // A process that has exited reports the cause on standard error.
        drop(input.write_all(&request));
    }
    flows.iter().zip(running).map(|((_, flow, _), child)| report(&flow.name, child)).collect()
}

/// Settings for all flows and for workloads without flows.
pub(super) fn set_device(controls: &[Control], disk: &Modelled) -> Result<()> {
    let device = disk.number()?;
    controls
        .iter()
        .filter(|control| control.flow.is_none())
        .try_for_each(|control| set(control, &device, disk))
}

fn group(flow: &str) -> PathBuf {
    Path::new(CONTROL_GROUPS).join(flow)
}

/// Writes and verifies.
fn set(control: &Control, device: &str, disk: &Modelled) -> Result<()> {
    let row = control.row();
    let file = match row.location {
        Location::Processes => return Ok(()),
        Location::Root => Path::new(CONTROL_GROUPS).join(row.name),
        Location::Device(below) => disk.directory().join(below),
        Location::Group { .. } => {
            group(control.flow.as_deref().expect("a group is a flow's")).join(row.name)
        }
    };
    write(control, &file, device)
}

fn write(control: &Control, file: &Path, device: &str) -> Result<()> {
    let (row, word, line) = (control.row(), control.word(), control.line(device));
    if !file.exists() {
        bail!(
            "{word}: the guest's kernel has no {} (it is built without {}); enable {} in its configuration, or choose another kernel",
            file.display(),
            row.config,
            row.config
        );
    }
    fs::write(file, &line).with_context(|| {
        format!("{word}: the guest's kernel refused `{line}` in {}", file.display())
    })?;
    let found = fs::read_to_string(file)
        .with_context(|| format!("{}: cannot read in the guest", file.display()))?;
    if !control.is_in(device, &found) {
        bail!(
            "{word}: not set in {} (found {:?}, expected {line:?})",
            file.display(),
            found.trim()
        );
    }
    Ok(())
}

/// Starts a process that waits for its request.
fn start(flow: &FlowWork, controls: &[Control]) -> Result<Child> {
    let mut command = programs::self_command(Path::new(ITSELF));
    command.arg(ROLE).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command
        .spawn()
        .with_context(|| format!("flow {}: its process cannot be started", flow.name))?;
    let members = group(&flow.name).join("cgroup.procs");
    fs::write(&members, child.id().to_string()).with_context(|| {
        format!("flow {}: its process cannot join {}", flow.name, members.display())
    })?;
    if let Some(priority) = priority(flow, controls) {
        set_ioprio(child.id(), priority).with_context(|| {
            format!("flow {}: the guest's kernel refused its I/O priority", flow.name)
        })?;
    }
    Ok(child)
}

/// The variant overrides the workload.
fn priority(flow: &FlowWork, controls: &[Control]) -> Option<u16> {
    let of_flow = |control: &&Control| {
        control.row().location == Location::Processes
            && control.flow.as_deref() == Some(&*flow.name)
    };
    match controls.iter().find(of_flow) {
        Some(control) => Priority::parse(&control.value).map(Priority::number),
        None => (flow.priority != Priority::default()).then(|| flow.priority.number()),
    }
}

fn report(flow: &str, child: Child) -> Result<FlowReport> {
    let ended = child
        .wait_with_output()
        .with_context(|| format!("flow {flow}: cannot wait for its process"))?;
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    FlowReport::read(flow, &stdout, &stderr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_does_not_have_is_refused_with_the_option_to_enable_and_what_it_does_not_keep_too()
     {
        let dir = tempfile::tempdir().unwrap();
        let control = |word, text| controllers::read("a", word, text).unwrap().unwrap();
        let qos = control("io.cost.qos", "enable=1");
        let file = dir.path().join("io.cost.qos");
        let error = write(&qos, &file, "8:0").unwrap_err().to_string();
        assert!(error.contains("enable CONFIG_BLK_CGROUP_IOCOST"), "{error}");
        fs::write(&file, "").unwrap();
        write(&qos, &file, "8:0").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "8:0 enable=1");
        // A file that discards its input.
        let weight = control("io.weight@reader", "400");
        let error = write(&weight, Path::new("/dev/null"), "8:0").unwrap_err().to_string();
        assert!(
            error.contains("not set in /dev/null") && error.contains("expected \"default 400\""),
            "{error}"
        );
    }
}
