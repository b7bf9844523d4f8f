//! Limits of inputs, a section of the plan page.

use text::limits::LIMITS;

use super::sheet::Sheet;

pub(super) fn add_limits(sheet: &mut Sheet) {
    sheet.section("Limits of inputs").text(
        "A plan, a table, a trace or a results file may come from elsewhere, and schedlab reads it as root. Each input has a\n\
         limit far above what an experiment needs; more is refused with exit status 1 or 2 before it is held in memory.",
    );
    sheet.table(
        ["input", "at most"],
        LIMITS.iter().map(|limit| {
            let most = match limit.unit {
                text::limits::Unit::Bytes => limit.unit.show(limit.most),
                text::limits::Unit::Of(what) => format!("{} {what}", limit.most),
            };
            [limit.subject.to_owned(), most]
        }),
    );
}
