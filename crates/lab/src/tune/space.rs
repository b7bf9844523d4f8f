//! The search space: schedulers, tunables and queue attributes.

use std::collections::BTreeMap;

use anyhow::Result;
use elevator::{Build, ElevatorKind};
use experiment::plan::Variant;
use experiment::search::{Branch, Dimension, Point, Space};
use serde::{Deserialize, Serialize};

use crate::arena::model::Model;
use crate::failure::usage;

/// The user's restrictions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceRequest {
    pub schedulers: Vec<String>,
    /// Empty: all.
    pub tunables: Vec<String>,
    /// Not searched, but set wherever they exist.
    pub fixed: BTreeMap<String, String>,
}

/// A queue attribute, searchable under every scheduler.
#[derive(Debug, Clone)]
pub struct Attribute {
    pub name: String,
    /// None: unknown.
    pub default: Option<u64>,
    /// Besides the default.
    pub levels: Vec<u64>,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub space: Space,
    /// By scheduler.
    fixed: BTreeMap<String, BTreeMap<String, String>>,
}

impl Field {
    /// # Errors
    /// Wrong usage: an unknown tunable, or nothing to search.
    pub fn of(
        request: &SpaceRequest,
        build: &Build,
        attributes: impl Fn(&str) -> Vec<Attribute>,
    ) -> Result<Field> {
        let (mut branches, mut fixed) = (Vec::new(), BTreeMap::new());
        let mut known: Vec<String> = Vec::new();
        for scheduler in &request.schedulers {
            let mut dimensions =
                elevator::find(scheduler).map_or_else(Vec::new, |kind| knobs(kind, build));
            dimensions.extend(attributes(scheduler).iter().map(dimension));
            known.extend(dimensions.iter().map(|dimension| dimension.name.clone()));
            let set = request
                .fixed
                .iter()
                .filter(|(name, _)| dimensions.iter().any(|d| d.name == **name));
            fixed.insert(
                scheduler.clone(),
                set.map(|(name, value)| (name.clone(), value.clone())).collect(),
            );
            let turned =
                |d: &Dimension| request.tunables.is_empty() || request.tunables.contains(&d.name);
            dimensions.retain(|d| {
                d.levels.len() > 1 && turned(d) && !request.fixed.contains_key(&d.name)
            });
            branches.push(Branch { name: scheduler.clone(), dimensions });
        }
        for (flag, name) in request
            .tunables
            .iter()
            .map(|name| ("--tunables", name))
            .chain(request.fixed.keys().map(|name| ("--fix", name)))
        {
            if !known.contains(name) {
                known.sort();
                known.dedup();
                let expected = text::expected_one_of(name, known.iter().map(String::as_str));
                return Err(usage(format!("{flag}: unknown name {name:?} {expected}")));
            }
        }
        let space = Space::new(branches).map_err(|e| usage(e.to_string()))?;
        if space.size() < 2 {
            return Err(usage(
                "search space: one point, so nothing to search; name more schedulers (--schedulers) or leave more tunables free \
                 (--tunables, --fix)",
            ));
        }
        Ok(Field { space, fixed })
    }

    /// Named after its settings.
    pub fn variant(&self, point: &Point) -> Variant {
        let scheduler = &self.space.branches()[point.branch].name;
        let mut tunables = self.fixed[scheduler].clone();
        tunables.extend(
            self.space
                .settings(point)
                .into_iter()
                .map(|(name, level)| (name.to_owned(), level.to_owned())),
        );
        let mut words = vec![scheduler.clone()];
        words.extend(tunables.iter().map(|(name, value)| format!("{name}={value}")));
        Variant { name: words.join(":"), scheduler: scheduler.clone(), tunables }
    }

    /// The scheduler's defaults, unless values are fixed.
    pub fn plain(&self, scheduler: &str) -> Option<Point> {
        let branch = self.space.branches().iter().position(|branch| branch.name == scheduler)?;
        self.fixed[scheduler].is_empty().then(|| self.space.default_of(branch))
    }
}

fn knobs(kind: &ElevatorKind, build: &Build) -> Vec<Dimension> {
    kind.knobs(build)
        .iter()
        .map(|knob| {
            let levels = knob.levels();
            let default = levels
                .iter()
                .position(|level| *level == knob.default)
                .expect("the default is a level");
            Dimension {
                name: knob.row.name.to_owned(),
                levels: levels.iter().map(ToString::to_string).collect(),
                default,
            }
        })
        .collect()
}

/// In order, including the current value; `unchanged` if it is unknown.
fn dimension(attribute: &Attribute) -> Dimension {
    let mut levels = attribute.levels.clone();
    levels.extend(attribute.default);
    levels.sort_unstable();
    levels.dedup();
    let mut words: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let default = match attribute.default {
        Some(now) => levels.iter().position(|level| *level == now).expect("it was just added"),
        None => {
            words.insert(0, "unchanged".to_owned());
            0
        }
    };
    Dimension { name: attribute.name.clone(), levels: words, default }
}

/// Parameters of schedulers on a modelled device.
pub fn build_on(model: &Model) -> Build {
    let geometry = model.look(|device| device.geometry());
    Build { rotational: geometry.cylinders > 0, geometry, ..Build::default() }
}

pub fn modelled_attributes(model: &Model, scheduler: &str) -> Vec<Attribute> {
    let Some(kind) = elevator::find(scheduler) else { return Vec::new() };
    let now = model.look(|device| {
        sim::queue_for(kind, &[], 1000, sim::Host::default(), None, None, device)
            .limits()
            .nr_requests
    });
    vec![ratios("nr_requests", now.into(), 4, 1..=4096)]
}

/// Levels around the current value, by factors.
pub fn ratios(name: &str, now: u64, step: u64, range: std::ops::RangeInclusive<u64>) -> Attribute {
    let levels = [now / (step * step), now / step, now * step]
        .into_iter()
        .filter(|value| range.contains(value));
    Attribute { name: name.to_owned(), default: Some(now), levels: levels.collect() }
}
