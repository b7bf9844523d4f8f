//! The variants of an arena: those of the plan, then those added by a search.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIndex(pub usize);

#[derive(Debug, Clone)]
pub struct Variants<S>(Vec<(String, S)>);

impl<S> Variants<S> {
    /// Reads each variant once; `setting` may complete it.
    pub fn read<E>(
        variants: &mut [experiment::plan::Variant],
        mut setting: impl FnMut(&mut experiment::plan::Variant) -> Result<S, E>,
    ) -> Result<Variants<S>, E> {
        let all = variants.iter_mut().map(|variant| Ok((variant.name.clone(), setting(variant)?)));
        all.collect::<Result<_, E>>().map(Variants)
    }

    /// The index of an existing variant does not change: a search may propose one of the plan.
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
