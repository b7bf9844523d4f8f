//! Proposes the next candidates.
//!
//! Every branch's default is proposed first, since it has most of a scheduler's effect. Then steps
//! of one dimension around the best points alternate with draws of the tree-structured Parzen
//! estimator (Bergstra et al. 2011; crate `tpe`). No point is proposed twice.

use std::collections::{BTreeMap, BTreeSet};

use chacha20::ChaCha12Rng;
use tpe::{
    TpeOptimizer, TpeOptimizerBuilder, categorical_range, histogram_estimator, parzen_estimator,
    range,
};

use crate::schedule::below;
use crate::search::chance::{generator, share};
use crate::search::ledger::Candidate;
use crate::search::space::{Point, Space};

/// The share of trials the estimator considers good.
const GAMMA: f64 = 0.2;
const DRAWS: usize = 12;
/// The share of steps in other branches than the incumbent's, where none has failed.
const OTHER_BRANCHES: f64 = 0.3;
/// Larger spaces are not enumerated when draws find nothing new.
const LISTED: u64 = 1 << 16;

/// Sources of proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proposals {
    /// Defaults, then steps around the best and draws of the estimator in turn.
    #[default]
    Mixed,
    /// Uniform over branches and levels: the reference for a search.
    Random,
}

#[derive(Debug, Clone)]
pub(crate) struct Proposer {
    seed: u64,
    proposals: Proposals,
    tried: BTreeSet<Point>,
    count: u64,
    /// Failed steps: (branch, dimension, upwards) → count.
    failures: BTreeMap<(usize, usize, bool), u32>,
}

impl Proposer {
    pub(crate) fn new(seed: u64, proposals: Proposals) -> Proposer {
        Proposer { seed, proposals, tried: BTreeSet::new(), count: 0, failures: BTreeMap::new() }
    }

    /// Records a point tried without a proposal; false if tried before.
    pub(crate) fn mark_tried(&mut self, point: Point) -> bool {
        self.tried.insert(point)
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether a step away from `base` became the incumbent.
    pub(crate) fn record_outcome(&mut self, base: &Point, point: &Point, won: bool) {
        if let Some(step) = step_between(base, point) {
            if won {
                self.failures.remove(&step);
            } else {
                *self.failures.entry(step).or_default() += 1;
            }
        }
    }

    /// `incumbent` is the best point so far.
    pub(crate) fn next(
        &mut self,
        space: &Space,
        seen: &[Candidate],
        incumbent: Option<&Point>,
    ) -> Option<Point> {
        let mut rng = generator(self.seed, b"proposal", self.count);
        self.count += 1;
        let point = match (self.proposals, self.count % 4) {
            (Proposals::Random, _) => None,
            (Proposals::Mixed, turn) => self.default(space).or_else(|| match turn {
                0 => None,
                2 => self.draw(space, seen, &mut rng),
                _ => self
                    .step(space, seen, incumbent, &mut rng)
                    .or_else(|| self.draw(space, seen, &mut rng)),
            }),
        };
        let point = point.or_else(|| self.anything(space, &mut rng))?;
        self.tried.insert(point.clone());
        Some(point)
    }

    fn default(&self, space: &Space) -> Option<Point> {
        (0..space.branches().len())
            .map(|branch| space.default_of(branch))
            .find(|point| !self.tried.contains(point))
    }

    /// Steps from the incumbent or the best point of another branch; the more rarely, the more
    /// steps from there have failed.
    fn step(
        &self,
        space: &Space,
        seen: &[Candidate],
        incumbent: Option<&Point>,
        rng: &mut ChaCha12Rng,
    ) -> Option<Point> {
        let mut others = best_of_branches(space, seen);
        others.retain(|point| Some(point) != incumbent);
        let share_of_other = OTHER_BRANCHES / others.len().max(1) as f64;
        let bases = incumbent.map(|point| (point, 1.0 - OTHER_BRANCHES)).into_iter();
        let bases = bases.chain(others.iter().map(|point| (point, share_of_other)));
        let mut new: Vec<(Point, f64)> = Vec::new();
        for (base, weight) in bases {
            let mut steps = space.neighbours(base);
            steps.retain(|point| !self.tried.contains(point));
            let each = weight / steps.len() as f64;
            new.extend(steps.into_iter().map(|point| {
                let step = step_between(base, &point).expect("neighbours differ by one step");
                let failed = self.failures.get(&step).copied().unwrap_or(0);
                (point, each * 0.5_f64.powi(failed.min(20) as i32))
            }));
        }
        let mut at = share(rng) * new.iter().map(|(_, weight)| weight).sum::<f64>();
        let hit = new.iter().position(|(_, weight)| {
            at -= weight;
            at <= 0.0
        });
        hit.or(new.len().checked_sub(1)).map(|i| new.swap_remove(i).0)
    }

    fn draw(&self, space: &Space, seen: &[Candidate], rng: &mut ChaCha12Rng) -> Option<Point> {
        let mut model = Model::of(space, seen);
        (0..DRAWS).map(|_| model.ask(space, rng)).find(|point| !self.tried.contains(point))
    }

    fn anything(&self, space: &Space, rng: &mut ChaCha12Rng) -> Option<Point> {
        let is_new = |point: &Point| !self.tried.contains(point);
        let drawn = (0..8 * DRAWS).map(|_| uniform(space, rng)).find(is_new);
        drawn.or_else(|| {
            let is_listed = space.size() <= LISTED;
            let mut left: Vec<Point> =
                space.points().take_while(|_| is_listed).filter(is_new).collect();
            (!left.is_empty()).then(|| left.swap_remove(below(rng, left.len())))
        })
    }
}

/// Draws uniformly over branches, and over levels.
fn uniform(space: &Space, rng: &mut ChaCha12Rng) -> Point {
    let branch = below(rng, space.branches().len());
    let levels =
        space.branches()[branch].dimensions.iter().map(|d| below(rng, d.levels.len())).collect();
    Point { branch, levels }
}

fn best_of_branches(space: &Space, seen: &[Candidate]) -> Vec<Point> {
    let mut best: Vec<(&Candidate, &Point)> = (0..space.branches().len())
        .filter_map(|branch| {
            let of_branch = seen.iter().filter_map(|c| Some((c, c.point.as_ref()?)));
            let measured = of_branch.filter(|(c, point)| point.branch == branch && c.rounds() > 0);
            measured.max_by(|(a, _), (b, _)| a.utility().total_cmp(&b.utility()))
        })
        .collect();
    best.sort_by(|(a, _), (b, _)| b.utility().total_cmp(&a.utility()));
    best.into_iter().map(|(_, point)| point.clone()).collect()
}

/// The step, if there is exactly one.
fn step_between(from: &Point, to: &Point) -> Option<(usize, usize, bool)> {
    if from.branch != to.branch {
        return None;
    }
    let mut turned = from.levels.iter().zip(&to.levels).enumerate().filter(|(_, (a, b))| a != b);
    let (i, (a, b)) = turned.next()?;
    turned.next().is_none().then_some((from.branch, i, b > a))
}

/// One estimator for the branch and one per dimension of each branch; dimensions with equal names
/// and levels share one.
struct Model {
    branch: TpeOptimizer,
    dimensions: BTreeMap<(String, Vec<String>), TpeOptimizer>,
}

impl Model {
    fn of(space: &Space, seen: &[Candidate]) -> Model {
        let build = |estimator, range| {
            TpeOptimizerBuilder::new()
                .gamma(GAMMA)
                .build(estimator, range)
                .expect("gamma is a share")
        };
        let choices = categorical_range(space.branches().len()).expect("a space has branches");
        let mut model =
            Model { branch: build(histogram_estimator(), choices), dimensions: BTreeMap::new() };
        for dimension in space.branches().iter().flat_map(|branch| &branch.dimensions) {
            let levels = range(0.0, dimension.levels.len() as f64).expect("a dimension has levels");
            let identity = (dimension.name.clone(), dimension.levels.clone());
            model.dimensions.entry(identity).or_insert_with(|| build(parzen_estimator(), levels));
        }
        for candidate in seen.iter().filter(|candidate| candidate.rounds() > 0) {
            let Some(point) = &candidate.point else { continue };
            let cost = -candidate.utility();
            model
                .branch
                .tell(point.branch as f64, cost)
                .expect("an index is in its range, a mean is a number");
            for (dimension, level) in
                space.branches()[point.branch].dimensions.iter().zip(&point.levels)
            {
                let of =
                    model.dimensions.get_mut(&(dimension.name.clone(), dimension.levels.clone()));
                // The middle of the level's interval, since draws are rounded down.
                let told =
                    of.expect("every dimension has its estimator").tell(*level as f64 + 0.5, cost);
                told.expect("a level is in its range, a mean is a number");
            }
        }
        model
    }

    fn ask(&mut self, space: &Space, rng: &mut ChaCha12Rng) -> Point {
        let drawn = self.branch.ask(rng).expect("the histogram has weights");
        let branch = (drawn as usize).min(space.branches().len() - 1);
        let levels = space.branches()[branch].dimensions.iter().map(|dimension| {
            let of = self.dimensions.get_mut(&(dimension.name.clone(), dimension.levels.clone()));
            let drawn =
                of.expect("every dimension has its estimator").ask(rng).expect("it cannot fail");
            (drawn as usize).min(dimension.levels.len() - 1)
        });
        Point { branch, levels: levels.collect() }
    }
}
