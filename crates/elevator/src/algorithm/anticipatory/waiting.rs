//! Anticipation: when to wait for the process served last, and when the wait ends.
//!
//! Source: Linux 2.6.20 block/as-iosched.c; confirmed. Here are rules 1 to 7 for breaking a wait,
//! and closeness; rule 8 is the member's. as_close_req's mixed units are kept: it compares
//! milliseconds with jiffies, so at HZ 250 everything is close after the first tick.
//!
//! Our counting: a wait ended by an arrival under rules 1, 4, 5 or 6 succeeds, one ended by time
//! (or rule 2) fails. One called off because the process no longer pays, or by an alias, is
//! neither.

use super::history::{lower, raise};
use super::machine::{Antic, Machine};
use super::rule::{Decision, Ending, Outlook, Rule};
use super::timing::Moment;
use super::trees::{ASYNC, SYNC, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Wait,
    Wanted,
    /// Time is up before the timer fires.
    Late,
    Hopeless,
}

/// Sectors that are close immediately: 4 MiB ahead, half of it behind.
const CLOSE: u64 = 8192;

impl<R: Rule> Machine<R> {
    /// as_can_break_anticipation, for serving `candidate`.
    pub(super) fn assess(
        &mut self,
        now: Moment,
        candidate: Option<u32>,
        decision: Decision,
    ) -> Verdict {
        let who = self.who.expect("somebody was served last");
        let candidate = candidate.map(|tag| *self.held(tag));
        if candidate.is_some_and(|slot| slot.process == who) {
            return Verdict::Wanted;
        }
        if self.who_done && self.is_over(now, who) {
            return Verdict::Late;
        }
        let history = self.history(who);
        if history.queued > 0 || history.listed > 0 {
            return Verdict::Wanted;
        }
        let (running, sampled) = (history.running, history.think.samples > 0);
        if let Some(Slot { extent, .. }) =
            candidate.filter(|slot| slot.sync && self.is_close(now, who, slot.extent.sector))
        {
            if !running {
                if !sampled {
                    raise(&mut self.newcomers.exit_prob);
                }
                lower(&mut self.newcomers.exit_no_coop);
            }
            self.learn(now, who, extent);
            return Verdict::Wanted;
        }
        if !running {
            if !sampled {
                raise(&mut self.newcomers.exit_prob);
            }
            if self.newcomers.exit_no_coop > 128 {
                return Verdict::Hopeless;
            }
        }
        if self.is_refused(now, who, decision) { Verdict::Hopeless } else { Verdict::Wait }
    }

    /// Begins to wait; time counts from the process's last completion.
    pub(super) fn start_waiting(&mut self) {
        debug_assert_eq!(self.antic, Antic::Off, "a wait begins once");
        self.counts.started += 1;
        if self.who_done { self.start_timer() } else { self.antic = Antic::WaitReq }
    }

    /// The awaited process's request has completed: think time begins.
    pub(super) fn awaited_completed(&mut self, now: Moment) {
        self.antic_start = now;
        self.who_done = true;
        if self.antic == Antic::WaitReq {
            self.start_timer();
        }
    }

    pub(super) fn arrived(&mut self, now: Moment, tag: u32) {
        if !matches!(self.antic, Antic::WaitReq | Antic::WaitNext) {
            return;
        }
        match self.assess(now, Some(tag), Decision::Continue) {
            Verdict::Wait => {}
            Verdict::Wanted => self.finish(now, Ending::Success),
            Verdict::Late => self.finish(now, Ending::Failure),
            Verdict::Hopeless => self.finish(now, Ending::CalledOff),
        }
    }

    pub(super) fn timed_out(&mut self, now: Moment) {
        let who = self.who.expect("a wait is for somebody");
        let history = self.history(who);
        let (running, sampled) = (history.running, history.think.samples > 0);
        if !sampled {
            raise(&mut self.newcomers.exit_prob);
        }
        if !running {
            raise(&mut self.newcomers.exit_no_coop);
        }
        self.finish(now, Ending::Failure);
    }

    /// Ends a wait without a verdict.
    pub(super) fn call_off(&mut self) {
        let start = self.antic_start;
        self.finish(start, Ending::CalledOff);
    }

    fn finish(&mut self, now: Moment, ending: Ending) {
        let wait_ns =
            if self.antic == Antic::WaitNext { now.time - self.antic_start.time } else { 0 };
        self.antic = Antic::Finished;
        self.runs.set(true);
        match ending {
            Ending::Success => {
                self.counts.successes += 1;
                self.counts.success_wait_ns += wait_ns;
            }
            Ending::Failure => {
                self.counts.failures += 1;
                self.counts.failure_wait_ns += wait_ns;
            }
            Ending::CalledOff => {}
        }
        self.rule.ended(self.who.expect("a wait is for somebody"), ending, wait_ns);
    }

    fn start_timer(&mut self) {
        let who = self.who.expect("a wait is for somebody");
        let clock = self.ticker.clock();
        self.antic_ends = self.rule.period(clock, who).ends(clock, self.antic_start);
        self.antic = Antic::WaitNext;
    }

    fn is_over(&mut self, now: Moment, who: u32) -> bool {
        match self.antic {
            Antic::WaitNext if self.rule.fixes_period() => now.time >= self.antic_ends,
            _ => self.rule.period(self.ticker.clock(), who).is_over(self.antic_start, now),
        }
    }

    fn is_refused(&mut self, now: Moment, who: u32, decision: Decision) -> bool {
        let [background, candidate] =
            [ASYNC, SYNC].map(|of| self.classes[of].next.map(|(sector, _)| sector));
        self.rule.refuses(&Outlook {
            decision,
            process: who,
            history: &self.processes[who as usize],
            newcomers: &self.newcomers,
            elapsed_ns: if self.who_done { now.time - self.antic_start.time } else { 0 },
            head: self.classes[SYNC].last_sector,
            candidate,
            background: background.filter(|_| candidate.is_none()),
            sync: &self.classes[SYNC].tree,
        })
    }

    /// as_close_req: the longer the wait, the farther a close request may be.
    fn is_close(&mut self, now: Moment, who: u32, next: u64) -> bool {
        let clock = self.ticker.clock();
        let delay_ms = match self.antic {
            Antic::Off => 0,
            _ if !self.who_done => 0,
            _ => clock.to_ms(now.jiffies - self.antic_start.jiffies),
        };
        let last = self.classes[self.dir].last_sector;
        let window = if delay_ms == 0 {
            CLOSE
        } else if delay_ms <= 20 && delay_ms <= self.rule.period(clock, who).in_ticks(clock) {
            // The source shifts an int, which overflows from 18 ms on: to almost everything, then
            // nothing.
            i64::from((CLOSE as i32) << delay_ms) as u64
        } else {
            return true;
        };
        if last <= next.wrapping_add(window / 2) && next <= last.wrapping_add(window) {
            return true;
        }
        let seek = &self.processes[who as usize].seek;
        let expected = if seek.samples == 0 { self.newcomers.seek_mean } else { seek.mean };
        self.rule.mean_seek_is_close() && last.abs_diff(next) < expected
    }
}
