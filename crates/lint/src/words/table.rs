//! The words of the house: each row is what is not written, and what is written instead.

/// A phrase, searched without regard to case in comments, strings and pages.
#[derive(Debug)]
pub struct Phrase {
    /// A regular expression.
    pub pattern: &'static str,
    pub instead: &'static str,
}

/// A word of a name (`nr_kept`, `KeptRules`), whatever its case and the name's style.
#[derive(Debug)]
pub struct Name {
    pub word: &'static str,
    pub instead: &'static str,
}

/// A place where a word is right after all.
#[derive(Debug)]
pub struct Exception {
    /// The beginning of a path.
    pub path: &'static str,
    /// A regular expression that the line matches.
    pub line: &'static str,
    pub reason: &'static str,
}

const fn phrase(pattern: &'static str, instead: &'static str) -> Phrase {
    Phrase { pattern, instead }
}

const fn name(word: &'static str, instead: &'static str) -> Name {
    Name { word, instead }
}

pub const PHRASES: &[Phrase] = &[
    phrase(r"\b(co-?)?processors?\b", "CPU"),
    phrase(r"\bworks (of|for) (processors|CPUs)\b", "CPU workloads"),
    phrase(r"\b(other|own|these|those|such|its|their|of the|all|two|three|ten|several|cpuwork:) works\b", "workloads"),
    phrase(r"\bthe works\b", "the workloads"),
    phrase(r"\bhears?\b|\bheard\b", "is called when, receives"),
    phrase(
        r"\b(?:(?:is|are|was|were|be|been|being|once|as|must|has|have|had|not) told|told (?:apart|from|by|of|to|when|what|that|which|how|about|its|the))\b",
        "receives, is given, is reported, is distinguished",
    ),
    phrase(r"\bwhoever\b", "any client, a user who"),
    phrase(r"\bnobody\b", "no client, no process"),
    phrase(r"\bfor ever\b", "indefinitely, without starving"),
    phrase(r"\b(came|come|comes|coming) to grief\b", "failed"),
    phrase(r"\bmend(s|ed|ing)?\b", "fix, correct"),
    phrase(r"\bput(s|ting)? (it |them |that |this |things |what \w+ \w+ )?right\b", "correct, fix"),
    phrase(r"\bas you like\b", "at your option"),
    phrase(r"\bwhat (it|they|that|this|each|a \w+|the \w+) costs?\b", "overhead, cost"),
    phrase(r"\bhow (the )?verdicts went\b", "verdict history"),
    phrase(r"\bas loudly\b|\bloudly\b", "most severe first"),
    phrase(r"\bwish(es|ed)?\b", "request, require"),
    phrase(r"\bin silence\b", "silently, without a message"),
    phrase(r"\bare of processors\b|\bis of processors\b", "is for the CPU arena"),
    phrase(r"\baftermath\b", "voids"),
    phrase(r"\bfurnish(es|ed|ing)?\b", "prepare"),
    phrase(r"(?-i)\bThere are:", "expected one of"),
    phrase(r"\bprocessor-time\b", "CPU time"),
];

pub const NAMES: &[Name] = &[
    name("processor", "cpu"),
    name("processors", "cpus"),
    name("seen", "what it is: Observation, …"),
    name("noted", "what it is: ProgramOutput, …"),
    name("wish", "Request"),
    name("wishes", "requests"),
    name("mood", "ClientState, SearchState"),
    name("seated", "RunningClient"),
    name("works", "Workloads"),
    name("hears", "what happens: on_…"),
    name("told", "reported, received"),
    name("nobody", "no_client, no_process"),
    name("whoever", "what it is"),
    name("aftermath", "handle_voids"),
    name("furnish", "prepare_target"),
    name("stir", "run_hw_queue"),
    name("rival", "conflict"),
    name("rivals", "conflicts"),
    name("grief", "failure"),
    name("mended", "corrected"),
];

/// Whole names, case and all: the words are right elsewhere.
pub const WHOLE_NAMES: &[Name] = &[
    name("Place", "TrialContext, what it is"),
    name("Order", "TrialSpec, what it is"),
    name("Course", "SearchSummary"),
    name("Way", "SearchState, what it is"),
    name("Loads", "BackgroundLoads"),
    name("Kept", "Persisted"),
];

/// Names of modules: as a variable's name the participle is plain.
pub const MODULES: &[Name] = &[name("kept", "persist")];

const fn except(path: &'static str, line: &'static str, reason: &'static str) -> Exception {
    Exception { path, line, reason }
}

pub const EXCEPTIONS: &[Exception] = &[
    except("crates/machine/src/cpu/ledger.rs", r#""processors""#, "the previous build's name of the entry"),
    except("crates/machine/src/environment.rs", r#""processor\.?""#, "the kernel's own word"),
    except("crates/machine/src/probe/frequency.rs", r#""processor\\t"#, "the kernel's own word"),
    except("crates/", r#"\bNOBODY\b|(user|becomes) nobody|"nobody""#, "the name of a user"),
    except("crates/machine/src/settings/", "driver is told", "what the kernel does"),
    except("crates/schedlab/tests/it/e2e/refusals.rs", "There are:", "a planted fault"),
    except("plans/kyber-delay.patch", "processor", "its text is part of the key of the kernel that is built with it"),
];

/// Comments and names in which the words still stand, by directory: the number may only become smaller. Strings, help, templates and pages
/// have none.
pub const REMAINING: &[(&str, usize)] =
    &[("crates/machine/", 2), ("crates/load/src/programs/", 1), ("crates/schedlab/", 1), ("crates/selfbench/", 6)];
