//! The page about files against the files actually written.

use std::fs;
use std::path::Path;

use crate::common::Lab;

const PAGE: &str = include_str!("../../../../../docs/src/reference/system.md");

fn unnamed(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let names = entries.map(|entry| {
        let slash = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
        format!("`{}{slash}`", entry.file_name().to_str().unwrap())
    });
    names.filter(|name| !PAGE.contains(name.as_str())).collect()
}

#[test]
fn the_page_about_files_names_everything_that_commands_leave_in_their_directories() {
    let lab = Lab::new();
    let commands = [
        "compare --schedulers none,noop --workload randread --rounds 2 --figures-only --trial-time 2s --trace csv",
        "sweep --scheduler mq-deadline --tunables fifo_batch --values fifo_batch=8 --workload randread --rounds 2 --figures-only --trial-time 2s",
        "tune --schedulers none,mq-deadline --tunables fifo_batch --workload randread --trials 100 --trial-time 2s",
    ];
    for (nr, command) in commands.into_iter().enumerate() {
        let out = lab.path(&format!("out{nr}"));
        let shown = out.display();
        lab.run(&format!("{command} --arena sim --device hp97560 --quiet --out {shown}"))
            .expect_status(0);
        assert_eq!(unnamed(&out), [""; 0], "{command}");
        assert!(
            fs::read_dir(&out).unwrap().count() >= 3,
            "{command}: an empty directory proves nothing"
        );
    }
}
