//! Delta debugging: finds the shortest script that still shows a difference by removing ever
//! smaller parts.

use super::script::{Event, Script};

/// Removes events from `script` while `shows` holds, then reduces numbers.
pub fn minimise(script: &Script, mut shows: impl FnMut(&Script) -> bool) -> Script {
    let mut least = script.clone();
    let mut part = least.events.len().next_power_of_two() / 2;
    while part > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < least.events.len() {
            let mut fewer = least.clone();
            fewer.events.drain(at..(at + part).min(least.events.len()));
            if shows(&fewer) {
                (least, shorter) = (fewer, true);
            } else {
                at += part;
            }
        }
        // Single events are tried until none can be removed.
        if part > 1 || !shorter {
            part /= 2;
        }
    }
    for at in 0..least.events.len() {
        loop {
            let others = simpler(&least.events[at]).into_iter().map(|event| {
                let mut other = least.clone();
                other.events[at] = event;
                other
            });
            let Some(other) = others.into_iter().find(|other| shows(other)) else { break };
            least = other;
        }
    }
    least
}

/// Simpler events, the simplest first.
fn simpler(event: &Event) -> Vec<Event> {
    match *event {
        Event::Ticks(nr) => {
            let fewer = [1, nr / 8, nr / 4, nr / 2, nr.saturating_sub(1)];
            fewer.into_iter().filter(|fewer| *fewer > 0 && *fewer < nr).map(Event::Ticks).collect()
        }
        Event::Complete(nr) if nr > 0 => vec![Event::Complete(0)],
        Event::Requeue(nr) if nr > 0 => vec![Event::Requeue(0)],
        Event::Submit { process, kind, meta: true, sector, nr_sectors } => {
            vec![Event::Submit { process, kind, meta: false, sector, nr_sectors }]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_stays() {
        let text = "4 64 r0:0+8 t9 r1:8+8 c3 d r0:16+8 t40 c1 w1:8+8 d";
        let script: Script = text.parse().unwrap();
        let shows = |script: &Script| {
            let ticks: u32 = script
                .events
                .iter()
                .map(|event| if let Event::Ticks(nr) = event { *nr } else { 0 })
                .sum();
            script.to_string().contains("r1:8+8") && ticks >= 5
        };
        assert_eq!(minimise(&script, shows).to_string(), "4 64 t5 r1:8+8");
    }
}
