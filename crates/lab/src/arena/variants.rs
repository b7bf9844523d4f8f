//! The variants of an arena by number: those of the plan in their order, then those that a search
//! added.

/// The number of a variant in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIndex(pub usize);

/// Name and setting of every variant.
#[derive(Debug, Clone)]
pub struct Variants<S>(Vec<(String, S)>);

impl<S> Variants<S> {
    /// The variants of a plan: each read once, by `setting`, which may complete it.
    ///
    /// # Errors
    /// The first of `setting`.
    pub fn read<E>(
        variants: &mut [experiment::plan::Variant],
        mut setting: impl FnMut(&mut experiment::plan::Variant) -> Result<S, E>,
    ) -> Result<Variants<S>, E> {
        let all = variants.iter_mut().map(|variant| Ok((variant.name.clone(), setting(variant)?)));
        all.collect::<Result<_, E>>().map(Variants)
    }

    /// Adds a variant. One that is there already (a search can propose a variant of the plan) keeps
    /// its number.
    pub fn admit(&mut self, name: &str, setting: S) -> VariantIndex {
        let known = self.0.iter().position(|(known, _)| known == name);
        VariantIndex(known.unwrap_or_else(|| {
            self.0.push((name.to_owned(), setting));
            self.0.len() - 1
        }))
    }

    pub fn name(&self, variant: VariantIndex) -> &str {
        &self.0[variant.0].0
    }

    pub fn setting(&self, variant: VariantIndex) -> &S {
        &self.0[variant.0].1
    }

    /// Every variant with its number.
    pub fn iter(&self) -> impl Iterator<Item = (VariantIndex, &str, &S)> {
        self.0
            .iter()
            .enumerate()
            .map(|(at, (name, setting))| (VariantIndex(at), name.as_str(), setting))
    }
}
