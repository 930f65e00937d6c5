//! Who needs whom, and whether that goes in circles.

use std::collections::{BTreeMap, BTreeSet};

/// Nodes by name; each edge has the place that first shows it.
#[derive(Debug, Default)]
pub struct Graph {
    edges: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// `from` needs `to`, as `place` shows. A node may need itself.
    pub fn add(&mut self, from: &str, to: &str, place: impl FnOnce() -> String) {
        if from != to {
            let needs = self.edges.entry(from.into()).or_default();
            needs.entry(to.into()).or_insert_with(place);
        }
    }

    /// What `node` needs.
    #[cfg(test)]
    pub fn needs(&self, node: &str) -> Vec<&str> {
        self.edges.get(node).into_iter().flatten().map(|(to, _)| to.as_str()).collect()
    }

    /// Each group of nodes that all need each other, in words: a shortest cycle, and the group where it is larger.
    pub fn cycles(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for node in self.edges.keys() {
            if seen.contains(node.as_str()) {
                continue;
            }
            if let Some(cycle) = self.shortest_cycle(node) {
                let group: Vec<&str> = self
                    .reached(node)
                    .into_iter()
                    .filter(|o| self.reached(o).contains(node.as_str()))
                    .collect();
                let all = if group.len() > cycle.len() {
                    format!("; all of these need each other: {}", group.join(", "))
                } else {
                    String::new()
                };
                cycles.push(format!("{}{all}", self.describe(&cycle)));
                seen.extend(group);
            }
        }
        cycles
    }

    /// Nodes that `from` needs, directly or not.
    fn reached<'g>(&'g self, from: &str) -> BTreeSet<&'g str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for to in self.edges.get(node).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        reached
    }

    /// The nodes of a shortest way from `start` back to it.
    fn shortest_cycle<'g>(&'g self, start: &'g str) -> Option<Vec<&'g str>> {
        let mut ways = vec![vec![start]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let last = way[way.len() - 1];
                for to in self.edges.get(last).into_iter().flat_map(BTreeMap::keys) {
                    if to == start {
                        return Some(way);
                    }
                    if seen.insert(to.as_str()) {
                        longer.push([way.as_slice(), &[to.as_str()]].concat());
                    }
                }
            }
            ways = longer;
        }
        None
    }

    fn describe(&self, cycle: &[&str]) -> String {
        let next = cycle.iter().cycle().skip(1);
        let steps = cycle
            .iter()
            .zip(next)
            .map(|(from, to)| format!("{from} needs {to} ({})", self.edges[*from][*to]));
        steps.collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn every_group_of_cycles_is_named_once() {
    let mut graph = Graph::default();
    for (from, to) in [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("c", "d"),
        ("d", "e"),
        ("x", "y"),
        ("y", "x"),
        ("z", "z"),
        ("y", "w"),
        ("w", "y"),
    ] {
        graph.add(from, to, || "here".into());
    }
    let expected = [
        "a needs b (here), b needs c (here), c needs a (here)",
        "w needs y (here), y needs w (here); all of these need each other: w, x, y",
    ];
    assert_eq!(graph.cycles(), expected);
}
