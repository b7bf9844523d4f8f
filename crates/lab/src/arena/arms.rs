//! The arms of an arena by number: those of the plan in their order, then those that a search
//! added.

/// The number of an arm in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArmIndex(pub usize);

/// Name and setting of every arm.
#[derive(Debug, Clone)]
pub struct Arms<S>(Vec<(String, S)>);

impl<S> Arms<S> {
    /// The arms of a plan: each resolved once, by `setting`.
    ///
    /// # Errors
    /// The first of `setting`.
    pub fn resolve<E>(
        arms: &[experiment::plan::Arm],
        setting: impl Fn(&experiment::plan::Arm) -> Result<S, E>,
    ) -> Result<Arms<S>, E> {
        let all = arms.iter().map(|arm| Ok((arm.name.clone(), setting(arm)?)));
        all.collect::<Result<_, E>>().map(Arms)
    }

    /// Adds an arm. One that is there already (a search can propose an arm of the plan) keeps its
    /// number.
    pub fn admit(&mut self, name: &str, setting: S) -> ArmIndex {
        let known = self.0.iter().position(|(known, _)| known == name);
        ArmIndex(known.unwrap_or_else(|| {
            self.0.push((name.to_owned(), setting));
            self.0.len() - 1
        }))
    }

    pub fn name(&self, arm: ArmIndex) -> &str {
        &self.0[arm.0].0
    }

    pub fn setting(&self, arm: ArmIndex) -> &S {
        &self.0[arm.0].1
    }

    /// Every arm with its number.
    pub fn iter(&self) -> impl Iterator<Item = (ArmIndex, &str, &S)> {
        self.0
            .iter()
            .enumerate()
            .map(|(at, (name, setting))| (ArmIndex(at), name.as_str(), setting))
    }
}
