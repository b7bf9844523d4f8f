//! Kills a command on a fake machine, and its recovery, at each step, and cuts the power.
//!
//! Afterwards, the machine is as before or as after the command, and the journal is empty.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use crate::crashpoints::FakeKernel;

pub(crate) trait Machine {
    /// Everything that recovery must restore.
    type State: PartialEq + Debug;

    fn kernel(&self) -> &FakeKernel;
    fn state(&self) -> Self::State;
    fn journal_dir(&self) -> PathBuf;
    /// Resets everything that a reboot resets.
    fn boot(&self, boot_id: &str);
    /// Undoes the changes of dead owners. `Ok(true)`: a lock is still taken.
    fn restore(&self) -> Result<bool, String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effects {
    /// A reboot undoes them.
    Kernel,
    /// They survive a reboot, so an interrupted command may turn out to be complete.
    Files,
}

#[derive(Debug)]
pub(crate) struct Case<M, E> {
    pub name: &'static str,
    pub effects: Effects,
    /// Created in the state in which the command starts.
    pub machine: fn() -> M,
    pub command: fn(&M) -> Result<(), E>,
    /// Keeps the test from being trivial.
    pub least_steps: usize,
}

pub(crate) trait Cut {
    fn name(&self) -> &'static str;
    /// Returns how often there was something to undo.
    fn killed_at_every_step(&self) -> usize;
    /// Kills the command after every `stride`th step, and recovery after each of `seconds` steps.
    fn killed_again_in_recovery(&self, stride: usize, seconds: &[usize]);
    /// Cuts the power with and without the names of unsynced files.
    fn power_lost_at_every_step(&self);
}

impl<M: Machine, E: Debug> Cut for Case<M, E> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn killed_at_every_step(&self) -> usize {
        let (steps, after) = self.whole();
        let mut left = 0;
        for step in 0..=steps {
            let (machine, before, is_done) = self.cut(step);
            assert_eq!(
                is_done,
                step == steps,
                "{}: only the last step completes it, step {step}",
                self.name
            );
            machine.kernel().live();
            left += usize::from(machine.state() != before && !journal(&machine).is_empty());
            self.recovered(
                &machine,
                &before,
                &after,
                is_done,
                &format!("killed after step {step} of {steps}"),
            );
        }
        left
    }

    fn killed_again_in_recovery(&self, stride: usize, seconds: &[usize]) {
        let (steps, after) = self.whole();
        for step in (0..=steps).step_by(stride) {
            for &second in seconds {
                let (machine, before, is_done) = self.cut(step);
                machine.kernel().die_after(second);
                let _ = machine.restore();
                machine.kernel().live();
                self.recovered(
                    &machine,
                    &before,
                    &after,
                    is_done,
                    &format!("killed after {step}, then after {second}"),
                );
            }
        }
    }

    fn power_lost_at_every_step(&self) {
        let (steps, after) = self.whole();
        for step in 0..=steps {
            for names_survive in [false, true] {
                let (machine, before, is_done) = self.cut(step);
                let is_changed = machine.state() != before;
                machine.kernel().lose_power(names_survive);
                let when = format!(
                    "power lost after step {step} of {steps}, names survive: {names_survive}"
                );
                if self.effects == Effects::Kernel {
                    let is_durable = has_whole_entry(&machine);
                    assert!(
                        is_durable || !is_changed,
                        "{}: {when}: changed, and the journal is lost",
                        self.name
                    );
                }
                machine.kernel().live();
                machine.boot("boot-2");
                match self.effects {
                    Effects::Kernel => {
                        let booted = machine.state();
                        self.recovered(&machine, &booted, &booted, false, &when);
                    }
                    Effects::Files => self.recovered(&machine, &before, &after, is_done, &when),
                }
            }
        }
    }
}

impl<M: Machine, E: Debug> Case<M, E> {
    /// The number of steps, and the resulting state.
    pub(crate) fn whole(&self) -> (usize, M::State) {
        let machine = (self.machine)();
        let began = machine.kernel().live();
        (self.command)(&machine).expect("nothing goes wrong without a crash");
        let steps = machine.kernel().live() - began;
        assert!(steps >= self.least_steps, "{}: only {steps} steps", self.name);
        assert_eq!(journal(&machine), [""; 0], "{}", self.name);
        (steps, machine.state())
    }

    /// The command `next` recovers after every `stride`th step, and leaves the `expected` state.
    pub(crate) fn next_command_recovers(
        &self,
        stride: usize,
        next: impl Fn(&M),
        expected: impl Fn(&M::State, &M::State) -> bool,
    ) {
        let steps = self.whole().0;
        for step in (0..steps).step_by(stride) {
            let (machine, before, _) = self.cut(step);
            machine.kernel().live();
            next(&machine);
            let now = machine.state();
            assert!(expected(&now, &before), "{}: killed after step {step}: {now:?}", self.name);
        }
    }

    /// The machine, its state before, and whether the command succeeded.
    fn cut(&self, step: usize) -> (M, M::State, bool) {
        let machine = (self.machine)();
        let before = machine.state();
        // What existed before is durable.
        machine.kernel().settle();
        machine.kernel().die_after(step);
        let is_done = (self.command)(&machine).is_ok();
        (machine, before, is_done)
    }

    fn recovered(
        &self,
        machine: &M,
        before: &M::State,
        after: &M::State,
        is_done: bool,
        when: &str,
    ) {
        recover(machine);
        let now = machine.state();
        let is_right = match (is_done, self.effects) {
            (true, _) => now == *after,
            (false, Effects::Kernel) => now == *before,
            (false, Effects::Files) => now == *before || now == *after,
        };
        assert!(
            is_right,
            "{}: {when}:\nnow    {now:?}\nbefore {before:?}\nafter  {after:?}",
            self.name
        );
        assert_eq!(journal(machine), [""; 0], "{}: {when}", self.name);
    }
}

pub(crate) fn recover(machine: &impl Machine) {
    match machine.restore() {
        Ok(false) => {}
        Ok(true) => panic!("recovery: the lock of a dead owner is still taken"),
        Err(why) => panic!("recovery: {why}"),
    }
}

fn journal(machine: &impl Machine) -> Vec<String> {
    let entries = fs::read_dir(machine.journal_dir()).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn has_whole_entry(machine: &impl Machine) -> bool {
    let is_whole = |name: &String| {
        name.ends_with(".json")
            && fs::read(machine.journal_dir().join(name)).is_ok_and(|text| !text.is_empty())
    };
    journal(machine).iter().any(is_whole)
}
