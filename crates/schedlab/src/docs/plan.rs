//! Reference page of plan keys.

use experiment::plan::Plan;

use super::sheet::{Sheet, code};

/// `within` is a plan that ends with the table's header.
struct Part {
    title: &'static str,
    introduction: &'static str,
    within: &'static str,
    keys: &'static [(&'static str, &'static str, &'static str)],
}

const PARTS: &[Part] = &[
    Part {
        title: "At the top",
        introduction: "Keys before the first table.",
        within: "",
        keys: &[
            ("schema", "2", "version of this format"),
            ("name", "", "a title for the report"),
            ("arena", "disk", "`disk`, `cpu`, `sim` or `kernel`"),
            (
                "device",
                "required",
                "`/dev/NAME`, `/dev/disk/by-id/NAME`, `loop:SIZE`, in virtual time a modelled device or a TOML file; `cpu` for CPUs",
            ),
            ("kernel", "debian:7.3", "kernel arena: as `schedlab kernel build --source`"),
            ("seed", "1", "seed of every random choice"),
            ("baseline", "the first variant", "variant to compare the others with"),
            ("budget", "", "table: how long to measure"),
            ("trial", "", "table: length of a trial"),
            ("criteria", "", "table: what counts as a difference"),
            ("limits", "", "table: what makes a trial invalid"),
            ("files", "", "table: file system on the device"),
            ("variant", "required", "array of tables: settings to compare"),
            ("workload", "required", "array of tables: the work"),
            ("metric", "", "array of tables: metrics of your own programs"),
            ("published", "", "array of tables: published figures"),
        ],
    },
    Part {
        title: "[budget]",
        introduction: "An experiment ends when every verdict is reached, or at the end of the budget.",
        within: "[budget]\n",
        keys: &[
            (
                "time_s",
                "60",
                "seconds for all rounds of all workloads, virtual in `sim` and `kernel`",
            ),
            ("rounds", "no limit", "at most this many rounds of each workload"),
            ("no_early_stop", "false", "continue to the end of the budget"),
            (
                "figures_only",
                "false",
                "measure even with too few rounds for intervals: figures, no verdicts",
            ),
        ],
    },
    Part {
        title: "[trial]",
        introduction: "By default about a dozen rounds fit into the budget; down to eight if [the deciding metric](metrics.md) needs longer trials.",
        within: "[trial]\n",
        keys: &[
            ("duration_ms", "chosen", "the measured window"),
            ("warmup_ms", "a fifth of the trial", "work before the window, not counted"),
        ],
    },
    Part {
        title: "[criteria]",
        introduction: "Fixed before the first trial; [verdicts](../understand/verdicts.md) explains each.",
        within: "[criteria]\n",
        keys: &[
            ("margin", "0.01", "differences below this fraction are of no interest"),
            ("alpha", "0.05", "probability of a false verdict over all variants of one metric"),
            ("method", "spending", "`spending`, `anytime`, `fixed` or `three-sigma`"),
            (
                "planned",
                "found after the first round",
                "the number of rounds that the bounds of `spending` are for",
            ),
            (
                "max_invalid_share",
                "0.2",
                "share of invalid rounds above which a comparison is invalid",
            ),
        ],
    },
    Part {
        title: "[limits]",
        introduction: "Bounds beyond which a trial is invalid.",
        within: "[limits]\n",
        keys: &[
            ("foreign_io_share", "0.05", "share of the device's bytes that others moved, at most"),
            (
                "reached_share",
                "0.9",
                "share of the workload's bytes that the device counted, at least",
            ),
            ("steal_share", "0.25", "share of CPU time stolen by the hypervisor, at most"),
        ],
    },
    Part {
        title: "[files]",
        introduction: "Made on the device for the time of the experiment.",
        within: "[files]\n",
        keys: &[
            ("kind", "required", "`ext4`, `xfs` or `btrfs`"),
            ("mkfs", "", "further options of mkfs"),
            ("mount", "", "options of mount, e.g. `noatime,data=journal`"),
        ],
    },
    Part {
        title: "[[variant]]",
        introduction: "One setting under comparison.",
        within: "[[variant]]\n",
        keys: &[
            ("name", "required", "its name in the report; unique"),
            (
                "scheduler",
                "",
                "[a scheduler](schedulers.md); in the `cpu` arena `default` if left out",
            ),
            (
                "tunables",
                "",
                "table of [tunables](tunables.md) or [CPU settings](tunables.md#cpu-settings)",
            ),
        ],
    },
    Part {
        title: "[[workload]]",
        introduction: "One workload; every variant runs it.",
        within: "[[workload]]\n",
        keys: &[
            ("name", "required", "its label in the report; unique"),
            ("kind", "required", "[a workload](workloads.md) of schedlab's own or a program"),
            ("primary", "the workload's own", "[the metric](metrics.md) that decides"),
            ("params", "", "table of the workload's parameters"),
            ("share", "", "table: its share of the device"),
            ("background", "", "array of tables: background load"),
            ("flow", "", "array of tables: the flows of a workload of kind `flows`"),
        ],
    },
    Part {
        title: "[[workload.flow]]",
        introduction: "A flow's metrics are `FLOW.METRIC`, e.g. `primary = \"reader.latency_p99_us\"`. Its guarantees are known to the\n\
                       schedulers of the `sim` arena and are checked in every arena; a real kernel enforces only a variant's settings,\n\
                       e.g. `\"io.weight@reader\" = 400`.",
        within: "[[workload]]\nname = 'a'\nkind = 'flows'\n[[workload.flow]]\n",
        keys: &[
            ("name", "required", "its name: at most 64 letters, digits, `-` and `_`"),
            ("kind", "required", "a workload of schedlab's own"),
            ("params", "", "table of its parameters"),
            ("weight", "", "share relative to the others' weights, 1 to 10000; 100 if left out"),
            ("rate", "", "bytes a second of its arrival curve, e.g. `10M`"),
            ("burst", "", "bytes above the rate at once, e.g. `1M`"),
            (
                "latency",
                "",
                "latency bound of a request inside the curve, e.g. `20ms`; needs `rate` and `burst`",
            ),
            (
                "ioprio",
                "best-effort:4",
                "I/O priority: `idle`, `best-effort:0` to `7` or `realtime:0` to `7`",
            ),
        ],
    },
    Part {
        title: "[workload.share]",
        introduction: "Also `[workload.background.share]`. Refused before a trial if this machine cannot do it.",
        within: "[[workload]]\nname = 'a'\nkind = 'oltp'\n[workload.share]\n",
        keys: &[
            ("io_weight", "", "I/O weight of its control group, 1 to 10000, usually 100"),
            ("io_max", "", "io.max of its control group: `wbps=10M wiops=100`"),
            ("ioprio", "", "I/O priority: `idle`, `best-effort:0` to `7` or `realtime:0` to `7`"),
        ],
    },
    Part {
        title: "[[workload.background]]",
        introduction: "Its figures are recorded and never compared.",
        within: "[[workload]]\nname = 'a'\nkind = 'oltp'\n[[workload.background]]\n",
        keys: &[
            (
                "kind",
                "required",
                "a workload of schedlab; in the `cpu` arena `spin`, `memory`, `forks` or `io`",
            ),
            ("params", "", "table of its parameters"),
            ("share", "", "table: its share of the device"),
        ],
    },
    Part {
        title: "[[metric]]",
        introduction: "A metric that only your program reports.",
        within: "[[metric]]\n",
        keys: &[
            ("name", "required", "its name; it should end with the unit"),
            ("better", "required", "`higher` or `lower`"),
        ],
    },
    Part {
        title: "[[published]]",
        introduction: "A published figure, shown with the measured one and never part of a verdict.",
        within: "[[published]]\n",
        keys: &[
            ("workload", "required", "the workload's label in this plan"),
            ("metric", "required", "the metric"),
            ("variant", "required", "the variant's name in this plan"),
            ("value", "required", "the figure, in the metric's unit"),
            ("source", "required", "where it stands"),
        ],
    },
];

/// From the parser's error on an unknown key.
fn keys_of(within: &str) -> Vec<String> {
    let answer = toml::from_str::<Plan>(&format!("{within}no_such_key = 1\n"))
        .expect_err("no plan has this key")
        .to_string();
    let expected = answer.split_once("no_such_key`").expect("the key is named").1;
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_about_plan_keys_has_exactly_the_keys_that_plans_take() {
    let mut sheet = Sheet::new(
        "Plan keys",
        "A plan is a TOML file. `schedlab compare … --dry-run` writes one; `schedlab run` measures it. Consent to destroy data\n\
         is never part of a plan.",
    );
    for part in PARTS {
        let (mut listed, mut taken): (Vec<_>, _) =
            (part.keys.iter().map(|key| key.0).collect(), keys_of(part.within));
        listed.sort_unstable();
        taken.sort_unstable();
        assert_eq!(listed, taken, "the keys of {} on the page, and those of plans", part.title);
        let title =
            if part.title.starts_with('[') { code(part.title) } else { part.title.to_owned() };
        sheet.section(&title).text(part.introduction).table(
            ["key", "default", "meaning"],
            part.keys.iter().map(|(key, default, meaning)| {
                let default = if ["required", "chosen"].contains(default) || default.contains(' ') {
                    (*default).to_owned()
                } else {
                    code(default)
                };
                [code(key), default, (*meaning).to_owned()]
            }),
        );
    }
    super::limits::add_limits(&mut sheet);
    super::check("plan", sheet);
}
