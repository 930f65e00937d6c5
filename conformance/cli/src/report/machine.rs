//! Faults made by machine as text: how many the suite killed of each kernel, and which are left.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use zoo::machine::equivalent::Argument;
use zoo::machine::hunt::{Bag, Plan, Survivor};
use zoo::machine::survivor::Class;

use super::thousands;

/// The table by kernel, the arguments, the survivors.
pub fn text(bags: &BTreeMap<String, Bag>, took: Duration) -> String {
    let width = bags.keys().map(String::len).max().unwrap_or(0).max("kernel".len());
    let mut text = format!(
        "{:<width$} {:>7} {:>7} {:>7} {:>11} {:>9} {:>12} {:>10} {:>7}\n",
        "kernel",
        "faults",
        "killed",
        "by lint",
        "unreached",
        "survived",
        "within bound",
        "equivalent",
        "rate"
    );
    let mut sum = Bag::default();
    for (name, bag) in bags {
        line(&mut text, name, width, bag);
        sum.killed += bag.killed;
        sum.linted += bag.linted;
        sum.idle += bag.idle;
        sum.unreached.extend(bag.unreached.iter().cloned());
        sum.survivors.extend(bag.survivors.iter().cloned());
        sum.within_bound.extend(bag.within_bound.iter().cloned());
        for (argument, count) in &bag.equivalent {
            *sum.equivalent.entry(*argument).or_default() += count;
        }
    }
    line(&mut text, "all", width, &sum);
    let equivalent = |(argument, count): (&Argument, &usize)| format!("  {count} {}\n", argument.text());
    if !sum.equivalent.is_empty() {
        text.push_str("\nequivalent, because:\n");
        text.extend(sum.equivalent.iter().map(equivalent));
    }
    classes(&mut text, &sum);
    listed(&mut text, "in instructions that no case executes with a lane on", bags, |bag| &bag.unreached);
    listed(&mut text, "other bits, within the bound", bags, |bag| &bag.within_bound);
    listed(&mut text, "survivors", bags, |bag| &bag.survivors);
    let _ = writeln!(
        text,
        "\n{} faults in {:.0} s on the software device: {} of {} killed, {} of them by lint; besides these, {} change bits and stay within the bound, and \
         {} change nothing by an argument",
        thousands(sum.all()),
        took.as_secs_f64(),
        thousands(sum.found()),
        thousands(sum.visible()),
        thousands(sum.linted),
        thousands(sum.within_bound.len()),
        thousands(sum.equivalent.values().sum::<usize>())
    );
    text
}

/// How many survivors are about what, the most first.
fn classes(text: &mut String, sum: &Bag) {
    let count = |class: &Class| sum.survivors.iter().filter(|survivor| survivor.class == *class).count();
    let mut counts: Vec<(usize, Class)> = Class::ALL.iter().map(|class| (count(class), *class)).collect();
    counts.retain(|(count, _)| *count > 0);
    counts.sort_by_key(|(count, class)| (std::cmp::Reverse(*count), *class));
    if !counts.is_empty() {
        text.push_str("\nsurvivors by what they are about, as far as the instruction tells:\n");
    }
    for (count, class) in counts {
        let _ = writeln!(text, "{count:>5} {class}: {}", class.text());
    }
}

/// All of it as JSON.
pub fn json(bags: &BTreeMap<String, Bag>, plan: &Plan, took: Duration) -> Value {
    let list = |survivors: &[Survivor]| survivors.iter().map(survivor).collect::<Vec<Value>>();
    let kernels = bags.iter().map(|(name, bag)| {
        let equivalent: BTreeMap<&str, usize> =
            bag.equivalent.iter().map(|(argument, count)| (argument.text(), *count)).collect();
        json!({
            "kernel": name,
            "faults": bag.all(),
            "killed": bag.killed,
            "killed_by_lint": bag.linted,
            "of_kernels_that_no_case_launches": bag.idle,
            "unreached": list(&bag.unreached),
            "survivors": list(&bag.survivors),
            "within_bound": list(&bag.within_bound),
            "equivalent": equivalent,
        })
    });
    json!({
        "sample": plan.sample,
        "seed": plan.seed,
        "seconds": took.as_secs_f64(),
        "killed": bags.values().map(Bag::found).sum::<usize>(),
        "visible": bags.values().map(Bag::visible).sum::<usize>(),
        "kernels": kernels.collect::<Vec<Value>>(),
    })
}

fn survivor(survivor: &Survivor) -> Value {
    json!({
        "offset": survivor.offset,
        "line": survivor.line,
        "fault": survivor.kind.to_string(),
        "class": survivor.class.name(),
        "was": survivor.was,
        "now": survivor.now,
        "cases": survivor.cases,
    })
}

/// The faults of a list, each in a line.
fn listed(text: &mut String, title: &str, bags: &BTreeMap<String, Bag>, list: fn(&Bag) -> &[Survivor]) {
    if bags.values().any(|bag| !list(bag).is_empty()) {
        let _ = writeln!(text, "\n{title}:");
    }
    for (name, bag) in bags {
        for survivor in list(bag) {
            let line = survivor.line.as_deref().unwrap_or("no source line");
            let _ = writeln!(
                text,
                "  {name}+{:#x} {line}: {}, {}: {} -> {} ({} cases)",
                survivor.offset, survivor.class, survivor.kind, survivor.was, survivor.now, survivor.cases
            );
        }
    }
}

fn line(text: &mut String, name: &str, width: usize, bag: &Bag) {
    let equivalent: usize = bag.equivalent.values().sum();
    let tenths = (bag.found() * 1000).checked_div(bag.visible()).unwrap_or(1000);
    let _ = writeln!(
        text,
        "{name:<width$} {:>7} {:>7} {:>7} {:>11} {:>9} {:>12} {equivalent:>10} {:>5}.{} %",
        bag.all(),
        bag.killed,
        bag.linted,
        bag.unreached.len() + bag.idle,
        bag.survivors.len(),
        bag.within_bound.len(),
        tenths / 10,
        tenths % 10
    );
}
