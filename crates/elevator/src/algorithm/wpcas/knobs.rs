//! Reading and setting the tunables of wpcas.

use crate::clock::Clock;
use crate::geometry::Geometry;

use super::classifier::{Classes, Point, Region};
use super::{Actuator, Distances, ServiceTime, with_geometry};

impl ServiceTime {
    pub(super) fn knob(&self, clock: Clock, tunable: &str) -> Option<u64> {
        let (switches, classes, geometry) =
            (&self.switches, &self.classes, self.actuator.geometry());
        Some(match tunable {
            "antic_expire" => clock.to_ms(switches.antic_expire),
            "interval" => u64::from(switches.arrival_to_arrival),
            "window" => classes.window as u64,
            "bin_us" => classes.bin_ns / 1000,
            "fine_clock" => u64::from(switches.fine_clock),
            "width_ms" => switches.width_ms,
            "region" => u64::from(classes.region == Region::Grown),
            "gamma_percent" => classes.gamma_percent,
            "which_j" => match classes.point {
                Point::Upper => 0,
                Point::Middle => 1,
                Point::Lower => 2,
            },
            "cap_ms" => classes.cap_ns / 1_000_000,
            "min_samples" => switches.min_samples,
            "tas" => u64::from(switches.literal_tas),
            "cylinders" => geometry.cylinders,
            "cylinder_sectors" => geometry.sectors_per_cylinder,
            "seek_knee" => geometry.seek.knee,
            "seek_a_ns" => geometry.seek.a_ns,
            "seek_b_ns" => geometry.seek.b_ns,
            "seek_c_ns" => geometry.seek.c_ns,
            "seek_e_ps" => geometry.seek.e_ps,
            "nearest" => u64::from(switches.nearest),
            "async_wait" => u64::from(switches.async_wait),
            "counter_halving" => switches.counter_halving,
            "class" => u64::from(switches.one_class),
            "mean_close" => u64::from(switches.mean_close),
            "relearn" => switches.relearn,
            _ => return None,
        })
    }

    pub(super) fn turn(&mut self, clock: Clock, tunable: &str, value: u64) -> bool {
        let on = value != 0;
        let switches = &mut self.switches;
        match tunable {
            "antic_expire" => switches.antic_expire = clock.from_ms(value),
            "interval" => switches.arrival_to_arrival = on,
            "fine_clock" => switches.fine_clock = on,
            "min_samples" => switches.min_samples = value,
            "tas" => switches.literal_tas = on,
            "nearest" => switches.nearest = on,
            "async_wait" => switches.async_wait = on,
            "counter_halving" => switches.counter_halving = value,
            "class" => switches.one_class = on,
            "mean_close" => switches.mean_close = on,
            "relearn" => switches.relearn = value,
            _ => return self.turn_classifier(tunable, value) || self.turn_arm(tunable, value),
        }
        true
    }

    fn turn_classifier(&mut self, tunable: &str, value: u64) -> bool {
        let mut classes = self.classes;
        match tunable {
            "window" => classes.window = value as usize,
            "bin_us" => classes.bin_ns = value * 1000,
            "width_ms" => self.switches.width_ms = value,
            "region" => classes.region = if value == 0 { Region::Width } else { Region::Grown },
            "gamma_percent" => classes.gamma_percent = value,
            "which_j" => {
                classes.point = match value {
                    0 => Point::Upper,
                    1 => Point::Middle,
                    _ => Point::Lower,
                }
            }
            "cap_ms" => classes.cap_ns = value * 1_000_000,
            _ => return false,
        }
        classes.width = (self.switches.width_ms * 1_000_000 / classes.bin_ns).max(1) as usize;
        self.reclassify(classes);
        true
    }

    fn reclassify(&mut self, classes: Classes) {
        if classes == self.classes {
            return;
        }
        self.classes = classes;
        for record in self.all_records() {
            record.intervals = record.intervals.reclassify(&classes);
            record.seeks = record.seeks.resize(classes.window);
        }
    }

    fn turn_arm(&mut self, tunable: &str, value: u64) -> bool {
        let change: fn(&mut Geometry, u64) = match tunable {
            "cylinders" => |geometry, value| geometry.cylinders = value,
            "cylinder_sectors" => |geometry, value| geometry.sectors_per_cylinder = value,
            "seek_knee" => |geometry, value| geometry.seek.knee = value,
            "seek_a_ns" => |geometry, value| geometry.seek.a_ns = value,
            "seek_b_ns" => |geometry, value| geometry.seek.b_ns = value,
            "seek_c_ns" => |geometry, value| geometry.seek.c_ns = value,
            "seek_e_ps" => |geometry, value| geometry.seek.e_ps = value,
            _ => return false,
        };
        let old = self.actuator.geometry();
        let new = with_geometry(old, |geometry| change(geometry, value));
        let cylinders = |of: &Geometry| (of.cylinders, of.sectors_per_cylinder);
        if cylinders(&new) != cylinders(old) {
            // Distances in old cylinders are meaningless in new ones.
            self.all_records().for_each(|record| record.seeks = Distances::default());
        }
        self.actuator = Actuator::new(new);
        true
    }
}
