//! The laboratory for Linux schedulers.

mod bench;

fn main() -> anyhow::Result<()> {
    let report = bench::engine::run(&bench::engine::Options::default())?;
    if std::env::args().any(|arg| arg == "--json") {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
