//! Patches, configuration and compiler, which with the source determine a kernel's key.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use machine::files::programs;
use sha2::{Digest, Sha256};

use crate::child::Run;
use crate::config::Purpose;
use crate::patch::Text;
use crate::{Error, Patch, Request, config, host_side};
use text::hex;

/// Changed when kernels of an earlier version must not be used.
const FORMAT: &str = "3";

#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) purpose: Purpose,
    pub(crate) texts: Vec<Text>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) hash: String,
    compiler: String,
}

impl Recipe {
    /// Reads the patches and the compiler's version.
    pub(crate) fn of(request: &Request) -> Result<Recipe, Error> {
        let patches = request.patches.iter();
        let texts = patches.map(|path| Text::read(path)).collect::<Result<_, _>>()?;
        let purpose = Purpose { debug: request.debug, hz: request.hz, smp: request.smp };
        Ok(Recipe::new(purpose, texts, compiler()?))
    }

    pub(crate) fn new(purpose: Purpose, texts: Vec<Text>, compiler: String) -> Recipe {
        let name = |path: &Path| {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        let sha256 = |text: &Text| hex(&Sha256::digest(text.text.as_bytes()));
        let patches: Vec<Patch> = texts
            .iter()
            .map(|text| Patch { name: name(&text.path), sha256: sha256(text) })
            .collect();
        let mut hash = Sha256::new();
        let Purpose { debug, hz, smp } = purpose;
        let (options, flags) = (config::fragment(purpose), config::flags(debug).join(" "));
        hash.update(format!("{FORMAT}\n{compiler}\n{debug}\n{options}\n{flags}\n"));
        hz.iter()
            .for_each(|_| hash.update(format!("{}{}", host_side::CLOCK, host_side::SWITCH_STORE)));
        if smp {
            host_side::SEVERAL_CPUS.iter().for_each(|(_, text)| hash.update(text));
        }
        patches.iter().for_each(|patch| hash.update(format!("{}\n", patch.sha256)));
        Recipe { purpose, texts, patches, hash: hex(&hash.finalize()), compiler }
    }

    pub(crate) fn unpatched(&self) -> Recipe {
        Recipe::new(self.purpose, Vec::new(), self.compiler.clone())
    }

    /// A readable part and a unique hash.
    pub(crate) fn key(&self, series: &str, version: &str) -> String {
        let hash = hex(&Sha256::digest(format!("{version}\n{}", self.hash)));
        let debug = if self.purpose.debug { "-debug" } else { "" };
        let cpu = self.purpose.hz.map_or_else(String::new, |hz| format!("-cpu{hz}"));
        let smp = if self.purpose.smp { "-smp" } else { "" };
        let patched = if self.patches.is_empty() { "" } else { "-patched" };
        format!("{series}{debug}{cpu}{smp}{patched}-{}", &hash[..12])
    }
}

/// The version line of the makefiles' compiler.
fn compiler() -> Result<String, Error> {
    let mut gcc = programs::helper("gcc");
    gcc.arg("--version");
    match Run::new(&AtomicBool::new(false)).quiet(gcc) {
        Ok(said) => Ok(said.text.lines().next().unwrap_or("gcc").to_owned()),
        Err(Error::Command { .. }) => Err(Error::Tools { packages: vec!["gcc"] }),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn patch(dir: &Path, name: &str, text: &str) -> Text {
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        Text::read(&path).unwrap()
    }

    fn recipe(debug: bool, texts: &[Text], compiler: &str) -> Recipe {
        Recipe::new(Purpose { debug, hz: None, smp: false }, texts.to_vec(), compiler.to_owned())
    }

    fn for_cpus(hz: u32, smp: bool) -> Recipe {
        Recipe::new(Purpose { debug: false, hz: Some(hz), smp }, Vec::new(), "gcc 12".to_owned())
    }

    #[test]
    fn whatever_changes_the_kernel_changes_its_key_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (patch(dir.path(), "a.patch", "a"), patch(dir.path(), "b.patch", "b"));
        let same = patch(dir.path(), "renamed.patch", "a");
        let key = |recipe: Recipe, version: &str| recipe.key("6.1", version);
        let keys = [
            key(recipe(false, &[], "gcc 12"), "6.1.1"),
            key(recipe(false, &[], "gcc 12"), "6.1.2"),
            key(recipe(false, &[], "gcc 13"), "6.1.1"),
            key(recipe(true, &[], "gcc 12"), "6.1.1"),
            key(recipe(false, std::slice::from_ref(&a), "gcc 12"), "6.1.1"),
            key(recipe(false, &[a.clone(), b.clone()], "gcc 12"), "6.1.1"),
            key(recipe(false, &[b, a.clone()], "gcc 12"), "6.1.1"),
            key(for_cpus(1000, false), "6.1.1"),
            key(for_cpus(250, false), "6.1.1"),
            key(for_cpus(250, true), "6.1.1"),
        ];
        let different: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(different.len(), keys.len(), "{keys:?}");
        assert_eq!(
            key(recipe(false, &[same], "gcc 12"), "6.1.1"),
            keys[4],
            "a patch is its bytes, not its name"
        );
        assert_eq!(key(recipe(false, &[a], "gcc 12").unpatched(), "6.1.1"), keys[0]);
        assert!(keys[3].starts_with("6.1-debug-") && keys[5].starts_with("6.1-patched-"));
        assert!(keys[7].starts_with("6.1-cpu1000-"), "{keys:?}");
        assert!(keys[9].starts_with("6.1-cpu250-smp-"), "{keys:?}");
    }
}
