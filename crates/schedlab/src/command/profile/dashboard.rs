//! `--watch`: a full-screen dashboard of a live disk.
//!
//! Top: throughput and a latency heat map of the last seconds, one column a second. Bottom: the
//! profile since the start, by process, and a summary. Foreign names are escaped here because the
//! output bypasses `out`.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table, Wrap};
use ratatui::{DefaultTerminal, Frame};
use report::number;
use report::profile::{findings, name_of};
use text::escaped;
use trace::profile::{Actor, DeviceProfile, Profile};
use trace::{Io, Kind};

use super::live::{Key, Screen};
use crate::failure::usage;
use crate::out;

const SECONDS: usize = 240;
/// Heat-map rows: two per octave of latency, from 1 µs.
const ROWS: usize = 48;
const LOWEST_LOG: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SortKey {
    #[default]
    Disk,
    Requests,
    Latency,
}

#[derive(Debug, Clone)]
struct Second {
    at: u64,
    reads: u64,
    writes: u64,
    bytes: u64,
    latencies: [u32; ROWS],
}

#[derive(Debug, Default)]
pub(super) struct Dashboard {
    terminal: Option<DefaultTerminal>,
    seconds: VecDeque<Second>,
    order: SortKey,
    paused: bool,
}

impl Dashboard {
    /// Fails unless standard input and output are terminals.
    pub(super) fn check() -> Result<Dashboard> {
        if out::is_terminal() && rustix::stdio::stdin().is_terminal() {
            Ok(Dashboard::default())
        } else {
            Err(usage(
                "--watch: standard input and output are no terminal; leave it out for a profile as text",
            ))
        }
    }
}

impl Screen for Dashboard {
    fn begin(&mut self) -> Result<()> {
        self.terminal =
            Some(ratatui::try_init().context("terminal: cannot be drawn on; leave --watch out")?);
        Ok(())
    }

    fn end(&mut self) {
        if self.terminal.take().is_some() {
            ratatui::restore();
        }
    }

    fn again(&mut self) {
        self.seconds.clear();
    }

    fn is_paused(&self) -> bool {
        self.paused
    }

    fn count(&mut self, io: &Io) {
        let Some(completed) = io.completed.get() else { return };
        let at = completed / 1_000_000_000;
        let latest = self.seconds.back().map(|second| second.at);
        if latest.is_none_or(|latest| latest < at) {
            // Show idle seconds, too.
            let from =
                latest.map_or(at, |latest| (latest + 1).max(at.saturating_sub(SECONDS as u64)));
            let empty = |at| Second { at, reads: 0, writes: 0, bytes: 0, latencies: [0; ROWS] };
            self.seconds.extend((from..=at).map(empty));
            self.seconds.drain(..self.seconds.len().saturating_sub(SECONDS));
        }
        let Some(second) = self.seconds.iter_mut().rev().find(|second| second.at == at) else {
            return;
        };
        if io.kind == Kind::Read {
            second.reads += 1
        } else {
            second.writes += 1
        }
        second.bytes = second.bytes.saturating_add(u64::from(io.sectors) * 512);
        second.latencies[row_of(completed.saturating_sub(io.queued))] += 1;
    }

    /// The key pressed since the last call, unless it is one of the dashboard's own, handled here.
    fn key(&mut self) -> Result<Option<Key>> {
        while event::poll(Duration::ZERO).context("terminal: cannot be read")? {
            let Event::Key(key) = event::read().context("terminal: cannot be read")? else {
                continue;
            };
            if key.kind == KeyEventKind::Press
                && let Some(asked) = self.pressed(key.code, key.modifiers)
            {
                return Ok(Some(asked));
            }
        }
        Ok(None)
    }

    fn draw(&mut self, profile: &Profile, elapsed: Duration, lost: u64) -> Result<()> {
        let Some(mut terminal) = self.terminal.take() else { return Ok(()) };
        let drawn = terminal.draw(|frame| self.frame(frame, profile, elapsed, lost)).map(drop);
        self.terminal = Some(terminal);
        drawn.context("terminal: cannot be drawn on")
    }
}

impl Dashboard {
    fn pressed(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        match code {
            KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => {
                return Some(Key::End);
            }
            KeyCode::Char('q') | KeyCode::Esc => return Some(Key::End),
            KeyCode::Char('r') => return Some(Key::Again),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => {
                self.order = match self.order {
                    SortKey::Disk => SortKey::Requests,
                    SortKey::Requests => SortKey::Latency,
                    SortKey::Latency => SortKey::Disk,
                }
            }
            _ => {}
        }
        None
    }

    fn frame(&self, frame: &mut Frame<'_>, profile: &Profile, elapsed: Duration, lost: u64) {
        let empty = DeviceProfile::default();
        let device = profile.devices.first().unwrap_or(&empty);
        let rows = [
            Constraint::Length(1),
            Constraint::Length(5),
            Constraint::Fill(2),
            Constraint::Fill(2),
            Constraint::Length(7),
            Constraint::Length(1),
        ];
        let [head, rates, heat, table, words, keys] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(self.head(device, elapsed, lost), head);
        self.rates(frame, rates);
        self.heat(frame, heat);
        frame.render_widget(self.table(device), table);
        let said: Vec<Line<'_>> =
            findings(device).iter().map(|words| Line::from(escaped(words).into_owned())).collect();
        frame.render_widget(
            Paragraph::new(said).wrap(Wrap { trim: true }).block(titled("In words")),
            words,
        );
        let paused = if self.paused { " · paused" } else { "" };
        let help = format!(" q ends · r begins again · p pauses · s sorts{paused}");
        frame.render_widget(
            Paragraph::new(help).style(Style::new().add_modifier(Modifier::DIM)),
            keys,
        );
    }

    fn head(&self, device: &DeviceProfile, elapsed: Duration, lost: u64) -> Paragraph<'static> {
        let now = self.seconds.iter().rev().nth(1).or(self.seconds.back());
        let (requests, bytes) =
            now.map_or((0, 0), |second| (second.reads + second.writes, second.bytes));
        let scheduler = device.schedulers.last().map_or("", |(name, _)| name.as_str());
        let busy = device.idle.busy_ns as f64 / device.span_ns().max(1) as f64;
        let lost = if lost > 0 { format!(" · {lost} events lost") } else { String::new() };
        let text = format!(
            " {} · {} · {:.0} s · {} IO/s · {}/s · busy {} · depth {}{lost}",
            escaped(&device.name),
            escaped(scheduler),
            elapsed.as_secs_f64(),
            number::count(requests),
            number::bytes(bytes as f64),
            number::percent(busy),
            number::significant(device.depth.queued_mean),
        );
        Paragraph::new(text).style(Style::new().add_modifier(Modifier::BOLD))
    }

    fn rates(&self, frame: &mut Frame<'_>, area: Rect) {
        let [reads, writes] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
        let last = |of: fn(&Second) -> u64, area: Rect| -> Vec<u64> {
            let room = usize::from(area.width.saturating_sub(2));
            self.seconds.iter().skip(self.seconds.len().saturating_sub(room)).map(of).collect()
        };
        for (area, title, of, colour) in [
            (
                reads,
                "Reads a second",
                (|second: &Second| second.reads) as fn(&Second) -> u64,
                Color::Blue,
            ),
            (
                writes,
                "Writes a second, and the rest",
                |second: &Second| second.writes,
                Color::Yellow,
            ),
        ] {
            let line = Sparkline::default()
                .data(last(of, area))
                .style(Style::new().fg(colour))
                .block(titled(title));
            frame.render_widget(line, area);
        }
    }

    fn heat(&self, frame: &mut Frame<'_>, area: Rect) {
        let block = titled("Latency, a column a second");
        let inner = block.inner(area);
        let (width, height) =
            (usize::from(inner.width.saturating_sub(9)), usize::from(inner.height));
        let shown: Vec<&Second> =
            self.seconds.iter().skip(self.seconds.len().saturating_sub(width)).collect();
        let used: Vec<usize> =
            (0..ROWS).filter(|row| shown.iter().any(|second| second.latencies[*row] > 0)).collect();
        let (low, high) = (used.first().copied().unwrap_or(0), used.last().copied().unwrap_or(0));
        let step = (high - low + 1).div_ceil(height.max(1)).max(1);
        let bands: Vec<usize> = (low..=high).step_by(step).collect();
        let count = |second: &Second, from: usize| -> u64 {
            second.latencies[from..(from + step).min(ROWS)]
                .iter()
                .map(|count| u64::from(*count))
                .sum()
        };
        let most = shown
            .iter()
            .flat_map(|second| bands.iter().map(|from| count(second, *from)))
            .max()
            .unwrap_or(0);
        let line = |from: &usize| {
            let label = format!("{:>8} ", number::latency_ns(start_of(*from) as f64));
            let cells = shown.iter().map(|second| shade(count(second, *from), most));
            Line::from(std::iter::once(Span::raw(label)).chain(cells).collect::<Vec<_>>())
        };
        let lines: Vec<Line<'_>> = bands.iter().rev().map(line).collect();
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn table(&self, device: &DeviceProfile) -> Table<'static> {
        let mut actors: Vec<&Actor> = device.processes.iter().collect();
        match self.order {
            SortKey::Disk => {}
            SortKey::Requests => actors.sort_by_key(|actor| std::cmp::Reverse(actor.requests())),
            SortKey::Latency => actors.sort_by_key(|actor| std::cmp::Reverse(actor.latency_ns.p99)),
        }
        let all: u64 = device.processes.iter().map(|actor| actor.device_ns).sum();
        let percent =
            |part: u64, of: u64| format!("{:.0} %", 100.0 * part as f64 / of.max(1) as f64);
        let row = |actor: &&Actor| {
            Row::new([
                escaped(&name_of(actor)).into_owned(),
                percent(actor.device_ns, all),
                number::count(actor.requests()),
                percent(actor.reads, actor.requests()),
                percent(actor.sequential, actor.steps()),
                number::latency_ns(actor.think_ns.p50 as f64),
                number::significant(actor.depth_mean),
                number::latency_ns(actor.latency_ns.p50 as f64),
                number::latency_ns(actor.latency_ns.p99 as f64),
                number::count(actor.anticipation.deceived),
            ])
        };
        let sorted = match self.order {
            SortKey::Disk => "time of the disk",
            SortKey::Requests => "requests",
            SortKey::Latency => "99th percentile",
        };
        let head = [
            "PROCESS", "DISK", "REQUESTS", "READS", "SEQ", "THINK", "DEPTH", "p50", "p99",
            "DECEIVED",
        ];
        let mut widths = vec![Constraint::Min(18)];
        widths.extend([Constraint::Length(9); 9]);
        Table::new(actors.iter().map(row).collect::<Vec<_>>(), widths)
            .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
            .block(titled(&format!("Processes by {sorted}")))
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.end();
    }
}

fn titled(title: &str) -> Block<'static> {
    Block::bordered().title(format!(" {title} "))
}

fn row_of(ns: u64) -> usize {
    let ns = ns.max(1 << LOWEST_LOG);
    let log = ns.ilog2();
    let half = usize::from(ns >> (log - 1) & 1 == 1);
    (((log - LOWEST_LOG) as usize) * 2 + half).min(ROWS - 1)
}

/// In nanoseconds.
fn start_of(row: usize) -> u64 {
    let log = LOWEST_LOG + row as u32 / 2;
    if row.is_multiple_of(2) { 1 << log } else { 3 << (log - 1) }
}

/// Logarithmic in `count`.
fn shade(count: u64, most: u64) -> Span<'static> {
    if count == 0 {
        return Span::raw(" ");
    }
    let share = ((count + 1) as f64).ln() / ((most + 1) as f64).ln();
    let step = ((share * 4.0) as usize).min(3);
    Span::styled(["░", "▒", "▓", "█"][step], Style::new().fg(Color::Cyan))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use trace::{At, Device, Process, Trace};

    use super::*;

    fn io(at: u64, latency: u64) -> Io {
        Io {
            issued: At::ns(at + 5),
            completed: At::ns(at + latency),
            ..Io::new(at, Kind::Read, at % 4096, 8, 0)
        }
    }

    fn trace(name: &str) -> Trace {
        Trace {
            devices: vec![Device { name: "sdb".to_owned(), ..Device::default() }],
            processes: vec![Process {
                pid: 42,
                tid: 42,
                name: name.to_owned(),
                ..Process::default()
            }],
            schedulers: vec!["bfq".to_owned()],
            ios: (0..5000).map(|n| io(n * 1_000_000, 90_000)).collect(),
            ..Trace::default()
        }
    }

    fn shown(dashboard: &Dashboard, profile: &Profile, size: (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| dashboard.frame(frame, profile, Duration::from_secs(5), 7)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_dashboard_shows_what_happens_who_asks_and_what_was_lost() {
        let trace = trace("postgres");
        let mut dashboard = Dashboard::default();
        trace.ios.iter().for_each(|io| dashboard.count(io));
        let text = shown(&dashboard, &trace::profile::profile_trace(&trace), (120, 40));
        for word in [
            "sdb · bfq · 5 s · 1,000 IO/s",
            "7 events lost",
            "postgres (42)",
            "65.5 µs",
            "In words",
            "█",
        ] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        // Any terminal size must draw, even with no data.
        for size in [(1, 1), (20, 5), (300, 100)] {
            shown(&dashboard, &Profile::default(), size);
        }
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let trace = trace("\u{1b}[2J\u{9b}31m\nx");
        let text = shown(&Dashboard::default(), &trace::profile::profile_trace(&trace), (120, 40));
        assert!(!text.contains('\u{1b}') && !text.contains('\u{9b}'), "{text}");
    }

    #[test]
    fn keys_end_begin_again_pause_and_sort() {
        let mut dashboard = Dashboard::default();
        let plain = KeyModifiers::NONE;
        assert_eq!(dashboard.pressed(KeyCode::Char('q'), plain), Some(Key::End));
        assert_eq!(dashboard.pressed(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::End));
        assert_eq!(dashboard.pressed(KeyCode::Char('r'), plain), Some(Key::Again));
        assert_eq!(dashboard.pressed(KeyCode::Char('c'), plain), None);
        dashboard.pressed(KeyCode::Char('p'), plain);
        dashboard.pressed(KeyCode::Char('s'), plain);
        assert!(dashboard.is_paused() && dashboard.order == SortKey::Requests);
    }

    #[test]
    fn latencies_are_in_the_row_that_begins_below_them() {
        for ns in [0, 1023, 1024, 1536, 90_000, 1 << 33, u64::MAX] {
            let row = row_of(ns);
            assert!(start_of(row) <= ns.max(1024), "{ns}");
            assert!(row == ROWS - 1 || start_of(row + 1) > ns, "{ns}");
        }
        let mut dashboard = Dashboard::default();
        [0, 3_000_000_000, u64::MAX - 1_000_000_000]
            .iter()
            .for_each(|at| dashboard.count(&io(*at, 1_000_000)));
        assert!(dashboard.seconds.len() <= SECONDS);
    }
}
