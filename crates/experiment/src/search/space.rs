//! The search space: a branch (a scheduler), and a level for each of its dimensions (tunables and
//! queue attributes).
//!
//! Dimensions exist per branch; equal names and levels have equal meaning across branches. Levels
//! are ordered words without further meaning to the search.

use std::collections::BTreeSet;

use thiserror::Error;

/// A tunable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Its name, e.g. `fifo_batch`.
    pub name: String,
    /// Its levels in order, at least one.
    pub levels: Vec<String>,
    /// Index of the default in `levels`.
    pub default: usize,
}

/// A scheduler with its dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its name, e.g. `bfq`.
    pub name: String,
    /// May be empty.
    pub dimensions: Vec<Dimension>,
}

/// Everything that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    branches: Vec<Branch>,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Index of the branch.
    pub branch: usize,
    /// Index of the level of each dimension, in order.
    pub levels: Vec<usize>,
}

/// Why branches make no space.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpaceError {
    /// No branch.
    #[error("search space: empty: no scheduler to choose; name some with --schedulers")]
    Empty,
    /// Two branches, or two dimensions of one.
    #[error("{name}: named twice; name it once")]
    Twice {
        /// The name.
        name: String,
    },
    /// No levels, or an invalid default.
    #[error("{name}: no level to start from; give it at least one value")]
    NoDefault {
        /// The dimension.
        name: String,
    },
}

impl Space {
    /// # Errors
    /// [`SpaceError`] if there is nothing to choose, or a name is not unique.
    pub fn new(branches: Vec<Branch>) -> Result<Space, SpaceError> {
        if branches.is_empty() {
            return Err(SpaceError::Empty);
        }
        unique(branches.iter().map(|branch| &branch.name))?;
        for branch in &branches {
            unique(branch.dimensions.iter().map(|dimension| &dimension.name))?;
            if let Some(bad) = branch.dimensions.iter().find(|d| d.default >= d.levels.len()) {
                return Err(SpaceError::NoDefault {
                    name: format!("{} of {}", bad.name, branch.name),
                });
            }
        }
        Ok(Space { branches })
    }

    /// The branches.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Saturates at `u64::MAX`.
    pub fn size(&self) -> u64 {
        let of = |branch: &Branch| {
            branch.dimensions.iter().fold(1_u64, |n, d| n.saturating_mul(d.levels.len() as u64))
        };
        self.branches.iter().fold(0, |n, branch| n.saturating_add(of(branch)))
    }

    /// Each branch's default, and each other level of each dimension.
    pub fn one_at_a_time(&self) -> u64 {
        let of = |branch: &Branch| {
            1 + branch.dimensions.iter().map(|d| d.levels.len() as u64 - 1).sum::<u64>()
        };
        self.branches.iter().map(of).sum()
    }

    /// # Panics
    /// If there is no such branch.
    pub fn default_of(&self, branch: usize) -> Point {
        Point {
            branch,
            levels: self.branches[branch].dimensions.iter().map(|d| d.default).collect(),
        }
    }

    /// Whether the point is in the space.
    pub fn contains(&self, point: &Point) -> bool {
        self.branches.get(point.branch).is_some_and(|branch| {
            branch.dimensions.len() == point.levels.len()
                && branch
                    .dimensions
                    .iter()
                    .zip(&point.levels)
                    .all(|(d, level)| *level < d.levels.len())
        })
    }

    /// Lists name and level of each dimension that is not at its default.
    pub fn settings(&self, point: &Point) -> Vec<(&str, &str)> {
        let dimensions = &self.branches[point.branch].dimensions;
        let turned = dimensions.iter().zip(&point.levels).filter(|(d, level)| d.default != **level);
        turned.map(|(d, level)| (d.name.as_str(), d.levels[*level].as_str())).collect()
    }

    /// Formats the point as `bfq:slice_idle=0`; unique.
    pub fn key(&self, point: &Point) -> String {
        let mut words = vec![self.branches[point.branch].name.clone()];
        words.extend(
            self.settings(point).into_iter().map(|(name, level)| format!("{name}={level}")),
        );
        words.join(":")
    }

    /// Dimensions not at their default.
    pub fn departures(&self, point: &Point) -> usize {
        self.settings(point).len()
    }

    /// Counts the points with this many departures, over all branches.
    pub fn count_departing(&self, departures: usize) -> f64 {
        let of = |branch: &Branch| {
            // The coefficients of Π (1 + (levels - 1) x).
            let mut counts = vec![1.0];
            for dimension in &branch.dimensions {
                let others = dimension.levels.len() as f64 - 1.0;
                counts.push(0.0);
                for i in (1..counts.len()).rev() {
                    counts[i] += counts[i - 1] * others;
                }
            }
            counts.get(departures).copied().unwrap_or(0.0)
        };
        self.branches.iter().map(of).sum()
    }

    /// Points one level away in one dimension, or at an end of its levels: some effects appear only
    /// at extreme values.
    pub fn neighbours(&self, point: &Point) -> Vec<Point> {
        let dimensions = &self.branches[point.branch].dimensions;
        let mut found = Vec::new();
        for (i, dimension) in dimensions.iter().enumerate() {
            let (now, last) = (point.levels[i], dimension.levels.len() - 1);
            let levels = BTreeSet::from([0, now.saturating_sub(1), (now + 1).min(last), last]);
            found.extend(levels.into_iter().filter(|level| *level != now).map(|level| {
                let mut other = point.clone();
                other.levels[i] = level;
                other
            }));
        }
        found
    }

    /// The point with one departure reverted.
    pub fn reverts(&self, point: &Point) -> Vec<Point> {
        let dimensions = self.branches[point.branch].dimensions.iter().enumerate();
        let turned = dimensions.filter(|(i, d)| point.levels[*i] != d.default);
        turned
            .map(|(i, d)| {
                let mut other = point.clone();
                other.levels[i] = d.default;
                other
            })
            .collect()
    }

    /// All points, branch by branch, the last dimension fastest.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.branches.len()).flat_map(move |branch| {
            let dimensions = &self.branches[branch].dimensions;
            let mut next = Some(Point { branch, levels: vec![0; dimensions.len()] });
            std::iter::from_fn(move || {
                let point = next.clone()?;
                next = (0..dimensions.len())
                    .rev()
                    .find(|i| point.levels[*i] + 1 < dimensions[*i].levels.len())
                    .map(|turned| {
                        let mut other = point.clone();
                        other.levels[turned] += 1;
                        other.levels[turned + 1..].fill(0);
                        other
                    });
                Some(point)
            })
        })
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), SpaceError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(SpaceError::Twice { name: name.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn dimension(name: &str, levels: usize, default: usize) -> Dimension {
        Dimension {
            name: name.to_owned(),
            levels: (0..levels).map(|i| i.to_string()).collect(),
            default,
        }
    }

    pub(crate) fn small() -> Space {
        let a = Branch {
            name: "a".to_owned(),
            dimensions: vec![dimension("x", 3, 1), dimension("q", 2, 0)],
        };
        let b = Branch { name: "b".to_owned(), dimensions: Vec::new() };
        Space::new(vec![a, b]).unwrap()
    }

    #[test]
    fn every_point_is_listed_once_and_counted_by_what_it_turns() {
        let space = small();
        let points: Vec<Point> = space.points().collect();
        let keys: BTreeSet<String> = points.iter().map(|point| space.key(point)).collect();
        assert_eq!((points.len() as u64, keys.len() as u64), (space.size(), 7));
        assert!(points.iter().all(|point| space.contains(point)));
        for departures in 0..4 {
            let counted =
                points.iter().filter(|point| space.departures(point) == departures).count();
            assert_eq!(space.count_departing(departures), counted as f64, "{departures}");
        }
        assert_eq!(space.one_at_a_time(), 1 + 2 + 1 + 1);
        assert_eq!(space.key(&space.default_of(0)), "a");
        assert_eq!(space.key(&Point { branch: 0, levels: vec![2, 1] }), "a:x=2:q=1");
    }

    #[test]
    fn neighbours_are_one_level_away_or_at_an_end() {
        let wide = Branch { name: "w".to_owned(), dimensions: vec![dimension("x", 7, 3)] };
        let space = Space::new(vec![wide]).unwrap();
        let found: Vec<usize> =
            space.neighbours(&space.default_of(0)).iter().map(|point| point.levels[0]).collect();
        assert_eq!(found, [0, 2, 4, 6]);
        let space = small();
        let found: Vec<String> =
            space.neighbours(&space.default_of(0)).iter().map(|point| space.key(point)).collect();
        assert_eq!(found, ["a:x=0", "a:x=2", "a:q=1"]);
        assert!(space.neighbours(&space.default_of(1)).is_empty());
    }

    #[test]
    fn what_is_no_space_is_refused_by_name() {
        assert_eq!(Space::new(Vec::new()), Err(SpaceError::Empty));
        let branch = |dimensions| Branch { name: "a".to_owned(), dimensions };
        let twice =
            Space::new(vec![branch(vec![dimension("x", 2, 0), dimension("x", 2, 0)])]).unwrap_err();
        assert_eq!(twice, SpaceError::Twice { name: "x".to_owned() });
        let none = Space::new(vec![branch(vec![dimension("x", 0, 0)])]).unwrap_err();
        assert!(none.to_string().contains("x of a"), "{none}");
    }
}
