//! Every trial's value on one metric: one column per variant, rounds from left to right. Points,
//! because with a dozen trials a summary would hide clusters, outliers and drift.

use experiment::results::Trial;
use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{
    self, CHARACTER, FINE, colour, geometric_mean, invalid_mark, mark, room_for, svg,
};
use crate::number::Scale;
use crate::{invalid, words};

const SIZE: (i32, i32) = (1000, 320);

pub(crate) struct Subject<'a> {
    /// Text alternative.
    pub(crate) label: &'a str,
    /// The trials of one workload, in order.
    pub(crate) trials: &'a [&'a Trial],
    /// The baseline first. The index selects colour and mark.
    pub(crate) variants: &'a [&'a str],
    /// As named in the results file.
    pub(crate) metric: &'a str,
    pub(crate) words: &'a str,
    pub(crate) scale: &'a Scale,
}

impl Subject<'_> {
    /// Variant index, scaled value, and whether the trial is invalid.
    pub(crate) fn points(&self) -> Vec<(usize, f64, bool, &Trial)> {
        let point = |trial: &&'_ Trial| {
            let variant = self.variants.iter().position(|variant| *variant == trial.variant)?;
            let value = self.scale.scaled(*trial.observation.metrics.get(self.metric)?);
            value.is_finite().then_some((variant, value, invalid::is_invalid(trial, self.metric)))
        };
        self.trials
            .iter()
            .filter_map(|trial| {
                point(trial).map(|(variant, value, invalid)| (variant, value, invalid, *trial))
            })
            .collect()
    }

    /// Half the width of a mark; smaller if there are many, so that they do not overlap.
    pub(crate) fn mark_size(&self, room: i32) -> i32 {
        let each = self.trials.len() / self.variants.len().max(1);
        if each > 200 {
            1
        } else if each > 60 {
            2
        } else {
            room
        }
    }

    pub(crate) fn title(&self, axis: &Axis) -> String {
        let log = if axis.log { ", log scale" } else { "" };
        match self.scale.unit.as_str() {
            "" => format!("{}{log}", self.words),
            unit => format!("{} ({unit}{log})", self.words),
        }
    }
}

/// `None` if no trial has a value.
pub(crate) fn plot(subject: &Subject<'_>) -> crate::Result<Option<String>> {
    let points = subject.points();
    let Some(y) = Axis::of_values(points.iter().map(|(_, value, ..)| *value)) else {
        return Ok(None);
    };
    let room = f64::from(SIZE.0 - 90) / subject.variants.len().max(1) as f64 / CHARACTER;
    let names = subject
        .variants
        .iter()
        .map(|variant| words::shortened(&words::clean(variant), ((room * 0.8) as usize).max(4)));
    let x = Axis::of_names(names.collect(), false);
    let rounds = subject.trials.iter().map(|trial| trial.round).max().unwrap_or(0);
    let place = |variant: usize, round: u32| match rounds {
        0 => variant as f64,
        last => variant as f64 + (f64::from(round) / f64::from(last) - 0.5) * 0.66,
    };
    let drawn = svg(subject.label, SIZE, |canvas| {
        let frame = canvas::Frame {
            x: &x,
            y: &y,
            x_title: "variant; inside each column the rounds from first to last".into(),
            y_title: subject.title(&y),
            left: room_for(&y),
            grid: (false, true),
        };
        let mut chart = canvas::chart(canvas, &frame)?;
        for variant in 0..subject.variants.len() {
            let of_variant: Vec<_> = points.iter().filter(|(a, ..)| *a == variant).collect();
            let valid: Vec<f64> = of_variant.iter().filter(|p| !p.2).map(|p| p.1).collect();
            if let Some(middle) = geometric_mean(&valid) {
                let at = y.position(middle);
                let ends = vec![(variant as f64 - 0.4, at), (variant as f64 + 0.4, at)];
                chart.draw_series([PathElement::new(
                    ends,
                    colour(variant).mix(0.55).stroke_width(3 * FINE as u32),
                )])?;
            }
            let path = of_variant
                .iter()
                .filter(|p| !p.2)
                .map(|p| (place(variant, p.3.round), y.position(p.1)));
            chart.draw_series([PathElement::new(
                path.collect::<Vec<_>>(),
                colour(variant).mix(0.35).stroke_width(FINE as u32),
            )])?;
            for (_, value, invalid, trial) in of_variant {
                let at = (place(variant, trial.round), y.position(*value));
                let draw = if *invalid { invalid_mark } else { mark };
                draw(chart.plotting_area(), variant, at, subject.mark_size(4))?;
            }
        }
        Ok(())
    })?;
    Ok(Some(drawn))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture::Lab;
    use proptest::prelude::*;

    pub(crate) fn draw(
        trials: &[Trial],
        variants: &[&str],
        plot: fn(&Subject<'_>) -> crate::Result<Option<String>>,
    ) -> Option<String> {
        let scale = Scale::of("iops", []);
        let trials: Vec<&Trial> = trials.iter().filter(|trial| trial.workload == "oltp").collect();
        let subject = Subject {
            label: "all",
            trials: &trials,
            variants,
            metric: "iops",
            words: "IOPS",
            scale: &scale,
        };
        plot(&subject).expect("the plot is drawn")
    }

    pub(crate) fn survives(
        values: &[f64],
        invalid: bool,
        variants: usize,
        plot: fn(&Subject<'_>) -> crate::Result<Option<String>>,
    ) {
        let names: Vec<String> = (0..variants)
            .map(|i| format!("variant {i} with a name that never seems to end at all"))
            .collect();
        let mut trials = Lab::typical().trials;
        trials.retain(|trial| trial.workload == "oltp");
        trials.truncate(values.len());
        for (i, (trial, value)) in trials.iter_mut().zip(values).enumerate() {
            trial.variant = names[i % variants].clone();
            trial.round = (i / variants) as u32;
            trial.observation.metrics.insert("iops".into(), *value);
            if invalid {
                trial
                    .observation
                    .invalid
                    .push(experiment::results::InvalidReason::Throttled { events: 1 });
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let svg = draw(&trials, &names, plot);
        assert_eq!(svg.is_some(), values.iter().any(|v| v.is_finite()));
        assert!(!svg.unwrap_or_default().contains("NaN"));
    }

    #[test]
    fn every_trial_is_a_mark_and_an_invalid_one_is_crossed_out() {
        let lab = Lab::typical();
        let svg = draw(&lab.trials, &["none", "mq-deadline", "kyber", "bfq"], plot)
            .expect("there are trials");
        // 14 circles of the first variant, and the hollow one of the invalid trial.
        assert_eq!(svg.matches("<circle").count(), 14 + 1);
        assert_eq!(svg.matches("fill=\"none\" stroke=\"#E69F00\"").count(), 1, "one hollow circle");
    }

    #[test]
    fn nothing_to_draw_is_no_plot() {
        assert!(draw(&[], &["none"], plot).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_trials_can_be_drawn(values in prop::collection::vec(prop::num::f64::ANY, 0..20), invalid: bool, variants in 1usize..9) {
            survives(&values, invalid, variants, plot);
        }
    }
}
