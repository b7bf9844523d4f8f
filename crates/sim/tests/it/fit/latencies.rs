//! Fits of modelled devices without a spindle: held-out reads at each size and depth.

use sim::device::device;
use sim::fit::ModelDrive;

#[test]
fn a_device_without_a_spindle_has_the_same_median_and_tail_in_its_model() {
    for specification in [
        "sata-ssd:capacity_mib=256",
        "nvme:capacity_mib=512",
        "null:service_ns=50000:servers=3:queue_depth=32:distribution=exponential",
    ] {
        let mut drive = ModelDrive::new(specification, device(specification, 1).unwrap());
        let fitted = sim::fit::latency::measure(&mut drive, 1, &mut |_| {}).unwrap();
        let cells = fitted.errors(&fitted.keys(), 2).unwrap();
        assert!(
            cells.iter().any(|cell| !cell.in_grid),
            "some sizes and depths are held out altogether"
        );
        let in_grid = || cells.iter().filter(|cell| cell.in_grid);
        for cell in in_grid() {
            assert!(cell.error.median().abs() < 0.25, "{specification}: {cell:?}");
        }
        // If about one read in a hundred finds its die busy, the 99th percentile is at a step, and
        // chance decides the side.
        let steps = in_grid().filter(|cell| cell.error.p99().abs() >= 0.25).count();
        assert!(
            steps * 20 <= in_grid().count(),
            "{specification}: {steps} cells have another tail"
        );
        let mut off: Vec<f64> = cells
            .iter()
            .map(|cell| cell.error.median().abs().max(cell.error.p99().abs()))
            .collect();
        off.sort_by(f64::total_cmp);
        assert!(
            off[off.len() * 9 / 10] < 0.15,
            "{specification}: a tenth of the cells is farther off: {off:?}"
        );
    }
}
