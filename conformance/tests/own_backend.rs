//! The backend of `examples/own-backend` under [`conformance::run`]. The example itself is a workspace of its own, which CI builds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/own-backend/src/mine.rs"]
mod mine;

use backend_cpu::host::Host;
use conformance::own::NothingRan;
use conformance::suite::Filter;
use conformance::{Options, guard, run};
use mine::Mine;

fn options(filter: &str) -> Options {
    Options { filter: Filter::new(filter), random: 10, ..Options::default() }
}

fn on(mine: Mine, options: &Options) -> Result<conformance::Report, NothingRan> {
    run(guard::with_canaries(Host::new(mine)).unwrap().as_ref(), options)
}

#[test]
fn a_right_backend_conforms() {
    let report = on(Mine::default(), &options("scale/")).unwrap();
    assert!(report.conforms(), "{report}");
    assert!(report.totals().passed > 30, "{report}");
    assert!(report.results.iter().all(|result| result.name.starts_with("scale/mine/")));
}

#[test]
fn a_bug_is_found_and_made_smaller() {
    let report = on(Mine { forgets_the_last: true }, &options("scale/")).unwrap();
    assert!(!report.conforms());
    let text = report.to_string();
    assert!(text.contains("FAILED scale/mine/") && text.contains("rows=1,n=1,"), "{text}");
}

#[test]
fn a_run_of_nothing_is_an_error() {
    assert_eq!(on(Mine::default(), &options("no-such-op")), Err(NothingRan::NoCase));
    let error = on(Mine::default(), &options("softmax/ rows=5")).unwrap_err();
    assert!(
        matches!(&error, NothingRan::NothingImplemented { cases, why } if *cases > 5 && why.contains("softmax"))
    );
}
