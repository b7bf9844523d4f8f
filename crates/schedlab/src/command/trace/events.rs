//! Summary of a simulated trial's event trace, from the events alone, as a check on the simulator's
//! own counters.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use elevator::{Op, SECTOR_BYTES, Time};
use report::Columns;
use serde_json::json;
use sim::workload::OpTotals;
use sim::{Event, EventKind};

use crate::cli::ConvertArgs;
use crate::failure::REACHED;
use crate::out;
use lab::trace_file;

pub(super) fn run(args: &ConvertArgs) -> Result<u8> {
    if let Some(to) = &args.to {
        trace_file::convert(&args.file, to)?;
    }
    let mut seen = TraceSummary::default();
    trace_file::read(&args.file, &mut |event| seen.event(event))?;
    if args.json {
        out::line(serde_json::to_string_pretty(&seen.to_json())?)?
    } else {
        seen.print()?
    }
    Ok(REACHED)
}

#[derive(Debug, Default)]
struct TraceSummary {
    counts: BTreeMap<EventKind, u64>,
    first: Option<Time>,
    last: Time,
    /// Bios in progress by process, direction and first sector, in submission order.
    open: BTreeMap<(Option<u32>, Option<Op>, u64), VecDeque<Time>>,
    /// Requests on the device, by tag.
    inside: BTreeMap<Option<u32>, Time>,
    busy_since: Option<Time>,
    busy_ns: u64,
    reads: OpTotals,
    writes: OpTotals,
    /// From receipt by the device to completion.
    service: OpTotals,
}

impl TraceSummary {
    fn event(&mut self, event: &Event) {
        *self.counts.entry(event.kind).or_default() += 1;
        self.first.get_or_insert(event.at);
        self.last = event.at;
        let bio = (event.process, event.op, event.sector);
        let bytes = u64::from(event.nr_sectors) * SECTOR_BYTES;
        match event.kind {
            EventKind::Submit => self.open.entry(bio).or_default().push_back(event.at),
            EventKind::Done => {
                let waiting = self.open.get_mut(&bio).and_then(VecDeque::pop_front);
                if let Some(submitted) = waiting {
                    let totals = if event.op == Some(Op::Write) {
                        &mut self.writes
                    } else {
                        &mut self.reads
                    };
                    totals.record(bytes, event.at - submitted);
                }
                if self.open.get(&bio).is_some_and(VecDeque::is_empty) {
                    self.open.remove(&bio);
                }
            }
            EventKind::Issue | EventKind::Flush => {
                if self.inside.is_empty() {
                    self.busy_since = Some(event.at);
                }
                self.inside.insert(event.tag, event.at);
            }
            EventKind::Complete | EventKind::Flushed => {
                if let Some(issued) = self.inside.remove(&event.tag)
                    && event.kind == EventKind::Complete
                {
                    self.service.record(bytes, event.at - issued);
                }
                if self.inside.is_empty() {
                    self.busy_ns += self.busy_since.take().map_or(0, |since| event.at - since);
                }
            }
            EventKind::Merge
            | EventKind::Insert
            | EventKind::Wait
            | EventKind::Timer
            | EventKind::Exit => {}
        }
    }

    fn seconds(&self) -> f64 {
        self.first.map_or(0.0, |first| (self.last - first) as f64 / 1e9)
    }

    fn figures(&self) -> Vec<(String, f64, &'static str)> {
        let seconds = self.seconds();
        let mut figures = vec![("time".to_owned(), seconds, "s")];
        for (name, totals) in
            [("read", &self.reads), ("write", &self.writes), ("device", &self.service)]
        {
            if totals.count == 0 {
                continue;
            }
            let mut put = |what: &str, value: f64, unit| {
                figures.push((format!("{name} {what}"), value, unit))
            };
            put("requests", totals.count as f64, "");
            put("rate", totals.count as f64 / seconds, "IO/s");
            put("throughput", totals.bytes as f64 / seconds / 1e6, "MB/s");
            put("time mean", totals.mean_ns().unwrap_or(0.0) / 1e3, "µs");
            put("time p99", totals.latency.value_at_quantile(0.99) as f64 / 1e3, "µs");
            put("time longest", totals.latency.max() as f64 / 1e3, "µs");
        }
        if seconds > 0.0 {
            figures.push((
                "device busy".to_owned(),
                100.0 * self.busy_ns as f64 / 1e9 / seconds,
                "%",
            ));
        }
        figures
    }

    fn to_json(&self) -> serde_json::Value {
        let events: serde_json::Map<String, serde_json::Value> = self
            .counts
            .iter()
            .map(|(kind, count)| (kind.name().to_owned(), json!(count)))
            .collect();
        let figures: Vec<_> = self
            .figures()
            .into_iter()
            .map(|(name, value, unit)| json!({"name": name, "value": value, "unit": unit}))
            .collect();
        json!({"events": events, "figures": figures})
    }

    fn print(&self) -> Result<()> {
        let mut table = Columns::new(["EVENT", "HOW MANY"]);
        for (kind, count) in &self.counts {
            table.row([kind.name().to_owned(), count.to_string()]);
        }
        out::table(&table)?;
        let mut table = Columns::new(["FIGURE", "VALUE", ""]);
        for (name, value, unit) in self.figures() {
            table.row([name, format!("{value:.3}"), unit.to_owned()]);
        }
        out::line("")?;
        out::table(&table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_from_the_events() {
        let mut seen = TraceSummary::default();
        let mut tell = |at: u64, kind, tag: Option<u32>, sector| {
            let event = Event {
                at: Time::from_ns(at),
                kind,
                process: Some(0),
                tag,
                op: Some(Op::Read),
                sector,
                nr_sectors: 8,
            };
            seen.event(&event);
        };
        tell(0, EventKind::Submit, None, 0);
        tell(0, EventKind::Submit, None, 80);
        tell(1_000, EventKind::Issue, Some(0), 0);
        tell(3_000, EventKind::Complete, Some(0), 0);
        tell(3_000, EventKind::Done, None, 0);
        tell(4_000, EventKind::Issue, Some(1), 80);
        tell(10_000, EventKind::Complete, Some(1), 80);
        tell(10_000, EventKind::Done, None, 80);
        let figure =
            |name: &str| seen.figures().into_iter().find(|(known, ..)| known == name).unwrap().1;
        assert_eq!(
            (figure("read requests"), figure("read time mean"), figure("device time mean")),
            (2.0, 6.5, 4.0)
        );
        assert!((figure("device busy") - 80.0).abs() < 1e-9);
        assert!((figure("read throughput") - 8192.0 / 10.0).abs() < 1e-9);
    }
}
