//! What goes on beside the work that is measured: competition without which a CPU scheduler has nothing to decide.

use cpuwork::{Order, spin};

use crate::options::{Form, Opt, Options, OptionsError};

/// A row of the table of loads.
#[derive(Debug)]
pub struct LoadKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for `schedlab list workloads`.
    pub help: &'static str,
    /// The options that it accepts.
    pub options: &'static [Opt],
    /// What must hold of the options beside their forms; Err says what would be right.
    pub check: fn(&Options) -> Result<(), String>,
    /// What its process has to do.
    pub order: fn(&Options) -> Order,
}

/// Every load.
pub static LOADS: &[LoadKind] = &[LoadKind {
    name: "spin",
    help: "threads that compute without end",
    options: &[THREADS],
    check: |options| threads(options).map(drop),
    order: |options| Order::Spin(spin::Order { threads: threads(options).unwrap_or(1) }),
}];

const THREADS: Opt = Opt { name: "threads", default: "2", form: Form::Number, help: "how many, 1 to 1024" };

fn threads(options: &Options) -> Result<u32, String> {
    let threads = options.number("threads").and_then(|n| u32::try_from(n).ok());
    threads.filter(|n| (1..=1024).contains(n)).ok_or_else(|| "threads is a number from 1 to 1024".to_string())
}

impl LoadKind {
    /// Reads options on top of the row's defaults and checks them.
    ///
    /// # Errors
    /// A key that this load does not accept, a value that cannot be read or cannot be.
    pub fn read<'a>(
        &'static self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionsError> {
        let options = Options::read(self.name, || self.options.iter(), pairs)?;
        (self.check)(&options).map_err(|problem| OptionsError::Impossible { runner: self.name, problem })?;
        Ok(options)
    }
}

/// The row of a load.
pub fn find(name: &str) -> Option<&'static LoadKind> {
    LOADS.iter().find(|row| row.name == name)
}
