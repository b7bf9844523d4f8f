//! Validation of `command`'s options.

use crate::programs::find;

fn read(pairs: &[(&str, &str)]) -> Result<crate::programs::Options, String> {
    find("command").expect("a row").read(pairs.iter().copied()).map_err(|e| e.to_string())
}

#[test]
fn options_that_cannot_be_are_refused_with_what_would_be_right() {
    for (pairs, part) in [
        (&[][..], "give the program to run"),
        (&[("run", "true"), ("file", "x.sh")], "one of them is the program"),
        (&[("run", "true"), ("scale", "0")], "above 0"),
        (&[("run", "true"), ("stream", "both")], "stdout or stderr"),
        (&[("run", "true"), ("on", "tape")], "files, device or cpu"),
        (&[("run", "true"), ("better", "higher")], "better is given without a metric"),
        (
            &[("run", "true"), ("metric", "x"), ("json", "/x"), ("better", "more")],
            "higher or lower",
        ),
        (&[("run", "true"), ("json", "x=/x"), ("better", "y=lower")], "the metrics are x"),
    ] {
        let error = read(pairs).unwrap_err();
        assert!(error.contains(part), "{pairs:?}: {error}");
    }
}

#[test]
fn the_first_figure_decides_and_its_direction_is_as_given() {
    let row = find("command").expect("a row");
    let options = read(&[("run", "true")]).unwrap();
    assert_eq!(((row.primary)(&options), (row.own_metrics)(&options)), ("wall_s".into(), vec![]));
    let options =
        read(&[("run", "true"), ("json", "b=/b a=/a"), ("better", "a=lower b=higher")]).unwrap();
    assert_eq!((row.primary)(&options), "b");
    assert_eq!((row.own_metrics)(&options), [("a".to_string(), false), ("b".to_string(), true)]);
    let options =
        read(&[("run", "true"), ("regex", "(?<x>.)(?<y>.)"), ("better", "lower")]).unwrap();
    assert_eq!((row.own_metrics)(&options), [("x".to_string(), false), ("y".to_string(), false)]);
}
