//! Number formats shared by several pages.

/// A share as percent: `95 %`, `98.3 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_a_digit_after_the_point_where_it_says_something() {
        assert_eq!([0.95, 0.983, 0.0, 1.0].map(percent), ["95 %", "98.3 %", "0 %", "100 %"]);
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
