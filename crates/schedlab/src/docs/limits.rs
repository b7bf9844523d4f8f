//! The page about limits of inputs.

use text::limits::LIMITS;

use super::sheet::Sheet;

#[test]
fn the_page_about_limits_has_every_row() {
    let mut sheet = Sheet::new(
        "Limits",
        "A plan, a table, a trace or a results file may come from elsewhere, and schedlab reads it as root. Each input has a\n\
         limit far above what an experiment needs; more is refused with exit status 1 or 2 before it is held in memory.\n\
         Of what a program prints, the last 64 MiB are kept.",
    );
    sheet.section("Inputs").table(
        ["input", "at most", "why", "what to do with more"],
        LIMITS.iter().map(|limit| {
            let most = match limit.unit {
                text::limits::Unit::Bytes => limit.unit.show(limit.most),
                text::limits::Unit::Of(what) => format!("{} {what}", limit.most),
            };
            [limit.subject.to_owned(), most, limit.why.to_owned(), limit.remedy.to_owned()]
        }),
    );
    sheet.section("Time").text(
        "A signal (SIGINT, SIGTERM, SIGHUP) ends an experiment: the settings are restored, the results file is kept, and the\n\
         exit status is 128 and the number of the signal. What is left of its report has 1.5 seconds; then, as whenever\n\
         nothing is left to undo, the signal ends the process, which a shell shows as the same status.\n\
         `schedlab report DIR` writes the report of the results file later.",
    );
    super::check("limits", sheet);
}
