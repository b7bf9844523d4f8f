//! The variants of an arena by index: those of the plan in order, then those added by a search.

/// Index of a variant in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIndex(pub usize);

#[derive(Debug, Clone)]
pub struct Variants<S>(Vec<(String, S)>);

impl<S> Variants<S> {
    /// Reads each variant of a plan once with `setting`, which may complete it.
    ///
    /// # Errors
    /// The first error of `setting`.
    pub fn read<E>(
        variants: &mut [experiment::plan::Variant],
        mut setting: impl FnMut(&mut experiment::plan::Variant) -> Result<S, E>,
    ) -> Result<Variants<S>, E> {
        let all = variants.iter_mut().map(|variant| Ok((variant.name.clone(), setting(variant)?)));
        all.collect::<Result<_, E>>().map(Variants)
    }

    /// Adds a variant. An existing one keeps its index: a search may propose a variant of the plan.
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

    pub fn iter(&self) -> impl Iterator<Item = (VariantIndex, &str, &S)> {
        self.0
            .iter()
            .enumerate()
            .map(|(at, (name, setting))| (VariantIndex(at), name.as_str(), setting))
    }
}
