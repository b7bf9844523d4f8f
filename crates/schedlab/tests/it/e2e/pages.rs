//! Layout of the pages in headless Chromium at three widths: nothing wider than the window, no
//! overlapping labels, a dark mode.
//!
//! Layout is compared rather than pixels, which depend on fonts. A script in a page with one frame
//! per page and width does the measuring; the pages themselves have no script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testbed::is_soak;

use crate::common::Lab;

const WIDTHS: [u32; 3] = [390, 768, 1200];

/// Text in the same plot may overlap by two pixels: boxes are taller than letters.
const MEASURE: &str = r#"
const seen = r => r.width > 0 && r.height > 0;
function measure(frame) {
  const page = frame.contentDocument, width = frame.contentWindow.innerWidth;
  const inside = e => e.closest('.scroll, .wide, pre, svg');
  const name = e => (e.tagName + ' ' + (e.className.baseVal ?? e.className) + ' ' + e.textContent.trim().slice(0, 40)).trim();
  const wide = [...page.body.querySelectorAll('*')].filter(e => !inside(e) && e.getBoundingClientRect().right > width + 1).map(name);
  const overlaps = [];
  for (const svg of page.querySelectorAll('svg')) {
    const texts = [...svg.querySelectorAll('text')].map(e => [e, e.getBoundingClientRect()]).filter(([, r]) => seen(r));
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const [[a, r], [b, s]] = [texts[i], texts[j]];
      const x = Math.min(r.right, s.right) - Math.max(r.left, s.left), y = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      const small = Math.min(r.height, s.height) * 0.25;
      if (x > 2 && y > Math.max(2, small)) overlaps.push(a.textContent.trim() + ' | ' + b.textContent.trim());
    }
  }
  const light = colour => { const [r, g, b] = colour.match(/[\d.]+/g).map(Number); return (0.3 * r + 0.6 * g + 0.1 * b) / 255; };
  const style = e => frame.contentWindow.getComputedStyle(e);
  const text = page.querySelector('svg text'), shape = text && light(style(text).fill);
  const outline = [...page.querySelectorAll('main, header, nav, section, figure, .scroll, .wide')].map(e => [e, e.getBoundingClientRect()])
    .filter(([, r]) => seen(r)).map(([e, r]) => `${e.tagName.toLowerCase()}${e.className ? '.' + e.className.split(' ')[0] : ''} `
      + `${Math.round(20 * r.left / width) * 5} ${Math.round(20 * r.width / width) * 5}`);
  const answer = [...page.querySelectorAll('h1, .advice')].pop().getBoundingClientRect().bottom;
  return { answer, scrolls: page.documentElement.scrollWidth, width, wide, overlaps, paper: light(style(page.body).backgroundColor),
    ink: light(style(page.body).color), plot: shape, svgs: page.querySelectorAll('svg').length, outline,
    scripts: page.querySelectorAll('script').length };
}
window.onload = () => {
  const found = {};
  for (const frame of document.querySelectorAll('iframe')) found[frame.title] = measure(frame);
  document.getElementById('found').textContent = JSON.stringify(found);
};
"#;

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// With a private profile; killed after a minute.
fn browser(lab: &Lab, dark: bool, words: &[&str], page: &Path) -> Option<String> {
    let program = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| testbed::tool(name).is_some());
    let Some(program) = program else {
        testbed::skip("chromium needed (scripts/need test)");
        return None;
    };
    let profile = format!("--user-data-dir={}", lab.path("profile").display());
    let scheme = format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 });
    let mut command = Command::new("timeout");
    command.args([
        "300",
        program,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    command
        .args(["--virtual-time-budget=20000", &profile, &scheme])
        .args(words)
        .arg(format!("file://{}", page.display()));
    let output = command.env("HOME", lab.dir.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Keyed `PAGE WIDTH`.
fn measured(lab: &Lab, dark: bool, pages: &[(&str, String)]) -> Option<Value> {
    let mut frames = String::new();
    for (name, page) in pages {
        for width in WIDTHS {
            let page = attribute(page);
            frames += &format!(
                "<iframe title=\"{name} {width}\" width=\"{width}\" height=\"800\" srcdoc=\"{page}\"></iframe>\n"
            );
        }
    }
    let all = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body>{frames}<pre id=\"found\"></pre><script>{MEASURE}</script>"
    );
    let file = lab.path("frames.html");
    fs::write(&file, all).unwrap();
    let dom = browser(lab, dark, &["--dump-dom", "--window-size=1400,900"], &file)?;
    let found = dom
        .rsplit_once("<pre id=\"found\">")
        .expect("the document is dumped")
        .1
        .split("</pre>")
        .next()
        .unwrap();
    let found = found
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    Some(
        serde_json::from_str(&found)
            .unwrap_or_else(|error| panic!("{error}: the frames were not measured: {found:?}")),
    )
}

fn faults(of: &Value, dark: bool) -> Vec<String> {
    let number = |name: &str| of[name].as_f64().unwrap_or(f64::NAN);
    let mut found = Vec::new();
    if number("scrolls") > number("width") + 1.0 {
        found.push(format!("the page is {} wide in a window of {}", of["scrolls"], of["width"]));
    }
    for (name, what) in [("wide", "wider than the window"), ("overlaps", "labels over each other")]
    {
        let items = of[name].as_array().unwrap();
        found.extend((!items.is_empty()).then(|| format!("{what}: {}", json!(items))));
    }
    // The first screen of a phone.
    if number("answer") > 800.0 {
        found.push(format!("the answer ends at {} px", of["answer"]));
    }
    let (paper, ink) = (number("paper"), number("ink"));
    if (paper < 0.3) != dark || (paper - ink).abs() < 0.6 {
        found.push(format!("text of lightness {ink} on paper of {paper}"));
    }
    if number("svgs") > 0.0 && (number("plot") - paper).abs() < 0.5 {
        found.push(format!("plots of lightness {} on paper of {paper}", of["plot"]));
    }
    found
}

/// Real pages, always the same.
fn pages(lab: &Lab) -> Vec<(&'static str, String)> {
    let long = "a-name-that-goes-on-and-on-without-any-blank-whatever-happens=bfq";
    let compare = format!(
        "compare --arena sim --device hp97560 --schedulers none,mq-deadline,cfq,{long} --workload iozone,randread,dss --rounds 6 \
         --trial-time 2s --quiet --out {}",
        lab.path("compare").display()
    );
    lab.run(&compare).expect_measured();
    let sweep = format!(
        "sweep --arena sim --device hp97560 --scheduler deadline --tunables fifo_batch,nr_requests --workload randread:clients=8 \
         --rounds 6 --trial-time 1s --quiet --out {}",
        lab.path("sweep").display()
    );
    lab.run(&sweep).expect_measured();
    let tune = format!(
        "tune --arena sim --device hp97560 --workload dss --schedulers mq-deadline,bfq --tunables slice_idle,fifo_batch --trials 100 \
         --trial-time 1s --quiet --out {}",
        lab.path("tune").display()
    );
    lab.run(&tune);
    let read = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    vec![
        ("compare", read(lab.path("compare/report.html"))),
        ("sweep", read(lab.path("sweep/report.html"))),
        ("tune", read(lab.path("tune/tune.html"))),
    ]
}

/// As is and with all sections unfolded: folded ones have no layout.
fn atlas(lab: &Lab) -> [(&'static str, String); 2] {
    let out = lab.path("atlas");
    let words =
        "atlas --quick --quiet --devices hp97560,nvme,null --workloads two-readers,oltp,dss";
    lab.run(&format!("{words} --out {}", out.display())).expect_status(0);
    let page = fs::read_to_string(out.join("atlas.html")).unwrap();
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(
        links.len() > 9 && links.iter().all(|link| page.contains(&format!("id=\"{link}\""))),
        "{links:?}"
    );
    let open = page.replace("<details", "<details open");
    [("folded atlas", page), ("open atlas", open)]
}

/// A page with each kind of fault, named after it.
fn broken(page: &str) -> [(&'static str, String); 4] {
    let label = "</svg><svg viewBox=\"0 0 90 30\"><text x=\"5\" y=\"15\">+80 %</text><text x=\"20\" y=\"15\">+100 %</text></svg>";
    [
        ("wide", page.replacen("<main>", "<main><div style=\"width:1300px\">x</div>", 1)),
        ("label", page.replacen("</svg>", label, 1)),
        ("low", page.replacen("<h1", "<div style=\"height:900px\"></div><h1", 1)),
        ("dark", page.replace("prefers-color-scheme: dark", "prefers-color-scheme: none")),
    ]
}

#[test]
fn pages_fit_every_width_in_both_forms_and_faults_are_found() {
    let lab = Lab::new();
    let sound: Vec<_> = pages(&lab).into_iter().chain(atlas(&lab)).collect();
    let broken = broken(&sound[0].1);
    // A browser takes seconds to start, so once per mode.
    for dark in [false, true] {
        let all: Vec<_> = sound.iter().chain(broken.iter().filter(|_| dark)).cloned().collect();
        let Some(found) = measured(&lab, dark, &all) else { return };
        for (name, _) in &sound {
            for width in WIDTHS {
                let of = &found[format!("{name} {width}")];
                assert_eq!(faults(of, dark), [] as [String; 0], "{name}, {width} px, dark: {dark}");
                assert_eq!(of["scripts"], 0, "{name}");
                assert!(
                    of["svgs"].as_u64().unwrap() > 0 || name.contains("atlas"),
                    "{name} has plots"
                );
            }
        }
        if !dark {
            let outline = |width: u32| {
                let lines = found[format!("compare {width}")]["outline"].as_array().unwrap();
                lines.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
            };
            insta::assert_snapshot!(
                WIDTHS.map(|width| format!("{width} px\n{}", outline(width))).join("\n\n")
            );
            continue;
        }
        for (name, said) in [
            ("wide", "wide in a window"),
            ("label", "+100 %"),
            ("low", "ends at"),
            ("dark", "on paper of 1"),
        ] {
            for width in WIDTHS {
                let faults = faults(&found[format!("{name} {width}")], true).join("; ");
                assert!(faults.contains(said), "{name} {width}: {faults}");
            }
        }
    }
}

#[test]
fn a_screenshot_has_its_size_and_shows_something() {
    let lab = Lab::new();
    let out = lab.path("out");
    let words = "compare --arena sim --device hp97560 --schedulers none,cfq --workload iozone --rounds 4 --trial-time 1s --quiet";
    lab.run(&format!("{words} --out {}", out.display())).expect_measured();
    for width in WIDTHS.into_iter().filter(|width| *width == 768 || is_soak()) {
        let picture = lab.path(&format!("{width}.png"));
        let (to, size) =
            (format!("--screenshot={}", picture.display()), format!("--window-size={width},900"));
        if browser(&lab, width == 768, &[&to, &size, "--hide-scrollbars"], &out.join("report.html"))
            .is_none()
        {
            return;
        }
        let bytes = fs::read(&picture).unwrap();
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((&bytes[1..4], number(16), number(20)), (&b"PNG"[..], width, 900));
        // A blank screenshot has a few kilobytes.
        assert!(bytes.len() > 15_000, "{width}: {} bytes", bytes.len());
        if let Some(keep) = std::env::var_os("SCHEDLAB_KEEP_REPORT") {
            fs::copy(&picture, Path::new(&keep).join(format!("{width}.png"))).unwrap();
        }
    }
}
