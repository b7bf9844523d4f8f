//! Limits of inputs, a section of the plan page.

use text::limits::LIMITS;

use super::sheet::Sheet;

pub(super) fn add_limits(sheet: &mut Sheet) {
    sheet.section("Limits of inputs").text(
        "Inputs may come from elsewhere, and schedlab reads them as root. Anything above these limits is refused with exit\n\
         status 1 or 2 before it is held in memory.",
    );
    sheet.table(
        ["input", "at most"],
        LIMITS.iter().map(|limit| {
            let most = match limit.unit {
                text::limits::Unit::Bytes => limit.unit.show(limit.most),
                text::limits::Unit::Of(_) => limit.most.to_string(),
            };
            [limit.subject.to_owned(), most]
        }),
    );
}
