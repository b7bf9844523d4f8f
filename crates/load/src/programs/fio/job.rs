//! fio's job files: parsing, validation, and the copy for fio.
//!
//! An INI crate does not suit the dialect (options without a value, `#` and `;` anywhere in a line,
//! `global` sections for the jobs *below*), and errors need line numbers. This parser is stricter
//! than fio's. fio gets only a newly written file, so a difference between the parsers lets nothing
//! through.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use std::path::Path;

use machine::files::Bounded;
use sha2::{Digest, Sha256};
use text::limits::JOB_BYTES;

use super::allow::{self, Fate};
use super::output::Wanted;

/// fio splits lines at 4096 bytes.
const MAX_LINE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobFile {
    sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    name: String,
    options: Vec<JobOption>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct JobOption {
    line: usize,
    /// The main name, whichever alias was written.
    key: String,
    value: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    Device(&'a Path),
    Directory(&'a Path),
}

impl JobFile {
    /// `${NAME}` is taken from this process's environment. The error lists all refused options,
    /// with line and remedy.
    pub(super) fn open(path: &str) -> Result<JobFile, String> {
        let unreadable = |cause| format!("the job file {path} cannot be read: {cause}");
        let text = JOB_BYTES.read_text_file(path).map_err(unreadable)?;
        JobFile::parse(path, &text, &|name| std::env::var(name).ok())
    }

    pub(super) fn parse(
        path: &str,
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<JobFile, String> {
        let mut reader = Reader { path, env, sections: Vec::new(), refusals: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            reader.line(at + 1, line);
        }
        let file = JobFile { sections: reader.sections };
        if reader.refusals.is_empty() && file.jobs().is_empty() {
            reader
                .refusals
                .push(format!("{path} has no job; a job begins with its name in a line: [reader]"));
        }
        if reader.refusals.is_empty() { Ok(file) } else { Err(reader.refusals.join("\n")) }
    }

    /// The jobs in order.
    pub(super) fn job_kinds(&self) -> Vec<Wanted> {
        let names = self
            .sections
            .iter()
            .filter(|section| !section.is_global())
            .map(|section| section.name.clone());
        let does = |job: &BTreeMap<&str, &str>, words: &[&str]| {
            words.iter().any(|word| mode(job).contains(word))
        };
        let wanted = names.zip(self.jobs()).map(|(name, job)| Wanted {
            name,
            reads: does(&job, &["read", "rw"]),
            writes: does(&job, &["write", "rw"]),
            trims: does(&job, &["trim"]),
        });
        wanted.collect()
    }

    pub(super) fn writes(&self) -> bool {
        self.jobs().iter().any(|job| !matches!(mode(job), "read" | "randread"))
    }

    pub(super) fn is_sequential(&self) -> bool {
        self.jobs().iter().all(|job| !mode(job).starts_with("rand"))
    }

    /// If any job determines its own end.
    pub(super) fn has_length(&self) -> bool {
        let length = ["runtime", "size", "io_size", "number_ios", "loops", "time_based"];
        self.jobs().iter().any(|job| length.iter().any(|key| job.contains_key(key)))
    }

    /// All I/O is direct and within the window, so the device moves the bytes that fio counts.
    pub(super) fn is_exact(&self) -> bool {
        self.jobs().iter().all(|job| {
            let direct = match (flag(job, "direct"), flag(job, "buffered")) {
                (Some(direct), None) => direct,
                (None, Some(buffered)) => !buffered,
                _ => false,
            };
            direct && !job.contains_key("ramp_time") && value(job, "ioengine") != "mmap"
        })
    }

    /// A checksum of fio's copy.
    pub(super) fn digest(&self) -> String {
        let text = self.text(Target::Directory(Path::new("")), &[], &[]);
        let sum = Sha256::digest(text.as_bytes());
        sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the line number.
    pub(super) fn file_name(&self) -> Option<usize> {
        let options = self.sections.iter().flat_map(|section| &section.options);
        options.clone().find(|option| option.key == "filename").map(|option| option.line)
    }

    /// The same sections, and in each job the target, `forced` options, and `offered` ones that it
    /// does not set.
    pub(super) fn text(
        &self,
        target: Target<'_>,
        forced: &[(&str, String)],
        offered: &[(&str, String)],
    ) -> String {
        let jobs = self.jobs();
        let mut own = jobs.iter();
        let mut text = String::new();
        for section in &self.sections {
            let _ = writeln!(text, "[{}]", section.name);
            for option in &section.options {
                line(&mut text, &option.key, option.value.as_deref());
            }
            if section.is_global() {
                continue;
            }
            let (key, path) = match target {
                Target::Device(path) => ("filename", path),
                Target::Directory(path) => ("directory", path),
            };
            // Lists separated by colons.
            line(&mut text, key, Some(&path.display().to_string().replace(':', "\\:")));
            let has = own.next().expect("every section that is not global is a job");
            for (key, value) in
                forced.iter().chain(offered.iter().filter(|(key, _)| !has.contains_key(key)))
            {
                line(&mut text, key, Some(value));
            }
        }
        text
    }

    /// The options of each job.
    fn jobs(&self) -> Vec<BTreeMap<&str, &str>> {
        let mut common = BTreeMap::new();
        let mut jobs = Vec::new();
        for section in &self.sections {
            let own = section
                .options
                .iter()
                .map(|option| (option.key.as_str(), option.value.as_deref().unwrap_or("1")));
            if section.is_global() {
                set(&mut common, own);
            } else {
                let mut job = common.clone();
                set(&mut job, own);
                jobs.push(job);
            }
        }
        jobs
    }
}

/// `direct` and `buffered` are opposites: the later one applies.
fn set<'a>(
    options: &mut BTreeMap<&'a str, &'a str>,
    own: impl Iterator<Item = (&'a str, &'a str)>,
) {
    for (key, value) in own {
        match key {
            "direct" => options.remove("buffered"),
            "buffered" => options.remove("direct"),
            _ => None,
        };
        options.insert(key, value);
    }
}

impl Section {
    fn is_global(&self) -> bool {
        self.name == "global"
    }
}

fn line(text: &mut String, key: &str, value: Option<&str>) {
    let _ = match value {
        Some(value) => writeln!(text, "{key}={value}"),
        None => writeln!(text, "{key}"),
    };
}

fn value<'a>(job: &BTreeMap<&str, &'a str>, key: &str) -> &'a str {
    job.get(key).copied().unwrap_or_default()
}

fn flag(job: &BTreeMap<&str, &str>, key: &str) -> Option<bool> {
    job.get(key).map(|value| *value != "0")
}

/// Defaults to reading. A number after a colon is the length of a run.
fn mode<'a>(job: &BTreeMap<&str, &'a str>) -> &'a str {
    job.get("rw").map_or("read", |value| value.split(':').next().unwrap_or_default())
}

const MODES: &[&str] = &[
    "read",
    "write",
    "rw",
    "readwrite",
    "randread",
    "randwrite",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
];

struct Reader<'a> {
    path: &'a str,
    env: &'a dyn Fn(&str) -> Option<String>,
    sections: Vec<Section>,
    refusals: Vec<String>,
}

impl Reader<'_> {
    fn refuse(&mut self, line: usize, problem: &str) {
        self.refusals.push(format!("{}:{line}: {problem}", self.path));
    }

    fn line(&mut self, at: usize, line: &str) {
        let plain = line.split([';', '#']).next().unwrap_or_default().trim();
        if plain.is_empty() {
            return;
        }
        if plain.len() > MAX_LINE {
            return self.refuse(at, "the line is longer than 1000 bytes; shorten it");
        }
        if let Some(rest) = plain.strip_prefix('[') {
            return match rest.strip_suffix(']') {
                Some(name) => self.section(at, name),
                None => self.refuse(at, "a section's name ends with ]"),
            };
        }
        if self.sections.is_empty() {
            return self.refuse(
                at,
                &format!("{plain} precedes the first section; write [global] above it"),
            );
        }
        match self.option(at, plain) {
            Ok(Some(option)) => {
                self.sections.last_mut().expect("there is a section").options.push(option)
            }
            Ok(None) => {}
            Err(problem) => self.refuse(at, &problem),
        }
    }

    fn section(&mut self, at: usize, name: &str) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-+.,%()".contains(c);
        let is_job = name != "global";
        if name.is_empty()
            || name.len() > 100
            || name.starts_with('.')
            || !name.chars().all(is_plain)
        {
            self.refuse(
                at,
                &format!("[{name}] cannot be a job's name: files are named after it; use letters, digits, - and _"),
            );
        } else if is_job && name.starts_with("global") {
            self.refuse(
                at,
                &format!("[{name}] would be global for fio, as is any name with this prefix; use another name"),
            );
        } else if is_job && self.sections.iter().any(|section| section.name == name) {
            self.refuse(
                at,
                &format!(
                    "a second job is called {name}; figures are reported by name; use another one"
                ),
            );
        }
        self.sections.push(Section { name: name.to_string(), options: Vec::new() });
    }

    /// `None` if dropped, `Err` if refused.
    fn option(&mut self, at: usize, text: &str) -> Result<Option<JobOption>, String> {
        // fio takes any such line for an inclusion.
        if text.starts_with("include") {
            return Err(refusal("include", text));
        }
        let (key, raw) = match text.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (text, None),
        };
        let fate = allow::classify(key);
        if matches!(fate, Fate::Refused(_) | Fate::Unknown) {
            return Err(refusal(key, text));
        }
        if fate == Fate::LeftOut {
            return Ok(None);
        }
        let value = raw.map(|raw| self.expand(raw)).transpose()?;
        let key = allow::canonical(key);
        check_value(key, value.as_deref(), fate)?;
        let section = self.sections.last().expect("there is a section");
        if let Some(before) = section.options.iter().find(|option| option.key == key) {
            return Err(format!("{key} is already set in line {}; keep one of them", before.line));
        }
        if matches!(key, "direct" | "buffered")
            && section
                .options
                .iter()
                .any(|option| matches!(option.key.as_str(), "direct" | "buffered"))
        {
            return Err("direct and buffered set the same option; keep one of them".to_string());
        }
        Ok(Some(JobOption { line: at, key: key.to_string(), value }))
    }

    fn expand(&self, raw: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| format!("{raw}: ${{ without }}"))?;
            let found = (self.env)(name).ok_or_else(|| {
                format!(
                    "{name} is not set in the environment (sudo passes none on without -E); set it, or write its value"
                )
            })?;
            done.push_str(before);
            done.push_str(&found);
            rest = behind;
        }
        Ok(done + rest)
    }
}

fn refusal(key: &str, text: &str) -> String {
    match allow::classify(key) {
        Fate::Refused(why) => format!("{text} is refused: {why}"),
        _ => {
            let meant = text::suggestion(allow::nearest(key));
            format!(
                "{key} is refused: it is not known to keep to the device under test; remove the line{meant}"
            )
        }
    }
}

fn check_value(key: &str, value: Option<&str>, fate: Fate) -> Result<(), String> {
    let text = value.unwrap_or_default();
    if !allow::is_plain(text) {
        return Err(format!(
            "{key}={text} is refused: schedlab passes no $, quotes or other special characters on; write the value itself"
        ));
    }
    if fate == Fate::FileName {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if text.is_empty() || text.starts_with('.') || !text.chars().all(is_plain) {
            return Err(format!(
                "filename={text} is refused: schedlab itself names the device under test; remove the line"
            ));
        }
    }
    let head = text.split(':').next().unwrap_or_default();
    if key == "rw" && !MODES.contains(&head) {
        return Err(format!("rw={text} is none of {}", MODES.join(", ")));
    }
    if key == "ioengine" && !allow::ENGINES.contains(&text) {
        return Err(format!(
            "ioengine={text} is refused: it bypasses the device under test or its scheduler; use one of {}",
            allow::ENGINES.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
