//! Faults made by machine as text: how many the suite killed of each kernel, and which are left.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use zoo::machine::equivalent::Argument;
use zoo::machine::hunt::Bag;

use super::thousands;

/// The table by kernel, the arguments, the survivors.
pub fn text(bags: &BTreeMap<String, Bag>, took: Duration) -> String {
    let width = bags.keys().map(String::len).max().unwrap_or(0).max("kernel".len());
    let mut text = format!(
        "{:<width$} {:>7} {:>7} {:>11} {:>9} {:>10} {:>7}\n",
        "kernel", "faults", "killed", "unreached", "survived", "equivalent", "rate"
    );
    let mut sum = Bag::default();
    for (name, bag) in bags {
        line(&mut text, name, width, bag);
        sum.killed += bag.killed;
        sum.unreached += bag.unreached;
        sum.survivors.extend(bag.survivors.iter().cloned());
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
    if !sum.survivors.is_empty() {
        text.push_str("\nsurvivors:\n");
    }
    for (name, bag) in bags {
        for survivor in &bag.survivors {
            let line = survivor.line.as_deref().unwrap_or("no source line");
            let _ = writeln!(
                text,
                "  {name}+{:#x} {line}: {}: {} -> {} ({} cases)",
                survivor.offset, survivor.kind, survivor.was, survivor.now, survivor.cases
            );
        }
    }
    let _ = writeln!(
        text,
        "\n{} faults in {:.0} s on the software device: {} of {} that could be seen killed",
        thousands(sum.all()),
        took.as_secs_f64(),
        thousands(sum.killed),
        thousands(sum.visible())
    );
    text
}

fn line(text: &mut String, name: &str, width: usize, bag: &Bag) {
    let equivalent: usize = bag.equivalent.values().sum();
    let tenths = (bag.killed * 1000).checked_div(bag.visible()).unwrap_or(1000);
    let _ = writeln!(
        text,
        "{name:<width$} {:>7} {:>7} {:>11} {:>9} {equivalent:>10} {:>5}.{} %",
        bag.all(),
        bag.killed,
        bag.unreached,
        bag.survivors.len(),
        tenths / 10,
        tenths % 10
    );
}
