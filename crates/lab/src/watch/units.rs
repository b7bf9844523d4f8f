//! systemd units that start a watch's tests.

use std::path::PathBuf;
use std::time::Duration;

use machine::Root;
use machine::systemd::{unit_text, unit_word};

use super::{Watch, sandbox};
use crate::resolve::{Resolved, programs};

const DIR: &str = "/etc/systemd/system";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub path: PathBuf,
    pub text: String,
}

/// Name of a watch's units, without suffix.
pub fn name(watch: &str) -> String {
    format!("schedlab-watch-{watch}")
}

/// The service and the timer.
pub fn paths(root: &Root, watch: &str) -> [PathBuf; 2] {
    ["service", "timer"].map(|kind| root.path(DIR).join(format!("{}.{kind}", name(watch))))
}

pub fn units(root: &Root, watch: &Watch) -> Result<[Unit; 2], machine::Error> {
    let [service_path, timer_path] = paths(root, &watch.name);
    let head = format!(
        "# Written by `schedlab watch add`; remove with: schedlab watch remove {}\n",
        watch.name
    );
    let patience = Duration::from_secs(3600) + watch.between.length();
    let service = format!(
        "{head}[Unit]\nDescription=Test the I/O schedulers of {device} again\nDocumentation=man:systemd.timer(5)\n\
         \n[Service]\nType=oneshot\nExecStart={program} --state-dir {state} watch run {name}{consent}\n\
         # The window bounds a test; this only ends one that hangs. SIGTERM restores all settings.\n\
         TimeoutStartSec={timeout}\nKillMode=mixed\n{sandbox}",
        device = unit_text(&watch.plan.device)?,
        program = unit_word(&watch.program)?,
        state = unit_word(state_dir(root))?,
        name = watch.name,
        consent = consent(watch)?,
        timeout = patience.as_secs(),
        sandbox = sandbox::lines(watch, &state_dir(root))?,
    );
    let timer = format!(
        "{head}[Unit]\nDescription=When to test the I/O schedulers of {device} again\n\n[Timer]\nOnCalendar={calendar}\n\
         # Missed tests are skipped.\nPersistent=false\nAccuracySec=1min\n\n[Install]\nWantedBy=timers.target\n",
        device = unit_text(&watch.plan.device)?,
        calendar = watch.every.calendar(&watch.between),
    );
    Ok([Unit { path: service_path, text: service }, Unit { path: timer_path, text: timer }])
}

/// Options that consent to the plan's programs. Root gave this consent when adding the watch.
fn consent(watch: &Watch) -> Result<String, machine::Error> {
    let named = Resolved::read(watch.plan.clone()).map(|resolved| programs::named(&resolved));
    let named = named.unwrap_or_default();
    let user =
        watch.run_as.as_ref().map(unit_word).transpose()?.map(|user| format!(" --as {user}"));
    let needed = named.iter().any(|program| user.is_none() || program.needs_root);
    Ok(format!("{}{}", if needed { " --allow-commands" } else { "" }, user.unwrap_or_default()))
}

fn state_dir(root: &Root) -> PathBuf {
    let dir = root.state("");
    std::path::absolute(&dir).unwrap_or(dir).components().collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use experiment::plan::Plan;

    #[test]
    fn a_timer_opens_with_the_window_and_the_service_knows_its_watch() {
        let plan = "device = 'sdb'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
                    [[workload]]\nname = 'r'\nkind = 'randread'\n";
        let hours = ("23:00-02:00".parse().unwrap(), "daily".parse().unwrap());
        let watch = Watch::new(
            "nightly",
            "wwid naa.5",
            hours,
            "/usr/bin/schedlab".into(),
            Plan::from_toml(plan).unwrap(),
        )
        .unwrap();
        let [service, timer] = units(&Root::at("/r"), &watch).unwrap();
        assert_eq!(service.path, Path::new("/r/etc/systemd/system/schedlab-watch-nightly.service"));
        assert!(
            service
                .text
                .contains("ExecStart=\"/usr/bin/schedlab\" --state-dir \"/r/var/lib/schedlab\" watch run nightly\n")
        );
        assert!(
            timer.text.contains("OnCalendar=*-*-* 23:00:00\n")
                && timer.text.contains("Persistent=false\n")
        );
    }
    #[test]
    fn a_service_says_that_root_agreed_to_the_programs_of_its_plan_or_as_whom_they_run() {
        let plan = "device = 'sdb'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
                    [[workload]]\nname = 'r'\nkind = 'command'\nparams = { run = 'true' }\n";
        let hours = ("23:00-02:00".parse().unwrap(), "daily".parse().unwrap());
        let plan = Plan::from_toml(plan).unwrap();
        let mut watch =
            Watch::new("nightly", "wwid naa.5", hours, "/usr/bin/schedlab".into(), plan).unwrap();
        let start = |watch: &Watch| units(&Root::at("/r"), watch).unwrap()[0].text.clone();
        assert!(
            start(&watch).contains("watch run nightly --allow-commands\n"),
            "{}",
            start(&watch)
        );
        watch.run_as = Some("nobody".to_owned());
        assert!(start(&watch).contains("watch run nightly --as \"nobody\"\n"), "{}", start(&watch));
    }
}
