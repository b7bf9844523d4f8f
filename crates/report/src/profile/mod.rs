//! A profile of recorded requests, in a terminal and as a page with plots.
//!
//! Process and control group names are external: control characters are replaced here.

mod findings;
mod html;
mod terminal;

use trace::profile::{Actor, DeviceProfile};

pub use findings::findings;
pub use html::{Excerpt, page};
pub use terminal::render;

use crate::{number, words};

pub fn name_of(actor: &Actor) -> String {
    let name = words::shortened(&words::clean(&actor.name), 40);
    match (name.is_empty(), actor.pid) {
        (true, 0) => "unknown".to_owned(),
        (true, pid) => format!("pid {pid}"),
        (false, 0) => name,
        (false, pid) => format!("{name} ({pid})"),
    }
}

/// Empty if `whole` is 0.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { percent(part as f64 / whole as f64) }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{} %", number::significant(percent))
    }
}

fn headline(device: &DeviceProfile) -> String {
    let total = &device.total;
    let seconds = (device.span_ns() as f64 / 1e9).max(1e-9);
    let under: Vec<String> = device
        .schedulers
        .iter()
        .map(|(name, _)| words::clean(name))
        .filter(|name| !name.is_empty())
        .collect();
    let under =
        if under.is_empty() { String::new() } else { format!(" under {}", words::listed(&under)) };
    format!(
        "{}: {}{under} in {}, {} a second, {} of them reads, {}/s",
        device_name(device),
        text::counted(total.requests(), "request"),
        number::latency_ns(device.span_ns() as f64),
        number::significant(total.requests() as f64 / seconds),
        share(total.reads, total.requests()),
        number::bytes(total.bytes() as f64 / seconds),
    )
}

fn device_name(device: &DeviceProfile) -> String {
    if device.name.is_empty() {
        format!("disk {}", device.device)
    } else {
        words::clean(&device.name)
    }
}

#[cfg(test)]
mod tests;
